"""One reviewer's session over items: every decision is in the file before it counts."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from formlab import decisions as decided
from formlab import files, tables
from formlab.charts import theme
from formlab.charts.words import Caption, Table, table
from formlab.errors import DataBroken, FormlabError, UnknownName
from formlab_review.items import LISTS, Item
from formlab_review.pages import Pages

if TYPE_CHECKING:
    from formlab_review.widget import ReviewWidget

OPEN = "open"
_NAME = re.compile(r"[\w][\w.@+-]{0,63}")


def file_of(folder: str | Path, reviewer: str) -> Path:
    """The file of a reviewer in a folder; `DataBroken` if the name is no name for a file."""
    if not _NAME.fullmatch(reviewer):
        what = f"{reviewer!r:.80} is no name for a reviewer"
        raise DataBroken(what, remedy="letters, digits and .@+-_, such as ada")
    return Path(folder) / f"{reviewer}{decided.SUFFIX}"


def corpora(keys: Iterable[Mapping[str, Any]]) -> str:
    """The corpora that these keys are of, as in “formcraft:test, funsd:test”."""
    names = (":".join(filter(None, (key["benchmark"], key["split"]))) for key in keys)
    return ", ".join(dict.fromkeys(names)) or "no corpus"


def now() -> str:
    """The time of a decision."""
    return datetime.now(UTC).isoformat(timespec="seconds")


@dataclasses.dataclass(eq=False)
class Review:
    """Items, their reviewer, and the decisions so far; shows itself in JupyterLab.

    Parameters
    ----------
    items
        In the order to decide in.
    folder
        Of decisions; this reviewer's file in it is ``<reviewer>.jsonl``.
    reviewer
        A short name; letters, digits and ``.@+-_``.
    pages
        Draws the pages; None shows none.
    words
        The decisions to choose from, `decisions.REVIEW`, `decisions.LABEL_AUDIT` or
        `decisions.ADJUDICATION`.
    titles
        What the page calls them, where that is not the word itself.

    Raises
    ------
    DataBroken
        If the reviewer's name is no name for a file, or the file is damaged.
    """

    items: Sequence[Item]
    folder: str | Path
    reviewer: str
    pages: Pages | None = None
    words: Sequence[str] = decided.REVIEW
    titles: Mapping[str, str] = dataclasses.field(default_factory=dict)

    def __post_init__(self) -> None:
        self.file = file_of(self.folder, self.reviewer)
        self._at = {self._key(item.key): at for at, item in enumerate(self.items)}
        self._view: ReviewWidget | None = None
        self.reload()
        # What an earlier session decided can be taken back too, the last first.
        in_time = sorted(self.done, key=lambda at: self.done[at]["time"] or "")
        self._undo: list[tuple[int, dict[str, Any] | None]] = [(at, None) for at in in_time]

    @staticmethod
    def _key(row: Mapping[str, Any]) -> tuple:
        return tuple(row[name] for name in decided.KEY)

    def reload(self) -> None:
        """Read the file anew: `done` maps an item's place to the decision on it.

        A decision on a label that reads otherwise by now leaves its item open.
        """
        mine = decided.found(self.file).filter(pl.col("reviewer") == self.reviewer)
        # What stands in the file, and what of it counts here.
        self._seen: dict[int, dict[str, Any]] = {}
        self.done: dict[int, dict[str, Any]] = {}
        for row in mine.iter_rows(named=True):
            at = self._at.get(self._key(row))
            if at is None:
                continue
            self._seen[at] = row
            counts = row["label"] == files.storable(self.items[at].label)
            if counts and row["decision"] in self.words:
                self.done[at] = row

    def decide(
        self, at: int, decision: str, *, parts: Mapping[str, str] | None = None,
        note: str | None = None,
    ) -> dict[str, Any]:  # fmt: skip
        """Save a decision on item `at`; it is on the disk when this returns.

        Parameters
        ----------
        at
            The item's place.
        decision
            One of `words`.
        parts
            Of an edit, or of a label error whose right value is known: the item's parts as they
            should read, by name; a list as a line for each entry.
        note
            Free text.

        Raises
        ------
        UnknownName
            If there is no such decision or part.
        DataBroken
            If an edit changes nothing, or another window has decided on the item since; the
            session then knows of that decision.
        """
        if decision not in self.words:
            raise UnknownName.of("decision", decision, self.words)
        item = self.items[at]
        row = dict.fromkeys(tables.DECISIONS) | dict(item.key) | {
            "decision": decision, "label": files.storable(item.label),
            "note": files.storable(note) or None, "reviewer": self.reviewer,
            "time": now(),
        }  # fmt: skip
        if decision in ("edit", "label_error") and parts is not None:
            row |= self._changed(item, parts, decision)
        if decision == "edit" and row["value"] is None and row["parts"] is None:
            raise DataBroken("the edit changes nothing", remedy="accept it, or change a part")
        before = self.done.get(at)
        self._save(at, row)
        self._undo.append((at, before))
        return row

    def _save(self, at: int, row: dict[str, Any] | None) -> None:
        """Save or take back a decision, unless another window has decided on the item since."""
        seen = self._seen.get(at)
        try:
            if row is None:
                key = dict(self.items[at].key) | {"reviewer": self.reviewer}
                decided.forget(self.file, key, seen=seen)
            else:
                decided.record(self.file, row, seen=seen)
        except DataBroken:
            with contextlib.suppress(FormlabError):
                self.reload()
            raise
        for known in (self._seen, self.done):
            known.pop(at, None)
            if row is not None:
                known[at] = row

    def _changed(self, item: Item, parts: Mapping[str, str], decision: str) -> dict[str, Any]:
        for name in parts:
            if name not in item.parts:
                raise UnknownName.of("part of this item", name, item.parts)
        texts = {name: str(files.storable(text)) for name, text in parts.items()}
        new = {name: text for name, text in texts.items() if text != item.parts[name]}
        if decision == "label_error":
            # The editor opens on what the systems read, so an unchanged text is an answer too.
            new |= {"value": texts["value"]} if "value" in texts else {}
        value = new.pop("value", None)
        lists = {name: text.split("\n") for name, text in new.items() if name in LISTS}
        line = json.dumps(new | lists, ensure_ascii=False, sort_keys=True) if new else None
        return {"value": value, "parts": line}

    def undo(self) -> int | None:
        """Take the last decision back; the place of its item, or None if there is none."""
        if not self._undo:
            return None
        at, before = self._undo.pop()
        self._save(at, before)
        return at

    @property
    def first_open(self) -> int:
        """The index of the first item without a decision; that of the last if all have one."""
        rest = (at for at in range(len(self.items)) if at not in self.done)
        return next(rest, max(0, len(self.items) - 1))

    def progress(self) -> pl.DataFrame:
        """How many items of each task have each decision, and how many have none."""
        words = (self.done.get(at, {"decision": OPEN})["decision"] for at in range(len(self.items)))
        rows = zip((item.key["task"] for item in self.items), words, strict=True)
        frame = pl.DataFrame(rows, dict.fromkeys(("task", "word"), pl.String), orient="row")
        counts = {word: (pl.col("word") == word).sum().cast(int) for word in (*self.words, OPEN)}
        return frame.group_by("task", maintain_order=True).agg(**counts, items=pl.len().cast(int))

    def state(self) -> tuple[Caption, Table]:
        """A caption and the table of progress: what a report shows of a review."""
        text = f"Progress: {len(self.done):,} of {len(self.items):,} items of "
        text += f"{corpora(item.key for item in self.items)} are decided in {self.file.name}."
        version = decided.version(decided.found(self.file))
        settings = f"decisions={self.file.name}@{version}"
        return Caption(text, label="Table", settings=settings), table(self.progress())

    def view(self) -> ReviewWidget:
        """The widget to decide in."""
        # Reports and plain Python need no widget machinery.
        from formlab_review.widget import ReviewWidget

        if self._view is None:
            self._view = ReviewWidget(self)
        return self._view

    def show(self) -> tuple[Any, ...]:
        """The widget; in a report, where nobody decides, the progress."""
        if not self.items:
            return (Caption("There is nothing to decide on.", label="Note"),)
        return self.state() if theme.in_report() else (self.view(),)
