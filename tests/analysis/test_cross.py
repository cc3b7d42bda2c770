import numpy as np
import pytest
from scipy import stats

from formlab import analysis
from formlab.analysis import cross
from formlab.stats.draws import draws
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


def test_tau_of_documents_by_hand():
    # CER 0.1, 0.2, 0.4 and accuracy 1, 0.5, 0.2: worse and worse in both.
    found = analysis.metric_rank_correlation(scored([(0.1, 1.0), (0.2, 0.5), (0.4, 0.2)]))
    assert found.select("metric", "other", "tau", "n").rows() == [("cer", "exact_accuracy", 1.0, 3)]
    # Pairs: 1-2 agree, 1-3 agree, 2-3 disagree: (2 - 1) / 3.
    found = analysis.metric_rank_correlation(scored([(0.1, 1.0), (0.2, 0.2), (0.4, 0.5)]))
    assert found["tau"][0] == pytest.approx(1 / 3)
    assert -1 <= found["ci_low"][0] <= found["tau"][0] <= found["ci_high"][0] <= 1
    # A metric that is the same everywhere ranks nothing.
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


def test_summaries_stand_below_each_other():
    one = scored([(0.1, 1.0), (0.2, 0.5)])
    found = analysis.summaries([one, one], resamples=10)
    assert found.height == 2 * analysis.summarise(one, resamples=10).height
