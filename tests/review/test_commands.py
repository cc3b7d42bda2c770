"""The commands that make FORMCRAFT data: `formcraft convert`, `vqa`, `consistency`, `accept`."""

import json

import pytest
from click.testing import CliRunner

import formlab_review as review
from formlab import benchmarks
from formlab.cli import main
from tests.systems.scripted_server import serving

KEY = "sk-a-secret-of-forty-characters-in-all-0"
ITEM = {
    "question": f"Was it signed? {KEY}", "options": ["yes", "no"], "answers": ["yes"],
    "fields": ["/Nowhere"], "rationale": "So.", "derivation": None, "scope": "intra-group",
    "reference": "direct-link", "complexity": "simple", "modal": "single-modality",
    "kind": "choice",
}  # fmt: skip


@pytest.fixture
def formlab(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)

    def run(server, *arguments):
        options = ["formcraft", *map(str, arguments), "--model", "m", "--base-url", server.url]
        return CliRunner().invoke(main, [*options, "--set", "attempts=1", "--json"])

    return run


def test_the_key_reaches_no_draft_and_no_output(formlab, tmp_path, caplog):
    with serving("says_the_key_in_an_error", then=json.dumps({"items": [ITEM]})) as server:
        with caplog.at_level(0):
            results = [
                formlab(server, task, "--documents", "2", "--out", tmp_path)
                for task in ("vqa", "consistency")
            ]
        assert server.calls[0]["key"] == f"Bearer {KEY}"
    assert all(result.exit_code == 0 for result in results)
    output = "".join(result.stdout + result.stderr for result in results)
    assert KEY not in output + caplog.text
    written = [file for file in tmp_path.rglob("*") if file.is_file()]
    assert {"drafts.jsonl", "answers.sqlite"} <= {file.name for file in written}
    for file in written:
        assert KEY.encode() not in file.read_bytes(), file.name


def test_what_people_accept_is_written_and_what_is_kept_out_is_named(formlab, tmp_path):
    sound = ITEM | {"fields": ["/Donor/Name", "/Physician"], "question": "Did \x1b[31m sign?"}
    with serving(then=json.dumps({"items": [sound, sound | {"question": "And?"}]})) as server:
        assert formlab(server, "vqa", "--documents", "1", "--out", tmp_path).exit_code == 0
    corpus = benchmarks.load("formcraft")
    session = review.Review(review.of_corpus(corpus, tmp_path), tmp_path / "reviews", "ada")
    session.decide(0, "accept")
    session.decide(1, "edit", parts={"fields": "/Donor/\x1b[31m"})
    options = ["--drafts", tmp_path, "--reviews", tmp_path / "reviews", "--out", tmp_path / "out"]
    run = ["formcraft", "accept", *map(str, options), "--json"]
    result = CliRunner().invoke(main, run)
    assert result.exit_code == 0, result.stderr
    (row,) = json.loads(result.stdout)
    assert (row["drafted"], row["drafts"], row["accepted"], row["kept_out"]) == ("vqa", 2, 1, 1)
    assert result.stderr == ("kept out: blood_report/vqa/d2: no field at /Donor/\\x1b[31m\n")
    made = benchmarks.load("formcraft", root=tmp_path / "out")
    assert made.documents.height == corpus.documents.height
    assert made.records.height == corpus.records.height + 1
    assert made.flaws == corpus.flaws
