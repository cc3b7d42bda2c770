"""Figures of text reading that say so in one line where there is nothing to draw."""

from __future__ import annotations

import altair as alt
import polars as pl

from formlab import tables
from formlab.analysis.worst import wrong_fields
from formlab.charts.scores import slice_dots
from formlab.charts.show import Caption
from formlab.charts.words import caption

_UNKNOWN = ("none", "null")


def slice_figure(
    summary: pl.DataFrame, *, metric: str, by: str, say: str
) -> list[Caption | alt.LayerChart]:
    """`slice_dots` under its caption; one line where no value of `by` is known.

    Parameters
    ----------
    summary, metric, by
        As for `slice_dots`.
    say
        What the figure shows.
    """
    head, summary = f"{by}=", tables.readable(summary)
    rows = summary.filter(pl.col("metric") == metric, pl.col("slice").str.starts_with(head))
    known = rows.filter(
        ~pl.col("slice").str.strip_prefix(head).is_in(_UNKNOWN), pl.col("value").is_not_nan()
    )
    name = by.replace("_", " ")
    if not known.height:
        return [Caption(f"No field with a known {name} was scored.", label="Note")]
    # A value that no field has says nothing beside those that some have.
    drawn = pl.concat([summary.filter(~pl.col("slice").str.starts_with(head)), known])
    return [caption(summary, metric=metric, say=say), slice_dots(drawn, metric=metric, by=by)]


def worst_caption(
    cases: pl.DataFrame, shown: pl.DataFrame, *, say: str = "", what: str = "fields"
) -> Caption:
    """How many of the wrong fields a gallery shows, by cause.

    Parameters
    ----------
    cases
        What `shown` was chosen from by `formlab.analysis.worst`.
    shown
        The cases in the gallery.
    say
        What else is to be seen there.
    what
        What the cases are.
    """
    wrong = wrong_fields(cases)
    if not wrong.height:
        return Caption(f"None of the {what} is wrong.", label="Note")
    counts = wrong["cause"].value_counts().sort("count", "cause", descending=[True, False])
    held = dict(shown["cause"].value_counts().iter_rows())
    said = "; ".join(
        f"{(cause or 'no cause named').replace('_', ' ')} {held.get(cause, 0)} of {count:,}"
        for cause, count in counts.iter_rows()
    )
    stray = (wrong["outcome"] == "match").any()
    found = f"{what} that are wrong or out of order" if stray else f"wrong {what}"
    text = (
        f"{say} A sample of {shown.height:,} of {wrong.height:,} {found}, each cause in "
        f"proportion and of each the least similar: {said}."
    )
    return Caption(text.strip())
