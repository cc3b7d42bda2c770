"""Effects of factors: what is planted is found at its size, and nothing where nothing is."""

import dataclasses
import math

import numpy as np
import polars as pl
import pytest
import statsmodels.formula.api as smf
from scipy import stats

import formlab
from formlab.errors import DataBroken
from formlab_experiments import sweep_effects, sweeps
from formlab_experiments.effects import effects, judged_fields
from tests.seeds import ALL

SEEDS = 150


def experiment(rng, *, levels=(0.0, 0.0, 0.0), forms=(0.0, 0.0), together=0.0, base=0.8, pages=24):
    """Pages of unlike difficulty, each at every level of `a` and of one kind `b`, and the truth.

    `levels` and `forms` are what a level takes from the share, `together` what the last of both
    takes beside that.
    """
    page, a, _ = (x.ravel() for x in np.mgrid[:pages, : len(levels), :8])
    b = page % len(forms)
    last = (a == len(levels) - 1) & (b == len(forms) - 1)
    hard = rng.uniform(-0.1, 0.1, pages)
    share = base + hard[page] - np.take(levels, a) - np.take(forms, b) - together * last
    names = {"page_of": page.astype(str), "a": a, "b": b}
    return pl.DataFrame(names | {"right": rng.random(len(page)) < share})


def by_hand(values):
    rows = [(unit, a, b, right) for unit, a, b, rights in values for right in rights]
    return pl.DataFrame(rows, ["page_of", "a", "b", "right"], orient="row")


CROSSED = by_hand([
    ("p", 0, "x", [1, 1, 1, 1]), ("p", 1, "x", [1, 0]),
    ("q", 0, "x", [1, 0]), ("q", 1, "x", [1, 0]),
    ("r", 0, "y", [1, 1]), ("r", 1, "y", [0, 0, 0, 1]),
    ("s", 0, "y", [1, 0]), ("s", 1, "y", [0, 0]),
])  # fmt: skip


def test_shares_and_contrasts_are_those_of_cells_of_equal_weight():
    table = effects(CROSSED, ["a", "b"])
    rows = {(r["term"], r["value"]): r for r in table.iter_rows(named=True)}
    # Cells: 0x 5/6, 1x 2/4, 0y 3/4, 1y 1/6. Margins are means of two of them.
    cells = {"0 × x": 5 / 6, "1 × x": 1 / 2, "0 × y": 3 / 4, "1 × y": 1 / 6}
    for value, share in cells.items():
        assert rows["a × b", value]["share"] == pytest.approx(share)
    assert rows["a", "0"]["share"] == pytest.approx((5 / 6 + 3 / 4) / 2)
    assert rows["a", "1"]["difference"] == pytest.approx((1 / 2 + 1 / 6 - 5 / 6 - 3 / 4) / 2)
    assert rows["b", "y"]["difference"] == pytest.approx((3 / 4 + 1 / 6 - 5 / 6 - 1 / 2) / 2)
    together = 1 / 6 - 1 / 2 - 3 / 4 + 5 / 6
    assert rows["a × b", "1 × y"]["difference"] == pytest.approx(together)
    assert [rows["a", "1"][n] for n in ("n_units", "n_cases")] == [4, 10]
    assert [rows["a × b", "1 × y"][n] for n in ("n_units", "n_cases")] == [2, 6]
    for row in rows.values():
        undefined = {math.isnan(row["difference"]), math.isnan(row["p_adjusted"])}
        assert undefined == {"0" in row["value"] or "x" in row["value"]}


def test_error_of_levels_on_the_same_pages_is_that_of_statsmodels_clustered_by_page():
    data = experiment(np.random.default_rng(3), levels=(0, 0.1, 0.3), forms=(0.0,))
    table = effects(data, ["a"])
    frame = data.group_by("page_of", "a").agg(pl.col("right").mean()).sort("page_of", "a")
    pages = frame["page_of"].cast(int).to_numpy()
    kinds = {"groups": pages, "use_correction": False}
    fit = smf.ols("right ~ C(a)", frame.to_pandas()).fit(cov_type="cluster", cov_kwds=kinds)
    # 24 pages: the correction is 24 / 23, and there are 23 degrees of freedom.
    reach = stats.t.ppf(0.975, 23) * fit.bse[1:] * math.sqrt(24 / 23)
    assert np.allclose(table["difference"].to_numpy()[1:], fit.params[1:])
    assert np.allclose(table["ci_low"].to_numpy()[1:], fit.params[1:] - reach)
    assert np.allclose(table["ci_high"].to_numpy()[1:], fit.params[1:] + reach)


