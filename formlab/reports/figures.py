"""The figures of a report: charts as drawings for two widths, the tables behind them as CSV."""

from __future__ import annotations

import contextlib
import csv
import dataclasses
import io
import itertools
import json
import math
import re
import textwrap
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lxml import etree

from formlab import files
from formlab.charts.escaping import clean
from formlab.charts.theme import FONT
from formlab.reports import sanitize
from formlab.reports.plan import slug
from formlab.selection import LINES

if TYPE_CHECKING:
    from formlab.reports.page import Output

FOLDER = "figures"
# Outputs of a kernel that are no object of formlab, altair or plotly.
RAW = ("stream", "error", "display_data", "execute_result")
# What reading data in an unknown shape raises.
ODD_SHAPES = (KeyError, TypeError, ValueError, AttributeError, IndexError)
# Twice the pixels of a screen, for print.
SCALE = 2
# Widths in pixels that a drawing fits into: the page's column, and a phone.
WIDE, PHONE = 940, 346
_LEAST, _USUAL = 60, 600
_PADDING = {"left": 24, "top": 5, "right": 12, "bottom": 5}
_ABREAST, _MARKS = "hconcat", {"bar", "point", "circle", "square", "rect", "arc"}
# vl-convert puts this before a link within the page.
_BASE = "https://vega.github.io/vega-datasets/"
_XLINK = "{http://www.w3.org/1999/xlink}href"
# What a drawing need not say of each of its parts.
_NEEDLESS = {"style", "class", "aria-roledescription"}
_DEFAULTS = {"font-family": FONT, "pointer-events": "none", "stroke-dasharray": "1,0"}
_DEFAULTS |= dict.fromkeys(("opacity", "fill-opacity", "stroke-width"), "1")
# A spreadsheet takes a cell for a formula that begins so, also after what cannot be seen.
_FORMULA = re.compile(
    r"[\s\x00-\x1f\x7f-\xa0\xad\u061c\u180e\u200b-\u200f\u2028-\u202f\u2060-\u206f\ufeff]*[=+\-@＝＋－＠]"
    r"|[\t\r\n]"
)
Rows = list[dict[str, Any]]
Spec = dict[str, Any]


@dataclasses.dataclass(frozen=True)
class Figure:
    """A chart, table or gallery: its number and title as a file name, its table, its drawings.

    `drawings` are SVG texts, the wide one first; one alone where it fits a phone, none for what is
    no chart. `problem` says why a chart could not be drawn.
    """

    stem: str
    csv: str = ""
    drawings: tuple[str, ...] = ()
    problem: str = ""


def draw(outputs: Iterable[Output]) -> None:
    """Set the `figure` of each output of a page that is a chart, a table or a gallery."""
    count, caption = 0, ""
    for output in outputs:
        rows, is_chart = _rows(output.kind, output.data), output.kind in ("vega", "plotly")
        if rows or is_chart:
            count += 1
            name = caption or (output.alt if is_chart else output.kind)
            title = slug(re.split(r"[.;:]\s", name, maxsplit=1)[0].lower())[:48].strip("-_")
            drawn = _drawn(output.data, f"{count:02d}") if output.kind == "vega" else {}
            table = csv_text(rows) if rows else ""
            output.figure = Figure(f"{count:02d}-{title}", table, **drawn)
        if output.kind not in RAW:
            caption = str(output.data.get("text") or "") if output.kind == "caption" else ""


def _drawn(spec: Mapping[str, Any], prefix: str) -> dict[str, Any]:
    """The drawings of a chart, or why there are none."""
    try:
        wide = _fitted(_linked(spec), WIDE)
        drawings = [_inert(wide, f"{prefix}w")]
        if _width(wide) > PHONE:
            drawings.append(_inert(_fitted(_for_phone(_linked(spec)), PHONE), f"{prefix}p"))
        return {"drawings": tuple(drawings)}
    except Exception as error:  # a chart of anyone's code: the report does not fail with it
        reason = sanitize.plain((str(error).splitlines() or [type(error).__name__])[0])
        return {"problem": reason[:300]}


def save(figures: Iterable[Figure], folder: Path) -> tuple[list[str], list[str]]:
    """Write charts as SVG and PNG, and the table of each figure as CSV; their names, and notes."""
    import vl_convert

    contents, notes = {}, []
    for figure in figures:
        if figure.csv:
            contents[f"{figure.stem}.csv"] = figure.csv.encode("utf-8", "backslashreplace")
        if figure.drawings:
            paper = '><rect width="100%" height="100%" fill="white"/>'
            svg = figure.drawings[0].replace(">", paper, 1)
            contents[f"{figure.stem}.svg"] = svg.encode()
            contents[f"{figure.stem}.png"] = vl_convert.svg_to_png(svg, scale=SCALE)
        if figure.problem:
            notes.append(f"figure {figure.stem} was not drawn to a file: {figure.problem}")
    for name, content in contents.items():
        with files.atomic(folder / name) as part:
            part.write_bytes(content)
    for file in (file for file in folder.glob("*") if file.name not in contents):
        file.unlink()
    return list(contents), notes


