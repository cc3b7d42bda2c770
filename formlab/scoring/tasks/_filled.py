"""Forms as they are scored: gold and what was done, what became of each, and their cases."""

from __future__ import annotations

import json
import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import polars as pl

from formlab import tables, text
from formlab.benchmarks.formfactory import items_of
from formlab.folders import Corpus, Predictions
from formlab.metrics import actions as family
from formlab.metrics.actions import FieldVerdict, Filled, GoldField, Line, Target
from formlab.tables import BOX, USABLE

_SEPARATOR = re.compile(r"\s*[;\n]\s*|,\s*")
_NOT_WORD = re.compile(r"[\W_]+")


class _Document(NamedTuple):
    """An instance: its row, its id, its form's elements and where its places come from."""

    number: int
    doc_id: str
    elements: list[Any]
    place: str | None


class _Done(NamedTuple):
    """A row of the predictions, and its number there."""

    status: str
    path: str | None
    value: str | None
    task: str
    page: int | None
    x0: float | None
    y0: float | None
    x1: float | None
    y1: float | None
    number: int


class Case(NamedTuple):
    """A field, or a line that is meant for none (no `gold`), by numbers of rows."""

    document: int
    gold: int | None
    given: int | None
    status: str
    outcome: str
    pred: str | None
    missed: str | None = None


class Form:
    """One instance: what is asked for, what was done, and the verdicts."""

    def __init__(
        self, document: _Document, fields: list[tuple[int, GoldField]],
        rows: list[_Done], notes: Counter[str], *, sent: bool,
    ) -> None:  # fmt: skip
        self.number, self.doc_id = document.number, document.doc_id
        self.place = document.place or "released boxes"
        self.rows = [number for number, _ in fields]
        self.fields = [want for _, want in fields]
        usable = [row for row in rows if row.status in USABLE]
        self.status = usable[0].status if usable else rows[0].status if rows else "missing"
        # What became of the form as a whole, where that is said: it may have been left half done.
        self.ended = next((row.status for row in rows if row.path is None), self.status)
        whole = [row.value for row in usable if row.path is None and row.value]
        wanted = {want.path: want for want in self.fields}
        acts = [
            (row, line)
            for row in usable
            if row.path and row.task == "click"
            for line in _lines(row, wanted.get(row.path))
        ]
        self.given, self.lines = [row for row, _ in acts], [line for _, line in acts]
        output = "\n".join(whole) or "\n".join(line.value for line in self.lines)
        self.filled = Filled(self.fields, self.lines, document.elements, output)
        self.sent = self._sent(usable, notes) if sent else None
        self.received = any(row.task == "value" for row in usable)
        self.verdicts: list[FieldVerdict] = []
        self.spare: list[int] = []

    def _sent(self, rows: list[_Done], notes: Counter[str]) -> dict[str, str | None]:
        """What was submitted, by the path of the field; a name may be spelled as in a page."""
        paths = {_key(want.path): want.path for want in self.fields}
        found = {}
        for row in rows:
            if row.task == "value" and row.path:
                path = paths.get(_key(row.path))
                notes["submitted values of no field"] += path is None
                found[path or row.path] = row.value
        return found

    def said(self) -> list[str | None]:
        """What each field was submitted with."""
        return [(self.sent or {}).get(want.path) for want in self.fields]

    def settle(self, verdicts: list[FieldVerdict], spare: list[int], right: Iterator[bool]) -> None:
        """Keep the verdicts. Of an output that is not usable nothing is right."""
        self.verdicts, self.spare = verdicts, spare
        acted = self.status in USABLE
        for want, verdict, said in zip(self.fields, verdicts, self.said(), strict=True):
            if want.alone and not acted:
                verdict.right = verdict.placed = verdict.found = False
                verdict.text = None
            if self.sent is None:
                continue
            # A browser does not send a box that is not ticked.
            held = want.alone if said is None else next(right)
            verdict.submitted = self.received and held
            if want.alone and self.received and not verdict.submitted:
                # Nothing was clicked there, and yet it was sent with something.
                verdict.right = verdict.placed = verdict.found = False
                verdict.text = said
            # Of a run that only tells what it sent, that is what the form holds.
            if not self.lines and said is not None:
                verdict.text, verdict.right = said, verdict.submitted

    def cases(self) -> Iterator[Case]:
        """A case a field, and one for each line that is meant for none."""
        sent = self.sent is not None and not self.lines
        entries = zip(self.rows, self.fields, self.verdicts, self.said(), strict=True)
        for number, want, verdict, held in entries:
            given = self.given[verdict.lines[0]].number if verdict.lines else None
            outcome = _outcome(verdict, held, sent=sent)
            # What was not come to before the form was left has the status of the form.
            done = given is not None or outcome == "match"
            yield Case(
                self.number, number, given, self.status if done else self.ended, outcome,
                verdict.text or held, _missed(want, verdict, self.lines),
            )  # fmt: skip
        for line in self.extra:
            row = self.given[line]
            yield Case(self.number, None, row.number, self.status, "spurious", row.value)

    @property
    def extra(self) -> list[int]:
        """The lines that have a case of their own."""
        held = {number for verdict in self.verdicts for number in verdict.lines}
        return [number for number in self.spare if number not in held]


