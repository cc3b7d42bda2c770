import json

from formlab import analysis, charts
from tests.made_forms import made

FORMS = {"a": (4, 2, [1, 1]), "b": (5, 2, [1, 0]), "c": (9, 3, [0, 0]), "d": (20, 6, [0, 1])}


def of(*names):
    runs = {name: made(FORMS) for name in names}
    return analysis.by_difficulty(runs, "click_accuracy", groups=2, resamples=20)


def test_each_run_has_a_dot_for_each_group_which_says_its_bounds():
    chart = charts.difficulty_dots(of("without ruler", "with ruler")).to_dict()
    rows = next(iter(chart["datasets"].values()))
    assert {row["label"] for row in rows} == {
        "0, all: 4–20 fields, 2–6 types", "1: 4–5 fields, 2 types", "2: 9–20 fields, 3–6 types",
    }  # fmt: skip
    assert len(rows) == 6
    assert "without ruler, 1: 4–5 fields, 2 types: 0.750" in chart["description"]
    assert json.dumps(chart, allow_nan=False)


def test_caption_has_the_figures_of_all_forms_and_the_groups_rule():
    caption = charts.difficulty_caption(of("without ruler"), say="Clicks.")
    assert "Over all forms (group 0): without ruler 0.500" in caption.text
    assert "rank by fields" in caption.text


def test_single_run_is_shown_and_noted():
    assert "alone" in charts.ruler_note(of("without ruler")).text
    assert "with ruler" in charts.ruler_note(of("without ruler", "with ruler")).text


def test_without_scores_there_is_a_note():
    empty = analysis.by_difficulty({"x": made(FORMS)}, "cer")
    assert charts.difficulty_dots(empty).label == "Note"
    assert charts.difficulty_caption(empty, say="x").label == "Note"
    assert charts.ruler_note(empty).label == "Note"
