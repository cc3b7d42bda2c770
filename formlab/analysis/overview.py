"""What was run and how it went: counts, costs, worst pages, causes and levels."""

import functools
import itertools
import math
import operator
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import polars as pl

from formlab import benchmarks, selection, tables
from formlab.analysis.comparability import of_gold
from formlab.analysis.finding import KEYS, Finding, in_fields, origin, ranked
from formlab.analysis.slices import is_inside
from formlab.errors import UnknownName
from formlab.folders import Evaluation
from formlab.metrics.page import ERRORS
from formlab.scoring.bands import sliced
from formlab.scoring.causes import CAUSES, STAGE_OF, STAGES, WHAT_TO_TRY, advice
from formlab.scoring.tasks import content
from formlab.stats.draws import share
from formlab.tables import LADDER, STATUSES, SUMMARY, USABLE, settings_text

RUNS = tables.schema(
    "benchmark split system mode documents:int answered:int values:int right:int wrong:int "
    "missing:int spurious:int page_cer:number calls:int seconds:number tokens:int cost:number "
    "settings"
)


def runs(evaluations: Sequence[Evaluation]) -> pl.DataFrame:
    """What was run, on what, and how it went.

    Of each evaluation `answered` documents have at least one usable value; `values` of the gold are
    `right`, `wrong` or `missing`; predictions without a gold value are `spurious`. `page_cer` is
    the mean CER of whole pages; `seconds`, `tokens` and `cost` are sums over the `calls` (or pages)
    that report them. What nothing reports is null.
    """
    is_gold, outcome = of_gold(), pl.col("outcome")
    words = {"right": "match", "wrong": "mismatch", "missing": "missing"}
    counts = {name: (is_gold & (outcome == word)).sum() for name, word in words.items()}
    counts |= {"values": is_gold.sum(), "spurious": (outcome == "spurious").sum()}
    is_page = pl.col("metric") == "cer", pl.col("level") == "page", pl.col("slice_by").is_null()
    tokens = pl.sum_horizontal("tokens_in", "tokens_out", ignore_nulls=False)
    rows = []
    for one in evaluations:
        cases, settings = one.scan("cases"), one.settings.get("system") or {}
        row = origin(one) | cases.filter(in_fields()).select(**counts).collect().to_dicts()[0]
        usable = pl.col("doc_id").filter(pl.col("status").is_in(USABLE)).n_unique()
        row["answered"] = cases.select(usable).collect().item()
        pages = one.scan("scores").filter(*is_page).select("value").collect()["value"]
        pages = pages.drop_nans().drop_nulls()
        row |= {"page_cer": math.fsum(pages) / len(pages)} if len(pages) else {}
        if one.predictions is not None:
            spent = one.predictions.responses.select("seconds", "cost", tokens=tokens)
            row |= {of.name: math.fsum(of.drop_nulls()) for of in spent if of.count()}
            row["calls"] = spent.height
        row |= {"mode": one.mode, "documents": len(one.document_names)}
        row["settings"] = ", ".join(f"{name} {value}" for name, value in settings.items())
        rows.append(row)
    return pl.DataFrame(rows, schema=RUNS)


def failures(evaluation: Evaluation) -> dict[str, int]:
    """In how many documents an answer could not be used, by its status, the commonest first."""
    usable = pl.col("status").is_in([*USABLE, "missing", "unscored"])
    statuses = evaluation.scan("cases").filter(~usable).select("doc_id", "status").unique()
    return dict(ranked(statuses.collect(), "status").iter_rows())


def answers(evaluations: Sequence[Evaluation]) -> pl.DataFrame:
    """How many answers of each system and task have each status.

    Returns system, benchmark, task, status, answers and share, which adds up to 1 for each task.
    """
    # This metric has one row for each answer, with its status.
    answer = pl.col("metric") == "usable_answers", pl.col("slice_by") == "task"
    key = ["system", "benchmark", "task"]
    scores = (evaluation.scan("scores").filter(*answer) for evaluation in evaluations)
    rows = pl.concat(of.select(*key[:2], "status", task="slice_value") for of in scores)
    counts = rows.group_by(*key, "status").agg(answers=pl.len().cast(pl.Int64)).collect()
    share = pl.col("answers") / pl.col("answers").sum().over(key)
    return counts.with_columns(share=share).sort(*key, _place("status", STATUSES))


