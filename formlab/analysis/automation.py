"""What can go without review, at a precision that is wanted.

An answer is a value that a system gave with a confidence. A field without one, and an answer
without a confidence, are never passed without review.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import polars as pl
from scipy import special

from formlab.analysis.calibration import effective
from formlab.folders import Evaluation
from formlab.tables import WHOLE_LEVELS

NAN = float("nan")
TARGETS = (0.95, 0.99, 0.999)
# A sequence of thresholds begins at the fewest answers that can show the precision, and at these
# multiples of it; each next threshold passes so much more than the one before.
_STARTS, _STEP = (1, 2, 4, 8), 1.05


def judged(evaluation: Evaluation) -> pl.DataFrame:
    """The values of an evaluation, each right or not, with the confidence of the answer.

    Parameters
    ----------
    evaluation
        Of one system, large ones part by part.

    Returns
    -------
    polars.DataFrame
        `doc_id`, `path`, `kind`, `confidence` (of the system, null if there is none) and `right`:
        whether the answer counts as right. A missing value is wrong and has no confidence; a value
        that the gold does not have is wrong.
    """
    answered = pl.col("outcome").is_in(["match", "mismatch", "spurious"])
    values = evaluation.scan("cases").filter(
        ~pl.col("level").is_in(WHOLE_LEVELS), answered | (pl.col("outcome") == "missing")
    )
    return values.select(
        "doc_id", "path", "kind", right=pl.col("outcome") == "match",
        confidence=pl.when(answered).then(pl.col("confidence").fill_nan(None)),
    ).collect()  # fmt: skip


def whole_documents(values: pl.DataFrame) -> pl.DataFrame:
    """Each document as one answer: right if all its values are, as sure as the least sure one.

    A document with a value that is missing or has no confidence has none. `values` are as from
    `judged`; so are the rows, with `kind` null and `path` empty.

    Examples
    --------
    >>> values = pl.DataFrame({"doc_id": ["a", "a", "b"], "path": ["/0", "/1", "/0"],
    ...     "kind": None, "right": [True, False, True], "confidence": [0.9, 0.8, None]})
    >>> whole_documents(values).select("doc_id", "right", "confidence").rows()
    [('a', False, 0.8), ('b', True, None)]
    """
    sure = pl.col("confidence")
    return values.group_by("doc_id", maintain_order=True).agg(
        path=pl.lit(""), kind=pl.lit(None, pl.String), right=pl.col("right").all(),
        confidence=pl.when(sure.null_count() == 0).then(sure.min()),
    )  # fmt: skip


def straight_through(
    values: pl.DataFrame, *, targets: Sequence[float] = TARGETS, level: float = 0.95,
    price: float = NAN, by: str | Sequence[str] = (),
) -> pl.DataFrame:  # fmt: skip
    """How many answers can go without review at a precision, and from which confidence on.

    A threshold is taken only if the exact binomial bound (Clopper and Pearson, 1934) says that at
    least `target` of the answers from there on are right. Thresholds are tested in a sequence that
    the labels have no part in, from few answers to more, and each sequence ends with its first
    failure, so that the bound holds for the one chosen (Bauer, 1991; the error is shared out
    over four sequences, and over the groups of `by`). Where errors of one document come together,
    a count is worth less (`effective`).

    Parameters
    ----------
    values
        As from `judged`, or from `whole_documents`.
    targets
        The precisions wanted, in (0, 1).
    level
        How sure the bounds of a target are, all groups together, in (0, 1).
    price
        Of the review of one value, or of one document.
    by
        Columns such as ``kind``: each group of values has a threshold of its own.

    Returns
    -------
    polars.DataFrame
        The columns of `by`, and a row for each target: `target`; `threshold`, the lowest confidence
        passed (NaN if no threshold holds); `through`, the share of all `values`; `precision` among
        these with `at_least`, its bound; `n_through`, `n_wrong` (among these), `n_review` (the
        rest), `cost` of the rest, and `needed`: how many independent answers, all right, show the
        target.

    Examples
    --------
    >>> values = pl.DataFrame({"doc_id": [str(n) for n in range(400)], "confidence": [0.9] * 400,
    ...     "right": [True] * 400})
    >>> passing = straight_through(values, targets=[0.95, 0.999])
    >>> passing.select("through", "n_review", "needed").rows()
    [(1.0, 0, 86), (0.0, 400, 4380)]
    """
    groups = [(None, values)] if not by else list(values.group_by(by, maintain_order=True))
    error = (1 - level) / len(_STARTS) / len(groups)
    tables = [_through(group, targets, error, price) for _, group in groups]
    if by:
        keys = [group.select(by).head(1) for _, group in groups]
        tables = [key.join(table, how="cross") for key, table in zip(keys, tables, strict=True)]
    return pl.concat(tables)


def _through(
    values: pl.DataFrame, targets: Sequence[float], error: float, price: float
) -> pl.DataFrame:
    sure = values.drop_nulls("confidence").sort("confidence", descending=True)
    worth = effective(sure) / sure.height if sure.height else 1.0
    # Answers of one confidence pass together.
    passed = sure.group_by("confidence", maintain_order=True).agg(
        pl.len().alias("n"), pl.col("right").sum().alias("right")
    )
    n, right = passed["n"].cum_sum().to_numpy(), passed["right"].cum_sum().to_numpy()
    rows = []
    for target in targets:
        needed = math.ceil(math.log(error) / math.log(target))
        best = max(_last(n, right, start * needed, target, error, worth) for start in _STARTS)
        through, good = (int(n[best]), int(right[best])) if best >= 0 else (0, 0)
        rows.append({
            "target": target, "threshold": passed["confidence"][best] if best >= 0 else NAN,
            "through": through / (values.height or NAN),
            "precision": good / (through or NAN),
            "at_least": _bound(good * worth, through * worth, error) if through else NAN,
            "n_through": through, "n_wrong": through - good, "n_review": values.height - through,
            "cost": (values.height - through) * price, "needed": needed,
        })  # fmt: skip
    return pl.DataFrame(rows, schema_overrides={"threshold": pl.Float64, "cost": pl.Float64})


def _last(
    n: np.ndarray, right: np.ndarray, start: int, target: float, error: float, worth: float
) -> int:
    """The last threshold of a sequence from `start` independent answers on; -1 if none holds."""
    best, count = -1, start / worth
    while len(n) and count <= n[-1]:
        place = int(np.searchsorted(n, count))
        if _bound(right[place] * worth, n[place] * worth, error) < target:
            break
        best, count = place, max(n[place] + 1, n[place] * _STEP)
    # The last step may be shorter, so that all may pass.
    if best >= 0 and count > n[-1] and _bound(right[-1] * worth, n[-1] * worth, error) >= target:
        return len(n) - 1
    return best


def _bound(right: float, n: float, error: float) -> float:
    return float(special.betaincinv(right, n - right + 1, error)) if right else 0.0
