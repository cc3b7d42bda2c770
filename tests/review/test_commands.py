import json

import pytest
from click.testing import CliRunner

import formlab_review as review
from formlab import benchmarks
from formlab.cli import main
from formlab.errors import DataBroken
from formlab_review import annotate_commands
from tests.review.test_annotation import REAL, SAMPLE
from tests.systems.scripted_server import serving

KEY = "sk-a-secret-of-forty-characters-in-all-0"
ITEM = {
    "question": f"Did {KEY} sign?", "options": ["yes", "no"], "answers": ["yes"],
    "fields": ["/Donor/Name", "/Physician"], "rationale": "So.", "derivation": None,
    "scope": "intra-group", "reference": "direct-link", "complexity": "simple",
    "modal": "single-modality", "kind": "choice",
}  # fmt: skip


def test_drafts_that_people_accept_are_written_and_no_file_has_the_key(tmp_path, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    reply = json.dumps({"items": [ITEM, ITEM | {"question": "And?"}]})
    with serving("says_the_key_in_an_error", then=reply) as server:
        options = ["--documents", "2", "--model", "m", "--base-url", server.url, "--set"]
        run = ["formcraft", "vqa", *options, "attempts=1", "--out", str(tmp_path)]
        drafted = CliRunner().invoke(main, run)
    corpus = benchmarks.load("formcraft")
    session = review.Review(review.of_corpus(corpus, tmp_path), tmp_path / "reviews", "ada")
    session.decide(0, "accept")
    session.decide(1, "edit", parts={"fields": "/Donor/\x1b[31m"})
    folders = {"drafts": tmp_path, "reviews": tmp_path / "reviews", "out": tmp_path / "out"}
    options = [str(word) for name, folder in folders.items() for word in (f"--{name}", folder)]
    done = CliRunner().invoke(main, ["formcraft", "accept", *options, "--json"])
    (row,) = json.loads(done.stdout)
    assert [row[name] for name in ("drafted", "accepted", "kept_out")] == ["vqa", 1, 1]
    assert done.stderr.endswith("/vqa/d2: no field at /Donor/\\x1b[31m\n")
    made = benchmarks.load("formcraft", root=tmp_path / "out")
    assert made.records.height == corpus.records.height + 1
    assert made.flaws == corpus.flaws
    assert KEY not in drafted.output + done.output
    assert not any(KEY.encode() in file.read_bytes() for file in tmp_path.rglob("*.*"))


def run(*arguments):
    options = [*map(str, arguments), "--json"]
    result = CliRunner().invoke(annotate_commands.annotate, options, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout), result.stderr


def test_pages_become_tasks_and_an_export_is_checked_decided_and_drawn_from(tmp_path):
    (row,), _ = run("tasks", "--out", tmp_path / "tasks", "--label", "Number", "--label", "Date")
    assert (row["tasks"], row["images"]) == (10, 10)
    assert len(json.loads((tmp_path / "tasks" / "tasks.json").read_text())) == 10
    assert 'value="Date"' in (tmp_path / "tasks" / "labelling.xml").read_text()

    faults, note = run("check", REAL)
    assert [(row["task"], row["annotator"], row["what"]) for row in faults] == [
        ("3", "2", "the sign of '40,598' is outside the mark"),
        ("3", "3", "'4' is cut out of a longer number"),
        ("3", "3", "<Number> '4' inside <Number> '1 1/4'"),
    ]
    assert note == "note: problems: 3\n"

    queue = ("queue", REAL, "--lead", "4", "--out", tmp_path / "queue.jsonl")
    run(*queue)
    with pytest.raises(DataBroken, match="may hold decisions"):
        run(*queue)

    exported = json.loads(REAL.read_text())
    for task in exported:
        task["annotations"] = [a for a in task["annotations"] if a["completed_by"] != 4]
    (tmp_path / "two.json").write_text(json.dumps(exported))
    gold = ("gold", tmp_path / "two.json", "--root", SAMPLE, "--out", tmp_path / "gold")
    with pytest.raises(DataBroken, match="7 facts; the first: "):
        run(*gold)
    _, note = run(*gold, "--leave-out")
    assert note == "note: facts left out, undecided: 7\n"
    run("gold", REAL, "--lead", "4", "--out", tmp_path / "whole")
    assert run("check", tmp_path / "whole")[0] == []
    # 5 % of 54, rounded up.
    drawn, _ = run("sample", "--root", tmp_path / "whole", "--out", tmp_path / "expert.csv")
    assert len(drawn) == 3
