import json
import os
import re
import sys
from contextlib import nullcontext
from pathlib import Path

import nbformat
import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner

import formlab
from formlab import benchmarks, evaluate, metrics, readers, registry
from formlab.cli import main
from formlab.errors import DataBroken, DataMissing, FormlabError, NotAvailable, UnknownName
from formlab.folders import Evaluation
from tests import executed
from tests.arena.web.hosting import Page, hosting

pytestmark = pytest.mark.usefixtures("fresh")
METRIC = """
import numpy as np, formlab

@formlab.metric("{name}", tasks=("text",))
def tallies(golds, preds):
    return np.array([[float(len(p)), {times}.0 * len(g)] for g, p in zip(golds, preds)])
"""


def metric_file(folder, *, name="letters", times=1, stem="mine"):
    file = folder / f"{stem}.py"
    file.write_text(METRIC.format(name=name, times=times))
    return file


@pytest.mark.parametrize("name", ["cer", "letters"])
def test_two_of_one_name_are_an_error_that_names_both(tmp_path, name):
    first, second = (metric_file(tmp_path, name=name, stem=stem) for stem in ("one", "two"))
    registry.load(first)
    if name != "cer":
        registry.load(second)
    with pytest.raises(DataBroken, match=f"two metrics are called '{name}'") as caught:
        metrics.get(name)
    assert str(first) in str(caught.value)
    assert ("formlab" if name == "cer" else str(second)) in str(caught.value)
    assert metrics.get("wer").name == "wer"
    assert {row["name"] for row in registry.plugins("metrics") if row["problem"]} == {name}


def test_package_is_found_by_its_entry_points_and_imported_when_used(installed):
    code = METRIC.format(name="letters", times=1)
    installed("letterpress", code, metrics=["letters = letterpress:tallies"])
    assert metrics.METRICS.entry("letters")[2:5] == ("package", "letterpress", "1.0")
    assert "letters" in metrics.METRICS
    assert "letterpress" not in sys.modules
    assert metrics.get("letters").name == "letters"
    del sys.modules["letterpress"]


def test_file_that_cannot_be_run_is_said_and_what_it_registered_is_gone(
    tmp_path, monkeypatch, capsys
):
    file = metric_file(tmp_path, stem="bad")
    file.write_text(file.read_text() + "raise SystemExit('no')")
    monkeypatch.setenv(registry.VARIABLE, str(file))
    with pytest.raises(UnknownName, match="unknown metric 'letters'"):
        metrics.get("letters")
    assert f"plug-in cannot be loaded: SystemExit: no ({file})" in capsys.readouterr().err
    (tmp_path / "circle.py").symlink_to("circle.py")
    os.mkfifo(tmp_path / "pipe.py")
    for name in ("absent.py", "circle.py", "pipe.py", "x" * 5000):
        with pytest.raises(DataMissing):
            registry.load(tmp_path / name)


def test_a_recorded_file_is_run_again_only_as_this_user_has_named_it(
    tmp_path, funsd_root, monkeypatch
):
    file = metric_file(tmp_path)
    registry.load(file)
    (tmp_path / "p.jsonl").write_text('{"doc_id": "a", "text": "Name: Ada Berg"}\n')
    corpus = benchmarks.load("funsd", root=funsd_root)
    evaluation = formlab.evaluate(corpus, formlab.read_predictions(tmp_path / "p.jsonl", corpus))
    folder = evaluation.save(tmp_path / "e")

    def refused():
        registry.unload(file)
        needed = r"metric 'letters' of .*mine.py is needed.*Try: --plugin FILE.py"
        with pytest.raises(NotAvailable, match=needed):
            Evaluation.load(folder)
        assert "letters" not in metrics.METRICS

    registry.unload(file)
    assert "letters" in set(formlab.summarise(Evaluation.load(folder), resamples=0)["metric"])
    monkeypatch.setenv("FORMLAB_CACHE", str(tmp_path / "another user"))
    refused()
    registry.load(file)
    assert Evaluation.load(folder).scores.height
    metric_file(tmp_path, times=2)
    refused()
    # Whoever names the changed file wants it.
    registry.load(file)
    Evaluation.load(folder)
    file.unlink()
    refused()


RECORD = dict.fromkeys(registry.Record.__annotations__, "")


@pytest.mark.parametrize(
    ("records", "message"),
    [
        (None, None), ({}, None), ([], None),
        ("x", "Expected `array`"), ([5], "Expected `object`"),
        ([{"plugin": []}], r"got `array`.*plug-ins of here"),
        ([RECORD | {"plugin": "charts", "entry": "x", "kind": "file"}], "evil.py is needed"),
        ([RECORD | {"plugin": "odd", "entry": "x", "version": "../../x"}], "odd 'x' of  is needed"),
        ([RECORD | {"plugin": "charts", "kind": "package", "name": "p", "version": "2"}], "p==2"),
    ],
)  # fmt: skip
def test_manifest_that_is_hostile_runs_nothing(tmp_path, records, message):
    (tmp_path / "evil.py").write_text("raise AssertionError")
    if message == "evil.py is needed":
        records[0] |= {"name": str(tmp_path / "evil.py")}
    with pytest.raises(FormlabError, match=message) if message else nullcontext():
        registry.restore(records, where="here")