# Drawings


def _nodes(spec: Spec, across: int = 1) -> Iterator[tuple[Spec, int]]:
    """Each part of a chart, parents first, and how many stand abreast: none of layers of a plot."""
    yield spec, across
    for name in (_ABREAST, "vconcat", "concat", "layer"):
        parts = spec.get(name, ())
        for part in parts:
            yield from _nodes(part, across * {_ABREAST: len(parts), "layer": 0}.get(name, 1))
    if "facet" in spec:
        facet = spec["facet"]
        columns = spec.get("columns") or len(facet.get("sort") or ()) or 1
        if {"row", "column"} & facet.keys():
            columns = len(facet.get("column", {}).get("sort") or [1])
        yield from _nodes(spec["spec"], across * columns)


def _plots(spec: Spec) -> Iterator[tuple[Spec, int]]:
    """Each plot of a chart, which has a width, and how many of its kind stand abreast."""
    parents = {_ABREAST, "vconcat", "concat", "facet"}
    return ((node, across) for node, across in _nodes(spec) if across and not parents & node.keys())


def _fitted(spec: Spec, goal: int) -> str:
    """The drawing, with plots made narrower until it is no wider than `goal`."""
    import vl_convert

    # Names may be wider in a reader's font.
    spec |= {"padding": _PADDING}
    for attempts_left in (2, 1, 0):
        # No address is fetched, whatever a specification asks for.
        svg = vl_convert.vegalite_to_svg(spec, allowed_base_urls=[])
        excess = _width(svg) - goal
        if excess <= 1 or not attempts_left:
            break
        for plot, across in _plots(spec):
            width = plot.get("width", _USUAL)
            width = width if isinstance(width, int | float) else _width(svg) / across - 60
            plot["width"] = max(_LEAST, math.floor(width - excess / across))
    return svg


def _width(svg: str) -> float:
    return float(re.search(r'width="([\d.]+)"', svg)[1])  # type: ignore[index]


def _linked(spec: Any) -> Any:
    """A copy in which a mark leads to its cases, and nowhere else."""
    if isinstance(spec, list):
        return [_linked(item) for item in spec]
    if not isinstance(spec, dict):
        return spec
    copy = {k: _linked(v) for k, v in spec.items() if k not in ("href", "url", LINES)}
    if isinstance(spec.get(LINES), str):
        copy[LINES] = f"#{spec[LINES]}"
    mark = spec.get("mark")
    mark = mark if isinstance(mark, dict) else {"type": mark}
    kind = mark.get("type")
    if kind == "image":
        # An address that vl-convert may not load ends the whole process.
        raise ValueError("a chart of images is not drawn")
    if kind in _MARKS and isinstance(copy.get("encoding"), dict):
        copy["encoding"]["href"] = {"field": LINES, "type": "nominal"}
    if kind in ("rule", "text", "tick"):
        # What they say of a row its mark says too.
        copy["mark"] = mark | {"aria": False}
    return copy


def _for_phone(spec: Spec) -> Spec:
    """The chart with panels below each other, long names cut and titles on several lines."""
    config = spec.setdefault("config", {})
    config["legend"] = config.get("legend", {}) | {"orient": "top", "gradientLength": 200}
    for plot, _ in _plots(spec):
        width = plot.get("width", _USUAL)
        if isinstance(width, int | float):
            plot["width"] = min(width, 300)
    for node, _ in list(_nodes(spec)):
        if _ABREAST in node:
            node["vconcat"] = node.pop(_ABREAST)
        if "concat" in node or "field" in node.get("facet", {}):
            node["columns"] = 1
        mark = node.get("mark")
        if isinstance(mark, dict) and isinstance(mark.get("limit"), int | float):
            mark["limit"] = min(mark["limit"], 290)
        for channel, encoding in node.get("encoding", {}).items():
            if not isinstance(encoding, dict):
                continue
            if isinstance(encoding.get("legend"), dict):
                encoding["legend"] |= {"columns": 1, "labelLimit": 280}
            if channel in ("x", "y") and isinstance(encoding.get("title"), str):
                encoding["title"] = textwrap.wrap(encoding["title"], 34) or None
            names = encoding.get("type") in ("nominal", "ordinal")
            axis = encoding.get("axis", {})
            if channel in ("x", "y") and names and axis is not None:
                turned = {"labelAngle": -40, "labelAlign": "right"} if channel == "x" else {}
                encoding["axis"] = axis | {"labelLimit": 110} | turned
    return spec


