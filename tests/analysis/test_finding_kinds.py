"""One system on two kinds of field: the test by documents, and what may be said after it."""

import dataclasses

import numpy as np
import polars as pl
import pytest
from statsmodels.stats.multitest import multipletests

from formlab import analysis
from formlab.analysis.finding_kinds import compare_kinds, kind_tallies, kinds, within_test
from tests.analysis.made_pairs import built, made


def planted(seed, *, docs=20, rates=(0.5, 0.5, 0.5), sizes=(6, 6, 6), spread=0.3, **more):
    """Fields of three kinds; each document has its own ease, so its fields hang together."""
    draw = np.random.default_rng(seed)
    rows = []
    for doc in range(docs):
        ease = draw.uniform(-spread, spread)
        for kind, rate, size in zip("abc", rates, sizes, strict=True):
            for n in range(size):
                case = {"kind": kind} | {k: v(kind, n) for k, v in more.items()}
                rows.append((f"{doc:02}", f"/{kind}{n}", int(draw.random() < rate + ease), case))
    return made("m", rows)


@pytest.mark.complete
@pytest.mark.parametrize("sizes", [(6, 6, 6), (20, 2, 5)])
def test_without_a_difference_at_most_alpha_of_findings_claim_one(sizes):
    claimed = sum(kinds(planted(seed, sizes=sizes), metric="outcome").holds for seed in range(100))
    # At 5 % more than 15 of 100 have a chance of 1 in 10,000.
    assert claimed <= 15


@pytest.mark.complete
def test_a_finding_holds_where_holms_adjustment_of_all_pairs_lets_it():
    left = 0
    for seed in range(12):
        one = planted(seed, rates=(0.6, 0.5, 0.5))
        p = [pair.p for pair in compare_kinds(one, metric="outcome")]
        rejected, adjusted, *_ = multipletests(p, method="holm")
        found = kinds(one, metric="outcome")
        assert found.holds == rejected.any()
        assert found.p_adjusted in [pytest.approx(each) for each in adjusted]
        left += min(p) <= 0.05 and not found.holds
    assert left


def test_planted_difference_is_found_and_named_the_right_way_round():
    found = [kinds(planted(seed, rates=(0.8, 0.35, 0.8)), metric="outcome") for seed in range(20)]
    assert sum(one.holds for one in found) >= 19
    for one in found:
        if one.holds:
            assert "than on b: share right" in one.claim
            assert one.p_adjusted <= 0.05
            assert one.cases["path"].str.starts_with("/b").all()
            assert one.ci_low > 0


def test_one_document_that_fails_alike_is_no_proof():
    # As of form filling: all seven faults come from one form.
    rows = [
        (f"{doc}", f"/{kind}{n}", int(not (doc == 3 and kind == "b")), {"kind": kind})
        for doc in range(20) for kind in "ab" for n in range(7)
    ]  # fmt: skip
    found = kinds(made("m", rows), metric="outcome")
    assert not found.holds
    assert found.claim.startswith("No difference between kinds of field was shown for m")


def test_documents_of_one_form_count_once_where_forms_are_the_unit():
    rows = [
        (f"{doc:02}", f"/{kind}{n}", int(kind == "a" or n < 3), {"kind": kind})
        for doc in range(24) for kind in "ab" for n in range(6)
    ]  # fmt: skip
    one = made("m", rows)
    form = pl.Series("template", [f"form {n % 2}" for n in range(24)])
    one = type(one)(**vars(one) | {"documents": one.documents.with_columns(form)})
    assert kinds(one, metric="outcome").holds
    assert "Too few documents" in kinds(one, metric="outcome", unit="template").claim


@pytest.mark.parametrize("cause", ["reader", "label_error"])
def test_no_finding_rests_on_the_reading_rule_or_on_labels(cause):
    def wrong(kind, n):
        return cause if kind == "b" else None

    sound = planted(1, rates=(0.9, 0.3, 0.9), spread=0)
    assert kinds(sound, metric="outcome").holds
    for metric in ("outcome", "normalised_accuracy"):
        odd = planted(1, rates=(0.9, 0.3, 0.9), spread=0, cause=wrong)
        # Only what is wrong has a cause; without it the kind has nothing wrong.
        right = pl.when(pl.col("outcome") == "match").then(None).otherwise("cause").alias("cause")
        odd = type(odd)(**vars(odd) | {"cases": odd.cases.with_columns(right)})
        assert not kinds(odd, metric=metric).holds


def test_all_equal_says_that_nothing_can_be_told_apart():
    one = planted(0, rates=(9, 9, 9))
    assert kinds(one, metric="outcome").claim == (
        "share right is 1.000 for all kinds of field compared: there is no difference"
    )


def test_too_little_says_what_is_missing():
    few = planted(0, docs=3)
    assert "Too few documents have two kinds of field" in kinds(few, metric="outcome").claim
    lone = made("m", [(str(d), "/a", 1) for d in range(9)])
    assert "There is only one kind" in kinds(lone, metric="outcome").claim


