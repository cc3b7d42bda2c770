import polars as pl
import pytest

from formlab.analysis import Finding
from formlab.analysis.flips import MATRIX
from formlab.charts import Caption
from formlab.charts.flips import compare_cards, flip_bars, flip_caption, flip_table
from tests.made_slices import of


def row(name, counts, **more):
    right, a, b, wrong = counts
    n = sum(counts)
    base = {
        **of(name), "both_right": right, "only_a": a, "only_b": b, "both_wrong": wrong,
        "n_cases": n, "n_docs": 4, "value_a": (right + a) / n, "value_b": (right + b) / n,
        "difference": (b - a) / n, "ci_low": 0.1, "ci_high": 0.4, "p": 0.01, "p_holm": 0.02,
        "p_bh": 0.02, "p_mcnemar": 0.00001, "least_difference": 0.1, "system_a": "m",
        "system_b": "n", "settings": {},
    }  # fmt: skip
    return base | more


def frame(*rows):
    return pl.DataFrame(list(rows), schema=MATRIX)


TABLE = frame(
    row("fields", (4, 1, 3, 2)), row("kind=a", (1, 0, 3, 0)), row("cause_a=digit", (0, 0, 1, 2))
)


def test_bars_hold_the_shares_of_each_slice():
    spec = flip_bars(TABLE, by="kind").to_dict()
    (rows,) = spec["datasets"].values()
    shares = {(r["label"], r["kind"]): r["share"] for r in rows}
    assert shares["all fields  (n = 10)", "only n"] == pytest.approx(0.3)
    assert shares["a  (n = 4)", "both right"] == pytest.approx(0.25)
    # Flips that no field has are left out.
    assert len(rows) == 6
    assert "fields: both right 4, only m 1, only n 3, both wrong 2" in spec["description"]


def test_bars_of_several_pairs_name_the_pair():
    table = frame(row("fields", (4, 1, 3, 2)), row("fields", (4, 0, 0, 6), system_b="o"))
    (rows,) = flip_bars(table).to_dict()["datasets"].values()
    assert {r["label"] for r in rows} == {
        "m | n: all fields  (n = 10)",
        "m | o: all fields  (n = 10)",
    }
    assert {r["kind"] for r in rows} >= {"only the first", "only the second"}


def test_cards_say_what_was_shown_before_what_was_not():
    shown, not_shown = Finding("n is ahead", "systems"), Finding("none", "systems", holds=False)
    assert compare_cards(TABLE, [not_shown, shown]).finding == "n is ahead."
    assert compare_cards(TABLE, [not_shown]).finding == "none."


def test_cards_without_a_test_only_count():
    said = compare_cards(TABLE).finding
    assert said == "Of 10 fields 1 are right with m alone and 3 with n alone."


def test_pages_alone_are_cards_of_their_own():
    pages = Finding("n does better", "systems", system="m, n", metric="cer", effect=-0.2,
                    ci_low=-0.3, ci_high=-0.1, n_docs=9)  # fmt: skip
    cards = compare_cards(TABLE.clear(), [pages])
    assert cards.finding == "n does better."
    assert cards.cards[0].value == "−0.200"
    assert cards.cards[0].note == "95 % interval −0.300 to −0.100, n = 9 documents"


def test_what_one_system_gets_wrong_is_not_drawn_beside_all_fields():
    spec = flip_bars(TABLE, by="cause_a").to_dict()
    (rows,) = spec["datasets"].values()
    assert {r["label"] for r in rows} == {"digit  (n = 3)"}
    assert spec["encoding"]["color"]["scale"]["domain"] == ["only n", "both wrong"]


def test_table_names_the_systems_and_both_tests():
    shown = flip_table(TABLE)
    assert shown.titles["only_a"] == "only m"
    assert shown.frame["p_mcnemar"].to_list() == ["< 0.0001"] * 3
    assert "McNemar" in shown.note


def test_caption_counts_the_flips():
    text = str(flip_caption(TABLE, say="So."))
    assert "Right with m alone: 1 fields; with n alone: 3; difference +0.200" in text


def test_nothing_to_show_is_said():
    assert isinstance(flip_bars(TABLE.clear()), Caption)
    assert "No field" in str(flip_caption(TABLE.clear(), say="So."))
    assert "Neither a field" in compare_cards(TABLE.clear()).finding
