"""The figures of a report: charts as drawings for two widths, the tables behind them as CSV."""

import contextlib
import csv
import io
import json
import re
import textwrap
import tomllib
from collections.abc import Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from lxml import etree
from markupsafe import Markup

from formlab import files
from formlab.charts.escaping import clean
from formlab.charts.theme import FONT
from formlab.reports import sanitize
from formlab.reports.plan import slug
from formlab.selection import LINES

FOLDER = "figures"
# Widths in pixels that a drawing fits into: the page's column, and a phone.
WIDE, PHONE = 940, 346
_LOOK = tomllib.loads(Path(__file__).parent.joinpath("assets", "drawing.toml").read_text("utf-8"))
_USUAL = _LOOK["usual"] | {"font-family": FONT}
# vl-convert puts this before a link within the page.
_BASE = "https://vega.github.io/vega-datasets/"
_XLINK = "{http://www.w3.org/1999/xlink}href"
_PARSER = etree.XMLParser(
    resolve_entities=False, no_network=True, huge_tree=True, remove_comments=True, remove_pis=True
)
# The grounds of panels, too, are paths without a colour.
_UNSEEN = etree.XPath(
    "//*[@display='none' or local-name()='path' and @aria-hidden='true' and not(@fill or @stroke)]"
)
_FOREIGN_URL = re.compile(r"url\(\s*['\"]?\s*(?!#)(?!&quot;#)", re.I)
# A spreadsheet takes a cell for a formula that begins so, also after what cannot be seen.
_FORMULA = re.compile(
    r"[\s\x00-\x1f\x7f-\xa0\xad\u061c\u180e\u200b-\u200f\u2028-\u202f\u2060-\u206f\ufeff]*[=+\-@＝＋－＠]"
    r"|[\t\r\n]"
)


def draw(outputs: Iterable[Any]) -> None:
    """Give charts and tables (`page.Output`) a number and a title as file name, and drawings."""
    count, caption = 0, ""
    for output in outputs:
        is_chart = output.kind in ("vega", "plotly")
        # Other code may emit tables in other shapes: the figure stands, without a file.
        with contextlib.suppress(Exception):
            output.csv = _table(output.kind, output.data)
        if is_chart or output.csv:
            count += 1
            name = caption or (output.alt if is_chart else output.kind)
            title = slug(re.split(r"[.;:]\s", name, maxsplit=1)[0].lower())[:48].strip("-_")
            output.stem = f"{count:02d}-{title}"
        if output.kind == "vega":
            try:
                output.drawings = [_drawn(output.data, WIDE, f"{count:02d}w")]
                if _width(output.drawings[0]) > PHONE:
                    output.drawings.append(_drawn(output.data, PHONE, f"{count:02d}p"))
            except Exception as error:  # a chart of anyone's code: the report does not fail with it
                reason = str(error).partition("\n")[0] or type(error).__name__
                output.problem = sanitize.plain(reason, limit=300)
        if output.is_object:
            caption = str(output.data.get("text") or "") if output.kind == "caption" else ""


def save(outputs: Iterable[Any], folder: Path) -> None:
    """Write charts as SVG and PNG, and their tables as CSV."""
    import vl_convert

    contents = {}
    for output in outputs:
        if output.csv:
            contents[f"{output.stem}.csv"] = output.csv.encode("utf-8", "backslashreplace")
        if output.drawings:
            paper = '><rect width="100%" height="100%" fill="white"/>'
            svg = str(output.drawings[0]).replace(">", paper, 1)
            contents[f"{output.stem}.svg"] = svg.encode()
            # Twice the pixels of a screen, for print.
            contents[f"{output.stem}.png"] = vl_convert.svg_to_png(svg, scale=2)
    for name, content in contents.items():
        with files.atomic(folder / name) as part:
            part.write_bytes(content)
    for file in (file for file in folder.glob("*") if file.name not in contents):
        file.unlink()


def _drawn(spec: Mapping[str, Any], goal: int, prefix: str) -> Markup:
    """A chart as SVG, its plots made narrower until it is no wider than `goal`."""
    import vl_convert

    scale, first = 1.0, 0.0
    # Names may be wider in a reader's font.
    spec = {**spec, "padding": {"left": 24, "top": 5, "right": 12, "bottom": 5}}
    for _ in range(3):
        fit = partial(_fitted, scale=scale, on_phone=goal == PHONE)
        # No address is fetched, whatever a specification asks for.
        look = {"config": fit(_LOOK["config"]), "allowed_base_urls": []}
        svg = vl_convert.vegalite_to_svg(fit(spec), **look)
        width = _width(svg)
        if width <= goal + 1:
            break
        # Axes and names keep their width: the second drawing tells how much that is.
        first = first or width
        slope = (first - width) / (1 - scale) if scale < 1 else width
        scale = max(0.05, scale - (width - goal) / max(slope, 1))
    return sanitize.trusted(inert(svg, prefix))


def _width(svg: str) -> float:
    return float(re.search(r'width="([\d.]+)"', svg)[1])  # type: ignore[index]


