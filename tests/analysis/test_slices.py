import itertools

import numpy as np
import polars as pl
import pytest

from formlab.analysis.slices import SLICES, find_slices, slice_cases
from formlab.analysis.summarise import summarise
from formlab.errors import UnknownName
from tests.analysis.made_pairs import made

FEW = {"resamples": 50}


def forms(documents, fields, *, rate=0.3, seed=0, planted=0.0, name="m", spread=0.0):
    """Fields of random kind, subtype and page; wrong at `rate`, more so where a slice is planted.

    The planted slice is kind=k1 & subtype=s1. `spread` lets whole documents be better or worse.
    """
    generator = np.random.default_rng(seed)
    rows = []
    for d in range(documents):
        own = generator.normal(0, spread)
        for f in range(fields):
            kind, subtype, page = (int(x) for x in generator.integers((3, 3, 2)))
            bad = rate + own + (planted if (kind, subtype) == (1, 1) else 0)
            right = int(generator.uniform() >= bad)
            labels = {"kind": f"k{kind}", "subtype": f"s{subtype}", "page": page}
            rows.append((f"{d:03}", f"/{f}", right, labels))
    return made(name, rows)


def test_values_counts_and_interval_equal_a_plain_count_and_the_summary():
    one = forms(60, 20, planted=0.5)
    row = find_slices(one, columns=["kind", "subtype"]).row(0, named=True)
    inside = (pl.col("kind") == "k1") & (pl.col("subtype") == "s1")
    cases = one.cases.with_columns((pl.col("outcome") == "match").alias("right"))
    part, rest = cases.filter(inside), cases.filter(~inside)
    assert (row["n_cases"], row["n_docs"]) == (part.height, part["doc_id"].n_unique())
    assert slice_cases(one, row, wrong=False).height == part.height
    assert row["value"] == pytest.approx(part["right"].mean())
    assert row["rest"] == pytest.approx(rest["right"].mean())
    assert row["excess"] == pytest.approx(abs(row["difference"]) * part.height)
    assert row["difference_low"] < row["difference"] < row["difference_high"] < 0
    single = find_slices(one, columns=["kind"]).filter(pl.col("slice_value") == ["k1"])
    summary = summarise(one, average="pooled").filter(
        metric="normalised_accuracy", slice_value="k1"
    )
    for name in ("value", "ci_low", "ci_high"):
        assert single[name].item() == pytest.approx(summary[name].item())


def test_few_documents_that_fail_alike_are_no_proof():
    # Of eight documents of one kind two fail; in others all four fields of a kind fail together.
    for kind_of in (lambda d, f: d < 8, lambda d, f: f < 4):
        rows = [
            (f"{d:02}", f"/{f}", int(d > 1 or not kind_of(d, f)), {"kind": f"k{kind_of(d, f)}"})
            for d in range(30) for f in range(8)
        ]  # fmt: skip
        assert find_slices(made("m", rows), columns=["kind"]).height == 0


def test_every_conjunction_with_support_is_tried_once():
    one = forms(30, 12)
    found = find_slices(one, columns=["kind", "subtype"], alpha=1.0)
    expected = 1  # The documents that are mostly wrong.
    for size in (1, 2):
        for names in itertools.combinations(["kind", "subtype"], size):
            groups = one.cases.group_by(names).agg(pl.len(), pl.col("doc_id").n_unique())
            expected += groups.filter(pl.col("len") >= 5, pl.col("doc_id") >= 3).height
    assert found["n_tested"].max() == expected


def test_columns_that_hold_the_same_fields_are_one_slice():
    one = forms(60, 20, planted=0.6)
    twin = one.cases.with_columns(pl.col("subtype").alias("modality"))
    object.__setattr__(one, "cases", twin)
    found = find_slices(one, columns=["kind", "subtype", "modality"])
    assert found["slice_value"][0].to_list() == ["k1", "s1"]
    assert not found.filter(pl.col("slice_by").list.contains("modality")).height


def test_each_system_is_searched_alone():
    bad, good = forms(60, 20, planted=0.5), forms(60, 20, name="n", seed=9)
    found = find_slices([good, bad], columns=["kind", "subtype"])
    assert set(found["system"]) == {"m"}
    assert dict(found.schema) == SLICES


def test_what_follows_from_the_error_is_no_column_to_search():
    one = forms(6, 6)
    with pytest.raises(UnknownName, match="column to search slices in 'cause'"):
        find_slices(one, columns=["kind", "cause"])


@pytest.mark.parametrize("cause", ["reader", "label_error"])
def test_no_slice_rests_on_the_reading_rule_or_on_labels(cause):
    # Kind k1 fails in every document, and only by such cases.
    rows = [
        (f"{d:02}", f"/{n}", int(n % 3 != 1), {"kind": f"k{n % 3}", "cause": None})
        for d in range(20) for n in range(9)
    ]  # fmt: skip
    plain = made("m", rows)
    assert find_slices(plain, columns=["kind"], **FEW)["slice_value"].to_list() == [["k1"]]
    wrong = pl.when(pl.col("outcome") != "match").then(pl.lit(cause)).alias("cause")
    odd = type(plain)(**vars(plain) | {"cases": plain.cases.with_columns(wrong)})
    assert find_slices(odd, columns=["kind"], **FEW).height == 0
