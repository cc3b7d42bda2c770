"""What is saved over another is that other, the new one, or an error: never of both."""

import itertools
import os
import shutil
import signal
import subprocess
import sys
import time

import pytest

from formlab import analysis, files, swap
from formlab.errors import DataBroken, DataMissing, FormlabError, NotAvailable
from formlab.folders import Corpus, Evaluation, Predictions
from formlab.readers import gold as own
from formlab.reports import inputs
from formlab.scoring import part

STEPS = ("mkdir", "rename", "replace", "unlink", "rmdir", "fsync")


class Killed(BaseException):
    """Nothing that a process would still do after this happens."""


def dying(monkeypatch, after):
    """From the step `after` on, no change reaches the disk, as if the process had been killed."""
    counted = itertools.count()

    def counting(function):
        def step(*arguments, **options):
            if next(counted) >= after:
                raise Killed
            return function(*arguments, **options)

        return step

    for name in STEPS:
        # What reached the disk is read from memory all the same: nothing waits for it.
        does = (lambda _: None) if name == "fsync" else getattr(os, name)
        monkeypatch.setattr(os, name, counting(does))
    return counted


def made(answer, monkeypatch, *, sharded):
    gold = [{"doc_id": name, "total": "9.00"} for name in "abc"]
    both = own.pair(gold, [row | {"total": answer} for row in gold])
    monkeypatch.setattr(part, "SHARD", 2 if sharded else part.SHARD)
    evaluation = analysis.evaluate(*both)
    monkeypatch.undo()
    return evaluation


def state_of(evaluation):
    """All that an evaluation holds, read from the disk."""
    wholes = (evaluation, evaluation.corpus, evaluation.predictions)
    frames = [getattr(whole, name) for whole in wholes for name in whole.TABLES]
    # As text, since undefined scores are not equal to themselves.
    rows = [repr(frame.sort("doc_id", maintain_order=True).to_dicts()) for frame in frames]
    return rows, evaluation.notes, evaluation.settings, evaluation.system


@pytest.mark.parametrize(("before", "after"), [(False, False), (True, False), (False, True)])
def test_killed_at_any_step_of_a_save_there_is_the_old_or_the_new(
    tmp_path, monkeypatch, before, after
):
    old, new = (made(a, monkeypatch, sharded=s) for a, s in (("8.00", before), ("9.00", after)))
    states = [state_of(each) for each in (old, new)]
    old.save(tmp_path / "old")
    shutil.copytree(tmp_path / "old", tmp_path / "all")
    with monkeypatch.context() as patch:
        counted = dying(patch, 10**6)
        new.save(tmp_path / "all")
    last, found = next(counted), []
    # The last steps put into place what the others have written, for shards as for a whole.
    every = 2 if before or after else 1
    for step in (*range(0, last - 40, 19), *range(last - 40, last, every)):
        out = shutil.copytree(tmp_path / "old", tmp_path / str(step))
        with monkeypatch.context() as patch, pytest.raises(Killed):
            dying(patch, step)
            new.save(out)
        found.append(states.index(state_of(Evaluation.load(out))))
        # The parts are folders of their own; those of the same evaluation stand there.
        if not (before, after)[found[-1]]:
            value = Predictions.load(out / "predictions").records["value"][0]
            assert value == ("8.00", "9.00")[found[-1]]
            assert Corpus.load(out / "corpus").documents.height == 3
        if step % 9 == 0:
            new.save(out)
            assert state_of(Evaluation.load(out)) == states[1]
    # One step decides: the old one before it, the new one from there on.
    assert found == sorted(found)
    assert set(found) == {0, 1}


def test_what_a_killed_save_left_is_no_evaluation_in_a_folder_of_many(tmp_path, monkeypatch):
    out = made("8.00", monkeypatch, sharded=False).save(tmp_path / "e")
    # Whole, and not in its place yet: before and after the step that decides.
    for name in (".0123456789abcdef.part", ".saved"):
        shutil.copytree(out, out / name)
        assert list(analysis.open_history(tmp_path)) == ["e"]
    # Killed before anything stood there.
    shutil.copytree(out, tmp_path / "new" / "e" / ".0123456789abcdef.part")
    for folder in (tmp_path / "new", tmp_path / "new" / "e"):
        with pytest.raises(DataMissing, match="no evaluation"):
            analysis.open_history(folder)
    assert not inputs.evaluations_in(tmp_path / "new" / "e")


LOOP = """
import sys, pathlib
from formlab import swap
for number in range(10**9):
    with swap.together(pathlib.Path(sys.argv[1])) as new:
        for name in ("a", "b", "part/c"):
            (new / name).parent.mkdir(exist_ok=True)
            (new / name).write_text(str(number))
"""


