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

from collections.abc import Iterator

import polars as pl

from formlab import metrics, tables, text
from formlab.benchmarks.formcraft import RELATIONS, item_meta
from formlab.folders import Corpus, Predictions
from formlab.scoring.align import PRED, rungs, side_by_side, with_read
from formlab.scoring.fields import words_read
from formlab.scoring.item_alignment import same_paths
from formlab.scoring.tasks import content
from formlab.scoring.tasks._kit import Scoring, TaskScores, any_for
from formlab.tables import LADDER, USABLE
from formlab.text.normalise import LADDER_STEPS

# The level of each task's items.
LEVELS = {"vqa": "question", "consistency": "check"}
# The metric that asks for all fields of a relation; the others ask for one value.
WHOLE = "consistency_accuracy"
_KEY = ["doc_id", "path"]
# What the case of a field says of its prediction.
_READ = (*PRED.values(), "confidence")
_CONTRADICTION = pl.col("level") == "contradiction"

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
            joined = with_read(joined, silent.select("doc_id", *_READ, path="check"))
            joined = _with_contradictions(joined, fields, scoring)
        # Who read a form and left an item out missed the item, not the document.
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


def _rungs(rows: pl.DataFrame, pred: str, scoring: Scoring) -> pl.DataFrame:
    known = {"threshold": scoring.threshold, "orders": scoring.orders}
    return rungs(rows, pred, **known).select(LADDER)


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
    read = read.drop_nulls("gold").with_columns(usable, pred_status="status")
    read = read.select(*_KEY, *_READ)
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
    same = _rungs(joined, "stands", scoring)["typed"]
    is_other = (pl.col("gold") != pl.col("stands")) & ~same
    level = pl.when(is_other).then(pl.lit("contradiction")).otherwise("level")
    return joined.with_columns(level=level)


def _of_all_fields(cases: pl.DataFrame, fields: pl.DataFrame, scoring: Scoring) -> pl.DataFrame:
    """The cases of checks, judged by all fields of each."""
    is_dependent, key = pl.col("is_dependent"), ["doc_id", "check", "is_dependent"]
    given = cases.select("doc_id", check="path", given="pred", is_dependent=True)
    fields = fields.join(given, on=key, how="left", maintain_order="left")
    # A contradiction is found with the value that follows, whatever was read beside it.
    alone = cases.filter(_CONTRADICTION).select("doc_id", check="path", is_dependent=False)
    fields = fields.join(alone, on=key, how="anti", maintain_order="left")
    # Of a field left blank nothing needs to be said.
    blank = pl.when(pl.col("gold").str.strip_chars() == "").then(pl.lit(""))
    fields = fields.with_columns(pl.coalesce("given", "pred", blank).alias("pred"))
    fields = fields.with_columns(_rungs(fields, "pred", scoring))
    checks = fields.group_by("doc_id", path="check").agg(
        pl.col(LADDER).filter(~is_dependent).all().name.prefix("others_"),
        wrong=pl.col("path").filter(~is_dependent, ~pl.col("typed")),
        itself=pl.col("path").filter(is_dependent).head(1),
        copied=pl.col("typed").filter(is_dependent).any(),
    )
    cases = cases.join(checks, on=_KEY, how="left", maintain_order="left")
    scored = (pl.col("itself").list.len() > 0) & (pl.col("outcome") != "unscored")
    both = {rung: pl.col(rung) & pl.col(f"others_{rung}") for rung in LADDER}
    dependent, is_source = pl.col("dependent"), pl.col("wrong").list.len() > 0
    cause = pl.when(is_source).then(pl.lit("wrong_source"))
    cause = cause.when(~dependent).then(pl.lit("wrong_relation")).otherwise("cause")
    told = scored & pl.col("status").is_in(USABLE) & (dependent | pl.col("copied"))
    missed = scored & (pl.col("outcome") == "match") & ~pl.col("others_normalised")
    itself = pl.when(~dependent).then("itself").otherwise(pl.lit([], pl.List(pl.String)))
    return cases.with_columns(
        **{rung: pl.when(scored).then(right).otherwise(rung) for rung, right in both.items()},
        whole=pl.when(scored).then(both["typed"]),
        outcome=pl.when(missed).then(pl.lit("mismatch")).otherwise("outcome"),
        cause=pl.when(told).then(cause).otherwise("cause"),
        failed=pl.when(scored).then(pl.concat_list("wrong", itself)),
    ).drop(checks.columns[2:])


def _scores(
    scoring: Scoring, cases: pl.DataFrame, task: str, level: str, rules: tuple[str | None, ...]
) -> Iterator[pl.DataFrame]:
    slices = {axis: cases[axis].fill_null("none") for axis in RELATIONS}
    cell = cases.select(cell=pl.concat_str(slices.values(), separator=" & "))["cell"]
    slices = {None: None} | slices | {" & ".join(RELATIONS): cell}
    parts = {
        metric.name: metric.count(cases["whole" if metric.name == WHOLE else "dependent"].to_list())
        for metric in metrics.of(task, level, "typed")
    }
    for by, values in slices.items():
        sliced = {"slice_by": by, "slice_value": values, "level": level}
        yield scoring.rows(cases, parts, "rung=typed", text.DATE_RULE, *rules, **sliced)
    ladder = metrics.of(task, "field", *LADDER)
    parts = {metric.name: metric.count(cases[metric.view].to_list()) for metric in ladder}
    name = "contradictions" if level == "contradiction" else task
    fuzzy, sliced = f"fuzzy>={scoring.threshold:g}", {"slice_by": "task", "slice_value": name}
    yield scoring.rows(cases, parts, fuzzy, text.DATE_RULE, level=level, **sliced)
