"""One system on one kind of field and on the rest: the test, and what may be said after it."""

import numpy as np
import polars as pl
import pytest

from formlab.analysis.slices import kinds
from tests.analysis.made_pairs import made


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
    assert not kinds(one, metric="outcome", unit="template").holds


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
