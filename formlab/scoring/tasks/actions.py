"""Scores of filling in forms: where a system clicks and what it types, field by field."""

from __future__ import annotations

import json
import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl

from formlab import files, metrics, tables, text
from formlab.benchmarks.formfactory import items_of
from formlab.folders import Corpus, Predictions
from formlab.metrics import actions as family
from formlab.metrics.actions import ActionLine, FieldVerdict, Filled, GoldField, TargetValue
from formlab.metrics.counts import loaded
from formlab.scoring.tasks._kit import Scoring, TaskScores
from formlab.tables import BOX, USABLE

# Metrics of clicks, as against values, and metrics of what a form was sent with.
POINTED = {"click_accuracy", "unwanted_clicks", "click_distance", "episodic_click"}
POINTED |= {"action_match_rate", "task_score"}
SENT = {"value_submitted_accuracy", "task_score"}
# Facts that are noted of all predictions.
CLICKS, NAMES = "clicks", "names of fields"
# How a field was judged, for the settings of the metric.
_RULES = {
    "click_accuracy": "place={place}|of=fields to click",
    "unwanted_clicks": "place={place}|of=fields to leave alone",
    "value_found_accuracy": "place=anywhere",
    "value_placed_accuracy": "place=its field",
    "value_submitted_accuracy": "place=submission",
}
_SEPARATOR = re.compile(r"\s*[;\n]\s*|,\s*")
_NOT_WORD = re.compile(r"[\W_]+")
# What a case has of a gold record and of an action, and what is found out.
_GOLD = {name: name for name in ("path", "kind", "accepted", "page", *BOX)}
_GOLD |= {"gold": "value", "gold_origin": "origin"}
_PRED = {f"pred_{name}": name for name in ("path", "origin", "page", *BOX)}
_CASE = (*_GOLD, *_PRED, "doc_id", "status", "outcome", "pred")
_CASE = {name: tables.CASES[name] for name in _CASE} | {"missed": pl.String}
_BOX = [f"pred_{name}" for name in BOX]
Row = dict[str, Any]


def marks(corpus: Corpus, predictions: Predictions) -> set[str]:
    """Whether anything was clicked, and whether fields were named."""
    lines = [line for form in _forms(corpus, predictions, Counter(), {}) for line in form.lines]
    found = {
        CLICKS: any(x.clicks for x in lines),
        NAMES: any(x.field is not None and not x.clicks for x in lines),
    }
    return {name for name, is_found in found.items() if is_found}


@tables.uncollected()
def score(scoring: Scoring) -> TaskScores:
    """Every field and every form.

    In mode `official` a value must be the same code points and is found anywhere in the output,
    inside other words too; in mode `fixed` it must be the same number, date, choice or normalised
    text, and stand by itself. A click is right on any screenshot of the form if its page is not
    said. Lines that are meant for no field are cases with the outcome `spurious`.
    """
    notes: Counter[str] = Counter()
    noted, tasks = scoring.whole.marks, set(scoring.whole.answers["task"])
    forms = _forms(scoring.corpus, scoring.predictions, notes, scoring.orders)
    if not forms:
        return TaskScores.of()
    sent, acted = "value" in tasks, "click" in tasks or "value" not in tasks
    for form in forms:
        form.settle(scoring, sent=sent)
    rows = [case | {"doc_id": form.doc_id} for form in forms for case in _cases(form, sent=sent)]
    same = {"benchmark": scoring.corpus.benchmark, "split": scoring.corpus.split, "task": "click"}
    rows = pl.DataFrame(rows, schema=_CASE, orient="row").with_columns(
        path=pl.coalesce("path", "pred_path"), **{name: pl.lit(text) for name, text in same.items()}
    )
    cases = scoring.judged(rows.drop("missed"))
    misclicked = (cases["outcome"] == "mismatch") & rows["missed"].is_not_null()
    cases = cases.with_columns(cause=pl.when(misclicked).then(rows["missed"]).otherwise("cause"))
    # Where values are given by the names of their fields and nothing is clicked, no click is wrong.
    pointed = CLICKS in noted or NAMES not in noted
    notes["values given by the names of their fields: clicks not scored"] += not pointed
    chosen = {name for name, entry in metrics.DECLARED.items() if entry["family"] == "actions"}
    chosen = chosen if acted else {"value_submitted_accuracy", "form_completed"}
    chosen -= (set() if pointed else POINTED) | (set() if sent else SENT)
    return TaskScores.of([cases], _scores(scoring, forms, cases, chosen, sent=sent), notes)


