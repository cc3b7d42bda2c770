import json
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner

import formlab_review as review
from formlab import benchmarks
from formlab.cli import main
from formlab.errors import DataBroken
from formlab_review import annotate_commands
from formlab_review import drafting as drafts
from formlab_review import drafts as file
from formlab_review.faults import faults
from tests.review.test_annotation import REAL, SAMPLE
from tests.systems.scripted_server import serving

RELATION = {
    "scope": "inter-group", "reference": "constraint", "complexity": "compound",
    "modal": "single-modality", "rationale": "It follows.",
}  # fmt: skip
QUESTION = RELATION | {
    "question": "Was it signed?", "options": ["yes", "no"], "answers": ["yes"],
    "derivation": None, "kind": "choice",
}  # fmt: skip


@pytest.fixture(autouse=True)
def as_in_reports(monkeypatch):
    monkeypatch.setenv("FORMLAB_REPORT", "1")


@pytest.fixture(scope="module")
def corpus():
    return benchmarks.load("formcraft")


@pytest.fixture
def items(tmp_path, corpus):
    """Draft items for the first form, or the first `limit` ones."""

    def drafted(server, task="vqa", *, limit=1):
        settings = {"base_url": server.url, "attempts": 1, "concurrency": 1}
        return drafts.items(task, corpus, model="m", out=tmp_path, settings=settings, limit=limit)

    return drafted


def two_questions(body):
    """One sound question about the first two fields, one of a field that is not there."""
    content = body["messages"][1]["content"]
    asked = json.loads(content if isinstance(content, str) else content[0]["text"])
    paths = [row["path"] for row in asked["FIELDS"][:2]]
    # Spelled otherwise, and meaning the same.
    good = QUESTION | {"fields": [paths[0].upper(), paths[1]]}
    return json.dumps({"items": [good, good | {"question": "Why?", "fields": ["/Nowhere"]}]})


def test_questions_are_drafted_once_for_each_form_and_checked_against_it(tmp_path, corpus, items):
    with serving(then=two_questions) as server:
        for _ in range(2):
            made = items(server, limit=3)
        assert len(server.calls) == 3
    assert drafts.counts(made) == {"forms": 3, "items": 6, "rejected": 3, "failed": 0}
    assert sorted(made, key=lambda draft: draft.key) == file.read(tmp_path)
    good, bad = [draft for draft in made if draft.path][:2]
    assert (good.path, good.item["id"], good.rejected) == ("/vqa/d1", "d1", ())
    assert set(good.item["fields"]) <= set(corpus.records["path"])
    assert bad.rejected == ("no field at /Nowhere",)
    assert good.origin.startswith("answers.sqlite#")


def test_pairs_that_are_constraints_or_contradict_the_annotation_are_rejected(corpus, items):
    own = corpus.records.filter(doc_id=corpus.documents["doc_id"][0], task="consistency")
    gold = own.row(0, named=True)
    pair = {name: json.loads(gold["meta"])[name] for name in ("source", "dependent")}
    good = RELATION | pair | {"expected": gold["value"], "determined": True, "confidence": 0.8}
    pairs = [good, good, good | {"determined": False, "source": "/Stamp"}]
    with serving(then=json.dumps({"items": pairs})) as server:
        first, *others = [draft for draft in items(server, "consistency") if draft.path]
    # What else is wrong with a pair stands in `faults.yml`; confidence and reason come along.
    reasons = [" ".join(draft.rejected)[:17] for draft in (first, *others)]
    assert reasons == ["", "the same as an ea", "a mere constraint"]
    assert (first.item["confidence"], first.item["rationale"]) == (0.8, "It follows.")


DATA = yaml.safe_load(Path(__file__).with_name("faults.yml").read_text("utf-8"))


@pytest.mark.parametrize("task", ["vqa", "consistency"])
def test_a_question_or_check_is_held_against_the_annotation(task):
    for change, fault in DATA[task]:
        reasons = faults(task, DATA["sound"][task] | change, DATA["fields"])
        assert [fault in reason for reason in reasons] == ([True] if fault else []), change


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
