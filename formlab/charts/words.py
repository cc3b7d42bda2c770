"""Captions and tables: what stands between the charts, in plain words."""

from __future__ import annotations

import dataclasses
import math
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar, Literal

import polars as pl
from IPython.display import display

from formlab import metrics, selection, tables
from formlab.analysis.finding import counted as _counted
from formlab.charts.html import Shown, cell, number
from formlab.scoring.bands import BANDS

OWN, PUBLISHED = "measured here", "published"
# Where the forms measured here are not those of the paper, the legend says so.
ELSEWHERE = "published, on other forms"
NOTHING = "Nothing was scored for it."
# The texts of tables and charts that stand in no sentence.
WORDING = tomllib.loads(
    Path(__file__).with_name("assets").joinpath("wording.toml").read_text("utf-8")
)


def words(column: str, titles: Mapping[str, str] | None = None) -> str:
    """What readers call a column: its title, or its name with underscores as spaces."""
    return (titles or {}).get(column) or WORDING["titles"].get(column) or column.replace("_", " ")


def slice_title(column: str) -> str:
    """What readers call a column that cases are sliced by: of a band, what it is of."""
    title = BANDS[column].title if column in BANDS else words(column)
    return f"length ({title})" if column == "length" else title


def sentences(*claims: object) -> str:
    """Claims as sentences, without empty ones: ``sentences("One", None, "Two.")``, “One. Two.”."""
    texts = [str(claim).strip() for claim in claims if claim is not None and str(claim).strip()]
    return " ".join(text if text[-1] in ".!?" else f"{text}." for text in texts)


@dataclasses.dataclass(frozen=True)
class Caption(Shown):
    """The caption of the object below it; reports number each `label` from 1.

    `settings` says how the score was computed; it is printed small beside the text.

    >>> print(Caption("CER falls with scan quality", settings="funsd:test|cer"))
    Figure. CER falls with scan quality [funsd:test|cer]
    """

    kind: ClassVar[str] = "caption"
    text: str
    label: Literal["Figure", "Table", "Note"] = "Figure"
    settings: str | None = None

    def __str__(self) -> str:
        shown = self.payload
        settings = f" [{shown['settings']}]" if shown["settings"] else ""
        return f"{shown['label']}. {shown['text']}{settings}"


def note(text: str) -> Caption:
    """One line in the place of a chart or table that has nothing to show."""
    return Caption(text, label="Note")


def caption(
    say: str,
    rows: pl.DataFrame | None = None,
    *,
    name: str | None = None,
    label: Literal["Figure", "Table"] = "Figure",
    more: str = "",
    settings: str | None = None,
) -> Caption:
    """What a figure or table shows, with the values it speaks of, their intervals, n and settings.

    `say` is what is shown, without numbers; they are added from `rows`, rows of a summary. `name`
    is the column that says what each value is of; its metric and level, if left out. `more` are
    sentences that follow; `settings` are those of scores that are not in `rows`.

    >>> rows = pl.DataFrame({"system": ["ocr"], "metric": ["cer"], "value": [0.25],
    ...     "ci_low": [0.2], "ci_high": [0.3], "n_docs": [9], "n_cases": [80]})
    >>> print(caption("Errors.", rows, name="system"))
    Figure. Errors. Values: ocr 0.250 (95 % interval 0.200 to 0.300, n = 80 in 9 documents).
    """
    if rows is None:
        return Caption(sentences(say, more), label=label, settings=settings)
    values: dict[str, list[str]] = {}
    read = tables.readable(rows)
    for row in read.iter_rows(named=True):
        over, of = "Values", row.get(name)
        if not name:
            whole = f"all {row['level']}s"
            over = f"Over {row['slice'] if row.get('slice_by') else whole}"
            of = metrics.title(row["metric"], row.get("average"))
        value = "undefined" if math.isnan(row["value"]) else number(row["value"])
        values.setdefault(over, []).append(f"{of} {value} ({span(row)})")
    numbers = "; ".join(f"{over}: {', '.join(texts)}" for over, texts in values.items()) or NOTHING
    if "settings" in read.columns:
        settings = "; ".join(read["settings"].drop_nulls().unique(maintain_order=True)) or settings
    return Caption(sentences(say, numbers, more), label=label, settings=settings)


def counted(row: Mapping[str, Any]) -> int | None:
    """The cases that a ratio is taken over: those whose own value is defined; None if unknown.

    Of a mean over documents, `n_undefined` counts documents; other scores pool all cases.
    """
    entry = metrics.METRICS.get(row.get("metric"))
    is_mean = row.get("average") == metrics.MACRO
    if entry is None or is_mean or entry.score is not metrics.ratio or row["n_cases"] is None:
        return row["n_cases"]
    return row["n_cases"] - (row.get("n_undefined") or 0)


