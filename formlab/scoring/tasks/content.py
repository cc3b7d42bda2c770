"""L1 and L3 of FORMCRAFT: fields of every modality, and questions and checks across them.

Fields are matched by name and place, each by its measure. Textual and visual fields by CER, WER and
BLEU; marks by precision, recall and F1; a cross-modal field counts only whole. All of them also on
the strictness ladder. The gold tells the modality; a field that no gold asks for counts in the
modality the system claimed for it: its marks in the precision of marks, itself in that of fields.
There are no characters to compare it with, so that CER, WER, BLEU and the accuracy of cross-modal
fields are of the gold's fields alone: to answer more than is asked is no worse than to say nothing.

A question is right where the answer holds on the rung `typed` of the ladder. A check is right where
every field of its relation has the value that stands there (`consistency_accuracy`, as in the
paper's Figure 5b), so that who reads all of a form is right in every check. What a system answered
for the check counts or, of a field it gave no value of, what it read there, paired as at L1.
`consistency_dependent_accuracy` is of the dependent field alone; who reads no field has no other.

Where another value follows for the dependent field than stands there, the page contradicts itself.
The paper has no such checks. They are cases of their own level, right where the value that follows
is given (`contradictions_found`), and not scored if a system answers no check at all: it was never
asked for more than what stands there.
"""

from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import polars as pl

from formlab import benchmarks, metrics, tables, text
from formlab.benchmarks.formcraft import RELATIONS, item_meta
from formlab.folders import Corpus, Predictions
from formlab.metrics import SOME_CLAIM
from formlab.metrics.counts import field_tallies
from formlab.metrics.marking import cross_tallies, mark_tallies
from formlab.scoring import page_text
from formlab.scoring.align import PAIRING, PRED, match, rungs, side_by_side, with_read
from formlab.scoring.fields import described, filled, words_of_pages, words_read
from formlab.scoring.item_alignment import same_paths
from formlab.scoring.tasks._kit import Scoring, TaskScores, any_for, sides, text_rows
from formlab.tables import LADDER, USABLE
from formlab.text.normalise import LADDER_STEPS

TASKS = ("text", "marking", "visual", "cross")
# What a system that only reads text can be read for: the text under the field's box.
READABLE = ("text", "visual")
_KEY = ["doc_id", "path"]
# What the case of a field says of its prediction.
_READ = (*PRED.values(), "confidence")
_CONTRADICTION = pl.col("level") == "contradiction"
# What is noted of all predictions.
VALUES = "values in answers to checks"


def marks(corpus: Corpus, predictions: Predictions) -> set[str]:
    """Whether the answers to checks give the values of their fields."""
    fields = _related(corpus.records, predictions.records, tables.table("cases", []))
    return {VALUES} if fields["answer"].count() else set()


def score(scoring: Scoring) -> TaskScores:
    """Every field by the measures of its modality and the ladder; every question and check.

    These are sliced by scope, reference, complexity and modal relationship, and by all four; the
    rungs of the ladder by task. A rung holds for a check if it does for all its fields.
    """
    tasks, whole = {*benchmarks.get(scoring.corpus.benchmark).tasks}, scoring.whole
    every = scoring.corpus.records, scoring.predictions.records, whole.answers
    fields, rules, notes = tables.table("cases", []), (None, None), dict[str, int]()
    case_tables, scores = [], []
    if not tasks.isdisjoint((*TASKS[1:], "consistency")):
        fields, rules, found = _field_cases(scoring)
    # Where no other modality is scored, textual fields are scored with their pages.
    if not tasks.isdisjoint(TASKS[1:]):
        case_tables, scores, notes = [fields], [*_field_scores(scoring, fields, *rules)], found
    related = _related(*every[:2], fields)
    # Whether a value of any field was given, or words were read where a field stands.
    given = field_claims(whole.answers).drop_nulls("value")
    is_read = given.height > 0 or words_read(whole, *READABLE)
    usable = every[1].filter(pl.col("status").is_in(USABLE))["doc_id"].unique().implode()
    for task, level in (("vqa", "question"), ("consistency", "check")):
        gold, answers, claims = (of.filter(task=task).drop_nulls("path") for of in every)
        has_fields = is_read and task == "consistency"
        if not (has_fields or any_for(whole.answers, claims)):
            notes[f"gold items of {task} not scored: the predictions answer none"] = gold.height
            continue
        joined = side_by_side(gold, answers, same_paths(gold, answers))
        joined = _with_dependent(joined.with_columns(level=pl.lit(level)), related, scoring)
        # Who read a form and left an item out missed the item, not the document.
        cases = scoring.judged(joined.with_columns(has_answer=pl.col("doc_id").is_in(usable)))
        cases = cases.with_columns(dependent="typed", whole=pl.lit(None, pl.Boolean))
        if not claims.height:
            note = "gold contradictions not scored: the predictions answer no check"
            notes[note] = cases.filter(_CONTRADICTION).height
            outcome = pl.when(_CONTRADICTION).then(pl.lit("unscored")).otherwise("outcome")
            cases = cases.with_columns(outcome=outcome)
        if has_fields or VALUES in whole.marks or not claims.height:
            cases = _of_all_fields(cases, related, scoring)
        case_tables.append(cases.drop("dependent", "whole"))
        # An answer to a question that was never asked is shown, and cannot be right or wrong.
        items = cases.filter(pl.col("gold").is_not_null(), pl.col("outcome") != "unscored")
        read = ("answer=given,else-extracted", *rules) if task == "consistency" else ()
        for (at,), group in items.group_by("level", maintain_order=True):
            scores += _item_scores(scoring, group, task, at, read)
    return TaskScores.of(case_tables, scores, notes)


