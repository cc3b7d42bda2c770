import dataclasses

import polars as pl
import pytest

from formlab import analysis, benchmarks, tables
from formlab.folders import Predictions
from formlab.systems import chat
from tests.analysis.made_pairs import built
from tests.systems.scripted_server import serving

KEY = {"benchmark": "funsd", "split": "test", "system": "x"}


def evaluation(rows, *, system="x", responses=None):
    """From (document, kind, outcome, status, cause) of each field."""
    cases = [
        {
            "doc_id": doc, "path": f"/{n}", "task": "text", "kind": kind, "outcome": outcome,
            "status": status, "cause": cause, "gold": None if outcome == "spurious" else "g",
        }
        for n, (doc, kind, outcome, status, cause) in enumerate(rows)
    ]  # fmt: skip
    made = built(cases, **KEY | {"system": system})
    if responses is None:
        return made
    calls = [KEY | {"doc_id": "1", "task": "text", "status": "ok"} | call for call in responses]
    tables_of = tables.table("records", []), tables.table("responses", calls)
    return dataclasses.replace(made, predictions=Predictions(*tables_of, system))


FIELDS = [
    ("1", "a", "match", "ok", None),
    ("1", "a", "mismatch", "ok", "digit"),
    ("1", "b", "mismatch", "ok", "digit"),
    ("1", "b", "missing", "ok", "missed"),
    ("2", "a", "missing", "refused", "refused"),
    ("2", "b", "spurious", "ok", "spurious"),
]


def test_runs_count_documents_and_values_by_what_became_of_them():
    row = analysis.runs([evaluation(FIELDS)]).row(0, named=True)
    assert [row[name] for name in ("documents", "answered", "values")] == [2, 2, 5]
    assert [row[name] for name in ("right", "wrong", "missing", "spurious")] == [1, 2, 2, 1]
    assert row["calls"] is None


def test_time_and_money_are_summed_where_they_are_told():
    responses = [
        {"seconds": 1.5, "tokens_in": 10, "tokens_out": 5, "cost": None},
        {"seconds": 0.5, "tokens_in": 20, "tokens_out": None, "cost": None},
    ]
    row = analysis.runs([evaluation(FIELDS, responses=responses)]).row(0, named=True)
    assert (row["calls"], row["seconds"], row["tokens"], row["cost"]) == (2, 2.0, 15, None)
    assert row["page_cer"] is None


FORM = '{"fields": [{"label": "Name", "value": "Ada"}]}'
STEPS = (FORM, f"Here: {FORM}", "no form", "refused", "truncated", "too_large", FORM, "{}")


def test_answers_are_counted_by_what_became_of_them(tmp_path, monkeypatch):
    """Eight forms: two answers valid, two without a form in them, one of each other status."""
    monkeypatch.setenv("FORMLAB_REPORT", "1")
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    corpus = benchmarks.load("formcraft")
    with serving(*STEPS) as server:
        settings = {"base_url": server.url, "tasks": "extraction", "concurrency": 1}
        settings |= {"attempts": 1}
        made = chat.system("chat:m").run(corpus, out=tmp_path, settings=settings, limit=8)
    evaluation = analysis.evaluate(corpus, made)
    counts = analysis.answers([evaluation])
    assert dict(counts.select("status", "answers").rows()) == {
        "ok": 2, "repaired": 1, "bad_json": 2, "refused": 1, "truncated": 1, "api_error": 1,
    }  # fmt: skip
    assert set(counts["task"]) == {"layout"}
    # Shares are of one system and benchmark each.
    other = evaluation.scores.with_columns(benchmark=pl.lit("vrdu"))
    both = [evaluation, dataclasses.replace(evaluation, scores=other)]
    shares = analysis.answers(both).group_by("benchmark").agg(pl.col("share").sum())
    assert shares["share"].to_list() == pytest.approx([1, 1])


def test_pages_come_by_word_errors_and_the_parts_sum(evaluate):
    # Form a: "name: ada berg"; two of three words are read, "berg" is lost. Form b: none is read.
    result = evaluate({"doc_id": "a", "text": "Name: Ada"}, {"doc_id": "b", "text": ""})
    pages = analysis.worst_pages(result)
    first, second = pages.to_dicts()
    assert (first["doc_id"], first["wer"], first["omitted"], first["words"]) == ("b", 1, 1, 2)
    assert (second["doc_id"], second["wer"]) == ("a", pytest.approx(1 / 3))
    assert second["omitted"] == pytest.approx(1 / 3)
    # "Name:" is found; "Ada Berg" is not; the empty field is rightly empty.
    assert (second["fields"], second["wrong"], second["missed"]) == (3, 1, 1)
    assert analysis.worst_pages(result, limit=1)["doc_id"].to_list() == ["b"]
