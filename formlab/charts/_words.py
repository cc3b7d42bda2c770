"""Captions, cards and tables from frames: counts, intervals and settings in plain words."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import polars as pl

from formlab import metrics, selection, tables
from formlab.charts._output import clean, number
from formlab.charts.show import Caption, Card, Cards, Table
from formlab.errors import UnknownName

OWN, PUBLISHED = "measured here", "published"
# Where the forms measured here are not those of the paper, the legend says so.
ELSEWHERE = "published, on other forms"
NOTHING = "Nothing was scored for it."
# What a value is taken over, by its level.
_OVER = {"field": "all fields", "page": "whole pages", "document": "all forms"}


def note(text: str) -> Caption:
    """One line in the place of a chart or table that has nothing to show."""
    return Caption(text, label="Note")


def sentences(*claims: object) -> str:
    """Claims as sentences; what is empty is left out.

    Examples
    --------
    >>> sentences("One", None, "Two.")
    'One. Two.'
    """
    texts = [str(claim).strip() for claim in claims if claim is not None and str(claim).strip()]
    return " ".join(text if text[-1] in ".!?" else f"{text}." for text in texts)


def counted(row: Mapping[str, Any]) -> int | None:
    """The cases that a ratio is taken over: those whose own value is defined; None if unknown.

    Of a mean over documents, `n_undefined` counts documents; other scores pool all cases.

    Examples
    --------
    >>> counted({"metric": "click_accuracy", "n_cases": 5, "n_undefined": 1})
    4
    """
    entry = metrics.METRICS.get(row.get("metric"))
    is_mean = row.get("average") == metrics.MACRO
    if entry is None or is_mean or entry.score is not metrics.ratio or row["n_cases"] is None:
        return row["n_cases"]
    return row["n_cases"] - (row.get("n_undefined") or 0)


def span(row: Mapping[str, Any]) -> str:
    """The interval and counts of one row of a summary, in words."""
    counts = f"{row['n_docs']:,} document{'s' * (row['n_docs'] != 1)}"
    if row.get("n_cases") is not None:
        counts = f"{counted(row):,} in {counts}"
    low = row.get("ci_low")
    if low is None or math.isnan(low):
        return f"n = {counts}"
    return f"95 % interval {number(low)} to {number(row['ci_high'])}, n = {counts}"


def how(row: Mapping[str, Any]) -> str | None:
    """How the value of a row was made, on one line."""
    settings = row.get("settings")
    if settings is None or isinstance(settings, str):
        return settings
    return tables.settings_text(dict(row) | {"level": row.get("score_level", row.get("level"))})


def caption(
    say: str,
    rows: pl.DataFrame | None = None,
    *,
    name: str | None = None,
    label: Literal["Figure", "Table"] = "Figure",
    more: str = "",
) -> Caption:
    """What a figure or table shows, with the values it speaks of, their intervals, n and settings.

    `say` is what is shown, without numbers; they are added from `rows`, rows of a summary. `name`
    is the column that says what each value is of; what it was taken over, if left out. `more` are
    sentences that follow the figures.

    Examples
    --------
    >>> rows = pl.DataFrame({"system": ["ocr"], "metric": ["cer"], "value": [0.25],
    ...     "ci_low": [0.2], "ci_high": [0.3], "n_docs": [9], "n_cases": [80]})
    >>> print(caption("Errors.", rows, name="system"))
    Figure. Errors. Values: ocr 0.250 (95 % interval 0.200 to 0.300, n = 80 in 9 documents).
    """
    if rows is None:
        return Caption(sentences(say, more), label=label)
    values: dict[str, list[str]] = {}
    settings: dict[str | None, None] = {}
    for row in tables.readable(rows).iter_rows(named=True):
        value = "undefined" if math.isnan(row["value"]) else number(row["value"])
        over = "Values"
        if not name:
            over = _OVER.get(row["level"], f"all {row['level']}s")
            over = f"Over {tables.slice_name(row) if row.get('slice_by') else over}"
        of = row[name] if name else metrics.title(row["metric"], row.get("average"))
        values.setdefault(over, []).append(f"{of} {value} ({span(row)})")
        settings[how(row)] = None
    numbers = "; ".join(f"{over}: {', '.join(texts)}" for over, texts in values.items())
    text = sentences(say, numbers or NOTHING, more)
    return Caption(text, label=label, settings="; ".join(filter(None, settings)) or None)


def figure(over: Caption, *shown: Any) -> list[Any]:
    """A caption and what stands below it; only the notes, where there is nothing but notes.

    Examples
    --------
    >>> [str(part) for part in figure(caption("Errors."), note("Nothing was scored."))]
    ['Note. Nothing was scored.']
    """
    notes = [part for part in shown if isinstance(part, Caption) and part.label == "Note"]
    return notes[:1] if len(notes) == len(shown) else [over, *shown]


def score_cards(
    rows: pl.DataFrame,
    titles: Mapping[str, str],
    *,
    names: Sequence[str] = (),
    more: Sequence[Card] = (),
) -> Cards:
    """A card for each row of these metrics that has a value, with its interval and counts.

    Cards stand in the order of `titles`; rows of metrics without a title are left out. `names` are
    columns whose value tells apart the cards of one metric, `more` are cards that follow.

    Examples
    --------
    >>> row = {"system": "ocr", "metric": "cer", "value": 0.25, "ci_low": 0.2, "ci_high": 0.3,
    ...     "n_docs": 9, "n_cases": 80}
    >>> print(score_cards(pl.DataFrame([row]), {"cer": "CER"}))
    CER: 0.250 (95 % interval 0.200 to 0.300, n = 80 in 9 documents)
    """
    rows = rows.filter(pl.col("metric").is_in(list(titles)), pl.col("value").is_finite())
    rows = rows.sort(pl.col("metric").cast(pl.Enum(list(titles))), maintain_order=True)
    cards = []
    for row in rows.iter_rows(named=True):
        values = ", ".join(clean(row[name], limit=60) for name in names if row[name])
        label = titles[row["metric"]] + (f" of {values}" if values else "")
        cards.append(Card(label, row["value"], span(row)))
    return Cards([*cards, *more])


def table(
    frame: pl.DataFrame,
    *columns: str,
    best: Mapping[str, Literal["max", "min"]] | None = None,
    sparse: bool = False,
    empty: str = NOTHING,
    cases: Mapping[str, str] | None = None,
    **look: Any,
) -> Table | Caption:
    """A frame as a table for readers: the house's headings, numbers to read, p as one writes it.

    Without `columns` all are shown. `best` is column to ``max`` or ``min``: its best values are
    printed bold. `sparse` leaves out columns in which nothing stands. `cases` may name columns that
    are not shown; `empty` is the note in place of a table without rows. All else is as of `Table`:
    `titles`, `digits`, `note`, `rows`, `links`, `fold`.

    Examples
    --------
    >>> print(table(pl.DataFrame({"kind": ["date"], "n_docs": [3], "p": [1e-9]})))
    kind  documents  p
    date          3  < 0.0001
    """
    for name in columns:
        if name not in frame.columns:
            raise UnknownName.of("column", name, frame.columns)
    if not frame.height:
        return note(empty)
    shown = frame.select(columns or pl.exclude(selection.LINES))
    if sparse:
        shown = shown.select(name for name in shown.columns if shown[name].count())
    strong = []
    for name in {*(best or {})} & {*shown.columns}:
        values = shown[name].fill_nan(None)
        at = (values == getattr(values, best[name])()).fill_null(False).arg_true()
        strong += [(row, name) for row in at]
    for name in {"p", "p_holm", "p_adjusted"} & {*shown.columns}:
        texts = [None if p is None else _p(p) for p in shown[name]]
        shown = shown.with_columns(pl.Series(name, texts, dtype=pl.String))
    lines = selection.of_rows(frame.head(look.get("rows", 500)), cases)
    return Table(shown, strong=strong, cases=lines, **look)


def _p(p: float) -> str | None:
    """A probability as one writes it: four digits, or that it is less than any of them."""
    return None if math.isnan(p) else "< 0.0001" if p < 0.0001 else number(p, 4)
