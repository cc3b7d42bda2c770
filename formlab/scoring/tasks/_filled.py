"""Forms as they are scored: gold and what was done, what became of each, and their cases."""

from __future__ import annotations

import json
import math
import re
from collections import Counter, defaultdict, namedtuple
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import polars as pl

from formlab import files, text
from formlab.benchmarks.formfactory import items_of
from formlab.folders import Corpus, Predictions
from formlab.metrics import actions as family
from formlab.metrics.actions import ActionLine, FieldVerdict, Filled, GoldField, TargetValue
from formlab.metrics.jsonacc import loaded
from formlab.tables import BOX, USABLE

_SEPARATOR = re.compile(r"\s*[;\n]\s*|,\s*")
_NOT_WORD = re.compile(r"[\W_]+")


class _Document(NamedTuple):
    """An instance: its row, its id, its form's elements and where its places come from."""

    number: int
    doc_id: str
    elements: list[Any]
    place: str | None


# A row of the predictions, and its number there.
_Action = namedtuple("_Action", "status path value task page x0 y0 x1 y1 number")


class Case(NamedTuple):
    """A field, or a line that is meant for none (no `gold`), by numbers of rows."""

    document: int
    gold: int | None
    action: int | None
    status: str
    outcome: str
    pred: str | None
    missed: str | None = None


class FilledForm:
    """One instance: what is asked for, what was done, and the verdicts."""

    def __init__(
        self, document: _Document, fields: list[tuple[int, GoldField]],
        rows: list[_Action], notes: Counter[str], *, sent: bool,
    ) -> None:  # fmt: skip
        self.number, self.doc_id = document.number, document.doc_id
        self.place = document.place or "released boxes"
        self.rows = [number for number, _ in fields]
        self.fields = [field for _, field in fields]
        valid = [row for row in rows if row.status in USABLE]
        self.status = valid[0].status if valid else rows[0].status if rows else "missing"
        # What became of the form as a whole, where that is stated: it may be left half done.
        self.ended = next((row.status for row in rows if row.path is None), self.status)
        whole = [row.value for row in valid if row.path is None and row.value]
        by_path = {field.path: field for field in self.fields}
        actions = [
            (row, line)
            for row in valid
            if row.path and row.task == "click"
            for line in _lines(row, by_path.get(row.path))
        ]
        self.actions, self.lines = [row for row, _ in actions], [line for _, line in actions]
        output = "\n".join(whole) or "\n".join(line.value for line in self.lines)
        self.filled = Filled(self.fields, self.lines, document.elements, output)
        self.has_submission = sent
        self.received = any(row.task == "value" for row in valid)
        values = self._submission(valid, notes) if sent else {}
        # What each field was submitted with.
        self.submitted = [values.get(field.path) for field in self.fields]
        self.verdicts: list[FieldVerdict] = []
        self.unmatched: list[int] = []

    def _submission(self, rows: list[_Action], notes: Counter[str]) -> dict[str, str | None]:
        """What was submitted, by the path of the field; a name may be spelled as in a page."""
        rows = [row for row in rows if row.task == "value" and row.path]
        sent = {row.path for row in rows}
        # A form may have two labels that differ in spelling alone: an exact name comes first.
        spellings: dict[str, list[str]] = defaultdict(list)
        for field in self.fields:
            if field.path not in sent:
                spellings[_key(field.path)].append(field.path)
        exact, values = {field.path for field in self.fields}, {}
        for row in rows:
            alike = [row.path] if row.path in exact else spellings[_key(row.path)]
            notes["submitted values of no field"] += len(alike) != 1
            values[alike[0] if len(alike) == 1 else row.path] = row.value
        return values

    def settle(
        self, verdicts: list[FieldVerdict], unmatched: list[int], right: Iterator[bool]
    ) -> None:
        """Keep the verdicts. Of an output that is not usable nothing is right."""
        self.verdicts, self.unmatched = verdicts, unmatched
        acted = self.status in USABLE
        for field, verdict, value in zip(self.fields, verdicts, self.submitted, strict=True):
            if field.leave_empty and not acted:
                verdict.right = verdict.placed = verdict.found = False
                verdict.text = None
            if not self.has_submission:
                continue
            # A browser does not send a box that is not ticked.
            correct = field.leave_empty if value is None else next(right)
            verdict.submitted = self.received and correct
            if field.leave_empty and self.received and not verdict.submitted:
                # Nothing was clicked there, and yet it was sent with something.
                verdict.right = verdict.placed = verdict.found = False
                verdict.text = value
            # Of a run that only gives what it sent, that is what the form contains.
            if not self.lines and value is not None:
                verdict.text, verdict.right = value, verdict.submitted

    def cases(self) -> Iterator[Case]:
        """A case a field, and one for each line that is meant for none."""
        sent = self.has_submission and not self.lines
        entries = zip(self.rows, self.fields, self.verdicts, self.submitted, strict=True)
        for number, field, verdict, value in entries:
            action = self.actions[verdict.lines[0]].number if verdict.lines else None
            text = verdict.text or value
            right = verdict.submitted if sent else verdict.placed
            wrong = "mismatch" if (text or "").strip() else "missing"
            # What was not come to before the form was left has the status of the form.
            status = self.status if action is not None or right else self.ended
            yield Case(
                self.number, number, action, status, "match" if right else wrong, text,
                _missed(field, verdict, self.lines),
            )  # fmt: skip
        for line in self.extra:
            row = self.actions[line]
            yield Case(self.number, None, row.number, self.status, "spurious", row.value)

    @property
    def extra(self) -> list[int]:
        """The lines that have a case of their own."""
        shown = {number for verdict in self.verdicts for number in verdict.lines}
        return [number for number in self.unmatched if number not in shown]