def read_forms(corpus: Corpus, predictions: Predictions, notes: Counter[str]) -> list[Form]:
    """The documents that have something to fill in, in their order."""
    golds: dict[str, list[tuple[int, GoldField]]] = defaultdict(list)
    asked = corpus.records.with_row_index("row").filter(pl.col("task") == "click")
    columns = asked.select("row", "doc_id", "path", "kind", "value", "accepted")
    orders = text.date_orders(corpus.records["doc_id"], corpus.records["value"])
    for (number, doc, *said), items in zip(
        columns.iter_rows(), items_of(asked["meta"]), strict=True
    ):
        golds[doc].append((number, _wanted(*said, items, orders.get(doc))))
    given: dict[str, list[_Done]] = defaultdict(list)
    rows = predictions.records.with_row_index("number")
    for doc, *row in rows.select("doc_id", *_Done._fields).iter_rows():
        given[doc].append(_Done(*row))
    # A row without a path says that a form was to be sent, whether it was or not.
    sent = predictions.records.filter(pl.col("task") == "value").height > 0
    return [
        Form(document, golds[document.doc_id], given.get(document.doc_id, []), notes, sent=sent)
        for document in _documents(corpus)
        if document.doc_id in golds
    ]


def _documents(corpus: Corpus) -> Iterator[_Document]:
    # Instances of one form have the same elements, which are read once.
    known: dict[str, list[Any]] = {}
    meta = pl.col("meta")
    for number, (doc, elements, place) in enumerate(
        corpus.documents.select(
            "doc_id", meta.str.json_path_match("$.elements").fill_null("[]").alias("elements"),
            meta.str.json_path_match("$.place").alias("place"),
        ).iter_rows()
    ):  # fmt: skip
        if elements not in known:
            known[elements] = json.loads(elements)
        yield _Document(number, doc, known[elements], place)


def settle(forms: Sequence[Form], *, exact: bool, threshold: float) -> None:
    """Fill in the verdicts of all forms."""
    judged = family.match_forms([form.filled for form in forms], exact=exact, threshold=threshold)
    pairs = [
        (want, said)
        for form in forms
        for want, said in zip(form.fields, form.said(), strict=True)
        if said is not None
    ]
    rungs = text.ladders(
        [want.value for want, _ in pairs], [said for _, said in pairs],
        [want.kind for want, _ in pairs], [want.accepted for want, _ in pairs],
        threshold=threshold, orders=[want.order for want, _ in pairs],
    )  # fmt: skip
    strict = rungs["exact" if exact else "typed"].to_list()
    right = iter(
        fuzzy if want.kind == family.DESCRIPTION else same
        for (want, _), same, fuzzy in zip(pairs, strict, rungs["fuzzy"].to_list(), strict=True)
    )
    for form, (verdicts, spare) in zip(forms, judged, strict=True):
        form.settle(verdicts, spare, right)


