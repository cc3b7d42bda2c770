import math

import numpy as np
import polars as pl
import pytest
from scipy.stats import spearmanr

from formlab import analysis, folders, tables
from formlab.folders import Corpus, Predictions

KEY = {"benchmark": "funsd", "split": "test"}


def rows(role, *paths, doc, system=None):
    for path in paths:
        kind = "group" if path in ("/A", "/A/B") else "string"
        yield KEY | {
            "doc_id": doc, "role": role, "system": system, "status": "ok", "path": path,
            "kind": kind, "task": "layout" if kind == "group" else "text",
            "value": path.rpartition("/")[2],
        }  # fmt: skip


@pytest.fixture
def evaluation():
    """Form 1 has a group in a group; the system finds it without its field z and without B."""
    gold = [
        *rows("gold", "/A", "/A/x", "/A/B", "/A/B/y", "/z", doc="1"),
        *rows("gold", "/q", doc="2"),
    ]
    answer = rows("prediction", "/A", "/A/x", "/A/y", doc="1", system="x")
    corpus = Corpus(
        documents=tables.table("documents", [KEY | {"doc_id": name} for name in ("1", "2")]),
        records=tables.table("records", gold), benchmark="funsd", split="test",
    )  # fmt: skip
    predictions = Predictions(
        records=tables.table("records", answer),
        responses=tables.table("responses", []),
        system="x",
    )
    return analysis.evaluate(corpus, predictions)


def test_sizes_are_counted_on_the_gold_tree(evaluation):
    table = analysis.tree_sizes(evaluation)
    names = ["doc_id", "nodes", "groups", "levels", "given"]
    # Form 1: A, x, B, y and z, of which A and B hold others, y three levels down.
    assert table.select(names).sort("doc_id").rows() == [("1", 5, 2, 3, 3), ("2", 1, 0, 1, 0)]
    settings = tables.readable(table)["settings"]
    assert settings.str.starts_with("funsd:test|tree_edit_distance").all()
    # Of the correlation they are those of the distances, and its own.
    grows = analysis.growth(table, resamples=20)["settings"][0]
    assert grows.startswith("funsd:test|tree_edit_distance")
    assert grows.endswith("|spearman|ci=bootstrap,documents,n=20,level=0.95,seed=0")


def test_largest_distance_comes_first(evaluation):
    table = analysis.tree_sizes(evaluation)
    # Form 1 loses z (a half) and B (a third), and y is elsewhere; form 2 loses q (a half).
    assert table["doc_id"].to_list() == ["1", "2"]
    assert table["distance"][1] == 0.5
    assert table["distance"][0] > 0.5


def test_no_trees_no_rows(evaluation):
    none = evaluation.scores.filter(pl.col("level") != "document")
    bare = folders.Evaluation(
        evaluation.documents, evaluation.cases.clear(), none, "funsd", "test", "x"
    )
    assert analysis.tree_sizes(bare).height == 0
    assert analysis.growth(analysis.tree_sizes(bare))["value"].is_nan().all()


def test_correlation_agrees_with_scipy_and_lies_in_its_interval():
    random = np.random.default_rng(7)
    nodes = random.integers(1, 20, 40)
    sizes = pl.DataFrame(
        {
            "nodes": nodes, "groups": random.integers(0, 4, 40), "levels": [1] * 40,
            "distance": nodes + random.normal(0, 4, 40),
        }
    )  # fmt: skip
    found = {row["size"]: row for row in analysis.growth(sizes, resamples=200).to_dicts()}
    for size in ("nodes", "groups"):
        expected = spearmanr(sizes[size], sizes["distance"]).statistic
        assert found[size]["value"] == pytest.approx(expected)
        assert -1 <= found[size]["ci_low"] <= expected <= found[size]["ci_high"] <= 1
    assert all(math.isnan(found["levels"][name]) for name in ("value", "ci_low", "ci_high"))


def test_same_seed_gives_the_same_interval():
    sizes = pl.DataFrame(
        {"nodes": [1, 2, 3, 4], "groups": 0, "levels": 1, "distance": [1.0, 3.0, 2.0, 4.0]}
    )
    one, two, three = (analysis.growth(sizes, resamples=50, seed=seed) for seed in (0, 0, 1))
    assert one.equals(two, null_equal=True)
    assert one["value"][0] == three["value"][0]