def test_a_damaged_note_of_where_a_file_is_runs_nothing_and_a_command_ends(tmp_path, monkeypatch):
    monkeypatch.setenv("FORMLAB_CACHE", str(tmp_path))
    note = tmp_path / "plugins" / ("0" * 64)
    note.parent.mkdir()
    record = RECORD | {"plugin": "charts", "entry": "x", "version": note.name}
    for content in ("", "/absent", "/dev/zero", "a\0b"):
        note.write_text(content)
        with pytest.raises(NotAvailable, match="is needed"):
            registry.restore([record], where="here")
    (tmp_path / "bad.py").write_text("import no_such_library")
    for name, message in (("bad", "ModuleNotFoundError"), ("absent", "no such file")):
        words = ["--plugin", str(tmp_path / f"{name}.py"), "list", "plugins"]
        done = CliRunner().invoke(main, words)
        assert (done.exit_code, message in done.stderr) == (2, True)


def scored(benchmark, system="rules"):
    """The evaluation of what a baseline reads on the sample."""
    corpus = benchmarks.load(benchmark)
    folder = benchmarks.SAMPLES / "runs" / f"{benchmark}-{corpus.split}-{system}"
    return formlab.evaluate(corpus, readers.read_predictions(folder, corpus))


@pytest.mark.parametrize("view", ["trees", "records"])
def test_metric_of_documents_gets_what_both_sides_say_of_them(view):
    def sizes(golds, preds):
        def count(side):
            if view == "records":
                return len(side)
            return 1 + sum(count(child) for child in side.children) if side else 0

        pairs = zip(golds, preds, strict=True)
        return np.array([[count(pred), count(gold)] for gold, pred in pairs])

    formlab.metric("sizes", tasks=("layout",), view=view, high=None)(sizes)
    evaluation = scored("formcraft")
    rows = evaluation.scores.filter(pl.col("metric") == "sizes")
    assert set(rows.select("task", "level").rows()) == {("layout", "document")}
    assert (rows["total"] > 0).all()


def failing(golds, preds):
    raise ValueError("no such word")


@pytest.mark.parametrize(
    ("tallies", "message"),
    [
        (failing, "metric 'own' failed: ValueError: no such word"),
        (lambda golds, preds: [["a", "b"] for _ in golds], "metric 'own' failed: ValueError"),
        (lambda golds, preds: [[np.inf, 1] for _ in golds], "tallies of own are infinite"),
    ],
)
def test_metric_that_fails_is_an_error_that_names_it(tallies, message):
    formlab.metric("own", tasks="fact", units="fact")(tallies)
    with pytest.raises(DataBroken, match=message):
        scored("fincriticaled", "ocr")


def test_tally_that_is_nan_is_undefined_and_in_no_sum():
    @formlab.metric("own", tasks="fact", units="fact")
    def own(golds, preds):
        return np.array([[np.nan, 1.0] if "1" in gold else [1.0, 2.0] for gold in golds])

    evaluation = scored("fincriticaled", "ocr")
    summary = formlab.summarise(evaluation, average="pooled", resamples=0)
    row = summary.filter(pl.col("metric") == "own", pl.col("slice_by").is_null()).row(0, named=True)
    with_one = evaluation.cases.filter(level="fact")["gold"].str.contains("1").sum()
    assert (row["value"], row["n_undefined"]) == (0.5, with_one)
    assert 0 < with_one < row["n_cases"]


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
    executed.run((*command, *report, "--out", "r"))
    page = Path("r/mine--e.html").read_text()
    assert "exact_accuracy" in page
    assert "Mean of value" in page


def _mine(folder):
    """The option that names the file whose code stands in docs/plugins/README.md."""
    page = (REPOSITORY / "docs" / "plugins" / "README.md").read_text()
    (code,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    (folder / "mine.py").write_text(code)
    return ("--plugin", folder / "mine.py")


SMALL = """<!doctype html><form method=post action=/accept><label>Name <input name=n></label>
<label>Town <input name=t></label><button>Send</button></form>"""


@pytest.mark.browser
@pytest.mark.usefixtures("fresh")
def test_agents_of_the_docs_fill_in_a_form_and_a_task_file_has_a_table(tmp_path):
    toy = REPOSITORY / "docs" / "plugins" / "toy_agent.py"
    with hosting(Page("small", SMALL)) as host:
        task = {"name": "ada", "address": host.url, "text": "Name: Ada\nTown: Oslo"}
        (tmp_path / "tasks.jsonl").write_text(json.dumps(task | {"gold": {"Name": "Ada"}}))
        fill = ("arena", "fill", "--tasks", tmp_path / "tasks.jsonl", "--out")
        words = [str(word) for word in (*fill, tmp_path / "run", "--agent", toy)]
        done = CliRunner().invoke(main, words)
        assert done.exit_code == 0, done.output
        assert done.stdout.splitlines()[1].split()[:4] == ["ada", "submitted", "1", "1/1"]
        assert host.sent[0]["values"] == {"n": ["Ada"], "t": ["Oslo"]}
        # That of the page sends nothing, which the exit code says.
        first = (*_mine(tmp_path), *fill, tmp_path / "first", "--system", "first")
        done = CliRunner().invoke(main, [str(word) for word in first])
        assert (done.exit_code, len(host.sent)) == (1, 1), done.output
