import math

import numpy as np
import polars as pl
import pytest

from formlab.analysis.summarise import summarise, surface
from formlab.errors import UnknownName
from formlab.stats.draws import draws
from tests.made_forms import made

FORMS = {
    "a": (4, 2, [1, 1, 0, 1]),
    "b": (4, 2, [0, 1, 0, 0]),
    "c": (8, 2, [1, 1]),
    "d": (8, 3, [0, 0, 1]),
}


@pytest.fixture
def evaluation():
    return made(FORMS)


def cell(table, x, y):
    return table.filter(pl.col("x_value") == x, pl.col("y_value") == y).row(0, named=True)


def test_every_cell_has_its_pooled_score_and_counts(evaluation):
    table = surface(evaluation, "click_accuracy", "n_fields", "n_kinds")
    # 4 fields and 2 types: forms a and b, 3 + 1 right of 8.
    assert table.height == 4
    first = cell(table, "4", "2")
    assert (first["value"], first["n_docs"], first["n_cases"]) == (0.5, 2, 8)
    assert (cell(table, "8", "2")["value"], cell(table, "8", "2")["n_docs"]) == (1.0, 1)
    assert cell(table, "8", "3")["value"] == pytest.approx(1 / 3)


def test_empty_cell_is_null_and_counts_nothing(evaluation):
    empty = cell(surface(evaluation, "click_accuracy", "n_fields", "n_kinds"), "4", "3")
    assert [empty[name] for name in ("value", "ci_low", "ci_high")] == [None] * 3
    assert (empty["n_docs"], empty["n_cases"], empty["n_undefined"]) == (0, 0, 0)


def test_interval_is_that_of_drawn_documents_and_unknown_for_a_single_one(evaluation):
    table = surface(evaluation, "click_accuracy", "n_fields", "n_kinds", resamples=400, seed=3)
    weights = np.concatenate(list(draws(4, resamples=400, seed=3)))
    # In the cell of a and b a draw has 3 of 4 right for each time it draws a, 1 of 4 for each b.
    right, total = weights @ [3, 1, 0, 0], weights @ [4, 4, 0, 0]
    values = right[total > 0] / total[total > 0]
    first = cell(table, "4", "2")
    assert (first["ci_low"], first["ci_high"]) == pytest.approx(
        tuple(np.quantile(values, [0.025, 0.975]))
    )
    assert math.isnan(cell(table, "8", "2")["ci_low"])


def test_cells_together_are_the_whole():
    rng = np.random.default_rng(5)
    forms = {
        str(n): (int(rng.integers(1, 30)), int(rng.integers(1, 7)), rng.integers(0, 2, 6).tolist())
        for n in range(40)
    }
    whole = made(forms)
    table = surface(whole, "click_accuracy", "n_fields", "n_kinds", resamples=0)
    hits = sum(row["value"] * row["n_cases"] for row in table.to_dicts() if row["n_cases"])
    summary = summarise(whole, by=(), average="pooled", resamples=0).filter(metric="click_accuracy")
    assert hits / table["n_cases"].sum() == pytest.approx(summary["value"][0])
    assert table["n_docs"].sum() == 40
    # More than twelve numbers of fields are cut into six bands of about equal counts.
    assert 4 <= table["x_value"].n_unique() <= 6


def test_edges_cut_a_number_and_label_it(evaluation):
    table = surface(evaluation, "click_accuracy", "n_fields", "n_kinds", bins={"n_fields": [5, 9]})
    assert table["x_value"].unique().sort().to_list() == ["under 5", "5–8"]


def test_columns_of_cases_and_unknown_values_have_cells_too():
    whole = made(FORMS, kinds=["date", "string", "date", None])
    table = surface(whole, "click_accuracy", "n_fields", "kind")
    assert table["y_value"].unique().sort().to_list() == ["date", "string", "unknown"]
    # Form a and b: dates /0 and /2 are right once in four, /3 is of no known kind.
    assert cell(table, "4", "date")["value"] == 0.25
    assert cell(table, "4", "unknown")["n_cases"] == 2
    assert table["n_cases"].sum() == 13


def test_undefined_scores_are_counted_and_not_pooled():
    whole = made({"a": (4, 2, [1, None, 0]), "b": (4, 2, [None])})
    row = cell(surface(whole, "click_accuracy", "n_fields", "n_kinds"), "4", "2")
    assert (row["value"], row["n_cases"], row["n_undefined"]) == (0.5, 4, 2)


def test_unknown_names_are_told(evaluation):
    with pytest.raises(UnknownName, match="metric"):
        surface(evaluation, "nothing", "n_fields", "n_kinds")
    with pytest.raises(UnknownName, match="column"):
        surface(evaluation, "click_accuracy", "n_field", "n_kinds")


def test_metric_that_was_not_scored_gives_an_empty_table(evaluation):
    assert surface(evaluation, "cer", "n_fields", "n_kinds").height == 0
