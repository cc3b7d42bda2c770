import json

import polars as pl
import pytest

from formlab.charts import Caption, Card, Cards, Sources, Table

PLAIN = "<script>alert(1)</script>\x00"
# polars holds no lone surrogate, a label can.
EVIL = PLAIN + "\ud800"


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
