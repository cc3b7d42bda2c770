import dataclasses
import math

import numpy as np
import polars as pl
import pytest

from formlab import analysis
from formlab.analysis.compare import COMPARISON, compare, flips, side, under_other_rules
from formlab.errors import DataBroken, UnknownName
from formlab.scoring.evaluate import score_again
from formlab.scoring.fields import READERS
from formlab.tables import only, slice_name
from tests.analysis.made_pairs import from_matrix, made

RIGHT = {"metric": "normalised_accuracy", "average": "pooled"}
# Of document 1 m has both fields, n has /a; of 2 n has both, m has /a; 3 is right for n alone.
M = [("1", "/a", 1), ("1", "/b", 1), ("2", "/a", 1), ("2", "/b", 0), ("3", "/a", 0)]
N = [("1", "/a", 1), ("1", "/b", 0), ("2", "/a", 1), ("2", "/b", 1), ("3", "/a", 1)]
OTHER = [*N[:4], ("3", "/a", 0)]


def test_reference_stands_first_in_every_pair():
    three = [made(name, M) for name in "xyz"]
    found = compare(three, reference="y", resamples=0, permutations=0)
    pairs = found.select("system_a", "system_b").unique(maintain_order=True).rows()
    assert pairs == [("y", "x"), ("y", "z")]
    with pytest.raises(UnknownName, match="system to compare with 'w'"):
        compare(three, reference="w")


def test_what_would_have_been_seen_is_said_only_with_as_many_documents_as_all_tests_need():
    # Of 2^n swaps two are as extreme: six documents show 2/64 once, and not after three tests.
    for systems, count, said in (("mn", 5, 0), ("mn", 6, 1), ("mno", 6, 0), ("mno", 7, 2)):
        wrong = np.eye(count, dtype=int)
        wrong[0] = 0
        found = compare([from_matrix(name, 1 - wrong * (name != "m")) for name in systems])
        found = only(found, **RIGHT).filter(pl.col("difference") != 0)
        told = found["least_difference"].is_not_nan().sum()
        assert told == said, (systems, count)


def test_a_slice_that_only_one_system_claims_is_undefined_for_the_other():
    claim = ("1", "/z", 0, {"kind": "extra", "gold": None, "pred": "?", "outcome": "spurious"})
    found = compare([made("m", M), made("n", [*N, claim])], by=["kind"])
    row = only(found, **RIGHT, slice_value="extra").to_dicts()[0]
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
    assert found["slice_by"].null_count() == found.height
    assert dict(found.schema) == COMPARISON


def test_verdict_that_depends_on_the_reading_rule_is_told(readers_of_pages):
    wide, exact, off = readers_of_pages
    found = only(compare([wide, off]), **RIGHT).to_dicts()[0]
    # Right on six forms against none: two of the 2 ** 6 swaps are as extreme.
    assert (found["better"], found["p"]) == (None, 2 / 64)
    # Under ``cut`` the characters stand at 73, 99, 125, 151 and 177: neither is right anywhere.
    assert found["rules"] == "depends"
    same = only(compare([exact, off]), **RIGHT).to_dicts()[0]
    assert (same["better"], same["p"], same["rules"]) == ("exact", 2 / 64, "same")
    # Without draws there is no interval, and without one nothing is said.
    assert compare([exact, off], resamples=0)["better"].drop_nulls().is_empty()
    for pair, rules in (((wide, off), "depends"), ((exact, off), "same")):
        assert compare(pair, metric="outcome")["rules"].to_list() == [rules]


def test_fields_that_depend_on_the_rule_have_the_cause_reader_and_are_counted(readers_of_pages):
    for one, count in zip(readers_of_pages, (6, 0, 0), strict=True):
        fields = one.cases.filter(pl.col("path").is_not_null())
        assert (fields["cause"] == "reader").sum() == count
        row = only(analysis.summarise(one), **RIGHT, level="field", slice_by=None)
        assert row["n_reader"].item() == count
    # Also where the rule in use has it wrong and another has it right.
    cut = score_again(readers_of_pages[0], reader="cut").cases.filter(pl.col("path").is_not_null())
    assert cut.select("pred", "outcome", "cause").unique().rows() == [("t", "mismatch", "reader")]
    # By its centre all of it is read; of its width of 130 the box shares 50, which is no half.
    assert cut["readings"][0].to_list() == ["Total", ""]


def test_rule_stands_in_the_settings_of_fields_and_other_rules_are_not_mixed(readers_of_pages):
    wide, exact, _ = readers_of_pages
    settings = only(wide.scores, metric="cer", level="field")["settings"][0]
    assert settings["read"] == "centre,else-overlap>=0.25|readings=overlap,cut"
    assert wide.settings["readings"] == ["overlap", "cut"]
    with pytest.raises(DataBroken, match="reading rule is centre in wide, cut in exact"):
        compare([wide, score_again(exact, reader="cut")])


def test_what_is_not_kept_cannot_be_read_again_and_claims_have_no_rule(readers_of_pages):
    wide, exact, _ = readers_of_pages
    bare = dataclasses.replace(wide, corpus=None)
    assert score_again(bare, reader="cut") is None
    assert under_other_rules([bare, exact]) == []
    assert compare([bare, exact])["rules"].drop_nulls().to_list() == []
    claims = made("m", M)
    assert compare([claims, made("n", N)])["rules"].null_count() == 2
    with pytest.raises(UnknownName, match="reading rule 'line'"):
        score_again(wide, reader="line")


