import json

from click.testing import CliRunner

from formlab.cli import main
from tests.arena.test_web_episodes import GOLD, SENT, run


def invoked(*asked):
    return CliRunner().invoke(main, ["arena", *map(str, asked)])


def test_score_of_other_pages_names_what_has_no_pair(tmp_path):
    folder = run(tmp_path / "run", [SENT], gold=None)
    done = invoked("score", folder)
    assert done.exit_code == 2
    assert "no right answers to score by" in done.output
    assert "--gold gold.json" in done.output
    (tmp_path / "gold.json").write_text(json.dumps(GOLD | {"Shoe size": "42"}))
    done = invoked("score", folder, "--gold", tmp_path / "gold.json", "--json", "--all")
    assert done.exit_code == 0, done.output
    assert "task-1: on no page: Shoe size" in done.stderr
    assert "task-1: sent without gold: csrf" in done.stderr
    rows = [row for row in json.loads(done.stdout) if row["metric"] == "value_submitted_accuracy"]
    # Nine of the ten answers arrived.
    assert {round(row["value"], 3) for row in rows if row["slice_by"] is None} >= {0.9}
