"""What several notebooks show: findings with their links."""

import polars as pl

from formlab import charts, tables
from formlab.analysis import Finding
from formlab.charts._shared import LINKS_VARIABLE


def test_page_of_a_notebook_that_shows_another_sample_is_none_of_a_finding(monkeypatch):
    numbers = {"effect": 0.5, "ci_low": 0.4, "ci_high": 0.6, "n_cases": 4, "n_docs": 2}
    of = {"benchmark": "funsd", "split": "test", "system": "ocr"}
    findings = [Finding("half is lost", "cause", **of, **numbers)]
    monkeypatch.setenv(LINKS_VARIABLE, '{"10_content": [], "20_layout": []}')
    for notebook, pages in (("10_content", ["10_content.html"]), ("20_layout--", [])):
        frame = charts.findings_table(findings, {"funsd": notebook}).frame
        assert (frame["report"].to_list() if "report" in frame.columns else []) == pages


def test_only_a_page_beside_the_report_becomes_a_link():
    names = ["10_a.html", "javascript:alert(1)//.html", "../x.html", "<b>.html"]
    table = charts.Table(pl.DataFrame({"report": names}), links=("report",))
    page = table._repr_mimebundle_()["text/html"]
    assert page.count("<a ") == 1
    assert '<a href="10_a.html">10_a.html</a>' in page


def test_lines_of_two_trees_stand_side_by_side_and_what_is_kept_is_folded():
    rows = [  # path, predicted path, label, predicted label, edit
        ("/A", "/A", "A", "A", "kept"), ("/A/b", None, "b", None, "deleted"),
        (None, "/A/e", None, "e", "inserted"), ("/C", "/C", "C", "C", "kept"),
        *((f"/C/{n}", f"/C/{n}", n, n, "kept") for n in "1234"),
        ("/C/f", "/A/f", "f", "f", "moved"), ("/D", "/D", "D", "D", "kept"),
    ]  # fmt: skip
    names = ("path", "pred_path", "gold", "pred", "subtype")
    same = {"doc_id": "1", "level": "node"}
    cases = [same | dict(zip(names, row, strict=True)) for row in rows]
    for case in cases:
        case["depth"] = (case["path"] or case["pred_path"]).count("/")
    sizes = {"doc_id": "1", "distance": 3.0, "similarity": 0.5, "nodes": 5, "given": 5}
    over, table = charts.edit_trees(tables.table("cases", cases), pl.DataFrame([sizes]))
    assert over.text.startswith("1: 5 nodes in the gold tree, 5 predicted; ")
    assert table.frame.rows() == [
        ("A", "", "A"), ("\u2003b", "deleted", None), (None, "inserted", "\u2003e"),
        ("C", "", "C"), ("\u2003⋯ 4 kept", "", "\u2003⋯ 4 kept"),
        ("\u2003f", "moved", "\u2003f (now in A)"), ("D", "", "D"),
    ]  # fmt: skip
    nothing = charts.edit_trees(tables.table("cases", []), pl.DataFrame([sizes]).clear())
    assert [part.label for part in nothing] == ["Note"]