@pytest.fixture(scope="module")
def sample():
    """The project's own pages read by OCR at scales 1 and 2."""
    return analysis.open_compared()


def test_fields_of_the_sample_that_stand_in_the_output_are_not_missing(sample):
    centres = {side: (pl.col(f"{side}0_word") + pl.col(f"{side}1_word")) / 2 for side in "xy"}
    is_inside = [at.is_between(f"{side}0", f"{side}1") for side, at in centres.items()]
    for one in sample:
        words = only(one.predictions.records, task="layout", kind="word")
        fields = one.fields.filter(task="text").with_row_index("n")
        read = fields.join(words, on="doc_id", suffix="_word").filter(*is_inside)
        read = read.group_by("n", "gold", "outcome").agg(pl.col("value").str.join(" "))
        whole = [r for r in read.rows() if sorted(r[1].split()) == sorted(r[3].split())]
        assert len(whole) > 250
        assert "missing" not in {outcome for _, _, outcome, _ in whole}


def test_right_by_other_rules_equals_reading_the_sample_again(sample):
    table = flips(*sample)
    for place, rule in enumerate(READERS[1:]):
        again = flips(*(score_again(one, reader=rule) for one in sample))
        for which in "ab":
            told = table[f"rights_{which}"].list.get(place)
            assert (told == again[f"right_{which}"]).all()


def test_flips_equal_a_hand_count():
    first, second = made("m", M), made("n", OTHER)
    table = flips(first, second)
    seen = dict(zip(zip(table["doc_id"], table["path"], strict=True), table["flip"], strict=True))
    assert seen == {
        ("1", "/a"): "both right", ("1", "/b"): "only a", ("2", "/a"): "both right",
        ("2", "/b"): "only b", ("3", "/a"): "both wrong",
    }  # fmt: skip
    (row,) = compare([first, second], metric="outcome").to_dicts()
    counts = {name: row[name] for name in ("both_right", "only_a", "only_b", "both_wrong")}
    assert counts == {"both_right": 2, "only_a": 1, "only_b": 1, "both_wrong": 1}
    assert (row["difference"], row["n_cases"], row["n_docs"]) == (0, 5, 3)
    assert (row["system_a"], row["system_b"]) == ("m", "n")


def test_text_inserted_into_a_page_is_no_field_that_one_system_gets_right():
    text = {"level": "stretch", "gold": None, "pred": "?", "outcome": "spurious"}
    # The same words, at other places of the two texts.
    table = flips(
        made("m", [*M, ("3", "/inserted/4", 0, text)]),
        made("n", [*OTHER, ("3", "/inserted/7", 0, text)]),
    )
    assert table["path"].unique().sort().to_list() == ["/a", "/b"]


def test_sides_are_cases_of_the_same_fields():
    table = flips(made("m", M), made("n", OTHER))
    a, b = side(table, "a"), side(table, "b")
    assert a.select("doc_id", "path", "gold").equals(b.select("doc_id", "path", "gold"))
    assert a["outcome"].to_list() == ["match", "match", "match", "mismatch", "mismatch"]
    assert b["outcome"].to_list() == ["match", "mismatch", "match", "match", "mismatch"]


def test_slices_are_by_the_gold_and_not_by_what_a_system_made_of_it():
    pair = [
        made(n, [(d, p, r, {"kind": p}) for d, p, r in rows])
        for n, rows in (("m", M), ("n", OTHER))
    ]
    found = compare(pair, metric="outcome", by=["kind"])
    by = {slice_name(row): row for row in found.to_dicts()}
    assert list(by) == ["fields", "kind=/a", "kind=/b"]
    assert by["kind=/b"]["p"] == 1
    with pytest.raises(UnknownName, match="column of the gold to compare by 'certainty'"):
        compare(pair, metric="outcome", by=["certainty"])


def test_values_and_difference_equal_a_hand_count():
    row = only(compare([made("m", M), made("n", N)]), **RIGHT).to_dicts()[0]
    assert (row["value_a"], row["value_b"]) == (3 / 5, 4 / 5)
    assert row["difference"] == pytest.approx(-1 / 5)
    assert (row["better"], row["n_docs"], row["n_cases"]) == (None, 3, 5)
    # Right fields by document are 2 1 0 and 1 2 1. However they are swapped, the sums differ by
    # one of +-1 +-1 +-1: by 1 or 3 fields, never by less than the 1 seen.
    assert row["p"] == 1


def test_fields_that_fail_together_do_not_fool_swapped_documents():
    # Whole pages of 20 fields fail for one system or the other: 10 coins, not 200.
    generator = np.random.default_rng(0)
    fooled = 0
    for _ in range(40):
        coin = generator.integers(0, 2, (10, 1)).repeat(20, axis=1)
        pair = from_matrix("m", coin), from_matrix("n", 1 - coin)
        fooled += compare(pair, metric="outcome", resamples=0)["p"][0] <= 0.05
    assert fooled <= 6


def test_saved_evaluations_are_opened_in_the_order_given(tmp_path):
    folders = [made(name, M).save(tmp_path / name) for name in "nm"]
    assert [one.system for one in analysis.open_compared(folders)] == ["n", "m"]
