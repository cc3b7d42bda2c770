import polars as pl

from formlab import tables
from formlab.charts import edit_trees
from formlab.charts.trees import edit_lines
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


def test_names_are_one_short_printable_line():
    rows = [node("deleted", f"/{name}", None, 1) for name in (HOSTILE[:20], "x" * 5_000_000, " ")]
    rows[0]["gold"] = HOSTILE
    names = edit_lines(tables.table("cases", rows))["gold"].to_list()
    assert names[0] == "<script>alert(1)</script>··"
    assert len(names[1]) < 50
    assert names[2] == "(no name)"
    spec = edit_trees(tables.table("cases", rows), sizes())[1].to_dict()
    assert "\x00" not in str(spec)
