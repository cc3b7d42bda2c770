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
# Each is a ratio of sums over documents that rises with every error that is fixed, but for CER.
METRICS = {
    "fields": "share of values right",
    "documents": "share of documents wholly right",
    "similarity": "mean similarity of values",
    "f1": "F1 of values",
    "cer": "CER of values",
}
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
    its last error is. `gain` is the mean over all orders (the Shapley value), so that the gains of
    all stages add up to ``total - value``; `lowest` and `highest` are the least and the most that
    the stage gains in any order. A check whose sources are wrong is right once they are.

    Parameters
    ----------
    evaluation
        As from `evaluate`; of parts as well.
    metrics
        Of ``fields`` (share of the gold's values that are right; those that could not be scored
        stay wrong), ``documents`` (share of
        documents whose values are all right, with none that the gold does not have),
        ``similarity`` (mean over the gold's values), ``f1`` (of values; not the official F1 of a
        benchmark of entities) and ``cer`` (of texts, where it was scored; its gains are negative).
    stages
        The causes of each stage. Errors of no stage make the stage ``other``; with a stage of one
        cause, that cause is fixed alone.
    resamples, level, seed
        Of the intervals, which draw documents with replacement.

    Returns
    -------
    polars.DataFrame
        A row for each metric and each stage that has errors: metric, stage, value (as it is),
        gain, ci_low, ci_high, lowest, highest, alone (the gain if nothing else is fixed), total
        (with all fixed), n_cases and n_docs (values with errors of the stage, and their
        documents), causes (the most frequent first). Of fewer than two documents the interval is
        NaN. A metric that is undefined has no rows.

    Raises
    ------
    UnknownName
        If there is no such metric or cause.
    DataBroken
        If errors of more than 12 stages occur.

    References
    ----------
    L. S. Shapley, "A value for n-person games", Contributions to the Theory of Games II, 1953.

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
    sums = evaluation.gathered(lambda part: _sums(part, of_cause, bits[OTHER], metrics))
    errors = sums.filter(metric="errors")
    counts = {name: _counts(errors.filter(pl.col("mask") & bit > 0)) for name, bit in bits.items()}
    present = [name for name, count in counts.items() if count["n_cases"]]
    if len(present) > _MOST:
        what = f"errors of {len(present)} stages: {', '.join(present)}"
        raise DataBroken(what, remedy=f"at most {_MOST}, with several causes in one stage")
    # Every combination of the stages that occur, a bit for each in the order of `present`.
    numbers = np.arange(2 ** len(present))
    combinations = sum((numbers >> at & 1) * bits[name] for at, name in enumerate(present))
    sizes = np.array([number.bit_count() for number in numbers.tolist()])
    rows: list[dict[str, Any]] = []
    for metric in metrics:
        own = sums.filter(metric=metric)
        if not present or not (own["below"] > 0).any():
            continue
        masks = np.unique(own["mask"].to_numpy())
        parts = _by_document(own, masks)
        counted = (combinations[:, None] & masks == masks).T.astype(float)
        worth = _ratio(parts.sum(axis=0)[None], counted)[0]
        draws = resamples if len(parts) > 1 else 0
        drawn = _ratio(drawn_sums(parts, resamples=draws, seed=seed), counted)
        for at, name in enumerate(present):
            without = numbers[numbers >> at & 1 == 0]
            # The share of orders in which just these stages were fixed before.
            chances = [math.comb(len(present) - 1, size) for size in sizes[without].tolist()]
            shares = 1 / (len(present) * np.array(chances))
            steps, gains = (of[..., without | 1 << at] - of[..., without] for of in (worth, drawn))
            low, high = percentiles((gains * shares).sum(axis=1), level)
            row = {"metric": metric, "stage": name, "value": worth[0], "total": worth[-1]}
            row |= {"gain": (steps * shares).sum(), "ci_low": low, "ci_high": high}
            row |= {"lowest": steps.min(), "highest": steps.max(), "alone": steps[0]}
            rows.append(row | counts[name])
    return pl.DataFrame(rows, schema=_SCHEMA)


def _by_document(rows: pl.DataFrame, masks: np.ndarray) -> np.ndarray:
    """What documents add to numerator and denominator by mask: documents × (2 × masks)."""
    names, number = np.unique(rows["doc_id"].to_numpy(), return_inverse=True)
    place = number * len(masks) + np.searchsorted(masks, rows["mask"].to_numpy())
    columns = [rows[name].to_numpy() for name in ("above", "below")]
    parts = by_document(place, columns, len(names) * len(masks))
    return parts.reshape(len(names), len(masks), 2).transpose(0, 2, 1).reshape(len(names), -1)


def _ratio(sums: np.ndarray, counted: np.ndarray) -> np.ndarray:
    """The metric for every combination of stages: draws × (2 × masks) to draws × combinations."""
    above, below = (half @ counted for half in np.split(sums, 2, axis=1))
    return np.divide(above, below, out=np.full(below.shape, np.nan), where=below > 0)


