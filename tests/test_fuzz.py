"""A fixed slice of the bench of `make fuzz`, every case that ever failed, and the bench itself."""

import subprocess
import sys
from pathlib import Path

import pytest

from formlab.errors import DataBroken
from tests.fuzz import bench
from tests.fuzz.bench import Change, Found, Target
from tests.seeds import ALL

# Cases of each target; the bench has as many as one has minutes for (`make fuzz`).
COUNT = 3 if ALL else 1


def test_mutated_inputs_and_those_that_once_failed_are_read_or_refused_with_their_place(tmp_path):
    command = [sys.executable, "-m", "tests.fuzz", "--kept", "--seed", "tests", "--minutes", "30"]
    command += ["--count", str(COUNT)]
    root = Path(__file__).parents[1]
    # Its files, the user's caches and settings among them, are in a folder that goes with it.
    own = dict.fromkeys(("TMPDIR", "HOME", "FORMLAB_CACHE"), str(tmp_path))
    with pytest.MonkeyPatch.context() as patch:
        for name, value in own.items():
            patch.setenv(name, value)
        done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr[-3000:]
    kept = len(list((root / "tests/fuzz/cases").glob("*.json")))
    assert int(done.stdout.split()[0]) >= kept + 70 * COUNT


def refuse(sentence, **place):
    raise DataBroken(sentence, **place)


@pytest.mark.parametrize(
    ("verdict", "read"),
    [
        ("crashed", lambda folder: 1 / 0),
        ("vague", lambda folder: refuse("something is wrong")),
        ("held", lambda folder: refuse("no text", where=folder / "ada.txt")),
        ("held", lambda folder: Found(counted={"files unreadable": 1})),
        ("dropped", lambda folder: Found()),
    ],
)
def test_bench_sees_every_fault(verdict, read):
    names = ("ada", "bob")

    def make(folder):
        for name in names:
            (folder / f"{name}.txt").write_text(f"{name}\n")

    def read_changed(folder):
        whole = (folder / "ada.txt").read_text() == "ada\n"
        return Found(frozenset(names)) if whole else read(folder)

    target = Target(verdict, make, read_changed, home="{}.txt")
    assert bench.tried(target, [Change("ada.txt", data=b"x")])[0] == verdict
