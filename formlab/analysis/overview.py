"""What was run and what came of it, over all evaluations, and the findings most worth a look."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import polars as pl

from formlab.analysis.causes import STAGES
from formlab.analysis.pairing import fields
from formlab.analysis.slices import find_slices
from formlab.analysis.summarise import draws
from formlab.tables import STATUSES, USABLE, Evaluation

RUNS: dict[str, Any] = {
    "benchmark": pl.String, "split": pl.String, "system": pl.String, "mode": pl.String,
    "documents": pl.Int64, "answered": pl.Int64, "values": pl.Int64, "right": pl.Int64,
    "wrong": pl.Int64, "missing": pl.Int64, "spurious": pl.Int64, "calls": pl.Int64,
    "seconds": pl.Float64, "tokens": pl.Int64, "cost": pl.Float64,
}  # fmt: skip
FINDINGS: dict[str, Any] = {
    "benchmark": pl.String, "split": pl.String, "system": pl.String, "about": pl.String,
    "finding": pl.String, "share": pl.Float64, "ci_low": pl.Float64, "ci_high": pl.Float64,
    "n_cases": pl.Int64, "n_docs": pl.Int64,
}  # fmt: skip
# No more than so many findings of one evaluation, so that none hides the others.
_OF_ONE = 2


def runs(evaluations: Sequence[Evaluation]) -> pl.DataFrame:
    """What was run, on what, and how it went.

    Returns
    -------
    polars.DataFrame
        `answered` documents have at least one usable value; `values` of the gold are `right`,
        `wrong` or `missing`, and claims that no gold asks for are `spurious`. `seconds`, `tokens`
        and `cost` are sums over the `calls` (or pages) that tell them, null where none does.
    """
    return pl.DataFrame([_run(one) for one in evaluations], schema=RUNS)


def _run(evaluation: Evaluation) -> dict[str, Any]:
    cases = fields(evaluation)
    asked = cases.filter(pl.col("gold").is_not_null())
    counts = dict(asked["outcome"].value_counts().iter_rows())
    usable = evaluation.cases.filter(pl.col("status").is_in(USABLE))
    base = {key: getattr(evaluation, key) for key in ("benchmark", "split", "system", "mode")}
    return base | {
        "documents": evaluation.documents.height,
        "answered": usable["doc_id"].n_unique(),
        "values": asked.height,
        "right": counts.get("match", 0),
        "wrong": counts.get("mismatch", 0),
        "missing": counts.get("missing", 0),
        "spurious": cases.filter(pl.col("outcome") == "spurious").height,
    } | _spent(evaluation)  # fmt: skip


def _spent(evaluation: Evaluation) -> dict[str, Any]:
    if evaluation.predictions is None:
        return {}
    responses = evaluation.predictions.responses
    tokens = responses.select(pl.sum_horizontal("tokens_in", "tokens_out", ignore_nulls=False))
    told = {
        "seconds": responses["seconds"],
        "tokens": tokens.to_series(),
        "cost": responses["cost"],
    }
    sums = {name: values.sum() for name, values in told.items() if values.count()}
    return {"calls": responses.height} | sums


def statuses(evaluations: Sequence[Evaluation]) -> pl.DataFrame:
    """How many gold values of each evaluation have an answer of each status.

    Returns
    -------
    polars.DataFrame
        `benchmark split system status cases documents`, in the order of `STATUSES`.
    """
    order = {status: place for place, status in enumerate(STATUSES)}
    found = []
    for one in evaluations:
        asked = one.cases.filter(pl.col("gold").is_not_null())
        counts = asked.group_by("status").agg(
            cases=pl.len().cast(pl.Int64), documents=pl.col("doc_id").n_unique().cast(pl.Int64)
        )
        named = [pl.lit(getattr(one, key)).alias(key) for key in ("benchmark", "split", "system")]
        ranked = counts.sort(pl.col("status").replace_strict(order, default=len(order)))
        found.append(ranked.select(*named, "status", "cases", "documents"))
    schema = dict.fromkeys(("benchmark", "split", "system", "status"), pl.String)
    schema |= dict.fromkeys(("cases", "documents"), pl.Int64)
    return pl.concat([pl.DataFrame(schema=schema), *found])


def findings(
    evaluations: Sequence[Evaluation],
    *,
    most: int = 5,
    resamples: int = 1000,
    level: float = 0.95,
    seed: int = 0,
) -> pl.DataFrame:
    """The findings that touch the greatest share of gold values, at most two an evaluation.

    Looked for: answers that cannot be used, the commonest cause of errors, and the slice that is
    worst against the rest (`find_slices`). Always the same for the same evaluations.

    Parameters
    ----------
    most
        How many findings.
    resamples, level, seed
        Of the percentile interval of `share`, which draws documents.

    Returns
    -------
    polars.DataFrame
        Greatest `share` first: of all gold values of the evaluation, those the `finding` tells of
        (`n_cases`, in `n_docs` documents). Of a slice it is the loss against the rest.
    """
    rows = [
        row
        for one in evaluations
        for row in sorted(_found(one, resamples, level, seed), key=_weight)[:_OF_ONE]
    ]
    return pl.DataFrame(sorted(rows, key=_weight)[:most], schema=FINDINGS)


def _weight(row: dict[str, Any]) -> tuple[Any, ...]:
    return -row["share"], row["benchmark"], row["split"], row["system"], row["about"]


def _found(
    evaluation: Evaluation, resamples: int, level: float, seed: int
) -> Iterator[dict[str, Any]]:
    asked = fields(evaluation).filter(pl.col("gold").is_not_null(), pl.col("outcome") != "unscored")
    if not asked.height:
        return
    base = {key: getattr(evaluation, key) for key in ("benchmark", "split", "system")}
    wrong = pl.col("outcome") != "match"
    # What could not be used is told by its status.
    caused = pl.col("cause").is_not_null() & ~pl.col("cause").is_in(STAGES["answer"])
    causes = asked.filter(wrong, caused)["cause"].value_counts()
    first = causes.sort("count", "cause", descending=[True, False])["cause"].first()
    looked = {
        "status": (~pl.col("status").is_in(USABLE), "{share} of values have no usable answer"),
        "cause": (
            wrong & (pl.col("cause") == (first or "")),
            f"{{share}} of values are lost to one cause, {_words(first)}",
        ),
    }  # fmt: skip
    for about, (condition, say) in looked.items():
        held = asked.select(condition.fill_null(False)).to_series()
        if held.sum():
            part = asked.filter(held)
            share = held.mean()
            yield base | {
                "about": about, "share": share, "n_cases": part.height,
                "n_docs": part["doc_id"].n_unique(), "finding": say.format(share=_percent(share)),
            } | _interval(asked["doc_id"], held, resamples, level, seed)  # fmt: skip
    worse = find_slices(evaluation, resamples=resamples, level=level, seed=seed).head(1)
    for row in worse.to_dicts():
        said = f"{row['slice'].replace('=', ' ')}: {_percent(row['value'])} right"
        scale = 1 / asked.height
        yield base | {
            "about": "slice", "share": row["excess"] * scale, "n_cases": row["n_cases"],
            "n_docs": row["n_docs"], "finding": f"{said}, {_percent(row['rest'])} elsewhere",
            "ci_low": -row["difference_high"] * row["n_cases"] * scale,
            "ci_high": -row["difference_low"] * row["n_cases"] * scale,
        }  # fmt: skip


def _interval(
    docs: pl.Series, held: pl.Series, resamples: int, level: float, seed: int
) -> dict[str, float]:
    names, place = np.unique(docs.to_numpy(), return_inverse=True)
    if len(names) < 2 or not resamples:
        return {"ci_low": np.nan, "ci_high": np.nan}
    parts = np.stack(
        [np.bincount(place, weights=held.to_numpy()), np.bincount(place).astype(float)], axis=1
    )
    blocks = draws(len(names), resamples=resamples, seed=seed)
    summed = np.concatenate([weights @ parts for weights in blocks])
    low, high = np.quantile(summed[:, 0] / summed[:, 1], ((1 - level) / 2, (1 + level) / 2))
    return {"ci_low": float(low), "ci_high": float(high)}


def _words(cause: str | None) -> str:
    return (cause or "unknown").replace("_", " ")


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"