@dataclass
class _Form(Filled):
    """One instance: its fields, the actions on it, and the verdicts."""

    doc_id: str = ""
    place: str = ""
    rows: list[Row] = field(default_factory=list)
    status: str = "missing"
    ended: str = "missing"
    actions: list[Row] = field(default_factory=list)
    received: bool = False
    submitted: list[str | None] = field(default_factory=list)
    verdicts: list[FieldVerdict] = field(default_factory=list)
    extra: list[int] = field(default_factory=list)

    def fill_in(self, given: Sequence[Row], notes: Counter[str]) -> None:
        """Add the actions and the submission; a row of a value without a path is an empty one."""
        valid = [row for row in given if row["status"] in USABLE]
        self.status = next((row["status"] for row in (*valid, *given)), "missing")
        ended = (row["status"] for row in given if row["pred_path"] is None)
        self.ended = next(ended, self.status)
        by_path = {want.path: want for want in self.fields}
        for row in valid:
            if row["pred_path"] and row["task"] == "click":
                self.lines += (lines := _lines(row, by_path))
                self.actions += [row] * len(lines)
        texts = [row["value"] for row in valid if row["pred_path"] is None and row["value"]]
        self.output = "\n".join(texts or [line.value for line in self.lines])
        sent = [row for row in valid if row["task"] == "value"]
        values = _submission(self.fields, sent, notes)
        self.received, self.submitted = bool(sent), [values.get(w.path) for w in self.fields]

    def settle(self, scoring: Scoring, *, sent: bool) -> None:
        """Fill in the verdicts. Of an output that is not usable nothing is right."""
        exact, acted = scoring.mode == "official", self.status in USABLE
        self.verdicts, unmatched = self.judge(exact=exact, threshold=scoring.threshold)
        columns = [(w.value, w.kind, w.accepted, w.order) for w in self.fields]
        golds, kinds, accepted, orders = zip(*columns, strict=True)
        rungs = text.ladders(
            golds, self.submitted, kinds, accepted, threshold=scoring.threshold, orders=orders
        )
        right = rungs["exact" if exact else "typed"].to_list()
        rows = zip(self.fields, self.verdicts, self.submitted, right, rungs["fuzzy"], strict=True)
        for want, verdict, value, is_same, is_close in rows:
            if sent:
                # A browser does not send a box that is not ticked.
                is_right = is_close if want.kind == family.DESCRIPTION else is_same
                is_right = not want.items if value is None else is_right
                verdict.submitted = self.received and is_right
            # Nothing was clicked there, and yet it was sent with a value.
            strange = sent and self.received and not verdict.submitted
            if not want.items and (strange or not acted):
                verdict.right = verdict.placed = verdict.found = False
                verdict.text = value if strange else None
            # Of a run that only gives its submission, that is the content of the form.
            if sent and not self.lines and value is not None:
                verdict.text, verdict.right = value, verdict.submitted
        lines = {number for verdict in self.verdicts for number in verdict.lines}
        self.extra = [number for number in unmatched if number not in lines]


def _forms(
    corpus: Corpus, predictions: Predictions, notes: Counter[str], orders: Mapping[str, str]
) -> list[_Form]:
    """The documents that have something to fill in, in their order, with the actions on each."""
    meta = pl.col("meta").str
    place = meta.json_path_match("$.place").fill_null("released boxes")
    elements = meta.json_path_match("$.elements").fill_null("[]")
    documents = corpus.documents.select("doc_id", place.alias("place"), elements.alias("elements"))
    # Instances of one form have the same elements, which are read once.
    known = {elements: json.loads(elements) for elements in documents["elements"].unique()}
    forms = {
        doc: _Form([], [], known[elements], doc_id=doc, place=place)
        for doc, place, elements in documents.iter_rows()
    }
    gold = corpus.records.filter(pl.col("task") == "click")
    golds = gold.select("doc_id", **_GOLD).iter_rows(named=True)
    for row, items in zip(golds, items_of(gold["meta"]), strict=True):
        form = forms[row["doc_id"]]
        targets = tuple(TargetValue(item["value"], item["targets"]) for item in items)
        more = targets, tuple(row["accepted"] or ()), orders.get(form.doc_id)
        form.rows.append(row)
        form.fields.append(GoldField(row["path"], row["kind"] or "string", row["gold"], *more))
    actions: dict[str, list[Row]] = defaultdict(list)
    records = predictions.records.select("doc_id", "status", "task", "value", **_PRED)
    for row in records.iter_rows(named=True):
        actions[row["doc_id"]].append(row)
    filled = [form for form in forms.values() if form.fields]
    for form in filled:
        form.fill_in(actions[form.doc_id], notes)
    return filled


def _submission(
    fields: Sequence[GoldField], rows: Sequence[Row], notes: Counter[str]
) -> dict[str, str | None]:
    """The submitted values by the path of the field; a name may be spelled as in a page."""
    sent = {row["pred_path"]: row["value"] for row in rows if row["pred_path"]}
    exact, values = {want.path for want in fields}, {}

    def key(path: str) -> str:
        return _NOT_WORD.sub("", path.replace("~1", "").replace("~0", "")).casefold()

    # A form may have two labels that differ in spelling alone: an exact name comes first.
    spellings: dict[str, list[str]] = defaultdict(list)
    for path in exact - sent.keys():
        spellings[key(path)].append(path)
    for path, value in sent.items():
        alike = [path] if path in exact else spellings[key(path)]
        notes["submitted values of no field"] += len(alike) != 1
        values[alike[0] if len(alike) == 1 else path] = value
    return values


