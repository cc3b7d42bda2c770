"""FUNSD: noisy scanned forms with entities, words, labels and links.

Layout: ``{training_data,testing_data}/{annotations/<id>.json,images/<id>.png}``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

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
        entities = _entities(file)
        rows = [{"page": 1} | row for row in _records(file, entities, flaws)]
        image = root / FOLDERS[split] / "images" / f"{file.stem}.png"
        kinds = {entity.get("label") for entity in entities}
        document = {"doc_id": file.stem, "n_fields": len(entities), "n_kinds": len(kinds)}
        sources[str(file.relative_to(root))] = files.sha256(file)
        yield document | image_columns(root, image, flaws), rows

    empty = DataBroken("no annotation files", where=folder, remedy="check the download")
    return SplitReader("funsd", split, root, sorted(folder.glob("*.json")), read, empty=empty)


def rows_of(file: Path, flaws: Counter) -> list[Row]:
    """The records of one file of annotations, as `read` has them."""
    return list(_records(file, _entities(file), flaws))


def _entities(file: Path) -> list[Row]:
    form = files.read_json(file)
    entities = form.get("form") if isinstance(form, dict) else None
    if not isinstance(entities, list) or not all(isinstance(e, dict) for e in entities):
        what = "a FUNSD annotation is an object with a list 'form' of entities"
        raise DataBroken(what, where=file)
    return entities


def _records(file: Path, entities: list[Row], flaws: Counter) -> Iterator[Row]:
    texts = [str(e.get("text") or "") for e in entities]
    ids = [entity.get("id", index) for index, entity in enumerate(entities)]
    if odd := [number for number in ids if not isinstance(number, int)]:
        raise DataBroken(f"entity id {odd[0]!r} is not a whole number", where=file)
    ordered = [text.strip() for _, text in sorted(zip(ids, texts, strict=True)) if text.strip()]
    yield {"task": "text", "kind": "page", "value": " ".join(ordered), "origin": file.name}
    if len(set(ids)) != len(ids):
        twice = [str(i) for i, count in Counter(ids).items() if count > 1]
        raise DataBroken(f"entity ids given twice: {', '.join(twice)}", where=file)
    for number, entity, text in zip(ids, entities, texts, strict=True):
        path = f"/entities/{number}"
        label = entity.get("label")
        flaws["entities without text"] += not text.strip()
        flaws["entities with an unknown label"] += label not in LABELS
        box = _box(entity, flaws)
        yield {
            "task": "text", "path": path, "kind": label, "value": text, "modality": "textual",
            "origin": f"{file.name}#{path}",
        } | box  # fmt: skip
        for index, word in enumerate(entity.get("words") or []):
            flaws["words without text"] += not str(word.get("text") or "").strip()
            yield {
                "task": "layout", "path": f"{path}/words/{index}", "kind": "word",
                "value": str(word.get("text") or ""), "origin": f"{file.name}#{path}",
            } | _box(word, flaws)  # fmt: skip
    yield from _links(file, entities, dict(zip(ids, texts, strict=True)), flaws)


def _links(file: Path, entities: list[Row], texts: dict[int, str], flaws: Counter) -> Iterator[Row]:
    # Both ends of a link list it; it is one link.
    mentions = Counter(tuple(link) for entity in entities for link in entity.get("linking") or [])
    for link, count in mentions.items():
        start, end = (*link, None, None)[:2]
        flaws["links of not two ends"] += len(link) != 2
        flaws["links to nothing"] += any(end_id not in texts for end_id in link)
        flaws["links to an entity without text"] += any(
            end_id in texts and not texts[end_id].strip() for end_id in link
        )
        flaws["links to itself"] += start == end
        flaws["links named by one end only"] += count < 2 and start != end
        yield {
            "task": "layout", "path": f"/links/{start}/{end}", "kind": "link",
            "value": " ".join(f"/entities/{end_id}" for end_id in link),
            "origin": f"{file.name}#/linking",
        }  # fmt: skip


def _box(item: Row, flaws: Counter) -> Row:
    box = item.get("box")
    if not isinstance(box, list) or len(box) != 4:
        flaws["boxes missing or malformed"] += 1
        return {}
    flaws["boxes without area"] += not (box[2] > box[0] and box[3] > box[1])
    return dict(zip(tables.BOX, map(float, box), strict=True))
