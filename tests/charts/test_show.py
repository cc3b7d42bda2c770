import json
import math

import polars as pl
import pytest

from formlab.charts import Caption, Card, Cards, Sources, Table
from formlab.charts._output import number

PLAIN = "<script>alert(1)</script>\x00"
# polars holds no lone surrogate, a label can.
EVIL = PLAIN + "\ud800"


def payload(shown, kind):
    return shown._repr_mimebundle_()[f"application/vnd.formlab.{kind}+json"]


@pytest.fixture
def frame():
    return pl.DataFrame(
        {"system": ["a", None, PLAIN], "value": [0.25, math.nan, 0.75], "n": [1, None, 12345]}
    )


def test_numbers_stand_right_with_their_decimals_and_what_is_missing_is_a_dash(frame):
    shown = Table(frame, titles={"n": "Cases"}, digits={"value": 1})
    columns = payload(shown, "table")["columns"]
    assert [(c["title"], c["align"], c["digits"]) for c in columns] == [
        ("system", "left", None), ("value", "right", 1), ("Cases", "right", 0),
    ]  # fmt: skip
    assert "12,345" in str(shown)
    assert str(shown).splitlines()[2].split() == ["–", "–", "–"]
    assert payload(shown, "table")["rows"][1] == [None, None, None]
    assert [number(v) for v in (math.inf, -math.inf, -2.0)] == ["∞", "−∞", "−2.000"]
    for empty in (pl.DataFrame({"a": []}), pl.DataFrame({"a": [None]}), pl.DataFrame()):
        payload(Table(empty), "table")


@pytest.mark.parametrize(
    "shown",
    [
        Table(pl.DataFrame({PLAIN: [PLAIN]}), note=EVIL), Cards([Card(EVIL, EVIL, EVIL)], EVIL),
        Caption(EVIL, settings=EVIL), Sources({EVIL: EVIL}),
    ],
)  # fmt: skip
def test_hostile_text_is_escaped_in_lab_and_no_html_in_reports(shown, monkeypatch):
    monkeypatch.delenv("FORMLAB_REPORT", raising=False)
    bundle = shown._repr_mimebundle_()
    assert "<script" not in bundle["text/html"]
    assert "&lt;script" in bundle["text/html"]
    json.dumps(bundle, ensure_ascii=False).encode("utf-8")
    monkeypatch.setenv("FORMLAB_REPORT", "1")
    assert "text/html" not in shown._repr_mimebundle_()
