"""What reports say of a comparison of systems: its rows as sentences."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from formlab import metrics, tables
from formlab.analysis.finding import ALPHA, OUTCOME, counted, p_text, word
from formlab.stats.tests import DEPENDS, documents_needed

# The verdict on two systems of which every answer is the same.
SAME = "="
Row = Mapping[str, Any]


def is_up(metric: str) -> bool:
    """Whether more of a metric is better."""
    return metric == OUTCOME or metrics.get(metric).direction == "up"


def verdict_sentence(table: pl.DataFrame, ranked: pl.DataFrame) -> str:
    """The one sentence of a comparison: who is better, on what and by how much, or that none is.

    Of two systems it names the kinds on which one is shown to do better. `table` and `ranked` are
    from `verdicts` and `ranks` of the same evaluations.
    """
    if not table.height:
        return "Neither a field nor a whole document was scored for both systems."
    over_all = table.filter(pl.col("slice_by").is_null())
    rows, *others = (of.to_dicts() for of in over_all.partition_by("metric", maintain_order=True))
    if all(row["verdict"] == SAME for row in rows):
        systems = dict.fromkeys(row[name] for row in rows for name in ("system_a", "system_b"))
        return f"{_identical([*systems], rows[0])}."
    if len(rows) > 1:
        names = ranked["system"].to_list()
        return ". ".join(_best_of_several(of, names) for of in (rows, *others)) + "."
    first, *pages = map(comparison_sentence, itertools.chain(rows, *others))
    kinds = [
        f"On {word(row['slice_value'])}: {comparison_sentence(row)}"
        for row in significant_kinds(table)
    ]
    return ". ".join([first, *kinds, *pages]) + "."


def significant_kinds(table: pl.DataFrame, most: int = 3) -> list[dict[str, Any]]:
    """The rows of kinds on which a difference is shown, the largest first.

    Kinds are tested beside all fields together, which may hide what one of them loses.
    """
    rows = tables.only(table, slice_by="kind").drop_nulls("better")
    return rows.sort(pl.col("difference").abs(), descending=True).head(most).to_dicts()


def comparison_sentence(row: Row) -> str:
    """The verdict on two systems, a row of `verdicts`, as one sentence without a full stop."""
    a, b, better = row["system_a"], row["system_b"], row["better"]
    if row["verdict"] == SAME:
        return _identical([a, b], row)
    first, second = (_text(row, row[value], unit=" %") for value in ("value_a", "value_b"))
    over = f"over {_counts(row)}"
    if row["metric"] == OUTCOME:
        over = f"of {_counts(row)} are right"
    size = _size(row, is_signed=better is None)
    tested = f"{over} (difference {size}; {_p(row)}{detectable_text(row)})"
    does, aspect = _does(row)
    if better is None:
        rule = ", and which of them is ahead depends on the rule by which words go to fields"
        rule *= row.get("rules") == DEPENDS
        shown = f"No difference in {aspect} was shown between {a} and {b}"
        return f"{shown}: {first} and {second} {tested}{rule}"
    if better == b:
        a, b, first, second = b, a, second, first
    return f"{a} {does} than {b}: {first} against {second} {tested}"


def _best_of_several(rows: Sequence[Row], names: Sequence[str]) -> str:
    """The first system, from best to worst, that is shown to beat any, and whom it beats."""
    winners = [name for name in names if any(row["better"] == name for row in rows)]
    does, aspect = _does(rows[0])
    if not winners:
        most = max(rows, key=lambda row: np.nan_to_num(row["least_difference"]))
        seen = detectable_text(most)
        return f"No difference in {aspect} was shown among {_list(names)}{seen}"
    best, wins = winners[0], {}
    for row in rows:
        if row["better"] == best:
            wins[row["system_b"] if row["system_a"] == best else row["system_a"]] = row
    least = min(wins, key=lambda name: abs(wins[name]["difference"]))
    which, row = f"least ahead of {least}: " if len(wins) > 1 else "", wins[least]
    details = f"{which}by {_size(row)}; {_counts(row)}, {_p(row)}"
    rest = [name for name in names if name not in (best, *wins)]
    ends = f"; no difference from {_list(rest)} was shown" if rest else ""
    return f"{best} {does} than {_list([*wins])} ({details}){ends}"


def detectable_text(row: Row) -> str:
    """The end of a sentence that says which difference would have been seen, if it was larger.

    With fewer than the documents that `n_tested` tests need, that nothing can be shown.
    """
    least, needed = row["least_difference"], documents_needed(ALPHA / max(row["n_tested"], 1))
    if row["n_docs"] < needed:
        documents = counted(row["n_docs"], "document")
        return f"; {documents}: nothing can be shown, {needed} are needed"
    if not abs(row["difference"]) < least < 1 or least < 0.005:
        return ""
    size = f"{100 * least:.2g} points" if row["metric"] == OUTCOME else f"{least:.2f}"
    return f"; a difference of about {size} would have been seen"


def _identical(systems: Sequence[str], row: Row) -> str:
    return f"{_list(systems)} are identical: every answer is the same ({_counts(row)})"


def _does(row: Row) -> tuple[str, str]:
    """What the better system does, and in what systems may differ."""
    if row["metric"] == OUTCOME:
        kind = f"{word(row['slice_value'])} values" if row["slice_value"] else "fields"
        return f"gets more {kind} right", "fields right"
    aspect = f"{metrics.title(row['metric'])} of whole documents"
    return f"has the {'higher' if is_up(row['metric']) else 'lower'} {aspect}", aspect


def _text(row: Row, value: float, *, sign: str = "", unit: str = "") -> str:
    """A share of fields in percent or points, with a unit, or another value as it is."""
    is_share = row["metric"] == OUTCOME
    text = f"{100 * value:{sign}.1f}{unit}" if is_share else f"{value:{sign}.3f}"
    return text.replace("-", "−")


def _size(row: Row, *, is_signed: bool = False) -> str:
    """A difference with its interval; without its sign where the sentence says who is ahead."""
    sign, turn = ("+", 1) if is_signed else ("", math.copysign(1, row["difference"]))
    low, high = (row["ci_low"], row["ci_high"])[:: int(turn)]
    text = _text(row, turn * row["difference"], sign=sign, unit=" points")
    if math.isnan(low):
        return text
    ends = (_text(row, turn * end, sign=sign) for end in (low, high))
    return f"{text}, 95 % interval {' to '.join(ends)}"


def _p(row: Row) -> str:
    """The p of a comparison, and what it is adjusted for."""
    if math.isnan(row["p_holm"]):
        return "a single document cannot be tested"
    tests = f", adjusted for {row['n_tested']} tests" if row["n_tested"] > 1 else ""
    return p_text(row["p_holm"]) + tests


def _counts(row: Row) -> str:
    """How many fields and documents were compared."""
    documents = counted(row["n_docs"], "document")
    return documents if row["metric"] != OUTCOME else f"{row['n_cases']:,} fields in {documents}"


def _list(names: Sequence[str]) -> str:
    """Names as a sentence lists them."""
    *first, last = names or [""]
    return f"{', '.join(first)} and {last}" if first else last
