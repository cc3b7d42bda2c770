"""The key of an endpoint is sent to it, and reaches nothing that is written or printed."""

import json

import nbformat
from click.testing import CliRunner

from formlab import reports
from formlab.cli import main
from tests.systems.scripted_server import serving

KEY = "sk-a-secret-of-forty-characters-in-all-0"
NOTEBOOK = (
    "from formlab import analysis, charts, folders\n"
    "from formlab.analysis import summarise\n"
    "found = folders.Evaluation.load(evaluation)",
    "charts.table(analysis.answers([found]))",
    "charts.stacked(analysis.answers([found]), 'task', colour='status')",
    "charts.scores_table(summarise(found, resamples=0))", "charts.notes_table(found)",
    "found.settings", "found.cases.drop_nulls('pred')['pred'].unique().to_list()",
)  # fmt: skip


def written(folder):
    return [file for file in folder.rglob("*") if file.is_file()]


def test_a_run_its_scores_and_its_report_hold_no_key(tmp_path, monkeypatch, caplog):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("FORMLAB_REPORT", "1")
    told = []

    def formlab(*arguments):
        result = CliRunner().invoke(main, [str(argument) for argument in arguments])
        assert result.exit_code == 0, result.stderr
        told.append(result.stdout + result.stderr)

    # A server that says the key back, in an answer, an error and a refusal.
    leak = json.dumps({"fields": [{"label": f"Key {KEY}", "value": KEY}]})
    with (
        serving("says_the_key", "says_the_key_in_an_error", then=leak) as server,
        caplog.at_level(0),
    ):
        formlab("run", "formcraft", "--system", "chat:m", "--base-url", server.url,
                "--documents", "4", "--set", "attempts=1", "--set", "tasks=extraction",
                "--out", tmp_path / "run",
                "--set", "concurrency=1")  # fmt: skip
        assert {call["key"] for call in server.calls} == {f"Bearer {KEY}"}
    formlab("score", "formcraft", "--predictions", tmp_path / "run", "--out", tmp_path / "eval",
            "--resamples", 0)  # fmt: skip
    notebook = tmp_path / "answers.ipynb"
    cells = [nbformat.v4.new_markdown_cell("# What became of the answers?")]
    cells.append(nbformat.v4.new_code_cell('evaluation: str = ""  # folder of an evaluation'))
    cells[-1].metadata.tags = ["parameters"]
    cells += [nbformat.v4.new_code_cell(source) for source in NOTEBOOK]
    nbformat.write(nbformat.v4.new_notebook(cells=cells), notebook)
    (result,) = reports.build(
        [notebook], out=tmp_path / "reports", evaluations=[tmp_path / "eval"], figures=False
    )
    assert result.ok, result.error
    assert "[key]" in result.html.read_text()
    assert KEY not in "".join(told) + caplog.text
    names = {file.suffix for file in written(tmp_path)}
    assert {".html", ".ipynb", ".parquet", ".json", ".sqlite"} <= names
    for file in written(tmp_path):
        assert KEY.encode() not in file.read_bytes(), file.name
