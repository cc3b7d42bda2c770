"""FUNSD: noisy scanned forms with entities, words, labels and links.

Layout: ``{training_data,testing_data}/{annotations/<id>.json,images/<id>.png}``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from operator import attrgetter
from pathlib import Path
from typing import Any

import msgspec

from formlab import files
from formlab.benchmarks.corpus import Part, Row, SplitReader, box_of, image_columns
from formlab.errors import DataBroken, GoldInDoubt
from formlab.files import Whole
from formlab.tables import BOX

FOLDERS = {"train": "training_data", "test": "testing_data"}
LABELS = ("header", "question", "answer", "other")


class _Word(msgspec.Struct, gc=False):
    text: str = ""
    box: Any = None


class _Entity(_Word, gc=False):
    id: Whole | None = None
    label: str | None = None
    words: list[_Word] = []
    linking: list[tuple[int | float | str | None, ...]] = []


class _Form(msgspec.Struct, gc=False):
    form: list[_Entity]


def reader(split: str, root: Path) -> SplitReader:
    """The forms of one split: a record per entity, word and link, and one for the page's text.

    Entities are at ``/entities/<id>`` (task `text`, kind = label), their words below them and
    links at ``/links/<from>/<to>`` (task `layout`). The page's text joins the texts of the
    entities that have one, in id order, by one space; this is the reference of whole-page scores.
    """
    folder = files.folder(
        root / FOLDERS[split] / "annotations",
        remedy="a folder that holds training_data and testing_data, as FUNSD is published",
    )
    images = root / FOLDERS[split] / "images"

    def read(file: Path, flaws: Counter[str], sources: dict[str, str]) -> Iterator[Part]:
        rows = rows_of(file, flaws)
        kinds = [row["kind"] for row in rows[1:] if row["task"] == "text"]
        document = {"doc_id": file.stem, "n_fields": len(kinds), "n_kinds": len(set(kinds))}
        sources[file.relative_to(root).as_posix()] = files.sha256(file)
        yield document | image_columns(root, f"{images}/{file.stem}.png", flaws), rows

    empty = DataBroken("no annotation files", where=folder, remedy="check the download")
    annotations = sorted(folder.glob("*.json"), key=attrgetter("name"))
    return SplitReader("funsd", split, root, annotations, read, empty=empty)


def rows_of(file: Path, flaws: Counter[str]) -> list[Row]:
    """The records of one file of annotations: the page, entities with their words, links."""
    entities = files.read_json(file, _Form, remedy="an object with a list 'form' of entities").form
    for index, entity in enumerate(entities):
        entity.id = index if entity.id is None else entity.id
    counts = Counter(entity.id for entity in entities)
    if twice := [str(number) for number, count in counts.items() if count > 1]:
        raise GoldInDoubt(f"entity ids given twice: {', '.join(twice)}", where=file)
    name, texts = file.name, {entity.id: entity.text.strip() for entity in entities}
    page = " ".join(filter(None, map(texts.get, sorted(texts))))
    rows: list[Row] = [{"task": "text", "kind": "page", "value": page, "origin": name, "page": 1}]
    flaws["entities without text"] += list(texts.values()).count("")
    places = _places([item for entity in entities for item in (entity, *entity.words)], flaws)
    for entity in entities:
        path = f"/entities/{entity.id}"
        flaws["entities with an unknown label"] += entity.label not in LABELS
        origin = f"{name}#{path}"
        row = {"task": "text", "path": path, "kind": entity.label, "value": entity.text}
        rows.append(row | {"page": 1, "origin": origin, "modality": "textual"} | next(places))
        for count, word in enumerate(entity.words):
            flaws["words without text"] += not word.text.strip()
            row = {"task": "layout", "path": f"{path}/words/{count}", "kind": "word", "page": 1}
            rows.append(row | {"origin": origin, "value": word.text} | next(places))
    # Both ends of a link list it; it is one link.
    mentions = Counter(link for entity in entities for link in entity.linking)
    blank = {number for number, text in texts.items() if not text}
    for link, count in mentions.items():
        ends = {*link}
        flaws["links of not two ends"] += len(link) != 2
        flaws["links to nothing"] += not texts.keys() >= ends
        flaws["links to an entity without text"] += not blank.isdisjoint(ends)
        is_loop = len(ends) == 1 and len(link) == 2
        flaws["links to itself"] += is_loop
        flaws["links named by one end only"] += count < 2 and not is_loop
        row = {"task": "layout", "kind": "link", "path": f"/links/{'/'.join(map(str, link))}"}
        row["value"] = " ".join(f"/entities/{end}" for end in link)
        rows.append(row | {"page": 1, "origin": f"{name}#/linking"})
    if len({row["path"] for row in rows[len(rows) - len(mentions) :]}) < len(mentions):
        raise GoldInDoubt("two links at one path, of numbers and of texts", where=file)
    return rows


def _places(items: list[_Word], flaws: Counter[str]) -> Iterator[Row]:
    """The columns of the box of each item, none where it has none; what is odd is counted."""
    boxes = [box_of(item.box) for item in items]
    flaws["boxes missing or malformed"] += boxes.count(None)
    flaws["boxes without area"] += sum(b[0] >= b[2] or b[1] >= b[3] for b in boxes if b)
    return (dict(zip(BOX, box, strict=True)) if box else {} for box in boxes)
