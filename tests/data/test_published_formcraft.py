import re
from pathlib import Path

import polars as pl

FOLDER = Path(__file__).parents[2] / "data" / "published"
SYSTEMS = {"GPT-5", "Claude 4 Sonnet", "Gemini 2.5 Flash", "Qwen2.5-VL-72B"}


def table(number):
    return pl.read_csv(FOLDER / f"formcraft_table{number}.csv", infer_schema=False)


def test_every_table_is_complete():
    assert [table(n).height for n in (1, 2, 3, 4)] == [24, 24, 16, 12]
    for number in (1, 2, 3, 4):
        assert set(table(number)["system"]) == SYSTEMS
        assert table(number)["source"].str.contains(f"Table {number}").all()
        assert table(number).null_count().sum_horizontal()[0] == (4 * 4 if number == 3 else 0)


def test_every_row_stands_in_the_paper_as_written(shared):
    paper = next(shared.glob("papers/*2c14f0b6e9ac6b2a.txt")).read_text("utf-8")
    # The text sets two or four systems in one line: their numbers alternate.
    rows = set()
    for line in re.sub(r"[$|]|\([^)]*\)", " ", paper).split("\n"):
        systems = sorted((s for s in SYSTEMS if s in line), key=line.index)
        numbers = re.findall(r"\d+\.\d\d(?!\d)", line)
        for place, system in enumerate(systems):
            rows.add((system, tuple(numbers[place :: len(systems)])))
    for number in (1, 2, 3, 4):
        for (system, source), group in table(number).group_by("system", "source"):
            assert (system, tuple(group["value"])) in rows, (number, system, source)
