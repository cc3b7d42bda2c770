"""The core without its add-ons, and what a list of commands imports."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[2]
# Python imports this at its start: no add-on is there, nor any entry point of formlab's.
SITE = """
import sys
from importlib import metadata

class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.startswith("formlab_"):
            raise ModuleNotFoundError(name)

sys.meta_path.insert(0, Absent())
every = metadata.EntryPoints.select
def without(self, **chosen):
    found = every(self, **chosen)
    return metadata.EntryPoints(p for p in found if not p.value.startswith("formlab_"))
metadata.EntryPoints.select = without
"""
HEAVY = (
    "altair", "anywidget", "cv2", "flask", "IPython", "lxml", "matplotlib", "nbformat", "numba",
    "numpy", "onnxruntime", "openai", "pandas", "papermill", "PIL", "playwright", "plotly",
    "polars", "pydantic", "rapidfuzz", "rapidocr", "sacrebleu", "scipy", "sklearn", "statsmodels",
)  # fmt: skip


@pytest.fixture
def core(tmp_path):
    """The command line of a formlab without add-ons."""
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "sitecustomize.py").write_text(SITE)
    paths = [str(tmp_path / "site"), str(REPOSITORY), os.environ.get("PYTHONPATH", "")]
    env = os.environ | {"PYTHONPATH": os.pathsep.join(paths)}

    def run(*arguments, code=None):
        command = [sys.executable, *(["-c", code] if code else ["-m", "formlab"])]
        return subprocess.run(
            [*command, *map(str, arguments)], cwd=tmp_path, env=env, capture_output=True, text=True
        )

    return run


def test_notebooks_of_an_add_on_are_there_with_it_alone(core):
    listed = "from formlab.reports import plan; print(*(p.stem for p in plan.own_notebooks()))"
    done = core(code=f"{listed}\nimport formlab_arena")
    assert "ModuleNotFoundError: formlab_arena" in done.stderr
    names = done.stdout.split()
    assert "10_content_modality" in names
    assert not {"02_review", "40_form_filling"} & set(names)


def test_systems_of_an_add_on_name_it_and_what_they_read_before_still_opens(core):
    assert core(code="import formlab_baselines").returncode == 1
    done = core("run", "formcraft", "--system", "rules")
    assert done.returncode == 2
    assert "system 'rules' is not installed (the add-on formlab_baselines)" in done.stderr
    opened = "import formlab; print(formlab.open_evaluation(benchmark='vrdu', system='rules'))"
    assert "rules" in core(code=opened).stdout


def test_sample_that_an_add_on_opens_is_said_to_need_it(core):
    opened = "import formlab; formlab.open_evaluation(benchmark='formfactory', system='rules')"
    assert "nothing is installed that fills in forms" in core(code=opened).stderr


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