def case_rows(corpus: Corpus, predictions: Predictions, forms: Sequence[Form]) -> pl.DataFrame:
    """The cases of all forms, before the ladder, with `missed` beside them."""
    kinds = {"outcome": pl.String, "status": pl.String, "pred": pl.String, "missed": pl.String}
    rows = [case for form in forms for case in form.cases()]
    columns = dict(zip(Case._fields, zip(*rows, strict=True), strict=True))
    # A value that was put together from the gold's JSON may hold half of a surrogate pair.
    columns["pred"] = tuple(map(tables.storable, columns["pred"]))
    numbers = {name: pl.Series(columns[name], dtype=pl.UInt32) for name in _SIDES}
    sides = [
        corpus.documents.select("benchmark", "split", "doc_id"),
        corpus.records.select(
            "path", "kind", "accepted", "page", *BOX, gold="value", gold_origin="origin"
        ),
        predictions.records.select(
            pred_path="path", pred_origin="origin", pred_page="page",
            **{f"pred_{side}": side for side in BOX},
        ),
    ]  # fmt: skip
    parts = [
        side.select(pl.all().gather(numbers[name]))
        for name, side in zip(_SIDES, sides, strict=True)
    ]
    told = pl.DataFrame({name: columns[name] for name in kinds}, schema=kinds)
    whole = pl.concat([*parts, told], how="horizontal")
    return whole.with_columns(pl.coalesce("path", "pred_path").alias("path"), task=pl.lit("click"))


_SIDES = ("document", "gold", "given")


def _wanted(
    path: str, kind: str | None, value: str, accepted: list[str] | None,
    items: list[dict[str, Any]], order: str | None,
) -> GoldField:  # fmt: skip
    targets = tuple([Target(item["value"], item["targets"]) for item in items])
    return GoldField(path, kind or "string", value, targets, tuple(accepted or ()), order)


def _lines(row: _Done, want: GoldField | None) -> list[Line]:
    """The actions that a row states: a line of output, or the values of the field it names."""
    value, page = row.value or "", math.nan if row.page is None else float(row.page)
    if row.x0 is None or row.y0 is None:
        x, y = math.nan, math.nan
    else:
        x = (row.x0 + (row.x0 if row.x1 is None else row.x1)) / 2
        y = (row.y0 + (row.y0 if row.y1 is None else row.y1)) / 2
    first = Line(x, y, value, page, want.path if want else None)
    if want is None:
        return [first]
    if want.alone and value.strip() in {"", want.value, *want.accepted}:
        return []
    if len(want.items) < 2:
        return [first] if first.clicks or value.strip() else []
    # One place for several values is that of the first.
    later = first._replace(x=math.nan, y=math.nan)
    return [
        (later if number else first)._replace(value=part)
        for number, part in enumerate(_listed(value))
    ]


def _listed(value: str) -> list[str]:
    try:
        found = json.loads(value)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, list):
        found = _SEPARATOR.split(value)
    return [part if isinstance(part, str) else json.dumps(part) for part in found]


def _key(path: str) -> str:
    return _NOT_WORD.sub("", path.replace("~1", "").replace("~0", "")).casefold()


def _outcome(verdict: FieldVerdict, held: str | None, *, sent: bool) -> str:
    if verdict.submitted if sent else verdict.placed:
        return "match"
    return "mismatch" if (verdict.text or held or "").strip() else "missing"


def _missed(want: GoldField, verdict: FieldVerdict, lines: list[Line]) -> str | None:
    """How a click went wrong that typed the right value; `missed` where there is none."""
    if not verdict.right or verdict.clicked is not False:
        return None
    if all(math.isnan(lines[number].x) for number in verdict.lines):
        return "missed"
    near = verdict.near == want.path or (verdict.near is None and math.isfinite(verdict.distance))
    return "misclick_near" if near else "misclick_other_field"