def test_error_between_two_groups_of_documents_is_that_of_students_test():
    shares = np.random.default_rng(7).uniform(0, 1, (2, 7)).round()
    data = by_hand([(f"{g}{d}", g, "x", [shares[g, d], 1]) for g in (0, 1) for d in range(7)])
    row = effects(data, ["a"]).row(1, named=True)
    halves = (shares + 1) / 2
    test = stats.ttest_ind(halves[1], halves[0], equal_var=True)
    assert row["difference"] == pytest.approx(halves[1].mean() - halves[0].mean())
    assert row["p"] == pytest.approx(test.pvalue)


@pytest.mark.parametrize("base", [0.75, 0.9] if ALL else [0.9])
def test_intervals_of_95_percent_hold_the_truth_in_95_of_100_experiments(base):
    planted = {"levels": (0, 0.05, 0.2), "forms": (0, 0.1), "together": 0.1, "base": base}
    # Averaged over the other factor's levels, and the contrast.
    truth = {"a 1": 0.05, "a 2": 0.2 + 0.1 / 2, "b 1": 0.1 + 0.1 / 3,
             "a × b 1 × 1": 0, "a × b 2 × 1": 0.1}  # fmt: skip
    held = np.zeros(len(truth))
    for seed in range(SEEDS):
        table = effects(experiment(np.random.default_rng(seed), **planted), ["a", "b"])
        table = table.filter(pl.col("difference").is_not_nan())
        assert (table["term"] + " " + table["value"]).to_list() == list(truth)
        low, high = table["ci_low"].to_numpy(), table["ci_high"].to_numpy()
        wanted = -np.array(list(truth.values()))
        held += (low <= wanted) & (wanted <= high)
    # At 95 % fewer than 131 of 150 have a chance of 1 in 10,000; all five together are surer.
    assert (held >= 131).all(), held
    assert 0.925 < held.mean() / SEEDS < 0.98, held


def test_nothing_is_found_where_nothing_is_planted():
    found = 0
    for seed in range(SEEDS):
        table = effects(experiment(np.random.default_rng(seed), pages=16), ["a", "b"])
        found += bool((table["p_adjusted"].fill_nan(1) < 0.05).any())
    # At 5 % more than 19 of 150 have a chance of 1 in 10,000; without adjustment 30 find something.
    assert found <= 19
    assert found, "a test that never finds anything is no test"


def test_levels_where_all_is_right_or_wrong_stay_finite_and_are_marked():
    data = by_hand([(unit, 0, "x", [1] * 4) for unit in "abc"])
    data = pl.concat([data, data.with_columns(a=pl.lit(1, pl.Int64), right=1 - pl.col("right"))])
    row = effects(data, ["a"]).row(1, named=True)
    assert (row["difference"], row["bounded"]) == (-1, True)
    # One more page in each: 1/4 of a share, twice; Student's t of 2 degrees of freedom, cut at -1.
    assert row["ci_low"] == -1
    assert row["ci_high"] == pytest.approx(-1 + 4.302653 * math.sqrt(2) / 4, abs=1e-6)
    same = effects(data.with_columns(right=1), ["a"]).row(1, named=True)
    assert (same["difference"], same["p"], same["bounded"]) == (0, 1, True)


def test_what_a_plan_cannot_tell_is_nan_and_a_main_effect_then_that_of_the_simple_model():
    # A half of 2 × 2 × 2: c is the product of a and b, so each factor stands for a pair as well.
    rng = np.random.default_rng(1)
    doc, _ = (x.ravel() for x in np.mgrid[:32, :6])
    a, b = doc % 2, doc // 2 % 2
    data = pl.DataFrame({"page_of": doc.astype(str), "a": a, "b": b, "c": a ^ b})
    data = data.with_columns(right=rng.random(len(doc)) < 0.9 - 0.3 * a)
    table = effects(data, ["a", "b", "c"])
    pairs = table.filter(pl.col("term").str.contains("×"))
    assert pairs["difference"].is_nan().all()
    simple = effects(data, ["a", "b", "c"], interactions=False)
    assert table.head(6).drop("p_adjusted").equals(simple.drop("p_adjusted"), null_equal=True)
    assert simple["difference"][1] == pytest.approx(-0.3, abs=0.12)


def test_a_level_without_fields_is_there_with_a_count_of_0():
    table = effects(CROSSED, {"a": [1, 0, 7], "b": ["y", "x"]})
    row = table.row(2, named=True)
    assert (row["value"], row["n_units"], row["n_cases"]) == ("7", 0, 0)
    assert math.isnan(row["share"])
    # The order that was asked for: what 0 does beside 1, which comes first.
    assert table["difference"][1] == pytest.approx(-effects(CROSSED, ["a", "b"])["difference"][1])


