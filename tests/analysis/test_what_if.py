import itertools
import math

import numpy as np
import pytest

from formlab.analysis.overview import FIXED, what_if
from formlab.errors import UnknownName
from formlab.scoring import causes
from tests.analysis.made_pairs import built
from tests.made_parts import cut

ERRORS = {"reading": "digit", "extent": "clipped", "form": "case", "label": "label_error"}


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
    rows = table.rows_by_key(["metric", "stage"], named=True, unique=True)
    # 1 of the 4 values of the gold that could be scored is right.
    gains = [rows["fields", stage]["gain"] for stage in ("reading", "form", "extra")]
    assert gains == pytest.approx([0.5, 0.25, 0.0])
    assert rows["fields", "form"]["value"] == 0.25
    # Form a is right after reading and what is too many, form b after its case.
    gains = [rows["documents", stage]["gain"] for stage in ("reading", "form", "extra")]
    assert gains == pytest.approx([0.25, 0.5, 0.25])
    assert (rows["fields", "reading"]["n_cases"], rows["fields", "reading"]["n_docs"]) == (2, 1)
    assert rows["fields", "reading"]["causes"] == ["digit", "missed"]


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
    for stages, other, first in ((FIXED, None, "reading"), (own, "case", "digits")):
        cases = [case("a", 0, other, "mismatch"), case("a", 1, "digit")]
        table = what_if(built(cases), metrics=["fields"], stages=stages)
        assert table.select("stage", "gain").rows() == [(first, 0.5), ("other", 0.5)]
    for wrong in ({"metrics": ["wer"]}, {"stages": {"digits": ["dgit"]}}):
        with pytest.raises(UnknownName, match="wer|dgit"):
            what_if(built(), **wrong)


def test_every_cause_has_one_stage():
    assert sorted(itertools.chain(*FIXED.values())) == sorted(causes.CAUSES)
