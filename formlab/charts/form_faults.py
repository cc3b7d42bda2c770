"""Why forms are filled in wrongly: clicks and values, how far clicks miss, faults that spread."""

from __future__ import annotations

import altair as alt
import polars as pl

from formlab.analysis.bands import band, cut
from formlab.analysis.clicks import click_and_value, misses
from formlab.analysis.propagation import chains, fault_counts, propagation
from formlab.charts import theme
from formlab.charts._output import clean
from formlab.charts.show import Caption, Table
from formlab.errors import DataBroken
from formlab.tables import Evaluation

Figure = alt.LayerChart | alt.Chart | alt.VConcatChart | Table | Caption
# The four cells, from all right to all wrong, and what each means.
CELLS = {
    ("right", "right"): "both right",
    ("wrong", "right"): "click wrong, value right",
    ("right", "wrong"): "click right, value wrong",
    ("wrong", "wrong"): "both wrong",
}
_CELL_COLOURS = dict(zip(CELLS.values(), ("#009E73", "#56B4E9", "#E69F00", "#D55E00"), strict=True))
# Distances in pixels; a line of a form is some 40 pixels high.
EDGES = (5, 10, 20, 40, 80, 160, 320, 640)
_ON, _OFF = "hit a wrong element", "hit no element"
_FAULTS = {"first": "first fault", "after": "follows another"}


def click_value_figures(evaluation: Evaluation) -> list[Figure]:
    """Per type of field: click and value both right, one of them, or neither; with its caption."""
    try:
        table = click_and_value(evaluation)
    except DataBroken as error:
        return [_without(error)]
    every = table.filter(pl.col("kind") == "all")
    count = int(every["n_cases"].sum())
    if not count:
        return [Caption("No field with a known place was asked for.", label="Note")]
    shares = "; ".join(
        f"{_cell(click, value)} {share:.1%} ({cases:,})"
        for click, value, cases, share in every.select("click", "value", "n_cases", "share").rows()
    )
    say = "Fields by whether the click and whether the value is right, by type."
    return [Caption(f"{say} Of {count:,} fields: {shares}."), click_value_bars(table)]


def _without(error: DataBroken) -> Caption:
    return Caption(f"Nothing to show here: {clean(error.what, limit=300)}.", label="Note")


def _cell(click: str, value: str) -> str:
    return CELLS[click, value]


def click_value_bars(table: pl.DataFrame) -> alt.LayerChart:
    """A bar for each type of field, cut into the four cells of click and value.

    Parameters
    ----------
    table
        As from `formlab.analysis.click_and_value`.
    """
    names = [_cell(*pair) for pair in table.select("click", "value").rows()]
    order = list(CELLS.values())
    shown = table.with_columns(
        pl.Series("cell", names, dtype=pl.String),
        pl.Series("place", [order.index(name) for name in names], dtype=pl.Int64),
        pl.col("n_cases").sum().over("kind").alias("of"),
    ).filter(pl.col("of") > 0)
    kinds = shown["kind"].unique(maintain_order=True).sort().to_list()
    kinds = [*(["all"] if "all" in kinds else []), *(kind for kind in kinds if kind != "all")]
    base = alt.Chart(shown)
    y = alt.Y("kind:N", title=None, sort=kinds)
    colour = alt.Color("cell:N", title=None, sort=order).scale(theme.scale(_CELL_COLOURS))
    colour = colour.legend(orient="top", columns=2, labelLimit=240)
    tip = [
        alt.Tooltip("kind:N"), alt.Tooltip("cell:N"), alt.Tooltip("n_cases:Q", title="fields"),
        alt.Tooltip("share:Q", format=".1%"),
    ]  # fmt: skip
    x = alt.X("n_cases:Q", title="share of fields", stack="normalize").axis(format="%")
    bars = base.mark_bar().encode(x, y, colour, alt.Order("place:Q"), tooltip=tip)
    counts = base.transform_aggregate(n="sum(n_cases)", groupby=["kind"])
    counts = counts.transform_calculate(said="'n = ' + format(datum.n, ',')")
    counts = counts.mark_text(align="left", dx=8, fontSize=11, color=theme.NEUTRAL)
    counts = counts.encode(x=alt.value("width"), y=y, text="said:N")
    text = "Click and value by type of field: " + "; ".join(
        f"{kind}, {cell}: {cases}"
        for kind, cell, cases in shown.select("kind", "cell", "n_cases").rows()
    )
    width = theme.WIDTH - 160
    return alt.layer(bars, counts).properties(width=width, height=alt.Step(24), description=text)


def miss_figures(evaluation: Evaluation, *, rows: int = 12) -> list[Figure]:
    """How far off wrong clicks are, and which elements they hit or are next to; with captions."""
    try:
        table = misses(evaluation)
    except DataBroken as error:
        return [_without(error)]
    if not table.height:
        return [Caption("No click missed: there are no distances to show.", label="Note")]
    far = table["distance"].drop_nulls()
    parts = [f"{table.height:,} clicks missed in {table['doc_id'].n_unique():,} forms"]
    if far.len():
        parts.append(
            f"of the {far.len():,} whose right place is on that screen, half by "
            f"{far.median():.0f} pixels or less"
        )
    parts.append(f"{(table['near_distance'] == 0).sum():,} hit a wrong element")
    text = (
        f"How far wrong clicks are from the nearest place that would be right: {'; '.join(parts)}."
    )
    say = "Which field a wrong click was meant for, and the field it hit or is next to."
    shown: list[Figure] = [Caption(text)]
    shown.append(miss_bars(table) if far.len() else Caption("None has a place to miss.", "Note"))
    return [*shown, Caption(say, label="Table"), nearest_table(table, rows=rows)]


