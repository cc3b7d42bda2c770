import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


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
