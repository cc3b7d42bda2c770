import numpy as np
import polars as pl
import pytest

from formlab.analysis.kappa import rater_agreement


def table(seed=0, items=60, raters=4):
    draw = np.random.default_rng(seed)
    truth = draw.integers(0, 3, items)
    said = {
        f"r{n}": np.where(draw.random(items) < 0.8, truth, draw.integers(0, 3, items))
        for n in range(raters)
    }
    return pl.DataFrame({"doc_id": [str(n // 6) for n in range(items)]} | said)


def test_cohen_equals_scikit_learn_and_fleiss_equals_statsmodels():
    sklearn = pytest.importorskip("sklearn.metrics")
    inter_rater = pytest.importorskip("statsmodels.stats.inter_rater")
    data = table()
    names = data.columns[1:]
    ours = dict(rater_agreement(data, names, resamples=0).select("raters", "kappa").iter_rows())
    assert len(ours) == 7
    for one, other in (("r0", "r1"), ("r2", "r3")):
        known = sklearn.cohen_kappa_score(data[one].to_numpy(), data[other].to_numpy())
        assert ours[f"{one} × {other}"] == pytest.approx(known, abs=1e-12)
    uses, _ = inter_rater.aggregate_raters(data.select(names).to_numpy())
    assert ours[" × ".join(names)] == pytest.approx(inter_rater.fleiss_kappa(uses), abs=1e-12)


def test_the_interval_holds_the_value_and_is_the_same_each_time():
    one, two = (rater_agreement(table(), ["r0", "r1"], resamples=200, seed=3) for _ in range(2))
    assert one.equals(two)
    low, value, high = one.select("ci_low", "kappa", "ci_high").row(0)
    assert -1 <= low < value < high <= 1


def test_raters_who_always_say_the_same_one_thing_have_no_kappa():
    data = pl.DataFrame({"doc_id": ["a", "b"], "x": [True, True], "y": [True, True]})
    assert np.isnan(rater_agreement(data, ["x", "y"])["kappa"][0])


def test_items_that_one_left_out_are_left_out():
    data = pl.DataFrame({"doc_id": ["a", "b", "c"], "x": [1, 0, None], "y": [1, 0, 1]})
    row = rater_agreement(data, ["x", "y"], resamples=0).row(0, named=True)
    assert (row["kappa"], row["n_items"]) == (1.0, 2)


def test_no_items_at_all_is_undefined():
    data = pl.DataFrame(
        {"doc_id": [], "x": [], "y": []}, schema=dict.fromkeys(("doc_id", "x", "y"), pl.String)
    )
    assert np.isnan(rater_agreement(data, ["x", "y"])["kappa"][0])
