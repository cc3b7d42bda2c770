"""Tables, number cards and captions that show themselves: data in a report, escaped HTML in Lab."""

from __future__ import annotations

import dataclasses
import html
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from formlab.charts._output import bundle, clean, number
from formlab.charts._table import Table
from formlab.folders import Corpus, Evaluation, Predictions

__all__ = ["Caption", "Card", "Cards", "Sources", "Table"]


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
        value = self.value
        if not isinstance(value, str):
            value = number(value, 0 if isinstance(value, int) else self.digits)
        label, note = (clean(text, limit=200) for text in (self.label, self.note))
        return {"label": label, "value": clean(value, limit=60), "note": note}


@dataclasses.dataclass(frozen=True)
class Cards:
    """A row of number cards under the one-sentence finding of a report.

    The first `Cards` of a notebook stands for its report in the index.

    Examples
    --------
    >>> print(Cards([Card("Exact", 0.5, "n = 8")], finding="Half the fields are right."))
    Half the fields are right.
    Exact: 0.500 (n = 8)
    """

    cards: Sequence[Card]
    finding: str = ""

    def __str__(self) -> str:
        lines = [clean(self.finding)] if self.finding else []
        for card in (card.shown for card in self.cards):
            note = f" ({card['note']})" if card["note"] else ""
            lines.append(f"{card['label']}: {card['value']}{note}")
        return "\n".join(lines)

    def _repr_mimebundle_(self, **_: object) -> dict[str, Any]:
        cards = [card.shown for card in self.cards]
        payload = {"cards": cards, "finding": clean(self.finding, limit=600) or None}
        finding = f"<p><b>{html.escape(payload['finding'])}</b></p>" if payload["finding"] else ""
        return bundle("cards", payload, str(self), finding + card_boxes(cards))


def card_boxes(cards: Sequence[Mapping[str, str]]) -> str:
    """Number cards as JupyterLab shows them."""
    boxes = "".join(
        '<div style="border:1px solid #8885;border-radius:8px;padding:10px 14px">'
        f"<div>{html.escape(card['label'])}</div>"
        f'<div style="font-size:26px;font-weight:600">{html.escape(card["value"])}</div>'
        f"<small>{html.escape(card['note'])}</small></div>"
        for card in cards
    )
    return f'<div style="display:flex;gap:12px;flex-wrap:wrap">{boxes}</div>'


@dataclasses.dataclass(frozen=True)
class Caption:
    """The caption of the object below it; reports number each `label` from 1.

    `settings` says how the score was computed; it is printed small beside the text.

    Examples
    --------
    >>> print(Caption("CER falls with scan quality", settings="funsd:test|cer"))
    Figure. CER falls with scan quality [funsd:test|cer]
    """

    text: str
    label: Literal["Figure", "Table"] = "Figure"
    settings: str | None = None

    def __str__(self) -> str:
        settings = f" [{clean(self.settings, limit=2_000)}]" if self.settings else ""
        return f"{clean(self.label, limit=40)}. {clean(self.text, limit=2_000)}{settings}"

    def _repr_mimebundle_(self, **_: object) -> dict[str, Any]:
        text, label = clean(self.text, limit=2_000), clean(self.label, limit=40)
        settings = clean(self.settings, limit=2_000) if self.settings else None
        small = f"<br><code>{html.escape(settings)}</code>" if settings else ""
        page = f"<p><b>{html.escape(label)}.</b> {html.escape(text)}{small}</p>"
        payload = {"text": text, "label": label, "settings": settings}
        return bundle("caption", payload, str(self), page)


@dataclasses.dataclass(frozen=True)
class Sources:
    """Where a report's numbers come from: goes into its block "How this was made".

    Examples
    --------
    >>> print(Sources({"benchmark": "funsd", "split": "test"}))
    benchmark: funsd
    split: test
    """

    entries: Mapping[str, str]

    @classmethod
    def of(cls, folder: Corpus | Predictions | Evaluation) -> Sources:
        """The manifest of a corpus, of predictions or of an evaluation, one entry a fact."""
        entries = {
            name: str(getattr(folder, name))
            for name in ("benchmark", "split", "system", "mode")
            if hasattr(folder, name)
        }
        for name in ("settings", "notes", "flaws", "sources"):
            for key, value in getattr(folder, name, {}).items():
                entries[f"{name}: {key}"] = str(value)
        return cls(entries)

    @property
    def _texts(self) -> list[list[str]]:
        return [[clean(text, limit=300) for text in entry] for entry in self.entries.items()]

    def __str__(self) -> str:
        return "\n".join(f"{name}: {value}" for name, value in self._texts)

    def _repr_mimebundle_(self, **_: object) -> dict[str, Any]:
        rows = "".join(
            f"<tr><td>{html.escape(name)}</td><td>{html.escape(value)}</td></tr>"
            for name, value in self._texts
        )
        page = f"<table>{rows}</table>"
        return bundle("sources", {"entries": self._texts}, str(self), page)