def read_forms(
    corpus: Corpus,
    predictions: Predictions,
    notes: Counter[str],
    *,
    sent: bool,
    dates: Mapping[str, int] | None = None,
) -> list[FilledForm]:
    """The documents that have something to fill in, in their order.

    `sent` says whether forms were to be sent: a row without a path says so of its form, whether it
    was or not. `dates` are those of the whole corpus, see `Whole`.
    """
    golds: dict[str, list[tuple[int, GoldField]]] = defaultdict(list)
    asked = corpus.records.with_row_index("row").filter(pl.col("task") == "click")
    columns = asked.select("row", "doc_id", "path", "kind", "value", "accepted")
    orders = text.date_orders(corpus.records["doc_id"], corpus.records["value"], dates)
    for (number, doc, path, kind, value, accepted), items in zip(
        columns.iter_rows(), items_of(asked["meta"]), strict=True
    ):
        targets = tuple([TargetValue(item["value"], item["targets"]) for item in items])
        field = GoldField(
            path, kind or "string", value, targets, tuple(accepted or ()), orders.get(doc)
        )
        golds[doc].append((number, field))
    actions: dict[str, list[_Action]] = defaultdict(list)
    rows = predictions.records.with_row_index("number")
    for doc, *row in rows.select("doc_id", *_Action._fields).iter_rows():
        actions[doc].append(_Action(*row))
    return [
        FilledForm(document, golds[document.doc_id], actions[document.doc_id], notes, sent=sent)
        for document in _documents(corpus)
        if document.doc_id in golds
    ]


def _documents(corpus: Corpus) -> Iterator[_Document]:
    # Instances of one form have the same elements, which are read once.
    known: dict[str, list[Any]] = {}
    meta = pl.col("meta")
    for number, (doc, elements, place_source) in enumerate(
        corpus.documents.select(
            "doc_id", meta.str.json_path_match("$.elements").fill_null("[]").alias("elements"),
            meta.str.json_path_match("$.place").alias("place"),
        ).iter_rows()
    ):  # fmt: skip
        if elements not in known:
            known[elements] = json.loads(elements)
        yield _Document(number, doc, known[elements], place_source)


