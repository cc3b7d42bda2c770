"""Pages with every kind of field that nobody at formlab wrote, and a server that keeps the posts."""

import contextlib
import http.server
import threading
import urllib.parse

# Each part of the page, its markup first; LABELS and the tests say by hand what people read there.
NATIVE = """
<h2>Native</h2>
<fieldset><legend>Contact *</legend>
<label>First name * <input name=first required></label><br>
<label for=em>E-mail</label><input id=em type=email name=mail placeholder="you@example.org"
 aria-describedby=emh><small id=emh>We never share it.</small>
</fieldset>
<p>Phone: <input name=phone size=4> - <input name=phone size=4> - <input name=phone size=4></p>
<div><span>Nickname</span><div><input id=":r1:"></div></div>
<label>Other <input></label><label>Other <input></label>
<table><tr><td>Street</td><td><input name=street></td><td>Number</td><td><input name=no></td></tr></table>
<table><thead><tr><th>Item</th><th>Amount</th></tr></thead><tbody>
<tr><td>Bread</td><td><input name=a1></td></tr><tr><td>Milk</td><td><input name=a2></td></tr></tbody></table>
<table><tr><th></th><th>Good</th><th>Bad</th></tr>
<tr><td>Food was</td><td><input type=radio name=q1 value=5></td><td><input type=radio name=q1 value=1></td></tr></table>
City: <input name=city><br>
<input name=coupon placeholder="Coupon code"> <input name=vat title="VAT number">
<p>Food</p><div><input type=radio name=food value=veg id=f1><label for=f1>Vegetarian</label>
<input type=radio name=food value=any id=f2><label for=f2>Everything</label></div>
<fieldset><legend>Days</legend><label><input type=checkbox name="days[]" value=mo>Monday</label>
<label><input type=checkbox name="days[]" value=tu>Tuesday</label></fieldset>
<input type=hidden name=terms value=0><label><input type=checkbox name=terms value=1> I agree</label>
<label>Languages <select name=langs multiple><option value=en>English<option value=no>Norwegian
<option value=de>German</select></label>
<label>Country <select name=country><option value="">Choose<option value=NO>Norway<option value=SE>Sweden</select></label>
<label>Arrival <input type=date name=arrival min=2027-01-01></label>
<label>Shut <input name=shut value=x disabled></label>
<label>Team <input name=team list=teams></label><datalist id=teams><option value=Red><option value=Blue></datalist>
"""
HIDDEN = """
<h2>Hidden</h2><style>.tick { position: absolute; clip: rect(0,0,0,0); pointer-events: none }
.gone { display: none } .pill { padding: 4px 10px; border: 1px solid; display: inline-block }</style>
<div role=group aria-label="Room"><input class=tick type=radio name=room value=1 id=r1><label class=pill for=r1>Single</label>
<input class=tick type=radio name=room value=2 id=r2><label class=pill for=r2>Double</label>
<input class=tick type=radio name=room value=3 id=r3><label class=pill for=r3>Suite</label></div>
<input class=gone type=checkbox name=sea id=s1><label for=s1>Sea view</label>
<label class=pill><input class=gone type=checkbox name=quiet>Quiet, see <a href="#rules">the rules</a></label>
<p>Passport <input class=gone type=file name=passport id=pp><button type=button onclick="pp.click()">Choose a file</button></p>
"""
WIDGETS = """
<h2>Widgets</h2><style>[role=option][aria-selected=true], [aria-checked=true] { background: gold }</style>
<div role=radiogroup aria-labelledby=sz aria-required=true><span id=sz>Size</span>
<span role=radio aria-checked=false tabindex=0 data-value=s>Small</span>
<span role=radio aria-checked=false tabindex=0 data-value=l>Large</span><input type=hidden name=size></div>
<div><span role=checkbox aria-checked=false tabindex=0 aria-labelledby=gw class=pill></span> <span id=gw>Gift wrap</span></div>
<button type=button role=switch aria-checked=false aria-label=Express>o</button>
<div><div id=tl>Toppings</div><div role=listbox aria-multiselectable=true aria-labelledby=tl>
<div role=option aria-selected=false>Ham</div><div role=option aria-selected=false>Olives</div></div></div>
<div><b id=cl>Currency</b><div role=combobox tabindex=0 aria-labelledby=cl aria-expanded=false aria-controls=cur>Choose</div>
<input type=hidden name=currency><div role=listbox id=cur hidden><div role=option data-value=NOK>Krone</div>
<div role=option data-value=EUR>Euro</div></div></div>
<div role=slider tabindex=0 aria-label=Spice aria-valuenow=3 aria-valuemin=0 aria-valuemax=5 style="width:90px">///</div>
<div><span id=gl>Guests</span> <span role=spinbutton tabindex=0 aria-labelledby=gl aria-valuenow=2>2</span></div>
<div><p>Remarks</p><div id=remarks contenteditable style="border:1px solid;min-height:20px"></div><input type=hidden name=remarks></div>
<label>Town <input name=town role=combobox aria-controls=towns aria-expanded=false></label>
<ul id=towns role=listbox hidden><li role=option>Bergen<li role=option>Bodø</ul>
<p>Day of departure <input name=leave class=date-input><button type=button id=open>▾</button></p>
<div class=my-calendar id=cal hidden><select aria-label=Month><option>May<option>June</select><input type=number aria-label=Year value=2027><div id=days></div></div>
<nick-name></nick-name>
<canvas width=200 height=40 aria-label=Signature></canvas>
<div role=tablist><button type=button role=tab aria-selected=true>Map</button></div> <a href="#help">Help</a>
<div style="height:0;overflow:hidden"><input name=folded><button>Never</button></div>
<a href="#skip" style="position:absolute;left:-9999px">Skip</a>
"""
SCRIPT = """
const all = (css) => [...document.querySelectorAll(css)], out = { };
customElements.define("nick-name", class extends HTMLElement {
  static formAssociated = true;
  connectedCallback() {
    const root = this.attachShadow({ mode: "open" }), part = this.attachInternals();
    root.innerHTML = "<label>Stage name <input id=stage></label>";
    root.querySelector("input").oninput = (e) => part.setFormValue(e.target.value);
    this.setAttribute("name", "stage");
  } });
const toggle = (e, name) => e.setAttribute(name, String(e.getAttribute(name) !== "true"));
for (const e of all("[role=radio]")) e.onclick = () => {
  for (const o of all("[role=radio]")) o.setAttribute("aria-checked", String(o === e));
  document.querySelector("[name=size]").value = e.dataset.value; };
for (const e of all("[role=checkbox], [role=switch]")) e.onclick = () => toggle(e, "aria-checked");
for (const e of all("[aria-multiselectable] [role=option]")) e.onclick = () => toggle(e, "aria-selected");
const list = document.querySelector("#cur"), combo = document.querySelector("div[role=combobox]");
combo.onclick = () => { list.hidden = !list.hidden; };
for (const e of list.children) e.onclick = () => { combo.textContent = e.textContent; list.hidden = true;
  document.querySelector("[name=currency]").value = e.dataset.value; };
const slider = document.querySelector("[role=slider]"), spin = document.querySelector("[role=spinbutton]");
slider.onclick = () => slider.setAttribute("aria-valuenow", 4);
spin.onclick = () => { spin.setAttribute("aria-valuenow", 3); spin.textContent = "3"; };
remarks.oninput = () => { document.querySelector("[name=remarks]").value = remarks.innerText; };
const town = document.querySelector("[name=town]"), towns = document.querySelector("#towns");
town.oninput = () => { towns.hidden = false; };
for (const e of towns.children) e.onclick = () => { town.value = e.textContent; towns.hidden = true; };
document.querySelector("#open").onclick = () => { cal.hidden = false; };
for (let day = 1; day <= 30; day += 1) {
  const e = document.createElement("span");
  e.className = "day"; e.textContent = day; e.style.cssText = "cursor:pointer;padding:3px";
  e.onclick = () => { document.querySelector("[name=leave]").value = `2027-06-${day}`; cal.hidden = true; };
  days.append(e); }
document.querySelector("form").addEventListener("formdata", (event) => {
  const put = (name, value) => event.formData.append(name, value), unnamed = all("form input:not([name]):not([type=number])");
  put("Nickname", unnamed[0].value); put("Other", unnamed[1].value); put("Other#2", unnamed[2].value);
  put("Gift wrap", document.querySelector("[role=checkbox]").ariaChecked);
  put("Express", document.querySelector("[role=switch]").ariaChecked);
  for (const e of all("[aria-multiselectable] [aria-selected=true]")) put("Toppings", e.textContent);
  put("Spice", slider.ariaValueNow); put("Guests", spin.ariaValueNow);
});
"""
BANNER = """<div id=banner style="position:fixed;inset:auto 0 0 0;height:120px;background:#ddd">
Cookies? <button type=button onclick="banner.remove()">Accept</button></div>"""
INNER = """<!doctype html><body style="margin:20px"><form method=post action=/inner>
<label>Card <input name=card></label><label>First name <input name=first></label>
<button>Pay</button></form>"""
FRAMES = """<h2>Frames</h2><iframe title=Payment src="/inner" width=500 height=150 style="border:3px solid;padding:5px"></iframe>
<iframe title=Abroad src="{other}/outer" width=560 height=230></iframe>"""
OUTER = """<!doctype html><body><p>Nested</p><iframe src="/deep" width=500 height=160></iframe>"""


