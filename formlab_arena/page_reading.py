"""What a system reads in the pages of a task: values for labels, and words under the gold boxes."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import polars as pl
from rapidfuzz import fuzz

from formlab import pictures, systems, text
from formlab.benchmarks.formcraft import label_of
from formlab.errors import DataMissing
from formlab.folders import Predictions
from formlab.scoring.fields import read_fields
from formlab.systems.pages import page_files
from formlab.tables import BOX, USABLE
from formlab.text import values as typed
from formlab_arena.instances import Instance
from formlab_arena.instruction_text import LabelMention
from formlab_arena.spec import WebForm
from formlab_arena.texts import TaskSet, pdf_text, recover
from formlab_arena.value_patterns import PATTERNS

# The system that reads the pages of an agent's tasks, where the agent takes a reading.
READERS = {"rules": "rules"}
FILE = "page.json"
# Records whose value is written into a form; what is drawn is not.
WRITTEN = ("text", "marking", "entity", "value")
MARKS = ("checkbox", "radio", "choice")
_LIKENESS = 88.0
Row = dict[str, Any]


@dataclasses.dataclass(frozen=True)
class SourcePage:
    """The document that a form is filled in from.

    `gold` has a record for each field of the form, under the field's name, with its `label`.
    `values` are what a system read in the pages; None where the agent looks at them itself. `read`
    is the text that the system saw for each field, by name.
    """

    document: Row
    root: Path | None
    gold: Mapping[str, Row]
    values: PageValues | None = None
    read: Mapping[str, str] = dataclasses.field(default_factory=dict)

    @property
    def files(self) -> list[Path]:
        """The images or PDFs of the document's pages."""
        return page_files(self.document, self.root)

    def evidence(self) -> Row:
        """For each field its text on the page, what was read there, and what its label was given.

        None stands for what was not observed.
        """
        fields = {}
        for name, record in self.gold.items():
            mention = self.values.about(record["label"]) if self.values else None
            fields[name] = {
                "source": record["path"], "text": record["value"] or "", "kind": kind_of(record),
                "page": record["page"], "box": [record[side] for side in BOX],
                "read": self.read.get(name),
                "assigned": (mention.value if mention else "") if self.values else None,
            }  # fmt: skip
        kept = {name: self.document[name] for name in ("benchmark", "split", "doc_id", "image")}
        return kept | {"fields": fields}


class PageValues:
    """What a system read in a page, searchable by the labels of a form.

    Examples
    --------
    >>> values = PageValues([{"path": "/Donor/Name", "value": "Ada Berg"}])
    >>> values.about("Name").value, values.about("Donor: Name").value, values.about("Weight")
    ('Ada Berg', 'Ada Berg', None)
    """

    def __init__(self, records: Iterable[Row]) -> None:
        self._values = [(labels_of(r["path"]), r["value"] or "") for r in records]
        self.text = "\n".join(f"{names[0]}: {value}" for names, value in self._values)

    def about(self, label: str) -> LabelMention | None:
        """The value of the label that is most like `label`; None if none is like it."""
        key = _squashed(label)
        alike = [
            (fuzz.ratio(key, _squashed(name)), value)
            for names, value in self._values
            for name in names
        ]
        score, value = max(alike, key=lambda pair: pair[0], default=(0.0, ""))
        if score < _LIKENESS or not value:
            return None
        return LabelMention(value, text.checked(value) is False, value, plain=3)

    def span(self, *_: Any, **__: Any) -> None:
        """No part of a value is looked for: the system says which value a label has."""


def labels_of(path: str) -> tuple[str, str]:
    """The label of a path as a form shows it: by itself, and with its groups before it.

    Examples
    --------
    >>> labels_of("/line_item/0/sub_amount"), labels_of("/Donor/Name")
    (('Sub amount', 'Line item 1: Sub amount'), ('Name', 'Donor: Name'))
    """
    whole: list[str] = []
    for step in path.strip("/").split("/"):
        name = label_of(step).replace("_", " ")
        if step.isdecimal() and whole:
            whole[-1] += f" {int(step) + 1}"
        else:
            whole.append(name[:1].upper() + name[1:])
    return whole[-1], ": ".join(whole)


def kind_of(record: Row) -> str:
    """The type of a record's value; an entity's kind is its name, and its type stands beside it."""
    return (record["subtype"] if record["task"] == "entity" else record["kind"]) or "string"


