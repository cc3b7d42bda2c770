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
from formlab.scoring.fields import words_of_pages
from formlab.scoring.item_alignment import same_paths
from formlab.scoring.rules import orders_of
from formlab.scoring.tasks import content
from formlab.scoring.tasks._kit import Scoring, TaskScores, any_for
from formlab.tables import BOX, LADDER, USABLE
from formlab.text.normalise import LADDER_STEPS

TASKS = {"vqa": "vqa_accuracy", "consistency": "consistency_accuracy"}
LEVELS = {"vqa": "question", "consistency": "check"}
_KEY = ["doc_id", "path"]
# What the case of a field says of its prediction.
_READ = ("pred", "pred_path", "pred_page", "pred_origin", "confidence")
_READ += tuple(f"pred_{side}" for side in BOX)
_ANSWERED = "answer=given,else-extracted"
_CONTRADICTION = pl.col("level") == "contradiction"
_NONE = pl.lit([], pl.List(pl.String))

# What is noted of all predictions.
VALUES = "values in answers to checks"


def marks(corpus: Corpus, predictions: Predictions) -> set[str]:
    """Whether the answers to checks give the values of their fields."""
    sides = corpus.records, predictions.records
    gold, answers = (side.filter(task="consistency").drop_nulls("path") for side in sides)
    fields = _fields(gold, answers, tables.table("cases", []))
    return {VALUES} if fields["answer"].count() else set()


def score(scoring: Scoring) -> TaskScores:
    """Every question and check: for itself, and in each slice it belongs to.

    It is sliced by scope, reference, complexity and modal relationship, and by all four at once;
    the four rungs of the ladder by task. A rung holds for a check if it does for all its fields.
    """
    records, whole = scoring.predictions.records, scoring.whole
    case_tables, scores, notes = [], [], {}
    for task in TASKS:
        gold = scoring.corpus.records.filter(pl.col("task") == task)
        sides = records, whole.answers
        answers, claimed = (side.filter(task=task).drop_nulls("path") for side in sides)
        fields, rules, is_read = None, (), False
        if task == "consistency" and gold.height:
            read, (pairing, reading), _ = content.read_cases(scoring)
            fields = _fields(gold, answers, read)
            rules = (_ANSWERED, *filter(None, (pairing, reading)))
            # Whether a value of any field was given, or words were read where a field stands. A
            # page's text alone shows no marks: it is no reading of fields.
            placed = whole.gold.filter(pl.col("task").is_in(content.READABLE)).drop_nulls("x0")
            is_read = placed.height > 0 and words_of_pages(whole.answers).height > 0
            given = content.field_claims(whole.answers).drop_nulls("value")
            is_read = pairing is not None and (is_read or given.height > 0)
        if not any_for(whole.answers, claimed) and not is_read:
            notes[f"gold items of {task} not scored: the predictions answer none"] = gold.height
            continue
        joined = side_by_side(gold, answers, same_paths(gold, answers))
        if fields is not None:
            # A check without an answer has what was read in its dependent field.
            given = fields.filter(
                "is_dependent", ~pl.col("is_answered"), pl.col("pred").is_not_null()
            )
            given = given.select("doc_id", *_READ, path="check", pred_status="status")
            joined = with_read(joined, given, (*_READ, "pred_status"))
        # Who read a form and left an item out missed the item, not the document.
        usable = records.filter(pl.col("status").is_in(USABLE))["doc_id"].unique()
        joined = with_status(joined, records).with_columns(
            level=pl.lit(LEVELS[task]), has_answer=pl.col("doc_id").is_in(usable.implode())
        )
        cases = scoring.judged(joined).with_columns(dependent="typed", whole="typed")
        if task == "consistency":
            cases = _with_contradictions(cases, scoring, asked=claimed.height > 0)
            left = cases.filter(_CONTRADICTION).height * (not claimed.height)
            notes["gold contradictions not scored: the predictions answer no check"] = left
        if fields is not None:
            if is_read or VALUES in whole.marks or not claimed.height:
                cases = _of_all_fields(cases, fields, scoring)
            else:
                cases = cases.with_columns(whole=pl.when(_CONTRADICTION).then("dependent"))
        case_tables.append(cases.drop("dependent", "whole"))
        # An answer to a question that was never asked is shown, and cannot be right or wrong.
        items = cases.filter(pl.col("gold").is_not_null(), pl.col("outcome") != "unscored")
        for (level,), group in items.group_by("level", maintain_order=True):
            scores += _scores(scoring, group, task, level, rules)
    return TaskScores.of(case_tables, scores, notes)


def _rungs(rows: pl.DataFrame, gold: str, pred: str, scoring: Scoring) -> pl.DataFrame:
    orders = orders_of(rows, scoring.orders)
    return rungs(rows, gold, pred, threshold=scoring.threshold, orders=orders).select(LADDER)


