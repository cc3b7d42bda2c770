"""Scores as dots with their intervals, the strictness ladder, and counts of causes."""

from __future__ import annotations

import altair as alt
import polars as pl

from formlab import metrics, tables
from formlab.charts import theme
from formlab.charts._output import known
from formlab.charts.show import Caption, Table
from formlab.scoring.causes import CAUSES, STAGE_OF, STAGES, WHAT_TO_TRY
from formlab.tables import LADDER


def slice_dots(summary: pl.DataFrame, *, metric: str, by: str) -> alt.LayerChart | Caption:
    """One dot and interval per slice of `by`, in the summary's own order, a colour per system.

    Parameters
    ----------
    summary
        As from `formlab.summarise`.
    metric, by
        Which metric, over which sliced column.

    Returns
    -------
    altair.LayerChart
        Or a note, where the summary has no such rows.
    """
    shown = _sliced(summary, by).filter(pl.col("metric") == metric)
    if not shown.height:
        return _nothing(metric, by)
    labels = shown["label"].unique(maintain_order=True).to_list()
    base = alt.Chart(known(shown))
    axis_title = metrics.title(metric)
    low = min(0.0, shown["ci_low"].min() or 0.0)
    high = max(_ceiling(metric, shown), low + 1e-9)
    x = alt.X("value:Q", title=axis_title).scale(domain=[low, high], clamp=True)
    y = alt.Y("label:N", title=None, sort=labels).axis(labelLimit=220)
    systems = sorted(shown["system"].unique())
    # One system needs no legend: the counts of fields stand there instead.
    key = None if len(systems) == 1 else alt.Legend(title="system")
    colour = alt.Color("system:N", legend=key).scale(theme.scale(theme.system_colours(systems)))
    shape = alt.Shape("system:N", legend=key).scale(theme.scale(theme.system_shapes(systems)))
    tip = [
        alt.Tooltip("label:N", title=by), alt.Tooltip("system:N"),
        alt.Tooltip("value:Q", format=".3f", title=metric),
        alt.Tooltip("ci_low:Q", format=".3f"), alt.Tooltip("ci_high:Q", format=".3f"),
        alt.Tooltip("n_docs:Q", title="documents"), alt.Tooltip("n_cases:Q", title="fields"),
    ]  # fmt: skip
    offset = alt.YOffset("system:N") if len(systems) > 1 else alt.Undefined
    dots = base.mark_point(opacity=1).encode(x, y, colour, shape, yOffset=offset, tooltip=tip)
    spans = base.mark_rule(strokeWidth=2).encode(
        alt.X("ci_low:Q", title=axis_title), alt.X2("ci_high:Q"), y, colour, yOffset=offset
    )
    layers = [spans, dots] if len(systems) > 1 else [spans, dots, _counts(base, y)]
    text = f"{axis_title} by {by}: " + "; ".join(
        f"{label} {value:.3f}" for label, value in shown.select("label", "value").rows()
    )
    return alt.layer(*layers).properties(height=alt.Step(26 * len(systems)), description=text)


def _counts(base: alt.Chart, y: alt.Y) -> alt.Chart:
    label = base.transform_calculate(n="'n = ' + format(datum.n_cases - datum.n_undefined, ',')")
    label = label.mark_text(align="left", dx=8, fontSize=11, color=theme.NEUTRAL)
    return label.encode(x=alt.value("width"), y=y, text="n:N")


def ladder_lines(summary: pl.DataFrame, *, by: str) -> alt.LayerChart | Caption:
    """Accuracy on each rung of the strictness ladder, a line per slice of `by`.

    Lines that cross mean that the ranking depends on how strictly one judges.
    """
    names = {f"{rung}_accuracy": rung for rung in LADDER}
    shown = _sliced(summary, by).filter(pl.col("metric").is_in(list(names)))
    if not shown.height:
        return _nothing("ladder", by)
    shown = shown.with_columns(pl.col("metric").replace(names).alias("rung"))
    labels = shown["label"].unique(maintain_order=True).to_list()
    colours = theme.scale(theme.system_colours(labels))
    base = alt.Chart(shown).encode(
        alt.X("rung:N", title="strictness, from strict to lenient", sort=list(LADDER)),
        alt.Y("value:Q", title="share of fields").axis(format="%").scale(domain=[0, 1]),
        alt.Color("label:N", title=by, sort=labels).scale(colours),
        tooltip=[
            alt.Tooltip("label:N", title=by), alt.Tooltip("rung:N"),
            alt.Tooltip("value:Q", format=".1%"), alt.Tooltip("ci_low:Q", format=".1%"),
            alt.Tooltip("ci_high:Q", format=".1%"), alt.Tooltip("n_cases:Q", title="fields"),
        ],
    )  # fmt: skip
    shape = alt.Shape("label:N", title=by, sort=labels).scale(
        theme.scale(theme.system_shapes(labels))
    )
    spans = base.mark_rule(opacity=0.6).encode(
        alt.Y("ci_low:Q", title="share of fields"), alt.Y2("ci_high:Q")
    )
    chart = spans + base.mark_line() + base.mark_point(opacity=1).encode(shape)
    return chart.properties(
        width=theme.WIDTH - 160,
        height=240,
        description=f"Accuracy on the rungs of the ladder by {by}",
    )


