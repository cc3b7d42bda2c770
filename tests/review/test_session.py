import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

import formlab_review as review
from formlab import decisions
from formlab.errors import DataBroken

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


def test_undo_brings_back_what_was_decided_before(desk):
    session = desk()
    session.decide(0, "accept")
    session.decide(0, "reject")
    assert session.undo() == 0
    assert desk().done[0]["decision"] == "accept"
    assert session.undo() == 0
    assert desk().done == {}
    assert session.undo() is None


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
