"""The tables printed in two papers: complete, and as the papers have them."""

import re
from pathlib import Path

import polars as pl
import pytest

from formlab.benchmarks.formfactory import forms

FOLDER = Path(__file__).parents[2] / "data" / "published"
SYSTEMS = {"GPT-5", "Claude 4 Sonnet", "Gemini 2.5 Flash", "Qwen2.5-VL-72B"}
MARKS = (
    "date", "binary_choice", "dropdown", "description", "file_upload", "multiple_choice",
    "checkbox", "number", "multiple_pages",
)  # fmt: skip
# Of each table its rows, and how many of its cells are empty.
TABLES = {
    ("formcraft", 1): (24, 0), ("formcraft", 2): (24, 0), ("formcraft", 3): (16, 4 * 4),
    ("formcraft", 4): (12, 0), ("formfactory", 1): (25 + 1, 0), ("formfactory", 2): (6 * 8 * 2, 0),
}  # fmt: skip


def table(paper, number):
    return pl.read_csv(FOLDER / f"{paper}_table{number}.csv", infer_schema=False)


@pytest.fixture
def formfactory(shared):
    """The lines of the paper."""
    return next(shared.glob("papers/*ed9ddc1dd5bfe1d2.txt")).read_text("utf-8").split("\n")


def test_every_table_is_complete():
    for (paper, number), (rows, empty) in TABLES.items():
        found = table(paper, number)
        assert (found.height, found.null_count().sum_horizontal()[0]) == (rows, empty)
        assert found["source"].str.contains(f"Table {number}").all()
        assert paper == "formfactory" or set(found["system"]) == SYSTEMS
    printed = set(table("formfactory", 1).head(25).select("form", "domain").rows())
    assert {(form.name, form.domain) for form in forms().values()} == printed


def test_every_row_of_formcraft_stands_in_the_paper_as_written(shared):
    paper = next(shared.glob("papers/*2c14f0b6e9ac6b2a.txt")).read_text("utf-8")
    # The text sets two or four systems in one line: their numbers alternate.
    rows = set()
    for line in re.sub(r"[$|]|\([^)]*\)", " ", paper).split("\n"):
        systems = sorted((s for s in SYSTEMS if s in line), key=line.index)
        numbers = re.findall(r"\d+\.\d\d(?!\d)", line)
        for place, system in enumerate(systems):
            rows.add((system, tuple(numbers[place :: len(systems)])))
    for number in (1, 2, 3, 4):
        for (system, source), group in table("formcraft", number).group_by("system", "source"):
            assert (system, tuple(group["value"])) in rows, (number, system, source)


def test_tables_of_formfactory_stand_in_the_paper_as_written(formfactory):
    lines = {line.split("\t")[1]: line for line in formfactory if line.count("\t") > 5}
    for row in table("formfactory", 1).iter_rows(named=True):
        cells = lines[row["form"]].split("\t")
        figures = [cell.replace(",", "") for cell in cells[2:6]]
        assert figures == [row[key] for key in ("fields", "samples", "pairs", "field_types")]
        ticks = ["yes" if cell == "✓" else "no" for cell in (cells[6:] + [""] * 9)[:9]]
        assert ticks == [row[mark] for mark in MARKS], row["form"]
    for (system,), group in table("formfactory", 2).group_by("system", maintain_order=True):
        line = next(line for line in formfactory if line.startswith(f"{system}\t"))
        assert group["value"].to_list() == re.findall(r"\d+\.\d+", line.split("\t", 1)[1])
