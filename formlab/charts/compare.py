"""Two or more systems beside each other: fields that flip, and differences with their tests."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt
import polars as pl

from formlab import metrics, tables
from formlab.analysis.finding import Finding, p_text
from formlab.charts import theme
from formlab.charts._bars import stacked
from formlab.charts._dots import dots
from formlab.charts._output import number
from formlab.charts._table import Table
from formlab.charts._words import sentences, signed, table
from formlab.charts.show import Caption, Card, Cards

FLIPS = {"both_right": "both right", "only_a": "", "only_b": "", "both_wrong": "both wrong"}
# From so many documents on a percentile interval is about as wide as it should be.
FEW = 20
SHOWN, NOT_SHOWN = "a difference was shown", "none was shown"
_NOTHING = "Neither a field nor a whole document was scored for both systems."


def compare_cards(matrix: pl.DataFrame, findings: Sequence[Finding] = ()) -> Cards:
    """The comparison in short: what was shown, how many fields flip, and by how much they differ.

    Of `analysis.flip_matrices` the first pair has cards; `findings` are of `analysis.tell_apart`.
    """
    holding = [finding for finding in findings if finding.holds]
    first = [finding for finding in findings if finding.system == findings[0].system]
    text = sentences(*(holding[:2] or first))
    rows = tables.only(matrix, slice_by=None).to_dicts()
    if not rows:
        shown = []
        for one in findings:
            label = f"difference in {metrics.title(one.metric)}: {one.system.replace(', ', ' → ')}"
            of = [_interval(vars(one)), f"n = {one.n_docs:,} documents"]
            shown.append(Card(label, signed(one.effect), ", ".join(filter(None, of))))
        return Cards(shown, text or _NOTHING)
    row = rows[0]
    a, b = row["system_a"], row["system_b"]
    note = f"of {row['n_cases']:,} fields in {row['n_docs']:,} documents"
    shown = [
        Card(f"right: {a}", row["value_a"], note), Card(f"right: {b}", row["value_b"], note),
        Card("difference", signed(row["difference"]), _interval(row) or note),
        Card(f"only {a} is right", row["only_a"], note),
        Card(f"only {b} is right", row["only_b"], note),
        Card("detectable difference", row["least_difference"], "in four of five such samples"),
    ]  # fmt: skip
    counts = (
        f"Of {row['n_cases']:,} fields {row['only_a']:,} are right with {a} alone and "
        f"{row['only_b']:,} with {b} alone."
    )
    return Cards(shown, text or counts)


def _interval(row: Mapping[str, Any]) -> str:
    if math.isnan(row["ci_low"]):
        return ""
    return f"95 % interval {signed(row['ci_low'])} to {signed(row['ci_high'])}"


def flip_bars(matrix: pl.DataFrame, *, by: str) -> alt.TopLevelMixin | Caption:
    """Shares of fields both get right, one alone, or none: a bar per slice, a panel per pair.

    `matrix` is from `analysis.flip_matrices`. All fields stand above the slices by `by`, but for
    those of one system's causes, of which all fields are no part.
    """
    whole = pl.col("slice_by").is_null() & (not by.startswith("cause_"))
    shown = matrix.filter(whole | (pl.col("slice_by") == by))
    pairs = shown.select("system_a", "system_b").unique(maintain_order=True).rows()
    names = pairs[0] if len(pairs) == 1 else ("the first", "the second")
    words = FLIPS | {"only_a": f"only {names[0]}", "only_b": f"only {names[1]}"}
    fills = ("#A9B4C0", *theme.system_colours(names).values(), "#555B66")
    parts = shown.unpivot(
        list(FLIPS), index=["system_a", "system_b", "slice_value", "n_cases", "n_docs"],
        variable_name="flip", value_name="fields",
    ).filter(pl.col("fields") > 0).with_columns(
        pl.col("slice_value").str.replace_all("_", " ").fill_null("all fields").alias("slice"),
        pl.col("flip").replace(words),
        pl.format("{} → {}", "system_a", "system_b").alias("pair"),
        (pl.col("fields") / pl.col("n_cases")).alias("share"),
    )  # fmt: skip
    return stacked(
        parts, "slice", colour="flip", colours=dict(zip(words.values(), fills, strict=True)),
        n="n_cases", facet="pair" if len(pairs) > 1 else None, tips=["fields"],
        titles={"share": "share of fields"}, say="Fields by flip",
        empty=f"Nothing to show by {by.removesuffix('_a').removesuffix('_b')} for both systems.",
    )  # fmt: skip


def difference_dots(
    comparison: pl.DataFrame, *, metric: str, by: str = ""
) -> alt.TopLevelMixin | Caption:
    """By how much the second system differs from the first: a dot and interval per slice.

    Dots have the colour of the system that does better where `formlab.compare`, which makes
    `comparison`, names one, and are hollow elsewhere. Of several pairs each has a panel. Without
    `by` the whole alone is shown.
    """
    whole = pl.col("slice_by").is_null()
    shown = comparison.filter(whole | (pl.col("slice_by") == by), pl.col("metric") == metric)
    none = pl.col("better").is_null()
    shown = shown.with_columns(
        pl.coalesce("slice_value", pl.format("all {}s", "level")).alias("slice"),
        pl.format("{} → {}", "system_a", "system_b").alias("pair"),
        pl.when(none).then(pl.lit(NOT_SHOWN)).otherwise(pl.lit(SHOWN)).alias("shown"),
        pl.col("better").fill_null(NOT_SHOWN),
    )
    systems = dict.fromkeys(name for row in shown.select("^system_[ab]$").rows() for name in row)
    return dots(
        shown, "slice", "difference", colour="better", kind="shown", filled=SHOWN, zero=True,
        colours=theme.system_colours(systems) | {NOT_SHOWN: theme.NEUTRAL},
        facet="pair" if shown["pair"].n_unique() > 1 else None,
        tips=["value_a", "value_b", "p", "p_holm"],
        titles={"difference": f"difference in {metrics.title(metric)}", "better": "does better"},
        empty=f"Nothing to show: no field was scored by {metric} for both.",
    )  # fmt: skip


def difference_caption(say: str, rows: pl.DataFrame, *, label: str = "Figure") -> Caption:
    """A caption with both values, the difference, its interval, n and settings of the first row.

    `say` has no numbers; `rows` are of a comparison or of a matrix of flips.
    """
    if not rows.height:
        return Caption(sentences(say, "Nothing was scored for both systems"), label=label)
    row = rows.row(0, named=True)
    counts = f"n = {row['n_cases']:,} in {row['n_docs']:,} document{'s' * (row['n_docs'] != 1)}"
    interval = _interval(row)
    tested = f"{interval}, {p_text(row['p'])}, {counts}" if interval else counts
    title = metrics.title(row["metric"]) if "metric" in row else "share of fields right"
    numbers = (
        f"{title[0].upper()}{title[1:]}: {row['system_a']} {number(row['value_a'])}, "
        f"{row['system_b']} {number(row['value_b'])}, difference {signed(row['difference'])} "
        f"({tested})"
    )
    return Caption(sentences(say, numbers), label=label, settings=tables.settings_text(row))


def power_dots(differences: pl.DataFrame) -> alt.TopLevelMixin | Caption:
    """The size of each metric's difference, and as a tick the smallest detectable one.

    The tick is the power of an experiment of this size and no second test of the difference.
    Metrics in units other than shares and error rates (pixels, edits a form) are left out.
    `differences` are from `formlab.compare`, of whole documents and all fields.
    """
    # Error rates are 1 where as much is wrong as there is to read.
    rates = [name for name, e in metrics.METRICS.items() if e.high == 1.0 or name in ("cer", "wer")]
    known = pl.col("metric").is_in([*rates, *filter(None, map(metrics.mean_of, rates))])
    rows = tables.only(differences, slice_by=None).filter(known)
    pairs = rows.select("system_a", "system_b").n_unique()
    pair = pl.format("{} | {}: ", "system_a", "system_b") if pairs > 1 else pl.lit("")
    title = pl.col("metric").map_elements(metrics.title, return_dtype=pl.String)
    shown = rows.filter(pl.col("least_difference").is_not_nan()).with_columns(
        (pair + title).alias("name"), pl.format("{}s", "level").alias("of"),
        pl.col("difference").abs().alias("size"),
    )  # fmt: skip
    nothing = "no share or error rate was scored for both systems"
    if rows.height:
        nothing = f"n = {rows['n_docs'].max() or 0:,} documents give no interval"
    titles = {"size": "size of the difference, each metric in its own unit"}
    return dots(
        shown, "name", "size", tick="least_difference", facet="of", n=None, low="", high="",
        tips=["difference"], titles=titles | {"least_difference": "smallest detectable difference"},
        say="Size of the difference", empty=f"Nothing to show: {nothing}.",
    )  # fmt: skip


def comparison_table(rows: pl.DataFrame) -> Table | Caption:
    """Differences with intervals, p after them, and the least that could be shown.

    `rows` are from `analysis.over_metrics`. What all rows have alike stands in the caption.
    """
    alike = [
        name for name in ("system_a", "system_b", "n_docs", "n_cases") if rows[name].n_unique() == 1
    ]
    columns = [
        "metric", "system_a", "system_b", "value_a", "value_b", "difference", "ci_low", "ci_high",
        "better", "p", "p_holm", "least_difference", "n_docs", "n_cases",
    ]  # fmt: skip
    notes = (
        "p is of swapping whole documents between the systems; Holm's is over the slices. A system "
        "is shown to do better only where p, adjusted over all rows here, and the interval agree."
    )
    if (rows["n_docs"].max() or 0) < FEW:
        notes += " With so few documents the interval is too narrow; trust p."
    return table(
        rows, *(name for name in columns if name not in alike), note_below=notes,
        titles={"value_a": "first", "value_b": "second", "better": "shown better"},
        empty="Nothing to show: no such score of both systems.",
    )  # fmt: skip