def _place(column: str, order: Sequence[str]) -> pl.Expr:
    """Where a value stands in `order`; at the end if it does not."""
    places = {value: place for place, value in enumerate(order)}
    return pl.col(column).replace_strict(places, default=len(order), return_dtype=pl.Int64)


def worst_pages(evaluation: Evaluation, *, limit: int | None = 10) -> pl.DataFrame:
    """The pages with the most word errors per gold word, and what these errors are.

    Returns `doc_id status words wer omitted inserted substituted order`, errors per gold word (the
    four sum to `wer`). A page without gold words has no rate and stands last.
    """
    named = {"wer": "wer"} | {name: f"words_{name}" for name in ERRORS}
    rates = {name: pl.col("value").filter(metric=metric).first() for name, metric in named.items()}
    is_rate = pl.col("level") == "page", pl.col("metric").is_in([*named.values()])
    words = pl.col("total").filter(metric="wer").first().cast(pl.Int64)
    scored = evaluation.scan("scores").filter(*is_rate).group_by("doc_id", maintain_order=True)
    pages = scored.agg(pl.col("status").first(), words=words, **rates)
    pages = pages.sort(-pl.col("wer").fill_nan(None), "doc_id", nulls_last=True)
    return (pages if limit is None else pages.head(limit)).collect()


def cause_counts(cases: pl.DataFrame, by: str | None = None, *, pages: bool = True) -> pl.DataFrame:
    """Cases by cause, in the order of the stages and the most frequent first, with what to try.

    Without `pages` nothing is said of images.
    """
    wrong = cases.drop_nulls(["cause", "path"]).filter(pl.col("level") != "node")
    slices, count = [by] if by else [], pl.col("cases")
    counts = wrong.group_by("cause", *slices).agg(cases=pl.len().cast(pl.Int64))
    facts = {"stage": STAGE_OF, "try": {name: advice(name, pages=pages) for name in WHAT_TO_TRY}}
    # A table made elsewhere may have causes of its own.
    options = {"default": None, "return_dtype": pl.String}
    facts = {name: pl.col("cause").replace_strict(of, **options) for name, of in facts.items()}
    counts = counts.with_columns(**facts, share=count / count.sum())
    often = -count.sum().over("cause")
    order = [_place("stage", STAGES), often, _place("cause", CAUSES), "cause", -count]
    return counts.sort(*order, *slices)


# The stages that can be fixed, in the order in which a page is read; two may be fixed as one.
_FIXED = ("answer", "find, characters", "place", "extent", "form", "relation", "extra")
# What is no fault of the system: the gold, or how formlab read the page.
_FIXED += ("gold, reader",)
FIXED = {of: [name for stage in of.split(", ") for name in STAGES[stage]] for of in _FIXED}
OTHER = "other"
_SCHEMA = tables.schema("metric stage value:number gain:number ci_low:number ci_high:number")
_SCHEMA |= tables.schema("n_cases:int n_docs:int causes:texts")
METRICS = ("fields", "documents")  # The share of values right, and of documents wholly right.


def what_if(
    evaluation: Evaluation,
    *,
    metrics: Sequence[str] = METRICS,
    stages: Mapping[str, Sequence[str]] = FIXED,
    **draws: Any,
) -> pl.DataFrame:
    """How much each metric gains if gold takes the place of the answer, one stage at a time.

    What a stage gains depends on what was fixed before it. `gain` is the mean over all orders (the
    Shapley value, 1953): of what has errors of k stages, each of these gains a kth, so that all
    gains add up to ``1 - value``. A check whose sources are wrong is right once they are.

    Returns a row for each metric and each stage that has errors, with the `value` as it is, its
    `n_cases` in `n_docs`, and its `causes`, the most frequent first.

    `metrics`: of ``fields``, the share of the gold's values that are right, and ``documents``, the
    share of documents whose values are all right, with none that the gold does not have. `stages`:
    the causes of each stage; all else is the stage ``other``. `draws`: as for `summarise`.

    Raises `UnknownName` if there is no such metric or cause.

    >>> import formlab
    >>> gold = {"a": {"total": "9.00", "name": "Ada"}}
    >>> wrong = formlab.evaluate(gold, {"a": {"total": "9.00", "name": "ADA L."}})
    >>> what_if(wrong, metrics=["fields"]).select("stage", "value", "gain").rows()
    [('extent', 0.5, 0.5)]
    """
    of_stages = itertools.chain(*stages.values())
    named = ("metric of what-if", metrics, METRICS), ("cause", of_stages, CAUSES)
    for kind, names, known in named:
        if unknown := [name for name in names if name not in known]:
            raise UnknownName.of(kind, unknown[0], known)
    bits = {name: 1 << at for at, name in enumerate(dict.fromkeys([*stages, OTHER]))}
    of_cause = {cause: bits[name] for name, names in stages.items() for cause in names}
    cases = evaluation.gathered(lambda part: _masks(part, of_cause, bits[OTHER]))
    documents = cases.group_by("doc_id").agg(pl.col("mask").bitwise_or(), pl.any("asked"))
    units, rows = {"fields": cases, "documents": documents}, []
    for metric, (name, bit) in itertools.product(metrics, bits.items()):
        unit, is_of_stage = units[metric].filter("asked"), pl.col("mask") & bit > 0
        errors = cases.filter(is_of_stage)
        if not errors.height or not unit.height:
            continue
        part = is_of_stage / pl.max_horizontal(1, pl.col("mask").bitwise_count_ones())
        numbers = (unit["mask"] == 0).mean(), *share(unit, part, **draws)
        of_causes = ranked(errors, "cause")["cause"].to_list()
        numbers += errors.height, errors["doc_id"].n_unique()
        rows.append((metric, name, *numbers, of_causes))
    return pl.DataFrame(rows, schema=_SCHEMA, orient="row")


