"""One system on one kind of field and on the rest: the test, and what may be said after it."""

import dataclasses

import numpy as np
import polars as pl
import pytest

from formlab import analysis
from formlab.analysis.kinds import kind_sums, kinds
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


def test_planted_difference_is_found_and_named_the_right_way_round():
    found = [kinds(planted(seed, rates=(0.8, 0.35, 0.8)), metric="outcome") for seed in range(20)]
    assert sum(one.holds for one in found) >= 19
    for one in found:
        if one.holds:
            assert "worse on b than on other kinds of field: share right" in one.claim
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


def test_too_little_says_what_is_missing():
    few = planted(0, docs=2)
    assert "Too few documents to compare kinds of field" in kinds(few, metric="outcome").claim
    lone = made("m", [(str(d), "/a", 1) for d in range(9)])
    assert "There is only one kind" in kinds(lone, metric="outcome").claim


def test_metric_that_is_no_ratio_is_said_to_be_untested_and_not_unscored():
    sample = analysis.open_evaluation()
    said = analysis.kinds(sample, metric="bleu").claim
    assert said == "BLEU is not a ratio of counts, so no kind was tested against the rest"
    pages = dataclasses.replace(sample, scores=sample.scores.filter(pl.col("path").is_null()))
    said = analysis.kinds(pages, metric="cer").claim
    assert said == "Nothing was scored by kind, so there is nothing to compare"
    amp = sample.cases.with_columns(kind=pl.col("kind") + " & more")
    named = dataclasses.replace(sample, cases=amp)
    assert "header & more" in analysis.kinds(named, metric="cer").claim


def test_a_metric_of_fields_and_the_share_right_agree_where_they_count_the_same():
    one = planted(2, rates=(0.9, 0.2, 0.9), spread=0)
    by_rate = kind_sums(one, "normalised_accuracy", "kind")
    by_case = kind_sums(one, "outcome", "kind")
    assert all((by_rate[name] == by_case[name]).all() for name in "abc")


def test_f1_of_entities_is_twice_the_found_over_both_sides():
    one = built(scores=[
        {"doc_id": "1", "level": "document", "slice_by": "entity", "slice_value": name,
         "metric": "f1", "stats": stats, "value": 0.5}
        for name, stats in (("day", [1.0, 2, 2]), ("sum", [0.0, 1, 3]))
    ])  # fmt: skip
    found = kind_sums(one, "f1", "entity")
    assert {name: parts.tolist() for name, parts in found.items()} == {
        "day": [[2.0, 4.0]], "sum": [[0.0, 4.0]],
    }  # fmt: skip
