"""What docs/plugins shows, from a folder and from an installed package, end to end."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from click.testing import CliRunner

from formlab.cli import main

REPOSITORY = Path(__file__).parents[2]
FILES = sorted((REPOSITORY / "docs" / "plugins").glob("toy_*.py"))
PROJECT = """
[build-system]
requires = ["hatchling"]
build-backend = "hatchling.build"
[project]
name = "formlab-toys"
version = "1.2"
[project.entry-points."formlab.benchmarks"]
receipts = "toys.toy_benchmark:read"
[project.entry-points."formlab.metrics"]
digit_accuracy = "toys.toy_metric:digit_accuracy"
[project.entry-points."formlab.systems"]
lines = "toys.toy_system:start"
[tool.hatch.build.targets.wheel]
packages = ["toys"]
"""
FORMS = {"a": ("10.05", "10.05"), "b": ("7.25", "7.25"), "c": ("31.90", "81.90")}
CELLS = (
    "evaluation: str = ''  # the folder",
    "import formlab\nsummary = formlab.summarise(formlab.open_evaluation(evaluation), resamples=0)",
    "formlab.charts.mean_bars(summary, 'metric', 'value')",
    "summary",
)


@pytest.fixture
def forms(tmp_path):
    """Three receipts; the text of the last has one digit of four other than its gold."""
    folder = tmp_path / "forms"
    folder.mkdir()
    for name, (gold, written) in FORMS.items():
        (folder / f"{name}.json").write_text(json.dumps({"total": gold}))
        (folder / f"{name}.txt").write_text(f"A shop\nTotal: {written}\n")
    return folder


@pytest.fixture(params=["files", "package"])
def formlab(request, tmp_path):
    """The command line as its own process; files are named by option, variable or not at all."""
    env = os.environ | {"FORMLAB_CACHE": str(tmp_path / "cache")}
    env.pop("FORMLAB_PLUGINS", None)
    paths = [str(REPOSITORY)]
    if request.param == "package":
        paths.append(str(_installed(tmp_path)))
    env["PYTHONPATH"] = os.pathsep.join([*paths, env.get("PYTHONPATH", "")])

    def run(*arguments, by="", code=0):
        command, here = [sys.executable, "-m", "formlab"], env
        if request.param == "files" and by == "option":
            command += [text for file in FILES for text in ("--plugin", str(file))]
        if request.param == "files" and by == "variable":
            here = env | {"FORMLAB_PLUGINS": os.pathsep.join(map(str, FILES))}
        command += map(str, arguments)
        done = subprocess.run(command, cwd=tmp_path, env=here, capture_output=True, text=True)
        assert done.returncode == code, done.stderr
        return done.stdout

    run.source = {"package": "package formlab-toys 1.2"}.get(request.param, str(FILES[0].parent))
    return run


def _installed(tmp_path):
    project, target = tmp_path / "project", tmp_path / "site"
    (project / "toys").mkdir(parents=True)
    (project / "pyproject.toml").write_text(PROJECT)
    (project / "toys" / "__init__.py").touch()
    for file in FILES:
        (project / "toys" / file.name).write_text(file.read_text())
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-index", "--no-deps"]
    pip += ["--no-build-isolation", "--target", str(target), str(project)]
    subprocess.run(pip, check=True, capture_output=True)
    return target


def test_each_file_is_short():
    names = ["toy_agent", "toy_benchmark", "toy_metric", "toy_system"]
    assert [file.stem for file in FILES] == names
    assert all(len(file.read_text().splitlines()) < 50 for file in FILES)


def test_toys_are_listed_run_scored_compared_and_reported(formlab, forms, tmp_path):
    listed = json.loads(formlab("list", "benchmarks", "--json", by="option"))
    assert "Receipts as plain text" in [row["title"] for row in listed]
    rows = json.loads(formlab("list", "plugins", "--json", by="variable"))
    sources = {row["name"]: row["source"] for row in rows}
    for name in ("receipts", "lines", "digit_accuracy"):
        assert sources[name].startswith(formlab.source)

    run = ("run", "receipts", "--root", forms, "--system", "lines", "--out", "runs/lines")
    assert json.loads(formlab(*run, "--workers", "2", "--json", by="variable"))[0]["failed"] == 0
    score = ("score", "receipts", "--root", forms, "--predictions", "runs/lines", "--out", "e")
    rows = json.loads(formlab(*score, "--by", "kind", "--resamples", "0", "--json", by="option"))
    # Eleven digits, of which one was read as another.
    values = [row["value"] for row in rows if row["metric"] == "digit_accuracy"]
    assert values
    assert values == pytest.approx([10 / 11] * len(values))
    recorded = json.loads((tmp_path / "e" / "manifest.json").read_text())["plugins"]
    assert {entry["entry"] for entry in recorded} == {"receipts", "digit_accuracy"}
    # Later processes that are told nothing find the plug-ins again.
    both = formlab("compare", "e", "e", "--metric", "digit_accuracy", "--json")
    assert json.loads(both)[0]["value_a"] == pytest.approx(10 / 11)
    if formlab.source == str(FILES[0].parent):
        _check_own_command_and_report(formlab, tmp_path)


def _check_own_command_and_report(formlab, tmp_path):
    """A command, a notebook and a chart of the page's other example, which is a file alone."""
    mine = _mine(tmp_path)
    assert formlab(*mine, "count", "e") == "3\n"
    book = nbformat.v4.new_notebook(
        cells=[nbformat.v4.new_code_cell(cell) for cell in CELLS],
        metadata={"kernelspec": {"name": "python3", "display_name": "Python 3"}},
    )
    book.cells[0].metadata["tags"] = ["parameters"]
    nbformat.write(book, tmp_path / "mine.ipynb")
    formlab(*mine, "report", "mine", "--eval", "e", "--set", "figures=off", "--out", "r")
    report = (tmp_path / "r" / "mine--e.html").read_text()
    assert "digit_accuracy" in report
    assert re.search(r"aggregate\W+mean", report)


def _mine(folder):
    """The option that names the file whose code stands in docs/plugins/README.md."""
    page = (REPOSITORY / "docs" / "plugins" / "README.md").read_text()
    (code,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    (folder / "mine.py").write_text(code)
    return ("--plugin", folder / "mine.py")


@pytest.mark.browser
@pytest.mark.usefixtures("fresh")
def test_agent_of_the_page_fills_in_a_form(tmp_path):
    fill = ("arena", "fill", "--system", "first", "--forms", "A11", "--out", tmp_path / "fill")
    words = [str(word) for word in (*_mine(tmp_path), *fill, "--json")]
    done = CliRunner().invoke(main, words)
    # It sends nothing, which the exit code says.
    assert done.exit_code == 1, done.output
    assert json.loads(done.stdout)[0]["steps"] == 2
