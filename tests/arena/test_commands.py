import pytest
from click.testing import CliRunner

from formlab.arena.commands import arena


def test_server_keeps_to_this_machine_unless_told_otherwise(tmp_path):
    asked = ["serve", "--host", "0.0.0.0", "--database", str(tmp_path / "s.sqlite")]
    done = CliRunner().invoke(arena, asked)
    assert done.exit_code == 2
    assert "--public" in done.output
    assert not (tmp_path / "s.sqlite").exists()


@pytest.mark.browser
@pytest.mark.usefixtures("chromium")
def test_fill_prints_what_became_of_each_episode(tmp_path):
    asked = ["fill", "--forms", "A11", "--instances", "1", "--out", str(tmp_path)]
    done = CliRunner().invoke(arena, asked)
    assert done.exit_code == 0
    assert done.output.splitlines() == [
        "A11-001  submitted  4/4", "1 of 1 submitted, 4 of 4 answers right",
    ]  # fmt: skip


@pytest.mark.browser
@pytest.mark.usefixtures("chromium")
def test_fill_works_at_any_address(tmp_path):
    from formlab.arena.run import serving

    (tmp_path / "values.json").write_text('{"applicant": "Ada Berg"}')
    with serving(tmp_path / "s.sqlite") as server:
        asked = ["fill", "--url", f"{server.ensure()}/forms/A11", "--out", str(tmp_path / "run")]
        done = CliRunner().invoke(arena, [*asked, "--values", str(tmp_path / "values.json")])
    assert done.exit_code == 0, done.output
    assert "Ada Berg" in (tmp_path / "run" / "events.jsonl").read_text()
