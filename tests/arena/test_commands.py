import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from formlab.cli import main
from formlab_arena.commands import arena
from tests.arena.foreign import hosting
from tests.arena.web import Page
from tests.arena.web import hosting as pages_hosting
from tests.systems.scripted_server import serving


def test_server_keeps_to_this_machine_unless_told_otherwise(tmp_path):
    asked = ["serve", "--host", "0.0.0.0", "--database", str(tmp_path / "s.sqlite")]
    done = CliRunner().invoke(arena, asked)
    assert done.exit_code == 2
    assert "--public" in done.output
    assert not (tmp_path / "s.sqlite").exists()


def invoked(*asked):
    return CliRunner().invoke(main, ["arena", "fill", *map(str, asked)])


@pytest.mark.browser
def test_fill_shows_a_table_of_the_episodes_and_how_many_answers_were_right(tmp_path):
    done = invoked("--forms", "A11", "--instances", "1", "--out", tmp_path)
    assert done.exit_code == 0, done.output
    head, row = done.stdout.splitlines()
    last = done.stderr.splitlines()[-1]
    assert head.split() == [
        "doc_id", "form", "status", "right", "fields", "steps", "seconds", "error",
    ]  # fmt: skip
    assert row.split()[:6] == ["A11-001", "A11", "submitted", "4", "4", "2"]
    assert last == "1 of 1 submitted, 4 of 4 answers right"
    # The bar goes to stderr, and a second call takes what is there.
    assert "1/1" in done.stderr
    again = invoked("--forms", "A11", "--out", tmp_path, "--json")
    assert [result["right"] for result in json.loads(again.stdout)] == [4]


@pytest.mark.browser
def test_fill_works_at_any_address_and_shows_what_was_filled_in(tmp_path):
    (tmp_path / "values.json").write_text('{"child": "Ada Berg", "swim": true}')
    with hosting() as server:
        done = invoked(
            "--url", server.url, "--out", tmp_path / "run", "--values", tmp_path / "values.json"
        )
    assert done.exit_code == 0, done.output
    rows = {line.split()[0]: line.split()[1:] for line in done.stdout.splitlines()[1:]}
    assert (rows["child"], rows["swim"], rows["mail"]) == (["Ada", "Berg"], ["yes"], [])
    assert "submitted after" in done.stderr
    assert done.stderr.splitlines()[-1].endswith("1 sent")


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        (["--system", "oracel"], "unknown agent 'oracel'. Try: 'oracle'"),
        (["--pages", "formcarft"], "'formcraft'"),
        (["--pages", "formcraft", "--forms", "blood"], "unknown document 'blood'"),
        (["--pages", "formcraft", "--texts", "prose"], "--texts goes without --pages"),
        (["--reading", "runs/ocr"], "--reading goes with --pages"),
        (["--pages", "formcraft", "--reading", "none"], "none"),
        (["--forms", "Q1"], "unknown form 'Q1'"),
        (["--system", "rules", "--set", "max_calls=3"], "rules has no settings"),
        (["--system", "chat:m"], "OPENAI_API_KEY"),
        (["--system", "chat:m", "--set", "max_calls=many"], "max_calls"),
        (["--system", "chat:m", "--set", "colour=red"], "unknown setting of chat:m 'colour'"),
        (["--system", "chat:m", "--set", "colour"], "is not NAME=VALUE"),
        (["--text", "a.txt"], "--text goes with --url"),
        (["--agent", "a:B", "--drive", "python a.py"], "--agent goes without --drive"),
        (["--agent", "nowhere.py"], "no such file"),
        (["--viewport", "390"], "'390' is not like 1280x800"),
        (["--storage", "nowhere.json"], "no storage state"),
        (["--url", "http://a/", "--tasks", "t.jsonl"], "--url goes without --tasks"),
        (["--tasks", "nowhere.jsonl"], "nowhere.jsonl"),
        (["--tasks", "t.jsonl", "--text", "a.txt"], "--text goes with --url"),
        (["--miniwob", "login-usr"], "unknown task of MiniWoB++ 'login-usr'"),
        (["--url", "http://127.0.0.1:9", "--system", "rules"], "--url needs --text"),
        (["--url", "ftp://127.0.0.1:9"], "not an http address"),
        (["--texts", "nowhere.yaml"], "nowhere.yaml"),
        (["--texts", "prose", "--forms", "E12", "--instances", "2"], "1 texts for form E12, 2"),
        (["--data", ".", "--texts", "prose"], "--data brings its own texts"),
        (["--system", "chat:m", "--ruler", "--set", "boxes=thousandths"], "a ruler shows pixels"),
    ],
)
def test_mistakes_are_named_before_anything_starts(tmp_path, monkeypatch, fresh, asked, says):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    if "--ruler" in asked:
        asked = [*asked, "--base-url", "http://127.0.0.1:9/v1"]
    done = invoked(*asked, "--out", tmp_path / "run")
    assert done.exit_code == 2
    assert says in done.stderr
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        (["--system", "rules"], "texts are written by chat:MODEL"),
        (["--system", "chat:m", "--kind", "poem"], "unknown kind of text 'poem'"),
        (["--system", "chat:m", "--texts", "prose"], "instances that formlab makes"),
        (["--system", "chat:m"], "OPENAI_API_KEY"),
    ],
)
def test_mistakes_of_writing_are_named_before_anything_starts(tmp_path, asked, says):
    done = CliRunner().invoke(main, ["arena", "write", *asked, "--out", str(tmp_path / "texts")])
    assert done.exit_code == 2
    assert says in done.stderr
    assert not (tmp_path / "texts").exists()