def field_claims(records: pl.DataFrame) -> pl.DataFrame:
    """The records of the fields that a system named."""
    return records.filter(pl.col("task").is_in(TASKS), pl.col("path").is_not_null())


def _field_cases(scoring: Scoring) -> tuple[pl.DataFrame, tuple[str | None, ...], dict[str, int]]:
    """The cases of all fields, the rules they are paired and read by, and notes."""
    every = scoring.corpus.records, scoring.predictions.records, scoring.whole.answers
    (corpus, records, answers), (gold, claims, claimed) = every, map(field_claims, every)
    is_read, is_readable = words_of_pages(answers).height > 0, pl.col("task").is_in(READABLE)
    in_texts = not (claimed.height or is_read)
    in_texts &= page_text.texts_only(answers.filter(task="text"))
    # Marks and drawings cannot be read in the texts of pages.
    fields = gold.filter(is_readable if in_texts else is_read or any_for(answers, claimed))
    reason = "a text shows no marks" if in_texts else "the predictions give none"
    notes = {f"gold fields not scored: {reason}": gold.height - fields.height}
    joined = side_by_side(fields, claims, match(fields, claims))
    if in_texts:
        texts = corpus.filter(is_readable), records.filter(task="text")
        joined, found = page_text.in_page_text(joined, *texts)
        return scoring.judged(joined), (None, page_text.RULES), notes | found
    unnamed = is_readable & pl.col("pred_path").is_null()
    joined = filled(joined, words_of_pages(records), unnamed, reader=scoring.reader)
    read = described(scoring.reader) if is_read else None
    return scoring.judged(joined), (PAIRING, read), notes


def _field_scores(
    scoring: Scoring, cases: pl.DataFrame, pairing: str | None, read: str | None
) -> Iterator[pl.DataFrame]:
    cases = cases.filter(pl.col("outcome") != "unscored")
    has_gold, of_gold = pl.col("gold").is_not_null(), "of=gold fields"
    options = {"task": "visual", "level": "field", "read": read}
    # Of the gold's fields alone, but for the ladder and metrics that ask for claims.
    chosen: dict[Any, list[metrics.Metric]] = defaultdict(list)
    chosen[TASKS, True] += metrics.of("visual", "field", *LADDER)
    for metric in (*metrics.of("visual", "field", "text"), metrics.get("bleu_of_fields")):
        chosen[metric.tasks, metric.need == SOME_CLAIM].append(metric)
    for (tasks, of_claims), some in chosen.items():
        rows = cases.filter(pl.col("task").is_in(tasks), has_gold | of_claims)
        rules = None if of_claims else of_gold, pairing
        yield from text_rows(scoring, rows, *rules, **options, chosen=some)
    marked, crossed = cases.filter(modality="marking"), cases.filter(has_gold, modality="cross")
    tallies = mark_tallies(*sides(marked), marked["subtype"], marked["kind"])
    yield scoring.rows(marked, tallies, "marks=normalised,read as the gold", pairing, read=read)
    tallies = {"cross_accuracy": cross_tallies(*sides(crossed))}
    yield scoring.rows(crossed, tallies, "constituents=typed", of_gold, pairing, read=read)
    if field_claims(scoring.whole.answers).height:
        # Which fields were found at all, whatever was read in them.
        yield scoring.rows(cases, field_tallies(*sides(cases)), "of=fields with a value", PAIRING)


def _related(gold: pl.DataFrame, answers: pl.DataFrame, read: pl.DataFrame) -> pl.DataFrame:
    """A row for each field of each check, with what stands there and what was read or answered."""
    checks, answers = (side.filter(task="consistency") for side in (gold, answers))
    given = {
        (*key, text.normalise(path, LADDER_STEPS)): value
        for *key, meta in answers.unique(_KEY, keep="last").select(*_KEY, "meta").iter_rows()
        for path, value in item_meta(meta).values.items()
    }
    rows = []
    for *key, meta in checks.drop_nulls("path").select(*_KEY, "meta").iter_rows():
        item = item_meta(meta)
        for path in item.relevant:
            value = given.get((*key, text.normalise(path, LADDER_STEPS)))
            rows.append((*key, path, value, path == item.dependent))
    columns = tables.schema("doc_id check path answer is_dependent:flag")
    stands = field_claims(gold).select(*_KEY, "kind", "accepted", gold="value")
    usable = pl.when(pl.col("status").is_in(USABLE)).then("pred").alias("pred")
    read = read.drop_nulls("gold").with_columns(usable, pred_status="status")
    fields = pl.DataFrame(rows, columns, orient="row")
    for side in (stands, read.select(*_KEY, *_READ)):
        fields = fields.join(side, on=_KEY, how="left", maintain_order="left")
    answer = pl.when(~pl.col("is_dependent")).then("answer")
    return fields.with_columns(pl.coalesce(answer, "pred").alias("pred"))


