"""L3 of FORMCRAFT: questions across fields and consistency checks, by kind of relation.

A question is right where the answer holds on the rung `typed` of the ladder. A check is right where
every field of its relation has the value that stands there (`consistency_accuracy`, as in the
paper's Figure 5b), so that who reads all of a form is right in every check. What a system answered
for the check counts or, of a field it gave no value of, what it read there, paired as at L1.
`consistency_dependent_accuracy` is of the dependent field alone; a system that reads no field has
no other.

Where another value follows for the dependent field than stands there, the page contradicts itself.
The paper has no such checks. They are cases of their own level, right where the value that follows
is given (`contradictions_found`), and not scored if a system answers no check at all: it was never
asked for more than what stands there.
"""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from formlab import metrics, tables, text
from formlab.benchmarks.formcraft import RELATIONS, item_meta
from formlab.folders import Corpus, Predictions
from formlab.metrics.counts import right_tallies
from formlab.scoring.align import rungs, side_by_side, with_read, with_status
from formlab.scoring.fields import words_read
from formlab.scoring.item_alignment import same_paths
from formlab.scoring.tasks import content
from formlab.scoring.tasks._kit import Scoring, TaskScores, any_for
from formlab.tables import BOX, LADDER, USABLE
from formlab.text.normalise import LADDER_STEPS

# The level of each task's items, and what is measured at a level by which column of the cases.
LEVELS = {"vqa": "question", "consistency": "check"}
_MEASURED = {
    "question": {"vqa_accuracy": "whole"},
    "check": {"consistency_accuracy": "whole", "consistency_dependent_accuracy": "dependent"},
    "contradiction": {"contradictions_found": "dependent"},
}
_KEY = ["doc_id", "path"]
# What the case of a field says of its prediction.
_READ = ("pred", "pred_path", "pred_page", "pred_origin", "confidence")
_READ += tuple(f"pred_{side}" for side in BOX)
_CONTRADICTION, _NONE = pl.col("level") == "contradiction", pl.lit([], pl.List(pl.String))

# What is noted of all predictions.
VALUES = "values in answers to checks"


def marks(corpus: Corpus, predictions: Predictions) -> set[str]:
    """Whether the answers to checks give the values of their fields."""
    fields = _fields(corpus.records, predictions.records, tables.table("cases", []))
    return {VALUES} if fields["answer"].count() else set()


def score(scoring: Scoring) -> TaskScores:
    """Every question and check: for itself, and in each slice it belongs to.

    It is sliced by scope, reference, complexity and modal relationship, and by all four at once;
    the four rungs of the ladder by task. A rung holds for a check if it does for all its fields.
    """
    sides, whole = (scoring.corpus.records, scoring.predictions.records), scoring.whole
    usable = sides[1].filter(pl.col("status").is_in(USABLE))["doc_id"].unique().implode()
    case_tables, scores, notes = [], [], {}
    for task, level in LEVELS.items():
        gold, answers, claims = (
            side.filter(task=task).drop_nulls("path") for side in (*sides, whole.answers)
        )
        is_check, is_read, rules = task == "consistency" and gold.height > 0, False, ()
        if is_check:
            read, (pairing, reading), _ = content.read_cases(scoring)
            fields = _fields(*sides, read)
            rules = ("answer=given,else-extracted", pairing, reading)
            # Whether a value of any field was given, or words were read where a field stands. A
            # page's text alone shows no marks: it is no reading of fields.
            given = content.field_claims(whole.answers).drop_nulls("value")
            is_read = words_read(whole, *content.READABLE) or given.height > 0
            is_read &= pairing is not None
        if not any_for(whole.answers, claims) and not is_read:
            notes[f"gold items of {task} not scored: the predictions answer none"] = gold.height
            continue
        joined = side_by_side(gold, answers, same_paths(gold, answers))
        joined = joined.with_columns(level=pl.lit(level))
        if is_check:
            # A check without an answer has what was read in its dependent field.
            silent = fields.filter("is_dependent", ~pl.col("is_answered")).drop_nulls("pred")
            silent = silent.select("doc_id", *_READ, path="check", pred_status="status")
            joined = with_read(joined, silent, (*_READ, "pred_status"))
            joined = _with_contradictions(joined, fields, scoring)
        # Who read a form and left an item out missed the item, not the document.
        joined = with_status(joined, sides[1])
        joined = joined.with_columns(has_answer=pl.col("doc_id").is_in(usable))
        cases = scoring.judged(joined).with_columns(dependent="typed", whole="typed")
        if is_check and not claims.height:
            found = cases.filter(_CONTRADICTION).height
            notes["gold contradictions not scored: the predictions answer no check"] = found
            outcome = pl.when(_CONTRADICTION).then(pl.lit("unscored")).otherwise("outcome")
            cases = cases.with_columns(outcome=outcome)
        if is_check and (is_read or VALUES in whole.marks or not claims.height):
            cases = _of_all_fields(cases, fields, scoring)
        elif is_check:
            cases = cases.with_columns(whole=pl.when(_CONTRADICTION).then("dependent"))
        case_tables.append(cases.drop("dependent", "whole"))
        # An answer to a question that was never asked is shown, and cannot be right or wrong.
        items = cases.filter(pl.col("gold").is_not_null(), pl.col("outcome") != "unscored")
        for (at,), group in items.group_by("level", maintain_order=True):
            scores += _scores(scoring, group, task, at, rules)
    return TaskScores.of(case_tables, scores, notes)


