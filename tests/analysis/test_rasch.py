import numpy as np
import pytest
import threadpoolctl
from statsmodels.discrete.conditional_models import ConditionalLogit

from formlab.analysis.rasch import rasch
from tests.analysis.made_rasch import ABILITIES, SPREAD, patterns_of, simulated


def test_abilities_are_recovered_and_their_intervals_cover_them():
    """Over 200 seeds: bias below a tenth of an error, 95 % intervals right in 92 % to 98 %."""
    covered, off, spreads = np.zeros(4), np.zeros(4), []
    for seed in range(200):
        patterns, counts, _ = patterns_of(simulated(seed)[0])
        with threadpoolctl.threadpool_limits(1):
            fitted = rasch(patterns, counts)
        covered += np.abs(fitted.ability - ABILITIES) <= 2.0227 * fitted.error
        off += (fitted.ability - ABILITIES) / fitted.error
        spreads.append(fitted.spread)
    assert (covered / 200 >= 0.92).all(), covered
    assert (covered / 200 <= 0.98).all(), covered
    assert (np.abs(off / 200) < 0.2).all(), off
    assert np.mean(spreads) == pytest.approx(SPREAD, rel=0.03)


def test_errors_that_took_fields_for_independent_would_be_too_small():
    patterns, counts, number = patterns_of(simulated(5, documents=60)[0])
    alone = np.eye(len(patterns))[number.reshape(-1)]
    ratios = rasch(patterns, counts).error / rasch(patterns, alone).error
    assert ratios.mean() > 1.2


def test_differences_are_those_of_the_conditional_likelihood_of_statsmodels():
    right, _ = simulated(1, documents=30)
    patterns, counts, _ = patterns_of(right)
    flat = right.reshape(-1, 4)
    mixed = flat[(flat.sum(axis=1) > 0) & (flat.sum(axis=1) < 4)]
    systems = np.tile(np.eye(4)[:, 1:], (len(mixed), 1))
    groups = np.repeat(np.arange(len(mixed)), 4)
    theirs = ConditionalLogit(mixed.reshape(-1), systems, groups=groups).fit(disp=False).params
    fitted = rasch(patterns, counts)
    assert fitted.ability[1:] - fitted.ability[0] == pytest.approx(theirs, abs=0.12)


def test_difficulty_is_the_mean_after_the_answers_and_follows_what_is_planted():
    right, difficulty = simulated(2)
    patterns, counts, number = patterns_of(right)
    fitted = rasch(patterns, counts)
    # By brute force for one pattern.
    grid = np.linspace(-12, 12, 100_001)
    chance = 1 / (1 + np.exp(-(fitted.ability[:, None] - grid)))
    pattern = patterns[3][:, None]
    weight = np.exp(-((grid / fitted.spread) ** 2) / 2)
    weight = weight * np.where(pattern == 1, chance, 1 - chance).prod(axis=0)
    assert fitted.difficulty[3] == pytest.approx((grid * weight).sum() / weight.sum(), abs=1e-3)
    assert np.corrcoef(fitted.difficulty[number].ravel(), difficulty.ravel())[0, 1] > 0.7
