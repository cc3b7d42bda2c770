import json

import polars as pl
import pytest

import formlab_arena
from formlab import analysis, tables
from formlab.errors import DataBroken, DataMissing
from formlab.systems._journal import BROKEN
from formlab.tables import only
from formlab_arena import agent_registry, fill
from formlab_arena.actions import Click, Press, Type
from formlab_arena.evaluation import read_run
from formlab_arena.oracle import Oracle
from formlab_arena.run import RunSettings

from ..made_arena import CLUMSY, VALUES, run, screen
from ..made_arena import fill as entering

RIGHT = [screen(), *[event for name, value in VALUES.items() for event in entering(name, value)]]
SENT = {"status": "submitted", "answers": VALUES, "right": 5}


def scored(folder, mode="official"):
    return analysis.evaluate(*read_run(folder), mode=mode)


def total(evaluation, metric, doc_id):
    rows = only(evaluation.scores, metric=metric, doc_id=doc_id)
    return rows.select(pl.col("hits", "total").sum()).row(0)


def case(evaluation, path):
    return only(evaluation.cases, path=path).row(0, named=True)


def test_episodes_are_documents_with_gold_where_the_controls_stood(tmp_path):
    corpus, predictions = read_run(run(tmp_path / "run", (RIGHT, SENT)))
    document = corpus.documents.row(0, named=True)
    assert (corpus.benchmark, corpus.split) == ("formfactory", "arena")
    assert corpus.root == tmp_path / "run"
    assert (document["doc_id"], document["template"]) == ("E12-001", "E12")
    assert (document["n_fields"], document["n_kinds"], document["width"]) == (5, 3, 400)
    assert (corpus.root / document["image"]).is_file()
    born = only(corpus.records, path="/Born on").row(0, named=True)
    assert (born["kind"], born["value"]) == ("date", "1970-02-03")
    assert [born[side] for side in tables.BOX] == [100, 200, 300, 230]
    # The label is a place to click as well: the browser takes it for its control.
    assert json.loads(born["meta"])["items"][0]["targets"] == [
        [1, 100, 200, 300, 230], [1, 100, 180, 300, 198],
    ]  # fmt: skip
    predicted = predictions.records.filter(pl.col("path").is_not_null())
    clicks, values = (predicted.filter(task=task) for task in ("click", "value"))
    assert clicks.select("path", "value", "x0", "page").row(0) == ("/lines/0", "Ada Berg", 150, 1)
    assert values.select("path", "value").row(1) == ("/Born on", "1970-02-03")


def test_what_a_models_answers_took_is_in_the_response_of_their_episode(tmp_path):
    took = {"attempts": 1, "tokens_in": 900, "tokens_out": 20, "cost": 0.25, "seconds": 1.5}
    asked = [*RIGHT, {"step": 1, "answer": took}, {"step": 2, "answer": took | {"attempts": 2}}]
    _, predictions = read_run(run(tmp_path, (asked, SENT), (RIGHT, SENT)))
    columns = ["attempts", "tokens_in", "tokens_out", "cost", "seconds"]
    # The second was no model's: its seconds are those of the whole episode.
    assert predictions.responses.select(columns).rows() == [
        (3, 1800, 40, 0.5, 3.0), (1, None, None, None, 1.0),
    ]  # fmt: skip


@pytest.mark.parametrize("mode", ["official", "fixed"])
def test_form_filled_in_and_sent_right_has_every_score_at_its_best(tmp_path, mode):
    done = scored(run(tmp_path, (RIGHT, SENT)), mode)
    assert set(done.cases["outcome"]) == {"match"}
    for metric in (
        "click_accuracy", "value_found_accuracy", "value_placed_accuracy",
        "value_submitted_accuracy",
    ):  # fmt: skip
        assert total(done, metric, "E12-001") == (5, 5)
    assert total(done, "form_completed", "E12-001") == (1, 1)
    assert total(done, "task_score", "E12-001") == (1, 1)
    assert total(done, "action_match_rate", "E12-001") == (20, 20)


