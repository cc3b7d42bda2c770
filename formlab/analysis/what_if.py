"""What fixing one stage would gain: gold in place of the answer for all errors of that stage."""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from formlab.analysis.finding import in_fields
from formlab.analysis.intervals import by_document, drawn_sums, exact_sums, percentiles
from formlab.errors import DataBroken, UnknownName
from formlab.folders import Evaluation
from formlab.scoring import causes

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
_SCHEMA = {
    "metric": pl.String, "stage": pl.String, "value": pl.Float64, "gain": pl.Float64,
    "ci_low": pl.Float64, "ci_high": pl.Float64, "lowest": pl.Float64, "highest": pl.Float64,
    "alone": pl.Float64, "total": pl.Float64, "n_cases": pl.Int64, "n_docs": pl.Int64,
    "causes": pl.List(pl.String),
}  # fmt: skip


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
    rows: list[dict[str, Any]] = []
    names, errors, games = _games(evaluation, metrics, stages)
    orders = _orders(len(names))
    for metric, game in games.items():
        worth = game.worth(game.sums)
        drawn = np.empty((0, len(worth)))
        if resamples and len(game.parts) > 1:
            drawn = game.worth(drawn_sums(game.parts, resamples=resamples, seed=seed))
        for at, (name, (having, lacking, weights)) in enumerate(zip(names, orders, strict=True)):
            steps = worth[having] - worth[lacking]
            # Sums that are exact are the same on every machine.
            (gain,) = exact_sums(steps[None] * weights)
            gains = exact_sums((drawn[:, having] - drawn[:, lacking]) * weights)
            ends = percentiles(gains, level)
            rows.append(
                {
                    "metric": metric, "stage": name, "value": worth[0], "gain": gain,
                    "ci_low": ends[0], "ci_high": ends[1], "lowest": steps.min(),
                    "highest": steps.max(), "alone": worth[1 << at] - worth[0],
                    "total": worth[-1], **errors[name],
                }
            )  # fmt: skip
    return pl.DataFrame(rows, schema=_SCHEMA)


def what_if_together(
    evaluation: Evaluation,
    *,
    metrics: Sequence[str] = tuple(METRICS),
    stages: Mapping[str, Sequence[str]] = STAGES,
) -> pl.DataFrame:
    """Each metric with the errors of every set of stages fixed; parameters as of `what_if`.

    Returns
    -------
    polars.DataFrame
        metric, fixed (the stages, beginning with none of them), value.

    Examples
    --------
    >>> import formlab
    >>> wrong = formlab.evaluate({"a": {"name": "Ada"}}, {"a": {"name": "ADA L."}})
    >>> what_if_together(wrong, metrics=["fields"]).rows()
    [('fields', [], 0.0), ('fields', ['extent'], 1.0)]
    """
    names, _, games = _games(evaluation, metrics, stages)
    rows = [
        (metric, [name for at, name in enumerate(names) if number >> at & 1], value)
        for metric, game in games.items()
        for number, value in enumerate(game.worth(game.sums).tolist())
    ]
    schema = {"metric": pl.String, "fixed": pl.List(pl.String), "value": pl.Float64}
    return pl.DataFrame(rows, schema=schema, orient="row")


@dataclasses.dataclass(frozen=True)
class _Game:
    """A metric as a ratio of two sums: what each document adds to both, by set of stages.

    `parts` has the shape (documents, 2 × sets): what counts once all stages of a set are fixed;
    `counts` says of every combination of stages which sets these are.
    """

    parts: np.ndarray
    counts: np.ndarray

    @classmethod
    def of(cls, rows: pl.DataFrame, n_stages: int) -> _Game:
        masks = rows["mask"].unique().sort().to_numpy()
        names, number = np.unique(rows["doc_id"].to_numpy(), return_inverse=True)
        place = np.searchsorted(masks, rows["mask"].to_numpy())
        size = len(names) * len(masks)
        sums = by_document(
            number * len(masks) + place, [rows[s].to_numpy() for s in ("above", "below")], size
        )
        parts = sums.reshape(len(names), len(masks), 2).transpose(0, 2, 1)
        fixed = np.arange(2**n_stages)[:, None]
        return cls(parts.reshape(len(names), -1), ((fixed & masks) == masks).astype(float))

    @property
    def sums(self) -> np.ndarray:
        return exact_sums(np.ascontiguousarray(self.parts.T))

    def worth(self, sums: np.ndarray) -> np.ndarray:
        """The metric for every combination of stages: shape (…, parts) to (…, combinations)."""
        # One set after the other: a product of matrices adds in an order that machines choose.
        above, below = (
            sum(half[..., [at]] * counts for at, counts in enumerate(self.counts.T))
            for half in np.split(sums, 2, axis=-1)
        )
        return np.divide(above, below, out=np.full(below.shape, np.nan), where=below > 0)


