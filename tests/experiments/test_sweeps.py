"""Sweeps of settings: plans, runs on the same pages, effects, and the fields behind them."""

import dataclasses

import polars as pl
import pytest

import formlab
from formlab.errors import DataBroken
from formlab_experiments import sweep_effects, sweeps

LEVELS = {"angle": ["on", "off"], "scale": ["1.0", "2.0"], "colour": ["red", "blue"]}


def test_full_plan_has_every_combination_and_the_other_one_change_at_most():
    plan = sweeps.settings_plan(LEVELS | {"scale": ["1.0", "2.0", "3.0"]})
    assert plan[0] == {"angle": "on", "scale": "1.0", "colour": "red"}
    assert len(plan) == len({tuple(run.values()) for run in plan}) == 2 * 3 * 2
    single = sweeps.settings_plan(LEVELS, one_at_a_time=True)
    assert [sum(run[n] != LEVELS[n][0] for n in run) for run in single] == [0, 1, 1, 1]


def test_fraction_has_every_value_and_pair_of_values_equally_often():
    plan = sweeps.settings_plan(LEVELS, runs=4)
    assert plan[0] == {"angle": "on", "scale": "1.0", "colour": "red"}
    # Half of 2 x 2 x 2: each pair of values of two settings stands in one run.
    for a, b in (("angle", "scale"), ("angle", "colour"), ("scale", "colour")):
        assert len({(run[a], run[b]) for run in plan}) == 4
    three = sweeps.settings_plan({"a": list("xyz"), "b": list("pqr"), "c": list("123")}, runs=9)
    assert three[0] == {"a": "x", "b": "p", "c": "1"}
    assert len({(run["a"], run["c"]) for run in three}) == 9
    for settings in ({"runs": 9}, {"runs": 4, "one_at_a_time": True}):
        with pytest.raises(DataBroken, match="of 8 combinations"):
            sweeps.settings_plan(LEVELS, **settings)


def evaluation(settings, right):
    """Documents with fields that are right or not; a wrong one is answered with another value."""
    gold = {doc: {field: f"{doc}{field}" for field in fields} for doc, fields in right.items()}
    answers = {
        doc: {field: gold[doc][field] if good else "wrong" for field, good in fields.items()}
        for doc, fields in right.items()
    }
    made = formlab.evaluate(gold, answers)
    predictions = dataclasses.replace(made.predictions, settings=settings)
    return dataclasses.replace(made, predictions=predictions)


# Four fields of a page with angle on and off, at two scales: what is right in which run.
BY_HAND = {
    ("on", "1.0"): [1, 0, 0, 1], ("off", "1.0"): [1, 1, 0, 0],
    ("on", "2.0"): [1, 0, 0, 1], ("off", "2.0"): [1, 1, 1, 1],
}  # fmt: skip


def by_hand(keys=tuple(BY_HAND)):
    return [
        evaluation(
            {"angle": angle, "scale": scale},
            {page: dict(zip("abcd", BY_HAND[angle, scale], strict=True)) for page in "pq"},
        )
        for angle, scale in keys
    ]


def test_fields_behind_each_effect_are_those_counted_by_hand():
    runs = by_hand()
    assert sweep_effects.swept_settings(runs) == {"angle": ["on", "off"], "scale": ["1.0", "2.0"]}
    changed = sweep_effects.changed_fields(runs).filter(doc_id="p")
    rows = {
        setting: dict(rows.select("path", "change").rows())
        for (setting,), rows in changed.group_by("setting")
    }
    assert rows == {
        # b is gained at both scales, c at 2.0; d is lost at 1.0.
        "angle=off": {"/b": "gained", "/c": "gained", "/d": "lost"},
        # With the angle off both c and d are gained at the other scale.
        "scale=2.0": {"/c": "gained", "/d": "gained"},
        # c: 1 - 0 - 0 + 0; d: 1 - 0 - 1 + 1.
        "angle=off with scale=2.0": {"/c": "gained", "/d": "gained"},
    }
    table = sweep_effects.setting_effects(runs).filter(pl.col("gained").is_not_null())
    counts = dict(zip(table["term"], table.select("gained", "lost").rows(), strict=True))
    assert counts == {"angle": (4, 2), "scale": (4, 0), "angle × scale": (4, 0)}
    # The runs in which c changes: the angle at scale 2.0, the scale with the angle off.
    seen = changed.filter(path="/c").select("setting", "run_a", "run_b").rows()
    assert seen == [("angle=off", 2, 3), ("scale=2.0", 1, 3), ("angle=off with scale=2.0", 0, 3)]
