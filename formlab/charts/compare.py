"""Two or more systems beside each other: differences, and what the corpus could show."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt
import polars as pl

from formlab import metrics, tables
from formlab.analysis.finding import ALPHA, p_text
from formlab.analysis.paired import adjusted_p
from formlab.charts import theme
from formlab.charts._output import number
from formlab.charts.show import Caption, Table
from formlab.tables import USABLE, Evaluation

WHOLE = ("all", "fields")
# From so many documents on a percentile interval is about as wide as it should be.
FEW = 20
_SURE, _UNSURE = "a difference was shown", "none was shown"


def difference_dots(
    comparison: pl.DataFrame, *, metric: str, by: str = ""
) -> alt.LayerChart | Caption:
    """One dot and interval per slice: by how much the second system differs from the first.

    Dots of one pair have the colour of the system that does better where the paired test, adjusted
    over the slices, and the interval both say so whatever the reading rule, and no colour
    elsewhere; of several, each pair has its own. They are hollow where that is not so.

    Parameters
    ----------
    comparison
        As from `formlab.compare`.
    metric
        Which metric.
    by
        The sliced column; the whole if left out.
    """
    shown = _shown(comparison, metric, by)
    if not shown.height:
        return Caption(f"Nothing to show: no field was scored by {metric} for both.", label="Note")
    pairs = shown["pair"].unique(maintain_order=True).to_list()
    one = len(pairs) == 1
    field, palette = ("better", _by_system(shown)) if one else ("pair", theme.system_colours(pairs))
    axis = f"difference in {metrics.title(metric)}"
    labels = shown["label"].unique(maintain_order=True).to_list()
    y = alt.Y("label:N", title=None, sort=labels).axis(labelLimit=220)
    offset = alt.Undefined if one else alt.YOffset("pair:N", sort=pairs)
    head = "does better" if one else "first → second"
    scale = theme.scale(palette)
    stroke = alt.Stroke(f"{field}:N", title=head, legend=alt.Legend(orient="top")).scale(scale)
    fill = alt.Fill(f"{field}:N", legend=None).scale(scale)
    sure = alt.FillOpacity("sure:N", title=None, legend=alt.Legend(orient="top"))
    sure = sure.scale(domain=[_SURE, _UNSURE], range=[1, 0])
    base = alt.Chart(shown)
    spans = base.mark_rule(strokeWidth=2).encode(
        alt.X("ci_low:Q", title=axis), alt.X2("ci_high:Q"), y, stroke, yOffset=offset
    )
    x = alt.X("difference:Q", title=axis).scale(domain=_range(shown))
    dots = base.mark_point(opacity=1, strokeWidth=2).encode(
        x, y, stroke, fill, sure, yOffset=offset, tooltip=_tip()
    )
    zero = alt.Chart(pl.DataFrame({"zero": [0.0]})).mark_rule(strokeDash=[4, 3])
    layers = [zero.encode(alt.X("zero:Q", title=axis)), spans, dots]
    said = "; ".join(f"{n} {signed(v)}" for n, v in shown.select("label", "difference").rows())
    text = f"Difference in {metrics.title(metric)}, {', '.join(pairs)}: {said}"
    chart = alt.layer(*layers, *([_counts(base, y)] if one else []))
    return chart.properties(height=alt.Step(26 * len(pairs)), description=text)


def _shown(comparison: pl.DataFrame, metric: str, by: str) -> pl.DataFrame:
    comparison = tables.readable(comparison)
    parts = pl.col("slice_by").is_null()
    parts = parts | pl.col("slice").str.starts_with(f"{by}=") if by else parts
    shown = comparison.filter(parts, pl.col("metric") == metric, pl.col("difference").is_not_nan())
    names = {"all": "whole documents", "fields": "all fields"}
    return shown.with_columns(
        pl.col("slice").str.strip_prefix(f"{by}=").replace(names).alias("label"),
        pl.format("{} → {}", "system_a", "system_b").alias("pair"),
        pl.col("better").fill_null(_UNSURE),
        pl.when(pl.col("better").is_null()).then(pl.lit(_UNSURE)).otherwise(pl.lit(_SURE))
        .alias("sure"),
    )  # fmt: skip


def _by_system(shown: pl.DataFrame) -> dict[str, str]:
    colours = theme.system_colours(shown.select("system_a", "system_b").row(0))
    colours[_UNSURE] = theme.NEUTRAL
    return {name: colours[name] for name in colours if name in shown["better"].to_list()}


def _tip() -> list[alt.Tooltip]:
    return [
        alt.Tooltip("label:N", title="slice"), alt.Tooltip("pair:N"),
        alt.Tooltip("better:N", title="shown to do better"), alt.Tooltip("value_a:Q", format=".3f"),
        alt.Tooltip("value_b:Q", format=".3f"), alt.Tooltip("difference:Q", format="+.3f"),
        alt.Tooltip("ci_low:Q", format="+.3f"),
        alt.Tooltip("ci_high:Q", format="+.3f"), alt.Tooltip("p:Q", format=".3g"),
        alt.Tooltip("p_holm:Q", format=".3g"), alt.Tooltip("n_docs:Q", title="documents"),
        alt.Tooltip("n_cases:Q", title="cases"),
    ]  # fmt: skip


def _range(shown: pl.DataFrame) -> list[float]:
    ends = [v for name in ("difference", "ci_low", "ci_high") for v in shown[name] if v == v]
    low, high = min(0.0, *ends), max(0.0, *ends)
    room = 0.05 * (high - low) or 0.01
    return [low - room, high + room]


def _counts(base: alt.Chart, y: alt.Y) -> alt.Chart:
    label = base.transform_calculate(n="'n = ' + format(datum.n_cases, ',')")
    label = label.mark_text(align="left", dx=8, fontSize=11, color=theme.NEUTRAL)
    return label.encode(x=alt.value("width"), y=y, text="n:N")


# Shares, and error rates, which are 1 where as much is wrong as there is to read.
_RATES = [name for name, e in metrics.METRICS.items() if e.high == 1.0 or name in ("cer", "wer")]


def _whole(comparison: pl.DataFrame, part: str) -> str:
    """`part`, or where nothing was scored for it and it is a whole, the other whole."""
    have = set(tables.readable(comparison)["slice"])
    wholes = ("all", "fields")
    others = [name for name in wholes if name in have]
    return others[0] if part in wholes and part not in have and others else part


def power_dots(comparison: pl.DataFrame, *, part: str = "fields") -> alt.LayerChart | Caption:
    """The size of each metric's difference, and as a tick the least that this corpus would find.

    The tick says what an experiment of this size can show; it is no second test of the dot. Each
    is in its metric's own unit: shares, and errors per character or word. Metrics in other units
    (pixels, edits a form) are left out. Where nothing was scored for `part`, whole documents are
    shown.
    """
    known = pl.col("metric").is_in([*_RATES, *filter(None, map(metrics.mean_of, _RATES))])
    rows = tables.readable(comparison).filter(pl.col("slice") == _whole(comparison, part), known)
    numbers = pl.all_horizontal(pl.col("least_difference", "difference").is_not_nan())
    shown = rows.filter(numbers)
    if not shown.height:
        said = "no share or error rate was scored for both systems"
        if rows.height:
            said = f"n = {rows['n_docs'].max() or 0:,} documents give no interval"
        return Caption(f"Nothing to show: {said}.", label="Note")
    titles = {name: metrics.title(name) for name in shown["metric"].unique()}
    label = pl.col("metric").replace_strict(titles)
    several = shown.select("system_a", "system_b").n_unique() > 1
    label = pl.format("{} | {}: {}", "system_a", "system_b", label) if several else label
    shown = shown.with_columns(label.alias("label"), pl.col("difference").abs().alias("size"))
    y = alt.Y("label:N", title=None, sort=shown["label"].to_list()).axis(labelLimit=300)
    axis = "size of the difference, each metric in its own unit; the tick is what would be found"
    x = alt.X("size:Q", title=axis).scale(domainMin=0)
    base = alt.Chart(shown).encode(
        y, tooltip=[
            alt.Tooltip("label:N", title="metric"), alt.Tooltip("difference:Q", format="+.3f"),
            alt.Tooltip("least_difference:Q", title="least found", format=".3f"),
            alt.Tooltip("n_docs:Q", title="documents"),
        ],
    )  # fmt: skip
    ticks = base.mark_tick(thickness=3, size=16, color=theme.SYSTEM_COLOURS[1])
    ticks = ticks.encode(alt.X("least_difference:Q", title=axis))
    dots = base.mark_point(opacity=1, color=theme.SYSTEM_COLOURS[0]).encode(x)
    said = "; ".join(
        f"{name} {size:.3f} of {least:.3f}"
        for name, size, least in shown.select("label", "size", "least_difference").rows()
    )
    text = f"Size of the difference and the least difference that would be found: {said}"
    return alt.layer(ticks, dots).properties(
        width=theme.WIDTH - 120, height=alt.Step(24), description=text
    )


def systems_table(evaluations: Sequence[Evaluation]) -> Table:
    """What each system is: its settings, its documents, and how many fields it was scored on."""
    rows = []
    for one in evaluations:
        fields = one.cases.filter(
            pl.col("path").is_not_null(), pl.col("gold").is_not_null(), pl.col("task") != "layout"
        )
        settings = one.settings.get("system") or {}
        rows.append({
            "system": one.system,
            "settings": ", ".join(f"{name} {value}" for name, value in settings.items()),
            "documents": one.documents.height,
            "fields": fields.height,
            "unanswered": fields.filter(~pl.col("status").is_in(USABLE)).height,
        })  # fmt: skip
    return Table(pl.DataFrame(rows))


def left_out_table(notes: Mapping[str, int]) -> list[Table | Caption]:
    """What not every system was scored on, with counts, under its caption; one line if nothing."""
    if not notes:
        said = "Nothing was left out of the comparison: every system was scored on the same."
        return [Caption(said, label="Note")]
    rows = [{"what": name, "count": count} for name, count in notes.items()]
    table = Table(pl.DataFrame(rows, schema={"what": pl.String, "count": pl.Int64}))
    return [Caption("What was left out of the comparison.", label="Table"), table]


def comparison_table(comparison: pl.DataFrame, *, part: str = "") -> Table | Caption:
    """Differences with intervals, p after them, and the least that could be shown.

    The system that does better is named only where `comparison` names one and the test, adjusted
    over all rows of the table, says so. With `part`, such as ``fields`` or ``kind=``, only slices
    that begin so.
    """
    rows = tables.readable(comparison).filter(pl.col("slice").str.starts_with(part))
    if not rows.height:
        return Caption("Nothing to show: no such score of both systems.", label="Note")
    # So many metrics are so many chances that one of them looks different.
    sure = pl.Series(adjusted_p(rows["p"].to_list())) <= ALPHA
    rows = rows.with_columns(pl.when(sure).then("better").alias("better"))
    titles = {
        "system_a": "first system", "system_b": "second system", "value_a": "first",
        "value_b": "second", "ci_low": "low", "ci_high": "high", "p_holm": "p, Holm",
        "least_difference": "least found", "n_docs": "documents", "n_cases": "cases",
        "better": "shown better",
    }  # fmt: skip
    columns = [
        "metric", "slice", "system_a", "system_b", "value_a", "value_b", "difference", "ci_low",
        "ci_high", "better", "p", "p_holm", "least_difference", "n_docs", "n_cases",
    ]  # fmt: skip
    # What every row says alike stands in the caption.
    alike = [
        n for n in ("slice", "system_a", "system_b", "n_docs", "n_cases") if rows[n].n_unique() <= 1
    ]
    columns = [name for name in columns if name not in alike]
    titles = {name: title for name, title in titles.items() if name in columns}
    notes = [
        "p is of swapping whole documents between the systems; Holm's is over the slices. A system "
        "is shown to do better only where p, adjusted over all rows here, and the interval agree."
    ]
    if (rows["n_docs"].max() or 0) < FEW:
        notes.append("With so few documents the interval is too narrow; trust p.")
    shown = rows.select(columns).with_columns(p_words(rows[name]) for name in ("p", "p_holm"))
    return Table(shown, titles=titles, note=" ".join(notes))


def p_words(values: pl.Series) -> pl.Series:
    """p as one writes it: four digits, or that it is less than any of them.

    Examples
    --------
    >>> p_words(pl.Series("p", [0.25, 4e-8, float("nan")])).to_list()
    ['0.2500', '< 0.0001', None]
    """
    least = 0.0001
    said = [
        None if p is None or math.isnan(p) else f"< {least}" if p < least else number(p, 4)
        for p in values
    ]
    return pl.Series(values.name, said, dtype=pl.String)


def difference_caption(
    comparison: pl.DataFrame, *, metric: str, say: str, part: str = "fields", label: str = "Figure"
) -> Caption:
    """A caption with both values, the difference, its interval, n and settings.

    Parameters
    ----------
    comparison
        As from `formlab.compare`; the first pair speaks.
    metric, part
        Which row; of a whole that was not scored, the other whole.
    say
        What the figure shows, in words and without numbers.
    """
    mine = comparison.filter(pl.col("metric") == metric)
    # A figure shows the other whole as well; a table is of one.
    chosen = part if label == "Table" else _whole(mine, part)
    rows = tables.only(tables.readable(mine), slice=chosen).to_dicts()
    if not rows:
        return Caption(f"{say} No {metrics.title(metric)} of both systems.", label=label)
    row = rows[0]
    over = "Whole documents, " if row["slice"] == "all" and part != "all" else ""
    title = metrics.title(metric)
    title = title if over else title[0].upper() + title[1:]
    text = (
        f"{say} {over}{title}: {row['system_a']} {number(row['value_a'])}, "
        f"{row['system_b']} {number(row['value_b'])}, difference {gain_span(row)}."
    )
    return Caption(text, label=label, settings=row["settings"])


def gain_span(row: dict[str, Any]) -> str:
    """The difference of one row with its interval, p and counts, in words."""
    counts = f"n = {row['n_cases']:,} in {row['n_docs']:,} document{'s' * (row['n_docs'] != 1)}"
    gain = signed(row["difference"])
    if math.isnan(row["ci_low"]):
        return f"{gain} ({counts})"
    ends = f"{signed(row['ci_low'])} to {signed(row['ci_high'])}"
    return f"{gain} (95 % interval {ends}, {p_text(row['p'])}, {counts})"


def signed(value: float) -> str:
    """A number that always shows its sign.

    Examples
    --------
    >>> signed(0.5), signed(-0.5), signed(0.0)
    ('+0.500', '−0.500', '0.000')
    """
    return number(value) if value <= 0 or math.isnan(value) else f"+{number(value)}"
