"""Shares of fields and answers: hand counts, plain Python sets, and what never changes."""

import json
import math
import random

import numpy as np
import polars as pl
import pytest

from formlab import metrics, tables
from formlab.metrics import METRICS
from formlab.metrics.counts import changes, field_tallies, match_tallies
from formlab.scoring.tasks._kit import answer_scores
from formlab.tables import readable


def test_three_fields_wanted_and_two_given_by_hand():
    # Name is found (and read wrongly), the date is missed, a blank field is left blank, and one
    # field is made up: 1 of 2 given is asked for, 1 of 2 asked for is found.
    golds, preds = ["Ada", "1980", "", ""], ["Eda", " ", "", "made up"]
    sums = {name: rows.sum(axis=0).tolist() for name, rows in field_tallies(golds, preds).items()}
    assert sums == {"field_precision": [1, 2], "field_recall": [1, 2], "field_f1": [2, 4]}


def test_accuracy_of_a_column_is_its_share_of_true():
    # Two of three known values are right; the null leaves the count.
    metric = METRICS["exact_accuracy"]
    tallies = metric.tallies([True, False, None, True])
    assert tallies.tolist() == [[1, 1], [0, 1], [0, 0], [1, 1]]
    assert metric.score(tallies.sum(axis=0)) == pytest.approx(2 / 3)
    assert math.isnan(metric.values(tallies)[2])
    assert metric.tallies([]).shape == (0, 2)


def summed(golds, preds, right, **options):
    outcomes = ["match" if is_right else "mismatch" for is_right in right]
    cases = pl.DataFrame({"gold": golds, "pred": preds, "outcome": outcomes, "status": "ok"})
    found = match_tallies(cases, **options).items()
    return {name.removeprefix("match_"): tuple(rows.sum(axis=0)) for name, rows in found}


def test_tallies_match_hand_count():
    golds = ["9.00", "Ada", "x", "", "", None]
    preds = ["9", "Eda", "", "", "y", "z"]
    right = [True, False, False, True, False, False]
    # Gold values: 9.00, Ada, x. Given: 9, Eda, y, z. Right of both: 9. Blank and right: the fourth.
    parts = summed(golds, preds, right, weights=[3, 1, 1, 1, 1, 1])
    assert parts["precision"] == (1, 4)
    assert parts["recall"] == (1, 3)
    assert parts["f1"] == (2, 7)
    # Five fields are in the gold; the sixth only the prediction has.
    assert parts["accuracy"] == (2, 5)
    # 9.00 counts three times on both sides.
    assert parts["weighted"] == (6, 11)
    assert "weighted" not in summed(golds, preds, right)


def test_blank_field_left_blank_is_right_and_in_no_sum_of_recall():
    assert summed([""], [""], [True]) == {
        "precision": (0, 0), "recall": (0, 0), "f1": (0, 0), "accuracy": (1, 1),
    }  # fmt: skip
    assert math.isnan(metrics.get("match_recall").score(np.zeros(2)))


def responses(*statuses, task="vqa"):
    base = {"benchmark": "b", "split": "s", "system": "m", "task": task}
    rows = [base | {"doc_id": str(n), "status": s} for n, s in enumerate(statuses)]
    return tables.table("responses", rows)


def share(given, name, task="vqa"):
    wanted = "all" if task == "all" else f"task={task}"
    part = readable(answer_scores(given)).filter(metric=name, slice=wanted)
    hits, total = part["hits"].sum(), part["total"].sum()
    return hits, total, hits / total if total else math.nan


def test_shares_are_of_the_questions_that_were_asked():
    # Five questions, one never asked: of four, one each is ok, repaired, refused and cut short.
    given = responses("ok", "repaired", "refused", "truncated", "missing")
    assert share(given, "valid_answers") == (1, 4, 0.25)
    assert share(given, "usable_answers") == (2, 4, 0.5)
    assert share(given, "truncated_answers") == (1, 4, 0.25)
    assert share(given, "bad_json_answers") == (0, 4, 0)


def test_scores_name_their_slices_and_rules():
    given = pl.concat([responses("ok", "missing"), responses("ok", task="layout")])
    rows = readable(answer_scores(given))
    assert set(rows["slice"]) == {"all", "task=vqa", "task=layout"}
    assert rows["settings"][0].startswith("b:s|usable_answers|level=answer|formlab=")
    # What was never asked is undefined and keeps its row.
    unasked = rows.filter(metric="valid_answers", status="missing")
    assert (unasked["value"].is_nan().all(), unasked.height) == (True, 2)


FORM = {"total": 9.5, "paid": True, "note": None, "items": [{"name": "tea", "price": 4},
        {"name": "jam", "price": 5.5}], "tags": ["a", "b"]}  # fmt: skip


def accuracy(*sides):
    return METRICS["json_accuracy"](*map(json.dumps, sides)).parts


def changed(**members):
    return FORM | members


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
    # Leaves: total, paid, note, two items of two, two tags.
    assert accuracy(FORM, pred) == (max(0, 9 - count), 9)
    # The published tool forgives a null that was filled in.
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
        hits, total = accuracy(gold, pred)
        assert 0 <= hits <= total
