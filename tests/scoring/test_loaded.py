"""A run scored by those who open their own shards is what it is in one piece."""

import dataclasses
import json

import polars as pl
import pytest

from formlab import benchmarks, files, tables
from formlab.folders import Evaluation, Predictions
from formlab.scoring import loaded, part


@pytest.fixture
def run(tmp_path):
    """Half right, with a document without an answer, another split's and one of no split."""
    corpus = benchmarks.load("vrdu")
    last = corpus.documents["doc_id"][-1]
    value = pl.when(pl.int_range(pl.len()) % 2 == 0).then(pl.col("value")).otherwise(pl.lit("x"))
    rows = corpus.records.with_columns(
        role=pl.lit("prediction"), system=pl.lit("half"), value=value
    )
    others = [rows.head(2).with_columns(pl.lit("y").alias(name)) for name in ("doc_id", "split")]
    records = pl.concat([rows.filter(pl.col("doc_id") != last), *others])
    answers = Predictions(records, tables.table("responses", []), "half", notes={"odd": 3})
    return dataclasses.replace(answers, sources={"a": "b"}).save(tmp_path / "run")


@pytest.mark.parametrize("chosen", [[], ["--documents", "2"], ["--documents", "answered"]])
def test_summary_is_that_of_one_piece(run, tmp_path, formlab, monkeypatch, chosen):
    score = ("score", "vrdu", "--predictions", run, "--resamples", "20", "--json", *chosen)
    whole = formlab(*score, "--out", tmp_path / "whole")
    assert whole.exit_code == 0, whole.stderr
    monkeypatch.setattr(part, "SHARD", 1)
    assert len(loaded.sources("vrdu", run, root=None, split=None)) > 2
    monkeypatch.setattr(benchmarks, "load", lambda *_, **__: pytest.fail("all is loaded"))
    cut = formlab(*score, "--out", tmp_path / "cut")
    assert cut.exit_code == 0, cut.stderr
    assert json.loads(cut.stdout) == json.loads(whole.stdout)
    evaluations = [Evaluation.load(tmp_path / name) for name in ("whole", "cut")]
    facts = [(e.notes, e.sources, e.settings) for e in evaluations]
    assert facts[0] == facts[1]
    counts = [e.cases.group_by("doc_id", "outcome").len().sort(pl.all()) for e in evaluations]
    assert counts[0].equals(counts[1])


def test_a_list_of_documents_is_checked_against_all_shards(run, tmp_path, formlab, monkeypatch):
    monkeypatch.setattr(part, "SHARD", 1)
    names = tmp_path / "names.txt"
    names.write_text(f"{benchmarks.load('vrdu').documents['doc_id'][0]}\nnobody\n")
    result = formlab("score", "vrdu", "--predictions", run, "--documents", names)
    assert result.exit_code == 2
    assert "names.txt:2" in result.stderr


def test_what_may_need_the_whole_is_read_as_one(run, tmp_path):
    lines = tmp_path / "answers.jsonl"
    files.write_jsonl(lines, [{"doc_id": "a", "path": "/x", "value": "1"}])
    assert loaded.sources("vrdu", lines, root=None, split=None) == []
    (run / "manifest.json").rename(run / "run.json")
    assert loaded.sources("vrdu", run, root=None, split=None) == []