def _orders(n_stages: int) -> list[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """For each stage the combinations with it, those without it, and their share of orders."""
    every = np.arange(2**n_stages)
    size = np.array([number.bit_count() for number in range(2**n_stages)])
    share = np.array([1 / (n_stages * math.comb(n_stages - 1, n)) for n in range(n_stages)])
    lacking = [every[every >> at & 1 == 0] for at in range(n_stages)]
    return [(none | 1 << at, none, share[size[none]]) for at, none in enumerate(lacking)]


def _games(
    evaluation: Evaluation, metrics: Sequence[str], stages: Mapping[str, Sequence[str]]
) -> tuple[list[str], dict[str, dict[str, Any]], dict[str, _Game]]:
    """The stages that have errors, their counts, and each metric that is defined."""
    for metric in metrics:
        if metric not in METRICS:
            raise UnknownName.of("metric of what-if", metric, METRICS)
    for cause in itertools.chain(*stages.values()):
        if cause not in causes.CAUSES:
            raise UnknownName.of("cause", cause, causes.CAUSES)
    stage_of = {cause: name for name, own in stages.items() for cause in own}
    every = list(dict.fromkeys([*stages, OTHER]))
    rows = evaluation.gathered(lambda part: _rows(part, stage_of, every, metrics))
    errors = rows.filter(metric="errors")
    counts = {
        name: own
        for at, name in enumerate(every)
        if (own := _counts(errors.filter(pl.col("mask") & (1 << at) > 0)))["n_cases"]
    }
    if len(counts) > _MOST:
        what = f"errors of {len(counts)} stages: {', '.join(counts)}"
        raise DataBroken(what, remedy=f"at most {_MOST}, with several causes in one stage")
    # The stages that occur, numbered anew.
    old = [1 << every.index(name) for name in counts]
    new = [
        pl.when(pl.col("mask") & bit > 0).then(1 << at).otherwise(0) for at, bit in enumerate(old)
    ]
    rows = rows.with_columns(mask=pl.sum_horizontal(pl.lit(0), *new))
    own = {metric: rows.filter(metric=metric) for metric in metrics}
    games = {
        metric: _Game.of(own, len(counts))
        for metric, own in own.items()
        if (own["below"] > 0).any()
    }
    return list(counts), counts, games


def _counts(errors: pl.DataFrame) -> dict[str, Any]:
    by_cause = errors.drop_nulls("cause").group_by("cause").agg(pl.col("above").sum())
    by_cause = by_cause.sort("above", "cause", descending=[True, False])
    n_docs = errors["doc_id"].n_unique()
    names = by_cause["cause"].to_list()
    return {"n_cases": int(errors["above"].sum()), "n_docs": n_docs, "causes": names}


def _rows(
    part: Evaluation, stage_of: Mapping[str, str], every: Sequence[str], metrics: Sequence[str]
) -> pl.DataFrame:
    """What each document adds to each metric now (mask 0), and once its stages are fixed.

    A mask has a bit for each stage. The rows `errors` count wrong values.
    """
    cases = part.scan("cases").filter(in_fields()).select(
        "doc_id", "task", "path", "outcome", "cause", "failed",
        asked=pl.col("gold").is_not_null(), like=pl.col("similarity").fill_nan(None).fill_null(0.0),
    ).collect()  # fmt: skip
    bits = {cause: 1 << every.index(name) for cause, name in stage_of.items()}
    stage = pl.col("cause").replace_strict(
        bits, default=1 << every.index(OTHER), return_dtype=pl.Int64
    )
    right, scored = pl.col("outcome") == "match", pl.col("outcome") != "unscored"
    cases = _with_sources(
        cases.with_columns(mask=pl.when(right | ~scored).then(0).otherwise(stage))
    )
    gold, one, none = cases.filter("asked"), pl.lit(1), pl.lit(0)
    values, cases = gold.filter(scored), cases.filter(scored)
    documents = cases.group_by("doc_id").agg(pl.col("mask").bitwise_or(), pl.col("asked").any())
    asked, spurious, missing = (
        pl.col("asked"), *(pl.col("outcome") == name for name in ("spurious", "missing"))
    )  # fmt: skip
    made = {
        "fields": lambda: _summed(values, (right, one), (one, none)),
        "documents": lambda: _summed(
            documents.filter("asked"), (pl.col("mask") == 0, one), (one, none)
        ),
        "similarity": lambda: _summed(values, (pl.col("like"), one), (1 - pl.col("like"), none)),
        # Twice the right values over the values of the gold and of the answer.
        "f1": lambda: _summed(
            cases, (2 * (right & asked), asked.cast(int) + (~missing).cast(int)),
            (2 * asked.cast(int), missing.cast(int) - spurious.cast(int)),
        ),
        "cer": lambda: _summed(
            _edits(part, values), (pl.col("hits"), pl.col("total")), (-pl.col("hits"), none)
        ),
    }  # fmt: skip
    errors = cases.filter(pl.col("mask") > 0).group_by("doc_id", "mask", "cause").agg(
        above=pl.len().cast(float), below=pl.lit(0.0), metric=pl.lit("errors")
    )  # fmt: skip
    parts = [made[name]().with_columns(metric=pl.lit(name)) for name in metrics]
    return pl.concat([errors, *parts], how="diagonal")


def _summed(
    rows: pl.DataFrame, now: tuple[pl.Expr, pl.Expr], fixed: tuple[pl.Expr, pl.Expr]
) -> pl.DataFrame:
    """Numerator and denominator of a metric by document: as they are, and what fixing adds."""
    steps = [(pl.lit(0, pl.Int64), now), (pl.col("mask"), fixed)]
    return pl.concat(
        rows.select("doc_id", mask.alias("to"), pl.col("mask"), above=above, below=below)
        .filter((pl.col("to") == 0) == (at == 0))
        .group_by("doc_id", mask="to")
        .agg(pl.col("above", "below").cast(float).sum())
        for at, (mask, (above, below)) in enumerate(steps)
    )


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
