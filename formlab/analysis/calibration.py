"""Are stated confidences true: calibration, and risk against coverage. Intervals are by documents.

Values are as from `automation.judged`; those without a confidence have no part in calibration, and
are never passed.
"""

from __future__ import annotations

import math

import numpy as np
import polars as pl

from formlab.analysis.intervals import drawn_sums
from formlab.errors import DataMissing

NAN = float("nan")


def reliability(
    values: pl.DataFrame, *, bins: int = 10, level: float = 0.95, resamples: int = 1000,
    seed: int = 0,
) -> pl.DataFrame:  # fmt: skip
    """How often answers are right, for groups of answers of about the same confidence.

    Groups are of about equal size; answers of one confidence are never parted.

    Parameters
    ----------
    values
        As from `judged`; those without a confidence are left out.
    bins
        How many groups at the most.
    level, resamples, seed
        Of the percentile interval, documents drawn with replacement.

    Returns
    -------
    polars.DataFrame
        `lowest`, `highest` and `confidence` (mean) of each group, in [0, 1]; `right`, the share of
        answers right, with `ci_low` and `ci_high` (NaN for fewer than two documents); `n_cases`,
        `n_docs`.

    Raises
    ------
    DataMissing
        If no answer has a confidence.
    """
    sure, group, sums = _grouped(values, bins)
    n, right, stated = sums.sum(axis=0)
    drawn = _drawn(sums, resamples, seed)
    with np.errstate(invalid="ignore", divide="ignore"):
        shares = drawn[:, 1] / drawn[:, 0]
    low, high = (
        np.nanquantile(shares, [(1 - level) / 2, (1 + level) / 2], axis=0)
        if len(sums) > 1 else np.full((2, len(n)), NAN)
    )  # fmt: skip
    ends = pl.DataFrame({"group": group, "at": sure["confidence"]}).group_by("group").agg(
        pl.col("at").min().alias("lowest"), pl.col("at").max().alias("highest")
    ).sort("group")  # fmt: skip
    return ends.select(
        "lowest", "highest", pl.Series("confidence", stated / n), pl.Series("right", right / n),
        pl.Series("ci_low", low), pl.Series("ci_high", high),
        pl.Series("n_cases", n.astype(int)), pl.Series("n_docs", (sums[:, 0] > 0).sum(axis=0)),
    )  # fmt: skip


def calibration_error(
    values: pl.DataFrame, *, bins: int = 10, level: float = 0.95, resamples: int = 1000,
    seed: int = 0,
) -> dict[str, float]:  # fmt: skip
    """The expected calibration error, with what a calibrated system would show by chance.

    The mean over answers of the distance between stated confidence and share right, in the groups
    of `reliability` (Naeini et al., AAAI 2015, with groups of equal size). Of few answers it is
    never 0: `by_chance` is its mean for answers that are right exactly as often as they say, and
    `p` the share of such draws that are at least as large. The interval is a band around it as
    wide as the groups' shares stray when documents are drawn anew, so that it covers the error
    about as often as it says, far from 0 more often.

    Parameters
    ----------
    values, bins, level, resamples, seed
        As for `reliability`.

    Returns
    -------
    dict
        `error`, `ci_low`, `ci_high`, `by_chance`, all in [0, 1]; `gap`, mean confidence less share
        right, positive if the system is too sure; `p`; `n_cases`, `n_docs`. The interval is NaN
        for fewer than two documents.

    Raises
    ------
    DataMissing
        If no answer has a confidence.
    """
    sure, group, sums = _grouped(values, bins)
    n, right, stated = sums.sum(axis=0)
    gaps = (stated - right) / n
    error = float((n * np.abs(gaps)).sum() / n.sum())
    low = high = NAN
    if len(sums) > 1:
        drawn = _drawn(sums, resamples, seed)
        strays = np.abs(drawn[:, 2] - drawn[:, 1] - drawn[:, 0] * gaps).sum(axis=1) / n.sum()
        width = float(np.quantile(strays, level))
        low, high = max(0.0, error - width), min(1.0, error + width)
    generator = np.random.default_rng(seed)
    honest = np.empty(resamples)
    confidence = np.clip(sure["confidence"].to_numpy(), 0, 1)
    # Errors of one document come together: as many answers are drawn as the errors are worth.
    fewer = n.sum() / effective(sure)
    for draw in range(resamples):
        luck = generator.random(len(confidence)) < confidence
        strayed = np.bincount(group, weights=confidence - luck, minlength=len(n))
        honest[draw] = np.abs(strayed).sum() * math.sqrt(fewer) / n.sum()
    at_least = (1 + int((honest >= error).sum())) / (1 + resamples)
    return {
        "error": error, "ci_low": low, "ci_high": high, "by_chance": float(honest.mean()),
        "gap": float((stated - right).sum() / n.sum()), "p": at_least,
        "n_cases": int(n.sum()), "n_docs": len(sums),
    }  # fmt: skip