def read(
    tasks: TaskSet, out: Path, system: str, predictions: Path | None = None
) -> TaskSet:  # fmt: skip
    """The tasks with what a system read in their pages.

    The system of the agent's own name reads them into the folder ``reading`` of the run `out`,
    once, or `predictions` are what any system read before. Agents that look at the pages
    themselves have no reading.

    Raises
    ------
    DataMissing, DataBroken, UnknownName
        If there are predictions for an agent that reads by itself, or they are of other documents.
    """
    corpus = tasks.pages
    if corpus is None or system not in READERS:
        if predictions:
            what = f"the agent {system} takes no reading"
            raise DataMissing(what, remedy=f"--system {' or '.join(READERS)}")
        return tasks
    if predictions:
        reading = Predictions.load(predictions)
        if reading.records.join(corpus.documents, on="doc_id", how="semi").is_empty():
            what = f"no prediction is of a page of {corpus.benchmark}:{corpus.split}"
            raise DataMissing(what, where=predictions, remedy="formlab run, on the same split")
    else:
        reader = systems.get(READERS[system])
        folder = out / "reading"
        reading = systems.run(corpus, reader, out=folder)
    by_doc = reading.records.partition_by("doc_id", as_dict=True, maintain_order=True)
    instances = [
        dataclasses.replace(
            task, page=_read(task, tasks.forms[task.code], by_doc, own=predictions is None)
        )
        for task in tasks.instances
    ]
    return dataclasses.replace(tasks, instances=tuple(instances))


def _read(
    task: Instance, form: WebForm, by_doc: Mapping[tuple[str], pl.DataFrame], *, own: bool
) -> SourcePage:
    """The page of a task with what a system's records hold of it.

    An agent's `own` reader takes the text layer of a PDF; of another's reading only what it wrote
    down is known.
    """
    page = task.page
    records = by_doc.get((page.document["doc_id"],), pl.DataFrame(schema={"task": pl.String}))
    rows = [row for row in records.to_dicts() if row["status"] in USABLE]
    claims = [row for row in rows if row["task"] in WRITTEN and row["path"]]
    texts = [row["value"] for row in rows if row["task"] == "text" and not row["path"]]
    layers = [pdf_text(path) for path in page.files if own and pictures.is_pdf(path)]
    read = _by_text(task, form, "\n".join(filter(None, texts or layers)))
    placed = {name: row for name, row in page.gold.items() if row["x0"] is not None}
    words = records.filter(pl.col("task") == "layout")
    read |= _by_words(placed, words) if words.height else _by_layer(page, placed) if own else {}
    marks = [name for name, row in page.gold.items() if kind_of(row) in MARKS]
    read = {name: value for name, value in read.items() if name not in marks}
    return dataclasses.replace(page, values=PageValues(claims), read=read)


def _by_text(task: Instance, form: WebForm, whole: str) -> dict[str, str]:
    """The fields whose gold has no box: the value where the page's text has it, else nothing."""
    gold = {name: row for name, row in task.page.gold.items() if row["x0"] is None}
    if not whole or not gold:
        return {}
    how, plain = recover(form, task.values, whole, {}), _squashed(whole)
    # Of a date that can be read in two orders, one is enough.
    dates = (typed.date(match[0]) for match in PATTERNS["date"].finditer(whole))
    days = {str(day) for each in dates for day in each or ()}
    return {
        name: gold[name]["value"]
        if how[name] or task.values[name] in days or _squashed(gold[name]["value"]) in plain
        else ""
        for name in gold.keys() & how.keys()
    }


def _by_words(placed: Mapping[str, Row], seen: pl.DataFrame) -> dict[str, str]:
    """The words, else the lines, that a system read under the boxes of the fields."""
    rows = [
        {key: r[key] for key in ("doc_id", "page", *BOX)} | {"path": n} for n, r in placed.items()
    ]
    words = seen.filter(pl.col("kind") == "word")
    words = words if words.height else seen.filter(pl.col("kind") == "line")
    if not rows or not words.height:
        return {}
    under = dict(read_fields(pl.DataFrame(rows), words).select("path", "pred").iter_rows())
    # A page on which nothing was read has no word under any box.
    return {name: under.get(name, "") for name in placed}


def _by_layer(page: SourcePage, placed: Mapping[str, Row]) -> dict[str, str]:
    """What the text layer of a PDF has under the boxes of the fields; nothing where it has none."""
    path = page.files[0]
    if not placed or not pictures.is_pdf(path):
        return {}
    read = {}
    with pictures.pdf(path) as document:
        for name, row in placed.items():
            number = int(row["page"] or 1) - 1
            if not 0 <= number < len(document):
                continue
            sheet = document[number]
            layer, (width, height) = sheet.get_textpage(), sheet.get_size()
            # A scan, and a page that is turned, say nothing about what the reader saw.
            if not layer.count_chars() or sheet.get_rotation():
                continue
            zoom = width / (page.document["width"] or width)
            x0, y0, x1, y1 = (row[side] * zoom for side in BOX)
            under = layer.get_text_bounded(x0 - 1, height - y1 - 1, x1 + 1, height - y0 + 1)
            read[name] = " ".join(under.split())
    return read


def _squashed(label: str) -> str:
    return re.sub(r"[\W_]+", "", label.lower())
