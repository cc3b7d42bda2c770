"""Label corrections of FUNSD's two tiny forms, and over tiny VRDU forms for entities."""

import polars as pl
import pytest

from formlab import analysis, benchmarks, decisions, folders, tables
from formlab.analysis.label_corrections import corrected, corrected_scores
from formlab.errors import NotAvailable
from formlab.folders import Evaluation

from ..made_formfactory import make
from ..made_parts import cut
from ..made_readings import GOLD, read_as
from ..made_splits import DAY, WHO, evaluations

__all__ = ["read_as"]


def verdict(doc, number, decision="label_error", **more):
    row = {
        "benchmark": "funsd", "split": "test", "doc_id": doc, "task": "text",
        "path": f"/entities/{number}", "decision": decision, "reviewer": "ada",
        "label": GOLD.get((doc, number)),
    }  # fmt: skip
    return row | more


def decided(*rows):
    return tables.table("decisions", rows)


def accuracy(evaluation):
    scores = tables.only(evaluation.scores, metric="exact_accuracy")
    return scores["hits"].sum(), scores["total"].sum()


def test_a_corrected_label_is_scored_again_as_if_it_had_always_been_so(read_as, corpus):
    one = read_as("x", a1="Ada Borg", b0="Total 8.00")
    assert accuracy(one) == (2, 4)
    mended = analysis.with_label_corrections(one, decided(verdict("a", 1, value="Ada Borg")))
    # Ada Borg is now right: 3 of 4.
    assert accuracy(mended) == (3, 4)
    assert mended.notes["verdicts: labels corrected"] == 1
    place = (pl.col("doc_id") == "a") & (pl.col("path") == "/entities/1")
    gold = corpus.records.with_columns(
        pl.when(place).then(pl.lit("Ada Borg")).otherwise("value").alias("value")
    )
    again = analysis.evaluate(
        folders.Corpus(corpus.documents, gold, "funsd", "test", corpus.root), one.predictions
    )
    assert mended.cases.equals(again.cases)
    assert mended.scores.drop("settings").equals(again.scores.drop("settings"))
    version = decisions.version(decided(verdict("a", 1, value="Ada Borg")))
    assert (mended.scores["settings"].struct.field("labels") == version).all()


def test_parts_are_corrected_as_the_whole(read_as):
    whole = read_as("x", a1="Ada Borg", b0="Total 8.00")
    verdicts = decided(
        verdict("a", 1, value="Ada Borg"), verdict("b", 0), verdict("c", 0, label="x"),
        verdict("a", 0, label="Date"),
    )  # fmt: skip
    once, pieces = (analysis.with_label_corrections(e, verdicts) for e in (whole, cut(whole, 1)))
    assert pieces.cases.equals(once.cases)
    rows = [sorted(map(repr, each.scores.rows())) for each in (once, pieces)]
    assert rows[0] == rows[1]
    notes = {name: n for name, n in once.notes.items() if name.startswith("verdicts: ")}
    assert notes == {
        "verdicts: labels corrected": 1, "verdicts: labels left out": 1,
        "verdicts: found label_error": 2, "verdicts: on nothing that is there": 1,
        "verdicts: on a label that has changed since": 1,
    }  # fmt: skip
    assert pieces.notes == once.notes
    assert pieces.settings == once.settings


def test_disputed_stale_and_foreign_verdicts_change_nothing_and_are_counted(corpus):
    said = decided(
        verdict("a", 0, value="x"), verdict("a", 0, value="y", reviewer="ben"),
        verdict("a", 1, value="z", label="Ada Burg"),
        verdict("a", 99), verdict("b", 0, split="train"), verdict("b", 0, benchmark="sroie"),
    )  # fmt: skip
    same, done = corrected(corpus, said)
    assert same.records.equals(corpus.records)
    assert {name: count for name, count in done.items() if count} == {
        "found disputed": 1, "on a label that has changed since": 1, "on nothing that is there": 1,
    }  # fmt: skip


