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
from formlab.metrics import ratio
from formlab.stats.draws import by_document, intervals
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
    passed = sums[:, ::-1].cumsum(axis=1)[:, ::-1]
    (n, right, stated), (through, good, _) = sums.sum(axis=0).T, passed.sum(axis=0).T
    scores = [(table[:, at], _share_right) for table in (sums, passed) for at in range(len(n))]
    ends = np.reshape(intervals(scores, resamples=resamples, level=level, seed=seed), (2, -1, 2))
    at = pl.col("confidence")
    groups = sure.group_by(pl.Series("group", group)).agg(lowest=at.min(), highest=at.max())
    columns = {
        "confidence": stated / n,
        "right": right / n,
        "ci_low": ends[0, :, 0],
        "ci_high": ends[0, :, 1],
        "n_cases": n.astype(int),
        "n_docs": (sums[:, :, 0] > 0).sum(axis=0),
        "coverage": through / values.height,
        "risk": 1 - good / through,
        "risk_low": 1 - ends[1, :, 1],
        "risk_high": 1 - ends[1, :, 0],
    }
    return groups.sort("group").drop("group").hstack(pl.DataFrame(columns))


def calibration_error(
    values: pl.DataFrame,
    *,
    bins: int = 10,
    level: float = 0.95,
    resamples: int = 1000,
    seed: int = 0,
) -> dict[str, float]:
    """Whether confidences sort right answers from wrong ones, and how far off they are.

    Returns `area` under the ROC curve with `area_low` and `area_high`, the chance that a right
    answer is surer than a wrong one; `gap`, mean confidence less share right, with `gap_low` and
    `gap_high`; `error`, the expected calibration error (Naeini et al., AAAI 2015, in groups of
    equal size), which is above 0 by chance alone; `n_cases`, `n_docs`; `n_worth`, how many
    independent answers they are worth.

    Raises `DataMissing` if no answer has a confidence.
    """
    sure, _, sums = _grouped(values, bins)
    n, right, stated = sums.sum(axis=0).T
    fine = _grouped(values, 50)[-1].reshape(len(sums), -1)
    scores = [(sums.sum(axis=1), _gap), (fine, _area)]
    gap, area = intervals(scores, resamples=resamples, level=level, seed=seed)
    return {
        "area": float(_area(fine.sum(axis=0))),
        "area_low": area[0],
        "area_high": area[1],
        "gap": float((stated - right).sum() / n.sum()),
        "gap_low": gap[0],
        "gap_high": gap[1],
        "error": float(np.abs(stated - right).sum() / n.sum()),
        "n_cases": int(n.sum()),
        "n_docs": len(sums),
        "n_worth": _worth(sure),
    }


def straight_through(
    values: pl.DataFrame,
    *,
    targets: Sequence[float] = TARGETS,
    level: float = 0.95,
    price: float = math.nan,
    by: str = "",
) -> pl.DataFrame:
    """How many answers can go without review at a precision, and from which confidence on.

    A threshold is taken only if the exact binomial bound (Clopper and Pearson, 1934) says that at
    least `target` of the answers from there on are right. Thresholds are tested in four sequences
    from few answers to more, each of which ends with its first failure, so that the bound holds
    for the one chosen (Bauer, 1991), for all groups of the column `by` together. Where errors of
    one document come together, a count is worth less (`n_worth` of `calibration_error`).

    Returns a row for each group and target: the column `by`, `target`; `threshold`, the lowest
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
    error, rows = (1 - level) / len(_STARTS) / len(groups), []
    for group in groups:
        sure = group.drop_nulls("confidence").sort("confidence", descending=True)
        worth = _worth(sure) / sure.height if sure.height else 1.0
        # Answers of one confidence pass together.
        passed = sure.group_by("confidence", maintain_order=True).agg(pl.len(), pl.sum("right"))
        n, right = passed["len"].cum_sum().to_numpy(), passed["right"].cum_sum().to_numpy()
        exact = special.betaincinv(right * worth, (n - right) * worth + 1, error)
        bounds = np.where(right > 0, exact, 0.0)
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
            rows.append(({by: group[by][0]} if by else {}) | row)
    schema = {by: values.schema[by]} if by else {}
    return pl.DataFrame(rows, schema_overrides=schema | {"threshold": pl.Float64})


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
    sums = _grouped(values, 10)[-1]
    n, right, _ = sums.sum(axis=0).T
    strays = sums[:, :, 1] - sums[:, :, 0] * (right / n)
    alone = (right * (n - right) / n).sum()
    if len(sums) < 2 or not alone:
        return 1.0 if len(sums) < 2 else float(n.sum())
    # As for any variance from a sample, of documents here.
    effect = (strays.sum(axis=1) ** 2).sum() / alone * len(sums) / (len(sums) - 1)
    return float(n.sum() / max(effect, 1.0))


def _grouped(values: pl.DataFrame, bins: int) -> tuple[pl.DataFrame, np.ndarray, np.ndarray]:
    """The answers, their groups, and sums: documents × groups × (n, right, stated)."""
    sure = values.drop_nulls("confidence")
    if sure.is_empty():
        remedy = "a column `confidence` in the predictions; of a model --set logprobs=on"
        raise DataMissing("no answer has a confidence", remedy=remedy)
    rank = sure["confidence"].rank().to_numpy()
    _, group = np.unique(np.ceil(rank * bins / sure.height), return_inverse=True)
    document = sure["doc_id"].rank("dense").to_numpy().astype(int) - 1
    count, documents = int(group.max()) + 1, int(document.max()) + 1
    columns = np.ones(sure.height), sure["right"].to_numpy(), sure["confidence"].to_numpy()
    sums = by_document(document * count + group, columns, documents * count)
    return sure, group, sums.reshape(documents, count, 3)


def _gap(sums: np.ndarray) -> np.ndarray:
    return ratio(np.stack([sums[..., 2] - sums[..., 1], sums[..., 0]], -1))


def _share_right(sums: np.ndarray) -> np.ndarray:
    return ratio(sums[..., 1::-1])


def _area(sums: np.ndarray) -> np.ndarray:
    """Area under the ROC curve of sums by group, the least sure first: (…, groups × 3)."""
    groups = sums.reshape(*sums.shape[:-1], -1, 3)
    right, wrong = groups[..., 1], groups[..., 0] - groups[..., 1]
    below = wrong.cumsum(axis=-1) - wrong / 2
    won = np.stack([(right * below).sum(axis=-1), right.sum(axis=-1) * wrong.sum(axis=-1)], -1)
    return ratio(won)