def _lines(row: Row, fields: Mapping[str, GoldField]) -> list[ActionLine]:
    """The actions that a row states: a line of output, or the values of the field it names."""
    want, value, page = fields.get(row["pred_path"]), row["value"] or "", row["pred_page"]
    page, (x0, y0, x1, y1) = math.nan if page is None else float(page), map(row.get, _BOX)
    x = y = math.nan
    if x0 is not None and y0 is not None:
        x, y = (x0 + (x0 if x1 is None else x1)) / 2, (y0 + (y0 if y1 is None else y1)) / 2
    first = ActionLine(x, y, value, page, want.path if want else None)
    if want is None:
        return [first]
    if not want.items and value.strip() in {"", want.value, *want.accepted}:
        return []
    if len(want.items) < 2:
        return [first] if first.count else []
    if not isinstance(items := loaded(value), list):
        items = _SEPARATOR.split(value)
    texts = [item if isinstance(item, str) else json.dumps(item) for item in items]
    # One place for several values is that of the first.
    later = first._replace(x=math.nan, y=math.nan)
    return [(later if n else first)._replace(value=item) for n, item in enumerate(texts)]


def _cases(form: _Form, *, sent: bool) -> Iterator[Row]:
    """A case a field and one for each line that is meant for none, with `missed` beside it."""
    entries = zip(form.rows, form.fields, form.verdicts, form.submitted, strict=True)
    for row, want, verdict, value in entries:
        action = form.actions[verdict.lines[0]] if verdict.lines else {}
        # A value that was put together from the gold's JSON may hold half of a surrogate pair.
        pred = files.storable(verdict.text or value)
        right = verdict.submitted if sent and not form.lines else verdict.placed
        outcome = "match" if right else "mismatch" if (pred or "").strip() else "missing"
        # A field that was not come to before the form was left has the status of the form.
        status, missed = form.status if action or right else form.ended, None
        if verdict.right and verdict.clicked is False:
            # The right value was typed after a wrong click, or without any.
            near = verdict.near is None and math.isfinite(verdict.distance)
            is_near = near or verdict.near == want.path
            missed = "misclick_near" if is_near else "misclick_other_field"
            if all(math.isnan(form.lines[number].x) for number in verdict.lines):
                missed = "missed"
        case = {"status": status, "outcome": outcome, "pred": pred, "missed": missed}
        yield row | {name: action.get(name) for name in _PRED} | case
    for row in (form.actions[line] for line in form.extra):
        case = {"status": form.status, "outcome": "spurious", "pred": files.storable(row["value"])}
        yield {name: row[name] for name in _PRED} | case


def _scores(
    scoring: Scoring, forms: Sequence[_Form], cases: pl.DataFrame, chosen: set[str], *, sent: bool
) -> Iterator[pl.DataFrame]:
    """Rows of *scores* of single fields, then of whole forms."""
    date_rule = None if scoring.mode == "official" else text.DATE_RULE
    has_gold = pl.col("gold").is_not_null()
    asked, extra = cases.filter(has_gold), cases.filter(~has_gold)
    fields = [want for form in forms for want in form.fields]
    verdicts = [verdict for form in forms for verdict in form.verdicts]
    is_long = np.array([want.kind == family.DESCRIPTION for want in fields], dtype=bool)
    parts = family.counts(fields, verdicts)
    for name, tallies in parts.items():
        if name not in chosen:
            continue
        of_long = is_long | (name != "description_bleu")
        rules = _RULES.get(name, "").format(place=forms[0].place), date_rule
        yield scoring.rows(asked.filter(of_long), {name: tallies[of_long]}, *rules)
        if name == "action_match_rate":
            # Actions that nothing asked for: made, and matching nothing.
            made = [(0, form.lines[number].count) for form in forms for number in form.extra]
            yield scoring.rows(extra, {name: np.array(made).reshape(-1, 2)}, *rules)
    received = [form.received for form in forms] if sent else None
    rows = asked.unique("doc_id", keep="first", maintain_order=True)
    ended = pl.Series("status", [form.ended for form in forms], dtype=pl.String)
    rows = rows.with_columns(ended, path=pl.lit(None, pl.String))
    sizes = [len(form.fields) for form in forms]
    for name, tallies in family.episodes(fields, verdicts, sizes, parts, received).items():
        if name in chosen:
            by = "by=submission" if sent else "by=fields placed"
            rules = by if name in ("form_completed", "task_score") else "avg=fields", date_rule
            yield scoring.rows(rows, {name: tallies}, *rules, level="document")
