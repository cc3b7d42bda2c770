"""Looks at nothing: every value is misread with the same chance, so that each claim is false."""

import math
import os

import pytest

from formlab import analysis
from tests.analysis import planted as plants

ALL = os.environ.get("FORMLAB_TESTS") == "all"
# At 5 % more than 22 of 300 have a chance of 3 in 100, more than 4 of 12 one of 2 in 10,000.
LOOKS, MOST = (300, 22) if ALL else (12, 4)


def own_forms(noise, seed):
    """Sixty invented forms; of six corpora in turn."""
    return [plants.drawn(*plants.both_ways(seed % 6 if ALL else 0), noise, seed)]


def funsd(noise, seed):
    """The test forms of FUNSD."""
    return [plants.drawn(*plants.funsd_both_ways(), noise, seed)]


def equal_systems(noise, seed):
    """Two systems that misread as often, each its own values."""
    sides = plants.both_ways(seed % 6 if ALL else 0)
    return [plants.drawn(*sides, noise, 2 * seed + n, "ab"[n]) for n in range(2)]


@pytest.mark.usefixtures("shared")
@pytest.mark.parametrize("noise", [0.01, 0.02, 0.05, 0.1] if ALL else [0.02])
@pytest.mark.parametrize("look", [own_forms, funsd, equal_systems])
def test_noise_is_claimed_to_be_something_no_more_often_than_alpha(look, noise):
    claims = []
    for seed in range(LOOKS):
        found = analysis.findings(look(noise, seed), most=None, resamples=200)
        claims += [[str(one) for one in found if one.holds and not math.isnan(one.p)]]
    assert sum(map(bool, claims)) <= MOST, [*filter(None, claims)][:5]