def _counts(errors: pl.DataFrame) -> dict[str, Any]:
    by_cause = errors.drop_nulls("cause").group_by("cause").agg(pl.col("above").sum())
    by_cause = by_cause.sort("above", "cause", descending=[True, False])
    counts = {"n_cases": int(errors["above"].sum()), "n_docs": errors["doc_id"].n_unique()}
    return counts | {"causes": by_cause["cause"].to_list()}


def _sums(
    part: Evaluation, of_cause: Mapping[str, int], other: int, metrics: Sequence[str]
) -> pl.DataFrame:
    """What each document adds to each metric now (mask 0), and with the stages of a mask fixed."""
    # A mask has a bit for each stage. The rows `errors` count wrong values.
    columns = ["doc_id", "task", "path", "outcome", "cause", "failed"]
    like = pl.col("similarity").fill_nan(None).fill_null(0.0)
    fields = part.scan("cases").filter(in_fields(), pl.col("outcome") != "unscored")
    cases = fields.select(*columns, like=like, asked=of_gold()).collect()
    stage = pl.col("cause").replace_strict(of_cause, default=other, return_dtype=pl.Int64)
    mask = pl.when(pl.col("outcome") == "match").then(0).otherwise(stage)
    cases = _with_sources(cases.with_columns(mask=mask))
    values = cases.filter("asked")
    errors = cases.filter(pl.col("mask") > 0).group_by("doc_id", "mask", "cause")
    sums = [errors.agg(above=pl.len().cast(float), below=pl.lit(0.0), metric=pl.lit("errors"))]
    for metric in metrics:
        rows = values
        if metric == "documents":
            rows = cases.group_by("doc_id").agg(pl.col("mask").bitwise_or(), pl.any("asked"))
            rows = rows.filter("asked")
        elif metric == "cer":
            rows = _edits(part, values)
        elif metric == "f1":
            rows = cases
        now, fixed = _TERMS[metric]
        sums.append(_added(metric, rows, pl.lit(0, pl.Int64), *now))
        sums.append(_added(metric, rows.filter(pl.col("mask") > 0), pl.col("mask"), *fixed))
    return pl.concat(sums, how="diagonal")


def _added(
    metric: str, rows: pl.DataFrame, mask: pl.Expr, above: pl.Expr, below: pl.Expr
) -> pl.DataFrame:
    sums = pl.col("above", "below").cast(float).sum()
    added = rows.select("doc_id", mask=mask, above=above, below=below)
    return added.group_by("doc_id", "mask").agg(sums).with_columns(metric=pl.lit(metric))


_ONE, _NONE, _ASKED = pl.lit(1), pl.lit(0), pl.col("asked").cast(int)
_RIGHT, _MISSING, _SPURIOUS = (
    (pl.col("outcome") == name).cast(int) for name in ("match", "missing", "spurious")
)
# Of each metric what a row adds to numerator and denominator now, and what more once it is fixed.
_TERMS = {
    "fields": ((_RIGHT, _ONE), (_ONE, _NONE)),
    "documents": (((pl.col("mask") == 0).cast(int), _ONE), (_ONE, _NONE)),
    "similarity": ((pl.col("like"), _ONE), (1 - pl.col("like"), _NONE)),
    # Twice the right values over the values of the gold and of the answer.
    "f1": ((2 * _RIGHT * _ASKED, _ASKED + 1 - _MISSING), (2 * _ASKED, _MISSING - _SPURIOUS)),
    "cer": ((pl.col("hits"), pl.col("total")), (-pl.col("hits"), _NONE)),
}


def _with_sources(cases: pl.DataFrame) -> pl.DataFrame:
    """The cases, where a check whose sources are wrong waits for the stages of all of these."""
    numbered = cases.with_row_index("row")
    waits = (
        numbered.filter(pl.col("mask") > 0, pl.col("cause") == "wrong_source")
        .select("row", "doc_id", path="failed")
        .explode("path")
        .join(
            cases.filter(pl.col("mask") > 0, pl.col("task") != "consistency"), on=["doc_id", "path"]
        )
        .group_by("row")
        .agg(waits=pl.col("mask").bitwise_or())
    )
    joined = numbered.join(waits, on="row", how="left", maintain_order="left")
    return joined.with_columns(mask=pl.coalesce("waits", "mask")).drop("row", "waits")


def _edits(part: Evaluation, values: pl.DataFrame) -> pl.DataFrame:
    """The edits and characters of values whose texts were scored."""
    key = ["doc_id", "task", "path"]
    of_values = pl.col("metric") == "cer", pl.col("level") == "field", pl.col("slice_by").is_null()
    scores = part.scan("scores").filter(*of_values).select(*key, "hits", "total").collect()
    masks = values.group_by(key).agg(pl.col("mask").bitwise_or())
    return scores.join(masks, on=key, how="left").with_columns(pl.col("mask").fill_null(0))
