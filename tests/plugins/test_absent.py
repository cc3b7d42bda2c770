"""What lists of commands and names import; the core without add-ons is in the contract (f08)."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[2]
HEAVY = (
    "altair", "anywidget", "cv2", "flask", "IPython", "lxml", "matplotlib", "nbformat", "numba",
    "numpy", "onnxruntime", "openai", "pandas", "papermill", "PIL", "playwright", "plotly",
    "polars", "pydantic", "rapidfuzz", "rapidocr", "sacrebleu", "scipy", "sklearn", "statsmodels",
)  # fmt: skip


@pytest.mark.parametrize("arguments", [["--help"], ["list", "benchmarks"], ["score", "-h"]])
def test_lists_and_help_import_nothing_heavy(arguments):
    code = (
        "import sys\nfrom formlab.cli import main\n"
        f"try:\n    main({arguments!r})\n"
        "finally:\n    print(*sys.modules, file=sys.stderr)"
    )
    env = {name: value for name, value in os.environ.items() if name != "FORMLAB_PLUGINS"}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=REPOSITORY, env=env, capture_output=True, text=True
    )
    assert done.returncode == 0
    assert not set(HEAVY) & set(done.stderr.split())