def span(row: Mapping[str, Any]) -> str:
    """The interval and counts of one row of a summary, in words."""
    counts, low = _counted(row["n_docs"], "document"), row.get("ci_low")
    if row.get("n_cases") is not None:
        counts = f"{counted(row):,} in {counts}"
    if low is None or math.isnan(low):
        return f"n = {counts}"
    return f"95 % interval {number(low)} to {number(row['ci_high'])}, n = {counts}"


def show(say: str, *things: Any, rows: pl.DataFrame | None = None, **look: Any) -> None:
    """Display charts, tables and galleries under one caption that says what they show.

    Reports number the captions, tables and figures apart. Where there is nothing but notes, the
    first of them stands alone, and nothing where there are no things. `rows` and `look`, which is
    `name`, `more` and `settings`, are as of `caption`.

    >>> show("Errors.", note("Nothing was scored."))
    Note. Nothing was scored.
    """
    # Of notes alone the first says enough.
    parts = things[:1]
    if not all(isinstance(thing, Caption) for thing in things):
        label = "Table" if any(isinstance(thing, Table) for thing in things) else "Figure"
        parts = (caption(say, rows, label=label, **look), *things)
    for part in parts:
        display(part)


@dataclasses.dataclass(frozen=True, eq=False)
class Table(Shown):
    """A table as from `table`: the `frame` that is shown, and what its payload has of it."""

    kind: ClassVar[str] = "table"
    frame: pl.DataFrame
    data: dict[str, Any]

    def _data(self) -> dict[str, Any]:
        return self.data

    def __str__(self) -> str:
        columns, rows = self.payload["columns"], self.payload["rows"]
        digits = [column["digits"] for column in columns]
        lines = [[c["title"] for c in columns], *(list(map(cell, row, digits)) for row in rows)]
        widths = [min(60, max(map(len, column))) for column in zip(*lines, strict=True)]
        sides = ["<" if column["align"] == "left" else ">" for column in columns]
        line = "  ".join(f"{{:{s}{w}}}" for s, w in zip(sides, widths, strict=True))
        return "\n".join(line.format(*row).rstrip() for row in lines)


def table(
    frame: pl.DataFrame,
    *columns: str,
    titles: Mapping[str, str] = MappingProxyType({}),
    digits: int | Mapping[str, int] = 3,
    note: str = "",
    rows: int = 500,
    sparse: bool = False,
    strong: Sequence[tuple[int, str]] = (),
    aside: Sequence[int] = (),
    numeric: Sequence[str] = (),
    cases: Mapping[str, str] | None = None,
    fold: str = "",
    empty: str = NOTHING,
) -> Table | Caption:
    """A frame as a table for readers: titled columns, numbers in fixed digits, ``–`` for none.

    Without `columns` all are shown; `sparse` leaves out those in which nothing stands. `titles` are
    headings by column, beside the house's own; `digits` the decimals of floats, of all columns or
    by column, and p is written as one does; `note` is a line below, and `empty` one in place of a
    table without rows. At most so many `rows` are shown, and the note then says of how many.
    Printed bold are the cells `strong`, by number of the row and name of the column; in another
    style stand the rows `aside`, that are not measured here. `numeric` are columns of text that are
    right-aligned. `fold` are words behind which the table is folded away. Names of pages beside the
    report are links in a column `report`.

    `cases` leads a report from a row to its cases: the columns of cases, and those of `frame` that
    hold their values, shown or not. Without it ``slice_by`` and columns named as those of cases are
    taken; with {} no row leads anywhere.

    >>> print(table(pl.DataFrame({"kind": ["date"], "n_docs": [3], "p": [1e-9]})))
    kind  documents  p
    date          3  < 0.0001
    """
    if not frame.height:
        return Caption(empty, label="Note")
    head, plain = frame.head(rows), bool | int | float | None
    shown = head.select(columns or pl.exclude(selection.LINES))
    shown = shown.select(name for name in shown.columns if frame[name].count() or not sparse)
    for name in {"p", "p_holm", "p_adjusted"} & {*shown.columns}:
        values = shown[name].fill_nan(None)
        texts = [p if p is None else "< 0.0001" if p < 0.0001 else number(p, 4) for p in values]
        shown = shown.with_columns(pl.Series(name, texts, dtype=pl.String))
    names = shown.columns
    places = digits if isinstance(digits, Mapping) else dict.fromkeys(names, digits)
    heads = [
        {
            "title": words(name, titles),
            "align": "right" if kind.is_numeric() or name in numeric else "left",
            "digits": places.get(name, 3) if kind.is_float() else None,
            "link": name == "report",
        }
        for name, kind in shown.schema.items()
    ]
    note += f" First {rows:,} of {frame.height:,} rows." * (rows < frame.height)
    data = {"columns": heads, "note": note.strip(), "fold": fold, "aside": list(aside)}
    data["rows"] = [[v if isinstance(v, plain) else str(v) for v in row] for row in shown.rows()]
    data["bold"] = [[row, names.index(name)] for row, name in strong if row < head.height]
    return Table(shown, data | {"cases": selection.of_rows(head, cases)})
