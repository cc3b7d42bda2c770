import numpy as np
import pytest

from formlab.analysis.compare import compare, flips, side
from formlab.errors import UnknownName
from formlab.tables import slice_name
from tests.analysis.made_pairs import from_matrix, made

M = [("1", "/a", 1), ("1", "/b", 1), ("2", "/a", 1), ("2", "/b", 0), ("3", "/a", 0)]
N = [("1", "/a", 1), ("1", "/b", 0), ("2", "/a", 1), ("2", "/b", 1), ("3", "/a", 0)]


def test_flips_equal_a_hand_count():
    first, second = made("m", M), made("n", N)
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
        made("n", [*N, ("3", "/inserted/7", 0, text)]),
    )
    assert table["path"].unique().sort().to_list() == ["/a", "/b"]


def test_sides_are_cases_of_the_same_fields():
    table = flips(made("m", M), made("n", N))
    a, b = side(table, "a"), side(table, "b")
    assert a.select("doc_id", "path", "gold").equals(b.select("doc_id", "path", "gold"))
    assert a["outcome"].to_list() == ["match", "match", "match", "mismatch", "mismatch"]
    assert b["outcome"].to_list() == ["match", "mismatch", "match", "match", "mismatch"]


def test_slices_are_by_the_gold_and_not_by_what_a_system_made_of_it():
    pair = [
        made(n, [(d, p, r, {"kind": p}) for d, p, r in rows]) for n, rows in (("m", M), ("n", N))
    ]
    found = compare(pair, metric="outcome", by=["kind"])
    by = {slice_name(row): row for row in found.to_dicts()}
    assert list(by) == ["fields", "kind=/a", "kind=/b"]
    assert by["kind=/b"]["p"] == 1
    with pytest.raises(UnknownName, match="column of the gold to compare by 'certainty'"):
        compare(pair, metric="outcome", by=["certainty"])


def test_fields_that_fail_together_do_not_fool_swapped_documents():
    # Whole pages of 20 fields fail for one system or the other: 10 coins, not 200.
    generator = np.random.default_rng(0)
    fooled = 0
    for _ in range(40):
        coin = generator.integers(0, 2, (10, 1)).repeat(20, axis=1)
        pair = from_matrix("m", coin), from_matrix("n", 1 - coin)
        fooled += compare(pair, metric="outcome", resamples=0)["p"][0] <= 0.05
    assert fooled <= 6


def test_every_pair_of_systems_has_its_counts():
    three = [made(name, rows) for name, rows in (("x", M), ("y", N), ("z", M))]
    found = compare(three, metric="outcome")
    assert found.select("system_a", "system_b").rows() == [("x", "y"), ("x", "z"), ("y", "z")]
    assert found["only_a"].to_list() == [1, 0, 1]
