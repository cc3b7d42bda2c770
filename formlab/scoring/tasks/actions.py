"""Scores of filling in forms: where a system clicks and what it types, field by field."""

import functools
import json
import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from formlab import metrics, tables, text
from formlab.benchmarks.formfactory import items_of
from formlab.folders import Corpus, Predictions
from formlab.metrics import actions as family
from formlab.metrics.actions import ActionLine, Filled, GoldField, TargetValue
from formlab.metrics.counts import loaded
from formlab.scoring.align import PRED
from formlab.scoring.tasks._kit import Scoring, TaskScores, by_document
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
    "episodic_click": "avg=fields",
    "episodic_value": "avg=fields",
    "form_completed": "by={by}",
    "task_score": "by={by}",
}
_SEPARATOR = re.compile(r"\s*[;\n]\s*|,\s*")
_NOT_WORD = re.compile(r"[\W_]+")
Row = dict[str, Any]


def marks(corpus: Corpus, predictions: Predictions) -> set[str]:
    """Whether anything was clicked, and whether fields were named."""
    lines = (line for form in _forms(corpus, predictions, {}) for line in form.lines)
    return {CLICKS if line.clicks else NAMES for line in lines if line.clicks or line.named}


@tables.uncollected()
def score(scoring: Scoring) -> TaskScores:
    """Every field and every form.

    In mode `official` a value must be the same code points and is found anywhere in the output,
    inside other words too; in mode `fixed` it must be the same number, date, choice or normalised
    text, and stand by itself. A click is right on any screenshot of the form if its page is not
    said. Lines that are meant for no field are cases with the outcome `spurious`.
    """
    corpus, notes = scoring.corpus, Counter[str]()
    noted, tasks = scoring.whole.marks, set(scoring.whole.answers["task"])
    forms = _forms(corpus, scoring.predictions, scoring.orders)
    if not forms:
        return TaskScores.of()
    sent, acted = "value" in tasks, "click" in tasks or "value" not in tasks
    rows = [row for form in forms for row in form.cases(scoring, notes, sent=sent)]
    rows = tables.table("cases", rows, benchmark=corpus.benchmark, split=corpus.split, task="click")
    cases = scoring.judged(rows)
    misclicked = (cases["outcome"] == "mismatch") & rows["cause"].is_not_null()
    cases = cases.with_columns(cause=pl.when(misclicked).then(rows["cause"]).otherwise("cause"))
    # Where values are given by the names of their fields and nothing is clicked, no click is wrong.
    pointed = CLICKS in noted or NAMES not in noted
    notes["values given by the names of their fields: clicks not scored"] += not pointed
    chosen = {name for name, entry in metrics.DECLARED.items() if entry["family"] == "actions"}
    chosen = chosen if acted else {"value_submitted_accuracy", "form_completed"}
    chosen -= (set() if pointed else POINTED) | (set() if sent else SENT)
    return TaskScores.of([cases], _scores(scoring, forms, cases, chosen, sent=sent), notes)


@dataclass(kw_only=True)
class _Form(Filled):
    """One instance: its gold and what was `given` for it, as rows of cases, and the verdicts."""

    rows: list[Row]
    given: list[Row]

    def __post_init__(self) -> None:
        valid = [row for row in self.given if row["status"] in USABLE]
        self.status = next((row["status"] for row in (*valid, *self.given)), "missing")
        ended = (row["status"] for row in self.given if row["pred_path"] is None)
        self.ended = next(ended, self.status)
        acted = [row for row in valid if row["pred_path"] and row["task"] == "click"]
        made = [(row, line) for row in acted for line in self._lines(row)]
        self.actions, self.lines = [row for row, _ in made], [line for _, line in made]
        texts = [row["pred"] for row in valid if row["pred_path"] is None and row["pred"]]
        self.output = "\n".join(texts or [line.value for line in self.lines])
        # A row of a value without a path is an empty submission.
        self.sent = [row for row in valid if row["task"] == "value"]

    def _lines(self, row: Row) -> list[ActionLine]:
        """The actions that a row states: a line of output, or the values of the field it names."""
        want = next((want for want in self.fields if want.path == row["pred_path"]), None)
        value, page = row["pred"] or "", row["pred_page"]
        x0, y0, x1, y1 = (row[f"pred_{side}"] for side in BOX)
        x = y = math.nan
        if x0 is not None and y0 is not None:
            x, y = (x0 + (x0 if x1 is None else x1)) / 2, (y0 + (y0 if y1 is None else y1)) / 2
        first = ActionLine(x, y, value, math.nan if page is None else page, want and want.path)
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

    def _submission(self, notes: Counter[str]) -> dict[str, str | None]:
        """The submitted values by the path of the field; a name may be spelled as in a page."""
        sent = {row["pred_path"]: row["pred"] for row in self.sent if row["pred_path"]}

        def key(path: str) -> str:
            return _NOT_WORD.sub("", path.replace("~1", "").replace("~0", "")).casefold()

        # A form may have two labels that differ in spelling alone: an exact name comes first.
        exact, spellings = {want.path for want in self.fields}, defaultdict(list)
        for path in exact - sent.keys():
            spellings[key(path)].append(path)
        meant = [[path] if path in exact else spellings[key(path)] for path in sent]
        notes["submitted values of no field"] += sum(len(alike) != 1 for alike in meant)
        both = zip(meant, sent.values(), strict=True)
        return {alike[0]: value for alike, value in both if len(alike) == 1}

    def cases(self, scoring: Scoring, notes: Counter[str], *, sent: bool) -> Iterator[Row]:
        """A case a field, whose verdict is filled in, and one for each line that is meant for none.

        Of an output that is not usable nothing is right. `cause` is that of the field's click.
        """
        exact, acted = scoring.mode == "official", self.status in USABLE
        self.verdicts, unmatched = self.judge(exact=exact, threshold=scoring.threshold)
        values = self._submission(notes)
        for row, want, verdict in zip(self.rows, self.fields, self.verdicts, strict=True):
            value = values.get(want.path)
            if sent:
                # A browser does not send a box that is not ticked.
                is_right = not want.items if value is None else value == want.value
                if value is not None and not is_right:
                    known = {"kind": want.kind, "accepted": want.accepted, "order": want.order}
                    rungs = text.ladder(want.value, value, threshold=scoring.threshold, **known)
                    is_same = rungs.exact if exact else rungs.typed
                    is_right = rungs.fuzzy if want.kind == family.DESCRIPTION else is_same
                verdict.submitted = bool(self.sent) and is_right
            # Nothing was clicked there, and yet it was sent with a value.
            strange = sent and bool(self.sent) and not verdict.submitted
            if not want.items and (strange or not acted):
                verdict.right = verdict.placed = verdict.found = False
                verdict.text = value if strange else None
            # Of a run that only gives its submission, that is the content of the form.
            if sent and not self.lines and value is not None:
                verdict.text, verdict.right = value, verdict.submitted
            action = self.actions[verdict.lines[0]] if verdict.lines else {}
            pred = verdict.text or value
            right = verdict.submitted if sent and not self.lines else verdict.placed
            outcome = "match" if right else "mismatch" if (pred or "").strip() else "missing"
            # A field that was not come to before the form was left has the status of the form.
            status, cause = self.status if action or right else self.ended, None
            if verdict.right and verdict.clicked is False:
                # The right value was typed after a wrong click, or without any.
                near = verdict.near or (want.path if math.isfinite(verdict.distance) else None)
                cause = "misclick_near" if near == want.path else "misclick_other_field"
                if all(math.isnan(self.lines[number].x) for number in verdict.lines):
                    cause = "missed"
            case = {"status": status, "outcome": outcome, "pred": pred, "cause": cause}
            yield action | row | case
        lines = {number for verdict in self.verdicts for number in verdict.lines}
        self.extra = [number for number in unmatched if number not in lines]
        for action in (self.actions[line] for line in self.extra):
            case = {"path": action["pred_path"], "status": self.status, "outcome": "spurious"}
            yield action | case


