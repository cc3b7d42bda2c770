"""Two or more systems beside each other: fields that flip, and differences with their tests."""

from __future__ import annotations

import math
from collections.abc import Mapping

import altair as alt
import polars as pl

from formlab import metrics
from formlab.analysis.finding import OUTCOME, detectable_text
from formlab.charts import theme
from formlab.charts._dots import dots
from formlab.charts._output import number
from formlab.charts._table import Table
from formlab.charts._words import table
from formlab.charts.show import Caption

# From so many documents on a percentile interval is about as wide as it should be.
FEW = 20
# So many metrics that show no difference are named.
_NAMED = 4
SHOWN, NOT_SHOWN = "a difference was shown", "none was shown"
_NOTHING = "Neither a field nor a whole document was scored for both systems."


def difference_dots(rows: pl.DataFrame) -> alt.TopLevelMixin | Caption:
    """By how much the first system is better: a dot and interval a metric and slice.

    `rows` are from `formlab.compare`. Dots have the colour of the system that does better where
    `better` names one, and are hollow elsewhere. Metrics in units other than shares and error rates
    (pixels, edits a form) are left out: they share no axis; so are means over documents. Of several
    pairs each has a panel.
    """
    # Error rates are 1 where as much is wrong as there is to read.
    rates = [name for name, e in metrics.METRICS.items() if e.high == 1.0 or name in ("cer", "wer")]
    none = pl.col("better").is_null()
    shown = named(rows).filter(pl.col("average").ne_missing("macro"))
    shown = shown.filter(pl.col("metric").is_in([OUTCOME, *rates]))
    shown = shown.with_columns(
        pl.when(none).then(pl.lit(NOT_SHOWN)).otherwise(pl.lit(SHOWN)).alias("shown"),
        pl.col("better").fill_null(NOT_SHOWN),
    )
    systems = dict.fromkeys(name for row in shown.select("^system_[ab]$").rows() for name in row)
    return dots(
        shown, "what", "difference", colour="better", kind="shown", filled=SHOWN, zero=True,
        colours=theme.system_colours(systems) | {NOT_SHOWN: theme.NEUTRAL},
        facet="pair" if shown["pair"].n_unique() > 1 else None,
        tips=["value_a", "value_b", "p", "p_holm", "least_difference"], cases=_cases(shown),
        titles={"difference": "lead of the first system", "better": "does better"},
        say="Differences", empty="No difference was shown in any share or error rate.",
    )  # fmt: skip


def named(rows: pl.DataFrame) -> pl.DataFrame:
    """Rows of comparisons with `what`, the metric and slice, and `pair`.

    Examples
    --------
    >>> row = {"system_a": "a", "system_b": "b", "metric": "cer", "level": "field"}
    >>> row |= {"slice_by": "kind", "slice_value": "date"}
    >>> named(pl.DataFrame([row])).select("what", "pair").row(0)
    ('character error rate (CER), kind date', 'a → b')
    """
    texts = []
    for row in rows.iter_rows(named=True):
        by, is_outcome = row["slice_by"], row["metric"] == OUTCOME
        title = "fields right" if is_outcome else metrics.title(row["metric"], row.get("average"))
        of = f"{by} {row['slice_value']}" if by else "" if is_outcome else f"all {row['level']}s"
        texts.append(f"{title}, {of}".removesuffix(", ").replace("_", " "))
    pair = pl.format("{} → {}", "system_a", "system_b")
    return rows.with_columns(pl.Series("what", texts, dtype=pl.String), pair=pair)


def _cases(rows: pl.DataFrame) -> Mapping[str, str] | None:
    """Which cases a row leads to: those of its slice, and among several pairs those of its own."""
    return {"pair": "pair"} if rows["pair"].n_unique() > 1 else None


def not_shown(rows: pl.DataFrame) -> Caption:
    """One line on what no difference was shown in, with the least that would have been seen.

    `rows` are from `formlab.compare`. Slices and means over documents are counted.
    """
    of = named(rows.filter(pl.col("better").is_null(), pl.col("difference").is_not_nan()))
    whole = of.filter(pl.col("slice_by").is_null(), pl.col("average").ne_missing("macro"))
    several = rows.select("system_a", "system_b").n_unique() > 1
    seen = whole.group_by("what", maintain_order=True).agg(
        pl.col("least_difference").max(), pl.col("pair").unique(maintain_order=True)
    )
    texts = []
    for what, least, pairs in seen.iter_rows():
        known = [] if least is None or math.isnan(least) else [number(least, 2)]
        inside = "; ".join([*known, *([", ".join(pairs)] if several else [])])
        texts.append(f"{what} ({inside})" if inside else what)
    if not of.height:
        return Caption("A difference was shown in all that was compared.", label="Note")
    rest = [f"{len(texts) - _NAMED:,} other metrics"] * (len(texts) > _NAMED)
    if more := of.height - whole.height:
        rest.append(f"{more:,} slices and means over documents")
    texts = texts[:_NAMED] + rest
    pairs = rows.select("system_a", "system_b").n_unique()
    documents = whole["n_docs"].max()
    none = {"metric": OUTCOME, "difference": 0, "least_difference": 0, "n_tested": pairs}
    few = "" if documents is None else detectable_text(none | {"n_docs": documents})
    say = "No difference was shown in (in brackets the one that would have been seen)"
    return Caption(f"{say}: {'; '.join(texts)}{few}.", label="Note")