def cause_bars(cases: pl.DataFrame, *, by: str = "kind") -> alt.Chart | Caption:
    """How many cases each cause has, stage after stage and in each the most frequent on top.

    A bar has the colour of its stage and a piece for each value of `by`, named with what to try
    where the pointer rests.
    """
    counts = _counted(cases, "cause", by)
    if not counts.height:
        return _nothing("causes", by)
    order = _counted(cases, "cause")["cause"].to_list()
    stages = [stage for stage in STAGES if stage in set(counts["stage"])]
    return (
        alt.Chart(counts)
        .mark_bar(stroke="white", strokeWidth=0.7)
        .encode(
            alt.X("cases:Q", title="fields").axis(tickMinStep=1),
            alt.Y("cause:N", title=None, sort=order),
            alt.Color("stage:N", title="stage", sort=stages).scale(
                theme.scale({stage: theme.STAGE_COLOURS[stage] for stage in stages})
            ),
            alt.Detail(f"{by}:N"),
            tooltip=[
                alt.Tooltip("cause:N"), alt.Tooltip("stage:N"), alt.Tooltip(f"{by}:N"),
                alt.Tooltip("cases:Q", title="fields"), alt.Tooltip("try:N", title="what to try"),
            ],
        )
        .properties(height=alt.Step(22), description=f"Fields by cause of error and {by}")
    )  # fmt: skip


def cause_table(cases: pl.DataFrame) -> Table | Caption:
    """Each cause with its stage, its fields, their share of all that have one, and what to try.

    Examples
    --------
    >>> from formlab import tables
    >>> rows = [{"cause": "digit", "path": f"/{n}", "task": "text"} for n in range(3)]
    >>> cases = tables.table("cases", [*rows, rows[0] | {"cause": "case"}])
    >>> cause_table(cases).frame.select("stage", "cause", "cases", "share").rows()
    [('characters', 'digit', 3, 0.75), ('form', 'case', 1, 0.25)]
    """
    counts = _counted(cases, "cause")
    if not counts.height:
        return _nothing("causes", "stage")
    shares = counts.with_columns((pl.col("cases") / pl.col("cases").sum()).alias("share"))
    columns = ("stage", "cause", "cases", "share", "try")
    titles = {"cases": "fields", "try": "what to try"}
    return Table(shares.select(columns), titles=titles)


def _counted(cases: pl.DataFrame, *by: str) -> pl.DataFrame:
    """Cases by cause and the like, in the order of the stages, with `stage` and `try`."""
    wrong = cases.filter(
        pl.col("cause").is_not_null(), pl.col("path").is_not_null(), pl.col("task") != "layout"
    )
    place, stage = ({name: n for n, name in enumerate(names)} for names in (CAUSES, STAGES))
    # A table made elsewhere may have causes of its own.
    cause = pl.col("cause")
    counts = wrong.group_by(by).agg(pl.len().cast(pl.Int64).alias("cases")).with_columns(
        cause.replace_strict(STAGE_OF, default=None, return_dtype=pl.String).alias("stage"),
        cause.replace_strict(WHAT_TO_TRY, default=None, return_dtype=pl.String).alias("try"),
        cause.replace_strict(place, default=len(place), return_dtype=pl.Int64).alias("place"),
    )  # fmt: skip
    first = pl.col("stage").replace_strict(stage, default=len(stage), return_dtype=pl.Int64)
    counts = counts.sort(first, -pl.col("cases"), "place", cause, *by[1:])
    return counts.drop("place").with_columns(cause.str.replace_all("_", " "))


def _nothing(what: str, by: str) -> Caption:
    return Caption(f"Nothing to show: no field was scored for {what} by {by}.", label="Note")


def _sliced(summary: pl.DataFrame, by: str) -> pl.DataFrame:
    head = f"{by}="
    rows = tables.readable(summary).filter(pl.col("slice").str.starts_with(head))
    return rows.with_columns(pl.col("slice").str.strip_prefix(head).alias("label"))


def _ceiling(metric: str, shown: pl.DataFrame) -> float:
    """The end of the axis: the metric's own, unless all values are far below it."""
    top = max(v for v in (*shown["value"], *shown["ci_high"], 0.0) if v == v)
    own = metrics.get(metrics.plain(metric)).high
    return own if own is not None and top > own / 2 else top * 1.1
