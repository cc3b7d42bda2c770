"""The search behind `find_slices`: codes, sums by document and the test of many slices at once."""

import numpy as np
import polars as pl
import pytest
from scipy import stats

from formlab.analysis.slice_search import Coder, Sums, collected, refined, score_test, search


def summed(dense):
    """Hits, total and number by slice and document, shape (slices, documents, 3), without zeros."""
    slot, document = np.nonzero(dense[..., 2])
    return Sums(slot, document, *dense[slot, document].T.astype(float), dense.shape[1])


def p_of(inside, outside, **least):
    of = np.arange(len(inside))
    return score_test(summed(inside), summed(inside + outside), of, -1, **least)


def fields(rows, columns):
    """Fields of rows of doc_id, right and the values of columns."""
    frame = pl.DataFrame(rows, schema=["doc_id", "hits", *columns], orient="row")
    return frame.with_columns(total=1.0, sure=pl.lit(True)), {n: frame[n] for n in columns}


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
    p, _ = p_of(*sides)
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
    assert p_of(inside, outside)[0][0] == pytest.approx(stats.t.sf(away, 5))


def test_support_and_undefined_rates():
    inside = np.array([[[1, 2, 2], [0, 1, 1], [0, 0, 0]], [[0, 0, 3], [0, 0, 1], [0, 0, 0]]])
    outside = np.array([[[0, 0, 0], [1, 1, 1], [2, 2, 2]], [[1, 2, 2], [2, 2, 2], [0, 0, 0]]])
    p, enough = p_of(inside, outside, min_docs=2, min_cases=3)
    assert enough.tolist() == [True, True]
    assert 0 < p[0] < 1
    assert np.isnan(p[1])
    assert p_of(inside, outside, min_docs=3)[1].tolist() == [False, False]
    assert p_of(inside, outside, min_cases=4)[1].tolist() == [False, True]


def test_codes_are_of_sorted_words_however_they_come():
    whole, pieces = Coder(), Coder()
    words = pl.Series(["b", None, "a", "b", "c"])
    whole.add(words)
    for at in (0, 2, 3):
        pieces.add(words[at : {0: 2, 2: 3, 3: 5}[at]])
    for coder in (whole, pieces):
        codes, known = coder.coded()
        assert (codes.tolist(), known) == ([2, 0, 1, 2, 3], ["a", "b", "c"])
    assert [x if isinstance(x, list) else x.tolist() for x in whole.coded(2)] == [
        [1, 0, 0, 1, 0], ["b"],
    ]  # fmt: skip


def test_the_same_slices_whatever_the_order_of_documents_and_the_number_of_values():
    draw = np.random.default_rng(5)
    rows = [
        (f"{d:02}", bool(draw.random() > 0.3), *(str(x) for x in draw.integers(0, 4, 3)),
         f"{draw.integers(0, 300)}")
        for d in range(40) for _ in range(30)
    ]  # fmt: skip
    columns = ["x", "y", "z", "many"]
    order = draw.permutation(40)
    pieces = [fields([r for r in rows if int(r[0]) == d], columns) for d in order]
    found = []
    for several in ([fields(rows, columns)], pieces):
        of = collected(iter(several), least=6, worse=-1)
        tried = list(search(of, 3, 3, 6))
        found.append([
            (each.names, of.values(each.names, codes), p, bool(good))
            for each in tried
            for codes, p, good in zip(each.codes, each.p, refined(of, each, 0.9), strict=True)
        ])  # fmt: skip
    assert found[0] == found[1]
    assert len(found[0]) > 100
    # Each is what a plain count of its fields says.
    frame = pl.DataFrame(rows, schema=["doc_id", "hits", *columns], orient="row")
    for names, values, *_ in found[0][::17]:
        fits = frame.filter(pl.col(n) == v for n, v in zip(names, values, strict=True))
        assert fits.height >= 6
        assert fits["doc_id"].n_unique() >= 3
