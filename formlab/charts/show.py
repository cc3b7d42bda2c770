"""Captions, number cards, tables and sources: what stands between the charts."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal

import polars as pl

from formlab import frames, selection
from formlab.charts._output import Shown, cell, clean, number
from formlab.folders import Corpus, Evaluation, Predictions

__all__ = ["Caption", "Card", "Cards", "Sources", "Table"]


_TITLES = {"ci_low": "low", "ci_high": "high", "n_docs": "documents", "n_cases": "fields"}
_TITLES |= {"doc_id": "document", "system_a": "first system", "system_b": "second system"}
_TITLES |= {"p_holm": "p, Holm", "p_adjusted": "p, adjusted", "n_missing": "missing"}
_TITLES |= {"n_undefined": "undefined", "n_reader": "depend on reading rule"}
_TITLES |= {"n_ambiguous": "ambiguous dates", "least_difference": "smallest detectable"}


def words(column: str, titles: Mapping[str, str] | None = None) -> str:
    """What readers call a column: its title, or its name with underscores as spaces."""
    return (titles or {}).get(column) or _TITLES.get(column) or column.replace("_", " ")


@dataclasses.dataclass(frozen=True)
class Card:
    """One number and what it means: `note` says of how many, or between which bounds."""

    label: str
    value: str | float | None
    note: str = ""
    digits: int = 3

    @property
    def shown(self) -> dict[str, str]:
        """Label, value and note as shown, fit to travel."""
        value, digits = self.value, 0 if isinstance(self.value, int) else self.digits
        label, note = (clean(text, limit=200) for text in (self.label, self.note))
        text = value if isinstance(value, str) else number(value, digits)
        return {"label": label, "value": clean(text, limit=60), "note": note}


@dataclasses.dataclass(frozen=True)
class Cards(Shown):
    """A row of number cards under the one-sentence finding of a report.

    The first `Cards` of a notebook stands for its report in the index.

    Examples
    --------
    >>> print(Cards([Card("Exact", 0.5, "n = 8")], finding="Half the fields are right."))
    Half the fields are right.
    Exact: 0.500 (n = 8)
    """

    kind: ClassVar[str] = "cards"
    cards: Sequence[Card]
    finding: str = ""

    def __str__(self) -> str:
        cards = [card.shown for card in self.cards]
        notes = [f" ({card['note']})" if card["note"] else "" for card in cards]
        lines = [
            f"{card['label']}: {card['value']}{n}" for card, n in zip(cards, notes, strict=True)
        ]
        return "\n".join([clean(self.finding)] * bool(self.finding) + lines)

    def _data(self) -> dict[str, Any]:
        finding = clean(self.finding, limit=600) or None
        return {"cards": [card.shown for card in self.cards], "finding": finding}


@dataclasses.dataclass(frozen=True)
class Caption(Shown):
    """The caption of the object below it; reports number each `label` from 1.

    `settings` says how the score was computed; it is printed small beside the text.

    Examples
    --------
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

    def _data(self) -> dict[str, Any]:
        settings = clean(self.settings, limit=2_000) if self.settings else None
        text = {"text": clean(self.text, limit=2_000), "label": clean(self.label, limit=40)}
        return text | {"settings": settings}


@dataclasses.dataclass(frozen=True)
class Sources(Shown):
    """Where a report's numbers come from: goes into its block "How this was made".

    Examples
    --------
    >>> print(Sources({"benchmark": "funsd", "split": "test"}))
    benchmark: funsd
    split: test
    """

    kind: ClassVar[str] = "sources"
    entries: Mapping[str, str]

    @classmethod
    def of(cls, folder: Corpus | Predictions | Evaluation) -> Sources:
        """The manifest of a corpus, of predictions or of an evaluation, one entry a fact."""
        names = ("benchmark", "split", "system", "mode")
        entries = {name: str(getattr(folder, name)) for name in names if hasattr(folder, name)}
        for name in ("settings", "notes", "flaws", "sources"):
            facts = getattr(folder, name, {}).items()
            entries |= {f"{name}: {key}": str(value) for key, value in facts}
        return cls(entries)

    def __str__(self) -> str:
        return "\n".join(f"{name}: {value}" for name, value in self.payload["entries"])

    def _data(self) -> dict[str, Any]:
        entries = self.entries.items()
        return {"entries": [[clean(text, limit=300) for text in entry] for entry in entries]}


