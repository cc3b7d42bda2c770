import json

import pytest
from click.testing import CliRunner

from formlab.cli import main
from formlab_arena.commands import arena
from tests.arena.foreign import hosting


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
    head, row, last = done.stdout.splitlines()
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
    rows = {line.split()[0]: line.split()[1:] for line in done.stdout.splitlines()[1:-1]}
    assert (rows["child"], rows["swim"], rows["mail"]) == (["Ada", "Berg"], ["yes"], [])
    assert done.stdout.splitlines()[-1].startswith("ended after")


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        (["--system", "oracel"], "unknown agent 'oracel'. Try: 'oracle'"),
        (["--forms", "Q1"], "unknown form 'Q1'"),
        (["--system", "rules", "--max-calls", "3"], "rules has no settings"),
        (["--system", "chat:m"], "OPENAI_API_KEY"),
        (["--system", "chat:m", "--max-calls", "many"], "max_calls"),
        (["--system", "chat:m", "--set", "colour=red"], "unknown setting of chat:m 'colour'"),
        (["--system", "chat:m", "--set", "colour"], "is not NAME=VALUE"),
        (["--text", "a.txt"], "--text goes with --url"),
        (["--url", "http://127.0.0.1:9", "--system", "rules"], "--url needs --text"),
        (["--url", "ftp://127.0.0.1:9"], "not an http address"),
        (["--system", "chat:m", "--ruler", "--set", "boxes=thousandths"], "a ruler shows pixels"),
    ],
)
def test_mistakes_are_named_before_anything_starts(tmp_path, monkeypatch, asked, says):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    if "--ruler" in asked:
        asked = [*asked, "--base-url", "http://127.0.0.1:9/v1"]
    done = invoked(*asked, "--out", tmp_path / "run")
    assert done.exit_code == 2
    assert says in done.stderr
    assert not (tmp_path / "run").exists()
