"""Draw the FORMCRAFT sample and write it in the layout of `formlab.benchmarks.formcraft`.

Run from the project's root: ``python -m data.sample.generate.formcraft --out DIR [--seed N]``.
"""

from __future__ import annotations

import argparse
import json
import sys
from decimal import Decimal
from pathlib import Path

from data.sample.generate.blocks import Stack
from data.sample.generate.formcraft.forms import FORMS
from data.sample.generate.formcraft.sheet import FormSheet, empty_form
from data.sample.generate.formcraft.spec import Ask, Form, Json, Tie, computed
from data.sample.generate.paper import Paper
from data.sample.generate.scan import scanned
from formlab import files, text
from formlab.errors import FormlabError

SEED = 7
WIDTH = 680


def drawn(form: Form, seed: int) -> tuple[Json, list[FormSheet]]:
    """The annotation of a form, and its pages.

    Raises
    ------
    ValueError
        If a page is too short for its blocks, or an item names a field that is not there.
    """
    content, sheets = empty_form(), []
    for number, page in enumerate(form.pages, start=1):
        paper = Paper(WIDTH, page.height, seed=f"{seed}/{form.name}/{number}")
        sheet = FormSheet(paper, form.pens, scan=page.scan, number=number, form=content)
        bottom = Stack(page.blocks, gap=form.gap).draw(
            sheet, form.margin, form.top, WIDTH - 2 * form.margin
        )
        if bottom > page.height - 8:
            raise ValueError(f"{form.name}, page {number} ends at {bottom:.0f} of {page.height}")
        sheets.append(sheet)
    names = [f"{form.name}.png", *(f"{form.name}_{n}.png" for n in range(2, len(sheets) + 1))]
    values = dict(_values(content, ""))
    head = {"template": form.name, "domain": form.domain, "pages": names}
    items = {
        "vqa": [_question(f"q{n}", ask, values) for n, ask in enumerate(form.asks, start=1)],
        "consistency": [_check(f"c{n}", tie, values) for n, tie in enumerate(form.ties, start=1)],
    }
    return head | content | items, sheets


def _values(group: Json, path: str) -> list[tuple[str, str]]:
    found = [(f"{path}/{_step(field['label'])}", field["value"]) for field in group["fields"]]
    for inner in group["groups"]:
        found += _values(inner, f"{path}/{_step(inner['label'])}")
    names = [item["label"] for item in (*group["fields"], *group["groups"])]
    if len(set(names)) != len(names):
        raise ValueError(f"two of one label in {path or 'the form'}: {sorted(names)}")
    return found


def _step(label: str) -> str:
    return label.replace("~", "~0").replace("/", "~1")


def _amount(value: str) -> Decimal:
    found = text.money(value) or (text.number(value),)
    if found[0] is None:
        raise ValueError(f"{value!r} is no number")
    return found[0]


def _derived(formula: str, fields: dict[str, str], form: str, values: dict[str, str]) -> str:
    return form.format(computed(formula, {n: _amount(values[p]) for n, p in fields.items()}))


def _question(number: str, ask: Ask, values: dict[str, str]) -> Json:
    paths = list(ask.fields.values() if isinstance(ask.fields, dict) else ask.fields)
    if unknown := [path for path in paths if path not in values]:
        raise ValueError(f"{ask.question!r} is about {unknown[0]}, which is no field")
    item: Json = {"id": number, "question": ask.question, "fields": paths}
    item["answers"] = list(ask.answers)
    if ask.formula and isinstance(ask.fields, dict):
        item["answers"] = [_derived(ask.formula, ask.fields, ask.form, values), *ask.answers]
        item["derivation"] = {"formula": ask.formula, "fields": ask.fields}
    item |= {"options": list(ask.options)} if ask.options else {}
    return item | _labels(ask)


def _check(number: str, tie: Tie, values: dict[str, str]) -> Json:
    expected = values[tie.dependent]
    item: Json = {"id": number, "source": tie.source, "dependent": tie.dependent}
    if tie.source not in values:
        raise ValueError(f"{tie.source} is no field")
    if tie.formula:
        expected = _derived(tie.formula, tie.fields, tie.form, values)
        item["derivation"] = {"formula": tie.formula, "fields": tie.fields}
    return item | {"expected": expected, "confidence": tie.confidence} | _labels(tie)


def _labels(item: Ask | Tie) -> Json:
    labels = {
        axis: getattr(item.relation, axis) for axis in ("scope", "reference", "complexity", "modal")
    }
    labels |= {"kind": item.kind} if item.kind else {}
    return labels | {"rationale": item.rationale}


def write(out: Path, seed: int) -> None:
    """Write every form below `out`."""
    for form in FORMS:
        content, sheets = drawn(form, seed)
        written = json.dumps(content, ensure_ascii=False, indent=1)
        files.write_text(out / "test" / "forms" / f"{form.name}.json", written + "\n")
        for name, sheet, page in zip(content["pages"], sheets, form.pages, strict=True):
            with files.atomic(out / "test" / "images" / name) as part:
                scanned(sheet.paper, page.scan).save(part, format="PNG", optimize=True)


def main() -> int:
    """Read the arguments and write; 2 if a font is missing."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
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