@dataclasses.dataclass(frozen=True, eq=False)
class Table(Shown):
    """A table for readers: titled columns, numbers right-aligned in fixed digits, ``–`` for none.

    Parameters
    ----------
    frame
        Rows and columns as shown, in order.
    titles, digits
        Headings by column, beside the house's own, and decimals of floats, of all columns or by
        column.
    note
        A line under the table.
    rows
        At most so many rows are shown; the note then says how many there are.
    links
        Columns of names of pages beside the report; what is no such name is shown as text.
    strong, aside
        Cells to print bold, by number of the row and name of the column; numbers of rows that are
        not measured here, printed in another style.
    numeric
        Columns of text that hold numbers and are right-aligned.
    cases
        For a report that leads from a row to its cases: the columns of cases, and those of `frame`
        that hold their values; or for each row the line of `formlab.selection`. Without it
        ``slice_by`` and columns named as those of cases are taken; with {} no row leads anywhere.
    fold
        In a report the table is folded away behind these words.

    Examples
    --------
    >>> table = Table(pl.DataFrame({"system": ["a"], "value": [0.25]}), titles={"value": "CER"})
    >>> print(table)
    system    CER
    a       0.250
    """

    kind: ClassVar[str] = "table"
    frame: pl.DataFrame
    titles: Mapping[str, str] = dataclasses.field(default_factory=dict)
    digits: int | Mapping[str, int] = 3
    note: str | None = None
    rows: int = 500
    links: Sequence[str] = ()
    strong: Sequence[tuple[int, str]] = ()
    aside: Sequence[int] = ()
    numeric: Sequence[str] = ()
    cases: Mapping[str, str] | Sequence[str | None] | None = None
    fold: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "frame", frames.to_polars(self.frame))

    def _data(self) -> dict[str, Any]:
        shown, names = self.frame.head(self.rows), self.frame.columns
        notes = [self.note] if self.note else []
        if shown.height < self.frame.height:
            notes.append(f"First {shown.height:,} of {self.frame.height:,} rows.")
        lines = self.cases
        if lines is None or isinstance(lines, Mapping):
            lines = selection.of_rows(shown, lines)
        return {
            "columns": [self._column(name, kind) for name, kind in self.frame.schema.items()],
            "rows": [[_plain(value) for value in row] for row in shown.iter_rows()],
            "bold": [[row, names.index(name)] for row, name in self.strong if row < shown.height],
            "aside": list(self.aside),
            "note": clean(" ".join(notes)) or None,
            "cases": [line and clean(line) for line in lines[: shown.height]],
            "fold": clean(self.fold, limit=200) or None,
        }

    def _column(self, name: str, kind: pl.DataType) -> dict[str, Any]:
        digits = self.digits if isinstance(self.digits, Mapping) else {}
        default = 3 if isinstance(self.digits, Mapping) else self.digits
        decimals = digits.get(name, 0 if kind.is_integer() else default)
        right = kind.is_numeric() or name in self.numeric
        return {
            "name": clean(name),
            "title": clean(words(name, self.titles), limit=200),
            "align": "right" if right else "left",
            "digits": decimals if kind.is_numeric() else None,
            "link": name in self.links,
        }

    def __str__(self) -> str:
        shown = self.payload
        columns = shown["columns"]
        rows = [[column["title"] for column in columns]]
        rows += [
            [cell(value, column["digits"]) for value, column in zip(row, columns, strict=True)]
            for row in shown["rows"]
        ]
        widths = [min(60, max(map(len, texts))) for texts in zip(*rows, strict=True)]
        sides = ["<" if column["align"] == "left" else ">" for column in columns]
        line = "  ".join(f"{{:{s}{w}}}" for s, w in zip(sides, widths, strict=True))
        return "\n".join(line.format(*row).rstrip() for row in rows)


def _plain(value: object) -> object:
    """A value as JSON has it; numbers that it has not as they are shown."""
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None if math.isnan(value) else number(value)
    return clean(value, limit=2_000)
