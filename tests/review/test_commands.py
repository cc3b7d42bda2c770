"""The commands that make FORMCRAFT data: `formcraft convert`, `vqa`, `consistency`, `accept`."""

import json

import pytest
from click.testing import CliRunner

import formlab_review as review
from formlab import benchmarks
from formlab.cli import main
from formlab_review import drafts
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


def test_items_are_drafted_and_counted_with_what_speaks_against_them(formlab, tmp_path):
    with serving("refused", then=json.dumps({"items": [ITEM]})) as server:
        words = ("vqa", "--documents", "3", "--out", tmp_path)
        result = formlab(server, *words, "--set", "concurrency=1")
        assert result.exit_code == 0, result.stderr
        again = formlab(server, *words)
        assert len(server.calls) == 3
    (row,) = json.loads(result.stdout)
    assert (row["forms"], row["items"], row["rejected"], row["failed"]) == (3, 2, 2, 1)
    assert json.loads(again.stdout) == json.loads(result.stdout)
    assert "note: rejected: no field at: 2" in result.stderr
    assert "refused: blood_report" in result.stderr


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


def test_annotations_become_a_folder_that_loads(formlab, funsd_root, tmp_path):
    form = {"fields": [{"label": "Name", "value": "Ada", "modality": "textual",
                        "modality_subtype": "handwritten"}], "groups": []}  # fmt: skip
    out = tmp_path / "out"
    annotations = funsd_root / "testing_data" / "annotations"
    with serving(then=json.dumps(form)) as server:
        result = formlab(server, "convert", annotations, "--out", out)
    assert result.exit_code == 0, result.stderr
    # Of the two forms, only the first has the name on it.
    (row,) = json.loads(result.stdout)
    assert (row["forms"], row["items"], row["rejected"], row["failed"]) == (2, 2, 1, 0)
    assert "note: rejected: its label is not in the annotation: 1" in result.stderr
    assert benchmarks.load("formcraft", root=out).documents["doc_id"].to_list() == ["a", "b"]
    assert {draft.doc_id for draft in drafts.sound(drafts.read(out))} == {"a"}


def test_examples_without_items_are_an_error(formlab, tmp_path):
    (tmp_path / "forms").mkdir()
    (tmp_path / "forms" / "a.json").write_text('{"fields": [{"label": "Name", "value": "Ada"}]}')
    with serving() as server:
        result = formlab(
            server, "vqa", "--examples", tmp_path, "--out", tmp_path / "out", "--documents", "1"
        )
    assert result.exit_code == 2
    assert "no items of vqa" in result.stderr


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


def test_two_reviewers_agreement_queue_and_gold_as_commands(tmp_path):
    corpus = benchmarks.load("formcraft")
    for name, value in (("ada", "O.K."), ("ben", "OK")):
        desk = review.FormReview(corpus, tmp_path / "edits", name)
        desk.make("lease", desk.form("lease").add("", "fields", {"label": "Fax", "value": value}))
        desk.make("lease", desk.form("lease").verify())

    def run(*arguments):
        options = ["formcraft", *map(str, arguments), "--edits", str(tmp_path / "edits"), "--json"]
        return CliRunner().invoke(main, options)

    rows = json.loads(run("agreement", "ada", "ben", "--resamples", 10).stdout)
    (value,) = [row for row in rows if (row["of"], row["attribute"]) == ("field", "value")]
    assert value["n_items"] - value["n_same"] == 1
    (open_row,) = json.loads(run("queue", "ada", "ben").stdout)
    assert (open_row["path"], open_row["ada"], open_row["ben"]) == ("/Fax", "O.K.", "OK")
    desks = [review.FormReview(corpus, tmp_path / "edits", name) for name in ("ada", "ben")]
    review.adjudicate(*desks, tmp_path / "third", "carl").decide(0, "second")
    written = run(
        "gold", "ada", "ben", "--decisions", tmp_path / "third", "--out", tmp_path / "out"
    )
    (counts,) = json.loads(written.stdout)
    assert (counts["edited"], counts["undecided"]) == (1, corpus.documents.height - 1)
    made = benchmarks.load("formcraft", root=tmp_path / "out")
    assert made.records.filter(path="/Fax")["value"].to_list() == ["OK"]
    assert run("agreement", "ada").exit_code == 2
    assert "two reviewers" in run("queue", "ada", "ben", "carl").stderr
