import math

import numpy as np
import polars as pl
import pytest
from statsmodels.stats.multitest import multipletests

from formlab import analysis
from formlab.analysis.compare import COMPARISON, compare, system_pairs
from formlab.errors import UnknownName
from formlab.tables import only
from tests.analysis.made_pairs import from_matrix, made

# Of document 1 m has both fields, n has /a; of 2 n has both, m has /a; 3 is right for n alone.
M = [("1", "/a", 1), ("1", "/b", 1), ("2", "/a", 1), ("2", "/b", 0), ("3", "/a", 0)]
N = [("1", "/a", 1), ("1", "/b", 0), ("2", "/a", 1), ("2", "/b", 1), ("3", "/a", 1)]


def test_values_and_difference_equal_a_hand_count():
    row = only(compare([made("m", M), made("n", N)]), metric="normalised_accuracy").to_dicts()[0]
    assert (row["value_a"], row["value_b"]) == (3 / 5, 4 / 5)
    assert row["difference"] == pytest.approx(1 / 5)
    assert (row["better"], row["n_docs"], row["n_cases"]) == ("n", 3, 5)
    # Right fields by document are 2 1 0 and 1 2 1. However they are swapped, the sums differ by
    # one of +-1 +-1 +-1: by 1 or 3 fields, never by less than the 1 seen.
    assert row["p"] == 1


def test_mean_over_documents_is_compared_too():
    row = only(compare([made("m", M), made("n", N)]), metric="macro_normalised_accuracy")
    # m: (1 + 1/2 + 0) / 3; n: (1/2 + 1 + 1) / 3.
    assert row["difference"].item() == pytest.approx((2.5 - 1.5) / 3)


def test_values_equal_those_of_the_summary():
    generator = np.random.default_rng(0)
    pair = [from_matrix(name, generator.integers(0, 2, (9, 4))) for name in ("m", "n")]
    found = compare(pair, by=["path"])
    for side, one in zip("ab", pair, strict=True):
        summary = analysis.summarise(one, by=["path"])
        both = found.join(summary, on=["metric", "slice"])
        assert both.height == found.height
        assert both[f"value_{side}"].to_list() == pytest.approx(both["value"].to_list())


def test_a_document_without_an_answer_counts_as_nothing_found():
    gone = {"status": "missing", "outcome": "missing", "pred": None}
    silent = [("1", "/a", 1), ("2", "/a", 0, gone)]
    row = compare([made("m", [("1", "/a", 1), ("2", "/a", 1)]), made("n", silent)]).to_dicts()[0]
    assert (row["value_a"], row["value_b"], row["n_docs"]) == (1.0, 0.5, 2)


def test_reference_stands_first_in_every_pair():
    three = [made(name, M) for name in "xyz"]
    found = compare(three, reference="y", resamples=0, permutations=0)
    pairs = found.select("system_a", "system_b").unique(maintain_order=True).rows()
    assert pairs == [("y", "x"), ("y", "z")]
    assert len(system_pairs("xyz", None)) == 3
    with pytest.raises(UnknownName, match="system to compare with 'w'"):
        compare(three, reference="w")


def test_a_lower_error_rate_is_better():
    swapped = {"metric": pl.lit("cer")}
    pair = [made("m", M), made("n", N)]
    for one in pair:
        object.__setattr__(one, "scores", one.scores.with_columns(**swapped))
    assert only(compare(pair), metric="cer")["better"].item() == "m"


def test_adjusted_p_equals_statsmodels_over_the_slices_and_leaves_the_whole_apart():
    generator = np.random.default_rng(1)
    pair = [
        from_matrix(n, generator.uniform(size=(20, 5)) < s) for n, s in (("m", 0.4), ("n", 0.7))
    ]
    found = only(compare(pair, by=["path"]), metric="normalised_accuracy")
    slices = found.filter(pl.col("slice") != "fields")
    for column, method in (("p_holm", "holm"), ("p_bh", "fdr_bh")):
        expected = multipletests(slices["p"].to_numpy(), method=method)[1]
        assert slices[column].to_list() == pytest.approx(expected.tolist())
    whole = found.filter(pl.col("slice") == "fields").to_dicts()[0]
    assert whole["p_holm"] == whole["p_bh"] == whole["p"]


def test_a_slice_that_only_one_system_claims_is_undefined_for_the_other():
    claim = ("1", "/z", 0, {"kind": "extra", "gold": None, "pred": "?", "outcome": "spurious"})
    found = compare([made("m", M), made("n", [*N, claim])], by=["kind"])
    row = only(found, metric="normalised_accuracy", slice="kind=extra").to_dicts()[0]
    assert math.isnan(row["value_a"])
    assert row["value_b"] == 0
    assert math.isnan(row["p"])


def test_names_that_are_not_known_are_refused():
    pair = [made("m", M), made("n", N)]
    with pytest.raises(UnknownName, match="metric scored for all systems 'cer'"):
        compare(pair, metric="cer")
    with pytest.raises(UnknownName, match="column of the gold to compare by 'cause'"):
        compare(pair, by=["cause"])


def test_one_slice_that_holds_everything_is_not_tested_again():
    found = compare([made("m", M), made("n", N)], by=["kind"])
    assert set(found["slice"]) == {"fields"}
    assert dict(found.schema) == COMPARISON


def test_saved_evaluations_are_opened_in_the_order_given(tmp_path):
    folders = [made(name, M).save(tmp_path / name) for name in "nm"]
    assert [one.system for one in analysis.open_compared(folders)] == ["n", "m"]
