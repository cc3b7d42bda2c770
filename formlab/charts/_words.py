"""Captions, cards and tables from frames: counts, intervals and settings in plain words."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import polars as pl

from formlab import metrics, selection, tables
from formlab.charts._output import clean, number
from formlab.charts._parts import NOTHING, TITLES, counted, note, words
from formlab.charts._table import Table
from formlab.charts.show import Caption, Card, Cards
from formlab.errors import UnknownName
from formlab.tables import readable

# What a value is taken over, by its level.
_OVER = {"field": "all fields", "page": "whole pages", "document": "all forms"}
_HEADINGS = TITLES | {
    "p_holm": "p, Holm", "p_adjusted": "p, adjusted",
    "n_missing": "missing", "n_undefined": "undefined", "n_reader": "depend on reading rule",
    "n_ambiguous": "ambiguous dates", "least_difference": "smallest detectable",
}  # fmt: skip
# Columns of probabilities, which are written as one writes them.
_P = ("p", "p_holm", "p_adjusted")
_LEAST_P = 0.0001


def caption(
    say: str,
    rows: pl.DataFrame | None = None,
    *,
    name: str | None = None,
    label: Literal["Figure", "Table"] = "Figure",
    missing: str = "Nothing was scored for it.",
    more: str = "",
) -> Caption:
    """What a figure or table shows, with the values it speaks of, their intervals, n and settings.

    Parameters
    ----------
    say
        What is shown, without numbers; they are added from `rows`.
    rows
        Rows of a summary that the caption gives in figures; None for a caption without any.
    name
        The column that says what each value is of; what it was taken over, if left out.
    label
        Whether it stands over a figure or a table.
    missing
        The sentence for `rows` without any row.
    more
        Sentences that follow the figures.

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
    for row in readable(rows).iter_rows(named=True):
        value = "undefined" if math.isnan(row["value"]) else number(row["value"])
        what = row[name] if name else metrics.title(row["metric"], row.get("average"))
        over = "Values" if name else f"Over {_over(row)}"
        values.setdefault(over, []).append(f"{what} {value} ({span(row)})")
        settings[how(row)] = None
    numbers = "; ".join(f"{over}: {', '.join(texts)}" for over, texts in values.items())
    text = sentences(say, numbers or missing, more)
    return Caption(text, label=label, settings="; ".join(filter(None, settings)) or None)


def how(row: Mapping[str, Any]) -> str | None:
    """How the value of a row was made, on one line."""
    settings = row.get("settings")
    if settings is None or isinstance(settings, str):
        return settings
    return tables.settings_text(dict(row) | {"level": row.get("score_level", row.get("level"))})


def _over(row: Mapping[str, Any]) -> str:
    """What the value of one row of a summary is taken over."""
    if row.get("slice_by"):
        return tables.slice_name(row)
    return _OVER.get(row["level"], f"all {row['level']}s")


def cards(
    frame: pl.DataFrame,
    *,
    label: str = "label",
    value: str = "value",
    notes: str | None = None,
    finding: str = "",
    more: Sequence[Card] = (),
) -> Cards:
    """A number card for each row of a frame, under the one sentence that a report says first.

    `label` and `value` are columns, and `notes` that of what stands below; interval and counts, if
    left out. `finding` is text, or a `Finding` that holds.

    Examples
    --------
    >>> print(cards(pl.DataFrame({"label": ["CER"], "value": [0.5], "of": ["n = 8"]}), notes="of"))
    CER: 0.500 (n = 8)
    """
    rows = frame.iter_rows(named=True)
    made = [Card(row[label], row[value], row[notes] if notes else span(row)) for row in rows]
    return Cards([*made, *more], finding=finding)


def figure(over: Caption, *shown: Any) -> list[Any]:
    """A caption and what stands below it; only the notes, where there is nothing but notes.

    Examples
    --------
    >>> [str(part) for part in figure(caption("Errors."), note("Nothing was scored."))]
    ['Note. Nothing was scored.']
    """
    notes = [part for part in shown if isinstance(part, Caption) and part.label == "Note"]
    return notes[:1] if len(notes) == len(shown) else [over, *shown]


