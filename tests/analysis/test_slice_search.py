import numpy as np
import pytest
from scipy import stats

from formlab.analysis.slice_search import Slice, passed, score_test


@pytest.mark.parametrize("within", [True, False], ids=["fields of all documents", "documents"])
def test_p_of_one_slice_is_even_under_the_null(within):
    """The share of p below alpha comes near alpha, pages that fail together included."""
    generator = np.random.default_rng(1)
    trials, documents, fields = 1500, 24, 10
    rate = np.clip(0.4 + generator.normal(0, 0.2, (trials, documents, 1)), 0, 1)
    right = generator.uniform(size=(trials, documents, fields)) > rate
    held = np.zeros((documents, fields), dtype=bool)
    if within:
        held[:, :3] = True
    else:
        held[:8] = True
    sides = [
        np.stack(
            [(right & part).sum(axis=2), *[np.broadcast_to(part.sum(axis=1), right.shape[:2])] * 2],
            axis=2,
        )
        for part in (held, ~held)
    ]
    p = score_test(*sides, -1)
    for alpha in (0.05, 0.01):
        error = np.sqrt(alpha * (1 - alpha) / trials)
        assert np.mean(p <= alpha) <= alpha + 3.5 * error
    assert np.mean(p <= 0.05) >= 0.015


def test_score_test_equals_a_loop():
    generator = np.random.default_rng(2)
    hits, total = generator.integers(0, 4, (2, 6)), generator.integers(4, 9, (2, 6))
    inside, outside = (
        np.stack([h, t, t], axis=1)[None].astype(float) for h, t in zip(hits, total, strict=True)
    )
    rate = hits.sum() / total.sum()
    parts = [
        -((hits[0][d] - rate * total[0][d]) / total[0].sum()
          - (hits[1][d] - rate * total[1][d]) / total[1].sum())
        for d in range(6)
    ]  # fmt: skip
    # Less is worse: the sum of the parts is the difference, turned.
    assert sum(parts) == pytest.approx(
        hits[1].sum() / total[1].sum() - hits[0].sum() / total[0].sum()
    )
    away = sum(parts) / np.sqrt(sum(part**2 for part in parts))
    assert score_test(inside, outside, -1)[0] == pytest.approx(stats.t.sf(away, 5))


@pytest.mark.parametrize("method", ["by", "bh"])
def test_false_discoveries_are_controlled_as_scipy_does(method):
    p = np.random.default_rng(3).uniform(size=50) ** 4
    tested = [Slice((("kind", str(i)),), np.arange(3), p=value) for i, value in enumerate(p)]
    adjusted = stats.false_discovery_control(p, method=method)
    kept = passed(tested, 0.05, method)
    assert [one.adjusted for one in kept] == pytest.approx(adjusted[adjusted <= 0.05].tolist())


def test_undefined_tests_are_no_part_of_the_family():
    empty = Slice((("kind", "x"),), np.arange(3))
    sure = Slice((("kind", "y"),), np.arange(3), p=0.04)
    assert passed([empty, sure], 0.05, "by") == [sure]
    assert passed([empty], 0.05, "by") == []
