import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import pytest

from data.sample.generate.paper import FACES

ROOT = Path(__file__).parents[2]


@pytest.fixture
def fonts():
    if not all(importlib.util.find_spec(package) for package, *_ in FACES.values()):
        pytest.skip("the fonts of the samples extra are not installed")


@pytest.fixture
def remade(tmp_path):
    """Run a generator by its command; the folder that it wrote."""

    def run(name):
        command = [sys.executable, "-m", f"data.sample.generate.{name}", "--out", str(tmp_path)]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        if "Chromium" in done.stderr:
            pytest.skip(re.sub(r"\s+", " ", done.stderr)[:200])
        assert done.returncode == 0, done.stderr
        return tmp_path

    return run
