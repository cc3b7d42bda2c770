"""Numbers over documents do not depend on the order of documents or on shards."""

import math

import numpy as np
import polars as pl
import pytest
from polars import selectors

from formlab import analysis
from formlab.analysis._draws import fill_draws
from formlab.analysis.intervals import drawn_sums, draws, exact_sums
from formlab.analysis.paired_tests import Pair, differences
from formlab.analysis.tallied import small, tallied
from formlab.metrics import ratio
from formlab.scoring.tallies import tallies
from tests.analysis.made_pairs import built, in_shards

FEW = {"resamples": 50, "permutations": 50}


def made(system, seed):
    """Twenty documents of up to five fields: counts, thirds, a sum of three parts, pages."""
    generator = np.random.default_rng(seed)
    cases, scores = [], []
    for doc in range(20):
        fields = int(np.random.default_rng(doc).integers(1, 6))
        for field in range(fields):
            key = {"doc_id": f"form {doc}", "path": f"/{field}", "task": "text"}
            right = bool(generator.integers(0, 2))
            cases.append(key | {
                "kind": ["date", "name", None][(doc + field) % 3], "gold": "x" * field,
                "pred": "x", "page": 1 + field * 3, "status": "ok", "similarity": float(right),
                "outcome": "match" if right else "mismatch", "cause": None if right else "reader",
            })  # fmt: skip
            third = float(generator.integers(0, 9)) / 3
            for metric, hits, total in (("normalised_accuracy", float(right), 1.0),
                                        ("cer", third, 0.1 * field)):  # fmt: skip
                value = hits / total if total else math.nan
                scores.append(key | {"level": "field", "metric": metric, "hits": hits,
                                     "total": total, "value": value})  # fmt: skip
        page = {"doc_id": f"form {doc}", "level": "page", "task": "text"}
        stats = [float(n) / 7 for n in generator.integers(1, 9, 10)]
        scores.append(page | {"metric": "bleu", "stats": stats, "value": 1 / (doc + 3)})
    sizes = [{"doc_id": f"form {doc}", "n_fields": doc % 15} for doc in range(20)]
    settings = {"threshold": 0.8}
    return built(cases, scores, sizes, system=system, settings=settings)


def numbers(first, second):
    """Every table of numbers over two evaluations."""
    both = [first, second]
    common = analysis.common(both).evaluations
    matrix = analysis.flip_matrices(common, **FEW)
    found = analysis.tell_apart(common, matrix, **FEW)
    verdicts = analysis.verdicts(common, found)
    return {
        "summary": analysis.summarise(first, by=["kind", "page", "length"], resamples=50),
        "compare": analysis.compare(both, by=["kind"], **FEW),
        "side by side": analysis.side_by_side(both, by=["kind"], **FEW),
        "verdicts": verdicts,
        "ranks": analysis.ranks(common, verdicts, resamples=50),
        "surface": analysis.surface(first, "cer", "page", "n_fields", resamples=50),
        "curve": analysis.curve(first, ["cer"], "n_fields", window=3, resamples=50),
        "history": analysis.history(both, **FEW),
    }


@pytest.fixture(scope="module")
def whole():
    return numbers(made("a", 0), made("b", 1))


@pytest.mark.parametrize(("count", "seed"), [(1, 1), (2, 2), (5, 3), (20, 4)])
def test_every_number_is_the_same_to_the_last_bit(whole, count, seed):
    cut = numbers(in_shards(made("a", 0), count, seed), in_shards(made("b", 1), 3, seed + 1))
    for name, table in whole.items():
        assert table.height, name
        assert table.equals(cut[name]), name
        bits = [each.select(selectors.float()).to_numpy().tobytes() for each in (table, cut[name])]
        assert bits[0] == bits[1], name


def test_tallies_that_are_kept_are_not_made_again():
    whole = made("a", 0)
    shards = list(in_shards(whole, 3).shards())
    for shard in shards:
        object.__setattr__(shard, "kept_tallies", tallies(shard, ["kind", "page"]))
        object.__setattr__(shard, "scores", pl.DataFrame())
    kept = type(whole).of(shards, scores=pl.DataFrame())
    assert analysis.summarise(kept, by=["page"]).equals(analysis.summarise(whole, by=["page"]))
    assert analysis.summarise(kept).equals(analysis.summarise(whole))


