import re
from importlib import resources

import pytest

from formlab.charts import theme


def tokens(theme_of):
    """The tokens of a page by name; of a dark page those that it has beside the light ones."""
    text = resources.files("formlab").joinpath("charts/assets/tokens.css").read_text("utf-8")
    light, dark = (dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6});", block)) for block in (
        text.partition("@media")[0], re.search(r'data-theme="dark"\] \{(.*?)\}', text, re.S)[1]
    ))  # fmt: skip
    return light | (dark if theme_of == "dark" else {})


def contrast(one, other):
    """The ratio of WCAG 2.2, from 1 to 21, of two colours in hexadecimal digits."""

    def luminance(colour):
        parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
        linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
        return sum(w * c for w, c in zip((0.2126, 0.7152, 0.0722), linear, strict=True))

    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("page", ["light", "dark"])
def test_marks_and_texts_stand_out_from_their_page(page):
    colours = tokens(page)
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    tables = (theme.OUTCOME_COLOURS, theme.STATUS_COLOURS, theme.STAGE_COLOURS, theme.EDIT_COLOURS)
    marks = {*theme.SYSTEM_COLOURS, theme.NEUTRAL, theme.SOFT, theme.GOLD, theme.PREDICTED}
    marks |= {colour for table in tables for colour in table.values()}
    for mark in marks:
        shown = colours[f"dark-{mark[1:].lower()}"] if page == "dark" else mark
        for ground in ("paper", "raised"):
            assert contrast(shown, colours[ground]) >= 3, mark
    for ground in ("paper", "raised", "sunk"):
        for text in ("ink", "soft", "accent"):
            assert contrast(colours[text], colours[ground]) >= 4.5, text
    for text, ground in (("del", "del-bg"), ("ins", "ins-bg"), ("warn", "warn-bg")):
        assert contrast(colours[text], colours[ground]) >= 4.5, text
    # What stands in a chart as text has the soft colour.
    soft = colours["dark-57606a"] if page == "dark" else theme.SOFT
    assert contrast(soft, colours["paper"]) >= 4.5
