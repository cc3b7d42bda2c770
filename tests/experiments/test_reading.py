"""Pages of an experiment go through run and scoring as they are."""

import polars as pl

import formlab
from formlab.folders import Evaluation
from formlab.systems import System
from formlab_experiments import read_and_score


def reader(pages):
    def read(document, root):
        pages.append(document["doc_id"])
        return [{"task": "text", "kind": "page", "value": "Name: Ada Berg"}]

    return System("fake", "a page", start=lambda *_: read, defaults={"size": 1})


def test_a_second_call_reads_no_page_again_and_gives_the_same(funsd_root, tmp_path):
    corpus, pages = formlab.load("funsd", root=funsd_root, split="test"), []
    documents = corpus.documents.with_columns(page_of=pl.lit("x"), amount=pl.lit(1.0))
    corpus = type(corpus)(**vars(corpus) | {"documents": documents})
    first = read_and_score(corpus, reader(pages), out=tmp_path)
    again = read_and_score(corpus, reader(pages), out=tmp_path)
    assert pages == ["a", "b"]
    assert first.cases.equals(again.cases)
    assert first.documents["page_of"].to_list() == ["x", "x"]
    assert Evaluation.load(tmp_path / "evals" / "fake").scores.equals(first.scores)


def test_changed_settings_are_another_run(funsd_root, tmp_path):
    corpus, pages = formlab.load("funsd", root=funsd_root, split="test"), []
    for size in (1, 2):
        read_and_score(corpus, reader(pages), out=tmp_path, settings={"size": size})
    assert {file.name for file in (tmp_path / "runs").iterdir()} == {"fake", "fake(size=2)"}


def test_of_a_part_of_the_pages_no_other_page_counts(funsd_root, tmp_path):
    corpus = formlab.load("funsd", root=funsd_root, split="test")
    scored = read_and_score(corpus, reader([]), out=tmp_path, limit=1)
    assert scored.documents["doc_id"].to_list() == ["a"]


def test_large_corpora_are_scored_in_parts_to_the_same_cases(funsd_root, tmp_path, monkeypatch):
    corpus = formlab.load("funsd", root=funsd_root, split="test")
    whole = read_and_score(corpus, reader([]), out=tmp_path / "whole")
    monkeypatch.setattr("formlab.benchmarks.BATCH", 2)
    parts = read_and_score(corpus, reader([]), out=tmp_path / "parts")
    assert parts.cases.sort("doc_id", "path").equals(whole.cases.sort("doc_id", "path"))