def _inert(svg: str, prefix: str) -> str:
    """A drawing fit for a page: links within it alone, a title on each mark, ids of its own."""
    root = etree.fromstring(sanitize.svg(svg.replace(f'"{_BASE}#', '"#')).encode())
    for node in list(root.iter(etree.Element)):
        parent, kind = node.getparent(), etree.QName(node).localname
        # The grounds of panels, too, are paths without a colour.
        unseen = node.get("aria-hidden") == "true" and not {"fill", "stroke"} & {*node.keys()}
        if parent is not None and (node.get("display") == "none" or (unseen and kind == "path")):
            parent.remove(node)
            continue
        kinds = [name for name in node.get("class", "").split() if re.match("mark-|role-", name)]
        for name, value in node.attrib.items():
            if _DEFAULTS.get(name) == value or name in _NEEDLESS:
                del node.attrib[name]
            elif name == "id":
                node.set(name, prefix + value)
            elif name not in ("aria-label", _XLINK):
                value = re.sub(r"(\d\.\d)\d+", r"\1", value)
                node.set(name, value.replace("url(#", f"url(#{prefix}"))
        if kinds:
            node.set("class", " ".join(kinds))
        label = _label(node.get("aria-label") or "")
        if label and node.get("role") == "graphics-symbol" and len(node) == 0:
            is_link = parent is not None and etree.QName(parent).localname == "a"
            if is_link:
                parent.set("href", parent.attrib.pop(_XLINK, "#"))
            title = etree.Element(f"{{{root.nsmap[None]}}}title")
            title.text = label
            (parent if is_link else node).insert(0, title)
            for name in ("role", "aria-label"):
                node.attrib.pop(name, None)
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


# Tables


def csv_text(rows: Rows) -> str:
    r"""CSV of `rows`: a text that a spreadsheet would run gets an apostrophe before it.

    Numbers stay numbers. Lines end as RFC 4180 says.
    """
    names = list(dict.fromkeys(name for row in rows for name in row))
    stream = io.StringIO()
    lines = [names, *([row.get(name) for name in names] for row in rows)]
    csv.writer(stream, lineterminator="\r\n").writerows(map(_cell, line) for line in lines)
    return stream.getvalue()


def _cell(value: Any) -> Any:
    if value is None or value != value:
        return ""
    if isinstance(value, bool | int | float):
        return value
    if not isinstance(value, str):
        value = json.dumps(value, ensure_ascii=False, default=str)
    value = clean(value, limit=None)
    safe = f"'{value}" if _FORMULA.match(value) else value
    return safe.replace("\0", "␀")


def _rows(kind: str, data: Mapping[str, Any]) -> Rows:
    """The rows that a chart, table or gallery of a notebook shows."""
    reader = {"vega": _vega, "table": _table, "gallery": _gallery}.get(kind)
    # Other code may emit these kinds in other shapes: the figure stands, without a table.
    with contextlib.suppress(*ODD_SHAPES):
        return reader(data) if reader else []
    return []


def _gallery(data: Mapping[str, Any]) -> Rows:
    """Cases with their words and numbers; of further systems ``pred_2`` and so on."""
    return [
        {
            name + (f"_{number}" if number > 1 else ""): value
            for number, answer in enumerate([case, *case.get("beside", ())], start=1)
            for name, value in answer.items()
            if isinstance(value, str | int | float | None) and name != "image"
        }
        for case in data["cases"]
    ]


def _vega(spec: Mapping[str, Any]) -> Rows:
    """The data of a chart, without addresses of cases; `part` tells several tables apart."""
    inline = [node.get("data", {}).get("values") for node, _ in _nodes(spec)]
    tables = [t for t in (*spec.get("datasets", {}).values(), *inline) if t and type(t) is list]
    rows = []
    for number, table in enumerate(tables, start=1):
        part = {"part": str(number)} if len(tables) > 1 else {}
        rows += [part | (row if isinstance(row, dict) else {"value": row}) for row in table]
    return [{name: row[name] for name in row if name != LINES} for row in rows]


def _table(data: Mapping[str, Any]) -> Rows:
    """The rows by the titles of their columns; a title that comes again is numbered."""
    names: list[str] = []
    for title in (column["title"] for column in data["columns"]):
        numbered = (f"{title} {number}" for number in itertools.count(2))
        names.append(next(name for name in itertools.chain([title], numbered) if name not in names))
    return [dict(zip(names, row, strict=True)) for row in data["rows"]]
