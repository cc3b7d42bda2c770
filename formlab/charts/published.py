"""Figures that papers published, to stand beside one's own and marked as theirs."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import polars as pl

from formlab import files, metrics, resources
from formlab.charts.html import MISSING, number
from formlab.charts.words import OWN, PUBLISHED, WORDING, Caption, Table, table
from formlab.errors import DataBroken, UnknownName
from formlab.selection import LINES, of_rows, text

FOLDER = resources.folder("data/published")
OVER_DOCUMENTS, NOT_STATED = "mean over documents", "not stated"


def published(*names: str) -> pl.DataFrame:
    """Published tables, files of ``data/published``, below each other.

    Their text is as printed, `value` a number, and percent a ratio. Where a column names metrics,
    `measure` is what formlab calls the same score in a summary and `average` how the paper averages
    it (``data/published/definitions.csv``).

    >>> table = published("formcraft_table3", "formcraft_table4")
    >>> table.filter(system="GPT-5", metric="vqa_accuracy")["value"].round(4).to_list()
    [0.7913]
    >>> table.filter(system="GPT-5", metric="bleu").select("measure", "average").rows()
    [('bleu_of_fields', 'mean over fields')]
    """
    return pl.concat([_read(name) for name in names], how="diagonal_relaxed")


def _read(name: str) -> pl.DataFrame:
    known = [file.stem for file in sorted(FOLDER.glob("*.csv"))]
    if name not in known:
        raise UnknownName.of("published table", name, known)
    printed = pl.read_csv(files.read_text(FOLDER / f"{name}.csv").encode(), infer_schema=False)
    printed = printed.with_columns(pl.col("^value$").cast(pl.Float64))
    if "unit" in printed.columns:
        value = pl.when(unit="percent").then(pl.col("value") / 100).otherwise("value")
        printed = printed.with_columns(pl.col("unit").replace("percent", "ratio"), value=value)
    return defined(printed, name) if {"metric", "system"} <= {*printed.columns} else printed


def defined(printed: pl.DataFrame, name: str) -> pl.DataFrame:
    """Rows of the published table `name`, by `metric`, with `measure` and `average` beside them."""
    known = _read("definitions").filter(table=name)
    known = known.select(_column="column", measure="metric", average="average")
    column = pl.col("metric")
    if "kind" in printed.columns:
        of_kind = pl.format("{} {}", "kind", "metric")
        column = pl.when(of_kind.is_in(known["_column"].implode())).then(of_kind).otherwise(column)
    printed = printed.with_columns(_column=column)
    return printed.join(known, on="_column", how="left", maintain_order="left").drop("_column")


def cited(printed: pl.DataFrame, *, drawn: bool = True) -> str:
    """The sentence that tells published figures, `drawn` with open markers, from measured ones."""
    if not printed.height:
        return ""
    # Each paper once, with its tables.
    papers: dict[str, list[str]] = {}
    for source in printed["source"].unique(maintain_order=True):
        paper, _, table = source.rpartition(", ")
        papers.setdefault(paper or table, []).extend([table] if paper else [])
    places = "; ".join(", ".join([paper, *tables]) for paper, tables in papers.items())
    start = "Open markers are published figures, " if drawn else "Published figures are "
    return f"{start}on the forms of their paper and not on those measured here: {places}."


def beside(rows: pl.DataFrame, printed: pl.DataFrame, kind: str = PUBLISHED) -> pl.DataFrame:
    """Rows of a summary above published ones, told apart by the column `kind`.

    The `system` of those measured here says on which forms.

    >>> own = pl.DataFrame({"system": ["ocr"], "benchmark": ["b"], "split": ["s"], "value": [0.5]})
    >>> beside(own, pl.DataFrame({"system": ["GPT-5"], "value": [0.9]}))["system"].to_list()
    ['ocr on b:s', 'GPT-5']
    """
    # Their lines are made before systems get other names; published figures have no cases.
    lines = pl.Series(LINES, of_rows(rows), dtype=pl.String)
    name = pl.format("{} on {}:{}", "system", "benchmark", "split")
    own = rows.with_columns(lines, name.alias("system"), kind=pl.lit(OWN))
    return pl.concat([own, printed.with_columns(kind=pl.lit(kind))], how="diagonal_relaxed")


def paper_table(
    own: pl.DataFrame,
    printed: pl.DataFrame,
    columns: Mapping[str, str],
    *,
    column: str = "metric",
    digits: int | Mapping[str, int] = 3,
    note: str = "",
) -> Table | Caption:
    """A paper's own table, models by scores: systems measured here first, published ones below.

    The last rows say of each column which metric it is and how it is averaged; each value is
    followed by the number of cases with a value, or of a mean over documents by the documents.

    `own` are rows of `analysis.side_by_side`, one for each system and column; `printed` published
    rows with `system` and `value`, in the same units. `columns` is what the column named by
    `column` holds, in the order of the paper, to the heading. `digits` are the decimals of all
    columns, or by column, where 3 is the default; `note` is a sentence under the table.

    Raises `DataBroken` if published figures of a column are of another metric than those measured
    here, or averaged in another way, or if a system has both averages of a column.

    >>> own = pl.DataFrame({"system": ["ocr"], "metric": ["cer"], "value": [0.2], "ci_low": [0.1],
    ...                     "ci_high": [0.3], "mark": [None]})
    >>> printed = pl.DataFrame({"system": ["GPT-5"], "metric": ["cer"], "value": [0.21]})
    >>> print(paper_table(own, printed, {"cer": "CER"}))
    system                              CER
    ocr                0.200 [0.100, 0.300]
    GPT-5 (published)                 0.210
    metric                              cer
    average                          pooled
    """
    own, printed = (frame.filter(pl.col(column).is_in(list(columns))) for frame in (own, printed))
    at = ["system", column]
    if "average" in own.columns and own.n_unique(at) < own.n_unique([*at, "average"]):
        what = f"a system has several averages of one {column}"
        raise DataBroken(what, remedy='rows of one: .filter(average="pooled")')
    decimals = digits if isinstance(digits, Mapping) else dict.fromkeys(columns, digits)
    # Published systems have no cases.
    rows = {
        name: {LINES: text({"system": [name]})}
        for name in own["system"].unique(maintain_order=True)
    }
    measured = own.filter(pl.col("value").is_not_nan())
    best = measured.filter(mark="best")
    best = [([*rows].index(system), name) for system, name in best.select(at).rows()]
    ranked = {name for _, name in best}
    for row in measured.to_dicts():
        places = decimals.get(row[column], 3)
        value, *ends = (number(row[of], places) for of in ("value", "ci_low", "ci_high"))
        if row.get("n_cases") is not None:
            over = "n_docs" if row.get("average") == metrics.MACRO else "n_cases"
            value += f" (n = {row[over] - (row.get('n_undefined') or 0):,})"
        value += f" [{', '.join(ends)}]" * (ends[0] != MISSING)
        sign = {"near": " ≈", None: " °"}.get(row["mark"], "") * (row[column] in ranked)
        rows[row["system"]][row[column]] = value + sign
    count = len(rows)
    for row in printed.to_dicts():
        value = number(row["value"], decimals.get(row[column], 3))
        rows.setdefault(f"{row['system']} ({PUBLISHED})", {})[row[column]] = value
    scored = [
        {"system": name} | dict.fromkeys(columns, MISSING) | row for name, row in rows.items()
    ]
    measures, unstated = _definitions(own, printed, column)
    for side, of in enumerate(("metric", "average") if measures else ()):
        scored.append({"system": of} | {key: pair[side] for key, pair in measures.items()})
    unsaid = dict.fromkeys(head.rstrip(" ↑↓") for key, head in columns.items() if key in unstated)
    averages = f"The paper does not say how it averages {', '.join(unsaid)}." if unsaid else ""
    return table(
        pl.DataFrame(scored, schema=dict.fromkeys(["system", *columns, LINES], pl.String)),
        # An arrow at the end of a heading stays with its last word.
        titles={key: re.sub(" (?=[↑↓]$)", "\u00a0", head) for key, head in columns.items()},
        note=" ".join([WORDING["paper"]["note"] * (measured.height > 0), averages, note]),
        strong=best,
        aside=range(count, len(scored)),
        numeric=[*columns],
    )


def _definitions(
    own: pl.DataFrame, printed: pl.DataFrame, column: str
) -> tuple[dict[str, tuple[str, str]], list[str]]:
    """Metric and average of each value of `column`, and those whose average no paper states."""

    def defined_as(row: Mapping[str, Any]) -> tuple[str, str]:
        metric, average = row.get("measure") or row["metric"], row.get("average")
        if average in (metrics.MACRO, OVER_DOCUMENTS):
            return metric, OVER_DOCUMENTS
        entry = metrics.METRICS.get(metric)
        return metric, entry.average if entry else NOT_STATED

    known = {row[column]: defined_as(row) for row in own.to_dicts()}
    unstated = []
    for row in printed.to_dicts():
        (metric, usual), stated = defined_as(row), row.get("average") or NOT_STATED
        theirs = metric, usual if stated == NOT_STATED else stated
        here = known.setdefault(row[column], theirs)
        if metric != here[0] or stated not in (NOT_STATED, here[1]):
            raise DataBroken(
                f"column {row[column]!r}: published is {metric}, {stated}; "
                f"measured here {', '.join(here)}",
                remedy="the published metric and average, or no published figures",
            )
        unstated += [row[column]] * (row.get("average") == NOT_STATED)
    return {key: pair for key, pair in known.items() if pair[0] in metrics.METRICS}, unstated
