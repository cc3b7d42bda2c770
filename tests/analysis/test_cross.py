import numpy as np
import polars as pl
import pytest
from scipy import stats

from formlab import analysis
from formlab.analysis import cross
from formlab.analysis.intervals import draws
from tests.analysis.made_pairs import built


def scored(values, names=("cer", "exact_accuracy")):
    """An evaluation of one field a document, from its value of each metric (of 10 characters)."""
    docs = [{"doc_id": str(n), "path": "/f"} for n in range(len(values))]
    cases = [doc | {"task": "text", "outcome": "match", "gold": "a", "kind": "k"} for doc in docs]
    scores = [
        doc | {"level": "field", "metric": name, "hits": 10.0 * value, "total": 10.0,
               "value": value}
        for doc, row in zip(docs, values, strict=True)
        for name, value in zip(names, row, strict=True)
    ]  # fmt: skip
    return built(cases, scores, benchmark="funsd", split="test", system="x")


def test_metrics_that_rank_documents_alike_agree_though_one_falls_where_the_other_rises():
    # CER 0.1, 0.2, 0.4 and accuracy 1, 0.5, 0.2: worse and worse in both.
    found = analysis.metric_rank_correlation(
        scored([(0.1, 1.0), (0.2, 0.5), (0.4, 0.2)]), resamples=0
    )
    assert found.select("metric", "other", "tau", "n").rows() == [("cer", "exact_accuracy", 1.0, 3)]


def test_one_swapped_pair_of_three_leaves_a_third():
    # Pairs: 1-2 agree, 1-3 agree, 2-3 disagree: (2 - 1) / 3.
    found = analysis.metric_rank_correlation(
        scored([(0.1, 1.0), (0.2, 0.2), (0.4, 0.5)]), resamples=0
    )
    assert found["tau"][0] == pytest.approx(1 / 3)


def test_metric_that_is_the_same_everywhere_has_no_rank():
    assert analysis.metric_rank_correlation(scored([(0.1, 1.0), (0.2, 1.0)])).height == 0
    assert analysis.metric_rank_correlation(scored([])).height == 0


def test_drawn_taus_equal_scipy_on_the_repeated_documents():
    rng = np.random.default_rng(7)
    x, y = rng.integers(0, 6, 15).astype(float), rng.normal(size=15)
    ours = cross.drawn_taus(x, y, resamples=40, seed=1)
    weights = np.concatenate(list(draws(15, resamples=40, seed=1))).astype(int)
    theirs = [
        stats.kendalltau(np.repeat(x, counts), np.repeat(y, counts)).statistic
        for counts in weights
    ]  # fmt: skip
    assert ours == pytest.approx(np.array(theirs), abs=1e-12)


def test_agreement_is_symmetric_and_in_range():
    rng = np.random.default_rng(3)
    values = [tuple(pair) for pair in rng.random((12, 2))]
    one = analysis.metric_rank_correlation(scored(values), ["cer", "exact_accuracy"], resamples=200)
    two = analysis.metric_rank_correlation(scored(values), ["exact_accuracy", "cer"], resamples=200)
    assert one["tau"][0] == pytest.approx(two["tau"][0])
    assert -1 <= one["ci_low"][0] <= one["tau"][0] <= one["ci_high"][0] <= 1


def test_published_systems_are_ranked_with_low_distances_best():
    table = pl.DataFrame({"edit_distance": ["0.1", "0.2", "0.3"], "fact_accuracy": [0.9, 0.5, 0.7]})
    found = analysis.system_rank_correlation(
        table, ["edit_distance", "fact_accuracy"], benchmark="b", resamples=50
    )
    assert found["tau"][0] == pytest.approx(1 / 3)
    assert found["unit"].to_list() == ["system"]


def test_summaries_stand_below_each_other():
    one = scored([(0.1, 1.0), (0.2, 0.5)])
    found = analysis.summaries([one, one], resamples=10)
    assert found.height == 2 * analysis.summarise(one, resamples=10).height
