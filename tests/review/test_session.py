import dataclasses
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

import formlab_review as review
from formlab import decisions, tables
from formlab.errors import DataBroken

from ..made_readings import read_as
from .conftest import EVIL

ROOT = Path(__file__).parents[2]


def test_every_decision_is_in_the_file_at_once_and_a_new_session_goes_on(desk):
    first = desk()
    first.decide(0, "accept")
    first.decide(1, "edit", parts={"value": "9.50"}, note="smudged")
    first.decide(3, "reject")
    again = desk()
    assert {at: row["decision"] for at, row in again.done.items()} == {
        0: "accept", 1: "edit", 3: "reject",
    }  # fmt: skip
    assert again.first_open == 2
    assert again.done[1]["value"] == "9.50"
    assert again.done[1]["note"] == "smudged"
    assert again.progress().rows() == [
        ("text", 1, 1, 1, 1, 4), ("vqa", 0, 0, 0, 1, 1), ("consistency", 0, 0, 0, 1, 1),
    ]  # fmt: skip


def test_two_windows_of_one_reviewer_on_one_item_do_not_overwrite_each_other_in_silence(desk):
    session, other = desk(), desk()
    session.decide(0, "accept", note="sure")
    with pytest.raises(DataBroken, match=r"decided otherwise \(accept\) in another window since"):
        other.decide(0, "reject")
    # The second window has heard of it: to decide again is meant.
    assert other.done[0]["decision"] == "accept"
    other.decide(0, "reject")
    with pytest.raises(DataBroken, match="decided otherwise"):
        session.undo()
    assert session.done[0]["decision"] == desk().done[0]["decision"] == "reject"
    other.decide(1, "accept")
    assert other.undo() == 1
    assert other.undo() == 0
    assert desk().done[0]["decision"] == "accept"
    with pytest.raises(DataBroken, match="decided otherwise"):
        session.decide(0, "reject")
    decisions.forget(session.file, session.done[0])
    with pytest.raises(DataBroken, match="taken back in another window"):
        session.decide(0, "reject")
    assert session.done == desk().done == {}


SAVING = """import sys
import formlab_review as review
items = [review.Item({"benchmark": "demo", "split": "test", "doc_id": "form", "task": "text",
    "path": f"/{n}"}, str(n), {"value": str(n)}) for n in range(500)]
desk = review.Review(items, sys.argv[1], "ada")
print("open", flush=True)
for at in range(desk.first_open, 500):
    desk.decide(at, "accept")
    print(at, flush=True)
"""


def test_decisions_that_counted_outlive_a_kill(tmp_path):
    command = [sys.executable, "-c", SAVING, str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT) as saving:
        lines = [saving.stdout.readline() for _ in range(6)]
        saving.kill()
        lines += saving.stdout.read().splitlines()
    counted = {f"/{line.strip()}" for line in lines[1:] if line.strip()}
    kept = set(decisions.read(tmp_path)["path"])
    assert len(counted) >= 5
    # One more may be on the disk than was said.
    assert counted <= kept
    assert len(kept - counted) <= 1


def test_a_decision_on_an_older_label_leaves_its_item_open(desk, corpus):
    session = desk()
    session.decide(1, "accept")
    records = corpus.records.with_columns(
        pl.when(pl.col("path") == "/Total").then(pl.lit("9.01")).otherwise("value").alias("value")
    )
    again = review.Review(review.of_records(records), session.folder, "ada")
    assert again.done == {}


def test_hostile_text_is_inert_in_the_file_and_comes_back_as_it_was(desk):
    session = desk()
    row = session.decide(2, "edit", parts={"value": f"{EVIL}\n\ud800"}, note="\x9b31m")
    text = session.file.read_text()
    assert not {"\x1b", "\u202e", "\x9b", "\x00"} & set(text)
    assert text.count("\n") == 1
    assert desk().done[2]["label"] == EVIL
    assert desk().done[2]["value"] == row["value"] == f"{EVIL}\n\\ud800"


@pytest.mark.parametrize("name", ["", "../ada", "a/b", "-rf", "a\x00", "x" * 65])
def test_a_reviewer_that_is_no_file_name_is_refused(desk, name):
    with pytest.raises(DataBroken, match="no name for a reviewer"):
        desk(name)


