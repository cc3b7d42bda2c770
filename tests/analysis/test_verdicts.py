"""A court over FUNSD's two tiny forms, and over tiny VRDU forms for entities."""

import dataclasses
import json

import polars as pl
import pytest

from formlab import analysis, benchmarks, decisions, tables
from formlab.analysis.verdicts import corrected, rulings
from formlab.benchmarks import formfactory
from formlab.errors import NotAvailable
from formlab.formats import read_predictions
from formlab.tables import Evaluation
from formlab_arena.evaluation import read_run

from ..made_arena import CLUMSY, VALUES, run, screen
from ..made_arena import fill as entering
from ..made_formfactory import make
from ..made_splits import DAY, WHO, evaluations

# What the two forms say: a has Name:, Ada Berg and a blank; b has Total 9.00.
GOLD = {("a", 0): "Name:", ("a", 1): "Ada Berg", ("a", 2): "", ("b", 0): "Total 9.00"}


@pytest.fixture
def read_as(corpus, tmp_path):
    """An evaluation of a system that reads as given, and all else right."""

    def scored(system, **wrong):
        rows = [
            {"doc_id": doc, "path": f"/entities/{n}", "value": wrong.get(f"{doc}{n}", value)}
            for (doc, n), value in GOLD.items()
        ]
        file = tmp_path / f"{system}.jsonl"
        file.write_text("".join(json.dumps(row) + "\n" for row in rows))
        return analysis.evaluate(corpus, read_predictions(file, corpus))

    return scored


def verdict(doc, number, decision="label_error", **more):
    row = {
        "benchmark": "funsd", "split": "test", "doc_id": doc, "task": "text",
        "path": f"/entities/{number}", "decision": decision, "reviewer": "ada",
        "label": GOLD.get((doc, number)),
    }  # fmt: skip
    return row | more


def court(*rows):
    return tables.table("decisions", rows)


def accuracy(evaluation):
    scores = tables.only(evaluation.scores, metric="exact_accuracy")
    return scores["hits"].sum(), scores["total"].sum()


def test_labels_that_most_systems_contradict_alike_come_first(read_as):
    found = analysis.proposals(
        [
            read_as("x", a1="Ada Borg", b0="Total 8.00", a0="NAME:"),
            read_as("y", a1="ada  borg", b0="Total 7.00", a2="smudge"),
            read_as("z", a1="Ada Bug", b0=""),
        ]
    )
    # Ada Borg by x and y (case and space aside) of three; then one of three each, in the order
    # of documents: the blank read as a smudge by y, b0 by x. NAME: differs in form alone.
    assert found.select("doc_id", "path", "n_agree", "n_systems").rows() == [
        ("a", "/entities/1", 2, 3), ("a", "/entities/2", 1, 3), ("b", "/entities/0", 1, 3),
    ]  # fmt: skip
    assert found["systems"][0].to_list() == ["x", "y"]
    assert found["pred"].to_list() == ["Ada Borg", "smudge", "Total 8.00"]


def test_an_answer_that_depends_on_the_reading_rule_says_nothing_against_a_label(read_as):
    one, other = read_as("x", a1="Borg"), read_as("y", a1="Borg")
    ruled = one.cases.with_columns(
        cause=pl.when(pl.col("path") == "/entities/1", pl.col("doc_id") == "a")
        .then(pl.lit("reader"))
        .otherwise("cause")
    )
    (row,) = analysis.proposals([dataclasses.replace(one, cases=ruled), other]).to_dicts()
    assert (row["systems"], row["n_agree"], row["n_systems"]) == (["y"], 1, 2)


def test_a_share_asks_for_a_majority(read_as):
    ones = [read_as("x", a1="Borg"), read_as("y", a1="Borg", b0="?"), read_as("z")]
    assert analysis.proposals(ones, share=0.5)["path"].to_list() == ["/entities/1"]


def test_proposals_agree_with_a_count_by_hand_over_all_cases(read_as):
    ones = [read_as("x", a1="Borg", b0="T"), read_as("y", a1="borg", b0="t", a0="N")]
    votes = {}
    for one in ones:
        for case in one.cases.to_dicts():
            if case["path"] and case["gold"] is not None and case["outcome"] == "mismatch":
                key = case["doc_id"], case["path"], case["pred"].lower()
                votes.setdefault(key, set()).add(one.system)
    found = analysis.proposals(ones).to_dicts()
    assert {(p["doc_id"], p["path"], p["pred"].lower()): p["n_agree"] for p in found} == {
        key: len(systems) for key, systems in votes.items()
    }


