"""The one comparison: p of tested pairs adjusted once, and which system is shown to be better."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from formlab.stats.tests import DEPENDS, SAME, adjusted_p, documents_needed, holds

Rows = Sequence[Mapping[str, Any]]
# What tells the rows of a comparison apart.
KEY = ("metric", "average", "level", "slice_by", "slice_value", "system_a", "system_b")


def compared(
    rows: Rows,
    schema: Mapping[str, Any],
    *,
    by_other_rules: Sequence[Rows] = (),
    has_rule: pl.Expr | None = None,
    level: float = 0.95,
) -> pl.DataFrame:
    """Tests of pairs as a table: p adjusted over its family, `rules`, and who is `better`.

    Parameters
    ----------
    rows
        As from `paired_differences`, with `metric`, `level`, `slice_by`, `system_a` and `system_b`.
        A row may have a `surest` p, greater than that of all its cases, which is adjusted instead.
    schema
        Of the table; some of `metric`, `p_holm`, `p_bh`, `rules`, `better` may be left out.
    by_other_rules
        The same tests under each other rule of reading fields from pages.
    has_rule
        For which rows a reading rule has a say; all if left out.
    level
        A difference is shown where `holds` at 1 - `level`.

    Returns
    -------
    polars.DataFrame
        A positive `difference` means that `system_a` is better. `p_holm` and `p_bh` are adjusted
        over the pairs and slices of a metric, average and level. Rows of no slice are a family
        apart, and so are kinds: both were planned, and looking at other slices costs them nothing.
        `least_difference` is NaN where no p of a family can hold after that. `rules` tells
        whether the verdict is the ``same`` under all reading rules or ``depends``.
    """
    if not rows:
        return pl.DataFrame(schema=dict(schema))
    verdict = _verdicts(_adjusted(rows, "p", level), level)
    same = pl.lit(True)
    for number, others in enumerate(by_other_rules):
        other = _verdicts(_adjusted(others, "p", level), level)
        keys = [name for name in KEY if name in other.columns]
        name = f"verdict_{number}"
        other = other.rename({"verdict": name})
        verdict = verdict.join(other, on=keys, how="left", nulls_equal=True, maintain_order="left")
        same &= pl.col("verdict").eq_missing(pl.col(name))
    rules = pl.when(same).then(pl.lit(SAME)).otherwise(pl.lit(DEPENDS))
    known = pl.lit(bool(by_other_rules)) & pl.col("p").is_not_nan()
    known &= pl.lit(True) if has_rule is None else has_rule
    table = _adjusted(rows, "surest", level).with_columns(
        verdict.with_columns(rules=rules)["rules"]
    )
    table = _with_better(table.with_columns(pl.when(known).then("rules")), 1 - level)
    return table.select(
        (pl.col(name) if name in table.columns else pl.lit(None)).cast(kind).alias(name)
        for name, kind in schema.items()
    )


def _adjusted(rows: Rows, which: str, level: float) -> pl.DataFrame:
    """The rows with `p_holm` and `p_bh` of one of their p, and what could be shown after these."""
    p = np.array([row.get(which, row["p"]) for row in rows], dtype=float)
    families: dict[tuple[Any, ...], list[int]] = {}
    for at, row in enumerate(rows):
        by = row["slice_by"] if row["slice_by"] in (None, "kind") else ""
        families.setdefault((*(row.get(name) for name in KEY[:3]), by), []).append(at)
    both = np.full((2, len(rows)), np.nan)
    least = np.array([row["least_difference"] for row in rows], dtype=float)
    n_docs = np.array([row["n_docs"] for row in rows])
    for members in families.values():
        for number, method in enumerate(("holm", "fdr_bh")):
            both[number, members] = adjusted_p(p[members], method)
        # With fewer documents the least p there can be, counted for all tests, shows nothing.
        n_tested = max(1, (~np.isnan(p[members])).sum())
        few = n_docs[members] < documents_needed((1 - level) / n_tested)
        least[members] = np.where(few, np.nan, least[members])
    found = [row | {"settings": dataclasses.asdict(row["settings"])} for row in rows]
    return pl.DataFrame(found, infer_schema_length=None).with_columns(
        p_holm=both[0], p_bh=both[1], least_difference=least
    )


def _verdicts(table: pl.DataFrame, level: float) -> pl.DataFrame:
    """What each row says: the sign of its difference, or 0 where none is shown."""
    keys = [name for name in KEY if name in table.columns]
    shown = pl.col("p_holm").fill_nan(1) <= 1 - level + 1e-9
    return table.select(
        *keys, verdict=pl.when(shown).then(pl.col("difference").sign()).otherwise(0.0)
    )


def _with_better(table: pl.DataFrame, alpha: float) -> pl.DataFrame:
    """Comparisons with `better`, null where no difference was shown (`holds`)."""
    rows = table.select("p_holm", "ci_low", "ci_high", "rules").rows()
    shown = pl.Series([holds(*row, alpha=alpha) for row in rows], dtype=pl.Boolean)
    ahead = pl.when(pl.col("difference") > 0).then("system_a").otherwise("system_b")
    return table.with_columns(better=pl.when(shown).then(ahead))
