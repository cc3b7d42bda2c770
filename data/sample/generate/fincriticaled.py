"""Write the sample pages: invented companies, ten pages of five document types, facts tagged.

Run from the project's root: ``python -m data.sample.generate fincriticaled --out DIR``.
A page is HTML with tags (three in the paper's vocabulary, the others in the release's) and its
picture, which Chromium draws. Needs a browser (``make browser``).
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

from jinja2 import StrictUndefined, TemplateError
from jinja2.sandbox import SandboxedEnvironment
from PIL import Image

from formlab import browser, files
from formlab.benchmarks.fincriticaled import FACTS
from formlab.benchmarks.ixbrl import BOXES
from formlab.errors import DataBroken
from formlab_experiments.forms.content import Content, load_all

SEED = 7
TEMPLATES = Path(__file__).parent / "templates"
# US letter at 150 dots an inch; CSS counts 96.
WIDTH, HEIGHT, ZOOM = 1275, 1650, 150 / 96
GREYS = 16
STYLE = """
html { zoom: %.4f } body { margin: 0.7in; font: 11pt/1.35 %s; color: #111; background: #fff }
table { border-collapse: collapse; width: 100%% } td, th { padding: 2px 6px; vertical-align: top }
th { text-align: right; border-bottom: 1px solid #111 } td.n { text-align: right }
th:first-child, td:first-child { text-align: left } tr.t td { border-top: 1px solid #111 }
.box td, .box th { border: 1px solid #555; text-align: left } h1, h2 { text-align: center }
h1 { font-size: 15pt; margin: 0 0 4px } h2 { font-size: 11.5pt; margin: 0 0 10px }
small { font-size: 8.5pt }
"""
SERIF, SANS = '"PT Serif", "DejaVu Serif", serif', '"Arimo", "DejaVu Sans", sans-serif'
# What each vocabulary calls a kind of fact; the paper tags neither units nor names.
TAGS = {
    "release": {
        "number": "number", "date": "temporal", "unit": "monetaryunit",
        "entity": "reportingentity", "concept": "financialconcepts",
    },
    "paper": {"number": "Number", "date": "Date"},
}  # fmt: skip


class Document(Content):
    """A page: its kind, the vocabulary of its tags, and its body as a template of Jinja.

    A line break in `body` is a space in the page, and nothing between two tags. In the body,
    filters write facts (`TAGS`), and `draw` is the page's generator of random numbers.
    """

    name: str
    kind: str
    vocabulary: Literal["release", "paper"] = "release"
    body: str


def amount(value: int, parts: int = 0) -> str:
    """As statements print it, a loss in brackets; with `parts`, the value of one of them.

    >>> amount(-1234), amount(1234, 100)
    ('(1,234)', '12.34')
    """
    text = f"{abs(value) / parts:.2f}" if parts else f"{abs(value):,}"
    return f"({text})" if value < 0 else text


def _each(function: Callable[..., str]) -> Callable[..., Any]:
    """`function`, which takes a list as well and then returns one."""

    def applied(value: Any, *more: Any) -> Any:
        if isinstance(value, list):
            return [function(item, *more) for item in value]
        return function(value, *more)

    return applied


def _head(*titles: str) -> str:
    return "\n<tr>" + "".join(f"<th>{title}</th>" for title in titles) + "</tr>\n"


def _row(first: str, *cells: str | list[str], total: bool = False) -> str:
    """A row of a table; with `total` there is a rule above it."""
    flat = [text for cell in cells for text in (cell if isinstance(cell, list) else [cell])]
    line = f"<td>{first}</td>" + "".join(f'<td class="n">{text}</td>' for text in flat)
    return f"<tr class={'t' if total else 'r'}>{line}</tr>\n"


def _differences(first: list[int], *others: list[int]) -> list[int]:
    return [value - sum(rest) for value, *rest in zip(first, *others, strict=True)]


def _environment(vocabulary: str, draw: random.Random) -> SandboxedEnvironment:
    """Where a body is filled in."""
    tags = TAGS[vocabulary]

    def tagged(kind: str) -> Callable[[str], str]:
        tag = tags.get(kind)
        return lambda text: f"<{tag}>{text}</{tag}>" if tag else text

    environment = SandboxedEnvironment(undefined=StrictUndefined)
    environment.globals = {
        "draw": draw, "head": _head, "row": _row, "differences": _differences, "range": range,
        "namespace": environment.globals["namespace"],
        "numbers": lambda count, low, high: [draw.randrange(low, high) for _ in range(count)],
    }  # fmt: skip
    kinds = ("number", "date", "unit", "entity", "concept")
    environment.filters |= {kind: _each(tagged(kind)) for kind in kinds}
    environment.filters |= {
        "amounts": _each(amount),
        "dollars": _each(lambda text: tagged("unit")("$") + tagged("number")(text)),
    }
    return environment


def markup(page: Document, number: int, seed: int) -> str:
    """The tagged HTML of a page; `DataBroken` if its body is no template."""
    source = re.sub(r"(?<=[>}])\n(?=[<{])", "", page.body.strip()).replace("\n", " ")
    environment = _environment(page.vocabulary, random.Random(f"{seed}/{number}"))
    try:
        body = environment.from_string(source).render()
    except TemplateError as error:
        raise DataBroken(f"not a template: {error}", where=f"{page.name}.yaml: body") from error
    style = STYLE % (ZOOM, SANS if number % 2 else SERIF)
    return f"<html>\n<head><style>{style}</style></head>\n<body>\n{body}\n</body>\n</html>\n"


def write(out: Path, seed: int = SEED) -> None:
    """Write every page, its metadata and its picture below `out`."""
    with browser.page(size=(WIDTH, HEIGHT)) as visit:
        for number, page in enumerate(load_all(TEMPLATES / "fincriticaled", Document)):
            html = markup(page, number, seed)
            files.write_text(out / f"gold_{number}.txt", html)
            meta = {"document_type": page.kind, "made_by": "this project, invented data"}
            meta |= {"seed": seed}
            files.write_text(out / f"meta_{number}.json", json.dumps(meta) + "\n")
            # Browsers hide no unknown tag, but a table cell must not break at one.
            visit.page.set_content(re.sub(r"</?(?:Number|Date)>", "", html))
            with files.atomic(out / "images" / f"{number}.png") as file:
                visit.page.screenshot(path=file, type="png")
                with Image.open(file) as shot:
                    grey = shot.convert("L").quantize(GREYS)
                grey.save(file, format="PNG", optimize=True)
            visit.page.set_content(html)
            boxes = json.dumps(visit.page.evaluate(BOXES, ", ".join(FACTS)))
            files.write_text(out / "images" / f"{number}.json", boxes + "\n")
