import numpy as np
import polars as pl
import pytest

import formlab
from formlab import analysis
from formlab.analysis import agreement
from formlab.errors import DataBroken
from tests.analysis.made_pairs import from_matrix
from tests.made_parts import cut


def evaluations_of(right, names="abcdefgh"):
    return [from_matrix(names[n], right[:, :, n]) for n in range(right.shape[-1])]


def test_groups_of_fields_by_hand():
    # Documents of two fields; three systems.
    right = np.array([[[0, 0, 0], [1, 1, 0]], [[0, 0, 0], [1, 1, 1]], [[0, 1, 0], [1, 1, 1]]])
    systems = evaluations_of(right)
    items = analysis.item_difficulty(systems)
    assert items["n_right"].to_list() == [0, 2, 0, 3, 1, 3]
    assert items["separates"].to_list() == [False, True, False, False, True, False]
    assert items["difficulty"].to_list() == pytest.approx([1, 1 / 3, 1, 0, 2 / 3, 0])
    rows = analysis.shared_failures(systems).rows_by_key("group", named=True, unique=True)
    assert {name: row["n_items"] for name, row in rows.items() if row["n_items"]} == {
        "none right": 2, "only c wrong": 1, "only b right": 1, "all right": 2,
    }  # fmt: skip
    none = rows["none right"]
    # The systems are right on 3, 4 and 2 of 6.
    chance = 3 / 6 * 2 / 6 * 4 / 6
    assert [none["expected"], none["excess"]] == pytest.approx([chance, 2 / 6 - chance])
    assert none["n_docs"] == 2
    assert none["ci_low"] <= 2 / 6 <= none["ci_high"]


def test_groups_of_five_systems_add_up_and_parts_change_nothing():
    right = (np.random.default_rng(0).random((8, 6, 5)) < 0.6).astype(float)
    systems = evaluations_of(right)
    table = analysis.shared_failures(systems)
    assert "some right" in table["group"]
    sums = [table[name].sum() for name in ("n_items", "share", "expected")]
    assert sums == pytest.approx([48, 1, 1])
    assert (table["expected"] >= 0).all()
    parts = [cut(evaluation, 3) for evaluation in systems]
    for function in (analysis.shared_failures, analysis.item_difficulty):
        assert function(parts).equals(function(systems))


def test_what_cannot_be_compared_is_refused():
    gold = {"a": {"x": "1", "y": "2"}, "b": {"x": "3", "y": "4"}}
    whole, other = (formlab.evaluate(of, gold) for of in (gold, {"a": {"x": "7"}, "b": gold["b"]}))
    with pytest.raises(DataBroken, match="two evaluations"):
        analysis.item_difficulty([whole])
    with pytest.raises(DataBroken, match="gold"):
        analysis.shared_failures([whole, other])


def test_cohen_equals_scikit_learn_and_fleiss_equals_statsmodels():
    sklearn = pytest.importorskip("sklearn.metrics")
    inter_rater = pytest.importorskip("statsmodels.stats.inter_rater")
    draw, names = np.random.default_rng(0), ["r0", "r1", "r2", "r3"]
    truth = draw.integers(0, 3, 60)
    said = {n: np.where(draw.random(60) < 0.8, truth, draw.integers(0, 3, 60)) for n in names}
    data = pl.DataFrame({"doc_id": [str(n // 6) for n in range(60)]} | said)
    table = agreement.rater_agreement(data, names, resamples=0)
    kappas = dict(table.select("raters", "kappa").iter_rows())
    assert len(kappas) == 7
    for one, other in (("r0", "r1"), ("r2", "r3")):
        known = sklearn.cohen_kappa_score(said[one], said[other])
        assert kappas[f"{one} × {other}"] == pytest.approx(known, abs=1e-12)
    uses, _ = inter_rater.aggregate_raters(data.select(names).to_numpy())
    assert kappas[" × ".join(names)] == pytest.approx(inter_rater.fleiss_kappa(uses), abs=1e-12)


def test_what_is_undefined_or_left_out():
    for values in ({"x": [True, True], "y": [True, True]}, {"x": [], "y": []}):
        data = pl.DataFrame({"doc_id": ["a", "b"][: len(values["x"])]} | values)
        assert np.isnan(agreement.rater_agreement(data, ["x", "y"])["kappa"][0])
    data = pl.DataFrame({"doc_id": ["a", "b", "c"], "x": [1, 0, None], "y": [1, 0, 1]})
    row = agreement.rater_agreement(data, ["x", "y"], resamples=0).row(0, named=True)
    assert (row["kappa"], row["n_items"], row["n_same"]) == (1.0, 2, 2)
