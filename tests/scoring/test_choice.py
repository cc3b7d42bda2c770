import dataclasses

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from formlab import analysis, benchmarks, tables
from formlab.errors import DataBroken, DataMissing, UnknownName
from formlab.folders import Predictions
from formlab.scoring import choice


def predictions(corpus, names, *, wrong=5):
    """The gold of some documents as a system's answers, every fifth value cut short."""
    nth = pl.int_range(pl.len()) % wrong == 0
    value = pl.when(nth).then(pl.col("value").str.head(3)).otherwise("value")
    records = corpus.records.filter(pl.col("doc_id").is_in(names)).with_columns(
        value.alias("value"), role=pl.lit("prediction"), system=pl.lit("x"), status=pl.lit("ok")
    )
    return Predictions(records, tables.table("responses", []), "x")


def by_hand(corpus, names):
    kept = pl.col("doc_id").is_in(names)
    return dataclasses.replace(
        corpus, documents=corpus.documents.filter(kept), records=corpus.records.filter(kept)
    )


def response(doc_id, status, **more):
    key = {"benchmark": "funsd", "split": "test", "doc_id": doc_id, "system": "x", "task": "text"}
    return key | {"status": status} | more


def check_cut(corpus, names):
    found = predictions(corpus, names)
    chosen = analysis.evaluate(corpus, found, documents="answered")
    cut = analysis.evaluate(by_hand(corpus, names), found)
    ours, theirs = (analysis.summarise(one, by=["kind"], resamples=200) for one in (chosen, cut))
    assert_frame_equal(ours.drop("settings"), theirs.drop("settings"), check_exact=True)
    assert_frame_equal(chosen.cases, cut.cases)
    of = f"documents=answered: {len(names)} of {corpus.documents.height}, sha256 "
    assert all(of in settings for settings in tables.readable(ours)["settings"])
    assert choice.part_run(cut) == ""
    every = analysis.evaluate(corpus, found)
    assert every.documents.height == corpus.documents.height
    assert choice.UNANSWERED not in chosen.notes
    assert every.notes[choice.UNANSWERED] == corpus.documents.height - len(names)


@pytest.mark.parametrize("name", ["funsd", "formcraft", "vrdu", "fincriticaled"])
def test_scores_of_the_answered_are_those_of_a_corpus_cut_by_hand(name):
    corpus = benchmarks.load(name)
    check_cut(corpus, corpus.documents["doc_id"].to_list()[1:3])


def test_scores_of_eight_answered_receipts_are_those_of_the_eight(shared):
    corpus = benchmarks.load("sroie", root=shared / "data/sroie")
    names = corpus.documents["doc_id"].to_list()
    # Seventy-two others are enough to be left out.
    check_cut(by_hand(corpus, names[:80]), names[:8])


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
    assert choice.answered(corpus, found) == set(names[:3])


def test_documents_can_be_named_and_the_first_of_them_be_taken(corpus, names):
    found = predictions(corpus, names)
    some = analysis.evaluate(corpus, found, documents=[names[5], names[2]])
    assert some.documents["doc_id"].to_list() == [names[2], names[5]]
    assert some.settings["documents"].startswith("listed: 2 of 8, sha256 ")
    assert some.notes[choice.LEFT_OUT] == 6
    # Predictions for documents left out are no claims about strangers.
    assert set(some.cases["doc_id"]) == {names[2], names[5]}
    one = analysis.evaluate(corpus, found, documents="answered", limit=1)
    assert one.documents["doc_id"].to_list() == names[:1]
    assert one.settings["documents"].startswith("answered, the first 1: 1 of 8")
    assert analysis.evaluate(corpus, found, limit=8).settings["documents"] == "all"


def test_sentence_says_what_was_answered_and_what_was_chosen(corpus, names):
    found = predictions(corpus, names[:3])
    assert choice.part_run(analysis.evaluate(corpus, found)) == (
        "3 of 8 documents were answered; the rest count as missing "
        "(`--documents answered` scores the 3)"
    )
    answered = analysis.evaluate(corpus, found, documents="answered")
    assert choice.part_run(answered) == "Scored on 3 of 8 documents (answered)"
    both = analysis.evaluate(corpus, found, documents=names[2:6])
    assert choice.part_run(both).startswith(
        "Scored on 4 of 8 documents (listed). 1 of 4 documents were answered; the rest"
    )
    whole = analysis.evaluate(corpus, predictions(corpus, names))
    assert choice.part_run(whole) == ""
    assert whole.settings["documents"] == "all"


def test_where_nothing_was_answered_all_is_missing_or_an_error(corpus, names):
    found = predictions(corpus, names[:1])
    found = dataclasses.replace(found, records=found.records.with_columns(status=pl.lit("missing")))
    every = analysis.evaluate(corpus, found)
    assert choice.part_run(every) == "0 of 8 documents were answered; all of them count as missing"
    with pytest.raises(DataBroken, match="none of the 8 documents of funsd:test was answered"):
        analysis.evaluate(corpus, found, documents="answered")


def test_choice_that_cannot_be_made_is_an_error_that_names_what_is_there(corpus, names):
    found = predictions(corpus, names)
    with pytest.raises(UnknownName, match="unknown document 'zzz'.*funsd:test"):
        analysis.evaluate(corpus, found, documents=["zzz"])
    with pytest.raises(UnknownName, match="choice of documents"):
        analysis.evaluate(corpus, found, documents="anwsered")
    with pytest.raises(DataBroken, match="empty list"):
        analysis.evaluate(corpus, found, documents=[])


def test_list_names_file_line_and_remedy_of_what_is_wrong(tmp_path, names):
    file = tmp_path / "list.txt"
    for absent in (file, tmp_path, "x" * 5000):
        with pytest.raises(DataMissing, match="no such list"):
            choice.listed(absent)
    file.write_text("\n \n")
    with pytest.raises(DataBroken, match="is empty"):
        choice.listed(file)
    file.write_text(f"{names[0]}\n\n{names[1]}x\nzzz\n")
    wanted = choice.listed(file)
    assert list(wanted.values()) == [1, 3, 4]
    with pytest.raises(UnknownName) as caught:
        choice.decide(names, set(), file, where="x:y")
    said = str(caught.value)
    assert f"{names[1]}x" in said
    assert "1 more" in said
    assert f"{file}:3" in said
    assert repr(names[1]) in said.partition("Try:")[2]


def test_choice_survives_verdicts_and_saving(corpus, names, tmp_path):
    one = analysis.evaluate(corpus, predictions(corpus, names[:3]), documents=names[:4])
    again = analysis.with_label_corrections(one, tables.table("decisions", []))
    assert again.settings == one.settings
    assert choice.part_run(again) == choice.part_run(one) != ""
    assert all(
        "documents=listed: 4 of 8" in said for said in tables.readable(again.scores)["settings"]
    )
    kept = one.save(tmp_path / "e")
    assert choice.part_run(type(one).load(kept)) == choice.part_run(one)


def test_opening_an_evaluation_of_a_part_says_so(corpus, names, tmp_path, capsys):
    for some, said in ((names[:3], "x on funsd:test: 3 of 8 documents were answered"), (names, "")):
        folder = tmp_path / str(len(some))
        analysis.evaluate(corpus, predictions(corpus, some)).save(folder)
        analysis.open_evaluation(folder)
        assert said in capsys.readouterr().err
        analysis.open_all([folder])
        assert bool(capsys.readouterr().err) == bool(said)
