"""Rasch's model of systems and fields: abilities and difficulties on one scale.

The log odds that a system is right on a field are the system's ability less the field's difficulty.
Difficulties are normal with mean 0, so that few systems and many fields do; they are integrated out
(marginal likelihood). Fields of one document are alike, so the errors of the estimates are by
documents (sandwich). The libraries of item response models for Python are not kept up, or take a
deep-learning framework; statsmodels has the conditional likelihood, which gives no difficulties and
serves the tests as an oracle.
"""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import scipy

# Difficulties in standard deviations, and their weights.
_GRID = np.linspace(-6.0, 6.0, 241)
_WEIGHTS = np.exp(-(_GRID**2) / 2) / np.exp(-(_GRID**2) / 2).sum()
# Where systems agree on nearly every field, the spread has no end.
_SPREADS = (-3.0, 3.0)


@dataclasses.dataclass(frozen=True)
class Fit:
    """Abilities with standard errors, spread, and by pattern the difficulty with its deviation."""

    ability: np.ndarray
    error: np.ndarray
    spread: float
    difficulty: np.ndarray
    deviation: np.ndarray


def rasch(patterns: np.ndarray, counts: np.ndarray) -> Fit:
    """Fit the model to the systems that are right on some items and wrong on others.

    Parameters
    ----------
    patterns
        A row for each pattern, a 1 for each system that is right: shape (patterns, systems).
    counts
        The items of each pattern by document: shape (documents, patterns).

    Examples
    --------
    >>> fitted = rasch(np.array([[0, 0], [0, 1], [1, 0], [1, 1]]), np.array([[5, 4, 1, 5]] * 9))
    >>> [bool(ability > 0) for ability in fitted.ability]
    [False, True]
    """
    totals = counts.sum(axis=0)
    shares = totals @ patterns / totals.sum()
    known = (shares > 0) & (shares < 1)
    ability, error = np.full((2, len(known)), math.nan)
    if known.sum() < 2:
        nothing = np.full(len(totals), math.nan)
        return Fit(ability, error, math.nan, nothing, nothing)
    patterns = patterns[:, known]

    def loss(values: np.ndarray) -> tuple[float, np.ndarray]:
        likelihood, slopes, _ = _moments(values, patterns)
        return -totals @ likelihood / totals.sum(), -totals @ slopes / totals.sum()

    start = np.append(scipy.special.logit(shares[known]) * 1.2, 0.3)
    bounds = [(-40, 40)] * int(known.sum()) + [_SPREADS]
    values = scipy.optimize.minimize(loss, start, jac=True, bounds=bounds, method="L-BFGS-B",
                                     options={"ftol": 1e-13, "gtol": 1e-9}).x  # fmt: skip
    _, slopes, posterior = _moments(values, patterns)
    step = 1e-5 * np.eye(len(values))
    curved = [totals @ (_moments(values + h, patterns)[1] - _moments(values - h, patterns)[1])
              for h in step]  # fmt: skip
    inverse = np.linalg.pinv(-np.array(curved) / 2e-5)
    by_doc = counts @ slopes
    n_docs = len(by_doc)
    spread = by_doc.T @ by_doc * (n_docs / (n_docs - 1) if n_docs > 1 else math.nan)
    ability[known] = values[:-1]
    error[known] = np.sqrt(np.maximum(np.diag(inverse @ spread @ inverse), 0.0))[:-1]
    scale = math.exp(values[-1])
    mean = posterior @ _GRID
    deviation = np.sqrt(np.maximum(posterior @ _GRID**2 - mean**2, 0.0))
    return Fit(ability, error, scale, scale * mean, scale * deviation)


def _moments(values: np.ndarray, patterns: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Of each pattern the log likelihood, its slopes, and the posterior of difficulty on the grid.

    `values` are the abilities and the logarithm of the spread.
    """
    scale = math.exp(values[-1])
    odds = values[:-1, None] - scale * _GRID
    right = scipy.special.expit(odds)
    logs = scipy.special.log_expit(odds), scipy.special.log_expit(-odds)
    joint = patterns @ (logs[0] - logs[1]) + logs[1].sum(axis=0) + np.log(_WEIGHTS)
    likelihood = scipy.special.logsumexp(joint, axis=1)
    posterior = np.exp(joint - likelihood[:, None])
    slopes = patterns - posterior @ right.T
    surplus = patterns.sum(axis=1)[:, None] - right.sum(axis=0)
    spread = -scale * (posterior * surplus * _GRID).sum(axis=1)
    return likelihood, np.column_stack([slopes, spread]), posterior
