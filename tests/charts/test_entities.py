import math

import polars as pl
import pytest

from formlab import tables
from formlab.analysis import Finding
from formlab.analysis.few_shot import GAPS, NESTED, SIMPLE, WHOLE
from formlab.charts import Caption, entity_caption, entity_cards, entity_dots, gap_caption, gap_dots
from tests.made_slices import of

EVIL = "<script>\x00"


def summary(*rows):
    base = {
        "benchmark": "vrdu", "split": "s", "system": "demo", "ci_low": 0.1, "ci_high": 0.9,
        "n_docs": 3, "n_cases": 5, "n_missing": 0, "n_undefined": 0, "settings": {},
    }  # fmt: skip
    frame = tables.table("summary", [base | row for row, _ in rows])
    extra = pl.DataFrame(
        [more for _, more in rows],
        schema={"corpus": pl.String, "type": pl.String, "n_gold": pl.Int64},
    )
    return pl.concat([frame, extra], how="horizontal")


def f1(part, value, kind, corpus="Made", n=4, **more):
    return (
        of(part, "micro_f1") | {"metric": "f1", "value": value} | more,
        {"corpus": corpus, "type": kind, "n_gold": n},
    )


@pytest.fixture
def found():
    return summary(
        f1("entity=who", 0.5, "string", ci_low=math.nan, ci_high=math.nan),
        f1("entity=day", 1.0, "date"),
        f1("entity=tag", math.nan, "string"),
        f1("entity=item", 0.25, NESTED),
        f1("group=unrepeated", 0.75, "", n=8),
        f1(f"type={NESTED}", 0.25, NESTED),
        f1("type=date", 1.0, "date"),
    )


def data(chart):
    (rows,) = chart.to_dict()["datasets"].values()
    return rows


def test_entities_are_dots_from_best_to_worst_without_undefined_ones(found):
    chart = entity_dots(found)
    rows = data(chart)
    assert [(row["name"], row["value"]) for row in rows] == [
        ("day", 1),
        ("who", 0.5),
        ("item", 0.25),
    ]
    # JSON has no NaN.
    assert rows[1]["ci_low"] is None
    spec = chart.to_dict()
    assert spec["description"] == "F1 by entity: day 1.000; who 0.500; item 0.250"
    assert spec["spec"]["layer"][1]["encoding"]["color"]["scale"]["domain"] == [
        "string", "date", NESTED,
    ]  # fmt: skip


def test_types_need_no_legend(found):
    chart = entity_dots(found, by="type")
    assert {row["name"] for row in data(chart)} == {NESTED, "date"}
    assert chart.to_dict()["spec"]["layer"][1]["encoding"]["color"]["legend"] is None


def test_no_entities_give_a_note():
    assert isinstance(entity_dots(summary()), Caption)
    assert "no entities" in entity_cards(summary()).finding
    assert "No F1 of simple entities was scored." in str(entity_caption(summary(), say="F1."))


def test_cards_set_line_items_against_simple_entities(found):
    cards = entity_cards(found)
    assert cards.finding == (
        "demo finds simple entities with F1 0.75 and line items with F1 0.25 in Made."
    )
    assert [card.label for card in cards.cards] == [
        "F1 of simple entities, Made", "F1 of line items, Made",
    ]  # fmt: skip


def test_cards_compare_entities_only_where_a_test_did():
    one = summary(f1("entity=who", 0.5, "string"), f1("entity=day", 1.0, "date"),
                  f1("group=unrepeated", 0.75, ""))  # fmt: skip
    said = "demo finds simple entities with F1 0.75 in Made."
    assert entity_cards(one).finding == said
    tested = Finding("Days are ahead", "kinds")
    assert entity_cards(one, tested).finding == f"{said} Days are ahead."


def test_caption_names_each_data_set_with_n_interval_and_settings():
    rows = summary(f1("group=unrepeated", 0.75, "", n=8), f1("group=unrepeated", 1.0, "", EVIL))
    said = entity_caption(rows, say="Shown.")
    assert said.text.startswith(
        "Shown. F1 of simple entities: Made 0.750 (0.100 to 0.900), n = 8 in 3"
    )
    assert said.settings == "vrdu:s|f1|level=field"


def gaps(*values):
    base = {"corpus": "Made", "train_size": 10, "system": "demo", "part": WHOLE}
    rows = [
        base | {"metric": metric, "part": part, "value": v, "ci_low": low, "ci_high": high}
        for metric, part, v, low, high in values
    ]
    return pl.DataFrame(rows, schema=GAPS)


def test_gap_lies_on_an_axis_with_zero_in_the_middle():
    table = gaps(("micro_f1", WHOLE, -0.2, -0.4, 0.1), ("f1", SIMPLE, 0.1, math.nan, math.nan))
    chart = gap_dots(table)
    layer = chart.to_dict()["spec"]["layer"]
    assert layer[2]["encoding"]["x"]["scale"]["domain"] == pytest.approx([-0.42, 0.42])
    assert [row["score"] for row in data(chart)] == [
        "micro F1 of all entities", "F1 of simple entities",
    ]  # fmt: skip
    said = gap_caption(table, say="Gap.")
    assert "Made with 10 training documents −0.200 (−0.400 to +0.100)" in said.text
    assert said.settings == "ci=mover,level=0.95"


def test_no_gap_gives_a_note():
    assert isinstance(gap_dots(gaps()), Caption)
    assert "Nothing was compared" in str(gap_caption(gaps(), say="Gap."))
