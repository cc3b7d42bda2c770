"""House rules, checked over the whole package."""

import ast
import re
from functools import cache
from pathlib import Path

import pytest

import formlab
from tests import faults, house

PACKAGE = Path(formlab.__file__).parent
ROOMS = (
    "errors", "selection", "resources", "files", "registry",
    "pictures", "workers", "tables", "show",
    "folders", "decisions", "trees", "text",
    "browser", "benchmarks",
    "metrics", "systems", "readers", "scoring", "logs", "analysis", "testing",
    "charts", "gallery", "explore", "reports", "cli",
)  # fmt: skip
LOGS, SAME = ("beside", "join", "logs"), {"own": "readers", "stats": "analysis"}
SAME |= {"saving": "folders"}


@cache
def nodes(file):
    """The imports and the calls of a module, which several rules look at."""
    kinds = (ast.Import, ast.ImportFrom, ast.Call)
    return [node for node in ast.walk(ast.parse(file.read_text())) if isinstance(node, kinds)]


def imported(file):
    """The dotted names of all that a module imports."""
    for node in nodes(file):
        if isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


def test_modules_import_only_rooms_that_stand_before_them():
    wrong = []
    for file in PACKAGE.rglob("*.py"):
        room = file.relative_to(PACKAGE).parts[0].removesuffix(".py")
        # What reads a user's forms is one room; a log is scored, too.
        room = "logs" if room == "readers" and file.stem in LOGS else SAME.get(room, room)
        if room not in ("__init__", "__main__"):
            place = ROOMS.index(room)
            names = [n.split(".")[1] for n in imported(file) if n.startswith("formlab.")]
            wrong += [(file, n) for n in names if ROOMS.index(SAME.get(n, n)) > place]
    assert wrong == []


def test_the_core_imports_no_add_on():
    for file in PACKAGE.rglob("*.py"):
        assert not any(name.startswith("formlab_") for name in imported(file)), file


# What starts processes and threads; `formlab.workers`, module or package, is the one way to them.
POOLS = {"multiprocessing", "concurrent", "dask", "distributed", "joblib"}


def test_only_the_workers_start_processes_and_threads():
    packages = [PACKAGE, *PACKAGE.parent.glob("formlab_*")]
    for file, package in [(f, p) for p in packages for f in p.rglob("*.py")]:
        name = str(file.relative_to(package))
        if not name.startswith(("workers/", "workers.py")):
            assert not {module.partition(".")[0] for module in imported(file)} & POOLS, file


def test_a_name_with_brackets_is_no_pattern_to_polars():
    calls = 0
    for file in (f for p in (PACKAGE, *PACKAGE.parent.glob("formlab_*")) for f in p.rglob("*.py")):
        for node in (node for node in nodes(file) if isinstance(node, ast.Call)):
            name = ast.unparse(node.func)
            assert name != "pl.read_parquet_schema", f"{file}: pl.scan_parquet(…, glob=False)"
            if name in ("pl.read_parquet", "pl.scan_parquet"):
                calls += 1
                options = {word.arg: ast.unparse(word.value) for word in node.keywords}
                assert options.get("glob") == "False", f"{file}:{node.lineno}"
    assert calls


def test_no_room_is_larger_than_its_limit():
    rows = house.table()
    assert [row for row in rows if row[1] > row[2]] == []
    # A limit follows what it counts down: what was saved is not spent again.
    loose = [row for row in rows if row[2] > row[3] and row[1] < row[2] - max(60, row[2] // 100)]
    assert loose == []


def test_every_seeded_fault_names_code_that_stands_there_once():
    for fault in faults.read_faults():
        code = (faults.ROOT / fault["file"]).read_text("utf-8")
        assert code.count(fault["text"]) == 1, fault["name"]


def test_names_offered_at_the_top_are_there():
    for name in formlab.__all__:
        assert getattr(formlab, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = formlab.nothing


def test_files_that_the_architecture_names_are_there():
    page = (PACKAGE.parent / "ARCHITECTURE.md").read_text()
    named = set(re.findall(r"`((?:\w+/)*\w+\.py|(?:\w+/)+)`", page))
    homes = [PACKAGE.parent, *(PACKAGE.parent / name for name in ("formlab", "formlab_arena"))]
    homes += [PACKAGE / name for name in ("systems", "metrics", "scoring/tasks")]
    assert len(named) > 20
    assert not {name for name in named if not any((home / name).exists() for home in homes)}
