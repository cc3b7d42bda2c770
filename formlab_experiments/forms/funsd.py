"""Draw the sample forms and write them as FUNSD's own files."""

import json
from pathlib import Path
from typing import Any, Literal

from formlab import files
from formlab_experiments.forms.content import load_all
from formlab_experiments.forms.scan import scan_box
from formlab_experiments.forms.sheet import Entity, Sheet
from formlab_experiments.forms.template import Drawing, Template, draw

SEED = 20
# No form has as many entities, so a link to it leads nowhere.
NOWHERE = 999


class Form(Template):
    """A form of one page, and the split that it belongs to.

    `stray_link` plants a link to an entity that does not exist, a flaw of real annotations.
    """

    folder: Literal["training_data", "testing_data"]
    stray_link: bool = False


def annotation(sheet: Sheet) -> list[dict[str, Any]]:
    """The entities of a sheet as FUNSD writes them, their boxes on the scan."""

    def written(entity: Entity) -> dict[str, Any]:
        words = [
            {"text": word.text, "box": list(scan_box(word.box, sheet.scan, sheet.paper))}
            for word in entity.words
        ]
        x0, y0, x1, y1 = zip(*(word["box"] for word in words), strict=True)
        return {
            "id": entity.id, "text": " ".join(word["text"] for word in words),
            "box": [min(x0), min(y0), max(x1), max(y1)], "label": entity.label, "words": words,
            "linking": [list(link) for link in entity.links],
        }  # fmt: skip

    return [written(entity) for entity in sheet.entities]


def write(out: Path, seed: int = SEED) -> None:
    """Write every form below `out`."""
    for form in load_all("funsd", Form):
        page = draw(form, seed)
        (sheet,) = page.sheets
        if form.stray_link:
            question = next(e for e in reversed(sheet.entities) if e.label == "question")
            question.links.append((question.id, NOWHERE))
        write_form(out / form.folder, form.name, page)


def write_form(folder: Path, name: str, page: Drawing) -> None:
    """Write a form of one page into the folder of a split: its page, then its annotation."""
    (sheet,), (image,) = page.sheets, page.images
    # One entity a line: a change of one field shows as a change of one line.
    lines = [json.dumps(entity, ensure_ascii=False) for entity in annotation(sheet)]
    with files.atomic(folder / "images" / f"{name}.png") as file:
        image.save(file, format="PNG", optimize=True)
    text = '{"form": [\n' + ",\n".join(lines) + "\n]}\n"
    files.write_text(folder / "annotations" / f"{name}.json", text)
