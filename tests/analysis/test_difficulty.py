import dataclasses
import importlib
import math

import polars as pl
import pytest

from formlab.analysis.difficulty import by_difficulty, difficulty, ruler_runs
from formlab.errors import DataBroken
from tests.made_forms import made

# Ranks by fields 1, 2, 3, 4; by types 1.5, 1.5, 3, 4: the order is a, b, c, d.
FORMS = {
    "a": (4, 2, [1, 1]), "b": (5, 2, [1, 0]), "c": (9, 3, [0, 0]), "d": (20, 6, [0, 1]),
}  # fmt: skip


def test_forms_are_cut_into_equal_parts_from_easy_to_hard():
    documents = made(FORMS).documents
    assert dict(difficulty(documents, groups=4).rows()) == {"a": 1, "b": 2, "c": 3, "d": 4}
    assert dict(difficulty(documents, groups=2).rows()) == {"a": 1, "b": 1, "c": 2, "d": 2}


def test_instances_of_a_form_and_forms_alike_stay_together():
    documents = made({str(n): (5, 2, [1]) for n in range(4)} | {"z": (9, 3, [1])}).documents
    documents = documents.with_columns(pl.Series("template", ["A", "A", "B", "B", "Z"]))
    groups = difficulty(documents)["group"].to_list()
    assert len(set(groups[:4])) == 1
    assert groups[4] > groups[0]


def test_group_0_is_all_forms_and_runs_stand_side_by_side():
    first = made(FORMS)
    second = made({name: (f, t, [1] * len(v)) for name, (f, t, v) in FORMS.items()})
    runs = {"without ruler": first, "with ruler": second}
    table = by_difficulty(runs, "click_accuracy", groups=2, resamples=100)
    # Groups of the first run: 3 of 4 and 1 of 4; all: 4 of 8.
    own = table.filter(run="without ruler")
    assert own.select("group", "value").rows() == [(0, 0.5), (1, 0.75), (2, 0.25)]
    assert own["fields"].to_list() == ["4–20", "4–5", "9–20"]
    assert own["forms"].to_list() == [4, 2, 2]
    assert table.filter(run="with ruler")["value"].to_list() == [1.0, 1.0, 1.0]


def test_group_of_one_form_has_no_interval():
    table = by_difficulty({"x": made(FORMS)}, "click_accuracy", groups=4, resamples=100)
    assert math.isnan(table.filter(group=1)["ci_low"][0])
    assert not math.isnan(table.filter(group=0)["ci_low"][0])


def test_runs_of_other_forms_are_refused():
    other = made({"a": (4, 2, [1, 1])})
    with pytest.raises(DataBroken, match="3 are in one run alone"):
        by_difficulty({"x": made(FORMS), "y": other}, "click_accuracy")


def test_ruler_runs_are_named_by_how_they_were_made(tmp_path):
    plain = dataclasses.replace(made(FORMS), settings={"system": {"ruler": False}})
    drawn = dataclasses.replace(made(FORMS), settings={"system": {"ruler": True}})
    assert list(ruler_runs(plain)) == ["without ruler"]
    assert list(ruler_runs(drawn)) == ["with ruler"]
    drawn.save(tmp_path)
    found = ruler_runs(plain, tmp_path)
    assert list(found) == ["without ruler", "with ruler"]
    assert found["without ruler"] is plain
    with pytest.raises(DataBroken, match="both runs were made with ruler"):
        ruler_runs(drawn, tmp_path)


def test_sample_is_filled_in_again_with_the_ruler_unless_another_run_is_given(monkeypatch):
    asked = []
    settings = {"system": "m", "ruler": False, "texts": "prose"}
    without = dataclasses.replace(made(FORMS), settings={"system": settings})
    drawn = dataclasses.replace(without, settings={"system": settings | {"ruler": True}})

    def opened(**wanted):
        asked.append(wanted)
        return [drawn]

    # The package's name `difficulty` is the function, not its module.
    module = importlib.import_module("formlab.analysis.difficulty")
    monkeypatch.setattr(module, "open_compared", opened)
    runs = ruler_runs(without, sample=True)
    assert list(runs.values()) == [without, drawn]
    assert asked == [
        {"benchmark": "b", "system": "m", "changes": ({"ruler": True, "texts": "prose"},)}
    ]
    assert list(ruler_runs(without).values()) == [without]
    assert len(asked) == 1
