"""The items of a review: values of fields, questions, checks, and labels under audit."""

import dataclasses
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from formlab.decisions import KEY
from formlab.folders import Corpus
from formlab.gallery.crops import Box, finite
from formlab.tables import BOX
from formlab_review import drafts

# Parts of an item that are lists, edited as a line for each entry.
LISTS = ("answers", "options", "fields")
_PARTS = {
    "vqa": ("question", "answers", "options", "fields", "rationale"),
    "consistency": ("source", "dependent", "expected", "rationale"),
}
_FIELD = ("value", "modality", "subtype")
_SHOWN = ("kind", "scope", "reference", "complexity", "modal", "confidence", "status", "origin")


@dataclasses.dataclass(frozen=True)
class Item:
    """One thing to decide on.

    `key` has the columns of `formlab.decisions.KEY`; `label` is what is judged, as decisions keep
    it; `parts` are what an edit may change, by name, lists as a line for each entry; `facts` are
    to be read beside them; `boxes` are pairs of a page, from 1, and a box on it in pixels.
    """

    key: Mapping[str, str | None]
    label: str | None
    parts: Mapping[str, str]
    facts: tuple[tuple[str, str], ...] = ()
    boxes: tuple[tuple[int, Box], ...] = ()


class ItemDecisions:
    """The decisions of people on items as they read now; `stale` counts those on older texts."""

    def __init__(self, decisions: pl.DataFrame | None, words: Sequence[str]) -> None:
        self.stale, self._by_key, self._met = 0, {}, set()
        if decisions is not None:
            chosen = decisions.filter(pl.col("decision").is_in(list(words)))
            self._by_key = chosen.partition_by(KEY, as_dict=True) if chosen.height else {}

    def on(self, item: Item) -> pl.DataFrame | None:
        """The decisions on an item; None if there are none."""
        key = tuple(item.key[name] for name in KEY)
        # A decision on this split goes before one on every split.
        for known in (key, (key[0], None, *key[2:])):
            if (rows := self._by_key.get(known)) is not None:
                self._met.add(known)
                fresh = rows.filter(pl.col("label").eq_missing(pl.lit(item.label)))
                self.stale += rows.height - fresh.height
                return fresh if fresh.height else None
        return None

    @property
    def unmet(self) -> int:
        """On how many things there are decisions and was no item."""
        return len(self._by_key.keys() - self._met)


def of_records(records: pl.DataFrame, *, fields: pl.DataFrame | None = None) -> list[Item]:
    """The fields, questions and checks of a table of records, in its order.

    Parameters
    ----------
    records
        The schema RECORDS: gold, or drafts of it. Whole documents and groups are left out.
    fields
        Records whose boxes show where the fields of a question or check stand; `records` itself
        if left out.
    """
    places = _places(records if fields is None else fields)
    reviewed = records.filter(pl.col("path").is_not_null(), pl.col("task") != "layout")
    # Where some fields have a modality, another may lack it by mistake.
    names = [name for name in _FIELD if name == "value" or records[name].count()]
    return [_item(row, places, names) for row in reviewed.iter_rows(named=True)]


def of_corpus(corpus: Corpus, drafted: str | Path = "") -> list[Item]:
    """The items to verify in a corpus: its fields and items, or drafts of items for it.

    Parameters
    ----------
    corpus
        The gold.
    drafted
        A file or folder of drafts, as ``formlab formcraft`` writes them; then only the sound ones
        among them are reviewed, beside the fields that they are about.
    """
    if not str(drafted):
        return of_records(corpus.records)
    return of_records(drafts.records(drafts.read(drafted)), fields=corpus.records)


def of_proposals(proposals: pl.DataFrame) -> list[Item]:
    """The labels that systems contradict, as from `analysis.proposals`, in that order.

    An edit gives the right value; what most systems read is there to be taken over.
    """
    return [_proposed(row) for row in proposals.iter_rows(named=True)]


def _item(
    row: dict[str, Any], places: Mapping[tuple, tuple[int, Box]], names: Sequence[str]
) -> Item:
    meta = json.loads(row["meta"] or "{}") if row["task"] in _PARTS else {}
    parts = dict(_parts(row, meta, names))
    named = [str(row["path"]), *map(str, meta.get("fields") or ())]
    named += [str(meta[end]) for end in ("source", "dependent") if meta.get(end)]
    boxes = [places[at] for path in named if (at := (row["doc_id"], path)) in places]
    facts = [(name, str(row[name])) for name in _SHOWN if row[name] is not None]
    label = json.dumps(parts, ensure_ascii=False) if row["task"] in _PARTS else row["value"]
    key = {name: row[name] for name in KEY}
    return Item(key, label, parts, tuple(facts), tuple(dict.fromkeys(boxes)))


def _parts(
    row: dict[str, Any], meta: Mapping[str, Any], names: Sequence[str]
) -> Iterator[tuple[str, str]]:
    if row["task"] not in _PARTS:
        yield from ((name, row[name] or "") for name in names)
        return
    values = {name: meta.get(name) for name in _PARTS[row["task"]]}
    if row["task"] == "vqa":
        answers = [row["value"], *(row["accepted"] or ())]
        values["answers"] = [answer for answer in answers if answer is not None]
    else:
        values["expected"] = row["value"]
    for name, value in values.items():
        text = "\n".join(map(str, value or ())) if name in LISTS else str(value or "")
        yield name, text


def _proposed(row: dict[str, Any]) -> Item:
    agree = f"{row['n_agree']} of {row['n_systems']}: {', '.join(row['systems'])}"
    facts = [("label", row["gold"]), ("read as", row["pred"] or ""), ("by", agree)]
    facts += [(name, str(row[name])) for name in ("kind", "cause") if row[name]]
    boxes = _box(row, "page", BOX) or _box(row, "pred_page", [f"pred_{side}" for side in BOX])
    key = {name: row[name] for name in KEY} | ({"split": None} if row["shared"] else {})
    # The editor opens on what most systems read: most often that is what the page says.
    return Item(key, row["gold"], {"value": row["pred"] or ""}, tuple(facts), boxes)


def _box(row: dict[str, Any], page: str, sides: Any) -> tuple[tuple[int, Box], ...]:
    box = finite([row[side] for side in sides])
    return () if box is None else ((row[page] or 1, box),)


def _places(records: pl.DataFrame) -> dict[tuple, tuple[int, Box]]:
    fields = records.filter(pl.col("path").is_not_null()).select("doc_id", "path", "page", *BOX)
    return {
        (row["doc_id"], row["path"]): place
        for row in fields.iter_rows(named=True)
        for place in _box(row, "page", BOX)
    }
