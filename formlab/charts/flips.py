"""Flips: the fields that one system gets right and the other does not."""

from __future__ import annotations

import math
from typing import Any

import altair as alt
import polars as pl

from formlab import tables
from formlab.charts import theme
from formlab.charts.compare import gain_span, p_words, signed
from formlab.charts.show import Caption, Card, Cards, Table

_KINDS = ("both_right", "only_a", "only_b", "both_wrong")
_BOTH = ("#A9B4C0", "#555B66")


def compare_cards(matrix: pl.DataFrame) -> Cards:
    """The comparison in short: how many fields flip, by how much the systems differ, how surely.

    Parameters
    ----------
    matrix
        As from `formlab.analysis.flip_matrices`; the first pair of systems speaks.
    """
    rows = tables.only(matrix, slice="all").to_dicts()
    if not rows:
        return Cards([], finding="No field was scored for both systems.")
    row = rows[0]
    a, b = row["system_a"], row["system_b"]
    note = f"of {row['n_cases']:,} fields in {row['n_docs']:,} documents"
    gain = f"{signed(row['ci_low'])} to {signed(row['ci_high'])}"
    cards = [
        Card(f"right: {a}", row["value_a"], note),
        Card(f"right: {b}", row["value_b"], note),
        Card("difference", signed(row["difference"]), f"95 % interval {gain}"),
        Card(f"only {a} is right", row["only_a"], note),
        Card(f"only {b} is right", row["only_b"], note),
        Card("least difference found", row["least_difference"], "in four of five such samples"),
    ]
    return Cards(cards, finding=_finding(row))


def _finding(row: dict[str, Any]) -> str:
    a, b, gain = row["system_a"], row["system_b"], row["difference"]
    better, worse = (b, a) if gain > 0 else (a, b)
    won, lost = (row["only_b"], row["only_a"]) if gain > 0 else (row["only_a"], row["only_b"])
    moved = f"{won:,} fields are right with {better} alone, {lost:,} with {worse} alone"
    if math.isnan(row["ci_low"]) or row["ci_low"] <= 0 <= row["ci_high"]:
        return f"{a} and {b} cannot be told apart: {moved}."
    return f"{better} gets more fields right than {worse}: {moved} (p = {row['p']:.3g})."


def flip_bars(matrix: pl.DataFrame, *, by: str = "") -> alt.Chart | Caption:
    """Shares of fields both get right, one alone, or none: a bar per slice and pair of systems.

    Parameters
    ----------
    matrix
        As from `formlab.analysis.flip_matrices`.
    by
        The sliced column; all fields if left out.
    """
    parts = pl.col("slice") == "all"
    shown = matrix.filter(parts | pl.col("slice").str.starts_with(f"{by}=") if by else parts)
    if not shown.height:
        return Caption("Nothing to show: no field was scored for both systems.", label="Note")
    pairs = shown.select("system_a", "system_b").unique(maintain_order=True).rows()
    alone = pairs[0] if len(pairs) == 1 else ("the first", "the second")
    words = dict(
        zip(_KINDS, ("both right", *(f"only {n}" for n in alone), "both wrong"), strict=True)
    )
    fills = (_BOTH[0], *theme.system_colours(alone).values(), _BOTH[1])
    label = pl.col("slice").str.strip_prefix(f"{by}=").replace({"all": "all fields"})
    label = pl.format("{}  (n = {})", label, "n_cases")
    label = label if len(pairs) == 1 else pl.format("{} | {}: {}", "system_a", "system_b", label)
    shown = shown.with_columns(label.alias("label"))
    long = shown.unpivot(
        _KINDS, index=["label", "n_cases", "n_docs"], variable_name="kind", value_name="fields"
    ).with_columns(
        (pl.col("fields") / pl.col("n_cases")).alias("share"),
        pl.col("kind").replace_strict({kind: i for i, kind in enumerate(_KINDS)}).alias("place"),
        pl.col("kind").replace_strict(words),
    )
    x = alt.X("share:Q", title="share of fields", stack="zero").axis(format="%")
    y = alt.Y("label:N", title=None, sort=shown["label"].to_list()).axis(labelLimit=320)
    palette = dict(zip(words.values(), fills, strict=True))
    colour = alt.Color("kind:N", title=None).scale(theme.scale(palette))
    tip = [
        alt.Tooltip("label:N", title="slice"), alt.Tooltip("kind:N"),
        alt.Tooltip("fields:Q", format=","), alt.Tooltip("share:Q", format=".1%"),
        alt.Tooltip("n_docs:Q", title="documents"),
    ]  # fmt: skip
    chart = alt.Chart(long).mark_bar()
    chart = chart.encode(
        x.scale(domain=[0, 1]), y, colour.legend(orient="top", columns=2), alt.Order("place:Q"),
        tooltip=tip,
    )  # fmt: skip
    said = "; ".join(
        f"{row['slice']}: " + ", ".join(f"{words[kind]} {row[kind]}" for kind in _KINDS)
        for row in shown.to_dicts()
    )
    text = f"Fields by flip. {said}"
    return chart.properties(height=alt.Step(24), width=theme.WIDTH - 120, description=text)


def flip_table(matrix: pl.DataFrame) -> Table:
    """Flips by slice, with the difference, its interval and both tests."""
    several = matrix.select("system_a", "system_b").n_unique() > 1
    columns = [*(["system_a", "system_b"] if several else []), "slice", *_KINDS, "difference"]
    columns += ["ci_low", "ci_high", "p", "p_holm", "p_mcnemar", "n_docs", "n_cases"]
    titles = {
        "ci_low": "low", "ci_high": "high", "p_holm": "p, Holm", "p_mcnemar": "p, McNemar",
        "n_docs": "documents", "n_cases": "fields",
    }  # fmt: skip
    if not several and matrix.height:
        a, b = matrix.select("system_a", "system_b").row(0)
        titles |= {"only_a": f"only {a}", "only_b": f"only {b}"}
    tests = [p_words(matrix[name]) for name in ("p", "p_holm", "p_mcnemar")]
    return Table(
        matrix.select(columns).with_columns(tests), titles=titles,
        note="McNemar's test takes fields for independent; where those of a page fail together, "
        "trust p, which swaps whole documents. Slices by cause are not tested.",
    )  # fmt: skip


def flip_caption(matrix: pl.DataFrame, *, say: str, label: str = "Figure") -> Caption:
    """A caption with the counts of all fields, the difference, its interval and settings."""
    rows = tables.only(matrix, slice="all").to_dicts()
    if not rows:
        return Caption(f"{say} No field was scored for both.", label=label)
    row = rows[0]
    text = (
        f"{say} Only {row['system_a']} gets {row['only_a']:,} fields right, only "
        f"{row['system_b']} {row['only_b']:,}; difference {gain_span(row)}."
    )
    return Caption(text, label=label, settings=row["settings"])