def miss_bars(table: pl.DataFrame) -> alt.Chart:
    """Wrong clicks by their distance in pixels, in bands that double, and by what they hit.

    Parameters
    ----------
    table
        As from `formlab.analysis.misses`.
    """
    known = table.filter(pl.col("distance").is_not_null())
    bands = band("", pl.col("distance"), EDGES, whole=False)
    labels = list(bands.labels)
    known = known.with_columns(cut(known, bands).cast(pl.String).alias("band"))
    hit = pl.when(pl.col("near_distance") == 0).then(pl.lit(_ON)).otherwise(pl.lit(_OFF))
    shown = known.group_by("band", hit.alias("on")).len("clicks").sort("band", "on")
    text = "Wrong clicks by distance in pixels: " + "; ".join(
        f"{at}, {on}: {count}" for at, on, count in shown.select("band", "on", "clicks").rows()
    )
    colours = theme.scale({_ON: theme.PREDICTED, _OFF: theme.NEUTRAL})
    return (
        alt.Chart(shown)
        .mark_bar()
        .encode(
            alt.X("clicks:Q", title="wrong clicks").axis(tickMinStep=1),
            alt.Y("band:N", title="distance, pixels", sort=labels).scale(domain=labels),
            alt.Color("on:N", title=None, sort=[_ON, _OFF]).scale(colours),
            tooltip=[alt.Tooltip("band:N"), alt.Tooltip("on:N"), alt.Tooltip("clicks:Q")],
        )
        .properties(width=theme.WIDTH - 220, height=alt.Step(20), description=text)
    )


def nearest_table(table: pl.DataFrame, *, rows: int = 12) -> Table:
    """Which field wrong clicks were meant for, and where they came down, most often first."""
    hit = pl.col("near_distance") == 0
    counts = table.group_by(
        pl.col("template").alias("form"),
        pl.col("path").fill_null("none").alias("meant for"),
        pl.col("near").fill_null("nothing").alias("hit or next to"),
    ).agg(
        pl.len().cast(pl.Int64).alias("clicks"), hit.sum().cast(pl.Int64).alias("of them hits"),
        pl.col("distance").median().alias("median distance"),
    )  # fmt: skip
    counts = counts.sort(
        "clicks", "form", "meant for", "hit or next to", descending=[True, False, False, False]
    )
    note = "Distance to the right place in pixels; – : no such place on that screen."
    return Table(counts, rows=rows, digits=1, note=note)


def fault_figures(evaluation: Evaluation) -> list[Figure]:
    """First faults and those that follow them, and how long such chains are; with captions."""
    try:
        faults = propagation(evaluation)
    except DataBroken as error:
        return [_without(error)]
    if not faults.height:
        return [Caption("Every field ended right: no fault to follow.", label="Note")]
    first = int(faults["first"].sum())
    longest = faults["chain"].max()
    text = (
        f"Fields that ended wrong, by fault. First faults: {first:,}; faults that follow another: "
        f"{faults.height - first:,}; forms with any: {faults['doc_id'].n_unique():,}; wrong fields "
        f"in the longest chain: {longest}."
    )
    say = "How many wrong fields go back to one first fault."
    return [
        Caption(text), fault_bars(fault_counts(faults)),
        Caption(say, label="Table"),
        Table(chains(faults), titles={"chain": "wrong fields", "n": "first faults"}),
    ]  # fmt: skip


def fault_bars(counts: pl.DataFrame) -> alt.Chart:
    """How often each fault comes first, and how often it follows another.

    Parameters
    ----------
    counts
        As from `formlab.analysis.fault_counts`.
    """
    order = counts["fault"].to_list()
    shown = counts.unpivot(["n_first", "n_after"], index="fault", value_name="fields").with_columns(
        pl.col("variable").str.strip_prefix("n_").replace(_FAULTS).alias("role"),
        pl.col("fault").str.replace_all("_", " "),
    )
    names = [fault.replace("_", " ") for fault in order]
    roles = list(_FAULTS.values())
    text = "Faults: " + "; ".join(
        f"{fault}, {role}: {count}"
        for fault, role, count in shown.select("fault", "role", "fields").rows()
    )
    colours = theme.scale(dict(zip(roles, (theme.PREDICTED, "#E6B58A"), strict=True)))
    return (
        alt.Chart(shown)
        .mark_bar()
        .encode(
            alt.X("fields:Q", title="fields").axis(tickMinStep=1),
            alt.Y("fault:N", title=None, sort=names),
            alt.Color("role:N", title=None, sort=roles).scale(colours),
            tooltip=[alt.Tooltip("fault:N"), alt.Tooltip("role:N"), alt.Tooltip("fields:Q")],
        )
        .properties(width=theme.WIDTH - 160, height=alt.Step(24), description=text)
    )
