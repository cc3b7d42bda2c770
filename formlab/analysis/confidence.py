"""What confidences are worth: whether they sort, whether they are true, what needs no review.

Intervals draw documents. A field without an answer, and an answer without a confidence, have no
part in calibration and are never passed without review.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import polars as pl
from scipy import special

from formlab.errors import DataMissing
from formlab.folders import Evaluation
from formlab.stats.draws import by_document, drawn_sums, percentiles
from formlab.tables import WHOLE_LEVELS

TARGETS = (0.95, 0.99, 0.999)
# A sequence of thresholds begins at the fewest answers that can show the precision, and at these
# multiples of it; each next threshold passes so much more than the one before.
_STARTS, _STEP = (1, 2, 4, 8), 1.05


def judged(evaluation: Evaluation) -> pl.DataFrame:
    """The values of an evaluation: `doc_id path kind right confidence`.

    A missing value is wrong and has no confidence; a value that the gold does not have is wrong.
    """
    outcome = pl.col("outcome")
    answered = outcome.is_in(["match", "mismatch", "spurious"])
    values = evaluation.scan("cases").filter(
        ~pl.col("level").is_in(WHOLE_LEVELS), answered | (outcome == "missing")
    )
    confidence = pl.when(answered).then(pl.col("confidence").fill_nan(None))
    columns = {"right": outcome == "match", "confidence": confidence}
    return values.select("doc_id", "path", "kind", **columns).collect()


def whole_documents(values: pl.DataFrame) -> pl.DataFrame:
    """Each document of `judged` as one answer: right if all its values are.

    It is as sure as its least sure value; with a value that is missing or has no confidence it has
    none.
    """
    sure = pl.col("confidence")
    documents = values.group_by("doc_id", maintain_order=True).agg(
        right=pl.all("right"), confidence=pl.when(sure.null_count() == 0).then(sure.min())
    )
    return documents.with_columns(path=pl.lit(""), kind=pl.lit(None, pl.String))


def reliability(
    values: pl.DataFrame,
    *,
    bins: int = 10,
    level: float = 0.95,
    resamples: int = 1000,
    seed: int = 0,
) -> pl.DataFrame:
    """How often answers are right by their confidence, and which share is wrong from there on.

    `values` are as from `judged` or `whole_documents`; those without a confidence are left out.
    They fall into at most `bins` groups of about equal size; answers of one confidence stay
    together.

    Returns a row for each group, the least sure first: `lowest`, `highest` and mean `confidence`;
    `right`, the share of answers right, with `ci_low` and `ci_high`; `n_cases`, `n_docs`;
    `coverage`, the share of all `values` that is as sure as `lowest` or surer, and `risk`, the
    share of these that is wrong, with `risk_low` and `risk_high`. The ends are NaN for fewer than
    two documents.

    Raises `DataMissing` if no answer has a confidence.
    """
    sure, group, sums = _grouped(values, bins)
    drawn = _drawn(sums, resamples, seed)
    # From the surest down.
    passed, drawn_passed = (each[..., ::-1].cumsum(axis=-1)[..., ::-1] for each in (sums, drawn))
    (n, right, stated), (through, good, _) = sums.sum(axis=0), passed.sum(axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        shares = [each[:, 1] / each[:, 0] for each in (drawn, drawn_passed)]
    (low, high), (good_low, good_high) = (
        np.array([percentiles(group, level) for group in share.T]).T for share in shares
    )
    at = pl.col("confidence")
    ends = sure.group_by(pl.Series("group", group)).agg(lowest=at.min(), highest=at.max())
    columns = {"confidence": stated / n, "right": right / n, "ci_low": low, "ci_high": high}
    columns |= {"n_cases": n.astype(int), "n_docs": (sums[:, 0] > 0).sum(axis=0)}
    columns |= {"coverage": through / values.height, "risk": 1 - good / through}
    columns |= {"risk_low": 1 - good_high, "risk_high": 1 - good_low}
    return ends.sort("group").drop("group").hstack(pl.DataFrame(columns))


def calibration_error(
    values: pl.DataFrame,
    *,
    bins: int = 10,
    level: float = 0.95,
    resamples: int = 1000,
    seed: int = 0,
) -> dict[str, float]:
    """Whether confidences sort right answers from wrong ones, and how far off they are.

    Returns `error`, the expected calibration error (Naeini et al., AAAI 2015, in groups of equal
    size), within `ci_low` and `ci_high`, a band as wide as the shares of groups stray when
    documents are drawn; `by_chance`, its mean for answers right as often as they say, and `p`, how
    often these have as large an error; `gap`, mean confidence less share right; `area` under the
    ROC curve with `area_low` and `area_high`, the chance that a right answer is surer than a wrong
    one; `n_cases`, `n_docs`; `n_worth`, how many independent answers they are worth.

    Raises `DataMissing` if no answer has a confidence.
    """
    sure, group, sums = _grouped(values, bins)
    n, right, stated = sums.sum(axis=0)
    gaps, total = (stated - right) / n, n.sum()
    error, width = float((n * np.abs(gaps)).sum() / total), math.nan
    drawn = _drawn(sums, resamples, seed)
    if len(drawn):
        strays = np.abs(drawn[:, 2] - drawn[:, 1] - drawn[:, 0] * gaps).sum(axis=1) / total
        width = float(np.quantile(strays, level))
    generator, honest = np.random.default_rng(seed), np.empty(resamples)
    confidence = np.clip(sure["confidence"].to_numpy(), 0, 1)
    for draw in range(resamples):
        is_right = generator.random(len(confidence)) < confidence
        strayed = np.bincount(group, weights=confidence - is_right, minlength=len(n))
        honest[draw] = np.abs(strayed).sum() / total
    # Errors of one document come together: as many answers are drawn as the errors are worth.
    worth = _worth(sure)
    honest *= math.sqrt(total / worth)
    *_, fine = _grouped(values, 50)
    area_low, area_high = percentiles(_area(_drawn(fine, resamples, seed)), level)
    return {
        "error": error,
        "ci_low": float(np.maximum(0.0, error - width)),
        "ci_high": float(np.minimum(1.0, error + width)),
        "by_chance": float(honest.mean()),
        "gap": float((stated - right).sum() / total),
        "p": (1 + int((honest >= error).sum())) / (1 + resamples),
        "area": float(_area(fine.sum(axis=0)[None])[0]),
        "area_low": area_low,
        "area_high": area_high,
        "n_cases": int(total),
        "n_docs": len(sums),
        "n_worth": worth,
    }


def straight_through(
    values: pl.DataFrame,
    *,
    targets: Sequence[float] = TARGETS,
    level: float = 0.95,
    price: float = math.nan,
    by: str | Sequence[str] = (),
) -> pl.DataFrame:
    """How many answers can go without review at a precision, and from which confidence on.

    A threshold is taken only if the exact binomial bound (Clopper and Pearson, 1934) says that at
    least `target` of the answers from there on are right. Thresholds are tested in four sequences
    from few answers to more, each of which ends with its first failure, so that the bound holds
    for the one chosen (Bauer, 1991), for all groups of the columns `by` together. Where errors of
    one document come together, a count is worth less (`n_worth` of `calibration_error`).

    Returns a row for each group and target: the columns of `by`, `target`; `threshold`, the lowest
    confidence passed, NaN if none holds; `through`, the share of all `values`; their `precision`
    and `at_least`, its bound; `n_through`, `n_wrong` among these, `n_review` (the rest) and its
    `cost`, each at `price`; `needed`, how many independent answers, all right, show the target.

    Examples
    --------
    >>> values = pl.DataFrame({"doc_id": [str(n) for n in range(400)], "confidence": [0.9] * 400,
    ...     "right": [True] * 400})
    >>> passing = straight_through(values, targets=[0.95, 0.999])
    >>> passing.select("through", "n_review", "needed").rows()
    [(1.0, 0, 86), (0.0, 400, 4380)]
    """
    groups = values.partition_by(by, maintain_order=True) if by else [values]
    error = (1 - level) / len(_STARTS) / len(groups)
    rows = []
    for group in groups:
        key = group.select(by).row(0, named=True) if by else {}
        sure = group.drop_nulls("confidence").sort("confidence", descending=True)
        worth = _worth(sure) / sure.height if sure.height else 1.0
        # Answers of one confidence pass together.
        passed = sure.group_by("confidence", maintain_order=True).agg(pl.len(), pl.sum("right"))
        n, right = passed["len"].cum_sum().to_numpy(), passed["right"].cum_sum().to_numpy()
        bad = special.betaincinv(right * worth, (n - right) * worth + 1, error)
        bounds = np.where(right > 0, bad, 0.0)
        for target in targets:
            needed = math.ceil(math.log(error) / math.log(target))
            best = max(_last(n, start * needed / worth, bounds >= target) for start in _STARTS)
            through, good = (int(n[best]), int(right[best])) if best >= 0 else (0, 0)
            row = {
                "target": target,
                "threshold": passed["confidence"][best] if through else math.nan,
                "through": through / group.height,
                "precision": good / through if through else math.nan,
                "at_least": bounds[best] if through else math.nan,
                "n_through": through,
                "n_wrong": through - good,
                "n_review": group.height - through,
                "cost": (group.height - through) * price,
                "needed": needed,
            }
            rows.append(key | row)
    schema = {"threshold": pl.Float64, "cost": pl.Float64}
    keys = values.select(by).schema if by else {}
    return pl.DataFrame(rows, schema_overrides=schema | dict(keys))


def _last(n: np.ndarray, count: float, holds: np.ndarray) -> int:
    """The last threshold of a sequence from `count` answers on; -1 if none holds."""
    best = -1
    while len(n) and count <= n[-1]:
        place = int(np.searchsorted(n, count))
        if not holds[place]:
            return best
        best, count = place, max(n[place] + 1, n[place] * _STEP)
    # The last step may be shorter, so that all may pass.
    return len(n) - 1 if best >= 0 and holds[-1] else best


def _worth(values: pl.DataFrame) -> float:
    """How many independent answers they are worth, by the design effect (Kish, 1965)."""
    # How much more the errors of documents stray, about the share right of answers as sure, than
    # they would one by one.
    sure, group, sums = _grouped(values, 10)
    if len(sums) < 2:
        return 1.0
    n, right, _ = sums.sum(axis=0)
    strays = sure["right"].to_numpy().astype(float) - (right / n)[group]
    if not strays.any():
        return float(sure.height)
    together = np.bincount(_document(sure), weights=strays)
    # As for any variance from a sample, of documents here.
    effect = (together**2).sum() / (strays**2).sum() * len(sums) / (len(sums) - 1)
    return float(sure.height / max(effect, 1.0))


def _document(values: pl.DataFrame) -> np.ndarray:
    """The number of each value's document, from 0 in the order of their names."""
    return values["doc_id"].rank("dense").to_numpy().astype(int) - 1


