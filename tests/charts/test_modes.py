import polars as pl

from formlab.analysis.both_modes import CHANGES, COMPARED
from formlab.charts import Caption, change_bars, changes_caption, changes_table, modes_table

ORDER = "order of components"


def changes(*rows):
    base = {"corpus": "Made", "split": "s", "doc_id": "a.pdf", "name": "item"}
    return pl.DataFrame([dict.fromkeys(CHANGES) | base | row for row in rows], schema=CHANGES)


def compared(*rows):
    base = {
        "corpus": "Made", "task": "mixed", "train_size": 10, "split": "s", "metric": "micro_f1",
        "official": 0.5, "fixed": 0.6, "difference": 0.1, "exact": True, "settings": {},
    }  # fmt: skip
    return pl.DataFrame([base | row for row in rows], schema=COMPARED)


SOME = changes(
    {"official": 0.0, "fixed": 1.0, "reason": ORDER, "gold": '{"what": "tea", "sum": "5"}'},
    {"official": 0.0, "fixed": 1.0, "reason": ORDER, "gold": "{not json"},
    {"official": 1.0, "fixed": 0.0, "reason": ORDER, "gold": None},
    {"reason": "equal predictions counted as one"},
)


def test_reasons_are_counted_by_what_they_do():
    chart = change_bars(SOME)
    (rows,) = chart.to_dict()["datasets"].values()
    assert {(row["reason"], row["effect"]): row["entities"] for row in rows} == {
        (ORDER, "worth more when fixed"): 2,
        (ORDER, "worth less when fixed"): 1,
        ("equal predictions counted as one", "counted in one mode only"): 1,
    }


def test_no_change_gives_a_note():
    assert isinstance(change_bars(changes()), Caption)
    assert changes_table(changes()).label == "Note"


def test_examples_of_each_reason_come_with_line_items_in_words():
    shown = changes_table(SOME, each=2)
    assert shown.frame["gold"].to_list() == ["what: tea; sum: 5", "{not json", None]
    assert shown.note == "4 entities change; at most 2 of each reason are shown."


def test_modes_stand_beside_each_other_and_a_score_not_met_is_told():
    assert modes_table(compared({})).note is None
    assert modes_table(compared({})).frame.row(0)[:4] == (
        "Made", "mixed templates", 10, "micro F1",
    )  # fmt: skip
    assert "does not keep" in modes_table(compared({}, {"exact": False})).note


def test_caption_tells_how_many_change_and_by_how_much():
    said = changes_caption(SOME, compared({}, {"difference": -0.2, "split": "t"}), say="Shown.")
    assert said.text == (
        "Shown. n = 4 entities change in 2 splits; micro F1 fixed minus official: −0.200 to +0.100."
    )
    assert "Nothing was compared" in str(changes_caption(SOME, compared(), say="Shown."))
