"""docs/tutorials/own-data.md: its files are written, its commands run, its numbers are true."""

import os
import re
import shlex
import shutil
from collections import Counter
from pathlib import Path

import nbformat
import polars as pl
import pytest
from click.testing import CliRunner

import formlab
from formlab import benchmarks, reports
from formlab.cli import main
from tests.seeds import ALL

DOCS = Path(__file__).parents[1] / "docs"
EXAMPLE = DOCS / "examples" / "kleister_nda.ipynb"
PAGE = (DOCS / "tutorials" / "own-data.md").read_text()
COMMANDS = [
    shlex.split(line)[1:]
    for block in re.findall(r"```sh\n(.+?)```", PAGE, re.DOTALL)
    for line in block.splitlines()
]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with the files of the page, and the two scans from the sample of FUNSD."""
    for name, content in re.findall(r"```text (\S+)\n(.+?)```", PAGE, re.DOTALL):
        (tmp_path / name).write_text(content)
    (tmp_path / "scans").mkdir()
    for name in ("invoice", "travel_claim"):
        scan = benchmarks.SAMPLES / "funsd" / "testing_data" / "images" / f"{name}.png"
        shutil.copy(scan, tmp_path / "scans")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*arguments):
    done = CliRunner().invoke(main, arguments, catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done


def test_commands_of_the_page_run_and_the_report_has_fields_forms_and_scans(folder):
    assert [words[0] for words in COMMANDS] == ["score", "report", "score", "score"]
    score, report, by, types = COMMANDS
    run(*score)
    evaluation = formlab.open_evaluation("evals/mine")
    fields = evaluation.fields.select("path", "pred_path", "outcome").rows()
    # 11 values of the truth and `tax`; the number TC-118 is wrong.
    assert Counter(outcome for *_, outcome in fields) == {"match": 10, "mismatch": 1, "spurious": 1}
    assert ("/items/0/hours", "/items/1/hours", "match") in fields
    run(*by)
    run(*types)
    # In `make test` of the reports that of fields alone.
    built = ["00_overview"] if ALL else []
    run(*report, *([] if ALL else ["65_own_forms"]), "--set", "figures=off")
    found = sorted(file.stem for file in Path("reports").glob("*.html"))
    assert found == [*built, "65_own_forms--mine", "index"]
    page = Path("reports/65_own_forms--mine.html").read_text()
    assert "/items/*/hours" in page
    assert "scanner" in page
    assert "data:image/webp" in page


def test_python_of_the_page_runs(folder, capsys):
    (code,) = re.findall(r"```python\n(.+?)```", PAGE, re.DOTALL)
    exec(compile(code, "own-data.md", "exec"), {})
    assert "TC-ll8" in capsys.readouterr().out


@pytest.mark.complete
def test_published_f1_is_that_of_plain_python_and_of_formlab(tmp_path, shared):
    contracts = shared.resolve() / "data" / "kleister-nda"
    result, *_ = reports.build(
        [EXAMPLE], out=tmp_path / "reports", figures=False,
        parameters={"source": os.path.relpath(contracts, EXAMPLE.parent), "out": str(tmp_path),
                    "resamples": 20},
    )  # fmt: skip
    assert result.ok, result.error
    gold = pl.read_csv(tmp_path / "gold.csv", infer_schema=False).drop_nulls("value")
    assert gold.height == 334
    assert gold["doc_id"].n_unique() == 83
    answers = pl.read_ndjson(tmp_path / "answers.jsonl")
    # As filipg/geval counts: the pairs of key and value of each document, by how often they occur.
    want = Counter((d, k, v.upper()) for d, k, v in gold.select("doc_id", "path", "value").rows())
    have = Counter(
        (row["doc_id"], key, value.upper())
        for row in answers.to_dicts()
        for key in ("effective_date", "jurisdiction", "term", "party")
        for value in (row[key] if isinstance(row[key], list) else [row[key]])
        if isinstance(value, str)
    )
    f1 = 2 * (want & have).total() / (want.total() + have.total())
    executed = nbformat.read(tmp_path / "reports" / "kleister_nda.ipynb", as_version=4)
    shown = str([cell.get("outputs") for cell in executed.cells])
    printed = re.findall(r"\| (0\.\d{4}) \|", PAGE)
    assert printed[:2] == [f"{f1:.4f}"] * 2
    assert all(number in shown for number in printed)
