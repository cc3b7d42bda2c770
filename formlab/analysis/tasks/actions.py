"""Scores of filling in forms: where a system clicks and what it types, field by field."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np
import polars as pl

from formlab import tables, text
from formlab.analysis.align import judged
from formlab.analysis.tasks._cases import score_rows, settings
from formlab.analysis.tasks._spec import Scored
from formlab.metrics import actions as family
from formlab.metrics.actions import Line, Target, Verdict, Wanted
from formlab.tables import BOX, USABLE, Corpus, Predictions

# What a tally of a field rests on, said in the settings of the metric.
_RULES = {
    "click_accuracy": "place={place}", "value_found_accuracy": "place=anywhere",
    "value_placed_accuracy": "place=its field", "value_submitted_accuracy": "place=submission",
}  # fmt: skip
_NOT_WORD = re.compile(r"[\W_]+")
Row = dict[str, Any]


def score(corpus: Corpus, predictions: Predictions, *, mode: str, threshold: float) -> Scored:
    """Every field (unit `field`) and every form (unit `document`, slice ``all``).

    In mode `official` a value must be the same code points and is found anywhere in the output,
    inside other words too; in mode `fixed` it must be the same number, date, choice or normalised
    text, and stand by itself. A click is right on any screenshot of the form if its page is not
    said. Lines that are meant for no field are cases with the outcome `spurious`.
    """
    notes: Counter[str] = Counter()
    given = predictions.records.partition_by("doc_id", as_dict=True, maintain_order=True)
    golds = corpus.records.filter(pl.col("task") == "click")
    by_doc = golds.partition_by("doc_id", as_dict=True, maintain_order=True)
    # A row without a path says that a form was to be sent, whether it was or not.
    sent = predictions.records.filter(pl.col("task") == "value").height > 0
    acted = predictions.records.filter(pl.col("task") == "click").height > 0 or not sent
    forms = [
        _Form(document, by_doc[key], given.get(key), notes, sent=sent)
        for document in corpus.documents.iter_rows(named=True)
        if (key := (document["doc_id"],)) in by_doc
    ]
    for form in forms:
        form.judge(exact=mode == "official", threshold=threshold)
    rows = [row for form in forms for row in form.cases()]
    cases = _cases(rows, system=predictions.system, threshold=threshold)
    scores = [tables.table("scores", []), *_scores(corpus, forms, cases, mode, acted=bool(acted))]
    return Scored(cases, pl.concat(scores), {name: n for name, n in notes.items() if n})


class _Form:
    """One instance: what is asked for, what was done, and the verdicts."""

    def __init__(
        self, document: Row, gold: pl.DataFrame, given: pl.DataFrame | None,
        notes: Counter[str], *, sent: bool,
    ) -> None:  # fmt: skip
        self.base = {key: document[key] for key in ("benchmark", "split", "doc_id")}
        meta = json.loads(document["meta"] or "{}")
        self.elements = [tuple(row) for row in meta["elements"]]
        self.place = meta.get("place", "released boxes")
        self.gold = gold.to_dicts()
        self.fields = [_wanted(row) for row in self.gold]
        rows = [] if given is None else given.to_dicts()
        usable = [row for row in rows if row["status"] in USABLE]
        self.status = usable[0]["status"] if usable else rows[0]["status"] if rows else "missing"
        # What became of the form as a whole, where that is said: it may have been left half done.
        self.ended = next((row["status"] for row in rows if row["path"] is None), self.status)
        whole = [row["value"] for row in usable if row["path"] is None and row["value"]]
        self.given = [row for row in usable if row["path"] and row["task"] == "click"]
        self.lines = [_line(row) for row in self.given]
        self.output = "\n".join(whole) or "\n".join(line.value for line in self.lines)
        self.sent = self._sent(usable, notes) if sent else None
        self.received = any(row["task"] == "value" for row in usable)
        self.verdicts: list[Verdict] = []
        self.spare: list[int] = []

    def _sent(self, rows: list[Row], notes: Counter[str]) -> dict[str, Row]:
        """What was submitted, by the path of the field; a name may be spelled as in a page."""
        paths = {_key(want.path): want.path for want in self.fields}
        found = {}
        for row in rows:
            if row["task"] == "value" and row["path"]:
                path = paths.get(_key(row["path"]))
                notes["submitted values of no field"] += path is None
                found[path or row["path"]] = row
        return found

    def judge(self, *, exact: bool, threshold: float) -> None:
        """Fill in the verdicts. Of an output that is not usable nothing is right."""
        self.verdicts, self.spare = family.judge(
            self.fields, self.lines, self.elements,
            output=self.output, exact=exact, threshold=threshold,
        )  # fmt: skip
        acted = self.status in USABLE
        for want, verdict in zip(self.fields, self.verdicts, strict=True):
            if want.alone and not acted:
                verdict.right = verdict.placed = verdict.found = False
                verdict.text = None
            if self.sent is not None:
                said = (self.sent.get(want.path) or {}).get("value")
                verdict.submitted = self.received and _submitted(
                    want, said, exact=exact, threshold=threshold
                )
                if want.alone and self.received and not verdict.submitted:
                    # Nothing was clicked there, and yet it was sent with something.
                    verdict.right = verdict.placed = verdict.found = False
                    verdict.text = said
                # Of a run that only tells what it sent, that is what the form holds.
                if not self.lines and said is not None:
                    verdict.text, verdict.right = said, verdict.submitted

    def cases(self) -> Iterator[Row]:
        """A row a field, and one for each line that is meant for none."""
        base = self.base | {"task": "click", "status": self.status}
        for row, want, verdict in zip(self.gold, self.fields, self.verdicts, strict=True):
            line = self.given[verdict.lines[0]] if verdict.lines else {}
            held = ((self.sent or {}).get(want.path) or {}).get("value")
            outcome = _outcome(verdict, held, sent=self.sent is not None and not self.lines)
            # What was not come to before the form was left has the status of the form.
            done = bool(line) or outcome == "match"
            yield base | {
                "status": self.status if done else self.ended,
                "path": row["path"], "kind": row["kind"], "gold": row["value"],
                "accepted": row["accepted"], "gold_origin": row["origin"], "page": row["page"],
                "pred": verdict.text or held, "pred_path": line.get("path"),
                "pred_origin": line.get("origin"), "pred_page": line.get("page"),
                "outcome": outcome, "missed": _missed(want, verdict, self.lines),
            } | {side: row[side] for side in BOX} | {
                f"pred_{side}": line.get(side) for side in BOX
            }  # fmt: skip
        for number in self.spare:
            line = self.given[number]
            if any(number in verdict.lines for verdict in self.verdicts):
                continue
            yield base | {
                "path": line["path"], "pred_path": line["path"], "pred": line["value"],
                "pred_origin": line["origin"], "pred_page": line["page"], "outcome": "spurious",
            } | {f"pred_{side}": line[side] for side in BOX}  # fmt: skip

    @property
    def extra(self) -> list[int]:
        """The lines that have a case of their own."""
        held = {number for verdict in self.verdicts for number in verdict.lines}
        return [number for number in self.spare if number not in held]


def _wanted(row: Row) -> Wanted:
    items = json.loads(row["meta"] or "{}").get("items", [])
    return Wanted(
        row["path"], row["kind"] or "string", row["value"],
        tuple(Target(item["value"], tuple(map(tuple, item["targets"]))) for item in items),
        tuple(row["accepted"] or ()),
    )  # fmt: skip


def _line(row: Row) -> Line:
    x, y = row["x0"], row["y0"]
    place = (math.nan, math.nan) if x is None or y is None else (x, y)
    page = math.nan if row["page"] is None else float(row["page"])
    return Line(*place, row["value"] or "", page)


def _key(path: str) -> str:
    return _NOT_WORD.sub("", path.replace("~1", "").replace("~0", "")).casefold()


def _submitted(want: Wanted, said: str | None, *, exact: bool, threshold: float) -> bool:
    if said is None:
        # A browser does not send a box that is not ticked.
        return want.alone
    rungs = text.ladder(
        want.value, said, kind=want.kind, accepted=want.accepted, threshold=threshold
    )
    return rungs.fuzzy if want.kind == family.DESCRIPTION else rungs.exact if exact else rungs.typed


def _outcome(verdict: Verdict, held: str | None, *, sent: bool) -> str:
    if verdict.submitted if sent else verdict.placed:
        return "match"
    return "mismatch" if (verdict.text or held or "").strip() else "missing"


def _missed(want: Wanted, verdict: Verdict, lines: list[Line]) -> str | None:
    """How a click went wrong that typed the right value; `missing` where there is none."""
    if not verdict.right or verdict.clicked is not False:
        return None
    if all(math.isnan(lines[number].x) for number in verdict.lines):
        return "missing"
    near = verdict.near == want.path or (verdict.near is None and math.isfinite(verdict.distance))
    return "misclick_near" if near else "misclick_other_field"


def _cases(rows: list[Row], *, system: str, threshold: float) -> pl.DataFrame:
    if not rows:
        return tables.table("cases", [])
    missed = pl.Series("missed", [row.pop("missed", None) for row in rows], dtype=pl.String)
    frame = judged(tables.table("cases", rows), system=system, threshold=threshold)
    held = (frame["outcome"] == "mismatch") & missed.is_not_null()
    # A value that is right as the rules have it may be written otherwise; it is not wrong.
    unasked = (frame["outcome"] == "mismatch") & (frame["gold"] == "")
    cause = (
        pl.when(held)
        .then(missed)
        .when(unasked)
        .then(pl.lit("spurious"))
        .when(pl.col("outcome") == "match", pl.col("cause").is_not_null())
        .then(pl.lit("format_only"))
        .otherwise("cause")
    )
    return frame.with_columns(cause.alias("cause"))


def _scores(
    corpus: Corpus, forms: list[_Form], cases: pl.DataFrame, mode: str, *, acted: bool
) -> Iterator[pl.DataFrame]:
    if not forms:
        return
    asked = cases.filter(pl.col("gold").is_not_null())
    fields = [want for form in forms for want in form.fields]
    verdicts = [verdict for form in forms for verdict in form.verdicts]
    long = np.array([want.kind == family.DESCRIPTION for want in fields], dtype=bool)
    for name, tallies in family.counts(fields, verdicts).items():
        of_what_was_sent = name == "value_submitted_accuracy"
        if forms[0].sent is None if of_what_was_sent else not acted:
            continue
        part, used = asked, tallies
        if name == "description_bleu":
            part, used = asked.filter(long), tallies[long]
        rules = [_RULES[name].format(place=forms[0].place)] if name in _RULES else []
        said = settings(corpus, name, *rules, mode=mode)
        yield score_rows(part, family.METRICS[name], used, unit="field", settings=said)
        if name == "action_match_rate":
            yield _spurious(cases, forms, said)
    yield from _whole(corpus, forms, cases, mode, acted=acted)


def _spurious(cases: pl.DataFrame, forms: list[_Form], said: str) -> pl.DataFrame:
    """Actions that nothing asked for: made, and matching nothing."""
    lines = [form.lines[number] for form in forms for number in form.extra]
    made = [(not math.isnan(line.x)) + bool(line.value.strip()) for line in lines]
    tallies = np.stack([np.zeros(len(made)), np.array(made, dtype=float)], axis=1)
    part = cases.filter(pl.col("gold").is_null())
    metric = family.METRICS["action_match_rate"]
    return score_rows(part, metric, tallies, unit="field", settings=said)


def _whole(
    corpus: Corpus, forms: list[_Form], cases: pl.DataFrame, mode: str, *, acted: bool
) -> Iterator[pl.DataFrame]:
    order = {form.base["doc_id"]: place for place, form in enumerate(forms)}
    part = cases.filter(pl.col("gold").is_not_null()).unique("doc_id", keep="first")
    part = part.sort(pl.col("doc_id").replace_strict(order, return_dtype=pl.Int64))
    ended = pl.Series("status", [form.ended for form in forms], dtype=pl.String)
    part = part.with_columns(ended, path=pl.lit(None, pl.String))
    episodes = [family.episode(form.fields, form.verdicts) for form in forms]
    for name in family.EPISODE:
        if not acted and name != "form_completed":
            continue
        tallies = np.array([episode[name] for episode in episodes], dtype=float).reshape(-1, 2)
        by = "by=fields placed" if forms[0].sent is None else "by=submission"
        rules = [by] if name == "form_completed" else ["avg=fields"]
        said = settings(corpus, name, *rules, mode=mode)
        yield score_rows(
            part, family.METRICS[name], tallies, unit="document", settings=said, slices="all"
        )
