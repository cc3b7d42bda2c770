"""FUNSD: noisy scanned forms with entities, words, labels and links.

Layout: ``{training_data,testing_data}/{annotations/<id>.json,images/<id>.png}``.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator
from itertools import chain, repeat
from operator import itemgetter
from pathlib import Path
from typing import Any

import numpy as np
from pydantic_core import from_json

from formlab import files, tables
from formlab.benchmarks._build import Part, Row, SplitReader, image_columns
from formlab.errors import DataBroken
from formlab.folders import Corpus

FOLDERS = {"train": "training_data", "test": "testing_data"}
LABELS = ("header", "question", "answer", "other")


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

    def read(file: Path, flaws: Counter[str], sources: dict[str, str]) -> Iterator[Part]:
        data = files.read_bytes(file)
        entities = _entities(file, data)
        rows = _columns(file, entities, flaws)
        image = root / FOLDERS[split] / "images" / f"{file.stem}.png"
        kinds = {entity.get("label") for entity in entities}
        document = {"doc_id": file.stem, "n_fields": len(entities), "n_kinds": len(kinds)}
        sources[str(file.relative_to(root))] = hashlib.sha256(data).hexdigest()
        yield document | image_columns(root, image, flaws), rows

    empty = DataBroken("no annotation files", where=folder, remedy="check the download")
    return SplitReader("funsd", split, root, sorted(folder.glob("*.json")), read, empty=empty)


def rows_of(file: Path, flaws: Counter) -> list[Row]:
    """The records of one file of annotations, as `read` has them."""
    columns = _columns(file, _entities(file, files.read_bytes(file)), flaws)
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def _entities(file: Path, data: bytes) -> list[Row]:
    try:
        form = from_json(data)
    except ValueError:
        # Python's parser says what is wrong, and takes what only it takes, as half a character.
        form = files.read_json(file)
    entities = form.get("form") if isinstance(form, dict) else None
    if not isinstance(entities, list) or not all(isinstance(e, dict) for e in entities):
        what = "a FUNSD annotation is an object with a list 'form' of entities"
        raise DataBroken(what, where=file)
    return entities


def _columns(file: Path, entities: list[Row], flaws: Counter) -> dict[str, list]:
    """The records of one file, column by column: the page, entities with their words, links."""
    texts = _texts(entities)
    ids = [entity.get("id", index) for index, entity in enumerate(entities)]
    if odd := [number for number in ids if not isinstance(number, int)]:
        raise DataBroken(f"entity id {odd[0]!r} is not a whole number", where=file)
    if len(set(ids)) != len(ids):
        twice = [str(i) for i, count in Counter(ids).items() if count > 1]
        raise DataBroken(f"entity ids given twice: {', '.join(twice)}", where=file)
    name, labels = file.name, _values(entities, "label")
    flaws["entities without text"] += _blank(texts)
    flaws["entities with an unknown label"] += sum(label not in LABELS for label in labels)
    ordered = [text.strip() for _, text in sorted(zip(ids, texts, strict=True)) if text.strip()]
    tasks, kinds, modalities = ["text"], ["page"], [None]
    paths, values, origins = [None], [" ".join(ordered)], [name]
    lists = [entity.get("words") or () for entity in entities]
    words = list(chain.from_iterable(lists))
    written, places = _texts(words), _values(words, "box")
    flaws["words without text"] += _blank(written)
    boxes: list[Any] = []
    start = 0
    own = zip(ids, labels, _values(entities, "box"), texts, map(len, lists), strict=True)
    for number, label, box, text, count in own:
        path, end = f"/entities/{number}", start + count
        tasks += "text", *repeat("layout", count)
        kinds += label, *repeat("word", count)
        modalities += "textual", *repeat(None, count)
        paths += path, *[f"{path}/words/{index}" for index in range(count)]
        values += text, *written[start:end]
        origins += repeat(f"{name}#{path}", count + 1)
        boxes += box, *places[start:end]
        start = end
    links = _links(entities, dict(zip(ids, texts, strict=True)), flaws)
    sides = [[None, *side, *[None] * len(links)] for side in _sides(boxes, flaws)]
    tasks += ["layout"] * len(links)
    kinds += ["link"] * len(links)
    modalities += [None] * len(links)
    origins += [f"{name}#/linking"] * len(links)
    for path, value in links:
        paths.append(path)
        values.append(value)
    return {
        "task": tasks, "path": paths, "kind": kinds, "value": values, "modality": modalities,
        "origin": origins, "page": [1] * len(paths),
    } | dict(zip(tables.BOX, sides, strict=True))  # fmt: skip


def _values(rows: list[Row], key: str) -> list[Any]:
    try:
        return list(map(itemgetter(key), rows))
    except (KeyError, TypeError):
        return [row.get(key) for row in rows]


def _texts(rows: list[Row]) -> list[str]:
    texts = _values(rows, "text")
    return texts if {str}.issuperset(map(type, texts)) else [str(text or "") for text in texts]


def _blank(texts: list[str]) -> int:
    return list(map(str.strip, texts)).count("")


def _links(entities: list[Row], texts: dict[int, str], flaws: Counter) -> list[tuple[str, str]]:
    """Path and value of each link."""
    # Both ends of a link list it; it is one link.
    linking = chain.from_iterable(entity.get("linking") or () for entity in entities)
    mentions = Counter(map(tuple, linking))
    blank = {number for number, text in texts.items() if not text.strip()}
    known = texts.keys() - blank
    links = []
    for link, count in mentions.items():
        start, end = (*link, None, None)[:2]
        if len(link) != 2 or count < 2 or start == end or not known.issuperset(link):
            flaws.update({
                "links of not two ends": len(link) != 2,
                "links to nothing": not texts.keys() >= set(link),
                "links to an entity without text": not blank.isdisjoint(link),
                "links to itself": start == end,
                "links named by one end only": count < 2 and start != end,
            })  # fmt: skip
        links.append(
            (f"/links/{start}/{end}", " ".join([f"/entities/{number}" for number in link]))
        )
    return links


def _sides(boxes: list[Any], flaws: Counter) -> list[list[float | None]]:
    """The columns of boxes; one that is missing or malformed is null in all of them."""
    try:
        array = np.array(boxes)
    except ValueError:
        array = np.array([])
    if array.ndim == 2 and array.shape[1] == 4 and array.dtype.kind in "if":
        x0, y0, x1, y1 = array.T
        flaws["boxes without area"] += int((~((x1 > x0) & (y1 > y0))).sum())
        return array.T.astype(float).tolist()
    sides: list[list[float | None]] = [[], [], [], []]
    broken = [None] * 4
    whole = [box if isinstance(box, list) and len(box) == 4 else broken for box in boxes]
    for side, values in zip(sides, zip(*whole, strict=True), strict=False):
        side += [None if value is None else float(value) for value in values]
    missing = sum(box is broken for box in whole)
    x0, y0, x1, y1 = sides
    areas = sum(
        right is not None and right > left and bottom > top
        for left, top, right, bottom in zip(x0, y0, x1, y1, strict=True)
    )
    flaws["boxes missing or malformed"] += missing
    flaws["boxes without area"] += len(boxes) - missing - areas
    return sides