def _masks(part: Evaluation, of_cause: Mapping[str, int], other: int) -> pl.DataFrame:
    """The cases with a `mask` of the stages that have to be fixed until they are right."""
    fields = part.scan("cases").filter(in_fields(), pl.col("outcome") != "unscored")
    columns = ["doc_id", "task", "path", "cause", "failed"]
    stage = pl.col("cause").replace_strict(of_cause, default=other, return_dtype=pl.Int64)
    mask = pl.when(pl.col("outcome") == "match").then(0).otherwise(stage)
    cases = fields.select(*columns, mask=mask, asked=of_gold()).collect().with_row_index("row")
    # A check whose sources are wrong waits for the stages of all of these.
    wrong = cases.filter(pl.col("mask") > 0)
    sources = wrong.filter(pl.col("task") != "consistency").select("doc_id", "path", waits="mask")
    checks = wrong.filter(pl.col("cause") == "wrong_source").select("row", "doc_id", path="failed")
    waits = checks.explode("path").join(sources, on=["doc_id", "path"])
    waits = waits.group_by("row").agg(pl.col("waits").bitwise_or())
    cases = cases.join(waits, on="row", how="left", maintain_order="left")
    return cases.select("doc_id", "cause", "asked", mask=pl.coalesce("waits", "mask"))


class Measure(NamedTuple):
    """One score that speaks for a level: a metric of fields of these tasks, a share of `over`."""

    level: str
    metric: str
    of: str
    over: str
    tasks: tuple[str, ...] = ()


_READ, _NAMED = ("text", "marking", "visual", "cross"), ("entity", "value")
# One metric may be taken over different totals: each has an axis, and levels are not ranked.
MEASURES = (
    # Of one's own forms, whose values are right by rules of their own.
    Measure("reading", "match_f1", "field", "values of one's own forms"),
    Measure("reading", "match_weighted", "field", "values of one's own forms, by their weights"),
    Measure("reading", "cer", "page", "characters of whole pages"),
    Measure("reading", "wer", "page", "words of whole pages"),
    Measure("reading", "normalised_accuracy", "field", "fields", _READ),
    Measure("reading", "fact_accuracy", "fact", "facts in the gold"),
    Measure("locating", "micro_f1", "document", "entities"),
    Measure("locating", "normalised_accuracy", "field", "named values", _NAMED),
    Measure("locating", "episodic_click", "document", "fields of a form, mean over forms"),
    Measure("structuring", "tree_similarity", "document", "trees"),
    Measure("structuring", "json_accuracy", "document", "values of the JSON"),
    Measure("relating", "vqa_accuracy", "question", "questions"),
    Measure("relating", "consistency_accuracy", "check", "checks of all fields of a relation"),
    Measure("acting", "episodic_value", "document", "fields of a form, mean over forms"),
    Measure("acting", "value_submitted_accuracy", "field", "values submitted"),
    Measure("acting", "form_completed", "document", "forms"),
)
LEVELS = tuple(dict.fromkeys(measure.level for measure in MEASURES))
HEADLINES = tables.schema("level over tasks panel")
HEADLINES |= {n: kind for n, kind in SUMMARY.items() if n != "level"} | {"score_level": pl.String}


