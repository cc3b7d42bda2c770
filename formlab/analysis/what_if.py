"""What fixing one stage would gain: gold in place of the answer for all errors of that stage."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from formlab.analysis.comparability import of_gold
from formlab.analysis.finding import in_fields
from formlab.errors import DataBroken, UnknownName
from formlab.folders import Evaluation
from formlab.scoring import causes
from formlab.stats.draws import by_document, drawn_sums, percentiles

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
# Twice as many combinations for each further stage.
_MOST = 12
_SCHEMA: dict[str, Any] = {
    **dict.fromkeys(("metric", "stage"), pl.String),
    **dict.fromkeys(("value", "gain", "ci_low", "ci_high"), pl.Float64),
    **dict.fromkeys(("lowest", "highest", "alone", "total"), pl.Float64),
    **dict.fromkeys(("n_cases", "n_docs"), pl.Int64),
    "causes": pl.List(pl.String),
}


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

    What a stage gains depends on what was fixed before it: a document is wholly right only once
    its last error is. `gain` is the mean over all orders (the Shapley value, 1953), so that the
    gains of all stages add up to ``total - value``; `lowest` and `highest` are the least and the
    most that the stage gains in any order. A check whose sources are wrong is right once they are.

    Returns a row for each metric and each stage that has errors: metric, stage, value (as it is),
    gain, ci_low, ci_high, lowest, highest, alone (the gain if nothing else is fixed), total (with
    all fixed), n_cases and n_docs (values with errors of the stage, and their documents), causes
    (the most frequent first). Intervals draw documents; of one it is NaN.

    Raises `UnknownName` if there is no such metric or cause; `DataBroken` if errors of more than 12
    stages occur.

    Parameters
    ----------
    metrics
        Of ``fields``, the share of the gold's values that are right, and ``documents``, the share
        of documents whose values are all right, with none that the gold does not have.
    stages
        The causes of each stage. Errors of no stage make the stage ``other``; with a stage of one
        cause, that cause is fixed alone.

    Examples
    --------
    >>> import formlab
    >>> gold = {"a": {"total": "9.00", "name": "Ada"}}
    >>> wrong = formlab.evaluate(gold, {"a": {"total": "9.00", "name": "ADA L."}})
    >>> what_if(wrong, metrics=["fields"]).select("stage", "value", "gain").rows()
    [('extent', 0.5, 0.5)]
    """
    for metric in metrics:
        if metric not in METRICS:
            raise UnknownName.of("metric of what-if", metric, METRICS)
    for cause in itertools.chain(*stages.values()):
        if cause not in causes.CAUSES:
            raise UnknownName.of("cause", cause, causes.CAUSES)
    bits = {name: 1 << at for at, name in enumerate(dict.fromkeys([*stages, OTHER]))}
    of_cause = {cause: bits[name] for name, names in stages.items() for cause in names}
    cases = evaluation.gathered(lambda part: _masks(part, of_cause, bits[OTHER]))
    errors = cases.filter(pl.col("mask") > 0)
    counts = {name: _counts(errors.filter(pl.col("mask") & bit > 0)) for name, bit in bits.items()}
    present = [name for name, count in counts.items() if count["n_cases"]]
    if len(present) > _MOST:
        what = f"errors of {len(present)} stages: {', '.join(present)}"
        raise DataBroken(what, remedy=f"at most {_MOST}, with several causes in one stage")
    documents = cases.group_by("doc_id").agg(pl.col("mask").bitwise_or(), pl.any("asked"))
    units = {"fields": cases, "documents": documents}
    rows: list[dict[str, Any]] = []
    for metric in metrics if present else ():
        unit = units[metric].filter("asked").sort("doc_id")
        if not unit.height:
            continue
        counted, parts = _combinations(unit, [bits[name] for name in present])
        worth = parts.sum(axis=0) @ counted / parts.sum()
        drawn = drawn_sums(parts, resamples=resamples if len(parts) > 1 else 0, seed=seed)
        drawn_worth = drawn @ counted / drawn.sum(axis=1, keepdims=True)
        for at, name in enumerate(present):
            numbers = np.arange(2 ** len(present))
            without = numbers[numbers >> at & 1 == 0]
            # The share of orders in which just these stages were fixed before.
            chances = [math.comb(len(present) - 1, n.bit_count()) for n in without.tolist()]
            shares = 1 / (len(present) * np.array(chances))
            steps = worth[without | 1 << at] - worth[without]
            gains = drawn_worth[:, without | 1 << at] - drawn_worth[:, without]
            low, high = percentiles((gains * shares).sum(axis=1), level)
            row = {"metric": metric, "stage": name, "value": worth[0], "total": worth[-1]}
            row |= {"gain": (steps * shares).sum(), "ci_low": low, "ci_high": high}
            row |= {"lowest": steps.min(), "highest": steps.max(), "alone": steps[0]}
            rows.append(row | counts[name])
    return pl.DataFrame(rows, schema=_SCHEMA)


def _combinations(unit: pl.DataFrame, bits: Sequence[int]) -> tuple[np.ndarray, np.ndarray]:
    """Which combinations of stages make rows of each mask right, and rows: documents × masks."""
    numbers = np.arange(2 ** len(bits))
    fixed = sum((numbers >> at & 1) * bit for at, bit in enumerate(bits))
    masks, mask = np.unique(unit["mask"].to_numpy(), return_inverse=True)
    names, number = np.unique(unit["doc_id"].to_numpy(), return_inverse=True)
    cells = len(names) * len(masks)
    parts = by_document(number * len(masks) + mask, [np.ones(len(mask))], cells)
    counted = (fixed & masks[:, None] == masks[:, None]).astype(float)
    return counted, parts.reshape(len(names), len(masks))


def _counts(errors: pl.DataFrame) -> dict[str, Any]:
    by_cause = errors.drop_nulls("cause").group_by("cause").len()
    by_cause = by_cause.sort("len", "cause", descending=[True, False])
    counts = {"n_cases": errors.height, "n_docs": errors["doc_id"].n_unique()}
    return counts | {"causes": by_cause["cause"].to_list()}


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