def _fitted(value: Any, name: str = "", *, scale: float, on_phone: bool) -> Any:
    """A chart whose marks lead to their cases and nowhere else, its plots narrower by a factor.

    On a phone panels stand below each other, long names are cut and titles on several lines.
    """
    fit = partial(_fitted, scale=scale, on_phone=on_phone)
    is_width = name in ("width", "continuousWidth", "discreteWidth")
    if is_width and isinstance(value, dict):
        return value | {"step": value.get("step", 20) * scale}
    if is_width and isinstance(value, int | float):
        return max(60, int(scale * (min(value, 300) if on_phone else value)))
    if on_phone and name == "columns":
        return 1
    if on_phone and name == "title" and isinstance(value, str):
        return textwrap.wrap(value, 34)
    # Rows of data have names of their own.
    if isinstance(value, list) and name != "values":
        return [fit(item, name if isinstance(item, dict) else "") for item in value]
    if not isinstance(value, dict) or name in ("datasets", "mark"):
        return value
    node = {key: fit(item, key) for key, item in value.items() if key not in ("href", "url")}
    if on_phone and "hconcat" in node:
        node["vconcat"] = node.pop("hconcat")
    mark = node.get("mark")
    kind = mark.get("type") if isinstance(mark, dict) else mark
    if kind == "image":
        # An address that vl-convert may not load ends the whole process.
        raise ValueError("a chart of images is not drawn")
    if kind in _LOOK["linked"] and "encoding" in node:
        node["encoding"]["href"] = {"field": LINES, "type": "nominal"}
    return node | (_LOOK["phone"].get(name, {}) if on_phone else {})


def inert(svg: str, prefix: str = "") -> str:
    """A drawing fit for a page: links within it alone, a title on each mark, ids of its own.

    Examples
    --------
    >>> drawing = '<svg xmlns="http://www.w3.org/2000/svg"><a href="http://a" onclick="b()"/></svg>'
    >>> inert(drawing).partition('">')[2]
    '<a/></svg>'
    """
    root = etree.fromstring(svg.encode("utf-8", "backslashreplace"), _PARSER)
    foreign = [node for node in root.iter() if etree.QName(node).localname not in _LOOK["elements"]]
    for node in (*foreign, *_UNSEEN(root)):
        node.getparent().remove(node)
    for node in root.iter():
        if node.get("role") == "graphics-symbol" and len(node) == 0:
            # The link around it, if there is one.
            parent = node.getparent()
            named = parent if etree.QName(parent).localname == "a" else node
            title = etree.Element(f"{{{root.nsmap[None]}}}title")
            title.text = _label(node.get("aria-label", ""))
            named.insert(0, title)
        line = node.get(_XLINK, "").removeprefix(_BASE)
        for name, value in node.attrib.items():
            own = etree.QName(name).localname
            loads = own == "href" or own.startswith("on") or _FOREIGN_URL.search(value)
            if loads or _USUAL.get(name) == value or name in _LOOK["needless"]:
                del node.attrib[name]
            elif name == "id":
                node.set(name, prefix + value)
            elif name == "class":
                node.set(name, " ".join(re.findall(r"\b(?:mark|role)-\S+", value)))
            else:
                value = re.sub(r"(\d\.\d)\d+", r"\1", value)
                node.set(name, value.replace("url(#", f"url(#{prefix}"))
        if "=" in line:
            node.set("href", f"#{line}")
    root.set("font-family", FONT)
    return etree.tostring(root, encoding="unicode")


def _label(text: str) -> str:
    """What a mark is called: each name once, and shares in percent with one decimal."""
    named: dict[str, str] = {}
    for part in re.sub(r"(\d\.\d)\d+%", r"\1%", text).split("; "):
        value = part.partition(": ")[2]
        # Two columns may have one name in them, but counts and ends of intervals may be equal.
        named.setdefault(part if value[:1].isdigit() else value or part, part)
    return "; ".join(named.values())


def _table(kind: str, data: Mapping[str, Any]) -> str:
    """The frame of a chart, a table or the cases of a gallery as CSV; else nothing."""
    if kind == "table":
        return csv_text([column["title"] for column in data["columns"]], data["rows"])
    frames = data.get("datasets", {}).values() if kind == "vega" else ()
    rows = data["cases"] if kind == "gallery" else [row for frame in frames for row in frame]
    cells = (cell for row in rows for cell in row.items())
    plain = dict.fromkeys(name for name, v in cells if isinstance(v, str | int | float | None))
    names = [name for name in plain if name not in (LINES, "image")]
    return csv_text(names, [[row.get(name) for name in names] for row in rows])


def csv_text(names: list[str], rows: Iterable[Iterable[Any]]) -> str:
    """CSV of `rows`: a text that a spreadsheet would run gets an apostrophe before it.

    Numbers stay numbers. Lines end as RFC 4180 says. Nothing where there is no row.
    """
    stream = io.StringIO()
    lines = [list(map(_cell, line)) for line in (names, *rows)]
    csv.writer(stream).writerows(lines if lines[1:] else [])
    return stream.getvalue()


def _cell(value: Any) -> Any:
    if value is None or value != value:
        return ""
    if isinstance(value, bool | int | float):
        return value
    if not isinstance(value, str):
        value = json.dumps(value, ensure_ascii=False, default=str)
    value = clean(value, limit=None)
    return (f"'{value}" if _FORMULA.match(value) else value).replace("\0", "␀")
