"""FUNSD: noisy scanned forms with entities, words, labels and links.

Layout: ``{training_data,testing_data}/{annotations/<id>.json,images/<id>.png}``.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator
from functools import lru_cache
from itertools import chain, starmap
from operator import attrgetter
from pathlib import Path
from typing import Any

import msgspec

from formlab import files, tables
from formlab.benchmarks._build import Part, Row, SplitReader, box_of, image_columns
from formlab.errors import DataBroken, GoldInDoubt
from formlab.files import Whole, convert
from formlab.folders import Corpus

FOLDERS = {"train": "training_data", "test": "testing_data"}
LABELS = ("header", "question", "answer", "other")
_Box = tuple[float, float, float, float]
_NO_BOX: Any = (None,) * 4


class _Word(msgspec.Struct, gc=False):
    text: str = ""
    box: _Box = _NO_BOX


class _Entity(_Word, gc=False):
    id: Whole | None = None
    label: str | None = None
    words: list[_Word] = []
    linking: list[tuple[int | float | str | None, ...]] = []


class _Form(msgspec.Struct, gc=False):
    form: list[_Entity]


_decode = msgspec.json.Decoder(_Form).decode


def read(split: str, root: Path) -> Corpus:
    """The forms of one split: a record per entity, word and link, and one for the page's text.

    Entities are at ``/entities/<id>`` (task `text`, kind = label), their words below them and
    links at ``/links/<from>/<to>`` (task `layout`). The page's text joins the texts of the
    entities that have one, in id order, by one space; this is the reference of whole-page scores.
    """
    return reader(split, root).corpus()


def reader(split: str, root: Path) -> SplitReader:
    """The same forms, one by one."""
    folder = files.folder(
        root / FOLDERS[split] / "annotations",
        remedy="a folder that holds training_data and testing_data, as FUNSD is published",
    )
    images, inside = root / FOLDERS[split] / "images", folder.relative_to(root).as_posix()

    def read(file: Path, flaws: Counter[str], sources: dict[str, str]) -> Iterator[Part]:
        data = files.read_bytes(file)
        entities = _entities(file, data)
        rows = _columns(file, entities, flaws)
        kinds = {entity.label for entity in entities}
        document = {"doc_id": file.stem, "n_fields": len(entities), "n_kinds": len(kinds)}
        sources[f"{inside}/{file.name}"] = hashlib.sha256(data).hexdigest()
        yield document | image_columns(root, f"{images}/{file.stem}.png", flaws), rows

    empty = DataBroken("no annotation files", where=folder, remedy="check the download")
    annotations = sorted(folder.glob("*.json"), key=attrgetter("name"))
    return SplitReader("funsd", split, root, annotations, read, empty=empty)


def rows_of(file: Path, flaws: Counter) -> list[Row]:
    """The records of one file of annotations, as `read` has them."""
    columns = _columns(file, _entities(file, files.read_bytes(file)), flaws)
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def _entities(file: Path, data: bytes) -> list[_Entity]:
    try:
        entities = _decode(data).form
    except (ValueError, RecursionError):
        # Python's parser says what is wrong, and takes what only it takes, as half a character.
        remedy = "an object with a list 'form' of entities"
        entities = convert(_mended(files.read_json(file)), _Form, where=file, remedy=remedy).form
    if None not in (ids := {entity.id for entity in entities}) and len(ids) == len(entities):
        return entities
    for index, entity in enumerate(entities):
        if entity.id is None:
            entity.id = index
    counts = Counter(entity.id for entity in entities)
    if twice := [str(number) for number, count in counts.items() if count > 1]:
        raise GoldInDoubt(f"entity ids given twice: {', '.join(twice)}", where=file)
    return entities


def _mended(row: Any) -> Any:
    """A form, entity or word without what is null, or a box of other than four numbers."""
    if not isinstance(row, dict):
        return row
    row = {key: value for key, value in row.items() if value is not None}
    for key in row.keys() & {"form", "words"}:
        if isinstance(row[key], list):
            row[key] = list(map(_mended, row[key]))
    if isinstance(row.get("text"), (int, float)):
        row["text"] = str(row["text"] or "")
    if box_of(row.get("box")) is None:
        row.pop("box", None)
    return row


def _columns(file: Path, entities: list[_Entity], flaws: Counter[str]) -> dict[str, list]:
    """The records of one file, column by column: the page, entities with their words, links."""
    name, texts = file.name, {entity.id: entity.text.strip() for entity in entities}
    items: list[_Word] = []
    paths: list[str | None] = [None]
    origins, starts = [name], []
    for entity in entities:
        own = _paths(entity.id, len(entity.words))
        starts.append(len(paths))
        items.append(entity)
        items += entity.words
        paths += own
        origins += [f"{name}#{own[0]}"] * len(own)
    link_paths, link_values = _links(file, entities, texts, flaws)
    links, height = len(link_paths), len(paths) + len(link_paths)
    tasks, modalities = ["text", *["layout"] * (height - 1)], [None] * height
    kinds = ["page", *["word"] * len(items), *["link"] * links]
    for start, entity in zip(starts, entities, strict=True):
        tasks[start], kinds[start], modalities[start] = "text", entity.label, "textual"
    values, boxes = [item.text for item in items], [item.box for item in items]
    odd = [x0 for x0, y0, x1, y1 in boxes if x0 is None or not (x1 > x0 and y1 > y0)]
    blank = list(texts.values()).count("")
    flaws["entities without text"] += blank
    flaws["words without text"] += values.count("") + sum(map(str.isspace, values)) - blank
    labels = [entity.label for entity in entities]
    flaws["entities with an unknown label"] += len(labels) - sum(map(labels.count, LABELS))
    flaws["boxes missing or malformed"] += odd.count(None)
    flaws["boxes without area"] += len(odd) - odd.count(None)
    page = " ".join(filter(None, map(texts.get, sorted(texts))))
    sides = zip(_NO_BOX, *boxes, *[_NO_BOX] * links, strict=True)
    return {
        "task": tasks, "path": paths + link_paths, "kind": kinds,
        "value": [page, *values, *link_values], "modality": modalities,
        "origin": origins + [f"{name}#/linking"] * links, "page": [1] * height,
    } | dict(zip(tables.BOX, sides, strict=True))  # fmt: skip


@lru_cache(maxsize=10_000)
def _paths(entity: int, words: int) -> list[str]:
    """The paths of an entity and its words, which are much the same in all forms."""
    path = f"/entities/{entity}"
    return [path, *[f"{path}/words/{index}" for index in range(words)]]


def _links(
    file: Path, entities: list[_Entity], texts: dict[int | None, str], flaws: Counter[str]
) -> tuple[list[str], list[str]]:
    """The paths of the links and their values."""
    # Both ends of a link list it; it is one link.
    mentions = Counter(chain.from_iterable([entity.linking for entity in entities]))
    blank = {number for number, text in texts.items() if not text}
    known = texts.keys() - blank
    for link, count in mentions.items():
        start, end = link if len(link) == 2 else (*link, None, None)[:2]
        if count > 1 and start != end and start in known and end in known and len(link) == 2:
            continue
        flaws.update({
            "links of not two ends": len(link) != 2,
            "links to nothing": not texts.keys() >= set(link),
            "links to an entity without text": not blank.isdisjoint(link),
            "links to itself": start == end,
            "links named by one end only": count < 2 and start != end,
        })  # fmt: skip
    found = dict(starmap(_link, mentions))
    if len(found) < len(mentions):
        raise GoldInDoubt("two links at one path, of numbers and of texts", where=file)
    return list(found), list(found.values())


@lru_cache(maxsize=10_000, typed=True)
def _link(*ends: object) -> tuple[str, str]:
    """The path of a link and its value."""
    return f"/links/{'/'.join(map(str, ends))}", " ".join(f"/entities/{end}" for end in ends)
