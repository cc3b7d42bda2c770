"""Frozen numbers: samples score, and real files load to, what `tests/freeze.py` wrote down."""

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from tests.freeze import CSV, FROZEN, KEYS, TABLES, made_here

# Draws and swaps are random: ends of intervals and p values agree as far as these let them.
RANDOM = {"ci_low": 0.02, "ci_high": 0.02, "p": 0.01, "p_holm": 0.01}


@pytest.mark.parametrize("name", sorted(TABLES.keys() - {"real"}))
def test_n01_numbers_of_the_samples_are_those_that_were_frozen(name):
    compare_with_frozen(name)


@pytest.mark.usefixtures("shared")
def test_n02_real_files_load_to_the_rows_that_were_frozen():
    compare_with_frozen("real")


def compare_with_frozen(name):
    """The table made now against the file: rows, then values to 1e-9 and random ones loosely."""
    made = TABLES[name]().unique().sort(KEYS)
    if TABLES[name] in CSV:
        frozen = pl.read_csv(FROZEN / f"{name}.csv", schema=made.schema)
    else:
        frozen = pl.read_parquet(FROZEN / f"{name}.parquet")
    made, frozen = made_here(made), made_here(frozen).sort(KEYS)
    random = [column for column in made.columns if column in RANDOM]
    assert_frame_equal(made.drop(random), frozen.drop(random), abs_tol=1e-9, rel_tol=0)
    for column in random:
        # A wide interval has wide errors: 5 % of it is five times that of 1,000 draws.
        width = (frozen["ci_high"] - frozen["ci_low"]).fill_nan(None).fill_null(0)
        limit = width * (0.05 if column.startswith("ci") else 0) + RANDOM[column]
        now, then = made[column].fill_nan(None), frozen[column].fill_nan(None)
        far = ((now - then).abs() > limit).fill_null(False)
        assert made.filter(far | (now.is_null() != then.is_null())).is_empty(), column
