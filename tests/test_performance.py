"""Every measurement of `performance/floors.py` runs, on little data, whatever the speed."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


def measured(groups):
    command = [sys.executable, ROOT / "performance" / "floors.py", "--tiny", "--json"]
    done = subprocess.run([*command, "--only", groups], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return {row["what"]: row for row in json.loads(done.stdout)}


@pytest.mark.complete
def test_floors_of_functions_are_measured():
    rows = measured("text,tree,entities,facts,nested,bootstrap")
    assert len(rows) == 9
    # The same distances as zss, and as many facts as the pages have.
    assert rows["tree edit distance"]["largest_difference"] < 1e-9
    assert rows["facts matched"]["count"] == 100


@pytest.mark.complete
def test_floors_of_commands_are_measured_by_every_door():
    rows = measured("start,score")
    doors = [f"score by {door}, 1 workers" for door in ("own", "table", "run", "log")]
    assert list(rows) == ["formlab --help", "formlab score", *doors]