def _grouped(values: pl.DataFrame, bins: int) -> tuple[pl.DataFrame, np.ndarray, np.ndarray]:
    """The answers, their groups by confidence, and of documents × (n, right, stated) × groups."""
    sure = values.drop_nulls("confidence")
    if sure.is_empty():
        remedy = "a column `confidence` in the predictions; of a model --set logprobs=on"
        raise DataMissing("no answer has a confidence", remedy=remedy)
    rank = sure["confidence"].rank().to_numpy()
    _, group = np.unique(np.ceil(rank * bins / sure.height), return_inverse=True)
    document, count = _document(sure), int(group.max()) + 1
    documents = int(document.max()) + 1
    columns = np.ones(sure.height), sure["right"].to_numpy(), sure["confidence"].to_numpy()
    sums = by_document(document * count + group, columns, documents * count)
    return sure, group, sums.reshape(documents, count, 3).transpose(0, 2, 1)


def _drawn(sums: np.ndarray, resamples: int, seed: int) -> np.ndarray:
    """The sums of draws of documents: draws × (n, right, stated) × groups; none of one document."""
    resamples = resamples if len(sums) > 1 else 0
    drawn = drawn_sums(sums.reshape(len(sums), -1), resamples=resamples, seed=seed)
    return drawn.reshape(resamples, *sums.shape[1:])


def _area(sums: np.ndarray) -> np.ndarray:
    """Area under the ROC curve of each draw: draws × (n, right, stated) × groups."""
    right, wrong = sums[:, 1], sums[:, 0] - sums[:, 1]
    below = wrong.cumsum(axis=1) - wrong / 2
    pairs = right.sum(axis=1) * wrong.sum(axis=1)
    won = (right * below).sum(axis=1)
    return np.divide(won, pairs, out=np.full(len(sums), np.nan), where=pairs > 0)
