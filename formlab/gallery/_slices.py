"""What tells cases apart: their keys, the slices and findings they belong to, a sample by cause."""

from __future__ import annotations

import functools
import hashlib
import json
import operator
from collections.abc import Sequence
from typing import Any

import polars as pl

from formlab.analysis.finding import KEYS, Finding
from formlab.scoring.bands import sliced

KEY = ("benchmark", "split", "doc_id", "task", "level", "path", "pred_path")
_CORPUS = ("benchmark", "split")
# Columns that charts slice by without being asked.
_ALWAYS = ("modality", "subtype", "field", "flip")


def keys(cases: pl.DataFrame) -> list[str]:
    """Ten hexadecimal digits for each case, the same in every build and for every system."""
    return [
        hashlib.sha256(json.dumps(row).encode()).hexdigest()[:10]
        for row in cases.select(KEY).iter_rows()
    ]


def slices(cases: pl.DataFrame, documents: pl.DataFrame, by: Sequence[str]) -> list[dict[str, Any]]:
    """The value of each column of `by` for each case, as texts; a list where the column has lists.

    Raises
    ------
    UnknownName
        If a column is neither of the cases nor of the documents, and no band.
    """
    always = [name for name in _ALWAYS if name in cases.columns and cases[name].count()]
    names = list(dict.fromkeys([*by, *always]))
    parts = []
    # Documents of two benchmarks may have one name, and those of two systems are listed twice.
    for group in cases.with_row_index("_row").partition_by(*_CORPUS, maintain_order=True):
        own = documents.join(group.select(_CORPUS).unique(), on=_CORPUS, how="semi")
        own = own.unique("doc_id", keep="first", maintain_order=True)
        columns = {name: _texts(sliced(group, own, name)) for name in names}
        parts.append(pl.DataFrame({"_row": group["_row"]} | columns))
    if not parts:
        return []
    return pl.concat(parts, how="diagonal_relaxed").sort("_row").drop("_row").to_dicts()


def _texts(values: pl.Series) -> pl.Series:
    kind = pl.List(pl.String) if isinstance(values.dtype, pl.List) else pl.String
    return values.cast(kind)


def numbers(tabled: Sequence[pl.DataFrame], findings: Sequence[Finding]) -> list[list[int]]:
    """Of each case the findings, from 1, that it is behind; row i of every table is case i."""
    cases = tabled[0].with_row_index("_row")
    members: list[list[int]] = [[] for _ in range(cases.height)]
    for number, finding in enumerate(findings, start=1):
        rows = cases.join(finding.cases.unique(), on=KEYS, how="semi", nulls_equal=True)
        for name in ("benchmark", "split"):
            if getattr(finding, name):
                rows = rows.filter(pl.col(name) == getattr(finding, name))
        if finding.system and finding.about != "systems":
            systems = [table["system"] == finding.system for table in tabled]
            own = functools.reduce(operator.or_, systems)
            rows = rows.filter(own.gather(rows["_row"]))
        for row in rows["_row"]:
            members[row].append(number)
    return members


def drawn(cases: pl.DataFrame, most: int | None) -> tuple[pl.Series, list[list[Any]]]:
    """Which cases to show, at most so many, and ``[cause, shown, all]`` of each cause.

    A sample has of each cause its share (largest remainder), the cases whose `keys` come first.
    """
    cause = pl.coalesce("cause", "outcome").alias("cause")
    # Keys are as good as random, and the same in whatever order the cases come.
    few = most is None or cases.height <= most
    key = pl.lit("") if few else pl.Series(keys(cases))
    ranked = cases.select(cause).with_row_index("_row").with_columns(key=key)
    ranked = ranked.with_columns(
        rank=pl.col("key").rank("ordinal").over("cause") - 1, all=pl.len().over("cause")
    )
    # A cause's nth case comes when n - 1/2 of its cases would be due, as Sainte-Laguë has it.
    due = (pl.col("rank") + 0.5) / pl.col("all")
    kept = ranked.sort(due, -pl.col("all").cast(pl.Int64), "cause")
    kept = kept.head(cases.height if most is None else most)
    counts = ranked.group_by("cause").agg(
        pl.col("_row").is_in(kept["_row"].implode()).sum().alias("shown"), pl.len().alias("all")
    )
    counts = counts.sort(-pl.col("all").cast(pl.Int64), "cause")
    return kept["_row"].sort(), [list(row) for row in counts.iter_rows()]
