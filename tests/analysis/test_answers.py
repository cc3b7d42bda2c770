import polars as pl
import pytest

from formlab import analysis, benchmarks, tables
from formlab.folders import Predictions
from formlab.systems import chat
from tests.systems.scripted_server import serving

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
    both = [evaluation, type(evaluation)(**vars(evaluation) | {"scores": other})]
    shares = analysis.answers(both).group_by("benchmark").agg(pl.col("share").sum())
    assert shares["share"].to_list() == pytest.approx([1, 1])


def test_where_no_model_was_asked_there_are_no_answers():
    corpus = benchmarks.load("formcraft")
    read = Predictions(
        records=corpus.records.with_columns(role=pl.lit("prediction"), system=pl.lit("s")),
        responses=tables.table("responses", []), system="s",
    )  # fmt: skip
    assert not analysis.answers([analysis.evaluate(corpus, read)]).height
