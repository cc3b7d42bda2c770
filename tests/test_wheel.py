"""The wheel in an environment of the core's dependencies alone, outside the repository."""

import importlib.metadata as metadata
import json
import os
import re
import subprocess
import sys
import venv
from pathlib import Path

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).parents[1]
pytestmark = pytest.mark.complete
# Of each extra a module, which the core is without.
EXTRAS = ("rapidocr", "openai", "flask", "playwright", "jupyterlab", "pandas", "numba")


def requirements(lines):
    """The distributions that the core needs, whatever needs them; by name."""
    found, todo = {}, [(Requirement(line), {""}) for line in lines]
    while todo:
        needed, wanted = todo.pop()
        extras, name = {"", *needed.extras}, needed.name.lower().replace("_", "-")
        applies = not needed.marker or any(needed.marker.evaluate({"extra": e}) for e in wanted)
        if applies and not found.get(name, set()) >= extras:
            found[name] = found.get(name, set()) | extras
            todo += [(Requirement(line), extras) for line in metadata.requires(needed.name) or ()]
    return sorted(found)


def link_core(names, site):
    """Put links into `site` to what the environment of the tests has of the distributions."""
    for name in names:
        distribution = metadata.distribution(name)
        home = Path(distribution.locate_file(""))
        for top in {file.parts[0] for file in distribution.files or ()} - {"..", "__pycache__"}:
            if not (site / top).exists():
                (site / top).symlink_to(home / top)


@pytest.fixture(scope="session")
def wheel(tmp_path_factory):
    """The wheel, built without an index."""
    folder = tmp_path_factory.mktemp("wheel")
    code = "import sys, hatchling.build as b; print(b.build_wheel(sys.argv[1]))"
    command = [sys.executable, "-c", code, str(folder)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    return next(folder.glob("*.whl"))


@pytest.fixture(scope="session")
def installed(wheel, tmp_path_factory):
    """Runs a program of an environment that has the wheel and what its core needs."""
    folder = tmp_path_factory.mktemp("installed")
    venv.create(folder / "env", with_pip=False, symlinks=True)
    python = folder / "env" / "bin" / "python"
    site = next((folder / "env" / "lib").glob("python*/site-packages"))
    pip = [sys.executable, "-m", "pip", "--python", str(python), "install", "--no-index"]
    subprocess.run([*pip, "--no-deps", "--quiet", str(wheel)], check=True, capture_output=True)
    (metadata_file,) = site.glob("formlab-*.dist-info/METADATA")
    lines = metadata_file.read_text().splitlines()
    core = [line.partition(": ")[2] for line in lines if line.startswith("Requires-Dist: ")]
    link_core(requirements(core), site)
    (folder / "env" / "share").mkdir(exist_ok=True)
    (folder / "env" / "share" / "jupyter").symlink_to(Path(sys.prefix) / "share" / "jupyter")
    (folder / "work").mkdir()

    def run(*arguments, program="formlab"):
        environment = {
            k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "FORMLAB"))
        }
        return subprocess.run(
            [folder / "env" / "bin" / program, *arguments], cwd=folder / "work", text=True,
            env=environment, capture_output=True, check=False,
        )  # fmt: skip

    return run


def test_the_wheel_is_what_runs_and_only_the_core_is_there(installed):
    code = "import formlab; print(formlab.__file__)"
    assert "site-packages" in installed("-c", code, program="python").stdout
    for absent in EXTRAS:
        result = installed("-c", f"import {absent}", program="python")
        assert "ModuleNotFoundError" in result.stderr


def test_every_module_of_the_core_is_imported_without_an_extra(installed):
    code = """
import importlib, pkgutil, formlab
for module in pkgutil.walk_packages(formlab.__path__, "formlab."):
    if not module.name.startswith(("formlab._shipped", "formlab.__main__")):
        importlib.import_module(module.name)
print(module.name)
"""
    assert installed("-c", code, program="python").stderr == ""


def test_samples_notebooks_and_published_tables_come_along(installed):
    code = """
from formlab import benchmarks, charts, resources
samples = resources.folder("data/sample")
print(*(name for name in benchmarks.BENCHMARKS if (samples / name).is_dir()))
print(charts.published("vrdu_table3").height, len(list(resources.folder("notebooks").glob("*"))))
print((samples / "generate").exists())
"""
    names, tables, generators = installed("-c", code, program="python").stdout.splitlines()
    assert {*names.split()} == {"fincriticaled", "formcraft", "formfactory", "funsd", "vrdu"}
    assert int(tables.split()[0]) > 10
    assert int(tables.split()[1]) == len(list(ROOT.glob("notebooks/*.ipynb")))
    assert generators == "False"


def test_init_makes_a_folder_whose_reports_build_and_refuses_to_overwrite(installed, tmp_path):
    made = installed("init", str(tmp_path / "mine"))
    assert made.returncode == 0
    assert "formlab report --manifest" in made.stdout
    manifest = tmp_path / "mine" / "reports.yml"
    books = sorted(path.stem for path in (tmp_path / "mine" / "notebooks").glob("*.ipynb"))
    assert books == sorted(path.stem for path in ROOT.glob("notebooks/*.ipynb"))

    again = installed("init", str(tmp_path / "mine"))
    assert again.returncode == 2
    assert "nothing is overwritten" in again.stderr

    head, _, listed = manifest.read_text().partition("reports:\n")
    kept = [line for line in listed.splitlines() if "65_" in line or "40_" in line]
    manifest.write_text("\n".join([head, "reports:", *kept, ""]))
    built = installed("report", "--manifest", str(manifest), "--set", "figures=off", "--json")
    assert built.returncode == 0, built.stderr
    # The forms of the sample come as they were filled in, so that neither needs a browser.
    assert [row["status"] for row in json.loads(built.stdout)] == ["built", "built"]
    page = (tmp_path / "mine" / "reports" / "65_own_forms.html").read_text()
    assert re.search(r"In (all )?\d+ (of \d+ )?wrong fields", page)


@pytest.mark.parametrize(
    ("arguments", "extra"),
    [
        (("run", "funsd", "--system", "ocr"), "ocr"),
        (("run", "formcraft", "--system", "rules"), "ocr"),
        (("run", "funsd", "--system", "chat:small", "--base-url", "http://127.0.0.1:1/v1"), "chat"),
        (("arena", "fill", "--out", "filled"), "arena"),
        (("arena", "serve"), "arena"),
    ],
)
def test_what_an_extra_is_needed_for_names_the_command_of_pip(installed, arguments, extra):
    result = installed(*arguments)
    assert result.returncode == 2, result.stdout + result.stderr
    (line,) = [line for line in result.stderr.splitlines() if line.startswith("error: ")]
    assert f"pip install 'formlab[{extra}]'" in line
    assert "Traceback" not in result.stderr
