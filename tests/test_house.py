"""House rules, checked over the whole package."""

import ast
import importlib
import inspect
import pkgutil
import re
from pathlib import Path

import pytest

import formlab
from formlab import benchmarks, formats, logs, metrics, systems
from formlab.scoring import tasks

PACKAGE = Path(formlab.__file__).parent
TESTS = Path(__file__).parent
ROOMS = (
    "errors", "console", "frames", "selection", "known_files", "registry", "plugin_records",
    "resources", "files", "yaml_files", "quick_schemas", "pictures", "swap", "structure",
    "addresses", "kept", "workers", "columns", "tables",
    "previews", "progress", "folder", "shard_parts", "folders", "decisions", "text", "trees",
    "browser", "benchmarks",
    "metrics", "systems", "formats", "own", "scoring", "logs", "analysis", "testing", "scorers",
    "charts", "gallery", "explore", "reports", "cli_facts", "cli_compare", "cli_init", "cli_open",
    "cli_report", "cli_summary", "cli_score", "cli",
)  # fmt: skip
# Files that registered ones use and that register nothing themselves.
HELPERS = {
    "benchmarks": {"calculations", "ixbrl", "meta"},
    "metrics": {"judge"},
    "systems": {"judge", "prompts"},
}
MODULES = sorted(
    module.name
    for module in pkgutil.walk_packages([str(PACKAGE)], "formlab.")
    if "assets" not in module.name
)


def imported_rooms(file):
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module == "formlab":
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("formlab."):
            yield node.module.split(".")[1]
        elif isinstance(node, ast.Import):
            yield from (a.name.split(".")[1] for a in node.names if a.name.startswith("formlab."))


@pytest.mark.parametrize(
    "file", sorted(PACKAGE.rglob("*.py")), ids=lambda f: str(f.relative_to(PACKAGE))
)
def test_module_imports_only_rooms_that_stand_before_it(file):
    room = file.relative_to(PACKAGE).parts[0].removesuffix(".py")
    if room == "__init__":
        return
    assert room in ROOMS
    for other in imported_rooms(file):
        assert ROOMS.index(other) <= ROOMS.index(room), f"{file} imports {other}"


def test_the_core_imports_no_add_on():
    for file in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            names = [a.name for a in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            assert not any(name.startswith("formlab_") for name in names), file


# What starts processes and threads; `formlab.workers` is the one way to them.
POOLS = {"multiprocessing", "concurrent", "dask", "distributed", "joblib"}


def test_only_the_workers_start_processes_and_threads():
    packages = [PACKAGE, *PACKAGE.parent.glob("formlab_*")]
    for file, package in [(f, p) for p in packages for f in p.rglob("*.py")]:
        name = str(file.relative_to(package))
        text = file.read_text()
        if name.startswith("workers/") or not any(pool in text for pool in POOLS):
            continue
        for node in ast.walk(ast.parse(text)):
            names = [a.name for a in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            assert not {name.partition(".")[0] for name in names} & POOLS, file


def test_a_name_with_brackets_is_no_pattern_to_polars():
    calls = 0
    for file in (f for p in (PACKAGE, *PACKAGE.parent.glob("formlab_*")) for f in p.rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text())):
            name = ast.unparse(node.func) if isinstance(node, ast.Call) else ""
            assert name != "pl.read_parquet_schema", f"{file}: files.parquet_columns"
            if name in ("pl.read_parquet", "pl.scan_parquet"):
                calls += 1
                options = {word.arg: ast.unparse(word.value) for word in node.keywords}
                assert options.get("glob") == "False", f"{file}:{node.lineno}"
    assert calls


@pytest.mark.parametrize(
    ("registry", "folder"),
    [
        (benchmarks.BENCHMARKS, "benchmarks"),
        (metrics.METRICS, "metrics"),
        (systems.SYSTEMS, "systems"),
        (formats.FORMATS, "formats"),
        (logs.LOGS, "logs"),
        (tasks.TASKS, "scoring/tasks"),
    ],
    ids=["benchmarks", "metrics", "systems", "formats", "logs", "tasks"],
)
def test_every_file_is_registered_and_has_a_test_file(registry, folder):
    files = {f.stem for f in (PACKAGE / folder).glob("*.py") if not f.stem.startswith("_")}
    files |= {f.parent.name for f in (PACKAGE / folder).glob("*/__init__.py")}
    code = [PACKAGE / folder / name for name in ("__init__.py", "_own.py")]
    named = set(re.findall(r"\w+", "".join(f.read_text() for f in code if f.is_file())))
    tested = {f.stem.removeprefix("test_") for f in (TESTS / folder).rglob("test_*.py")}
    helpers = HELPERS.get(folder, set())
    assert files - helpers <= named, f"not registered: {files - helpers - named}"
    assert files <= tested, f"without a test file: {files - tested}"
    for name, entry in registry.items():
        assert getattr(entry, "name", name) == name


def public_functions():
    for name in MODULES:
        module = importlib.import_module(name)
        for label, member in vars(module).items():
            public = inspect.isfunction(member) or inspect.isclass(member)
            if public and not label.startswith("_") and member.__module__ == name:
                yield pytest.param(member, id=f"{name}.{label}")


@pytest.mark.parametrize("member", list(public_functions()))
def test_public_name_has_a_docstring(member):
    # `inspect.getdoc` would inherit one; a dataclass without its own gets its signature.
    doc = member.__doc__ or ""
    assert doc, "no docstring"
    assert not doc.startswith(f"{member.__name__}("), "no docstring of its own"


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
    assert len(named) > 40
    assert not {name for name in named if not any((home / name).exists() for home in homes)}