def table(
    frame: pl.DataFrame,
    *columns: str,
    titles: Mapping[str, str] | None = None,
    digits: int | Mapping[str, int] = 3,
    best: Mapping[str, Literal["max", "min"]] | None = None,
    links: Sequence[str] = (),
    note_below: str | None = None,
    rows: int = 500,
    sparse: bool = False,
    empty: str = NOTHING,
    cases: Mapping[str, str] | None = None,
    fold: str = "",
) -> Table | Caption:
    """A frame as a table for readers: the house's headings, numbers to read, p as one writes it.

    Without `columns` all are shown. `titles`, `digits`, `best`, `links`, `rows`, `cases` and `fold`
    are as for `Table`, beside the house's own headings; `cases` may name columns that are not
    shown. `sparse` leaves out columns in which nothing stands.

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
    shown = shown.with_columns(p_words(shown[name]) for name in _P if name in shown.columns)
    headings = {name: words(name, _HEADINGS | dict(titles or {})) for name in shown.columns}
    if isinstance(digits, Mapping):
        digits = {name: digits[name] for name in shown.columns if name in digits}
    return Table(
        shown, titles=headings, digits=digits, note=note_below, rows=rows, fold=fold,
        cases=selection.of_rows(frame.head(rows), cases),
        best={name: best[name] for name in shown.columns if name in (best or {})},
        links=tuple(name for name in links if name in shown.columns),
    )  # fmt: skip


def sentences(*claims: object) -> str:
    """Claims as sentences; what is empty is left out.

    Examples
    --------
    >>> sentences("One", None, "Two.")
    'One. Two.'
    """
    texts = [str(claim).strip() for claim in claims if claim is not None and str(claim).strip()]
    return " ".join(text if text[-1] in ".!?" else f"{text}." for text in texts)


def span(row: Mapping[str, Any]) -> str:
    """The interval and counts of one row of a summary, in words."""
    counts = f"n = {row['n_docs']:,} document{'s' * (row['n_docs'] != 1)}"
    if row.get("n_cases") is not None:
        counts = f"n = {counted(row):,} in {counts.removeprefix('n = ')}"
    low = row.get("ci_low")
    if low is None or math.isnan(low):
        return counts
    return f"95 % interval {number(low)} to {number(row['ci_high'])}, {counts}"


def score_cards(
    rows: pl.DataFrame,
    titles: Mapping[str, str],
    *claims: object,
    names: Sequence[str] = (),
    more: Sequence[Card] = (),
) -> Cards:
    """A card for each row of these metrics that has a value, under a sentence with the first three.

    Cards stand in the order of `titles`; rows of metrics without a title are left out. `claims`
    are further sentences above the cards, such as a `Finding`; `names` are columns whose value
    tells apart the cards of one metric.

    Examples
    --------
    >>> row = {"system": "ocr", "metric": "cer", "value": 0.25, "ci_low": 0.2, "ci_high": 0.3,
    ...     "n_docs": 9, "n_cases": 80}
    >>> print(score_cards(pl.DataFrame([row]), {"cer": "CER"}, "Few forms."))
    ocr: CER 0.250. Few forms.
    CER: 0.250 (95 % interval 0.200 to 0.300, n = 80 in 9 documents)
    """
    places = {metric: place for place, metric in enumerate(titles)}
    shown = rows.filter(pl.col("metric").is_in(list(titles)), pl.col("value").is_finite())
    shown = shown.sort(pl.col("metric").replace_strict(places), maintain_order=True)
    labels = []
    for row in shown.iter_rows(named=True):
        values = ", ".join(clean(row[name], limit=60) for name in names if row[name])
        labels.append(titles[row["metric"]] + (f" of {values}" if values else ""))
    first = "Nothing was scored"
    if shown.height:
        scores = [f"{label} {number(x)}" for label, x in zip(labels, shown["value"], strict=True)]
        first = f"{clean(shown['system'][0], limit=60)}: {'; '.join(scores[:3])}"
    shown = shown.with_columns(pl.Series("label", labels, dtype=pl.String))
    return cards(shown, finding=sentences(first, *claims), more=more)


def p_words(values: pl.Series) -> pl.Series:
    """p as one writes it: four digits, or that it is less than any of them."""
    texts = [
        None if p is None or math.isnan(p) else f"< {_LEAST_P}" if p < _LEAST_P else number(p, 4)
        for p in values
    ]
    return pl.Series(values.name, texts, dtype=pl.String)


def signed(value: float) -> str:
    """A number that always shows its sign."""
    return number(value) if value <= 0 or math.isnan(value) else f"+{number(value)}"
