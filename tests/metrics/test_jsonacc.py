import random

import pytest

from formlab.metrics.counts import _leaves, accuracy_parts, changes

FORM = {"total": 9.5, "paid": True, "note": None, "items": [{"name": "tea", "price": 4},
        {"name": "jam", "price": 5.5}], "tags": ["a", "b"]}  # fmt: skip


def changed(**members):
    return FORM | members


def test_leaves_of_a_form_by_hand():
    # total, paid, note, two items of two, two tags.
    assert _leaves(FORM) == 9
    assert _leaves({}) == _leaves([]) == _leaves([{}, []]) == 0


@pytest.mark.parametrize(
    ("pred", "count"),
    [
        (FORM, 0),
        (changed(total=9), 1),
        (changed(paid=1), 1),
        (changed(extra=1), 1),
        (changed(extra={"a": [1, 2]}), 2),
        ({k: v for k, v in FORM.items() if k != "items"}, 4),
        (changed(items=FORM["items"][::-1]), 0),
        (changed(items=[{"name": "jam", "price": 5}, FORM["items"][0]]), 1),
        (changed(items=FORM["items"][:1]), 2),
        (changed(items=[*FORM["items"], {"name": "rusk", "price": 1}]), 2),
        (changed(tags=["b", "c"]), 2),
        (changed(tags="a, b"), 2),
        (changed(note="x"), 1),
        (None, 9),
    ],
)
def test_changes_by_hand(pred, count):
    assert changes(FORM, pred) == count
    assert accuracy_parts(FORM, pred) == (max(0, 9 - count), 9)


def test_the_published_tool_forgives_a_null_that_was_filled_in():
    assert changes(FORM, changed(note="x"), official=True) == 0


def test_order_of_keys_and_items_is_irrelevant_and_itself_is_best():
    rng = random.Random(11)

    def value(depth):
        kind = rng.randint(0, 5 if depth else 2)
        if kind < 3:
            return rng.choice([None, True, False, 0, 1, 2.5, "a", "b", ""])
        if kind == 3:
            return [value(depth - 1) for _ in range(rng.randint(0, 4))]
        return {key: value(depth - 1) for key in rng.sample("abcdef", rng.randint(0, 4))}

    def shuffled(one):
        if isinstance(one, dict):
            items = [(key, shuffled(item)) for key, item in one.items()]
            return dict(rng.sample(items, len(items)))
        if isinstance(one, list):
            return rng.sample([shuffled(item) for item in one], len(one))
        return one

    for _ in range(100):
        gold, pred = {"x": value(3)}, {"x": value(3)}
        assert changes(gold, gold) == 0
        assert changes(gold, pred) == changes(shuffled(gold), shuffled(pred))
        hits, total = accuracy_parts(gold, pred)
        assert 0 <= hits <= total == _leaves(gold)