def test_what_would_have_been_seen_is_never_less_than_what_was_and_not_shown():
    for seed in range(30):
        one = planted(seed, docs=6 + seed % 10, rates=(0.6, 0.5, 0.4))
        found = kinds(one, metric="outcome")
        if "would have been seen" in found.claim:
            least = float(found.claim.split("about ")[1].split(" would")[0])
            assert found.effect <= least + 0.005


def test_metric_that_is_no_ratio_is_said_to_be_untested_and_not_unscored():
    sample = analysis.open_evaluation()
    said = analysis.kinds(sample, metric="bleu").claim
    assert said == "BLEU is not a ratio of counts, so no kind was tested against another"
    pages = dataclasses.replace(sample, scores=sample.scores.filter(pl.col("path").is_null()))
    said = analysis.kinds(pages, metric="cer").claim
    assert said == "Nothing was scored by kind, so there is nothing to compare"
    amp = sample.cases.with_columns(kind=pl.col("kind") + " & more")
    named = dataclasses.replace(sample, cases=amp)
    assert "header & more" in analysis.kinds(named, metric="cer").claim


def test_difference_within_documents_is_a_hand_count():
    # Document 1: 1 of 2 against 2 of 2, u = (2*2 - 1*2)/4 = 0.5, weight 2*2/4 = 1.
    # Document 2: 0 of 1 against 1 of 3, u = (1*1 - 0*3)/4 = 0.25, weight 3/4.
    # Document 3 holds the first alone and adds nothing. Sum 0.75 over 1.75.
    first = np.array([[1.0, 2], [0, 1], [5, 5]])
    second = np.array([[2.0, 2], [1, 3], [0, 0]])
    difference, error, p, weights = within_test(first, second)
    assert difference == pytest.approx(0.75 / 1.75)
    assert weights == pytest.approx((1.75, 1 + 0.75**2))
    # t = 0.75 / sqrt(0.5² + 0.25²) = 1.3416 with one degree of freedom: p = 1 - 2 atan(t)/pi, 0.41.
    # Exchanged: the first has its one miss of 1 in half of the ways of document 1, and its one
    # miss, or not, in 3 of 4 of document 2: both in 3 of 8, and twice this is the greater p.
    assert 1 - 2 * np.arctan(0.75 / np.sqrt(0.3125)) / np.pi == pytest.approx(0.408, abs=1e-3)
    assert p == pytest.approx(2 * 3 / 8)
    # Residuals 0.5 - 3/7 and 0.25 - 3/7 * 0.75 are ±1/14; (n/(n-1)) 2/196 is 2 * 2/196.
    assert error == pytest.approx(np.sqrt(4 / 196) / 1.75)


def test_sizes_of_kinds_and_ease_of_documents_move_nothing():
    # In each document both kinds have one rate; hard documents hold many of the second kind.
    first = np.array([[9.0, 10], [1, 10], [2, 2]])
    second = np.array([[0.9, 1], [10, 100], [3, 3]])
    assert within_test(first, second)[0] == pytest.approx(0)


def test_turning_the_pair_round_turns_the_sign_alone():
    draw = np.random.default_rng(0)
    for _ in range(50):
        total = draw.integers(1, 9, (7, 2)).astype(float)
        hits = np.floor(draw.random((7, 2)) * (total + 1))
        pair = [np.stack([hits[:, i], total[:, i]], 1) for i in (0, 1)]
        there, back = within_test(*pair), within_test(*pair[::-1])
        assert there[0] == pytest.approx(-back[0])
        assert there[1:3] == pytest.approx(back[1:3])


def test_least_difference_is_found_in_about_four_of_five_samples():
    pair = compare_kinds(planted(0, docs=40, sizes=(10, 10, 0)), metric="outcome")[0]
    gap = pair.least(0.05)
    hits = 0
    for seed in range(100, 200):
        one = planted(seed, docs=40, sizes=(10, 10, 0), rates=(0.5 + gap / 2, 0.5 - gap / 2, 0))
        hits += compare_kinds(one, metric="outcome")[0].p <= 0.05
    assert 65 <= hits <= 95


def test_a_metric_of_fields_and_the_share_right_agree_where_they_count_the_same():
    one = planted(2, rates=(0.9, 0.2, 0.9), spread=0)
    by_rate = kind_tallies(one, "normalised_accuracy", "kind")
    by_case = kind_tallies(one, "outcome", "kind")
    assert all((by_rate[name] == by_case[name]).all() for name in "abc")


def test_f1_of_entities_is_twice_the_found_over_both_sides():
    one = built(scores=[
        {"doc_id": "1", "level": "document", "slice_by": "entity", "slice_value": name,
         "metric": "f1", "stats": stats, "value": 0.5}
        for name, stats in (("day", [1.0, 2, 2]), ("sum", [0.0, 1, 3]))
    ])  # fmt: skip
    found = kind_tallies(one, "f1", "entity")
    assert {name: parts.tolist() for name, parts in found.items()} == {
        "day": [[2.0, 4.0]], "sum": [[0.0, 4.0]],
    }  # fmt: skip
