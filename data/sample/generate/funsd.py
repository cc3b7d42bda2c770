"""Draw the sample forms and write them as FUNSD's own files.

Run from the project's root: ``python -m data.sample.generate.funsd --out DIR [--seed N]``.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from data.sample.generate.blocks import Stack
from data.sample.generate.forms import FORMS, Form
from data.sample.generate.paper import Paper
from data.sample.generate.scan import moved, scanned
from data.sample.generate.sheet import Entity, Sheet
from formlab import files
from formlab.errors import FormlabError

SEED = 20
WIDTH, HEIGHT = 760, 1000
# No form has as many entities, so a link to it leads nowhere.
NOWHERE = 999


def drawn(form: Form, seed: int) -> Sheet:
    """The sheet of a form, filled in.

    Raises
    ------
    ValueError
        If the form is longer than the page.
    """
    sheet = Sheet(Paper(WIDTH, HEIGHT, seed=f"{seed}/{form.name}"), form.pens)
    bottom = Stack(form.blocks, gap=form.gap).draw(
        sheet, form.margin, form.top, WIDTH - 2 * form.margin
    )
    if bottom > HEIGHT:
        raise ValueError(f"form {form.name} ends at {bottom:.0f}, below the page's {HEIGHT}")
    if form.stray_link:
        question = next(e for e in reversed(sheet.entities) if e.label == "question")
        question.links.append((question.id, NOWHERE))
    return sheet


def annotation(sheet: Sheet, form: Form) -> list[dict[str, Any]]:
    """The entities of a sheet as FUNSD writes them, their boxes on the scan."""

    def written(entity: Entity) -> dict[str, Any]:
        words = [
            {"text": word.text, "box": list(moved(word.box, form.scan, sheet.paper))}
            for word in entity.words
        ]
        x0, y0, x1, y1 = zip(*(word["box"] for word in words), strict=True)
        return {
            "id": entity.id,
            "text": " ".join(word["text"] for word in words),
            "box": [min(x0), min(y0), max(x1), max(y1)],
            "label": entity.label,
            "words": words,
            "linking": [list(link) for link in entity.links],
        }

    return [written(entity) for entity in sheet.entities]


def write(out: Path, seed: int) -> None:
    """Write every form below `out`."""
    for form in FORMS:
        sheet = drawn(form, seed)
        folder = out / form.folder
        # One entity a line: a change of one field shows as a change of one line.
        lines = [json.dumps(e, ensure_ascii=False) for e in annotation(sheet, form)]
        text = '{"form": [\n' + ",\n".join(lines) + "\n]}\n"
        files.write_text(folder / "annotations" / f"{form.name}.json", text)
        with files.atomic(folder / "images" / f"{form.name}.png") as part:
            scanned(sheet.paper, form.scan).save(part, format="PNG", optimize=True)


def main() -> int:
    """Read the arguments and write; 2 if a font is missing."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, required=True, help="folder to write to")
    parser.add_argument("--seed", type=int, default=SEED)
    arguments = parser.parse_args()
    try:
        write(arguments.out, arguments.seed)
    except FormlabError as error:
        print(error, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