def everything(other):
    """The whole page; `other` is a second origin of the server."""
    return (
        "<!doctype html><title>All</title><body><h1>All kinds</h1><form method=post action=/send>"
        f"{NATIVE}{HIDDEN}{WIDGETS}<p><button>Send</button></p></form>{FRAMES.format(other=other)}"
        f"{BANNER}<script>{SCRIPT}</script>"
    )


DIALOG = """<!doctype html><form method=post><label>Name <input name=name></label><button>Send</button></form>
<div style="height:2000px"></div><a href="#x">Far</a>
<dialog id=d><h3>Extra</h3><label>Code <input name=code></label><button onclick="d.close()">Done</button></dialog>
<script>d.showModal()</script>"""
WRONG = """<!doctype html><form onsubmit="return false"><label>Name <input name=name required></label>
<div><label>Age <input name=age aria-invalid=true aria-errormessage=ae></label><p id=ae>Too young.</p></div>
<div><label for=z>Post code</label><input id=z name=zip pattern="[0-9]{4}"><div class=form-text>Four digits</div>
<div class=invalid-feedback>No such code.</div></div>
<div><label>Fine <input name=fine></label><div class=invalid-feedback style="display:none">Never shown.</div></div>
<button>Send</button></form>"""
MOVING = """<!doctype html><form><label>Name <input name=name id=n style="position:absolute"></label></form>
<script>let at = 0; setInterval(() => { n.style.left = `${at += 7}px`; }, 5);</script>"""
REDRAWN = """<!doctype html><form id=f></form><script>
const draw = () => { f.innerHTML = "<label>Name <input name=name></label>"; }; draw();</script>"""
MANY = "<!doctype html>" + "".join(
    f"<p><a href='#{at}'>Link number {at}</a> <label>Field {at} <input name=n{at}></label></p>" for at in range(1600)
)
LONG = "<!doctype html><form>" + "".join(
    f"<div><label for=i{at}>Field {at} *</label><input id=i{at} name=n{at}><small class=hint>Help</small></div>" for at in range(80)
)


class Handler(http.server.BaseHTTPRequestHandler):
    def log_message(self, *_):
        pass

    def _send(self, text):
        data = text.encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def do_GET(self):
        self._send(self.server.pages.get(self.path, "<!doctype html>"))

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        self.server.posts[self.path] = urllib.parse.parse_qs(body, keep_blank_values=True)
        self._send("<!doctype html><h1>Thank you</h1>")


@contextlib.contextmanager
def hosting():
    """A server of these pages; `posts` holds what was posted, by path."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    port = server.server_address[1]
    server.url, server.other = f"http://127.0.0.1:{port}", f"http://localhost:{port}"
    server.posts = {}
    server.pages = {"/all": everything(server.other), "/inner": INNER}
    server.pages |= {"/outer": OUTER, "/deep": INNER.replace("/inner", "/deep")}
    others = {"dialog": DIALOG, "wrong": WRONG, "moving": MOVING, "redrawn": REDRAWN}
    others |= {"many": MANY, "long": LONG}
    server.pages |= {f"/{path}": page for path, page in others.items()}
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