def _with_contradictions(cases: pl.DataFrame, scoring: Scoring, *, asked: bool) -> pl.DataFrame:
    """The cases of checks, with the level and outcome of those that the page contradicts."""
    records = scoring.corpus.records
    checks = records.filter(pl.col("task") == "consistency")
    dependent = [item_meta(meta).dependent for meta in checks["meta"]]
    checks = checks.with_columns(pl.Series("dependent", dependent, pl.String))
    stands = records.filter(pl.col("task").is_in(content.TASKS))
    stands = stands.select("doc_id", dependent="path", stands="value")
    checks = checks.join(stands, on=["doc_id", "dependent"], maintain_order="left")
    same = _rungs(checks, "value", "stands", scoring)["typed"]
    other = (pl.col("value") != pl.col("stands")) & ~same
    contradicted = checks.filter(other).select(*_KEY, contradicted=True)
    cases = cases.join(contradicted, on=_KEY, how="left", maintain_order="left")
    level = pl.when("contradicted").then(pl.lit("contradiction")).otherwise("level")
    unasked = pl.col("contradicted").fill_null(False) & (not asked)
    outcome = pl.when(unasked).then(pl.lit("unscored")).otherwise("outcome")
    return cases.with_columns(level=level, outcome=outcome).drop("contradicted")


def _fields(gold: pl.DataFrame, answers: pl.DataFrame, read: pl.DataFrame) -> pl.DataFrame:
    """A row for each field of each check, with what stands there and what was read or answered."""
    answered = {row[:2]: row[2] for row in answers.select(*_KEY, "meta").iter_rows()}
    rows = []
    for doc_id, check, meta in gold.select(*_KEY, "meta").iter_rows():
        key, item = (doc_id, check), item_meta(meta)
        values = item_meta(answered.get(key)).values
        values = {text.normalise(path, LADDER_STEPS): value for path, value in values.items()}
        for path in item.relevant:
            value = values.get(text.normalise(path, LADDER_STEPS))
            rows.append((*key, path, value, path == item.dependent, key in answered))
    columns = tables.schema("doc_id check path answer is_dependent:flag is_answered:flag")
    fields = pl.DataFrame(rows, columns, orient="row")
    usable = pl.when(pl.col("status").is_in(USABLE)).then("pred").alias("pred")
    read = read.filter(pl.col("gold").is_not_null()).with_columns(usable)
    read = read.select(*_KEY, "kind", "gold", "accepted", *_READ, "status")
    fields = fields.join(read, on=_KEY, how="left", maintain_order="left")
    own = pl.when(~pl.col("is_dependent")).then("answer")
    return fields.with_columns(pl.coalesce(own, "pred").alias("pred"))


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
    cases = cases.drop("failed").join(checks, on=_KEY, how="left", maintain_order="left")
    # A contradiction is found with the value that follows, whatever was read beside it.
    cases = cases.with_columns(
        *(pl.col(f"others_{rung}") | _CONTRADICTION for rung in LADDER),
        pl.when(~_CONTRADICTION).then("wrong").otherwise(_NONE),
    )
    scored = pl.col("dependent_path").is_not_null() & (pl.col("outcome") != "unscored")
    dependent, copied = pl.col("dependent"), pl.col("copied")
    itself = pl.when(~dependent).then(pl.concat_list("dependent_path")).otherwise(_NONE)
    usable = scored & pl.col("status").is_in(USABLE) & (dependent | copied)
    by_source = pl.when(pl.col("wrong").list.len() > 0).then(pl.lit("wrong_source"))
    cause = by_source.when(~dependent).then(pl.lit("wrong_relation")).otherwise("cause")
    wrong = scored & (pl.col("outcome") == "match") & ~pl.col("others_normalised")
    rungs = {name: pl.col(name) & pl.col(f"others_{name}") for name in LADDER}
    return cases.with_columns(
        **{n: pl.when(scored).then(rung).otherwise(n) for n, rung in rungs.items()},
        whole=pl.when(scored).then(dependent & pl.col("others_typed")),
        outcome=pl.when(wrong).then(pl.lit("mismatch")).otherwise("outcome"),
        cause=pl.when(usable).then(cause).otherwise("cause"),
        failed=pl.when(scored).then(pl.concat_list("wrong", itself)),
    ).drop(checks.columns[2:])


def _scores(
    scoring: Scoring, cases: pl.DataFrame, task: str, level: str, rules: tuple[str, ...]
) -> Iterator[pl.DataFrame]:
    measured = {TASKS[task]: "whole"}
    if level == "check":
        measured["consistency_dependent_accuracy"] = "dependent"
    elif level == "contradiction":
        measured = {"contradictions_found": "dependent"}
    slices = {axis: cases[axis].fill_null("none") for axis in RELATIONS}
    cell = pl.concat_str(slices.values(), separator=" & ")
    slices = {None: None} | slices | {" & ".join(RELATIONS): cases.select(cell=cell)["cell"]}
    parts = {name: right_tallies(cases[right].to_list()) for name, right in measured.items()}
    typed, fuzzy = "rung=typed", f"fuzzy>={scoring.threshold:g}"
    for by, values in slices.items():
        sliced = {"slice_by": by, "slice_value": values, "level": level}
        yield scoring.rows(cases, parts, typed, text.DATE_RULE, *rules, **sliced)
    ladder = metrics.of(task, "field", *LADDER)
    parts = {metric.name: right_tallies(cases[metric.view].to_list()) for metric in ladder}
    name = "contradictions" if level == "contradiction" else task
    sliced = {"slice_by": "task", "slice_value": name, "level": level}
    yield scoring.rows(cases, parts, fuzzy, text.DATE_RULE, **sliced)
