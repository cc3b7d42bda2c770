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