def _forms(corpus: Corpus, predictions: Predictions, orders: Mapping[str, str]) -> list[_Form]:
    """The documents that have something to fill in, in their order, with the actions on each."""
    # Instances of one form have the same elements, which are read once.
    elements, read = pl.col("meta").str.json_path_match("$.elements"), functools.cache(json.loads)
    documents = corpus.documents.select("doc_id", elements.fill_null("[]"))
    gold = corpus.records.filter(pl.col("task") == "click")
    same = ("doc_id", "path", "kind", "accepted", "page", *BOX)
    rows = gold.select(*same, gold="value", gold_origin="origin")
    fields: dict[str, list[GoldField]] = defaultdict(list)
    for row, items in zip(rows.iter_rows(named=True), items_of(gold["meta"]), strict=True):
        targets = tuple(TargetValue(item["value"], item["targets"]) for item in items)
        more = targets, tuple(row["accepted"] or ()), orders.get(row["doc_id"])
        want = GoldField(row["path"], row["kind"] or "string", row["gold"], *more)
        fields[row["doc_id"]].append(want)
    given = {new: old for old, new in PRED.items() if old != "status"}
    given = predictions.records.select("doc_id", "task", "status", **given)
    golds, actions = map(by_document, (rows, given))
    return [
        _Form(fields[doc], [], read(elements), rows=golds[doc], given=actions.get(doc, []))
        for doc, elements in documents.iter_rows()
        if doc in golds
    ]


def _scores(
    scoring: Scoring, forms: Sequence[_Form], cases: pl.DataFrame, chosen: set[str], *, sent: bool
) -> Iterator[pl.DataFrame]:
    """Rows of *scores* of single fields, then of whole forms."""
    date_rule = None if scoring.mode == "official" else text.DATE_RULE
    has_gold = pl.col("gold").is_not_null()
    asked, extra = cases.filter(has_gold), cases.filter(~has_gold)
    fields = [want for form in forms for want in form.fields]
    verdicts = [verdict for form in forms for verdict in form.verdicts]
    parts, sizes = family.counts(fields, verdicts), [len(form.fields) for form in forms]
    received = [bool(form.sent) for form in forms] if sent else None
    episodes = family.episodes(fields, verdicts, sizes, parts, received)
    ended = pl.Series("status", [form.ended for form in forms], dtype=pl.String)
    whole = asked.unique("doc_id", keep="first", maintain_order=True)
    whole = whole.with_columns(ended, path=pl.lit(None, pl.String))
    is_long = np.array([want.kind == family.DESCRIPTION for want in fields], dtype=bool)
    # Actions that nothing asked for: made, and matching nothing.
    made = [(0, form.lines[number].count) for form in forms for number in form.extra]
    place = scoring.corpus.documents["meta"].str.json_path_match("$.place").drop_nulls().first()
    how = {"place": place or "released boxes", "by": "submission" if sent else "fields placed"}
    for name, tallies in (parts | episodes).items():
        units, level = (whole, "document") if name in episodes else (asked, "field")
        if name == "description_bleu":
            units, tallies = asked.filter(is_long), tallies[is_long]
        elif name == "action_match_rate":
            units, tallies = pl.concat([asked, extra]), np.array([*tallies.tolist(), *made])
        if name in chosen:
            rules = _RULES.get(name, "").format(**how), date_rule
            yield scoring.rows(units, {name: tallies}, *rules, level=level)
