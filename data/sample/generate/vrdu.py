"""Write the sample of VRDU: PDFs, annotations and few-shot splits of both kinds of forms.

Run from the project's root: ``python -m data.sample.generate vrdu --out DIR [--seed N]``.
"""

from __future__ import annotations

import gzip
import json
import random
import uuid
from itertools import product
from pathlib import Path

from pydantic import Field

from data.sample.generate.pdf import Sheet, photograph
from formlab import files
from formlab_experiments.forms.content import Content, load_all, one_of
from formlab_experiments.forms.values import Source, State, Values, fill_in, make

SEED = 21
TEMPLATES = Path(__file__).parent / "templates"
_COLUMNS = (40, 200, 330, 460)


class Part(Content):
    """A part of a page. `y` counts from the end of the table before it, else from the page's top.

    Every filled-in field of a text that is an entity of the data set is annotated.
    """

    def draw(self, sheet: Sheet, state: State, top: float) -> float:
        """Draw the part; where the next one counts from."""
        raise NotImplementedError


class Put(Part):
    """A text at its place; `entity` names the whole text, or nothing in it where it is ''."""

    text: str = Field(alias="put")
    x: float
    y: float
    size: float = 9
    bold: bool = False
    entity: str | None = None

    def draw(self, sheet: Sheet, state: State, top: float) -> float:
        text, spans = fill_in(self.text, state)
        if self.entity is not None:
            spans = [(self.entity, 0, len(text))] if self.entity else []
        sheet.put(self.x, top + self.y, text, size=self.size, bold=self.bold, spans=spans)
        return top


class Labelled(Part):
    """Labels and their values, `step` apart; each value is `across` and `down` from its label."""

    fields: dict[str, str]
    x: float
    y: float
    across: float = 0
    down: float = 0
    step: float = 0
    size: float = 9
    bold: bool = False
    value_size: float = 9

    def draw(self, sheet: Sheet, state: State, top: float) -> float:
        for place, (label, value) in enumerate(self.fields.items()):
            y = top + self.y + self.step * place
            sheet.put(self.x, y, label, size=self.size, bold=self.bold)
            text, spans = fill_in(value, state)
            sheet.put(self.x + self.across, y + self.down, text, size=self.value_size, spans=spans)
        return top


class Rule(Part):
    """A line across the page."""

    y: float = Field(alias="rule")

    def draw(self, sheet: Sheet, state: State, top: float) -> float:  # noqa: ARG002
        sheet.rule(top + self.y)
        return top


class Items(Part):
    """A table with a line item in each row; `columns` are titles and texts."""

    rows: str = Field(alias="items")
    y: float
    columns: dict[str, str]

    def draw(self, sheet: Sheet, state: State, top: float) -> float:
        y = top + self.y
        for x, title in zip(_COLUMNS, self.columns, strict=True):
            sheet.put(x, y, title, bold=True)
        sheet.rule(y + 13)
        for row in state.value(self.rows):
            y += 18
            inner, item = State(state.random, {}), {}
            inner.values = row
            for x, text in zip(_COLUMNS, self.columns.values(), strict=True):
                cell, spans = fill_in(text, inner)
                sheet.put(x, y, cell, spans=spans, item=item)
            sheet.line_item(item)
        return y + 26


AnyPart = one_of(Part)


class Kind(Content):
    """One of the two data sets: its entities, what its documents say, and its templates.

    `sources` and `values` make what a document says; the values are made in their order. The
    train sets of each task have these `sizes` and are drawn by so many `seeds`, those of mixed
    templates from the first `pool` documents.
    """

    name: str
    dataset: str
    each: int
    tasks: tuple[str, str, str]
    sizes: tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]
    seeds: tuple[int, int, int]
    pool: int
    entities: dict[str, str]
    item_entities: dict[str, str] = Field(default_factory=dict)
    sources: dict[str, Source]
    values: Values
    templates: dict[str, tuple[AnyPart, ...]]


def write(out: Path, seed: int = SEED) -> None:
    """Write both data sets below `out`."""
    for kind in load_all(TEMPLATES / "vrdu", Kind):
        generator = random.Random(f"{seed}/{kind.dataset}")
        home = out / kind.name
        names: dict[str, list[str]] = {template: [] for template in kind.templates}
        lines, count = [], kind.each * len(names)
        for place in range(count):
            template = list(names)[place % len(names)]
            sheet = _document(kind, template, generator)
            name = f"{uuid.UUID(int=generator.getrandbits(128), version=4)}.pdf"
            pdf = sheet.pdf()
            # The last of each data set is a scan.
            with files.atomic(home / "main" / "pdfs" / name) as file:
                file.write_bytes(photograph(pdf, name) if place == count - 1 else pdf)
            line = {"filename": name, "file_path": f"pdfs/{name}", "ocr": sheet.ocr}
            lines.append(json.dumps(line | {"annotations": sheet.annotations}))
            names[template].append(name)
        data = "".join(f"{line}\n" for line in lines).encode()
        with files.atomic(home / "main" / "dataset.jsonl.gz") as file:
            file.write_bytes(gzip.compress(data, mtime=0))
        meta = {"dataset_name": kind.dataset}
        meta["entity_name_to_match_func"] = kind.entities | kind.item_entities
        if items := dict.fromkeys(kind.item_entities, "line_item"):
            single = dict.fromkeys(kind.entities, "unrepeated")
            meta["entity_appearance_pattern"] = single | items
        files.write_json(home / "main" / "meta.json", meta)
        _write_splits(home / "few_shot-splits", kind, names, seed)


def _document(kind: Kind, template: str, generator: random.Random) -> Sheet:
    """A document of a template, with values of its own."""
    state = State(generator, kind.sources)
    for name, maker in kind.values.items():
        make(maker, state, name)
    sheet, top = Sheet(), 0.0
    for part in kind.templates[template]:
        top = part.draw(sheet, state, top)
    return sheet


def _write_splits(folder: Path, kind: Kind, names: dict[str, list[str]], seed: int) -> None:
    """The splits of each task, by size and seed of the train set; valid and test stay the same.

    The last template is the one that task 3 has not seen.
    """
    *seen, unseen = names
    single = names[seen[0]]
    mixed = [name for group in zip(*names.values(), strict=True) for name in group]
    known = [name for template in seen for name in names[template]]
    pools = (single[:2], mixed[: kind.pool], [*known[:3], *known[5:]])
    valid = (single[2:3], mixed[kind.pool : kind.pool + 2], known[3:5])
    test = (single[3:], mixed[kind.pool + 2 :], names[unseen])
    for place, task in enumerate(kind.tasks):
        about = task.format((seen[0], "", unseen)[place])
        counts = f"test_{len(test[place])}-valid_{len(valid[place])}"
        for size, number in product(kind.sizes[place], range(kind.seeds[place])):
            draw = random.Random(f"{seed}/{about}/{size}/{number}")
            train = draw.sample(pools[place], size)
            split = {"train": train, "valid": valid[place], "test": test[place]}
            name = f"{kind.dataset}-{about}-train_{size}-{counts}-SD_{number}"
            files.write_json(folder / f"{name}.json", split)
