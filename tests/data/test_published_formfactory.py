import re
from pathlib import Path

import polars as pl
import pytest

from formlab.benchmarks.formfactory import forms

FOLDER = Path(__file__).parents[2] / "data" / "published"
MARKS = (
    "date", "binary_choice", "dropdown", "description", "file_upload", "multiple_choice",
    "checkbox", "number", "multiple_pages",
)  # fmt: skip


def table(number):
    return pl.read_csv(FOLDER / f"formfactory_table{number}.csv", infer_schema=False)


@pytest.fixture
def paper(shared):
    return next(shared.glob("papers/*ed9ddc1dd5bfe1d2.txt")).read_text("utf-8")


def test_tables_are_complete():
    assert table(1).height == 25 + 1
    assert table(2).height == 6 * 8 * 2
    for number in (1, 2):
        assert table(number)["source"].str.contains(f"Table {number}").all()
        assert not table(number).null_count().sum_horizontal()[0]


def test_table_1_names_the_forms_and_domains_of_the_loader():
    printed = set(table(1).head(25).select("form", "domain").rows())
    assert {(form.name, form.domain) for form in forms().values()} == printed


def test_table_1_stands_in_the_paper_as_written(paper):
    lines = {line.split("\t")[1]: line for line in paper.split("\n") if line.count("\t") > 5}
    for row in table(1).iter_rows(named=True):
        cells = lines[row["form"]].split("\t")
        figures = [cell.replace(",", "") for cell in cells[2:6]]
        assert figures == [row[key] for key in ("fields", "samples", "pairs", "field_types")]
        ticks = ["yes" if cell == "✓" else "no" for cell in (cells[6:] + [""] * 9)[:9]]
        assert ticks == [row[mark] for mark in MARKS], row["form"]


def test_table_2_stands_in_the_paper_as_written(paper):
    for (system,), group in table(2).group_by("system", maintain_order=True):
        line = next(line for line in paper.split("\n") if line.startswith(f"{system}\t"))
        assert group["value"].to_list() == re.findall(r"\d+\.\d+", line.split("\t", 1)[1])
