"""Numbers that cells of notebooks compute, on frames made by hand."""

from pathlib import Path
from types import SimpleNamespace

import nbformat
import polars as pl
import pytest

from formlab import analysis, charts, folders, metrics, tables
from formlab.analysis.overview import RUNS
from formlab.benchmarks.formcraft.taxonomy import RELATIONS
from tests.charts.conftest import item, row, tree_cases  # noqa: F401
from tests.made_slices import of

NOTEBOOKS = Path(__file__).parents[1] / "notebooks"
KEY = {"benchmark": "funsd", "split": "test", "system": "ocr"}


def run(notebook, cells, **given):
    """What cells of a notebook leave behind, `shown` among it, where `given` stands before."""
    shown = []
    space = {"pl": pl, "analysis": analysis, "charts": charts, "metrics": metrics}
    space |= {"display": lambda *parts: shown.extend(parts), "shown_parts": shown} | given
    for cell in nbformat.read(NOTEBOOKS / f"{notebook}.ipynb", as_version=4).cells:
        if cell.id in cells:
            exec(compile(cell.source, cell.id, "exec"), space)
    return space


def test_edits_are_counted_with_their_shares_of_nodes_and_cost(tree_cases):  # noqa: F811
    nodes = tree_cases.filter(level="node").drop_nulls("subtype")
    distance = tables.table("summary", [])
    space = run("20_layout_structure", ["edits-chart", "edits-table"], nodes=nodes, trees=distance)
    edits = space["edits"]
    assert edits.select("subtype", "nodes", "forms").rows()[0] == ("moved", 1, 1)
    assert dict(edits.select("subtype", "nodes").rows()) == {
        "moved": 1, "inserted": 1, "renamed": 1, "deleted": 1, "kept": 8,
    }  # fmt: skip
    sums = edits.select(pl.col("share_of_nodes", "share_of_cost").sum()).row(0)
    assert sums == pytest.approx((1, 1))
    # The cost is 1/3 + 2/3 + 1/3 + 1/2.
    assert edits.filter(subtype="moved")["share_of_cost"][0] == pytest.approx((2 / 3) / (11 / 6))
    first = space["depths"].filter(depth=1)
    assert dict(first.select("subtype", "share").rows()) == {"kept": 0.75, "inserted": 0.25}
    assert set(first["of"]) == {4}


def test_cells_of_relations_count_items_and_right_ones():
    items = tables.table("cases", [
        item("vqa", 1, "intra-group", "constraint", "simple", "single-modality", True),
        item("vqa", 2, "intra-group", "constraint", "simple", "cross-modality", False),
        item("vqa", 3, "cross-page", "direct-link", "chained", "single-modality", True),
        item("consistency", 1, "inter-group", "constraint", "compound", "cross-modality", False),
    ]).with_columns(level=pl.lit("question"))  # fmt: skip
    result = type("Result", (), {"cases": items})
    whole = tables.table("summary", [row("vqa_accuracy", "all", 0.5)])
    whole = whole.with_columns(task=pl.lit("questions"))
    space = run("30_semantic_relations", ["cells-chart"], result=result, whole=whole, how="",
                of=whole, RELATIONS=RELATIONS, differ=True, alike="")  # fmt: skip
    cells = space["cells"].select("task", "scope", "complexity", "count", "value").rows()
    # Single and cross modality are one cell here: one of two simple questions is right.
    assert set(cells) == {
        ("questions", "intra-group", "simple", "1 of 2", 0.5),
        ("questions", "cross-page", "chained", "1 of 1", 1.0),
        ("consistency checks", "inter-group", "compound", "0 of 1", 0.0),
    }
    # Of 2 · 3 · 3 · 3 cells those without an item stand there as well, and are empty.
    drawn = space["heat"].to_dict()
    panel = drawn["spec"]["layer"][0]["encoding"]
    assert [len(panel[side]["scale"]["domain"]) for side in ("x", "y")] == [3, 3]


def test_structure_counts_every_level_also_those_without_a_page():
    pages = pl.DataFrame({"doc_id": ["1", "2"], "structure": [2, 0]})
    whole = tables.table("summary", [])
    space = run("60_financial_facts", ["structure-pages-kept-1"], pages=pages, whole=whole,
                tables=tables)  # fmt: skip
    (bars,) = (part for part in space["shown_parts"] if not isinstance(part, charts.Caption))
    drawn = next(iter(bars.to_dict()["datasets"].values()))
    assert [(row["kept"], row["pages"]) for row in drawn] == [
        ("2: kept", 1), ("1: partly", 0), ("0: lost", 1),
    ]  # fmt: skip


