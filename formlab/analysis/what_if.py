"""What fixing one stage would gain: gold in place of the answer for all errors of that stage."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence

import polars as pl

from formlab import tables
from formlab.analysis.comparability import of_gold
from formlab.analysis.finding import in_fields, ranked
from formlab.errors import UnknownName
from formlab.folders import Evaluation
from formlab.scoring import causes
from formlab.stats.draws import share

_OF = causes.STAGES
# The stages that can be fixed, in the order in which a page is read, each with its causes.
STAGES: dict[str, tuple[str, ...]] = {
    "answer": _OF["answer"],
    "reading": (*_OF["find"], *_OF["characters"]),
    "place": _OF["place"],
    "extent": _OF["extent"],
    "form": _OF["form"],
    "relation": _OF["relation"],
    "extra": _OF["extra"],
    # What is no fault of the system: the gold, or how formlab read the page.
    "label": (*_OF["gold"], *_OF["reader"]),
}
OTHER = "other"
METRICS = {"fields": "share of values right", "documents": "share of documents wholly right"}
_SCHEMA = tables.schema(
    "metric stage value:number gain:number ci_low:number ci_high:number lowest:number "
    "highest:number n_cases:int n_docs:int causes:texts"
)


def what_if(
    evaluation: Evaluation,
    *,
    metrics: Sequence[str] = tuple(METRICS),
    stages: Mapping[str, Sequence[str]] = STAGES,
    resamples: int = 1000,
    level: float = 0.95,
    seed: int = 0,
) -> pl.DataFrame:
    """How much each metric gains if gold takes the place of the answer, one stage at a time.

    What a stage gains depends on what was fixed before it. `gain` is the mean over all orders (the
    Shapley value, 1953): of what has errors of k stages, each of these gains a kth, so that all
    gains add up to ``1 - value``. `lowest` and `highest` are the least and the most that the stage
    gains in any order. A check whose sources are wrong is right once they are.

    Returns a row for each metric and each stage that has errors, with the `value` as it is, its
    `n_cases` in `n_docs`, and its `causes`, the most frequent first. Intervals draw documents.

    `metrics`: of ``fields``, the share of the gold's values that are right, and ``documents``, the
    share of documents whose values are all right, with none that the gold does not have. `stages`:
    the causes of each stage; errors of no stage make the stage ``other``.

    Raises `UnknownName` if there is no such metric or cause.

    Examples
    --------
    >>> import formlab
    >>> gold = {"a": {"total": "9.00", "name": "Ada"}}
    >>> wrong = formlab.evaluate(gold, {"a": {"total": "9.00", "name": "ADA L."}})
    >>> what_if(wrong, metrics=["fields"]).select("stage", "value", "gain").rows()
    [('extent', 0.5, 0.5)]
    """
    chosen = {"metric of what-if": (metrics, METRICS)}
    chosen["cause"] = itertools.chain(*stages.values()), causes.CAUSES
    for kind, (names, known) in chosen.items():
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
        gain = share(unit, part, resamples=resamples, level=level, seed=seed)
        mask, of_causes = unit["mask"], ranked(errors, "cause")["cause"].to_list()
        range_ = (mask == bit).mean(), (mask & bit > 0).mean()
        counts = errors.height, errors["doc_id"].n_unique()
        rows.append((metric, name, (mask == 0).mean(), *gain, *range_, *counts, of_causes))
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
