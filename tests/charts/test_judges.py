import math

import polars as pl
import pytest

from formlab import charts, tables
from formlab.analysis.audit import COLUMNS, Audit
from formlab.charts.judges import NONE, beside_published

ROWS = [
    {"doc_id": "0", "path": "/facts/0", "kind": "number", "gold": "5", "text": "5", "rule": True,
     "judge": True, "final": True},
    {"doc_id": "0", "path": "/facts/1", "kind": "number", "gold": "7", "rule": False,
     "judge": True, "final": False, "override": "rule", "reason": "rule: " + "x" * 200},
    {"doc_id": "1", "path": "/facts/0", "kind": "number", "gold": "9", "rule": False,
     "judge": True, "human": True, "final": True},
]  # fmt: skip


@pytest.fixture
def audit():
    flags = dict.fromkeys(("rule", "judge", "human", "final"), pl.Boolean)
    schema = {name: flags.get(name, pl.String) for name in COLUMNS}
    table = pl.DataFrame([{name: row.get(name) for name in COLUMNS} for row in ROWS], schema)
    kappas = pl.DataFrame(
        [("rule × judge", -0.2, -0.5, 0.3, 3), ("judge × human", *[math.nan] * 3, 1)],
        schema=["raters", "kappa", "ci_low", "ci_high", "n_items"], orient="row",
    )  # fmt: skip
    row = {"metric": "judge_overall", "mode": "official", "level": "page", "value": 5.05}
    summary = tables.table("summary", [row, row | {"mode": "fixed", "value": 4.0}])
    pages = pl.DataFrame({"doc_id": ["0"], "structure_explanation": ["a table is lost"]})
    return Audit(table, kappas, {"judge: facts skipped": 1}, summary=summary, pages=pages)


@pytest.fixture
def printed():
    return charts.published("fincriticaled_table2")


def tables_of(audit, printed):
    shown = charts.audit_figures(audit, printed)
    return [item.frame for item in shown if isinstance(item, charts.Table)]


def test_kappa_stands_beside_the_papers_annotators_or_there_is_a_note(audit, printed):
    shown = beside_published(audit.kappas, printed)
    # The undefined pair is left out; the paper has six pairs and all four together.
    assert shown["raters"][:2].to_list() == ["rule × judge", "annotators 1 × 2"]
    assert shown.height == 1 + 7
    caption, chart, *_ = charts.audit_figures(audit, printed)
    assert "arXiv:2511.14998" in caption.text
    # The axis holds the interval.
    low, high = chart.to_dict()["layer"][-1]["encoding"]["x"]["scale"]["domain"]
    assert low <= -0.5
    assert high >= 0.3
    (note,) = charts.audit_figures(Audit(), printed)
    assert (note.label, note.text) == ("Note", NONE)


def test_tables_count_raters_overrides_and_oddities(audit, printed):
    scores, pages, raters, overruled, odd = tables_of(audit, printed)
    assert scores.select("score", "kind", "counts", "value").rows() == [
        ("overall score, of 10", "all", "verdicts verified", 4.0),
        ("overall score, of 10", "all", "as the judge says", 5.05),
    ]
    assert pages.rows() == [("0", "a table is lost")]
    assert raters.rows() == [
        ("rule", 3, pytest.approx(1 / 3)), ("judge", 3, 1.0), ("human", 1, 1.0),
    ]  # fmt: skip
    assert overruled["path"].to_list() == ["/facts/1"]
    # A long reason is cut.
    assert len(overruled["reason"][0]) == 81
    # Who fell for the text: not the rule, but the judge.
    assert odd.rows() == [("judge: facts skipped", 1)]
