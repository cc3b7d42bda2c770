import polars as pl
import pytest

from formlab.charts import Caption, edit_bars, edit_table, size_caption, size_dots, structure_cards
from formlab.charts.layout import OP_COLOURS
from formlab.metrics.tree_edits import OPS

SIZES = pl.DataFrame(
    {
        "doc_id": ["1", "2", "3"], "system": "x", "nodes": [9, 5, 1], "groups": [2, 2, 0],
        "levels": [2, 2, 1], "given": [9, 5, 1], "distance": [3.0, 2.0, 0.0],
        "similarity": [0.5, 0.6, 1.0], "settings": "b:s|tree_edit_distance",
    }
)  # fmt: skip


def data(chart):
    spec = chart.to_dict()
    return spec["datasets"][spec["data"]["name"]]


def test_every_edit_has_a_colour_of_its_own():
    assert set(OP_COLOURS) == set(OPS)
    assert len(set(OP_COLOURS.values())) == len(OPS)


def test_bars_are_shares_of_the_nodes_of_a_depth(tree_cases):
    # Depth 1: A, B and the A of form 2 kept, F inserted. Depth 2: 5 kept and 3 edits.
    shares = {(row["depth"], row["subtype"]): row["share"] for row in data(edit_bars(tree_cases))}
    assert shares == {
        (1, "kept"): 0.75, (1, "inserted"): 0.25, (2, "kept"): 5 / 8, (2, "renamed"): 1 / 8,
        (2, "deleted"): 1 / 8, (2, "moved"): 1 / 8,
    }  # fmt: skip
    assert "depth 1: 75% kept" in edit_bars(tree_cases).to_dict()["description"]


def test_edits_are_listed_by_what_they_cost(tree_cases):
    frame = edit_table(tree_cases).frame
    assert frame["subtype"].to_list()[0] == "moved"
    assert frame["subtype"].to_list()[-1] == "kept"
    # 1/3 + 2/3 + 1/3 + 1/2 = 11/6, of which the move is 2/3.
    assert frame["cost"].sum() == pytest.approx(11 / 6)
    assert frame["share_of_cost"][0] == pytest.approx(4 / 11)


def test_cards_name_the_most_costly_edit(tree_cases, summary_of):
    summary = summary_of(("tree_similarity", "all", 0.5), ("tree_edit_distance", "all", 2.0))
    shown = structure_cards(summary, tree_cases)
    assert [card.value for card in shown.cards] == [0.5, 2.0, 8 / 12]
    assert shown.finding == (
        "x builds trees with a similarity of 0.50; nodes that are moved make 0.36 of the cost."
    )


def test_every_form_is_a_point_in_every_panel():
    rows = data(size_dots(SIZES))
    assert len(rows) == 9
    assert {row["count"] for row in rows if row["size"] == "groups"} == {2, 0}


def test_caption_tells_correlations_with_interval_and_settings():
    said = size_caption(SIZES, resamples=50, seed=1)
    assert "nodes 1.00 (" in said.text
    assert "n = 3 forms" in said.text
    assert said.settings.endswith("|ci=bootstrap,documents,n=50,level=0.95,seed=1")


def test_without_trees_there_are_notes(tree_cases, summary_of):
    none = tree_cases.clear()
    for shown in (edit_bars(none), edit_table(none), size_dots(SIZES.clear())):
        assert isinstance(shown, Caption)
        assert shown.label == "Note"
    assert structure_cards(summary_of(), none).finding.startswith("No trees were compared")
    assert "Nothing was compared" in size_caption(SIZES.clear()).text
