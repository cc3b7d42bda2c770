"""A judge's scores over pages, beside those of the rules."""

import json

import polars as pl
import pytest

from formlab import tables
from formlab.analysis import open_audit
from formlab.analysis.judge_scores import judge_scores

from .test_audit import judged, of_pages


@pytest.fixture
def evaluation(tmp_path):
    return of_pages(tmp_path)


def figures(scores, mode):
    rows = scores.filter(pl.col("slice_by").is_null(), mode=mode)
    rows = rows.group_by("metric").agg(pl.col("hits").sum(), pl.col("total").sum())
    return {metric: (hits, total) for metric, hits, total in rows.iter_rows()}


def test_scores_are_those_of_the_pages_that_were_answered(evaluation):
    # Of three pages with two facts each: the judge calls page 0 wholly right, with structure 2,
    # refuses page 1, and gives page 2, of which nothing was read, structure 0 and one right fact.
    raw = {
        "0": judged((True, True)) | {"structure_score": 2, "overall_score": 9},
        "1": {"status": "refused", "error": "declined", "entity_diagnostics": []},
        "2": judged((True, False)) | {"structure_score": 0},
    }
    scores = judge_scores(evaluation.corpus, evaluation.predictions, raw)
    tables.check("scores", scores)
    official, fixed = figures(scores, "official"), figures(scores, "fixed")
    assert official["judge_entity_accuracy"] == (3, 4)
    # Nothing stands on the empty page.
    assert fixed["judge_entity_accuracy"] == (2, 4)
    assert fixed["judge_structure"] == (2, 2)
    # 2 × 2 + 5 × 2/2 = 9, and 2 × 0 + 5 × 0/2 = 0.
    assert fixed["judge_overall"] == (9, 2)
    assert official["judge_overall"] == (9 + 2.5, 2)
    assert fixed["judge_overall_stated"] == (9, 1)
    page = scores.filter(metric="judge_overall", mode="fixed", doc_id="1")
    assert page["value"].is_nan().all()


def test_an_audit_has_scores_to_summarise_and_the_words_of_the_judge(evaluation, tmp_path):
    file = tmp_path / "judge.json"
    raw = {str(n): judged((True, True)) | {"structure_score": 1} for n in range(2)}
    raw["0"]["structure_explanation"] = "one table is lost"
    raw["2"] = {"status": "truncated", "error": "cut short", "entity_diagnostics": []}
    file.write_text(json.dumps(raw))
    audit = open_audit(evaluation, file, resamples=0)
    assert audit.notes["judge: pages without verdicts, truncated"] == 1
    assert audit.table.filter(doc_id="2")["judge"].null_count() == 2
    assert audit.pages.rows()[0][-2:] == ("one table is lost", None)
    assert audit.pages.select("doc_id", "status", "error").row(2) == ("2", "truncated", "cut short")
    (row,) = audit.summary.filter(metric="judge_structure", mode="official").to_dicts()
    assert (row["value"], row["n_cases"], row["n_undefined"]) == (1, 3, 1)
    by_kind = audit.summary.filter(metric="judge_entity_accuracy", slice_by="kind", mode="official")
    assert by_kind.select("slice_value", "value").rows() == [("number", 1.0)]
