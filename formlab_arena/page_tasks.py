"""Forms to fill in from pages alone: each asks for the gold fields of one document."""

import dataclasses
import hashlib
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from formlab import benchmarks, text
from formlab.errors import UnknownName
from formlab.systems.runs import first
from formlab.tables import USABLE
from formlab.text import values as typed
from formlab_arena.instances import Instance
from formlab_arena.page_reading import MARKS, WRITTEN, SourcePage, kind_of, labels_of
from formlab_arena.spec import FormField, FormPage, WebForm
from formlab_arena.texts import PAGES, TaskSet

TEXT = "Fill in this form with what the page says."
STYLE = {"layout": "stacked", "font": "sans", "colour": "#204a9e"}
# A table is no value to enter.
_LEFT_OUT = "table-grid"
_PER_PAGE, _LONG, _MOST_OPTIONS = 12, 80, 12
Row = dict[str, Any]


def task_set(
    benchmark: str, *, root: Path | None = None, split: str | None = None,
    codes: Sequence[str] = (), limit: int | None = None,
) -> TaskSet:  # fmt: skip
    """A form for each document of a benchmark that has a page; its right answers are the gold.

    Parameters
    ----------
    benchmark, root, split
        As for `benchmarks.load`; its sample without a `root`.
    codes
        Names of documents; all if empty.
    limit
        The first so many of them.

    Raises
    ------
    UnknownName, DataMissing, DataBroken
        For an unknown benchmark or document, and if no document has a page and fields.
    """
    corpus = benchmarks.load(benchmark, root=root, split=split)
    known = corpus.documents["doc_id"].to_list()
    for code in codes:
        if code not in known:
            raise UnknownName.of("document", code, known)
    numbers = {doc_id: number for number, doc_id in enumerate(known, start=1)}
    fields = corpus.records.filter(
        pl.col("task").is_in(WRITTEN), pl.col("path").is_not_null(),
        pl.col("subtype").ne_missing(_LEFT_OUT), pl.col("status").is_in(USABLE),
    )  # fmt: skip
    asked = corpus.documents.filter(pl.col("doc_id").is_in(fields["doc_id"].implode()))
    if codes:
        asked = asked.filter(pl.col("doc_id").is_in(list(codes)))
    pages = dataclasses.replace(corpus, documents=asked)
    pages = dataclasses.replace(pages, documents=first(pages, limit or asked.height or 1)[0])
    options = _options(fields)
    docs, values = fields.select("doc_id", "value")
    orders = text.date_orders(docs, text.orders_shown(docs, values))
    by_doc = fields.partition_by("doc_id", as_dict=True, maintain_order=True)
    forms, instances = {}, []
    for document in pages.documents.to_dicts():
        doc_id = document["doc_id"]
        rows = by_doc[doc_id,].to_dicts()
        code = f"P{numbers[doc_id]:04d}"
        forms[code], values, gold = _form(code, doc_id, rows, options, orders.get(doc_id))
        page = SourcePage(document, corpus.root, gold)
        instances.append(Instance(code, 1, values, TEXT, PAGES, page=page))
    kept = pl.col("doc_id").is_in(pages.documents["doc_id"].implode())
    pages = dataclasses.replace(pages, records=corpus.records.filter(kept))
    named = f"{corpus.benchmark} {corpus.split} {sorted(corpus.sources.items())}"
    digest = hashlib.sha256(named.encode()).hexdigest()[:16]
    return TaskSet(tuple(instances), forms, digest, pages)


def _options(fields: pl.DataFrame) -> dict[str, tuple[str, ...]]:
    """The options of each list by its path: the values that the benchmark's documents have there.

    A list with one option would give the answer away, and one with very many is no list.
    """
    chosen = fields.filter(pl.col("kind").is_in(MARKS), pl.col("value").str.strip_chars() != "")
    by_path = chosen.group_by("path").agg(pl.col("value").unique().sort())
    counted = by_path.filter(pl.col("value").list.len().is_between(2, _MOST_OPTIONS))
    return {path: tuple(values) for path, values in counted.iter_rows()}


def _form(
    code: str, name: str, rows: list[Row], options: Mapping[str, tuple[str, ...]], order: str | None
) -> tuple[WebForm, Row, dict[str, Row]]:
    """The form, its right answers and its gold records, by the names of its fields."""
    short = [labels_of(row["path"])[0] for row in rows]
    fields, values, gold = [], {}, {}
    for number, row in enumerate(rows):
        own, whole = labels_of(row["path"])
        in_list = re.search(r"/\d+/", row["path"]) is not None
        label = whole if in_list or short.count(own) > 1 else own
        key = f"f{number}_{re.sub('[^a-z0-9]+', '_', label.lower())}".strip("_")[:60]
        field, value = _control(key, label, row, options.get(row["path"], ()), order)
        fields.append(field)
        values[key], gold[key] = value, row | {"label": label}
    screens = range(0, len(fields), _PER_PAGE)
    pages = tuple(FormPage("", tuple(fields[at : at + _PER_PAGE])) for at in screens)
    return WebForm(code, name, "pages", STYLE, pages), values, gold


def _control(
    key: str, label: str, row: Row, options: tuple[str, ...], order: str | None
) -> tuple[FormField, Any]:
    """The control of a gold field by its kind, and its right answer as the server reads it."""
    kind, value = kind_of(row), (row["value"] or "").strip()

    def control(of: str, **more: Any) -> FormField:
        return FormField(key, of, label, required=False, any=("–",), **more)

    if kind == "date" and (day := _day(value, order)):
        return control("date"), day
    if kind in ("number", "money"):
        amount = typed.money(value)
        number = amount.amount if amount else typed.number(value)
        if number is not None and abs(number) < 10**12:
            whole = number == number.to_integral_value()
            return control("number"), int(number) if whole else float(number)
    if kind == "checkbox" and (ticked := text.checked(value)) is not None:
        return control("checkbox"), ticked
    if value in options:
        return control("dropdown", options=options), value
    if "\n" in value or len(value) > _LONG:
        return control("description"), value
    return control("string"), " ".join(value.split()) or None


def _day(value: str, order: str | None) -> str | None:
    """The one date that a text is, as browsers write it; None if it may be two."""
    month_first, day_first = typed.date_readings(value)
    if order:
        month_first, day_first = (day_first if order == "day" else month_first,) * 2
    days = {month_first, day_first} - {None}
    return str(days.pop()) if len(days) == 1 else None
