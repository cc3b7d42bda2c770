"""Response curves, half levels, the order of harm, causes: counts by hand, planted weaknesses."""

import math

import numpy as np
import polars as pl
import pytest

from formlab_experiments.responses import (
    NEVER,
    NO_START,
    growing_causes,
    half_level,
    harm,
    response,
)


def cases_of(hits, levels, of=10):
    """Cases of pages: `hits` fields right at each level (none first), the same of all pages."""
    rows = []
    for page, counts in enumerate(hits):
        for (name, amount, step), right in zip(levels, counts, strict=True):
            rows += [
                (f"p{page}", name, float(amount), step, n < right, "odd" if n % 2 else "even")
                for n in range(of)
            ]  # fmt: skip
    schema = ["page_of", "degradation", "amount", "step", "right", "kind"]
    return pl.DataFrame(rows, schema=schema, orient="row")


LEVELS = [("none", 0, 0), ("blur", 1, 1), ("blur", 3, 2), ("scale", 0.5, 1)]


def test_curves_begin_at_the_page_as_it_is_and_compare_with_it():
    cases = cases_of([[10, 8, 2, 10], [8, 8, 4, 8], [9, 5, 3, 9]], LEVELS)
    table = response(cases)
    blur = table.filter(degradation="blur")
    assert blur["amount"].to_list() == [0, 1, 3]
    # 27, 21 and 9 of 30.
    assert blur["share"].to_list() == pytest.approx([0.9, 0.7, 0.3])
    assert blur["difference"].to_list()[1:] == pytest.approx([-0.2, -0.6])
    assert math.isnan(blur["difference"][0])
    assert blur["n_pages"].to_list() == [3, 3, 3]
    # The interval of the difference stands at the share that it leads to.
    assert (blur["low"] < blur["share"])[1:].all()
    assert blur["low"][2] == pytest.approx(max(0, 0.9 + blur["ci_low"][2]))
    scale = table.filter(degradation="scale")
    assert scale["amount"].to_list() == [1, 0.5]
    assert scale["difference"][1] == 0
    by_kind = response(cases, "kind")
    assert by_kind.select("value", "degradation").unique().height == 4
    counted = by_kind.filter(degradation="blur", value="even")["share"].to_list()
    right = cases.filter(pl.col("kind") == "even", pl.col("degradation").is_in(["none", "blur"]))
    by_hand = right.group_by("step").agg(pl.col("right").mean()).sort("step")["right"].to_list()
    assert counted == pytest.approx(by_hand)


def test_p_is_adjusted_over_the_whole_table():
    rng = np.random.default_rng(0)
    cases = cases_of(rng.integers(4, 9, (12, 4)), LEVELS)
    for table in (response(cases, "kind"), harm(cases)):
        known = table.filter(pl.col("p").is_not_nan())
        assert (known["p_adjusted"] >= known["p"]).all()
        least = known.sort("p")[0]
        assert least["p_adjusted"][0] == pytest.approx(min(1, least["p"][0] * known.height))


def test_half_is_reached_between_two_amounts():
    # 20 of 20 at first; 16 at 1, 4 at 3: 10 is half way between.
    cases = cases_of([[10, 8, 2, 10]] * 2, LEVELS)
    table = half_level(cases)
    row = table.filter(degradation="blur").row(0, named=True)
    assert (row["amount"], row["ci_low"], row["ci_high"]) == (2, 2, 2)
    assert (row["reached"], row["last"], row["left"], row["reason"]) == (1, 3, 0.2, "")
    never = table.filter(degradation="scale").row(0, named=True)
    assert math.isnan(never["amount"])
    assert math.isnan(never["ci_low"])
    assert (never["reason"], never["reached"], never["last"], never["left"]) == (NEVER, 0, 0.5, 1)


def test_half_of_nothing_is_said_and_a_curve_that_few_pages_bring_down_has_an_open_end():
    assert half_level(cases_of([[0, 0, 0, 0]] * 2, LEVELS))["reason"].unique().item() == NO_START
    uneven = cases_of([[10, 10, 10, 10]] * 3 + [[10, 0, 0, 10]] * 4, LEVELS)
    row = half_level(uneven).filter(degradation="blur").row(0, named=True)
    assert 0 < row["reached"] < 1
    assert not math.isnan(row["ci_low"])
    assert math.isnan(row["ci_high"])


@pytest.mark.parametrize("pages", [12, pytest.param(24, marks=pytest.mark.complete)])
def test_intervals_of_the_half_level_hold_it_as_often_as_they_say(pages):
    """100 experiments on pages that differ in how they read and in what they stand."""
    rng = np.random.default_rng(pages)
    levels = [("none", 0, 0), *(("blur", amount, amount) for amount in (1, 2, 3, 4))]

    def hits(count):
        start, knee = rng.uniform(0.6, 1, (count, 1)), rng.normal(2.4, 0.5, (count, 1))
        chance = start / (1 + np.exp(2.5 * (np.arange(5) - knee)))
        return rng.binomial(20, np.clip(chance, 0, 1))

    # So many pages that their own curve is the true one.
    many = np.rint(hits(100_000).mean(axis=0) * 500)
    truth = half_level(cases_of([many], levels, of=10_000), resamples=2)["amount"].item()
    inside = 0
    for seed in range(100):
        row = half_level(cases_of(hits(pages), levels, of=20), resamples=300, seed=seed)
        inside += row["ci_low"].item() <= truth <= row["ci_high"].item()
    # At 95 % fewer than 86 have a chance of 1 in 10,000.
    assert inside >= 86, inside


def test_a_cause_grows_by_the_fields_that_fail_for_it():
    cause = pl.when(pl.col("right")).then(None).otherwise(pl.lit("missed"))
    cases = cases_of([[10, 8, 2, 10], [10, 6, 4, 10]], LEVELS).with_columns(cause=cause)
    # Of two steps of 10 fields on two pages 2 + 8 + 4 + 6 of 40; none under scale.
    table = growing_causes(cases).select("degradation", "cause", "difference")
    assert table.rows() == [("blur", "missed", pytest.approx(1 / 2))]


def test_pairs_are_ordered_by_what_they_do_over_their_range():
    rng = np.random.default_rng(2)
    start = rng.integers(8, 11, 15)
    hits = [[s, s - 1, s - 2, max(s - 7, 0)] for s in start]
    table = harm(cases_of(hits, LEVELS))
    assert table.select("first", "second", "range").rows() == [
        ("none", "scale", "0.5 to 0.5"), ("none", "blur", "1 to 3"),
        ("blur", "scale", "0.5 to 0.5"),
    ]  # fmt: skip
    # 7 of 10 fields less, 1 or 2 of 10 less.
    assert table["difference"].to_list()[1] == pytest.approx(-0.15)
    assert (table["p_adjusted"] < 0.001).all()
