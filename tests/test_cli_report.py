import json

import nbformat
import pytest
from click.testing import CliRunner

from formlab.cli import main


@pytest.fixture
def formlab(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return lambda *arguments: CliRunner().invoke(main, ["report", *arguments])


def book(path, *cells):
    new = nbformat.v4
    made = [new.new_code_cell("n: int = 1  # n", metadata={"tags": ["parameters"]})]
    nbformat.write(new.new_notebook(cells=made + [new.new_code_cell(cell) for cell in cells]), path)


def test_exit_code_and_json_tell_what_was_built_and_what_failed(formlab, tmp_path):
    book(tmp_path / "fine.ipynb")
    book(tmp_path / "bad.ipynb", "1 / 0")
    (tmp_path / "reports.yml").write_text(
        "figures: false\nreports:\n- notebook: fine.ipynb\n- notebook: bad.ipynb\n"
    )
    arguments = ("--manifest", "reports.yml", "--workers", "1", "--json")
    result = formlab(*arguments)
    rows = json.loads(result.stdout)
    assert result.exit_code == 1
    assert [(row["report"], row["status"]) for row in rows] == [
        ("fine.html", "built"), ("bad.html", "failed"),
    ]  # fmt: skip
    assert rows[1]["error"] == "ZeroDivisionError: division by zero"
    assert (tmp_path / "reports" / "index.html").is_file()

    (tmp_path / "reports.yml").write_text("figures: false\nreports:\n- notebook: fine.ipynb\n")
    result = formlab(*arguments)
    assert result.exit_code == 0
    assert [row["status"] for row in json.loads(result.stdout)] == ["unchanged"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("a.ipynb", "--manifest", "reports.yml"), "NOTEBOOKS beside --manifest"),
        (("--manifest", "nowhere.yml"), "no such file (nowhere.yml)"),
        (("--eval", "nowhere"), "no evaluation here (nowhere)"),
        (("10_content_modality", "--layout", "sight"), "Invalid value for '--layout'"),
    ],
)
def test_mistakes_exit_with_2_and_a_remedy(formlab, arguments, said):
    result = formlab(*arguments)
    assert result.exit_code == 2
    assert said in result.stderr


def test_scheduler_that_does_not_answer_exits_with_2(formlab, tmp_path, monkeypatch):
    from formlab import workers

    monkeypatch.setattr(workers, "ANSWER", 0.3)
    book(tmp_path / "fine.ipynb")
    result = formlab("fine.ipynb", "--scheduler", "tcp://127.0.0.1:1")
    assert result.exit_code == 2
    assert "answers at tcp://127.0.0.1:1. Try: start one" in result.stderr
