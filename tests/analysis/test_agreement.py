import itertools
import math

import numpy as np
import polars as pl
import pytest

import formlab
from formlab import analysis
from formlab.analysis import agreement
from formlab.analysis.overview import FIXED, what_if
from formlab.errors import DataBroken, UnknownName
from formlab.scoring import causes
from tests.analysis.made_pairs import built, from_matrix
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


ERRORS = {"find, characters": "digit", "extent": "clipped", "form": "case"}
ERRORS |= {"gold, reader": "label_error"}


def case(doc, number, cause=None, outcome=None, **more):
    right = cause is None and outcome is None
    return {
        "doc_id": doc, "path": f"/{number}", "task": "text", "level": "field", "gold": "g",
        "outcome": "match" if right else outcome or "mismatch", "cause": cause, "status": "ok",
        "similarity": 1.0 if right else 0.5,
    } | more  # fmt: skip


def random_cases(seed, documents=6):
    drawn = np.random.default_rng(seed)
    names = [None, None, *ERRORS.values()]
    return [
        case(f"d{doc}", number, names[drawn.integers(len(names))])
        for doc in range(documents)
        for number in range(drawn.integers(1, 7))
    ]


def share_right(cases, fixed, *, whole):
    """Counted anew from the cases in which the errors of some stages are none."""
    gone = {ERRORS[name] for name in fixed}
    right = [row["cause"] is None or row["cause"] in gone for row in cases]
    if not whole:
        return sum(right) / len(right)
    documents = {}
    for row, one in zip(cases, right, strict=True):
        documents[row["doc_id"]] = documents.get(row["doc_id"], True) and one
    return sum(documents.values()) / len(documents)


@pytest.mark.parametrize("seed", range(5))
def test_gains_are_the_mean_over_all_orders_of_counting_anew(seed):
    cases = random_cases(seed)
    table = what_if(built(cases), metrics=["fields", "documents"], resamples=0)
    present = [name for name, cause in ERRORS.items() if cause in {row["cause"] for row in cases}]
    for metric, whole in (("fields", False), ("documents", True)):
        rows = table.filter(metric=metric)
        assert rows["stage"].to_list() == present
        for row in rows.iter_rows(named=True):
            steps = []
            for order in itertools.permutations(present):
                before = order[: order.index(row["stage"])]
                after = share_right(cases, (*before, row["stage"]), whole=whole)
                steps.append(after - share_right(cases, before, whole=whole))
            assert row["gain"] == pytest.approx(np.mean(steps), abs=1e-12)
        assert rows["gain"].sum() == pytest.approx(1 - rows["value"][0])


def test_parts_and_their_order_change_no_digit():
    whole = built(random_cases(3, documents=9))
    table = what_if(whole, resamples=100)
    for size in (1, 2, 4):
        assert what_if(cut(whole, size), resamples=100).equals(table)


def test_values_that_nobody_asked_for_or_scored_are_of_documents_alone():
    cases = [
        case("a", 0), case("a", 1, "digit"), case("a", 2, "missed", "missing"),
        case("a", 3, "spurious", "spurious", gold=None), case("b", 0, "case"),
        case("b", 1, outcome="unscored"),
    ]  # fmt: skip
    table = what_if(built(cases), resamples=0)
    rows, read = table.rows_by_key(["metric", "stage"], named=True, unique=True), "find, characters"
    # 1 of the 4 values of the gold that could be scored is right.
    gains = [rows["fields", stage]["gain"] for stage in (read, "form", "extra")]
    assert gains == pytest.approx([0.5, 0.25, 0.0])
    assert rows["fields", "form"]["value"] == 0.25
    # Form a is right after reading and what is too many, form b after its case.
    gains = [rows["documents", stage]["gain"] for stage in (read, "form", "extra")]
    assert gains == pytest.approx([0.25, 0.5, 0.25])
    assert (rows["fields", read]["n_cases"], rows["fields", read]["n_docs"]) == (2, 1)
    assert rows["fields", read]["causes"] == ["digit", "missed"]


def test_a_check_with_wrong_sources_is_right_once_its_sources_are():
    sources = {"task": "consistency", "level": "check", "failed": ["/0", "/1"]}
    check = case("a", "check", "wrong_source", **sources)
    cases = [case("a", 0, "digit"), case("a", 1, "clipped"), case("a", 2), check]
    # Either source alone leaves the check wrong.
    gains = what_if(built(cases), metrics=["fields"], resamples=0)
    assert gains["gain"].to_list() == [0.375, 0.375]
    # A source that is right after all leaves the check to its relation.
    lone = [case("a", 0), check | {"failed": ["/0"]}]
    assert what_if(built(lone), metrics=["fields"], resamples=0)["stage"].to_list() == ["relation"]


def test_edges():
    for cases in ([case("a", 0)], []):
        assert what_if(built(cases)).height == 0
    one = what_if(built([case("a", 0, "digit")]), metrics=["documents"])
    assert math.isnan(one["ci_low"][0])
    # An error without a cause is fixed as well, last, as is one of no stage.
    own = {"digits": ["digit"]}
    for stages, other, first in ((FIXED, None, "find, characters"), (own, "case", "digits")):
        cases = [case("a", 0, other, "mismatch"), case("a", 1, "digit")]
        table = what_if(built(cases), metrics=["fields"], stages=stages)
        assert table.select("stage", "gain").rows() == [(first, 0.5), ("other", 0.5)]
    for wrong in ({"metrics": ["wer"]}, {"stages": {"digits": ["dgit"]}}):
        with pytest.raises(UnknownName, match="wer|dgit"):
            what_if(built(), **wrong)


def test_every_cause_has_one_stage_of_the_same_name():
    assert sorted(itertools.chain(*FIXED.values())) == sorted(causes.CAUSES)
    assert sorted(", ".join(FIXED).split(", ")) == sorted(causes.STAGES)
