"""Items of lists are paired such that the most values agree, whatever their order."""

import itertools
import random

import polars as pl
import pytest

import formlab
from formlab.readers import gold as own
from formlab.scoring import item_alignment, rules

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


def test_item_at_another_place_costs_nothing():
    assert outcomes({"items": [TEA, RYE, OAT]}, {"items": [OAT, TEA, RYE]}) == {
        f"/items/{gold}/{key}": (f"/items/{pred}/{key}", "match")
        for gold, pred in ((0, 1), (1, 2), (2, 0)) for key in ("name", "price")
    }  # fmt: skip


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


def test_several_values_of_a_key_pair_by_equality_first():
    assert outcomes({"party": ["Ada", "Bo", "Bo"]}, {"party": ["Bo", "Cy", "bo", "Di"]}) == {
        "/party/0": ("/party/3", "mismatch"), "/party/1": ("/party/0", "match"),
        "/party/2": ("/party/2", "match"), "/party/3": ("/party/1", "spurious"),
    }  # fmt: skip


def test_lists_within_paired_items_are_paired_as_well():
    gold = {"orders": [{"no": "7", "tags": ["x", "y"]}, {"no": "8", "tags": ["z"]}]}
    answer = {"orders": [{"no": "8", "tags": ["z", "q"]}, {"no": "9", "tags": ["y", "x"]}]}
    assert outcomes(gold, answer) == {
        "/orders/0/no": ("/orders/1/no", "mismatch"),
        "/orders/0/tags/0": ("/orders/1/tags/1", "match"),
        "/orders/0/tags/1": ("/orders/1/tags/0", "match"),
        "/orders/1/no": ("/orders/0/no", "match"),
        "/orders/1/tags/0": ("/orders/0/tags/0", "match"),
        "/orders/1/tags/1": ("/orders/0/tags/1", "spurious"),
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


def drawn(draw):
    """A list of one to four items, each with some of three values."""
    return [
        {key: draw.choice("abc") for key in draw.sample("xyz", draw.randint(1, 3))}
        for _ in range(draw.randint(1, 4))
    ]


def agreeing(gold, items):
    return sum(len(a.items() & b.items()) for a, b in zip(gold, items, strict=False))


@pytest.mark.parametrize("seed", range(10))
def test_permuted_items_change_nothing_and_no_pairing_is_better(seed):
    draw = random.Random(seed)
    gold, answer = drawn(draw), drawn(draw)
    sums = hits({"items": gold}, {"items": answer})
    for sides in ((gold, draw.sample(answer, len(answer))), (draw.sample(gold, len(gold)), answer)):
        assert hits(*({"items": side} for side in sides)) == sums
    few, many = sorted((gold, answer), key=len)
    best = max(agreeing(few, order) for order in itertools.permutations(many, len(few)))
    assert sums["match_recall"]["hits"] == best + 1
    given_values = sum(map(len, answer)) + 1
    assert sums["match_precision"] == {"hits": best + 1, "total": given_values}


def test_scores_of_lists_are_those_of_plain_multisets():
    draw = random.Random(0)
    gold, answers = (
        [{"doc_id": str(n), "party": draw.choices("abcdef", k=draw.randint(1, 5))}
         for n in range(30)]
        for _ in range(2)
    )  # fmt: skip
    result = formlab.evaluate(gold, answers)
    common = 0
    for one, other in zip(gold, answers, strict=True):
        rest = list(other["party"])
        for value in one["party"]:
            if value in rest:
                rest.remove(value)
                common += 1
    scores = result.scores.filter(metric="match_f1")
    total = sum(len(row["party"]) for row in gold + answers)
    assert scores.select(pl.col("hits", "total").sum()).row(0) == (2 * common, total)


def test_record_pairs_are_of_one_document_and_no_path_twice():
    gold = rules.with_rules(own.corpus([{"doc_id": d, "n": ["1", "2"]} for d in "ab"]).records)
    claims = formlab.read_predictions(
        [{"doc_id": d, "n": ["2", "1", "1"]} for d in "ab"], own.corpus([{"doc_id": "a", "n": "1"}])
    ).records
    pairs = item_alignment.same_fields(gold, claims, threshold=0.8)
    fields = pairs.filter(pl.col("path").is_not_null())
    assert fields.height == 4
    for side in ("path", "pred_path"):
        assert not fields.select("doc_id", side).is_duplicated().any()


@pytest.mark.parametrize("value", ["", None])
def test_items_without_a_value_pair_with_nothing(value):
    answer = {"n": ["x"]}
    assert {o for _, o in outcomes({"n": ["x", value]}, answer).values()} == {"match"}
