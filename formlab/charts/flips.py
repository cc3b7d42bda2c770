"""Flips: the fields that one system gets right and the other does not."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import altair as alt
import polars as pl

from formlab import metrics, tables
from formlab.analysis.finding import Finding
from formlab.charts import theme
from formlab.charts.compare import gain_span, p_words, signed
from formlab.charts.show import Caption, Card, Cards, Table
from formlab.charts.words import sentences

_KINDS = ("both_right", "only_a", "only_b", "both_wrong")
_BOTH = ("#A9B4C0", "#555B66")
_NOTHING = "Neither a field nor a whole document was scored for both systems."


def compare_cards(matrix: pl.DataFrame, verdicts: Sequence[Finding] = ()) -> Cards:
    """The comparison in short: what was shown, how many fields flip, and by how much they differ.

    Parameters
    ----------
    matrix
        As from `formlab.analysis.flip_matrices`; the cards are of the first pair of systems.
    verdicts
        As from `formlab.analysis.tell_apart`.
    """
    finding = _verdict(verdicts)
    rows = tables.only(tables.readable(matrix), slice_by=None).to_dicts()
    if not rows:
        return Cards([_page_card(one) for one in verdicts], finding=finding or _NOTHING)
    row = rows[0]
    a, b = row["system_a"], row["system_b"]
    note = f"of {row['n_cases']:,} fields in {row['n_docs']:,} documents"
    gain = f"{signed(row['ci_low'])} to {signed(row['ci_high'])}"
    known = not math.isnan(row["ci_low"])
    cards = [
        Card(f"right: {a}", row["value_a"], note),
        Card(f"right: {b}", row["value_b"], note),
        Card("difference", signed(row["difference"]), f"95 % interval {gain}" if known else note),
        Card(f"only {a} is right", row["only_a"], note),
        Card(f"only {b} is right", row["only_b"], note),
        Card("detectable difference", row["least_difference"], "in four of five such samples"),
    ]
    return Cards(cards, finding=finding or _counted(row))


def _verdict(verdicts: Sequence[Finding]) -> str:
    """What was shown of any pair; where nothing was, what the first pair's tests say."""
    sure = [one for one in verdicts if one.holds]
    first = [one for one in verdicts if one.system == verdicts[0].system]
    return sentences(*(sure[:2] or first))


def _counted(row: dict[str, Any]) -> str:
    """How many fields flip, which claims nothing of the systems."""
    a, b = row["system_a"], row["system_b"]
    return (
        f"Of {row['n_cases']:,} fields {row['only_a']:,} are right with {a} alone and "
        f"{row['only_b']:,} with {b} alone."
    )


def _page_card(one: Finding) -> Card:
    ends = f"95 % interval {signed(one.ci_low)} to {signed(one.ci_high)}, "
    known = "" if math.isnan(one.ci_low) else ends
    return Card(
        f"difference in {metrics.title(one.metric)}: {one.system.replace(', ', ' → ')}",
        signed(one.effect), f"{known}n = {one.n_docs:,} documents",
    )  # fmt: skip


def flip_bars(matrix: pl.DataFrame, *, by: str = "") -> alt.Chart | Caption:
    """Shares of fields both get right, one alone, or none: a bar per slice and pair of systems.

    Parameters
    ----------
    matrix
        As from `formlab.analysis.flip_matrices`.
    by
        The sliced column; all fields if left out.
    """
    parts = pl.col("slice_by").is_null()
    if by.startswith("cause_"):
        # Of what one system gets wrong: all fields are no part of that.
        parts = pl.col("slice").str.starts_with(f"{by}=")
    elif by:
        parts = parts | pl.col("slice").str.starts_with(f"{by}=")
    shown = tables.readable(matrix).filter(parts)
    if not shown.height:
        what = by.removesuffix("_a").removesuffix("_b") or "field"
        return Caption(f"Nothing to show by {what} for both systems.", label="Note")
    pairs = shown.select("system_a", "system_b").unique(maintain_order=True).rows()
    alone = pairs[0] if len(pairs) == 1 else ("the first", "the second")
    words = dict(
        zip(_KINDS, ("both right", *(f"only {n}" for n in alone), "both wrong"), strict=True)
    )
    fills = (_BOTH[0], *theme.system_colours(alone).values(), _BOTH[1])
    label = pl.col("slice").str.strip_prefix(f"{by}=").replace({"fields": "all fields"})
    label = label.str.replace_all("_", " ") if by.startswith("cause_") else label
    label = pl.format("{}  (n = {})", label, "n_cases")
    label = label if len(pairs) == 1 else pl.format("{} | {}: {}", "system_a", "system_b", label)
    shown = shown.with_columns(label.alias("label"))
    long = (
        shown.unpivot(
            _KINDS, index=["label", "n_cases", "n_docs"], variable_name="kind", value_name="fields"
        )
        .with_columns(
            (pl.col("fields") / pl.col("n_cases")).alias("share"),
            pl.col("kind")
            .replace_strict({kind: i for i, kind in enumerate(_KINDS)})
            .alias("place"),
            pl.col("kind").replace_strict(words),
        )
        .filter(pl.col("fields") > 0)
    )
    x = alt.X("share:Q", title="share of fields", stack="zero").axis(format="%")
    y = alt.Y("label:N", title=None, sort=shown["label"].to_list()).axis(labelLimit=320)
    there = set(long.filter(pl.col("fields") > 0)["kind"])
    palette = dict(zip(words.values(), fills, strict=True))
    palette = {name: fill for name, fill in palette.items() if name in there}
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
        f"{row['slice']}: " + ", ".join(f"{words[k]} {row[k]}" for k in _KINDS if row[k])
        for row in shown.to_dicts()
    )
    text = f"Fields by flip. {said}"
    return chart.properties(height=alt.Step(24), width=theme.WIDTH - 120, description=text)


def flip_table(matrix: pl.DataFrame) -> Table | Caption:
    """Flips by slice, with the difference, its interval and both tests."""
    if not matrix.height:
        return Caption("Nothing to show: no field was scored for both systems.", label="Note")
    matrix = tables.readable(matrix)
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


def flip_caption(matrix: pl.DataFrame, *, say: str, by: str = "", label: str = "Figure") -> Caption:
    """A caption with the counts of all fields, the difference, its interval and settings.

    With `by` as ``cause_a`` or ``cause_b`` it counts what that system gets wrong, and how much of
    it the other gets right.
    """
    rows = tables.only(tables.readable(matrix), slice_by=None).to_dicts()
    if not rows:
        return Caption(f"{say} No field was scored for both systems.", label=label)
    row = rows[0]
    a, b = row["system_a"], row["system_b"]
    if by.startswith("cause_"):
        name, other, won = (a, b, "only_b") if by == "cause_a" else (b, a, "only_a")
        lost = row[won] + row["both_wrong"]
        text = f"{say} {name} gets {lost:,} fields wrong; {other} gets {row[won]:,} of them right."
        return Caption(text, label=label)
    text = (
        f"{say} Right with {a} alone: {row['only_a']:,} fields; with {b} alone: "
        f"{row['only_b']:,}; difference {gain_span(row)}."
    )
    return Caption(text, label=label, settings=row["settings"])
