"""What is built anew and what is left, with notebooks that say what they read and when they ran."""

import json
import os
import signal
import subprocess
import sys

import nbformat
import psutil
import pytest

from formlab import reports
from formlab.reports import plan, record
from formlab.scoring import batches
from tests.reports.test_plan import evaluation
from tests.states import ended, until

READS = """
from pathlib import Path
with Path("runs.txt").open("a") as runs:
    runs.write(evaluation + "\\n")
print(Path(evaluation, "manifest.json").read_text())
"""
# The slow one runs until the file that holds it up is gone.
WAITS = """
import time
while "b" in evaluation and Path("hold").exists():
    time.sleep(0.1)
"""


@pytest.fixture
def work(tmp_path):
    """A folder with a notebook and the evaluations `a` and `b`."""
    new = nbformat.v4
    cells = [
        new.new_markdown_cell("# What is read?"),
        new.new_code_cell("evaluation: str = ''  # it", metadata={"tags": ["parameters"]}),
        new.new_code_cell(READS),
        new.new_code_cell(WAITS),
    ]
    nbformat.write(new.new_notebook(cells=cells), tmp_path / "reads.ipynb")
    for name in ("a", "b"):
        evaluation(tmp_path / name, system=name)
    return tmp_path


def build(work, **changes):
    options = {"out": work / "out", "evaluations": [work / "a", work / "b"], "figures": False}
    results = reports.build([work / "reads.ipynb"], **options | changes)
    return [result.status for result in results]


def runs(work):
    return (work / "runs.txt").read_text().split()


def failing(work):
    book = nbformat.read(work / "reads.ipynb", 4)
    book.cells.append(nbformat.v4.new_code_cell("1 / 0"))
    return book


KILLED = """
from formlab import reports
if __name__ == "__main__":
    settings = dict(out="out", evaluations=["a", "b"], figures=False, workers=2)
    print(*(result.status for result in reports.build(["reads.ipynb"], **settings)))
"""


def test_killed_build_leaves_every_page_whole_and_the_next_goes_on(work):
    (work / "hold").touch()
    (work / "killed.py").write_text(KILLED)
    process = subprocess.Popen([sys.executable, "killed.py"], cwd=work, stderr=subprocess.DEVNULL)
    first = work / "out" / f"reads--a{record.ENDING}"
    try:
        until(lambda: process.poll() or (first.is_file() and len(runs(work)) == 2))
        assert process.poll() is None
        theirs = psutil.Process(process.pid).children(recursive=True)
    finally:
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
    # Its workers and their kernels end with it.
    assert len(theirs) >= 3
    until(lambda: ended(theirs))
    (work / "hold").unlink()
    for page in (work / "out").glob("*.html"):
        assert page.read_text().rstrip().endswith("</html>")
    whole = first.read_bytes()
    # In a process of its own, too: plug-ins that other tests have registered are part of a key.
    again = [sys.executable, "killed.py"]
    said = subprocess.run(again, cwd=work, capture_output=True, text=True, check=True).stdout
    assert said.split() == ["unchanged", "built"]
    assert first.read_bytes() == whole
    assert not [p for p in (work / "out").rglob("*") if ".part" in p.name]
    assert list(record.every(work / "out")) == ["reads--a", "reads--b"]


@pytest.fixture
def made(work):
    """A report of `a`, as things are when it is asked for."""

    def made(**parameters):
        book = plan.Notebook(work / "reads.ipynb", {"evaluation": "", "judge": ""})
        return plan.Report("r", book, {"evaluation": "a"} | parameters)

    return made


def test_key_follows_everything_a_report_is_made_from(work, made, monkeypatch):
    def one_key(figures=False, **given):
        return record.key(made(**given), figures=figures)

    keys = [one_key(), one_key(figures=True), one_key(judge="answers.json")]
    for content in "12":
        (work / "answers.json").write_text(content)
        keys.append(one_key(judge="answers.json"))
    (work / "a" / "manifest.json").write_text("{}")
    keys.append(one_key())
    nbformat.write(failing(work), work / "reads.ipynb")
    keys.append(one_key())
    for name, value in (("code", "other"), ("versions", {"polars": "0"})):
        monkeypatch.setattr(record, name, lambda value=value: value)
        keys.append(one_key())
    assert len(set(keys)) == len(keys)
    # The sample counts only where there is no evaluation.
    without = one_key(evaluation="")
    monkeypatch.setattr(record, "sample", lambda: "other")
    assert one_key() == keys[-1]
    assert one_key(evaluation="") != without


def test_facts_of_an_evaluation_show_no_path_of_the_disk(work, made):
    content = {
        "kind": "Evaluation", "benchmark": "funsd", "split": "test", "root": "/home/ada/funsd",
        "settings": {"system": {"model": "/home/ada/m.onnx"}, "threshold": 0.8},
    }  # fmt: skip
    (work / "a" / "manifest.json").write_text(json.dumps(content))
    (facts,) = (told for title, told in record.facts(made()).items() if "Evaluation" in title)
    assert [facts[f"setting {n}"] for n in ("threshold", "system")] == ["0.8", "model=m.onnx"]
    assert "/home" not in str(facts)


def test_report_of_a_part_of_a_corpus_says_so_on_top(work):
    file = work / "a" / "manifest.json"
    content = json.loads(file.read_text()) | {
        "settings": {"documents": "all"}, "notes": {batches.UNANSWERED: 42},
    }  # fmt: skip
    content["tables"]["documents"] = [["00000.parquet", 50, ""]]
    file.write_text(json.dumps(content))
    assert build(work) == ["built", "built"]
    pages = [(work / "out" / f"reads--{name}.html").read_text() for name in ("a", "b")]
    assert 'class="fl-part"' not in pages[1]
    banner = pages[0].partition('<div class="fl-part" role="note">')[2].partition("</div>")[0]
    assert "a on funsd:test: 8 of 50 documents were answered; the rest count as missing" in banner
    assert "<code>--documents answered</code>" in banner
