import numpy as np
import polars as pl
import pytest

from formlab.analysis.agreement import rater_agreement


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


def test_the_interval_is_that_of_scipys_bootstrap_of_documents():
    stats = pytest.importorskip("scipy.stats")
    sklearn = pytest.importorskip("sklearn.metrics")
    data = table(items=180)
    groups = [group.select("r0", "r1").to_numpy() for _, group in data.group_by("doc_id")]

    def kappa(chosen):
        return sklearn.cohen_kappa_score(*np.concatenate([groups[n] for n in chosen]).T)

    known = stats.bootstrap(
        (range(30),), kappa, vectorized=False, n_resamples=400, method="percentile", rng=0
    ).confidence_interval
    low, high = rater_agreement(data, ["r0", "r1"]).select("ci_low", "ci_high").row(0)
    assert (low, high) == pytest.approx((known.low, known.high), abs=0.03)


def test_what_is_undefined_or_left_out():
    data = pl.DataFrame({"doc_id": ["a", "b"], "x": [True, True], "y": [True, True]})
    assert np.isnan(rater_agreement(data, ["x", "y"])["kappa"][0])
    data = pl.DataFrame({"doc_id": ["a", "b", "c"], "x": [1, 0, None], "y": [1, 0, 1]})
    row = rater_agreement(data, ["x", "y"], resamples=0).row(0, named=True)
    assert (row["kappa"], row["n_items"], row["n_same"]) == (1.0, 2, 2)
    nothing = pl.DataFrame(schema=dict.fromkeys(("doc_id", "x", "y"), pl.String))
    assert np.isnan(rater_agreement(nothing, ["x", "y"])["kappa"][0])
