"""FUNSD: noisy scanned forms with entities, words, labels and links.

Layout: ``{training_data,testing_data}/{annotations/<id>.json,images/<id>.png}``.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import chain, compress
from operator import attrgetter
from pathlib import Path
from typing import Any, Generic, TypeVar

import msgspec

from formlab import files
from formlab.benchmarks.corpus import Box, Part, SplitReader, box_of, image_columns
from formlab.errors import DataBroken, GoldInDoubt
from formlab.files import Whole
from formlab.tables import BOX

FOLDERS = {"train": "training_data", "test": "testing_data"}
_NO_BOX = (None,) * 4
_COLUMNS = ("task", "path", "kind", "value", "origin", "modality", *BOX)
LABELS = ("header", "question", "answer", "other")
_B = TypeVar("_B")


class _Word(msgspec.Struct, Generic[_B], gc=False):
    text: str = ""
    box: _B | None = None


class _Entity(_Word[_B], Generic[_B], gc=False):
    id: Whole | None = None
    label: str | None = None
    words: list[_Word[_B]] = []
    linking: list[tuple[int | float | str | None, ...]] = []


class _Form(msgspec.Struct, Generic[_B], gc=False):
    form: list[_Entity[_B]]


def reader(split: str, root: Path) -> SplitReader:
    """The forms of one split: a record per entity, word and link, and one for the page's text.

    Entities are at ``/entities/<id>`` (task `text`, kind = label), their words below them and
    links at ``/links/<from>/<to>`` (task `layout`). The page's text joins the texts of the
    entities that have one, in id order, by one space; this is the reference of whole-page scores.
    """
    remedy = "a folder that holds training_data and testing_data, as FUNSD is published"
    home = root / FOLDERS[split]
    folder = files.folder(home / "annotations", remedy=remedy)
    annotations = sorted(folder.glob("*.json"), key=attrgetter("name"))
    empty = f"annotation files in {FOLDERS[split]}"
    read = partial(_read, root, home / "images")
    return SplitReader("funsd", split, root, annotations, read, {"page": 1}, empty=empty)


def _read(root: Path, images: Path, file: Path, flaws: Counter[str]) -> Iterator[Part]:
    columns = columns_of(file, flaws)
    kinds = list(compress(columns["kind"], columns["modality"]))
    document = {"doc_id": file.stem, "n_fields": len(kinds), "n_kinds": len({*kinds})}
    yield document | image_columns(root, f"{images}/{file.stem}.png", flaws), columns


def columns_of(file: Path, flaws: Counter[str]) -> dict[str, Sequence[Any]]:
    """The records of a file of annotations: the page, the entities, their words, and links."""
    remedy = "an object with a list 'form' of entities"
    try:
        entities = files.read_json(file, _Form[Box], remedy=remedy).form
    except DataBroken:
        # An odd box costs no form.
        entities = files.read_json(file, _Form[Any], remedy=remedy).form
        for item in (item for entity in entities for item in (entity, *entity.words)):
            item.box = box_of(item.box)
    for index, entity in enumerate(entities):
        entity.id = index if entity.id is None else entity.id
    texts = {entity.id: entity.text.strip() for entity in entities}
    if len(texts) < len(entities):
        counts = Counter(entity.id for entity in entities).most_common()
        twice = ", ".join(str(number) for number, count in counts if count > 1)
        raise GoldInDoubt(f"entity ids given twice: {twice}", where=file)
    page = " ".join(filter(None, map(texts.get, sorted(texts))))
    rows: list[tuple] = [("text", None, "page", page, file.name, None, *_NO_BOX)]
    for entity in entities:
        path, box = f"/entities/{entity.id}", entity.box or _NO_BOX
        origin = f"{file.name}#{path}"
        rows.append(("text", path, entity.label, entity.text, origin, "textual", *box))
        for number, word in enumerate(entity.words):
            box, place = word.box or _NO_BOX, f"{path}/words/{number}"
            rows.append(("layout", place, "word", word.text, origin, None, *box))
    words = [*chain.from_iterable([entity.words for entity in entities])]
    boxes = [item.box for item in (*entities, *words) if item.box]
    flaws["entities without text"] += list(texts.values()).count("")
    flaws["entities with an unknown label"] += sum([e.label not in LABELS for e in entities])
    flaws["words without text"] += [word.text.strip() for word in words].count("")
    flaws["boxes missing or malformed"] += len(entities) + len(words) - len(boxes)
    flaws["boxes without area"] += sum([x0 >= x1 or y0 >= y1 for x0, y0, x1, y1 in boxes])
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
        path = f"/links/{'/'.join(map(str, link))}"
        value = " ".join(f"/entities/{end}" for end in link)
        rows.append(("layout", path, "link", value, f"{file.name}#/linking", None, *_NO_BOX))
    return dict(zip(_COLUMNS, zip(*rows, strict=True), strict=True))