def test_a_corrected_label_is_scored_again_as_if_it_had_always_been_so(read_as, corpus):
    one = read_as("x", a1="Ada Borg", b0="Total 8.00")
    assert accuracy(one) == (2, 4)
    mended = analysis.with_verdicts(one, court(verdict("a", 1, value="Ada Borg")))
    # Ada Borg is now right: 3 of 4.
    assert accuracy(mended) == (3, 4)
    assert mended.notes["verdicts: labels corrected"] == 1
    place = (pl.col("doc_id") == "a") & (pl.col("path") == "/entities/1")
    gold = corpus.records.with_columns(
        pl.when(place).then(pl.lit("Ada Borg")).otherwise("value").alias("value")
    )
    again = analysis.evaluate(
        tables.Corpus(corpus.documents, gold, "funsd", "test", corpus.root), one.predictions
    )
    assert mended.cases.equals(again.cases)
    assert mended.scores.drop("settings").equals(again.scores.drop("settings"))
    version = decisions.version(court(verdict("a", 1, value="Ada Borg")))
    assert (mended.scores["settings"].struct.field("labels") == version).all()


def test_a_label_error_without_a_right_value_leaves_its_case_out(read_as):
    one = read_as("x", a1="Ada Borg", b0="Total 8.00")
    left = analysis.with_verdicts(one, court(verdict("a", 1)))
    # 2 of 3: neither the label nor the prediction for it counts, also not as spurious.
    assert accuracy(left) == (2, 3)
    case = left.cases.filter(pl.col("path") == "/entities/1")
    assert case["outcome"].to_list() == ["unscored"]
    assert left.notes["verdicts: labels left out"] == 1


def test_ambiguous_labels_are_left_out_only_where_asked(read_as):
    one, said = read_as("x", a1="?"), court(verdict("a", 1, "ambiguous"), verdict("b", 0, "wrong"))
    assert accuracy(analysis.with_verdicts(one, said)) == (3, 4)
    assert accuracy(analysis.with_verdicts(one, said, ambiguous=True)) == (3, 3)


