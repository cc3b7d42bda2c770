"""Selections of cases as text."""

import polars as pl
import pytest

from formlab import selection
from formlab.errors import DataBroken

ODD = ["a:b", "a&b=c", "50 %", "#", "ü–½", "", "null", " ", "slice", "\u2028", "a/b"]


@pytest.mark.parametrize("name", [*filter(None, ODD), *selection.NAMED])
def test_what_is_written_is_read_again(name):
    chosen = {name: [*ODD, None], "kind": ["answer"]}
    assert selection.read(selection.text(chosen)) == chosen


def test_rows_of_several_columns_select_what_fits_them_all():
    row = {"slice_by": [["kind", "length"]], "slice_value": [["answer", "1–4"]]}
    assert selection.of_rows(pl.DataFrame(row)) == ["slice=kind:answer&slice=length:1%E2%80%934"]


@pytest.mark.parametrize("line", ["kind", "colour=red", "slice=", "=x"])
def test_what_selects_nothing_is_told_apart(line):
    with pytest.raises(DataBroken, match="selects no cases"):
        selection.read(line)
