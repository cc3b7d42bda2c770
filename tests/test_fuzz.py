"""A fixed slice of the bench of `make fuzz`, every case that ever failed, and the bench itself."""

import json
from pathlib import Path

import pytest

from tests.fuzz import bench, faulty
from tests.fuzz.targets import TARGETS
from tests.fuzz.verdicts import Change, apply, dumped, loaded
from tests.seeds import ALL

CASES = sorted((Path(__file__).parent / "fuzz" / "cases").glob("*.json"))
# Of each target, or of every third one; the bench has as many as one has minutes for (`make fuzz`).
COUNT, STEP = (2, 1) if ALL else (1, 3)


def shown(rows):
    return "\n\n".join(f"{r['verdict']} {r['target']} {r['number']}: {r['what']}" for r in rows)


@pytest.fixture(scope="module")
def rows():
    """What came of the slice, and of every case file: valid inputs are made once for both."""
    cases = [(name, number) for name in list(TARGETS)[::STEP] for number in range(COUNT)]
    kept = [(json.loads(path.read_text())["target"], str(path)) for path in CASES]
    found = list(bench.run([*cases, *kept], seed="tests"))
    assert [(row["target"], row["number"]) for row in found] == [*cases, *kept]
    return found[: len(cases)], found[len(cases) :]


def test_mutated_inputs_are_read_or_refused_with_their_place(rows):
    failed = bench.failures(rows[0])
    assert not failed, shown(failed)


def test_inputs_that_once_failed_are_read_or_refused_with_their_place(rows):
    failed = bench.failures(rows[1])
    assert not failed, shown(failed)


def test_bench_sees_every_fault_and_goes_on_after_it():
    cases = [(name, 0) for name in faulty.TARGETS]
    rows = list(bench.run(cases, seconds=3, module="tests.fuzz.faulty"))
    expected = {name: name for name in faulty.TARGETS} | {"dead": "crashed", "counted": "held"}
    assert [(row["target"], row["verdict"]) for row in rows] == [
        (name, expected[name]) for name, _ in cases
    ]


def test_case_that_is_kept_is_the_case_that_was_tried(tmp_path):
    made = [
        Change("a/b.txt", data=b"\xff\x00"), Change("c.txt", data="é".encode()),
        Change("d", "pipe"), Change("e", "folder"), Change("f", "link", b"absent"),
        Change("g", "removed"), Change("x" * 300),
    ]  # fmt: skip
    assert loaded(json.loads(json.dumps(dumped(made)))) == made
    (tmp_path / "g").write_text("")
    apply(tmp_path, made)
    assert (tmp_path / "a/b.txt").read_bytes() == b"\xff\x00"
    assert (tmp_path / "d").is_fifo()
    assert (tmp_path / "e").is_dir()
    assert (tmp_path / "f").is_symlink()
    assert not (tmp_path / "g").exists()