def test_disputed_stale_and_foreign_verdicts_change_nothing_and_are_counted(corpus):
    said = court(
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
    assert corrected(corpus, court(everywhere))[1]["labels corrected"] == 1
    mended, _ = corrected(corpus, court(everywhere, verdict("b", 0, value="y")))
    assert "y" in mended.records["value"].to_list()


def test_judges_who_agree_make_one_ruling():
    rows = [verdict("a", 1, value="x"), verdict("a", 1, value="x", reviewer="ben")]
    assert rulings(court(*rows)).select("decision", "value", "n_reviewers").rows() == [
        ("label_error", "x", 2)
    ]


def test_an_evaluation_comes_back_from_disk_ready_to_be_scored_again(read_as, tmp_path):
    said = court(verdict("a", 1, value="Ada Borg"))
    one = read_as("x", a1="Ada Borg")
    loaded = Evaluation.load(one.save(tmp_path / "e"))
    assert accuracy(analysis.with_verdicts(loaded, said)) == (4, 4)
    bare = tables.Evaluation(
        one.documents, one.cases, one.scores, "funsd", "test", "x", settings=one.settings
    )
    with pytest.raises(NotAvailable, match="does not hold what it scored"):
        analysis.with_verdicts(bare, said)


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
    left = analysis.with_verdicts(one, court(of_vrdu(path)))
    assert f1(left) == [1, 3, 1]
    mended = analysis.with_verdicts(one, court(of_vrdu(path, value="Bob Ray")))
    # Bob Ray was not predicted: credit 1, gold 4, predicted 2.
    assert f1(mended) == [1, 4, 2]
    items = records.filter(pl.col("value") == "jam")["path"].item()
    without = analysis.with_verdicts(one, court(of_vrdu(items, label="jam")))
    # Both line items go, for which of them a prediction was for is not known.
    assert f1(without) == [2, 2, 2]


def test_a_fact_is_left_out_and_its_page_is_not_rewritten(tmp_path):
    corpus = benchmarks.load("fincriticaled")
    first = corpus.records.filter(pl.col("path").is_not_null()).row(0, named=True)
    said = court(
        {name: first[name] for name in decisions.KEY}
        | {"decision": "label_error", "label": first["value"], "value": "x", "reviewer": "ada"}
    )
    mended, done = corrected(corpus, said)
    assert (done["labels corrected"], done["labels left out"]) == (0, 1)
    whole = corpus.records.filter(pl.col("path").is_null()).with_columns(
        role=pl.lit("prediction"), system=pl.lit("copy")
    )
    answers = tables.Predictions(whole, tables.table("responses", []), "copy")
    counts = [
        tables.only(analysis.evaluate(one, answers).scores, metric="fact_accuracy")
        for one in (corpus, mended)
    ]
    assert counts[0].height - counts[1].height == 1


def filled(folder, events, **sent):
    """An evaluation of one form of five fields, where `sent` was entered instead of the gold."""
    ended = {"status": "submitted", "answers": VALUES | sent, "right": 5 - len(sent)}
    return analysis.evaluate(*read_run(run(folder, (events, ended))))


def entered(**wrong):
    return [screen(), *[e for name, v in (VALUES | wrong).items() for e in entering(name, v)]]


def of_form(evaluation, label, **more):
    row = evaluation.corpus.records.filter(pl.col("path") == f"/{label}").row(0, named=True)
    said = {"decision": "label_error", "label": row["value"], "reviewer": "ada"}
    return court({name: row[name] for name in decisions.KEY} | said | more)


def on_form(evaluation, *names):
    per = evaluation.scores.group_by("metric").agg(pl.col("hits", "total").sum())
    held = {name: (hits, total) for name, hits, total in per.iter_rows()}
    return [held[name] for name in names]


VALUE = ("value_found_accuracy", "value_placed_accuracy", "value_submitted_accuracy")


def test_a_corrected_label_is_what_is_to_be_entered(tmp_path):
    borg = filled(tmp_path / "borg", entered(holder="Ada Borg"), holder="Ada Borg")
    # Four of five values are right, and every click; the form as a whole is not.
    assert on_form(borg, "click_accuracy", *VALUE) == [(5, 5)] + [(4, 5)] * 3
    assert on_form(borg, "form_completed") == [(0, 1)]
    right = analysis.with_verdicts(borg, of_form(borg, "Account holder", value="Ada Borg"))
    assert on_form(right, "click_accuracy", *VALUE) == [(5, 5)] * 4
    assert on_form(right, "form_completed") == [(1, 1)]
    # Who entered the label that was wrong is no longer right, in the form or as submitted.
    berg = filled(tmp_path / "berg", entered())
    wrong = analysis.with_verdicts(berg, of_form(berg, "Account holder", value="Ada Borg"))
    assert on_form(berg, *VALUE) == [(5, 5)] * 3
    assert on_form(wrong, "click_accuracy", *VALUE) == [(5, 5)] + [(4, 5)] * 3


def test_the_value_of_a_clumsy_form_is_corrected_where_it_stands(tmp_path):
    one = analysis.evaluate(*read_run(run(tmp_path, (CLUMSY, {}))))
    # The number went into no field: it is found, and placed nowhere, whatever the label says.
    said = of_form(one, "Number of the document", value="K7")
    before, after = (on_form(e, *VALUE[:2]) for e in (one, analysis.with_verdicts(one, said)))
    assert after == [(before[0][0] - 1, 5), before[1]]


def test_an_option_to_be_clicked_is_left_out_for_its_place_is_not_known(tmp_path):
    corpus = formfactory.read("all", make(tmp_path))
    first = corpus.records.filter(path="/Gender").row(0, named=True)
    row = {name: first[name] for name in decisions.KEY} | {"label": first["value"]}
    said = court(row | {"decision": "label_error", "value": "Male", "reviewer": "ada"})
    mended, done = corrected(corpus, said)
    assert (done["labels corrected"], done["labels left out"]) == (0, 1)
    kept = mended.records.filter(doc_id=first["doc_id"], path="/Gender").row(0, named=True)
    assert (kept["value"], kept["status"]) == ("Female", "unscored")
    assert kept["meta"] == first["meta"]
