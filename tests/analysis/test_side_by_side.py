"""Several systems in one table, as papers print them."""

import dataclasses
import math

import numpy as np
import polars as pl
import pytest

from formlab import analysis, charts
from formlab.errors import DataBroken, UnknownName
from tests.analysis.made_pairs import from_matrix, made

METRIC = "normalised_accuracy"


@pytest.fixture(scope="module")
def rows():
    """Twelve forms of four fields: `good` and `twin` are nearly alike, `bad` reads nothing."""
    right = np.ones((12, 4), dtype=int)
    twin = right.copy()
    twin[0, 0] = 0
    systems = {"good": right, "twin": twin, "bad": np.zeros_like(right)}
    made_of = [from_matrix(name, matrix) for name, matrix in systems.items()]
    return analysis.side_by_side(
        made_of, [METRIC], average="pooled", resamples=200, permutations=999
    )


def test_only_what_is_shown_to_be_worse_loses_its_mark(rows):
    assert dict(rows.select("system", "mark").rows()) == {
        "good": "best", "twin": "near", "bad": "worse",
    }  # fmt: skip
    values = dict(rows.select("system", "value").rows())
    assert values == {"good": 1, "twin": pytest.approx(47 / 48), "bad": 0}


def test_equal_systems_are_both_best_and_one_alone_has_no_mark():
    cells = [("1", "/a", 1), ("2", "/a", 0)]
    alike = [made("m", cells), made("n", cells)]
    table = analysis.side_by_side(alike, [METRIC], average="pooled", resamples=0, permutations=9)
    assert table["mark"].to_list() == ["best", "best"]
    alone = analysis.side_by_side(alike[:1], [METRIC], average="pooled", resamples=0)
    assert alone["mark"].to_list() == [None]


def test_what_is_not_scored_or_not_of_the_same_documents_is_an_error():
    one = made("m", [("1", "/a", 1)])
    with pytest.raises(UnknownName, match="bleu_of_nothing"):
        analysis.side_by_side([one], ["bleu_of_nothing"], resamples=0)
    assert not analysis.side_by_side([one], ["bleu"], resamples=0).height
    with pytest.raises(DataBroken, match="cannot be compared"):
        analysis.side_by_side([one, made("n", [("2", "/a", 1)])], resamples=0)


def test_papers_table_has_own_rows_first_and_published_ones_in_another_style(rows):
    printed = pl.DataFrame({"system": ["GPT-5"], "metric": [METRIC], "value": [0.5]})
    table = charts.paper_table(rows, printed, {METRIC: "right"}, digits=2)
    assert table.frame["system"].to_list() == [
        "good", "twin", "bad", "GPT-5 (published)", "metric", "average",
    ]  # fmt: skip
    good, twin, bad, theirs, metric, average = table.frame[METRIC]
    assert (metric, average) == (METRIC, "pooled")
    # Twelve documents of four values.
    assert good.startswith("1.00 (n = 48) [")
    assert not good.endswith("≈")
    assert twin.startswith("0.98 (n = 48) [")
    assert twin.endswith("≈")
    assert bad.startswith("0.00 (n = 48) [")
    assert theirs == "0.50"
    payload = table._payload()
    assert (payload["aside"], payload["bold"]) == ([3, 4, 5], [[0, 1]])
    assert "no difference from the best was shown" in payload["note"]
    assert "<tr style" in table._html(payload)
    percent = charts.paper_table(rows, printed, {METRIC: "right"}, digits=1, percent=True)
    assert percent.frame[METRIC].to_list()[:4:3] == ["100.0 (n = 48) [100.0, 100.0]", "50.0"]


def test_systems_are_tested_only_where_they_were_scored_on_the_same():
    """`c` has another metric than `a` and `b`."""
    cells = [(str(n), "/a", 1) for n in range(8)]
    a, b = made("a", cells), made("b", [(doc, path, 0) for doc, path, _ in cells])
    c = made("c", cells)
    c = dataclasses.replace(c, scores=c.scores.with_columns(metric=pl.lit("fuzzy_accuracy")))
    table = analysis.side_by_side([a, b, c], average="pooled", resamples=99, permutations=999)
    marks = dict(table.filter(metric=METRIC).select("system", "mark").rows())
    assert marks == {"a": "best", "b": "worse"}
    assert table.filter(metric="fuzzy_accuracy", system="c")["mark"].to_list() == [None]


def test_a_value_that_no_test_compared_is_marked_as_such():
    own = pl.DataFrame({
        "system": ["m", "n", "o"], "metric": ["cer"] * 3, "value": [0.1, 0.2, math.nan],
        "ci_low": [None] * 3, "ci_high": [None] * 3, "mark": ["best", None, None],
    })  # fmt: skip
    table = charts.paper_table(own, own.clear(), {"cer": "CER"}, digits=1)
    assert table.frame["cer"].to_list() == ["0.1", "0.2 °", "–", "cer", "pooled"]
    assert "°: not tested against the best" in table.note