def test_wrong_facts_come_from_the_worst_pages_first():
    shown = []
    stub = SimpleNamespace(errors=lambda cases, **_: shown.append(cases))
    pages = pl.DataFrame({"doc_id": ["b", "c", "a"], "wrong": [3, 2, 0]})
    wrong = pl.DataFrame({"doc_id": ["a", "b", "c", "b"], "path": ["/0", "/1", "/2", "/3"]})
    result = SimpleNamespace(root=None, documents=None, scores=None)
    run("60_financial_facts", ["pages-have-most-2"], pages=pages, wrong=wrong, worst=2,
        result=result, gallery=stub, facts=tables.table("summary", []))  # fmt: skip
    assert shown[0].rows() == [("b", "/1"), ("b", "/3"), ("c", "/2")]


def test_nearest_fields_are_counted_by_the_field_that_was_meant():
    missed = pl.DataFrame({
        "template": ["A", "A", "A"], "path": ["/a", "/a", None], "near": ["/b", "/b", "/c"],
        "near_distance": [0.0, 6.0, 2.0], "distance": [30.0, 50.0, None], "doc_id": ["1", "1", "2"],
    })  # fmt: skip
    meant = run("40_form_filling", ["far-clicks-miss-2"], missed=missed)["meant"]
    # Two clicks meant for /a hit /b or were next to it; the median of 30 and 50 is 40.
    assert meant.rows() == [("A", "/a", "/b", 2, 1, 40.0), ("A", None, "/c", 1, 0, None)]


def test_wrong_values_are_counted_by_cause_and_by_kind():
    first = {"level": "field", "task": "text", "doc_id": "1", "gold": "x", "outcome": "mismatch"}
    rows = [
        first | KEY | {"path": f"/{n}", "kind": kind, "cause": cause}
        for n, (kind, cause) in enumerate((
            ("date", "wrong_row"), ("date", "digit"), ("name", "digit"), ("name", "lookalike"),
        ))
    ]  # fmt: skip
    rows += [first | KEY | {"path": f"/{n}", "kind": "name", "outcome": "match"} for n in (8, 9)]
    empty = {name: tables.table(name, []) for name in ("documents", "scores")}
    one = folders.Evaluation(cases=tables.table("cases", rows), **empty, **KEY)
    run_name = pl.format("{} on {}:{}", "system", "benchmark", "split")
    shown = run("00_overview", ["07c77488"], results=[one], run=run_name)["shown_parts"]
    by_cause, by_kind = (part.frame for part in shown if isinstance(part, charts.Table))
    assert by_cause.drop("run").rows() == [
        ("digit", 2, 0.5), ("lookalike", 1, 0.25), ("wrong row", 1, 0.25),
    ]  # fmt: skip
    assert by_kind.drop("run").rows() == [("date", 2, 2, 0.5), ("name", 4, 2, 0.5)]


def test_cards_of_runs_are_of_one_run_each(monkeypatch):
    rows = [
        KEY | {"mode": "fixed", "documents": 4, "answered": 3, "values": 8, "right": 6},
        KEY | {"documents": 4, "answered": 4, "values": 0, "right": 0, "page_cer": 0.25},
    ]
    runs = pl.DataFrame([{name: r.get(name) for name in RUNS} for r in rows], schema=RUNS)
    monkeypatch.setattr(analysis, "open_all", lambda _: [])
    monkeypatch.setattr(analysis, "runs", lambda _: runs)
    monkeypatch.setattr(analysis, "findings", lambda *_, **__: [])
    given = {"evaluations": [], "most": 5, "resamples": 0, "seed": 0}
    space = run("00_overview", ["summarise"], **given)
    values = space["all_cards"]["value"].to_list()
    assert values == [0.75, 0.25]
    assert space["all_cards"]["of"][0] == "6 of 8 values; 3 of 4 documents have a usable answer"
    assert "2 of 8 values are not right" in space["counts"]


def test_published_figures_that_are_not_drawn_say_why():
    scores = [
        KEY | {"metric": metric, "value": 0.5, "mode": mode, "settings": {}, "n_docs": 2,
               "n_cases": 4, "benchmark": benchmark} | of("all", metric)
        for metric, mode, benchmark in (
            ("consistency_accuracy", "fixed", "formcraft"), ("micro_f1", "fixed", "vrdu"),
        )
    ]  # fmt: skip
    heads = analysis.headlines(tables.table("summary", scores))
    name = pl.format("{} on {}:{}", "system", "benchmark", "split")
    cells = ["levels-reading", "levels-reading-2"]
    given = {"run": name, "done": ["relating", "locating"], "named": pl.col("metric")}
    space = run("90_cross_benchmark", cells, heads=heads, **given)
    why = {row["metric"]: row["why"] for row in space["rest"].to_dicts()}
    assert "the paper checks every field of a relation" in why["consistency_accuracy"]
    assert why["micro_f1"] == "nothing here was scored by it in this mode"
    assert not space["equal"].height
