import altair as alt
import numpy as np
import plotly.graph_objects as go
import plotly.io as pio
import polars as pl
import pytest

from formlab import tables
from formlab.charts import theme


@pytest.fixture
def report(monkeypatch):
    monkeypatch.setenv("FORMLAB_REPORT", "1")
    theme.enable()
    yield
    monkeypatch.undo()
    theme.enable()


@pytest.fixture
def chart():
    frame = pl.DataFrame({"a": [1.0, None], "b": ["x", "y"]})
    return alt.Chart(frame, title=["Two", "lines"]).mark_point().encode(x="a", y="b")


@pytest.mark.usefixtures("report")
def test_charts_in_a_report_are_data_and_plain_text(chart):
    bundle = chart._repr_mimebundle_()
    assert set(bundle) == {"application/vnd.formlab.vega+json", "text/plain"}
    assert bundle["application/vnd.formlab.vega+json"]["alt"] == "Two lines"
    flat = {"data": [{"type": "heatmap", "z": [[1]]}], "layout": {}}
    for layout, alt_text in (
        ({"title": {"text": "S"}}, "S"), ({"meta": {"alt": "words", "fallback": flat}}, "words"),
    ):  # fmt: skip
        bundle = go.Figure(go.Surface(z=np.zeros((2, 2), "float32")), layout)._repr_mimebundle_()
        assert set(bundle) == {"application/vnd.formlab.plotly+json", "text/plain"}
        payload = bundle["application/vnd.formlab.plotly+json"]
        assert payload["alt"] == alt_text
        assert "template" not in payload["figure"]["layout"]
    assert payload["fallback"] == flat
    assert payload["figure"]["layout"]["meta"] == {"alt": "words"}


def test_charts_in_lab_are_live_offline_and_in_the_theme(monkeypatch, chart):
    monkeypatch.delenv("FORMLAB_REPORT", raising=False)
    theme.enable()
    bundle = chart._repr_mimebundle_()
    bundle = bundle[0] if isinstance(bundle, tuple) else bundle
    assert "application/vnd.jupyter.widget-view+json" in bundle
    assert alt.renderers.active == "jupyter"
    assert alt.renderers.options == {"offline": True}
    assert pio.renderers.default == "plotly_mimetype"
    config = chart.to_dict()["config"]
    assert config["range"]["category"][0] == theme.SYSTEM_COLOURS[0]
    assert config["background"] == "transparent"


def test_systems_keep_colour_and_shape_in_their_order():
    names = [f"s{i}" for i in range(8)]
    colours = theme.system_colours(names)
    assert len({colours[name] for name in names[:6]}) == 6
    assert colours["s6"] == colours["s0"]
    assert len(set(theme.system_shapes(names[:6]).values())) == 6
    assert set(theme.OUTCOME_COLOURS) == set(tables.OUTCOMES)