def test_clumsy_episode_is_scored_as_counted_by_hand(tmp_path):
    # Ada Berg goes into its field; the date goes over it; the account is chosen by the keyboard;
    # of the proof the wrong one is; the number goes 10 below its field, into nothing.
    done = scored(run(tmp_path, (CLUMSY, {})))
    name = "E12-001"
    assert total(done, "click_accuracy", name) == (3, 5)
    assert total(done, "value_found_accuracy", name) == (4, 5)
    assert total(done, "value_placed_accuracy", name) == (2, 5)
    # Never sent: nothing arrived, and the form is not completed.
    assert total(done, "value_submitted_accuracy", name) == (0, 5)
    assert total(done, "form_completed", name) == total(done, "task_score", name) == (0, 1)
    # Ten actions asked for, ten made; matched: 2 + 1 (value) + 2 + 1 (click) + 1 (value).
    assert total(done, "action_match_rate", name) == (2 * 7, 20)
    # From (150, 110) up to the label of the date at y = 180, and from y = 540 to 530.
    assert total(done, "click_distance", name) == (70 + 10, 2)
    assert case(done, "/Born on")["cause"] == "misclick_other_field"
    assert case(done, "/Number of the document")["cause"] == "misclick_near"
    assert case(done, "/Proof of identity")["pred"] == "Identity card"
    assert done.notes == {"episodes unfinished": 1}


def test_episode_that_crashed_or_stopped_keeps_its_rows_and_says_so(tmp_path):
    half = [screen(("holder", "born")), *entering("holder", "Ada Berg")]
    crash = {"status": "crashed", "error": "Error: gone"}
    folder = run(tmp_path, (half, {}), ([], crash), (RIGHT, SENT))
    corpus, predictions = read_run(folder)
    assert predictions.responses.select("status", "error").rows() == [
        ("truncated", None), ("missing", "Error: gone"), ("ok", None),
    ]  # fmt: skip
    done = analysis.evaluate(corpus, predictions)
    assert done.cases.group_by("doc_id", maintain_order=True).len().rows() == [
        ("E12-001", 5), ("E12-002", 5), ("E12-003", 5),
    ]  # fmt: skip
    first = only(done.cases, doc_id="E12-001")
    assert first["status"].to_list() == ["ok", *["truncated"] * 4]
    assert set(only(done.cases, doc_id="E12-002")["status"]) == {"missing"}
    # Fields that were never seen are clicks that were missed, not clicks that nobody asked for.
    assert total(done, "click_accuracy", "E12-001") == (1, 5)
    assert total(done, "click_accuracy", "E12-002") == (0, 5)
    assert total(done, "value_submitted_accuracy", "E12-001") == (0, 5)
    assert only(done.scores, metric="form_completed")["status"].to_list() == [
        "truncated", "missing", "ok",
    ]  # fmt: skip


def test_form_that_was_never_sent_is_a_missing_answer_with_the_fields_refused(tmp_path):
    half = [screen(("holder", "born")), *entering("holder", "Ada Berg")]
    refused = {"validation": [{"field": "born", "message": "Please fill out this field."}]}
    done = scored(run(tmp_path, (half, {"status": "unsent", "account": refused})))
    assert done.cases["status"].to_list() == ["ok", *["missing"] * 4]
    assert set(done.cases["cause"][1:]) == {"missed"}
    assert done.notes == {"episodes unsent": 1, "fields refused in episodes unsent": 1}


def test_system_that_only_refused_has_that_as_the_status_of_its_fields(tmp_path):
    refusing = [screen(), {"step": 1, "unusable": "refused", "why": "I cannot"}]
    useful = [*refusing, *entering("holder", "Ada Berg")]
    done = scored(run(tmp_path, (refusing, {}), (useful, {})))
    assert set(only(done.cases, doc_id="E12-001")["status"]) == {"refused"}
    assert set(only(done.cases, doc_id="E12-001")["cause"]) == {"refused"}
    assert only(done.cases, doc_id="E12-002")["status"].to_list() == ["ok", *["truncated"] * 4]