def settle(forms: Sequence[FilledForm], *, exact: bool, threshold: float) -> None:
    """Fill in the verdicts of all forms."""
    judged = family.match_forms([form.filled for form in forms], exact=exact, threshold=threshold)
    pairs = [
        (field, value)
        for form in forms
        for field, value in zip(form.fields, form.submitted, strict=True)
        if value is not None
    ]
    rungs = text.ladders(
        [field.value for field, _ in pairs], [value for _, value in pairs],
        [field.kind for field, _ in pairs], [field.accepted for field, _ in pairs],
        threshold=threshold, orders=[field.order for field, _ in pairs],
    )  # fmt: skip
    strict = rungs["exact" if exact else "typed"].to_list()
    right = iter(
        fuzzy if field.kind == family.DESCRIPTION else same
        for (field, _), same, fuzzy in zip(pairs, strict, rungs["fuzzy"].to_list(), strict=True)
    )
    for form, (verdicts, unmatched) in zip(forms, judged, strict=True):
        form.settle(verdicts, unmatched, right)


def case_rows(
    corpus: Corpus, predictions: Predictions, forms: Sequence[FilledForm]
) -> pl.DataFrame:
    """The cases of all forms, before the ladder, with `missed` beside them."""
    schema = dict.fromkeys(_SIDES, pl.UInt32) | dict.fromkeys(Case._fields[3:], pl.String)
    # A value that was put together from the gold's JSON may hold half of a surrogate pair.
    rows = [
        case._replace(pred=files.storable(case.pred)) for form in forms for case in form.cases()
    ]
    cases = pl.DataFrame(rows, schema=schema, orient="row")
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
    columns = [
        side.select(pl.all().gather(cases[name])) for name, side in zip(_SIDES, sides, strict=True)
    ]
    whole = pl.concat([*columns, cases.drop(_SIDES)], how="horizontal")
    return whole.with_columns(pl.coalesce("path", "pred_path").alias("path"), task=pl.lit("click"))


_SIDES = Case._fields[:3]


def _lines(row: _Action, field: GoldField | None) -> list[ActionLine]:
    """The actions that a row states: a line of output, or the values of the field it names."""
    value, page = row.value or "", math.nan if row.page is None else float(row.page)
    if row.x0 is None or row.y0 is None:
        x, y = math.nan, math.nan
    else:
        x = (row.x0 + (row.x0 if row.x1 is None else row.x1)) / 2
        y = (row.y0 + (row.y0 if row.y1 is None else row.y1)) / 2
    first = ActionLine(x, y, value, page, field.path if field else None)
    if field is None:
        return [first]
    if field.leave_empty and value.strip() in {"", field.value, *field.accepted}:
        return []
    if len(field.items) < 2:
        return [first] if first.clicks or value.strip() else []
    # One place for several values is that of the first.
    later = first._replace(x=math.nan, y=math.nan)
    return [
        (later if number else first)._replace(value=item)
        for number, item in enumerate(_listed(value))
    ]


def _listed(value: str) -> list[str]:
    if not isinstance(items := loaded(value), list):
        items = _SEPARATOR.split(value)
    return [item if isinstance(item, str) else json.dumps(item) for item in items]


def _key(path: str) -> str:
    return _NOT_WORD.sub("", path.replace("~1", "").replace("~0", "")).casefold()


def _missed(field: GoldField, verdict: FieldVerdict, lines: list[ActionLine]) -> str | None:
    """How a click went wrong that typed the right value; `missed` where there is none."""
    if not verdict.right or verdict.clicked is not False:
        return None
    if all(math.isnan(lines[number].x) for number in verdict.lines):
        return "missed"
    near = verdict.near == field.path or (verdict.near is None and math.isfinite(verdict.distance))
    return "misclick_near" if near else "misclick_other_field"
