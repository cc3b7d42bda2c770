import polars as pl

from formlab import tables
from formlab.charts import Caption, edit_trees
from formlab.charts.trees import LINES, SIGNS, edit_lines
from formlab.metrics.tree import OPS
from tests.charts.conftest import node

HOSTILE = "<script>alert(1)</script>\x00\u202e\u2028"


def sizes(distance=1.0, count=1):
    return pl.DataFrame(
        {
            "doc_id": [str(i + 1) for i in range(count)], "system": "x", "nodes": 9, "given": 9,
            "distance": distance, "similarity": 0.5, "settings": "b:s",
        }
    )  # fmt: skip


def test_lines_pair_gold_and_prediction_in_reading_order(tree_cases):
    lines = edit_lines(tree_cases.filter(doc_id="1"))
    assert lines.select("op", "gold", "pred", "gold_indent").rows() == [
        ("kept", "A", "A", 0),
        ("renamed", "c", "C", 14),
        ("moved", "d", "d (now in B)", 14),
        ("deleted", "e", None, 14),
        # B and its five fields have no edit at or below them.
        ("kept", "⋯ 6 kept", "⋯ 6 kept", 0),
        ("inserted", None, "F", 0),
    ]


def test_short_runs_are_not_folded_and_depths_are_those_of_the_paths():
    paths = ("/A", "/A/b", "/A/b/c")
    rows = [node("kept", path, path, depth) for depth, path in enumerate(paths, start=1)]
    rows += [node("deleted", "/A/b/c/d", None, 4), node("kept", "/E", "/E", 1)]
    lines = edit_lines(tables.table("cases", rows))
    assert lines["gold"].to_list() == ["A", "b", "c", "d", "E"]
    assert lines["gold_indent"].to_list() == [0, 14, 28, 42, 0]
    moved = tables.table("cases", [node("renamed", "/A", "/B/C", 1)])
    assert edit_lines(moved)["pred_indent"].to_list() == [14]
    linked = tables.table("cases", [node("moved", "/entities/3", "/entities/3", 1)])
    assert edit_lines(linked).select("pred", "pred_indent").row(0) == ("3", 0)


def test_names_are_one_short_printable_line():
    rows = [node("deleted", f"/{name}", None, 1) for name in (HOSTILE[:20], "x" * 5_000_000, " ")]
    rows[0]["gold"] = HOSTILE
    names = edit_lines(tables.table("cases", rows))["gold"].to_list()
    assert names[0] == "<script>alert(1)</script>··"
    assert len(names[1]) < 50
    assert names[2] == "(no name)"
    spec = edit_trees(tables.table("cases", rows), sizes())[1].to_dict()
    assert "\x00" not in str(spec)


def test_worst_forms_are_drawn_with_a_caption_each_and_long_ones_are_cut(tree_cases):
    shown = edit_trees(tree_cases, sizes(count=2), limit=2)
    assert [isinstance(part, Caption) for part in shown] == [True, False, True, False]
    assert "tree edit distance 1.00" in shown[0].text
    text = shown[1].to_dict()["description"]
    assert text.startswith("Gold and predicted tree of 1: ")
    assert "1 moved" in text
    rows = [node("deleted", f"/{i}", None, 1) for i in range(LINES + 5)]
    caption, chart = edit_trees(tables.table("cases", rows), sizes())
    assert f"The first {LINES} of {LINES + 5} lines are shown." in caption.text
    lines = {row["line"] for data in chart.to_dict()["datasets"].values() for row in data}
    assert max(lines) == LINES - 1


def test_nothing_to_draw_is_a_note(tree_cases):
    assert set(SIGNS) == set(OPS)
    for table, text in ((sizes(0.0), "No tree differs"), (sizes().clear(), "No trees were")):
        (shown,) = edit_trees(tree_cases, table)
        assert (shown.label, shown.text[: len(text)]) == ("Note", text)