def test_killed_by_the_system_at_any_moment_all_files_are_of_one_save(tmp_path):
    for kill in range(3):
        with subprocess.Popen([sys.executable, "-c", LOOP, tmp_path]) as process:
            deadline = time.monotonic() + 60
            while not (tmp_path / "part").is_dir() and time.monotonic() < deadline:
                time.sleep(0.01)
            time.sleep(0.02 * kill)
            process.send_signal(signal.SIGKILL)
        swap.settle(tmp_path)
        assert len({(tmp_path / name).read_text() for name in ("a", "b", "part/c")}) == 1
    with swap.together(tmp_path):
        pass
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "b", "part"]


def test_a_folder_of_somebody_else_is_not_replaced(tmp_path, monkeypatch):
    evaluation = made("9.00", monkeypatch, sharded=False)
    theirs = tmp_path / "predictions" / "mine.json"
    files.write_text(theirs, "mine")
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(DataBroken, match=r"formlab has not written \(.*predictions\)"):
        evaluation.save(tmp_path)
    assert theirs.read_text() == "mine"
    theirs.unlink()
    evaluation.save(tmp_path)
    assert (tmp_path / "notes.txt").read_text() == "mine"


def test_an_evaluation_saved_again_while_it_is_read_is_read_again(tmp_path, monkeypatch):
    old, new = (made(answer, monkeypatch, sharded=False) for answer in ("8.00", "9.00"))
    out, read = old.save(tmp_path / "e"), files.read_parquet
    files_read = []

    def saved_meanwhile(path, only=None):
        files_read.append(path.name)
        if len(files_read) == 2:
            new.save(out)
        return read(path, only)

    monkeypatch.setattr(files, "read_parquet", saved_meanwhile)
    assert state_of(Evaluation.load(out)) == state_of(new)
    assert len(files_read) > 7


def test_what_cannot_be_written_is_one_error_and_the_old_one_stays(tmp_path, monkeypatch):
    old, new = (made(answer, monkeypatch, sharded=False) for answer in ("8.00", "9.00"))
    out = old.save(tmp_path / "e")
    code = (
        "import resource, sys; from formlab.folders import Evaluation\n"
        "new = Evaluation.load(sys.argv[1])\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))\n"
        "new.save(sys.argv[2])"
    )
    new.save(tmp_path / "new")
    command = [sys.executable, "-c", code, tmp_path / "new", out]
    result = subprocess.run(command, capture_output=True, text=True)
    last = result.stderr.strip().splitlines()[-1]
    assert last.startswith("formlab.errors.NotAvailable: cannot write: File too large (")
    assert state_of(Evaluation.load(out)) == state_of(old)
    assert not list(out.rglob(".*"))
    for place in (out / "manifest.json", out / "manifest.json" / "deeper", "/proc/formlab/x"):
        with pytest.raises(NotAvailable, match="cannot write: .*Try: "):
            new.save(place)


@pytest.mark.parametrize(("umask", "mode"), [(0o077, 0o600), (0o022, 0o644), (0o002, 0o664)])
def test_files_have_the_mode_that_the_umask_says(tmp_path, monkeypatch, umask, mode):
    evaluation = made("9.00", monkeypatch, sharded=False)
    before = os.umask(umask)
    try:
        evaluation.save(tmp_path / "e")
    finally:
        os.umask(before)
    modes = {path.stat().st_mode & 0o777 for path in (tmp_path / "e").rglob("*") if path.is_file()}
    assert modes == {mode}
    folders = {path.stat().st_mode & 0o777 for path in (tmp_path / "e", tmp_path / "e" / "corpus")}
    assert folders == {0o777 & ~umask}


DAMAGES = {
    "no object": lambda text: "[1]",
    "half of it": lambda text: text[: len(text) // 2],
    "no tables": lambda text: text.replace('"tables"', '"tabels"'),
    "a digest that is a number": lambda text: text.replace('"sha256": "', '"sha256": 5, "x": "'),
    "notes that are a list": lambda text: text.replace('"notes": {', '"notes": [], "more": {'),
    "parts that are a number": lambda text: text.replace('"parts": {', '"parts": 7, "more": {'),
    "a format that is a text": lambda text: text.replace('"format": 2', '"format": "2"'),
    "deep": lambda text: "[" * 100_000,
    "no text": lambda text: "\ud800",
}


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("sharded", [False, True])
def test_a_damaged_manifest_is_one_error_that_names_it(tmp_path, monkeypatch, damage, sharded):
    out = made("9.00", monkeypatch, sharded=sharded).save(tmp_path / "e")
    file = out / "manifest.json"
    file.write_bytes(DAMAGES[damage](file.read_text()).encode("utf-8", "surrogatepass"))
    with pytest.raises(FormlabError) as caught:
        Evaluation.load(out)
    assert "manifest.json" in str(caught.value)
    assert "Try: " in str(caught.value)


def test_names_of_shards_lead_to_no_other_folder(tmp_path, monkeypatch):
    out = made("9.00", monkeypatch, sharded=True).save(tmp_path / "e")
    file = out / "manifest.json"
    file.write_text(file.read_text().replace('"00001"', '"../../x"'))
    with pytest.raises(DataBroken, match=r"manifest\.json"):
        Evaluation.load(out)