def test_writing_says_which_texts_came_of_it(tmp_path, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-none")
    with serving(then='{"text": "Hello", "evidence": []}') as server:
        asked = ["--system", "chat:m", "--base-url", server.url, "--forms", "E12", "--tries", "1"]
        command = ["arena", "write", *asked, "--out", str(tmp_path)]
        done = CliRunner().invoke(main, command)
        rows = json.loads(CliRunner().invoke(main, [*command, "--json"]).stdout)
        assert len(server.calls) == 1
    assert done.stdout.splitlines()[1].split()[:4] == ["E12-001", "quoted", "plain", "1"]
    assert done.stderr.splitlines()[-1] == "0 of 1 written; the others keep their plain text"
    assert (rows[0]["status"], rows[0]["missing"][0]) == ("plain", "holder")


@pytest.mark.browser
def test_the_agent_of_the_documentation_fills_in_a_page_and_a_task_file_has_a_table(
    tmp_path, fresh
):
    agent = Path(__file__).parents[2] / "docs" / "plugins" / "toy_agent.py"
    page = Page("small", SMALL, {}, {})
    with pages_hosting(page) as host:
        task = {"name": "ada", "address": host.url, "text": "Name: Ada\nTown: Oslo"}
        (tmp_path / "tasks.jsonl").write_text(json.dumps(task | {"gold": {"Name": "Ada"}}))
        done = invoked(
            "--agent", agent, "--tasks", tmp_path / "tasks.jsonl", "--out", tmp_path / "run"
        )
    assert done.exit_code == 0, done.output
    head, row = done.stdout.splitlines()
    last = done.stderr.splitlines()[-1]
    assert head.split() == [
        "name", "status", "submissions", "right", "looks", "seconds", "error",
    ]  # fmt: skip
    assert row.split()[:4] == ["ada", "submitted", "1", "1/1"]
    assert last == "1 of 1 submitted, 1 of 1 answers right"
    assert host.sent[0]["values"] == {"n": ["Ada"], "t": ["Oslo"]}


SMALL = """<!doctype html><form method=post action=/accept><label>Name <input name=n></label>
<label>Town <input name=t></label><button>Send</button></form>"""