def test_fields_with_gold_are_judged_and_know_their_document():
    gold = pl.DataFrame({"doc_id": ["a", "b"], "total": ["9", "7"], "day": ["1", None]})
    answers = pl.DataFrame({"doc_id": ["a"], "total": ["9"], "day": [None], "more": ["x"]})
    evaluation = formlab.evaluate(gold, answers)
    documents = evaluation.documents.with_columns(level=pl.Series([0, 2]), page_of=pl.lit("p"))
    rows = judged_fields(evaluation.changed({"documents": lambda _: documents}))
    rows = rows.select("page_of", "level", "path", "right").rows()
    rights = {(level, path): right for _, level, path, right in rows}

    assert rights[0, "/total"] is True
    assert rights[2, "/total"] is rights[0, "/day"] is False
    assert not any(path == "/more" for _, path in rights)


LEVELS = {"angle": ["on", "off"], "scale": ["1.0", "2.0"], "colour": ["red", "blue"]}


def test_full_plan_has_every_combination_and_the_other_one_change_at_most():
    plan = sweeps.settings_plan(LEVELS | {"scale": ["1.0", "2.0", "3.0"]})
    assert plan[0] == {"angle": "on", "scale": "1.0", "colour": "red"}
    assert len(plan) == len({tuple(run.values()) for run in plan}) == 2 * 3 * 2
    single = sweeps.settings_plan(LEVELS, one_at_a_time=True)
    assert [sum(run[n] != LEVELS[n][0] for n in run) for run in single] == [0, 1, 1, 1]


def test_fraction_has_every_value_and_pair_of_values_equally_often():
    plan = sweeps.settings_plan(LEVELS, runs=4)
    assert plan[0] == {"angle": "on", "scale": "1.0", "colour": "red"}
    # Half of 2 x 2 x 2: each pair of values of two settings stands in one run.
    for a, b in (("angle", "scale"), ("angle", "colour"), ("scale", "colour")):
        assert len({(run[a], run[b]) for run in plan}) == 4
    three = sweeps.settings_plan({"a": list("xyz"), "b": list("pqr"), "c": list("123")}, runs=9)
    assert three[0] == {"a": "x", "b": "p", "c": "1"}
    assert len({(run["a"], run["c"]) for run in three}) == 9
    for settings in ({"runs": 9}, {"runs": 4, "one_at_a_time": True}):
        with pytest.raises(DataBroken, match="of 8 combinations"):
            sweeps.settings_plan(LEVELS, **settings)


def evaluation(settings, right):
    """Two pages with four fields that are right or not; a wrong one is answered otherwise."""
    gold = {page: {field: f"{page}{field}" for field in "abcd"} for page in "pq"}
    answers = {
        page: {f: v if good else "wrong" for (f, v), good in zip(form.items(), right, strict=True)}
        for page, form in gold.items()
    }
    made = formlab.evaluate(gold, answers)
    predictions = dataclasses.replace(made.predictions, settings=settings)
    return dataclasses.replace(made, predictions=predictions)


# Four fields of a page with angle on and off, at two scales: what is right in which run.
BY_HAND = {
    ("on", "1.0"): [1, 0, 0, 1], ("off", "1.0"): [1, 1, 0, 0],
    ("on", "2.0"): [1, 0, 0, 1], ("off", "2.0"): [1, 1, 1, 1],
}  # fmt: skip


def test_fields_behind_each_effect_are_those_counted_by_hand():
    runs = [evaluation({"angle": a, "scale": s}, right) for (a, s), right in BY_HAND.items()]
    assert sweep_effects.swept_settings(runs) == {"angle": ["on", "off"], "scale": ["1.0", "2.0"]}
    changed = sweep_effects.changed_fields(runs).filter(doc_id="p")
    rows = {
        setting: dict(rows.select("path", "change").rows())
        for (setting,), rows in changed.group_by("setting")
    }
    assert rows == {
        # b is gained at both scales, c at 2.0; d is lost at 1.0.
        "angle=off": {"/b": "gained", "/c": "gained", "/d": "lost"},
        # With the angle off both c and d are gained at the other scale.
        "scale=2.0": {"/c": "gained", "/d": "gained"},
        # c: 1 - 0 - 0 + 0; d: 1 - 0 - 1 + 1.
        "angle=off with scale=2.0": {"/c": "gained", "/d": "gained"},
    }
    table = sweep_effects.setting_effects(runs).filter(pl.col("gained").is_not_null())
    counts = dict(zip(table["term"], table.select("gained", "lost").rows(), strict=True))
    assert counts == {"angle": (4, 2), "scale": (4, 0), "angle × scale": (4, 0)}
    # The runs in which c changes: the angle at scale 2.0, the scale with the angle off.
    seen = changed.filter(path="/c").select("setting", "run_a", "run_b").rows()
    assert seen == [("angle=off", 2, 3), ("scale=2.0", 1, 3), ("angle=off with scale=2.0", 0, 3)]
