"""How large each room is, and how large it may be: `python -m tests.house`, or `make count`.

A limit only falls, to the goal of its room; what moves between rooms moves its limit with it.
"""

import json
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGES = [
    "formlab",
    "formlab_arena",
    "formlab_experiments",
    "formlab_review",
    "formlab_baselines",
]
SPINE = ("batches", "evaluate", "whole")
ANALYSIS = ["formlab/stats/", "formlab/analysis/", "formlab/testing.py"]
SCORED = [f"formlab/{room}/" for room in ("scoring", "metrics", "text", "trees")]
SYSTEMS = ["formlab/systems/", "formlab/browser.py", "formlab/pictures.py"]
GENERATORS = ["data/sample/generate/*.py", "formlab_experiments/forms/**/*.py"]
PAGES = ["charts/", "gallery/", "explore/", "reports/"]
# Lines of Python by room: limit and goal. A file belongs to the first room that names it.
ROOMS = {
    # Its modules of scoring come first; at the end it has what no other room names.
    "spine": (3368, 3400, [f"formlab/scoring/{name}.py" for name in SPINE]),
    "decisions": (178, 180, ["formlab/decisions.py"]),
    "benchmarks": (2991, 3000, ["formlab/benchmarks/"]),
    "readers": (3192, 3200, [f"formlab/{room}/" for room in ("formats", "logs", "own", "readers")]),
    "stats, analysis": (3857, 3900, ANALYSIS),
    "systems": (2476, 2500, SYSTEMS),
    "charts, reports": (4129, 4200, [f"formlab/{room}" for room in PAGES]),
    "scoring, metrics, text": (7716, 7720, SCORED),
    "arena": (13435, 5000, ["formlab_arena/"]),
    "experiments": (6524, 2800, ["formlab_experiments/"]),
    "review": (4707, 1700, ["formlab_review/"]),
    "baselines": (1286, 1300, ["formlab_baselines/"]),
    "tests": (27877, 16000, ["tests/"]),
}


def count_rooms():
    """Lines of Python in each room of `ROOMS`."""
    counts = dict.fromkeys(ROOMS, 0)
    for folder in (*PACKAGES, "tests"):
        for file in (ROOT / folder).rglob("*.py"):
            counts[room_of(file.relative_to(ROOT).as_posix())] += lines(file)
    return counts


def room_of(name):
    starts = ((room, start) for room, (*_, names) in ROOMS.items() for start in names)
    return next((room for room, start in starts if name.startswith(start)), "spine")


def lines(file):
    return len(file.read_text("utf-8").splitlines())


def files(*patterns):
    return [file for pattern in patterns for file in ROOT.glob(pattern) if file.is_file()]


def total(*patterns):
    return sum(map(lines, files(*patterns)))


def python_files():
    return files(*(f"{package}/**/*.py" for package in PACKAGES))


def skipped_formats():
    return sum(file.read_text("utf-8").count("# fmt: skip") for file in python_files())


def notebook_lines(file):
    cells = json.loads(file.read_text("utf-8"))["cells"]
    code = ("".join(cell["source"]) for cell in cells if cell["cell_type"] == "code")
    return sum(len(source.splitlines()) for source in code)


def size(*patterns):
    return sum(file.stat().st_size for file in files(*patterns))


# Cases that came in after the first hundred, which have a limit of their own.
LATER = ("answers", "door", "engines", "logs_door", "values")


def case_lines(is_later):
    cases = {file.stem.removeprefix("test_"): file for file in files("tests/contract/test_*.py")}
    return sum(lines(file) for name, file in cases.items() if (name in LATER) == is_later)


# What else has a limit: limit, goal and how it is counted.
OTHERS = {
    "core, lines": (27907, 28000, lambda: total("formlab/**/*.py")),
    "all packages, lines": (53859, 38800, lambda: sum(map(lines, python_files()))),
    "all packages, modules": (282, 260, lambda: len(python_files())),
    "fmt: skip": (231, 30, skipped_formats),
    "contract, lines of cases": (1949, 1950, lambda: case_lines(is_later=False)),
    "contract, cases of doors and values": (376, 377, lambda: case_lines(is_later=True)),
    "contract, lines of its doors": (85, 90, lambda: lines(ROOT / "tests/contract/doors.py")),
    "JavaScript of the core, lines": (1398, 1400, lambda: total("formlab/**/*.js")),
    "sample generators with drawing engine": (2855, 2900, lambda: total(*GENERATORS)),
    "CSS of the core, lines": (315, 320, lambda: total("formlab/**/*.css")),
    "notebooks": (16, 14, lambda: len(files("notebooks/*.ipynb"))),
    "notebooks, lines of code": (
        1697,
        1700,
        lambda: sum(map(notebook_lines, files("notebooks/*.ipynb"))),
    ),
    "docs, bytes": (
        119251,
        120000,
        lambda: size("docs/**/*.md") - size("docs/reference/commands.md"),
    ),
    "CHANGELOG, bytes": (11959, 12000, lambda: size("CHANGELOG.md")),
    "ARCHITECTURE, bytes": (7422, 9000, lambda: size("ARCHITECTURE.md")),
}


def table():
    """Name, count, limit and goal of everything that has a limit."""
    rooms = count_rooms()
    rows = [(name, rooms[name], limit, goal) for name, (limit, goal, _) in ROOMS.items()]
    return rows + [(name, count(), limit, goal) for name, (limit, goal, count) in OTHERS.items()]


def main():
    for name, count, limit, goal in [("", "now", "limit", "goal"), *table()]:
        sys.stdout.write(f"{name:40}{count:>9}{limit:>9}{goal:>9}\n")


if __name__ == "__main__":
    main()
