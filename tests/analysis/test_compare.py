import dataclasses
import math

import numpy as np
import polars as pl
import pytest

from formlab import analysis
from formlab.analysis.comparability import common
from formlab.analysis.compare import COMPARISON, compare, flips, side, under_other_rules
from formlab.errors import DataBroken
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
    found = compare([made(name, M) for name in "xyz"], reference="y", resamples=0, permutations=0)
    pairs = found.select("system_a", "system_b").unique(maintain_order=True).rows()
    assert pairs == [("y", "x"), ("y", "z")]


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


def test_one_slice_that_holds_everything_is_not_tested_again():
    found = compare([made("m", M), made("n", N)], by=["kind"])
    assert found["slice_by"].null_count() == found.height
    assert dict(found.schema) == COMPARISON


def test_fields_that_depend_on_the_rule_have_the_cause_reader_and_are_counted(readers_of_pages):
    for one, count in zip(readers_of_pages, (6, 0, 0), strict=True):
        assert (one.fields["cause"] == "reader").sum() == count
        row = only(analysis.summarise(one), **RIGHT, level="field", slice_by=None)
        assert row["n_reader"].item() == count
    # Also where the rule in use has it wrong and another has it right. By its centre all of it is
    # read; of its width of 130 the box shares 50, which is no half.
    cut = score_again(readers_of_pages[0], reader="cut")
    assert cut.fields.select("pred", "outcome", "cause").unique().rows() == [
        ("t", "mismatch", "reader")
    ]
    assert cut.fields["readings"][0].to_list() == ["Total", ""]
    with pytest.raises(DataBroken, match="reading rule is cut in wide, centre in exact"):
        compare([cut, readers_of_pages[1]])


def test_what_is_not_kept_cannot_be_read_again_and_claims_have_no_rule(readers_of_pages):
    wide, exact, _ = readers_of_pages
    bare = dataclasses.replace(wide, corpus=None)
    assert (score_again(bare, reader="cut"), under_other_rules([bare, exact])) == (None, [])
    for pair in ([bare, exact], [made("m", M), made("n", N)]):
        assert compare(pair)["rules"].drop_nulls().is_empty()


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
    a, b = (side(flips(made("m", M), made("n", OTHER)), which) for which in "ab")
    assert a.select("doc_id", "path", "gold").equals(b.select("doc_id", "path", "gold"))
    assert a["outcome"].to_list() == ["match", "match", "match", "mismatch", "mismatch"]
    assert b["outcome"].to_list() == ["match", "mismatch", "match", "match", "mismatch"]


def test_slices_are_by_the_gold_and_not_by_what_a_system_made_of_it():
    pair = [
        made(n, [(d, p, r, {"kind": p}) for d, p, r in rows])
        for n, rows in (("m", M), ("n", OTHER))
    ]
    found = compare(pair, metric="outcome", by=["kind"])
    by = {slice_name(row): row["p"] for row in found.to_dicts()}
    assert (list(by), by["kind=/b"]) == (["fields", "kind=/a", "kind=/b"], 1)


def test_fields_that_fail_together_do_not_fool_swapped_documents():
    # Whole pages of 20 fields fail for one system or the other: 10 coins, not 200.
    generator = np.random.default_rng(0)
    fooled = 0
    for _ in range(40):
        coin = generator.integers(0, 2, (10, 1)).repeat(20, axis=1)
        pair = from_matrix("m", coin), from_matrix("n", 1 - coin)
        fooled += compare(pair, metric="outcome", resamples=0)["p"][0] <= 0.05
    assert fooled <= 6


CELLS = [("1", "/a", 1), ("1", "/b", 0), ("2", "/a", 1)]


def test_systems_of_one_name_are_told_apart():
    first, second = common([made("m", CELLS), made("m", CELLS)]).evaluations
    assert (first.system, second.system) == ("m", "m (2)")
    assert second.cases["system"].unique().to_list() == ["m (2)"]


OF_M = made("m", CELLS)


@pytest.mark.parametrize(
    ("others", "message"),
    [
        ([made("n", CELLS, split="t")], "split is s in m, t in n"),
        ([made("n", CELLS, mode="official")], "mode is fixed in m, official in n"),
        ([made("n", CELLS, settings={"threshold": 0.9})], "threshold is 0.8 in m, 0.9 in n"),
        ([made("n", CELLS, benchmark="c")], "benchmark is b in m, c in n"),
        ([made("n", CELLS[:2])], "1 documents are only in m, such as 2"),
        ([made("n", CELLS, gold="y")], "gold of 3 cases differs .* first 1 /a: 'x' against 'y'"),
        ([made("n", [CELLS[0], CELLS[2]])], "gold of 1 cases differs .* 1 /b: 'x' against nothing"),
        ([], "two evaluations or more"),
    ],
)
def test_what_differs_is_named(others, message):
    with pytest.raises(DataBroken, match=message):
        common([OF_M, *others])


def test_what_one_system_was_not_scored_on_is_left_out_and_counted():
    more = ("2", "/mark", 1, {"task": "marking"})
    ground = common([made("m", [*CELLS, more]), made("n", CELLS)])
    assert ground.notes == {"fields of task marking, scored for m only": 1}
    heights = [(one.cases.height, one.scores.height) for one in ground.evaluations]
    assert heights == [(3, 3)] * 2
    blind = [CELLS[0], ("1", "/b", 0, {"outcome": "unscored"}), CELLS[2]]
    ground = common([OF_M, made("n", blind)])
    assert ground.notes == {"fields that could not be scored for every system": 1}
    assert [one.scores["path"].to_list() for one in ground.evaluations] == [["/a", "/a"]] * 2
    extra = OF_M.scores.with_columns(pl.lit("exact_accuracy").alias("metric"))
    first = dataclasses.replace(OF_M, scores=pl.concat([OF_M.scores, extra]))
    ground = common([first, made("n", CELLS)])
    assert ground.notes == {"metrics not scored for every system: exact_accuracy": 1}
    assert ground.evaluations[0].scores.height == 3


def test_several_golds_at_one_path_keep_their_places():
    twice = [("1", "/a", 1, {"gold": g, "gold_origin": g}) for g in ("p", "q")]
    assert common([made("m", twice), made("n", twice[::-1])]).notes == {}
