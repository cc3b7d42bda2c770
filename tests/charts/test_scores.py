import polars as pl

from formlab import charts, tables
from formlab.charts import theme
from formlab.scoring.causes import STAGE_OF, WHAT_TO_TRY

COUNTS = {"case": 5, "missed": 1, "lookalike": 2, "digit": 4, "wrong_field": 1}


def wrong(counts=COUNTS):
    rows = [
        {"cause": cause, "path": f"/{cause}/{n}", "task": "text", "kind": "ab"[n % 2]}
        for cause, count in counts.items()
        for n in range(count)
    ]
    # Nothing is wrong with the first; a page and a node of a tree are no fields.
    more = [{"path": "/ok", "task": "text"}, {"cause": "case", "task": "text"}]
    more.append({"cause": "missed", "path": "/group", "task": "layout"})
    return tables.table("cases", [*rows, *more])


def test_causes_come_stage_by_stage_with_share_and_what_to_try():
    table = charts.cause_table(wrong()).frame
    assert table.select("stage", "cause", "cases").rows() == [
        ("find", "missed", 1), ("place", "wrong field", 1),
        ("characters", "digit", 4), ("characters", "lookalike", 2), ("form", "case", 5),
    ]  # fmt: skip
    # 5 of 13 differ in case only.
    assert table["share"][-1] == 5 / 13
    assert table["try"][0] == WHAT_TO_TRY["missed"]


def test_bars_of_one_stage_share_its_colour_and_are_split_by_kind():
    spec = charts.cause_bars(wrong()).to_dict()
    colours = spec["encoding"]["color"]
    assert colours["sort"] == ["find", "place", "characters", "form"]
    assert colours["scale"]["range"] == [theme.STAGE_COLOURS[stage] for stage in colours["sort"]]
    assert spec["encoding"]["y"]["sort"] == ["missed", "wrong field", "digit", "lookalike", "case"]
    rows = next(iter(spec["datasets"].values()))
    assert {(r["cause"], r["kind"]): r["cases"] for r in rows}["case", "a"] == 3
    assert "try" in {tip["field"] for tip in spec["encoding"]["tooltip"]}


def test_every_cause_has_the_colour_of_its_stage_and_stages_differ():
    assert {cause: theme.STAGE_COLOURS[stage] for cause, stage in STAGE_OF.items()} == (
        theme.CAUSE_COLOURS
    )
    assert len(set(theme.STAGE_COLOURS.values())) == len(theme.STAGE_COLOURS)


def test_cause_from_elsewhere_is_counted_and_has_no_stage():
    table = charts.cause_table(wrong({"case": 1, "coffee_stain": 2})).frame
    assert table.select("stage", "cause", "cases").rows() == [
        ("form", "case", 1), (None, "coffee stain", 2),
    ]  # fmt: skip
    assert charts.cause_bars(wrong({"coffee_stain": 2})).to_dict()


def test_without_causes_a_note_says_so():
    right = wrong({}).filter(pl.col("cause").is_null())
    assert "Nothing to show" in charts.cause_table(right).text
    assert "Nothing to show" in charts.cause_bars(right).text
