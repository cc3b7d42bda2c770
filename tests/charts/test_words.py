import math
import random

import polars as pl
import pytest

from formlab import charts, metrics, tables
from tests.made_slices import of
from tests.seeds import seeds


def summary_of(*rows):
    """A summary of rows of metric, level and value."""
    same = {"benchmark": "b", "split": "s", "system": "x", "settings": {}}
    same |= {"n_docs": 2, "n_cases": 4, "n_missing": 0, "n_undefined": 0}
    made = [
        same | of(name, metric) | {"metric": metric, "value": value}
        | {"ci_low": value - 0.1, "ci_high": value + 0.1}
        for metric, name, value in rows
    ]  # fmt: skip
    return tables.table("summary", made)


def test_n_beside_a_ratio_is_of_the_fields_it_is_taken_over():
    # Of four fields one is to be left alone: three clicks are asked for. A mean over documents
    # leaves out documents, and its fields are all there.
    rows = summary_of(("click_accuracy", "fields", 0.5))
    for average, n in (("pooled", 3), ("macro", 4)):
        rows = rows.with_columns(n_undefined=pl.lit(1, pl.Int64), average=pl.lit(average))
        assert f"n = {n} in 2 documents" in charts.caption("X.", rows).text


@pytest.mark.parametrize("seed", seeds(30))
def test_every_number_of_a_caption_stands_in_its_rows(seed):
    draw = random.Random(seed)
    names = draw.sample(sorted(set(metrics.METRICS)), 3)
    values = [draw.choice([math.nan, 0.0, 1.0, draw.random() * 3]) for _ in names]
    rows = summary_of(*zip(names, ["fields"] * 3, values, strict=True))
    caption = charts.caption("X.", rows, name="metric").text
    for name, value in zip(names, values, strict=True):
        number = "undefined" if math.isnan(value) else f"{value:.3f}"
        assert f"{name} {number} (" in caption
    assert "nan" not in caption.split()