def rank_dots(ranked: pl.DataFrame) -> alt.TopLevelMixin | Caption:
    """Systems from best to worst with intervals; a bar joins those that no test separates.

    `ranked` is from `analysis.ranks`. The bars are those of a critical-difference diagram.
    """
    metric = ranked["metric"].first()
    title = "share of fields right" if metric in (None, OUTCOME) else metrics.title(metric)
    order = ranked["system"].to_list()
    drawn = dots(
        ranked, "system", n=None, order=order, titles={"value": title}, domain=None,
        cases={"system": "system"}, say="Systems by rank", empty=_NOTHING,
    )  # fmt: skip
    if isinstance(drawn, Caption):
        return drawn
    groups = ranked.explode("groups").drop_nulls("groups").group_by("groups", maintain_order=True)
    for place, (_, rows) in enumerate(groups):
        ends = pl.DataFrame({"first": rows["system"][:1], "last": rows["system"][-1:]})
        bar = alt.Chart(ends).mark_rule(
            strokeWidth=5, strokeCap="round", xOffset=12 + 12 * place, color=theme.NEUTRAL
        )
        # Two layers with an order each would stand in that of the alphabet.
        names = alt.Y("first:N", scale=alt.Scale(domain=order), title=None)
        drawn = drawn + bar.encode(names, alt.Y2("last"), x=alt.value("width"))
    return drawn


def flip_table(matrix: pl.DataFrame, *, by: str) -> Table | Caption:
    """Fields that both systems get right, one alone, or none: all of them, and a row per slice.

    `matrix` is from `formlab.compare` by ``outcome``.
    """
    shown = named(matrix.filter(pl.col("slice_by").is_null() | (pl.col("slice_by") == by)))
    several = shown["pair"].n_unique() > 1
    slices = pl.col("slice_value").str.replace_all("_", " ").fill_null("all fields")
    names = ("the first", "the second")
    if shown.height and not several:
        names = shown.select("system_a", "system_b").row(0)
    columns = ["slice", "both_right", "only_a", "only_b", "both_wrong", "difference"]
    columns += ["ci_low", "ci_high", "p_holm", "n_docs"]
    return table(
        shown.with_columns(slice=slices), *(["pair"] if several else []), *columns,
        titles={"slice": by, "only_a": f"only {names[0]}", "only_b": f"only {names[1]}"},
        note_below="The difference is the first system's share of fields right less the second's; "
        "p is of swapping whole documents, adjusted over the kinds and pairs.",
        cases=_cases(shown) if shown.height else None, empty=_NOTHING,
    )  # fmt: skip


def comparison_table(rows: pl.DataFrame) -> Table | Caption:
    """Differences with intervals, p after them, and the least that could be shown.

    `rows` are from `formlab.compare`. What all rows have alike stands in the caption.
    """
    rows = named(rows)
    alike = [
        name for name in ("system_a", "system_b", "n_docs", "n_cases") if rows[name].n_unique() == 1
    ]
    columns = [
        "what", "system_a", "system_b", "value_a", "value_b", "difference", "ci_low", "ci_high",
        "better", "p", "p_holm", "least_difference", "n_docs", "n_cases",
    ]  # fmt: skip
    notes = (
        "p is of swapping whole documents between the systems; Holm's is over the pairs of systems "
        "and the slices of one metric, kinds apart. A system is shown to do better only "
        "where Holm's p, the interval and the reading rules agree."
    )
    if (rows["n_docs"].max() or 0) < FEW:
        notes += " With so few documents the interval is too narrow; trust p."
    return table(
        rows, *(name for name in columns if name not in alike and name in rows.columns),
        titles={
            "what": "", "value_a": "first", "value_b": "second", "better": "shown better",
            "difference": "lead of the first",
        },
        note_below=notes, fold=f"All {rows.height:,} comparisons", cases=_cases(rows),
        empty="Nothing to show: no such score of both systems.",
    )  # fmt: skip
