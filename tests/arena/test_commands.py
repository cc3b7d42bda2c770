import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from formlab.cli import main
from formlab_arena.commands import arena
from tests.arena.web import Page
from tests.arena.web import hosting as pages_hosting


def test_server_keeps_to_this_machine_unless_told_otherwise(tmp_path):
    asked = ["serve", "--host", "0.0.0.0", "--database", str(tmp_path / "s.sqlite")]
    done = CliRunner().invoke(arena, asked)
    assert done.exit_code == 2
    assert "--public" in done.output
    assert not (tmp_path / "s.sqlite").exists()


def invoked(*asked):
    return CliRunner().invoke(main, ["arena", "fill", *map(str, asked)])


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        (["--system", "oracel"], "unknown agent 'oracel'. Try: 'oracle'"),
        (["--pages", "formcarft"], "'formcraft'"),
        (["--forms", "Q1"], "unknown form 'Q1'"),
        (["--system", "chat:m"], "OPENAI_API_KEY"),
        (["--system", "chat:m", "--set", "colour=red"], "unknown setting of chat:m 'colour'"),
        (["--text", "a.txt"], "--text goes with --url"),
        (["--agent", "nowhere.py"], "no such file"),
        (["--url", "ftp://127.0.0.1:9"], "not an http address"),
        (["--data", ".", "--texts", "prose"], "--data brings its own texts"),
    ],
)
def test_mistakes_are_named_before_anything_starts(tmp_path, monkeypatch, fresh, asked, says):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    done = invoked(*asked, "--out", tmp_path / "run")
    assert done.exit_code == 2
    assert says in done.stderr
    assert not (tmp_path / "run").exists()


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
    _, row = done.stdout.splitlines()
    assert row.split()[:4] == ["ada", "submitted", "1", "1/1"]
    assert host.sent[0]["values"] == {"n": ["Ada"], "t": ["Oslo"]}


SMALL = """<!doctype html><form method=post action=/accept><label>Name <input name=n></label>
<label>Town <input name=t></label><button>Send</button></form>"""
