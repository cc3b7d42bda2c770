import polars as pl

from formlab.scoring.bands import sliced

NONE = pl.DataFrame()


def test_band_begins_at_its_lower_edge():
    cases = pl.DataFrame({"gold": ["", "a", "abcd", "abcde", "x" * 80]})
    assert sliced(cases, NONE, "length").to_list() == ["empty", "1–4", "1–4", "5–9", "80 and more"]


def test_number_that_is_not_known_has_no_band():
    cases = pl.DataFrame({"confidence": [0.59, 0.6, None, float("nan")]})
    assert sliced(cases, NONE, "certainty").to_list() == ["under 0.6", "0.6–0.8", None, None]
