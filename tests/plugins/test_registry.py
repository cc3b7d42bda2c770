import json
import os
import sys

import pytest
from click.testing import CliRunner

import formlab
from formlab import benchmarks, known_files, metrics, plugin_records, readers, registry, systems
from formlab.cli import main
from formlab.errors import DataBroken, DataMissing, NotAvailable, UnknownName
from formlab.folders import Evaluation

from .conftest import TOYS

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


def test_what_a_file_registers_is_one_of_the_rest(tmp_path):
    registry.load(metric_file(tmp_path))
    assert "letters" in metrics.METRICS
    assert list(metrics.METRICS)[-1] == "letters"
    assert metrics.get("letters")("abcd", "ab").value == 0.5
    assert metrics.title("macro_letters") == "letters, mean over documents"


def test_metric_of_a_plug_in_is_among_the_main_scores(tmp_path, funsd_root):
    (tmp_path / "pages.jsonl").write_text('{"doc_id": "a", "text": "Name: Ada Berg"}\n')
    words = ("--plugin", metric_file(tmp_path), "score", "funsd", "--root", funsd_root)
    words = (*words, "--predictions", tmp_path / "pages.jsonl")
    lines = CliRunner().invoke(main, [str(word) for word in words]).stdout.splitlines()
    metrics_printed = [line.split()[2] for line in lines]
    assert metrics_printed[1:5] == ["cer", "wer", "normalised_accuracy", "letters"]


def test_file_that_has_changed_replaces_what_it_registered(tmp_path):
    registry.load(metric_file(tmp_path))
    registry.load(metric_file(tmp_path, times=2))
    assert metrics.get("letters")("abcd", "ab").value == 0.25


def test_cell_that_is_run_again_replaces_what_it_registered():
    for value in (1, 2):
        formlab.chart("mine", value)
        formlab.reader("words", title=str(value), fits=len)(print)
    assert readers.READERS["words"].title == "2"


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
    assert [p.name for p in registry.problems("metrics")] == [name]


def test_package_is_found_by_its_entry_points_and_imported_when_used(installed):
    code = METRIC.format(name="letters", times=1)
    installed("letterpress", code, metrics=["letters = letterpress:tallies"])
    assert str(metrics.METRICS.source("letters")) == "package letterpress 1.0"
    assert "letters" in metrics.METRICS
    assert "letterpress" not in sys.modules
    assert metrics.get("letters").name == "letters"
    del sys.modules["letterpress"]


def test_package_that_cannot_be_imported_is_listed_and_hurts_nobody(installed):
    installed("brokenpress", "import no_such_library", metrics=["odd = brokenpress:odd"],
              systems=["odd = brokenpress:system"])  # fmt: skip
    assert "odd" not in list(metrics.METRICS)
    assert metrics.get("cer").name == "cer"
    with pytest.raises(NotAvailable, match="package brokenpress 1.0 cannot be loaded: ModuleNot"):
        metrics.get("odd")
    listed = {(row["kind"], row["name"]): row["problem"] for row in plugin_records.plugins()}
    assert "No module named 'no_such_library'" in listed["systems", "odd"]


def test_file_that_cannot_be_run_is_listed_and_named_where_its_name_is_missed(
    tmp_path, monkeypatch
):
    (tmp_path / "bad.py").write_text("import formlab\nraise SystemExit('no')")
    monkeypatch.setenv(registry.VARIABLE, f"{tmp_path / 'bad.py'}")
    assert [p.reason for p in registry.problems("metrics")] == ["SystemExit: no"]
    with pytest.raises(UnknownName, match=r"unknown metric 'letters'.*bad.py: SystemExit: no"):
        metrics.get("letters")
    (tmp_path / "circle.py").symlink_to("circle.py")
    for name in ("absent.py", "circle.py", "x" * 5000):
        with pytest.raises(DataMissing, match="no such plug-in"):
            registry.load(tmp_path / name)


def saved(tmp_path, funsd_root):
    """An evaluation with a metric of `mine.py`, which is then forgotten."""
    file = metric_file(tmp_path)
    registry.load(file)
    (tmp_path / "p.jsonl").write_text('{"doc_id": "a", "text": "Name: Ada Berg"}\n')
    corpus = benchmarks.load("funsd", root=funsd_root)
    evaluation = formlab.evaluate(corpus, formlab.read_predictions(tmp_path / "p.jsonl", corpus))
    folder = evaluation.save(tmp_path / "e")
    registry._unload(file)
    assert "letters" not in metrics.METRICS
    return file, folder


def test_evaluation_loads_the_file_it_needs_again_wherever_it_is_kept(tmp_path, funsd_root):
    _, folder = saved(tmp_path, funsd_root)
    evaluation = Evaluation.load(folder)
    assert "letters" in set(formlab.summarise(evaluation, resamples=0)["metric"])


def test_file_that_was_never_named_here_is_not_run(tmp_path, funsd_root, monkeypatch):
    file, folder = saved(tmp_path, funsd_root)
    monkeypatch.setenv("FORMLAB_CACHE", str(tmp_path / "another user"))
    with pytest.raises(NotAvailable, match=r"metric 'letters' .*mine.py has never been used here"):
        Evaluation.load(folder)
    assert "letters" not in metrics.METRICS
    registry.load(file)
    assert Evaluation.load(folder).scores.height