def test_click_on_another_screen_is_no_click_on_this_one(tmp_path):
    turned = [
        screen(("holder",)), *entering("holder", "Ada Berg"), screen(("born",), number=2),
        *[event | {"on": 2} for event in entering("born", "1970-02-03")],
        *[event | {"on": 2} for event in entering("account", "Savings", hit=False)],
    ]  # fmt: skip
    done = scored(run(tmp_path, (turned, {})))
    assert total(done, "click_accuracy", "E12-001") == (2, 5)
    meta = json.loads(done.documents["meta"][0])
    assert meta["images"] == ["E12-001/screen-1.png", "E12-001/screen-2.png"]
    assert {row[0] for row in meta["elements"]} == {1, 2}


def test_name_of_a_system_tells_its_unusual_settings(tmp_path):
    _, plain = read_run(run(tmp_path / "a", (RIGHT, SENT)))
    _, ruled = read_run(run(tmp_path / "b", (RIGHT, SENT), ruler=True))
    assert (plain.system, ruled.system) == ("tests", "tests(ruler=True)")


def test_folder_that_is_no_run_is_named(tmp_path):
    with pytest.raises(DataMissing, match="no run of the arena"):
        read_run(tmp_path)
    run(tmp_path)
    with pytest.raises(DataBroken, match="no episode has ended"):
        read_run(tmp_path)


class Clumsy:
    """Clicks the name twice: the date goes over it, and the date's own field stays empty."""

    name, observes = "clumsy", "tree"

    def __init__(self, instance):
        self.values, self.done = instance.values, False

    def act(self, seen):
        if self.done:
            return []
        self.done = True
        at = Click(*next(t.middle for t in seen.elements if t.field == "holder"))
        name, date = Type(self.values["holder"]), Type(self.values["born"])
        return [at, name, at, Press("Control+A"), date]


@pytest.mark.browser
def test_oracle_is_perfect_and_one_misclick_has_one_consequence(tmp_path, monkeypatch):
    agents = {"A12": lambda instance: Oracle(instance.values), "E12": Clumsy}
    make = lambda instance: agents[instance.code](instance)  # noqa: E731
    monkeypatch.setitem(agent_registry.AGENTS.loaded, "both", make)
    fill(tmp_path, RunSettings("both"), codes=list(agents))
    done = scored(tmp_path)
    best = only(done.scores, doc_id="A12-001")
    for metric in best["metric"].unique():
        values = only(best, metric=metric)["value"].drop_nans()
        # This form has no box to leave alone, and no click misses.
        nothing = metric in ("click_distance", "unwanted_clicks")
        assert set(values) == (set() if nothing else {1.0}), metric
    faults = formlab_arena.propagation(done)
    assert set(faults["doc_id"]) == set(formlab_arena.misses(done)["doc_id"]) == {"E12-001"}
    assert faults.select("path", "fault", "first", "root", "chain").rows()[:2] == [
        ("/Account holder", "overwritten", False, "/Born on", 2),
        ("/Born on", "misplaced", True, "/Born on", 2),
    ]  # fmt: skip
    assert set(faults["fault"][2:]) == {"missing"}


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"status": None}, "status"),
        ({"doc_id": "../elsewhere"}, "no name of an episode"),
        ({"form": "Z99"}, "unknown form 'Z99'"),
        ({"answers": True}, "got `bool` - at `.*answers`"),
        (
            {"account": {"submissions": [{"outcome": "accepted"}]}},
            "required field `values`",
        ),
    ],
)
def test_result_of_another_structure_is_refused_with_its_file(tmp_path, changed, message):
    folder = run(tmp_path / "run", (RIGHT, SENT | changed))
    with pytest.raises(DataBroken, match=rf"{message}.*episodes\.jsonl"):
        read_run(folder)


def test_a_damaged_line_of_the_journal_is_counted_and_the_others_stand(tmp_path):
    folder = run(tmp_path / "run", (RIGHT, SENT), (RIGHT, SENT))
    lines = (folder / "episodes.jsonl").read_text().splitlines(keepends=True)
    (folder / "episodes.jsonl").write_text(lines[0] + lines[1][:30] + "\n")
    corpus, predictions = read_run(folder)
    assert corpus.documents["doc_id"].to_list() == ["E12-001"]
    assert predictions.notes == {BROKEN: 1}
