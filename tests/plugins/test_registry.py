import os
import sys
from contextlib import nullcontext

import pytest
from click.testing import CliRunner

import formlab
from formlab import benchmarks, metrics, registry
from formlab.cli import main
from formlab.errors import DataBroken, DataMissing, FormlabError, NotAvailable, UnknownName
from formlab.folders import Evaluation

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


def test_command_ends_where_a_plug_in_cannot_be_loaded(tmp_path):
    (tmp_path / "bad.py").write_text("import no_such_library")
    for name, message in (("bad", "ModuleNotFoundError"), ("absent", "no such file")):
        words = ["--plugin", str(tmp_path / f"{name}.py"), "list", "plugins"]
        done = CliRunner().invoke(main, words)
        assert (done.exit_code, message in done.stderr) == (2, True)


def test_a_damaged_note_of_where_a_file_is_runs_nothing(tmp_path, monkeypatch):
    monkeypatch.setenv("FORMLAB_CACHE", str(tmp_path))
    note = tmp_path / "plugins" / ("0" * 64)
    note.parent.mkdir()
    record = RECORD | {"plugin": "charts", "entry": "x", "version": note.name}
    for content in ("", "/absent", "/dev/zero", "a\0b"):
        note.write_text(content)
        with pytest.raises(NotAvailable, match="is needed"):
            registry.restore([record], where="here")
