"""Two or more systems beside each other: fields that flip, and differences with their tests."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import polars as pl

from formlab import metrics
from formlab.analysis.verdicts import OUTCOME, detectable_text
from formlab.charts import theme
from formlab.charts.html import number
from formlab.charts.marks import dots
from formlab.charts.words import Caption, Table, note, table

# From so many documents on a percentile interval is about as wide as it should be.
FEW = 20
# So many metrics that show no difference are named.
_NAMED = 4
SHOWN, NOT_SHOWN = "a difference was shown", "none was shown"


def difference_dots(rows: pl.DataFrame) -> Any:
    """By how much the first system is better: a dot and interval a metric and slice.

    `rows` are from `formlab.compare`. Dots have the colour of the system that does better where
    `better` names one, and are hollow elsewhere. Metrics in units other than shares and error rates
    (pixels, edits a form) are left out: they share no axis; so are means over documents. Of several
    pairs each has a panel.
    """
    # Error rates are 1 where as much is wrong as there is to read.
    rates = [name for name, e in metrics.METRICS.items() if e.high == 1.0 or name in ("cer", "wer")]
    rows = named(rows).filter(pl.col("average").ne_missing("macro"))
    rows = rows.filter(pl.col("metric").is_in([OUTCOME, *rates]))
    none = pl.when(pl.col("better").is_null()).then(pl.lit(NOT_SHOWN))
    better = pl.col("better").fill_null(NOT_SHOWN)
    rows = rows.with_columns(better, shown=none.otherwise(pl.lit(SHOWN)))
    systems = dict.fromkeys(name for row in rows.select("^system_[ab]$").rows() for name in row)
    colours = theme.system_colours(systems) | {NOT_SHOWN: theme.NEUTRAL}
    look = {"row": "pair"} if rows["pair"].n_unique() > 1 else {}
    look |= {"kind": "shown", "filled": SHOWN, "zero": True, "colours": colours}
    look["tips"] = ["value_a", "value_b", "p", "p_holm", "least_difference"]
    look["titles"] = {"difference": "lead of the first system", "better": "does better"}
    look |= {"say": "Differences", "cases": _cases(rows)}
    look["empty"] = "No difference was shown in any share or error rate."
    return dots(rows, "what", "difference", colour="better", **look)


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
    pairs = rows.select("system_a", "system_b").n_unique()
    of = named(rows.filter(pl.col("better").is_null(), pl.col("difference").is_not_nan()))
    if not of.height:
        return note("A difference was shown in all that was compared.")
    whole = of.filter(pl.col("slice_by").is_null(), pl.col("average").ne_missing("macro"))
    texts = []
    for (what,), group in whole.group_by("what", maintain_order=True):
        least = group["least_difference"].max()
        inside = [] if least is None or math.isnan(least) else [number(least, 2)]
        inside += [", ".join(group["pair"].unique(maintain_order=True))] * (pairs > 1)
        texts.append(f"{what} ({'; '.join(inside)})" if inside else what)
    rest = [f"{len(texts) - _NAMED:,} other metrics"] * (len(texts) > _NAMED)
    if more := of.height - whole.height:
        rest.append(f"{more:,} slices and means over documents")
    few = {"metric": OUTCOME, "difference": 0, "least_difference": 0, "n_tested": pairs}
    documents = whole["n_docs"].max()
    detectable = "" if documents is None else detectable_text(few | {"n_docs": documents})
    say = "No difference was shown in (in brackets the one that would have been seen)"
    return note(f"{say}: {'; '.join(texts[:_NAMED] + rest)}{detectable}.")


def flip_table(matrix: pl.DataFrame, *, by: str) -> Table | Caption:
    """Fields that both systems get right, one alone, or none: all of them, and a row per slice.

    `matrix` is from `formlab.compare` by ``outcome``.
    """
    rows = named(matrix.filter(pl.col("slice_by").is_null() | (pl.col("slice_by") == by)))
    slices = pl.col("slice_value").str.replace_all("_", " ").fill_null("all fields")
    pairs = rows.select("system_a", "system_b").unique().rows()
    first, second = pairs[0] if len(pairs) == 1 else ("the first", "the second")
    columns = ["slice", "both_right", "only_a", "only_b", "both_wrong", "difference"]
    columns += ["ci_low", "ci_high", "p_holm", "n_docs"]
    below = "The difference is the first system's share of fields right less the second's; "
    below += "p is of swapping whole documents, adjusted over the kinds and pairs."
    look = {"titles": {"slice": by, "only_a": f"only {first}", "only_b": f"only {second}"}}
    look |= {"note": below, "cases": _cases(rows)}
    look["empty"] = "Neither a field nor a whole document was scored for both systems."
    return table(rows.with_columns(slice=slices), *["pair"] * (len(pairs) > 1), *columns, **look)


def comparison_table(rows: pl.DataFrame) -> Table | Caption:
    """Differences with intervals, p after them, and the least that could be shown.

    `rows` are from `formlab.compare`. What all rows have alike stands in the caption.
    """
    rows = named(rows)
    names = ("system_a", "system_b", "n_docs", "n_cases")
    alike = [name for name in names if rows[name].n_unique() == 1]
    columns = "what system_a system_b value_a value_b difference ci_low ci_high better p p_holm"
    columns = [*columns.split(), "least_difference", "n_docs", "n_cases"]
    columns = [name for name in columns if name not in alike and name in rows.columns]
    below = (
        "p is of swapping whole documents between the systems; Holm's is over the pairs of systems "
        "and the slices of one metric, kinds apart. A system is shown to do better only "
        "where Holm's p, the interval and the reading rules agree."
    )
    if (rows["n_docs"].max() or 0) < FEW:
        below += " With so few documents the interval is too narrow; trust p."
    titles = {"what": "", "value_a": "first", "value_b": "second", "better": "shown better"}
    look = {"titles": titles | {"difference": "lead of the first"}, "note": below}
    look |= {"fold": f"All {rows.height:,} comparisons", "cases": _cases(rows)}
    look["empty"] = "Nothing to show: no such score of both systems."
    return table(rows, *columns, **look)