def effective(values: pl.DataFrame) -> float:
    """How many independent answers the answers are worth, as errors of one document come together.

    Their number by the design effect: how much more the errors of documents stray, about the share
    right of answers as sure, than they would one by one (Kish, 1965). Never more than there are; 1
    if all are of one document.

    Examples
    --------
    >>> alone = pl.DataFrame({"doc_id": ["a", "b", "c", "d"], "confidence": [0.5] * 4,
    ...     "right": [True, False, True, False]})
    >>> effective(alone), effective(alone.with_columns(doc_id=pl.Series(["a", "b", "a", "b"])))
    (3.0, 1.0)
    """
    sure, group, sums = _grouped(values, 10)
    if len(sums) < 2:
        return 1.0
    right = sure["right"].to_numpy().astype(float)
    share = np.bincount(group, weights=right) / np.bincount(group)
    strays = right - share[group]
    if not strays.any():
        return float(len(right))
    together = np.bincount(_document(sure), weights=strays)
    # As for any variance from a sample, of documents here.
    effect = (together**2).sum() / (strays**2).sum() * len(sums) / (len(sums) - 1)
    return float(len(right) / max(effect, 1.0))


def risk_coverage(values: pl.DataFrame, *, resamples: int = 1000, level: float = 0.95,
                  seed: int = 0, points: int = 50) -> pl.DataFrame:  # fmt: skip
    """The share of wrong answers among those passed, the surest first, by the share passed.

    Parameters
    ----------
    values
        As from `judged`, or from `whole_documents`.
    resamples, level, seed
        Of the percentile interval, documents drawn with replacement.
    points
        At how many shares at the most.

    Returns
    -------
    polars.DataFrame
        `coverage`, the share of all `values` passed; `risk`, the share of these that is wrong, with
        `ci_low` and `ci_high`; `confidence`, the lowest passed; `n_cases` passed.

    Raises
    ------
    DataMissing
        If no answer has a confidence.
    """
    _, group, sums = _grouped(values, points)
    last = sums.shape[2] - 1
    # From the surest down.
    n, right, _ = sums.sum(axis=0)[:, ::-1].cumsum(axis=1)
    drawn = _drawn(sums, resamples, seed)[:, :, ::-1].cumsum(axis=2)
    with np.errstate(invalid="ignore", divide="ignore"):
        risks = 1 - drawn[:, 1] / drawn[:, 0]
    ends = [(1 - level) / 2, (1 + level) / 2]
    low, high = np.nanquantile(risks, ends, axis=0) if len(sums) > 1 else np.full((2, len(n)), NAN)
    lowest = pl.DataFrame({"group": last - group, "at": confident(values)["confidence"]})
    return lowest.group_by("group").agg(confidence=pl.col("at").min()).sort("group").select(
        pl.Series("coverage", n / values.height), pl.Series("risk", 1 - right / n),
        pl.Series("ci_low", low), pl.Series("ci_high", high), "confidence",
        pl.Series("n_cases", n.astype(int)),
    )  # fmt: skip


def confident(values: pl.DataFrame) -> pl.DataFrame:
    """The values that have a confidence; `DataMissing` if none has."""
    sure = values.filter(pl.col("confidence").is_not_null())
    if sure.is_empty():
        raise DataMissing(
            "no answer has a confidence",
            remedy="a column `confidence` in the predictions; of a model --set logprobs=on",
        )
    return sure


def _document(values: pl.DataFrame) -> np.ndarray:
    """The number of each value's document, from 0 in the order of their names."""
    return values["doc_id"].rank("dense").to_numpy().astype(int) - 1


def _grouped(values: pl.DataFrame, bins: int) -> tuple[pl.DataFrame, np.ndarray, np.ndarray]:
    """The answers, their groups by confidence, and of documents × (n, right, stated) × groups."""
    sure = confident(values)
    rank = sure["confidence"].rank().to_numpy()
    _, group = np.unique(np.ceil(rank * bins / sure.height), return_inverse=True)
    document, count = _document(sure), int(group.max()) + 1
    place, documents = document * count + group, int(document.max()) + 1
    columns = (None, sure["right"].to_numpy().astype(float), sure["confidence"].to_numpy())
    sums = [np.bincount(place, weights=c, minlength=documents * count) for c in columns]
    return sure, group, np.stack([s.reshape(documents, count) for s in sums], axis=1)


def _drawn(sums: np.ndarray, resamples: int, seed: int) -> np.ndarray:
    """The sums with documents drawn with replacement: draws × (n, right, stated) × groups."""
    drawn = drawn_sums(sums.reshape(len(sums), -1), resamples=resamples, seed=seed)
    return drawn.reshape(resamples, *sums.shape[1:])