def test_parts_of_a_row_stand_in_the_order_asked_for():
    data = made("a", 0)
    codes = {doc: number for number, doc in enumerate(data.documents["doc_id"])}
    row = next(row for row in tallied(data, (), codes) if row.labels["metric"] == "cer")
    scores = data.scores.filter(metric="cer").group_by("doc_id", maintain_order=True)
    assert row.parts[:, 0] == pytest.approx(scores.agg(pl.sum("hits"))["hits"].to_numpy())


def test_sums_are_those_of_fsum_in_any_order():
    generator = np.random.default_rng(0)
    columns = generator.normal(size=(3, 1000)) * np.array([[1], [1e9], [1e-9]])
    small, large = np.rint(columns[:2]), np.array([[2.0**53, *[1.0] * 999]])
    for each in (columns, small, large):
        expected = [math.fsum(column) for column in each]
        assert exact_sums(each).tolist() == expected
        assert exact_sums(each[:, ::-1]).tolist() == expected


@pytest.mark.parametrize("count", [1, 50, 20_000])
def test_columns_of_one_number_are_drawn_as_the_others(count):
    number = np.arange(count)
    same = [np.full(count, each) for each in (0, 1, 7, -3, 0.5, 2**30)]
    # The last but one is the same in each block of documents that are drawn together.
    table = np.stack([*same, number % 5, number >= 16_384, number / 8], axis=1)
    weights = np.concatenate(list(draws(count, resamples=20, seed=3)))
    assert (drawn_sums(table, resamples=20, seed=3) == weights @ table).all()


def test_draws_of_many_documents_are_of_as_many():
    # More than are drawn together: each draw has all documents, each about once.
    ones = np.ones((40_000, 1))
    assert (drawn_sums(ones, resamples=5, seed=0) == 40_000).all()
    first = (np.arange(40_000) < 16_384).astype(float)[:, None]
    shares = drawn_sums(first, resamples=50, seed=0)[:, 0]
    # Binomial: 40,000 draws, a share of 0.41 in the first block.
    assert shares.mean() == pytest.approx(16_384, abs=60)
    assert shares.std() == pytest.approx(math.sqrt(16_384 * (1 - 0.4096)), rel=0.4)


@pytest.mark.parametrize("count", [1, 2, 7, 60, 3_000])
def test_draws_that_are_made_together_are_those_made_one_by_one(count):
    together, alone = (np.empty((40, count)) for _ in range(2))
    fill_draws(together, 5, 3, 0, np.full(40, count))
    for row in range(40):
        fill_draws(alone[row : row + 1], 5, 3 + row, 0, np.full(1, count))
    assert (together == alone).all()
    assert (together.sum(axis=1) == count).all()
    # A last draw of fewer documents has all of them made one by one.
    fill_draws(alone, 5, 3, 0, np.array([count] * 39 + [count - 1]))
    assert (together[:39] == alone[:39]).all()


def test_small_numbers_are_kept_small():
    kinds = [small(np.array([0.0, top])).dtype for top in (255, 256, 70_000, 2**40, 0.5)]
    assert kinds == [np.uint8, np.uint16, np.uint32, float, float]
    assert np.isnan(small(np.array([np.nan]))).all()


def test_swaps_of_many_documents_do_not_hang_on_how_they_are_cut(monkeypatch):
    generator = np.random.default_rng(0)
    sides = [np.stack([generator.uniform(size=300), np.ones(300)], axis=1) for _ in range(2)]
    before = differences([Pair(*sides, ratio)], resamples=20, permutations=99)
    monkeypatch.setattr("formlab.analysis.intervals.DOCUMENTS", 128)
    after = differences([Pair(*sides, ratio)], resamples=20, permutations=99)
    assert before[0]["p"] == after[0]["p"]