def talk(desk, *messages):
    """What the widget answers to each message, without the bytes of pages."""
    view, heard = desk.view(), []
    view.send = lambda content, buffers=None: heard.append(content | {"bytes": bool(buffers)})
    for message in messages:
        view._hear(view, message, [])
    return heard


def test_what_cannot_be_saved_is_refused_and_changes_nothing(desk, tmp_path):
    session = desk()
    bad = [
        {"type": "decide", "at": 99, "decision": "accept"},
        {"type": "decide", "at": 0, "decision": "maybe"},
        {"type": "decide", "at": 0, "decision": "edit", "parts": ["x"]},
        {"type": "decide"},
    ]
    assert [answer["type"] for answer in talk(session, *bad)] == ["refused"] * 4
    (tmp_path / "reviews").write_text("a file where the folder should be")
    (answer,) = talk(session, {"type": "decide", "at": 0, "decision": "accept"})
    assert answer["type"] == "refused"
    assert session.done == {}


LABEL_KEY = {"benchmark": "b", "split": "s", "task": "text", "decision": "accept", "label": "x"}


def decided(reviewer, words, **more):
    own = LABEL_KEY | {"reviewer": reviewer} | more
    rows = enumerate(words.split())
    return [own | {"doc_id": str(n // 2), "path": f"/{n}", "decision": word} for n, word in rows]


def test_kappa_of_two_reviewers_by_hand():
    ada = "accept accept edit reject accept edit"
    ben = "accept edit edit reject accept accept"
    table = tables.table("decisions", [*decided("ada", ada), *decided("ben", ben)])
    (row,) = review.reviewer_agreement(table, resamples=50).to_dicts()
    # 4 of 6 alike; by chance (3·3 + 2·2 + 1·1) / 36 = 14/36: (24 - 14) / (36 - 14).
    assert (row["kappa"], row["n_items"], row["n_same"]) == (pytest.approx(10 / 22), 6, 4)


def test_disagreements_are_in_the_decision_or_in_the_value_given():
    rows = decided("ada", "accept edit edit reject", value="1")
    rows += decided("ben", "accept edit reject", value="1")
    rows[5]["value"] = "2"
    differing = review.disagreements(tables.table("decisions", rows))
    assert differing.select("path", "ada", "ben").rows() == [
        ("/1", "edit: 1", "edit: 2"), ("/2", "edit: 1", "reject: 1"),
    ]  # fmt: skip
    assert differing["label"].to_list() == ["x", "x"]


__all__ = ["read_as"]


def test_labels_that_most_systems_contradict_alike_come_first(read_as):
    first = read_as("x", a1="Ada Borg", b0="Total 8.00", a0="NAME:")
    second = read_as("y", a1="ada  borg", b0="Total 7.00", a2="smudge")
    labels = review.proposals([first, second, read_as("z", a1="Ada Bug", b0="")])
    # Ada Borg by x and y (case and space aside) of three; then one of three each, in the order
    # of documents: the blank read as a smudge by y, b0 by x. NAME: differs in form alone.
    assert labels.select("doc_id", "path", "n_agree", "n_systems").rows() == [
        ("a", "/entities/1", 2, 3), ("a", "/entities/2", 1, 3), ("b", "/entities/0", 1, 3),
    ]  # fmt: skip
    assert labels["systems"][0].to_list() == ["x", "y"]
    assert labels["pred"].to_list() == ["Ada Borg", "smudge", "Total 8.00"]


def test_an_answer_that_depends_on_the_reading_rule_says_nothing_against_a_label(read_as):
    evaluation, other = read_as("x", a1="Borg"), read_as("y", a1="Borg")
    is_ruled = (pl.col("path") == "/entities/1") & (pl.col("doc_id") == "a")
    cause = pl.when(is_ruled).then(pl.lit("reader")).otherwise("cause")
    ruled = evaluation.cases.with_columns(cause=cause)
    (row,) = review.proposals([dataclasses.replace(evaluation, cases=ruled), other]).to_dicts()
    assert (row["systems"], row["n_agree"], row["n_systems"]) == (["y"], 1, 2)