def _with_dependent(joined: pl.DataFrame, fields: pl.DataFrame, scoring: Scoring) -> pl.DataFrame:
    """Checks beside what was read in their dependent field, and whether its value contradicts."""
    fields = fields.filter("is_dependent").select("doc_id", *_READ, path="check", stands="gold")
    # A check without an answer has what was read there.
    silent = joined.filter(pl.col("pred_path").is_null())
    read = fields.drop_nulls("pred").join(silent, on=_KEY, how="semi").drop("stands")
    stands = fields.select(*_KEY, "stands")
    joined = with_read(joined, read).join(stands, on=_KEY, how="left", maintain_order="left")
    same = rungs(joined, "stands", **scoring.options)["typed"]
    is_other = (pl.col("gold") != pl.col("stands")) & ~same
    level = pl.when(is_other).then(pl.lit("contradiction")).otherwise("level")
    return joined.with_columns(level=level)


def _of_all_fields(cases: pl.DataFrame, fields: pl.DataFrame, scoring: Scoring) -> pl.DataFrame:
    """The cases of checks, judged by all fields of each."""
    is_dependent = pl.col("is_dependent")
    given = cases.filter(pl.col("outcome") != "unscored")
    given = given.select("doc_id", "level", check="path", given="pred")
    fields = fields.join(given, on=["doc_id", "check"], maintain_order="left")
    # A contradiction is found with the value that follows, whatever was read beside it.
    fields = fields.filter(is_dependent | ~_CONTRADICTION)
    # Of a field left blank nothing needs to be said.
    blank = pl.when(pl.col("gold").str.strip_chars() == "").then(pl.lit(""))
    given = pl.when(is_dependent).then("given")
    fields = fields.with_columns(pl.coalesce(given, "pred", blank).alias("pred"))
    fields = fields.with_columns(rungs(fields, "pred", **scoring.options))
    checks = fields.group_by("doc_id", path="check").agg(
        pl.col(LADDER).filter(~is_dependent).all().name.prefix("others_"),
        wrong=pl.col("path").filter(~is_dependent, ~pl.col("typed")).unique(maintain_order=True),
        itself=pl.col("path").filter(is_dependent).first(),
        copied=pl.col("typed").filter(is_dependent).any(),
    )
    cases = cases.join(checks.drop_nulls("itself"), on=_KEY, how="left", maintain_order="left")
    dependent, is_source = pl.col("dependent"), pl.col("wrong").list.len() > 0
    cause = pl.when(is_source).then(pl.lit("wrong_source"))
    cause = cause.when(~dependent).then(pl.lit("wrong_relation")).otherwise("cause")
    told = pl.col("status").is_in(USABLE) & (dependent | pl.col("copied"))
    missed = (pl.col("outcome") == "match") & ~pl.col("others_normalised")
    itself = pl.when(~dependent).then("itself")
    return cases.with_columns(
        **{rung: pl.col(rung) & pl.col(f"others_{rung}").fill_null(value=True) for rung in LADDER},
        whole=pl.when(pl.col("itself").is_not_null()).then(dependent & pl.col("others_typed")),
        outcome=pl.when(missed).then(pl.lit("mismatch")).otherwise("outcome"),
        cause=pl.when(told).then(cause).otherwise("cause"),
        failed=pl.concat_list("wrong", itself).list.drop_nulls(),
    ).drop(checks.columns[2:])


def _item_scores(
    scoring: Scoring, cases: pl.DataFrame, task: str, level: str, rules: tuple[str | None, ...]
) -> Iterator[pl.DataFrame]:
    slices = {axis: cases[axis].fill_null("none") for axis in RELATIONS}
    cell = cases.select(cell=pl.concat_str(slices.values(), separator=" & "))["cell"]
    slices = {None: None} | slices | {" & ".join(RELATIONS): cell}
    # One metric asks for all fields of a relation, the others for one value.
    columns = {"consistency_accuracy": "whole"}
    parts = {
        metric.name: metric.count(cases[columns.get(metric.name, "dependent")].to_list())
        for metric in metrics.of(task, level, "typed")
    }
    typed = "rung=typed", text.DATE_RULE, *rules
    yield scoring.rows(cases, parts, *typed, level=level, slices=slices)
    ladder = metrics.of(task, "field", *LADDER)
    parts = {metric.name: metric.count(cases[metric.view].to_list()) for metric in ladder}
    name = "contradictions" if level == "contradiction" else task
    fuzzy = f"fuzzy>={scoring.threshold:g}", text.DATE_RULE
    yield scoring.rows(cases, parts, *fuzzy, level=level, slices={"task": name})
