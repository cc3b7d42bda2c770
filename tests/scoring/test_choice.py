"""Which documents are scored, and what is said of the others."""

import dataclasses
from pathlib import Path

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from formlab import analysis, benchmarks, tables
from formlab.errors import DataBroken, DataMissing, UnknownName
from formlab.folders import Predictions
from formlab.scoring import batches


def predictions(corpus, names):
    """The gold of some documents as a system's answers, every fifth value cut short."""
    nth = pl.int_range(pl.len()) % 5 == 0
    value = pl.when(nth).then(pl.col("value").str.head(3)).otherwise("value")
    records = corpus.records.filter(pl.col("doc_id").is_in(names)).with_columns(
        value.alias("value"), role=pl.lit("prediction"), system=pl.lit("x"), status=pl.lit("ok")
    )
    return Predictions(records, tables.table("responses", []), "x")


def part_run(evaluation):
    count = evaluation.documents.height
    return batches.partial_note(count, evaluation.settings, evaluation.notes)


def response(doc_id, status, **more):
    key = {"benchmark": "funsd", "split": "test", "doc_id": doc_id, "system": "x", "task": "text"}
    return key | {"status": status} | more


@pytest.mark.parametrize("name", ["funsd", "vrdu"])
def test_scores_of_the_answered_are_those_of_a_corpus_cut_by_hand(name):
    corpus = benchmarks.load(name)
    names = corpus.documents["doc_id"].to_list()[1:3]
    found = predictions(corpus, names)
    chosen = analysis.evaluate(corpus, found, documents="answered")
    cut = analysis.evaluate(corpus.filtered(pl.col("doc_id").is_in(names)), found)
    tables_ = [analysis.summarise(one, by=["kind"], resamples=50) for one in (chosen, cut)]
    assert_frame_equal(*(table.drop("settings") for table in tables_), check_exact=True)
    assert_frame_equal(chosen.cases, cut.cases)
    of = f"documents=answered: 2 of {corpus.documents.height}, sha256 "
    assert all(of in settings for settings in tables.readable(tables_[0])["settings"])


@pytest.fixture(scope="module")
def corpus():
    return benchmarks.load("funsd")


@pytest.fixture(scope="module")
def names(corpus):
    return corpus.documents["doc_id"].to_list()


def test_failure_is_an_answer_and_what_was_never_tried_is_none(corpus, names):
    found = dataclasses.replace(
        predictions(corpus, names[:1]),
        responses=tables.table("responses", [
            response(names[1], "refused"),
            # It was tried and crashed; the next one was never asked, the last is of another split.
            response(names[2], "missing", attempts=1),
            response(names[3], "missing"), response(names[4], "missing", attempts=0),
            response(names[5], "ok") | {"split": "train"},
        ]),
    )  # fmt: skip
    assert batches.answered(found, "test") == set(names[:3])


def test_documents_can_be_named_and_the_first_of_them_be_taken(corpus, names):
    found = predictions(corpus, names)
    some = analysis.evaluate(corpus, found, documents=[names[5], names[2]])
    assert some.documents["doc_id"].to_list() == [names[2], names[5]]
    assert some.settings["documents"].startswith("listed: 2 of 8, sha256 ")
    assert some.notes[batches.LEFT_OUT] == 6
    # Predictions for documents left out are no claims about strangers.
    assert set(some.cases["doc_id"]) == {names[2], names[5]}
    one = analysis.evaluate(corpus, found, documents=1)
    assert one.documents["doc_id"].to_list() == names[:1]
    assert one.settings["documents"].startswith("all, the first 1: 1 of 8")
    assert analysis.evaluate(corpus, found, documents=8).settings["documents"] == "all"


def test_what_was_answered_is_said_of_an_evaluation_that_is_opened_and_of_none(
    corpus, names, tmp_path, capsys
):
    analysis.evaluate(corpus, predictions(corpus, names[:3])).save(tmp_path / "e")
    analysis.open_evaluation(tmp_path / "e")
    assert "x on funsd:test: 3 of 8 documents were answered" in capsys.readouterr().err
    assert part_run(analysis.evaluate(corpus, predictions(corpus, names))) == ""
    found = predictions(corpus, names[:1])
    found = dataclasses.replace(found, records=found.records.with_columns(status=pl.lit("missing")))
    every = analysis.evaluate(corpus, found)
    assert part_run(every) == "0 of 8 documents were answered; all of them count as missing"
    with pytest.raises(DataBroken, match="none of the 8 documents of funsd:test was answered"):
        analysis.evaluate(corpus, found, documents="answered")


def test_choice_that_cannot_be_made_names_file_line_and_remedy(tmp_path, names):
    file = tmp_path / "list.txt"
    for absent in (file, tmp_path, "x" * 5000):
        with pytest.raises(DataMissing):
            batches.decide(names, set(), Path(absent), where="x:y")
    for text in ("", "\n \n"):
        file.write_text(text)
        with pytest.raises(DataBroken, match="no document is listed"):
            batches.decide(names, set(), file, where="x:y")
    file.write_text(f"{names[0]}\n\n{names[1]}x\nzzz\n")
    with pytest.raises(UnknownName, match=rf"{names[1]}x.*{file}:3.*Try: .*{names[1]!r}"):
        batches.decide(names, set(), file, where="x:y")
    with pytest.raises(UnknownName, match="choice of documents 'anwsered'"):
        batches.decide(names, set(), "anwsered", where="x:y")