def headlines(summary: pl.DataFrame) -> pl.DataFrame:
    """The scores that speak for each level: every one of `MEASURES` that is defined in `summary`.

    Returns the rows of `summary`, their own `level` as `score_level`, with the `level` they speak
    for; `over`, what the score is taken over; the `tasks` that its fields are of; and `panel`:
    scores may share an axis if it is the same.
    """
    rows = []
    for row in tables.only(summary, slice_by=None, average="pooled").drop_nans("value").to_dicts():
        measured = {name: row["settings"].get(name) for name in ("rules", "read", "average")}
        rules = settings_text(row | {"benchmark": None, "split": None, "settings": measured})
        for number, (level, metric, of, over, every) in enumerate(MEASURES):
            tasks, is_it = _tasks(row["benchmark"], every), (row["metric"], row["level"])
            if is_it == (metric, of) and bool(tasks) == bool(every):
                facts = {"level": level, "over": over, "score_level": of}
                facts["panel"] = f"{number:02}|{','.join(tasks)}|{rules}"
                rows.append(row | facts | {"tasks": ", ".join(tasks) or None})
    order = ["panel", "benchmark", "split", "system"]
    return pl.DataFrame(rows, schema=HEADLINES).sort(order, maintain_order=True)


def _tasks(benchmark: str, tasks: tuple[str, ...]) -> list[str]:
    """Of the tasks of a level those that fields of a benchmark are of."""
    entry = benchmarks.BENCHMARKS.get(benchmark)
    if entry is None or not tasks:
        return list(tasks)
    # Text fields among marks and pictures are scored with them, under no task of their own.
    text = content.TASKS if set(content.TASKS) & set(entry.tasks) - {"text"} else ()
    return [task for task in tasks if task in {*entry.tasks, *text}]


def rungs(summary: pl.DataFrame, by: str | None = None) -> pl.DataFrame:
    """Accuracy on each rung of the strictness ladder, over all fields or of each slice `by`.

    They are rows of `summary` with `rung`, and the `tasks` that the fields are of.
    """
    names = {f"{rung}_accuracy": rung for rung in LADDER}
    tasks = {name: ", ".join(_tasks(name, _READ + _NAMED)) for name in set(summary["benchmark"])}
    rows = tables.only(summary, slice_by=by, average="pooled").drop_nans("value")
    rows = rows.filter(pl.col("metric").is_in([*names]), (pl.col("level") == "field") | bool(by))
    facts = {"rung": pl.col("metric").replace(names), "tasks": pl.col("benchmark").replace(tasks)}
    return rows.with_columns(**facts).select(*facts, *SUMMARY).drop("task")


def select(evaluation: Evaluation, line: str, *, findings: Sequence[Finding] = ()) -> pl.DataFrame:
    """The cases that a line selects, right ones among them, in the order of the evaluation.

    `line` is as in the address of a report that shows cases: ``slice=column:value``, or a column
    of its own such as ``cause=clipped``, joined by ``&``. Values of one column are alternatives,
    columns must all fit; ``slice=column`` is of cases without a value. Columns are those of *cases*
    and *documents*, and the bands; ``finding=2`` is of the second of the report's `findings`.

    Raises `DataBroken` if the line cannot be read; `UnknownName` if it names a column or the number
    of a finding that there is not.
    """
    chosen, keys = selection.read(line), []
    numbers = {str(number): finding for number, finding in enumerate(findings, start=1)}
    for number in chosen.pop("finding", []):
        if number not in numbers:
            raise UnknownName.of("number of a finding", number, numbers)
        finding = numbers[number]
        # Those of a comparison name both systems; one about another evaluation selects nothing.
        names = ["benchmark", "split", *["system"] * (finding.about != "systems")]
        same = all(getattr(finding, name) in ("", getattr(evaluation, name)) for name in names)
        keys.append(finding.cases.select(KEYS).filter(same))

    def selected(part: Evaluation) -> pl.DataFrame:
        cases = part.cases
        for column, names in chosen.items():
            values = sliced(cases, part.documents, column)
            fits = (values.is_null() if of is None else is_inside(values, of) for of in names)
            cases = cases.filter(functools.reduce(operator.or_, fits))
        same = {"on": list(KEYS), "nulls_equal": True, "maintain_order": "left"}
        return cases.join(pl.concat(keys), how="semi", **same) if keys else cases

    return evaluation.gathered(selected)
