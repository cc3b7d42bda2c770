"""What docs/plugins/README.md shows, run; its files are in the contract (f03)."""

import json
import re
from pathlib import Path

import nbformat
import pytest
from click.testing import CliRunner

from formlab import evaluate
from formlab.cli import main
from tests.arena.web import Page, hosting

REPOSITORY = Path(__file__).parents[2]
FORMS = {"a": ("10.05", "10.05"), "b": ("7.25", "7.25"), "c": ("31.90", "81.90")}
CELLS = (
    "evaluation: str = ''  # the folder",
    "import formlab\nsummary = formlab.summarise(formlab.open_evaluation(evaluation), resamples=0)",
    "formlab.charts.mean_bars(summary, 'metric', 'value')",
    "summary",
)


@pytest.mark.usefixtures("fresh")
def test_command_notebook_and_chart_of_the_page_are_used(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    gold = {name: {"total": total} for name, (total, _) in FORMS.items()}
    evaluate(gold, gold).save("e")
    book = nbformat.v4.new_notebook(
        cells=[nbformat.v4.new_code_cell(cell) for cell in CELLS],
        metadata={"kernelspec": {"name": "python3", "display_name": "Python 3"}},
    )
    book.cells[0].metadata["tags"] = ["parameters"]
    nbformat.write(book, "mine.ipynb")
    # Cases of three fields and of three documents.
    command = [str(word) for word in _mine(tmp_path)]
    assert CliRunner().invoke(main, [*command, "count", "e"]).output == "6\n"
    report = ("report", "mine", "--eval", "e", "--set", "figures=off", "--workers", "1")
    assert CliRunner().invoke(main, [*command, *report, "--out", "r"]).exit_code == 0
    page = Path("r/mine--e.html").read_text()
    assert "exact_accuracy" in page
    assert "Mean of value" in page


def _mine(folder):
    """The option that names the file whose code stands in docs/plugins/README.md."""
    page = (REPOSITORY / "docs" / "plugins" / "README.md").read_text()
    (code,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    (folder / "mine.py").write_text(code)
    return ("--plugin", folder / "mine.py")


@pytest.mark.browser
@pytest.mark.usefixtures("fresh")
def test_agent_of_the_page_fills_in_a_form(tmp_path):
    small = "<!doctype html><form method=post><label>Name <input name=n></label></form>"
    (tmp_path / "text.txt").write_text("My name is Ada.")
    with hosting(Page("small", small, {}, {})) as host:
        given = ("--text", tmp_path / "text.txt", "--out", tmp_path / "fill")
        fill = ("arena", "fill", "--system", "first", "--url", host.url, *given, "--json")
        words = [str(word) for word in (*_mine(tmp_path), *fill)]
        done = CliRunner().invoke(main, words)
    # It sends nothing, which the exit code says.
    assert done.exit_code == 1, done.output
    assert json.loads(done.stdout)[0]["steps"] == 2