def test_a_verdict_without_a_split_holds_in_every_split_unless_one_is_closer(corpus):
    everywhere = verdict("b", 0, value="x", split=None)
    assert corrected(corpus, decided(everywhere))[1]["labels corrected"] == 1
    mended, _ = corrected(corpus, decided(everywhere, verdict("b", 0, value="y")))
    assert "y" in mended.records["value"].to_list()


def test_an_evaluation_comes_back_from_disk_ready_to_be_scored_again(read_as, tmp_path):
    said = decided(verdict("a", 1, value="Ada Borg"))
    one = read_as("x", a1="Ada Borg")
    loaded = Evaluation.load(one.save(tmp_path / "e"))
    assert accuracy(analysis.with_label_corrections(loaded, said)) == (4, 4)
    bare = folders.Evaluation(
        one.documents, one.cases, one.scores, "funsd", "test", "x", settings=one.settings
    )
    with pytest.raises(NotAvailable, match="does not hold what it scored"):
        analysis.with_label_corrections(bare, said)


def of_vrdu(path, **more):
    key = {"benchmark": "vrdu", "doc_id": "a.pdf", "task": "entity", "path": path}
    return key | {"decision": "label_error", "reviewer": "ada", "label": "Ann Lee"} | more


def f1(evaluation):
    (row,) = tables.only(evaluation.scores, metric="micro_f1", slice_by=None).to_dicts()
    return row["stats"][:3]


def test_an_entity_is_left_out_with_all_its_values_in_the_document(tmp_path):
    (one,) = evaluations(tmp_path, {("mixed", 10, 0): [WHO, DAY]}, mode="fixed")
    records = one.corpus.records
    path = records.filter(pl.col("value") == "Ann Lee")["path"].item()
    # who and day of four items are found: credit 2, gold 4, predicted 2; without who 1, 3, 1.
    assert f1(one) == [2, 4, 2]
    left = analysis.with_label_corrections(one, decided(of_vrdu(path)))
    assert f1(left) == [1, 3, 1]
    mended = analysis.with_label_corrections(one, decided(of_vrdu(path, value="Bob Ray")))
    # Bob Ray was not predicted: credit 1, gold 4, predicted 2.
    assert f1(mended) == [1, 4, 2]
    items = records.filter(pl.col("value") == "jam")["path"].item()
    without = analysis.with_label_corrections(one, decided(of_vrdu(items, label="jam")))
    # Both line items go, for which of them a prediction was for is not known.
    assert f1(without) == [2, 2, 2]


def test_a_field_to_fill_in_is_left_out_for_its_place_is_not_known(tmp_path):
    corpus = benchmarks.load("formfactory", split="all", root=make(tmp_path))
    first = corpus.records.filter(path="/Gender").row(0, named=True)
    row = {name: first[name] for name in decisions.KEY} | {"label": first["value"]}
    said = decided(row | {"decision": "label_error", "value": "Male", "reviewer": "ada"})
    mended, done = corrected(corpus, said)
    assert (done["labels corrected"], done["labels left out"]) == (0, 1)
    kept = mended.records.filter(doc_id=first["doc_id"], path="/Gender").row(0, named=True)
    assert (kept["value"], kept["status"]) == ("Female", "unscored")
    assert kept["meta"] == first["meta"]


def test_scores_stand_as_labelled_and_corrected(read_as):
    one = read_as("x", a1="Ada Borg", b0="")
    errors = decided(verdict("a", 1, value="Ada Borg"))
    scores, counts = corrected_scores([one], errors, resamples=20)
    (row,) = tables.only(scores, metric="exact_accuracy").to_dicts()
    # Of four labels Name: and the blank are right, then Ada Borg as well.
    assert (row["value"], row["corrected"], row["change"]) == (0.5, 0.75, 0.25)
    assert (row["n_cases"], row["n_corrected"]) == (4, 4)
    assert counts == {"labels corrected": 1, "found label_error": 1}
