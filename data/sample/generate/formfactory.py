"""Write the sample of FormFactory: forms of the arena in the layout of the released files.

Run from the project's root: ``python -m data.sample.generate formfactory --out DIR``.
Needs a browser for the screenshots. Their pixels depend on its version and on the fonts at hand;
values and texts do not.
"""

from __future__ import annotations

import csv
import io
import tempfile
from pathlib import Path
from typing import Any

from PIL import Image

from formlab import browser, files
from formlab.benchmarks.formfactory import forms
from formlab_arena import form, make
from formlab_arena.process import serving
from formlab_arena.session import VIEWPORT

CODES = ("A12", "A13", "C12", "E12", "G11", "H11")
INSTANCES = 3
KINDS = {"multiple": "choice"}
_BOXES = """() => [...document.querySelectorAll('input, select, textarea')]
  .filter(e => e.type !== 'hidden' && e.checkVisibility())
  .map(e => { const b = e.getBoundingClientRect(); return [e.name, e.dataset.option ?? null,
    [b.left + scrollX, b.top + scrollY, b.right + scrollX, b.bottom + scrollY].map(Math.round)];
  })"""


def gold(code: str) -> list[dict[str, Any]]:
    """The values of the instances of a form, by label; what is left empty is left out."""
    made = (make(form(code), number).values for number in range(1, INSTANCES + 1))
    return [
        {f.label: values[f.name] for f in form(code).fields if values[f.name] is not None}
        for values in made
    ]


def texts(code: str) -> str:
    """The texts of the instances of a form, numbered."""
    texts = [make(form(code), number).text for number in range(1, INSTANCES + 1)]
    return "\n\n".join(f"{number}. {text}" for number, text in enumerate(texts, start=1)) + "\n"


def fields() -> str:
    """The table of fields: their kinds, and the names of their boxes."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(("code", "label", "kind", "elements"))
    for code in CODES:
        for field in form(code).fields:
            named = field.options if field.type in ("radio", "multiple") else (field.label,)
            kind = KINDS.get(field.type, field.type)
            writer.writerow((code, field.label, kind, "|".join(named)))
    return stream.getvalue()


def screens(target: Path) -> None:
    """A screenshot and a box file for each page of each form."""
    with tempfile.TemporaryDirectory() as folder, serving(Path(folder) / "s.sqlite") as server:
        address = server.ensure()
        with browser.page(size=VIEWPORT, allow=(address, "data:")) as visit:
            for code in CODES:
                visit.page.goto(f"{address}/forms/{code}", wait_until="load")
                for number, _ in enumerate(form(code).pages):
                    visit.page.evaluate("number => show(number)", number)
                    several = len(form(code).pages) > 1
                    _screen(visit.page, target, code, f"{code}_{number + 1}" if several else code)


def _screen(page: Any, target: Path, code: str, stem: str) -> None:
    labels = {field.name: field.label for field in form(code).fields}
    lines = [
        f"[{stem}][{option or labels[name]}][{','.join(map(str, box))}]\n"
        for name, option, box in page.evaluate(_BOXES)
    ]
    folder = target / "labeled-images" / code[0]
    files.write_text(folder / f"{stem}.txt", "".join(lines))
    page.screenshot(path=folder / f"{stem}.png", full_page=True, animations="disabled")
    # Flat colours: a palette takes a third of the bytes and looks the same.
    small = Image.open(folder / f"{stem}.png").convert("RGB").quantize(64, dither=Image.Dither.NONE)
    small.save(folder / f"{stem}.png", optimize=True)


def write(target: Path) -> None:
    """Write all files of the sample below `target`."""
    files.write_text(target / "fields.csv", fields())
    for code in CODES:
        name = forms()[code].file
        files.write_json(target / "data1" / f"{name}.json", gold(code))
        files.write_text(target / "data2" / f"{name}.txt", texts(code))
    screens(target)
