"""The one look: colours by meaning, the altair theme, and how charts are shown.

A name keeps its colour and its marker shape in every chart, chip and legend.
"""

import itertools
import json
import os
from collections.abc import Iterable
from typing import Any

import altair as alt
import plotly.io as pio

from formlab.charts.escaping import specification
from formlab.charts.html import ASSETS
from formlab.scoring.causes import STAGE_OF

REPORT_VARIABLE = "FORMLAB_REPORT"
# The type that JupyterLab draws; that of altair's own renderer is none that notebooks take.
VEGA_LITE = "application/vnd.vegalite.v5+json"
# Okabe and Ito's colours, told apart by people who do not see red or green; the light ones darker,
# for a contrast of 3 to 1 on paper. On a dark page each has a variant, in assets/tokens.css.
COLOURS = json.loads((ASSETS / "colours.json").read_text("utf-8"))
# With its colour, a shape is no other's of 36.
SYSTEM_COLOURS, SYSTEM_SHAPES = COLOURS.pop("system"), COLOURS.pop("shape")
# What became of a value, of an answer or a page, and of the nodes of a form's tree.
OUTCOME_COLOURS, STATUS_COLOURS, EDIT_COLOURS = map(COLOURS.get, ("outcome", "status", "edit"))
# Causes of one stage share its colour.
STAGE_COLOURS = COLOURS["stage"]
COLOURS["cause"] = {cause: STAGE_COLOURS[stage] for cause, stage in STAGE_OF.items()}
GOLD = SYSTEM_COLOURS[0]
NEUTRAL, SOFT, SLATE = "#848C96", "#57606A", "#555B66"
SCORES = "cividis"

# Fonts, lines and sizes, as Vega-Lite's config has them.
CONFIG = json.loads((ASSETS / "theme.json").read_text("utf-8"))
CONFIG["range"] |= {"category": SYSTEM_COLOURS, "symbol": SYSTEM_SHAPES}
FONT, WIDTH = CONFIG["font"], CONFIG["view"]["continuousWidth"]


def in_report() -> bool:
    """Whether this process runs a notebook for a report, where outputs carry data only."""
    return os.environ.get(REPORT_VARIABLE) == "1"


def system_colours(systems: Iterable[str]) -> dict[str, str]:
    """A colour for each system, in their order; the seventh starts the palette anew.

    >>> system_colours(["ocr", "chat"])
    {'ocr': '#0072B2', 'chat': '#D55E00'}
    """
    return dict(zip(dict.fromkeys(systems), itertools.cycle(SYSTEM_COLOURS), strict=False))


def enable() -> None:
    """Register formlab's theme, and show charts live and offline; in a report as data alone.

    In a report run (FORMLAB_REPORT=1) altair emits its specification, which `formlab.reports`
    draws. A plotly figure may carry ``layout.meta = {"alt": …, "fallback": figure}``: the text for
    readers who cannot see it, and a flat figure for browsers without WebGL.
    """
    alt.theme.register("formlab", enable=True)(lambda: {"config": CONFIG})
    pio.renderers.default = "plotly_mimetype"
    alt.renderers.enable("jupyter", offline=True)
    live, is_report = alt.renderers.get(), in_report()

    def shown(spec: dict[str, Any], **_: object) -> Any:
        text = str(spec.get("description") or "chart")
        return {VEGA_LITE: spec, "text/plain": text} if is_report else live(specification(spec))

    alt.renderers.register("formlab", shown)
    alt.renderers.enable("formlab")