def test_file_that_has_changed_or_gone_is_an_error_that_says_what_to_do(
    tmp_path, funsd_root, capsys
):
    file, folder = saved(tmp_path, funsd_root)
    metric_file(tmp_path, times=2)
    with pytest.raises(NotAvailable, match=r"mine.py has changed since.*Try: --plugin FILE.py"):
        Evaluation.load(folder)
    # Whoever names the changed file wants it.
    registry.load(file)
    Evaluation.load(folder)
    assert "metric 'letters' has changed since" in capsys.readouterr().err
    registry._unload(file)
    file.unlink()
    with pytest.raises(NotAvailable, match=r"mine.py is not there"):
        Evaluation.load(folder)


@pytest.mark.parametrize(
    "records", [None, {}, "x", [5], [{"plugin": []}], [{"plugin": "charts", "kind": "file"}]]
)
def test_manifest_that_is_hostile_runs_nothing(tmp_path, records):
    (tmp_path / "evil.py").write_text("raise AssertionError")
    if isinstance(records, list) and records[0] == {"plugin": "charts", "kind": "file"}:
        records[0] |= {"name": str(tmp_path / "evil.py"), "version": ""}
        with pytest.raises(NotAvailable, match="has changed since"):
            plugin_records.restore(records, where="here")
    else:
        plugin_records.restore(records, where="here")


def test_system_of_a_notebook_cannot_be_run_by_workers(tmp_path, funsd_root):
    system = formlab.system("blank", title="nothing", images=False)(lambda *_: lambda *_: [])
    corpus = benchmarks.load("funsd", root=funsd_root)
    assert systems.run(corpus, system, out=tmp_path / "one").responses.height == 2
    with pytest.raises(DataBroken, match="worker processes do not find system 'blank'"):
        systems.run(corpus, system, out=tmp_path / "two", workers=2)


def test_run_of_a_system_that_has_changed_is_another_run(tmp_path, funsd_root):
    file = tmp_path / "blank.py"
    code = "import formlab\nformlab.system('blank', title='{}', images=False)(lambda *_: len)"
    corpus = benchmarks.load("funsd", root=funsd_root)
    for title in ("one", "two"):
        file.write_text(code.format(title))
        registry.load(file)
        if title == "two":
            with pytest.raises(DataBroken, match="holds another run: plugins"):
                systems.run(corpus, systems.get("blank"), out=tmp_path / "run")
        else:
            systems.run(corpus, systems.get("blank"), out=tmp_path / "run")
    head = json.loads((tmp_path / "run" / "run.json").read_text())
    assert head["plugins"][0]["name"] == str(file)


def test_toys_are_registered_by_their_files():
    for file in TOYS.glob("toy_*.py"):
        registry.load(file)
    assert benchmarks.get("receipts").title == "Receipts as plain text"
    assert metrics.get("digit_accuracy")("1.05", "1.95").value == pytest.approx(2 / 3)
    assert systems.get("lines").settings({}) == {"separator": ":"}


def test_command_goes_on_without_a_plug_in_that_cannot_be_loaded(tmp_path):
    (tmp_path / "bad.py").write_text("import no_such_library")
    done = CliRunner().invoke(
        main, ["--plugin", str(tmp_path / "bad.py"), "list", "plugins", "--json"]
    )
    assert done.exit_code == 0
    assert "note: plug-in cannot be loaded: ModuleNotFoundError" in done.stderr
    row = {"kind": "file", "name": "bad", "source": str(tmp_path / "bad.py")}
    assert row.items() <= json.loads(done.stdout)[-1].items()
    done = CliRunner().invoke(main, ["--plugin", str(tmp_path / "absent.py"), "list", "plugins"])
    assert done.exit_code == 2
    assert "no such file" in done.stderr


def test_plain_function_is_a_command_that_help_lists():
    @formlab.command("hail")
    def hail():
        """Greet the reader."""
        print("hello")

    assert "Greet the reader." in CliRunner().invoke(main, ["--help"]).stdout
    assert CliRunner().invoke(main, ["hail"]).stdout == "hello\n"


@pytest.mark.parametrize("content", ["[]", "{", '{"a.py": 5}', "[" * 100_000, None])
def test_a_damaged_list_of_named_files_is_empty_and_stays_usable(tmp_path, monkeypatch, content):
    monkeypatch.setenv("FORMLAB_CACHE", str(tmp_path))
    file = tmp_path / "plugins.json"
    if content is None:
        os.mkfifo(file)
    else:
        file.write_text(content)
    assert known_files.known() == {}
    known_files.remember("b.py", "0")
    assert known_files.known() == {"b.py": "0"}


def test_a_record_that_names_a_pipe_or_no_file_reads_nothing(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for name in (str(tmp_path / "pipe"), "/dev/zero", "a\0b", str(tmp_path)):
        assert known_files.sha256(name) == ""