def _rungs(rows: pl.DataFrame, gold: str, pred: str, scoring: Scoring) -> pl.DataFrame:
    known = {"threshold": scoring.threshold, "orders": scoring.orders}
    return rungs(rows, gold, pred, **known).select(LADDER)


def _fields(gold: pl.DataFrame, answers: pl.DataFrame, read: pl.DataFrame) -> pl.DataFrame:
    """A row for each field of each check, with what stands there and what was read or answered."""
    checks, answers = (side.filter(task="consistency") for side in (gold, answers))
    answered = {row[:2]: row[2] for row in answers.select(*_KEY, "meta").iter_rows()}
    rows = []
    for *key, meta in checks.drop_nulls("path").select(*_KEY, "meta").iter_rows():
        item, values = item_meta(meta), item_meta(answered.get(tuple(key))).values
        values = {text.normalise(path, LADDER_STEPS): value for path, value in values.items()}
        for path in item.relevant:
            value = values.get(text.normalise(path, LADDER_STEPS))
            rows.append((*key, path, value, path == item.dependent, tuple(key) in answered))
    columns = tables.schema("doc_id check path answer is_dependent:flag is_answered:flag")
    fields = pl.DataFrame(rows, columns, orient="row")
    stands = content.field_claims(gold).select(*_KEY, "kind", "accepted", gold="value")
    usable = pl.when(pl.col("status").is_in(USABLE)).then("pred").alias("pred")
    read = read.drop_nulls("gold").with_columns(usable).select(*_KEY, *_READ, "status")
    for side in (stands, read):
        fields = fields.join(side, on=_KEY, how="left", maintain_order="left")
    own = pl.when(~pl.col("is_dependent")).then("answer")
    return fields.with_columns(pl.coalesce(own, "pred").alias("pred"))


def _with_contradictions(
    joined: pl.DataFrame, fields: pl.DataFrame, scoring: Scoring
) -> pl.DataFrame:
    """Checks beside their answers, with the level of those that the page contradicts."""
    stands = fields.filter("is_dependent").select("doc_id", path="check", stands="gold").unique()
    joined = joined.join(stands, on=_KEY, how="left", maintain_order="left")
    same = _rungs(joined, "gold", "stands", scoring)["typed"]
    is_other = (pl.col("gold") != pl.col("stands")) & ~same
    level = pl.when(is_other).then(pl.lit("contradiction")).otherwise("level")
    return joined.with_columns(level=level)


