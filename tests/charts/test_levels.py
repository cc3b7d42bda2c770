from formlab import tables
from formlab.benchmarks import BENCHMARKS
from formlab.charts import levels_table
from formlab.charts.levels import LEVELS
from formlab.tables import Evaluation


def test_every_task_is_on_one_level_and_a_click_on_two():
    placed = [task for members in LEVELS.values() for task in members]
    # A click is right where it hits its field (locating), and by what is entered there (acting).
    assert sorted(placed) == sorted([*tables.TASKS, "click"])


def test_every_benchmark_answers_for_some_level():
    frame = levels_table().frame
    assert frame["benchmark"].to_list() == list(BENCHMARKS)
    assert all(any(row[level] for level in LEVELS) for row in frame.to_dicts())


def test_text_among_other_modalities_is_read_too():
    rows = {row["benchmark"]: row for row in levels_table().frame.to_dicts()}
    assert rows["formcraft"]["reading"] == "text, marking, visual, cross"
    assert rows["formcraft"]["structuring"] == "layout"
    assert rows["formcraft"]["relating"] == "vqa, consistency"
    assert rows["sroie"]["structuring"] is None


def test_note_tells_what_the_evaluation_scored(tree_cases):
    none = {name: tables.table(name, []) for name in ("documents", "scores")}
    shown = Evaluation(**none, cases=tree_cases, benchmark="b", split="s", system="x")
    assert levels_table(shown).note == "Scored in this evaluation of b: structuring: layout."
