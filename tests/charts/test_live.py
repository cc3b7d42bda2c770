"""Charts in a live kernel, outside of a report run."""

import altair as alt
import polars as pl

from formlab.charts import theme


def test_altair_chart_is_a_live_widget_that_needs_no_network(monkeypatch):
    monkeypatch.delenv(theme.REPORT_VARIABLE, raising=False)
    theme.enable()
    chart = alt.Chart(pl.DataFrame({"a": [1]})).mark_point().encode(x="a")
    bundle = chart._repr_mimebundle_()
    bundle = bundle[0] if isinstance(bundle, tuple) else bundle
    assert "application/vnd.jupyter.widget-view+json" in bundle
    assert alt.renderers.options["offline"] is True