def _of_all_fields(cases: pl.DataFrame, fields: pl.DataFrame, scoring: Scoring) -> pl.DataFrame:
    """The cases of checks, judged by all fields of each."""
    values = cases.select("doc_id", value="pred", check="path", is_dependent=pl.lit(True))
    key = ["doc_id", "check", "is_dependent"]
    fields = fields.join(values, on=key, how="left", maintain_order="left")
    # Of a field left blank nothing needs to be said.
    blank = pl.when(pl.col("gold").str.strip_chars() == "").then(pl.lit(""))
    fields = fields.with_columns(pl.coalesce("value", "pred", blank).alias("pred"))
    fields = fields.with_columns(_rungs(fields, "gold", "pred", scoring))
    others = ~pl.col("is_dependent")
    checks = fields.group_by("doc_id", pl.col("check").alias("path"), maintain_order=True).agg(
        *(pl.col(rung).filter(others).all().alias(f"others_{rung}") for rung in LADDER),
        pl.col("path").filter(others, ~pl.col("typed")).alias("wrong"),
        pl.col("path").filter("is_dependent").first().alias("dependent_path"),
        pl.col("typed").filter("is_dependent").any().alias("copied"),
    )
    cases = cases.join(checks, on=_KEY, how="left", maintain_order="left")
    # A contradiction is found with the value that follows, whatever was read beside it.
    others = {rung: pl.col(f"others_{rung}") | _CONTRADICTION for rung in LADDER}
    wrong = pl.when(~_CONTRADICTION).then("wrong").otherwise(_NONE)
    scored = pl.col("dependent_path").is_not_null() & (pl.col("outcome") != "unscored")
    dependent = pl.col("dependent")
    itself = pl.when(~dependent).then(pl.concat_list("dependent_path")).otherwise(_NONE)
    by_source = pl.when(wrong.list.len() > 0).then(pl.lit("wrong_source"))
    cause = by_source.when(~dependent).then(pl.lit("wrong_relation")).otherwise("cause")
    told = scored & pl.col("status").is_in(USABLE) & (dependent | pl.col("copied"))
    missed = scored & (pl.col("outcome") == "match") & ~others["normalised"]
    return cases.with_columns(
        **{n: pl.when(scored).then(pl.col(n) & also).otherwise(n) for n, also in others.items()},
        whole=pl.when(scored).then(dependent & others["typed"]),
        outcome=pl.when(missed).then(pl.lit("mismatch")).otherwise("outcome"),
        cause=pl.when(told).then(cause).otherwise("cause"),
        failed=pl.when(scored).then(pl.concat_list(wrong, itself)),
    ).drop(checks.columns[2:])


def _scores(
    scoring: Scoring, cases: pl.DataFrame, task: str, level: str, rules: tuple[str | None, ...]
) -> Iterator[pl.DataFrame]:
    slices = {axis: cases[axis].fill_null("none") for axis in RELATIONS}
    cell = cases.select(cell=pl.concat_str(slices.values(), separator=" & "))["cell"]
    slices = {None: None} | slices | {" & ".join(RELATIONS): cell}
    typed, fuzzy = ("rung=typed", text.DATE_RULE), (f"fuzzy>={scoring.threshold:g}", text.DATE_RULE)
    measured = _MEASURED[level].items()
    parts = {name: right_tallies(cases[right].to_list()) for name, right in measured}
    for by, values in slices.items():
        sliced = {"slice_by": by, "slice_value": values, "level": level}
        yield scoring.rows(cases, parts, *typed, *rules, **sliced)
    ladder = metrics.of(task, "field", *LADDER)
    parts = {metric.name: right_tallies(cases[metric.view].to_list()) for metric in ladder}
    name = "contradictions" if level == "contradiction" else task
    yield scoring.rows(cases, parts, *fuzzy, level=level, slice_by="task", slice_value=name)
