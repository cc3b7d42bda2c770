"""Items of lists are paired such that the most values agree, whatever their order."""

import polars as pl

import formlab
from formlab.scoring import item_alignment

MATCHES = ("match_precision", "match_recall", "match_f1", "match_accuracy")


def evaluation(gold, answer, **options):
    sides = ({"doc_id": "a", "total": "1"} | side for side in (gold, answer))
    return formlab.evaluate(*([side] for side in sides), **options)


def outcomes(gold, answer, **options):
    cases = evaluation(gold, answer, **options).fields.filter(pl.col("path") != "/total")
    return {path: (pred_path, outcome) for path, pred_path, outcome in
            cases.select("path", "pred_path", "outcome").rows()}  # fmt: skip


def hits(gold, answer, **options):
    scores = evaluation(gold, answer, **options).scores.filter(pl.col("metric").is_in(MATCHES))
    return dict(scores.group_by("metric").agg(pl.struct(pl.col("hits", "total").sum())).rows())


TEA, RYE, OAT = ({"name": n, "price": p} for n, p in (("tea", "1"), ("rye", "2"), ("oat", "3")))


def test_extra_items_are_spurious_and_absent_ones_missing_by_hand():
    more = {"items": [OAT | {"unit": "kg"}, {"name": "ryx", "price": "2"}]}
    assert outcomes({"items": [TEA, RYE, OAT]}, more) == {
        "/items/0/name": (None, "missing"), "/items/0/price": (None, "missing"),
        # One of two values agrees, which is more than with any other item.
        "/items/1/name": ("/items/1/name", "mismatch"),
        "/items/1/price": ("/items/1/price", "match"),
        "/items/2/name": ("/items/0/name", "match"), "/items/2/price": ("/items/0/price", "match"),
        # What is extra in an item stands in the gold item that it was paired with.
        "/items/2/unit": ("/items/0/unit", "spurious"),
    }  # fmt: skip
    # Six gold values and total; five given and total; three and total are right.
    sums = hits({"items": [TEA, RYE, OAT]}, more)
    assert (sums["match_precision"], sums["match_recall"]) == (
        {"hits": 4.0, "total": 6.0}, {"hits": 4.0, "total": 7.0},
    )  # fmt: skip


def test_spurious_item_gets_a_place_that_no_gold_item_has():
    found = outcomes({"items": [TEA]}, {"items": [RYE, TEA]})
    assert found["/items/1/name"] == ("/items/0/name", "spurious")
    assert found["/items/0/name"] == ("/items/1/name", "match")
    case = evaluation({"n": ["1"]}, {"n": ["5", "1"]}).fields.filter(path="/n/1")
    # Its kind is that of the others at such paths.
    assert case.select("kind", "outcome").row(0) == ("number", "spurious")


def test_several_values_of_a_key_pair_by_equality_first_and_blank_ones_with_nothing():
    for value in ("", None):
        found = outcomes({"n": ["x", value]}, {"n": ["x"]})
        assert {outcome for _, outcome in found.values()} == {"match"}
    assert outcomes({"party": ["Ada", "Bo", "Bo"]}, {"party": ["Bo", "Cy", "bo", "Di"]}) == {
        "/party/0": ("/party/3", "mismatch"), "/party/1": ("/party/0", "match"),
        "/party/2": ("/party/2", "match"), "/party/3": ("/party/1", "spurious"),
    }  # fmt: skip


def test_list_that_is_ordered_is_compared_place_by_place():
    types = {"lines/0": {"type": "string", "ordered": True}}
    found = outcomes({"lines": ["a", "b"]}, {"lines": ["b", "a", "c"]}, types=types)
    assert [outcome for _, outcome in found.values()] == ["mismatch", "mismatch", "spurious"]


def test_years_are_no_places_in_a_list():
    answer = {"sales": {"2024": "5", "2025": "9"}}
    assert outcomes({"sales": {"2023": "9", "2024": "5"}}, answer) == {
        "/sales/2023": (None, "missing"), "/sales/2024": ("/sales/2024", "match"),
        "/sales/2025": ("/sales/2025", "spurious"),
    }  # fmt: skip


def test_values_agree_by_their_own_rule():
    gold, answer = {"n": ["10.00", "20.00"]}, {"n": ["20.05", "10.05"]}
    tolerant = {"n/0": {"type": "number", "tolerance": "1%"}}
    assert [o for _, o in outcomes(gold, answer, types=tolerant).values()] == ["match"] * 2
    # Equal texts first would leave 9 and 11, of which neither is near the other.
    near = {"n/0": {"type": "number", "tolerance": 1}}
    found = outcomes({"n": ["10", "9"]}, {"n": ["10", "11"]}, types=near)
    assert found == {"/n/0": ("/n/1", "match"), "/n/1": ("/n/0", "match")}


def test_paths_of_any_depth_and_size_are_scored(monkeypatch):
    deep = "/0" * 3000
    rows = [{"doc_id": "a", "path": path, "value": "x"} for path in (deep, "/0/1", "/9" * 500)]
    found = formlab.evaluate(rows, rows[::-1]).fields
    assert found["outcome"].to_list() == ["match"] * 3
    monkeypatch.setattr(item_alignment, "LARGEST", 3)
    # Too many to try all: place by place.
    found = outcomes({"n": ["a", "b"]}, {"n": ["B", "A"]})
    assert [outcome for _, outcome in found.values()] == ["mismatch", "mismatch"]


def test_value_where_the_other_side_has_a_list_or_an_object_is_no_pair():
    gold = {"items": [{"tags": "x", "size": {"w": "1"}}, {"tags": ["y"], "size": "2"}]}
    answer = {"items": [{"tags": ["x"], "size": "1"}, {"tags": "y", "size": {"w": "2"}}]}
    found = outcomes(gold, answer)
    # An item's text is its list's first value; a size has no width where it is a value itself.
    assert {path: outcome for path, (_, outcome) in found.items()} == {
        "/items/0/tags": "match", "/items/1/tags/0": "match",
        "/items/0/size/w": "missing", "/items/0/size": "spurious",
        "/items/1/size": "missing", "/items/1/size/w": "spurious",
    }  # fmt: skip
    found = outcomes({"items": [{"tags": "x"}]}, {"items": [{"tags": ["x", "z"]}]})
    assert found["/items/0/tags/1"][1] == "spurious"
