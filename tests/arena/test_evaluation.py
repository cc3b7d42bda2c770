import json

import polars as pl
import pytest

from formlab import analysis, tables
from formlab.errors import DataBroken
from formlab.systems.journal import BROKEN
from formlab.tables import only
from formlab_arena.evaluation import read_run

from ..made_arena import VALUES, run, screen
from ..made_arena import fill as entering

RIGHT = [screen(), *[event for name, value in VALUES.items() for event in entering(name, value)]]
SENT = {"status": "submitted", "answers": VALUES, "right": 5}


def scored(folder, mode="official"):
    return analysis.evaluate(*read_run(folder), mode=mode)


def total(evaluation, metric, doc_id):
    rows = only(evaluation.scores, metric=metric, doc_id=doc_id)
    return rows.select(pl.col("hits", "total").sum()).row(0)


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


def test_what_a_models_answers_took_is_in_the_response_of_their_episode(tmp_path):
    took = {"attempts": 1, "tokens_in": 900, "tokens_out": 20, "cost": 0.25, "seconds": 1.5}
    asked = [*RIGHT, {"step": 1, "answer": took}, {"step": 2, "answer": took | {"attempts": 2}}]
    _, predictions = read_run(run(tmp_path, (asked, SENT), (RIGHT, SENT)))
    columns = ["attempts", "tokens_in", "tokens_out", "cost", "seconds"]
    # The second was no model's: its seconds are those of the whole episode.
    assert predictions.responses.select(columns).rows() == [
        (3, 1800, 40, 0.5, 3.0), (1, None, None, None, 1.0),
    ]  # fmt: skip
