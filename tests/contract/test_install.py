"""What a newcomer types from the README and environment.yml works as it is written."""

import os
import re
import subprocess
import sys
from pathlib import Path

import formlab
from tests.seeds import ALL

ROOT = Path(formlab.__file__).parents[1]
# Python runs this at its start: no add-on is there, and nothing that only extras install.
ABSENT = """from importlib import machinery, metadata
ABSENT = "formlab_ openai filelock playwright flask gymnasium cv2 rapidocr onnx sklearn dask fsspec"
there = lambda name: not name.startswith(tuple(ABSENT.split()))
find, select = machinery.PathFinder.find_spec, metadata.EntryPoints.select
machinery.PathFinder.find_spec = lambda name, *more: find(name, *more) if there(name) else None
metadata.EntryPoints.select = lambda self, **chosen: metadata.EntryPoints(
    point for point in select(self, **chosen) if there(point.value))"""
BLOCK = re.compile(r"^```(\w+)(?: (\S+))?\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def run(*command, **options):
    done = subprocess.run(command, capture_output=True, text=True, **options)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_i01_the_pip_list_of_environment_yml_installs(tmp_path):
    listed = (ROOT / "environment.yml").read_text("utf-8").partition("- pip:\n")[2]
    # conda hands the list to pip as one file beside environment.yml; nothing is fetched here.
    lines = [line.strip().removeprefix("- ") for line in listed.splitlines()]
    locked = re.split(r"\n(?=\w)", (ROOT / "requirements.lock").read_text("utf-8"))
    (tmp_path / "requirements.lock").write_text("\n".join(locked if ALL else locked[:9]))
    (tmp_path / "pyproject.toml").symlink_to(ROOT / "pyproject.toml")
    (tmp_path / "condaenv.txt").write_text("\n".join(lines), "utf-8")
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "install", "--dry-run"]
    command = (*pip, "--no-index", *([] if ALL else ["--no-deps"]), "-r", "condaenv.txt")
    assert "requirements.lock" in run(*command, cwd=tmp_path)


def test_i02_f08_the_blocks_of_the_readme_run_in_a_new_shell_with_the_core_alone(tmp_path):
    (tmp_path / "sitecustomize.py").write_text(ABSENT)
    (tmp_path / ".venv").symlink_to(sys.prefix)
    script = "set -e\n"
    for kind, name, content in BLOCK.findall((ROOT / "README.md").read_text("utf-8")):
        script += content if kind == "sh" else f"cat > {name or 'look.py'} <<'END'\n{content}END\n"
        script += "python look.py > look.txt\n" if kind == "python" else ""
    if not ALL:
        # One report tells that the command is right; `make test-all` builds them all.
        one = "report 65_own_forms --set figures=off --workers 1 --eval evals/first"
        script = script.replace("report --eval evals/first --eval evals/second", one)
    paths = os.pathsep.join(filter(None, [str(tmp_path), os.environ.get("PYTHONPATH")]))
    environment = {"PATH": "/usr/bin:/bin", "PYTHONPATH": paths, "HOME": os.environ["HOME"]}
    environment["FORMLAB_CACHE"] = str(tmp_path / "cache")
    # Where the command is not on the path it is a module.
    script += "python -m formlab --help\n"
    said = run("bash", "-c", script, cwd=tmp_path, env=environment)
    assert ("Usage: python -m formlab" in said, "arena" in said) == (True, False)
    home = tmp_path / "five-minutes"
    wrong = formlab.open_evaluation(home / "evals/first").fields.remove(outcome="match")
    assert wrong["cause"].sort().to_list() == ["characters", "lost_separator"]
    assert (home / "reports" / "index.html").is_file()
    assert "Noor Hadad" in next(home.glob("reports/65_own_forms*.html")).read_text("utf-8")
    lines = (home / "look.txt").read_text("utf-8").splitlines()
    # A finding and what to try are two sentences.
    assert any("fields" in line for line in lines)
    assert not any(re.search(r"[a-z)] [A-Z][a-z]+ (at|the|what|how)\b", line) for line in lines)
