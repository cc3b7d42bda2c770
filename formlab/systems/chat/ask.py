"""A question to a model: what is asked of a document and shown, and its answer's JSON schema.

A prompt is a file ``<task>.md`` in `formlab/systems/prompts`; the setting `prompt` names another,
or a file, for the only task asked. Its version is the hash of its text, which is part of the
settings.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from formlab.benchmarks import vrdu
from formlab.benchmarks.meta import meta_of
from formlab.errors import DataMissing, NotAvailable, UnknownName
from formlab.folders import Corpus
from formlab.systems import ocr
from formlab.systems.chat.settings import SHAPING
from formlab.systems.pages import Page, page_files, pages
from formlab.systems.prompts import read as read_prompt
from formlab.tables import BOX as SIDES
from formlab.text.layout import rows as reading_order

Row = dict[str, Any]
Schema = dict[str, Any]
# A page number and a box as the model gave them in, the columns page, x0, y0, x1, y1 out.
Place = Callable[[Any, Any], Row]
BOXES = ("thousandths", "pixels", "none")
PAGES = ("image", "text")

TEXT: Schema = {"type": "string"}
NUMBER: Schema = {"type": "number"}
PAGE: Schema = {"type": ["integer", "null"]}
# Neither `prefixItems` nor counts of items: servers support little of JSON schema.
BOX: Schema = {"type": ["array", "null"], "items": NUMBER}


class WrongShape(ValueError):
    """JSON of another shape than requested; the message says why."""


@dataclass(frozen=True)
class Ask:
    """What is asked of one document.

    `asked` goes into the user message beside the pages, as JSON; `schema` is that of the answer,
    None for plain text; `read` makes rows of *records* of the answer's value, with a `Place` for
    its boxes; `blank` are the rows for an answer that is not usable; `lacking` is the reason if
    the document cannot be asked about; `text` is the document's own, for one without an image.
    """

    asked: Row
    schema: Schema | None
    read: Callable[[Any, Place], list[Row]]
    blank: list[Row] = field(default_factory=list)
    lacking: str = ""
    text: str | None = None


@dataclass(frozen=True)
class Task:
    """One thing a model is asked about every document of a benchmark.

    `kind` is the task that its *responses* are filed under; `make` takes a document's row and its
    gold records (questions are in them) and gives what to ask, or None; `places` is how the
    answer gives positions, if it does: ``boxes`` or ``points``. `prompt` are its instructions, if
    no file has them. `answer` makes of a document's row, its gold and what gives page and box of a
    record the answer it should get.
    """

    name: str
    kind: str
    make: Callable[[Row, list[Row]], Ask | None] = lambda *_: None
    places: str = "boxes"
    prompt: str = ""
    answer: Callable[[Row, list[Row], Callable[[Row], Row]], Row] | None = None


def listed(item: Schema) -> Schema:
    """The schema of a list."""
    return {"type": "array", "items": item}


def choice(*words: str) -> Schema:
    """The schema of one of some words."""
    return {"type": "string", "enum": list(words)}


def closed(**members: Schema) -> Schema:
    """The schema of an object with these members and no others."""
    required = {"required": list(members), "additionalProperties": False}
    return {"type": "object", "properties": members} | required


def or_null(schema: Schema) -> Schema:
    """The schema of what may be null."""
    return {"anyOf": [schema, {"type": "null"}]}


def items_of(value: Any, name: str) -> list[Row]:
    """The objects listed under `name`; `WrongShape` if there is no such list.

    >>> items_of({"answers": [{"id": "1"}, "odd"]}, "answers")
    [{'id': '1'}]
    """
    items = value.get(name) if isinstance(value, dict) else None
    items = [items] if isinstance(items, dict) else items
    if not isinstance(items, list):
        raise WrongShape(f"no list {name!r} in the answer")
    return [item for item in items if isinstance(item, dict)]


def prompt_of(
    task: Task,
    *,
    prompt: str = "",
    boxes: str = BOXES[0],
    pages: str = PAGES[0],
    shots: bool = False,
) -> str:
    """The instructions of a task: those of `prompt`, a name or file, or formlab's own.

    `shots` says whether examples come first. `UnknownName` if points are to have no unit.
    """
    if task.places == "points" and boxes == "none":
        raise UnknownName.of("unit of points", boxes, BOXES[:2])
    parts = {f"{task.places}_{boxes}": task.places, "pages_text": pages == "text"}
    names = [name for name, is_in in (parts | {"shots_text": shots}).items() if is_in]
    main = read_prompt(prompt).text if prompt else task.prompt or read_prompt(task.name).text
    texts = [main, *(read_prompt(name).text for name in names)]
    return "\n".join(text.strip() + "\n" for text in texts).strip()


def messages(
    prompt: str,
    asked: Row,
    pages: Sequence[Page] = (),
    *,
    show: Callable[[Page], Row] = lambda _: {},
    schema: Schema | None = None,
    text: str | None = None,
) -> list[Row]:
    """The two messages of a question: the instructions, then what is asked, and the document.

    `show` makes of a page the part of the message that stands for it; `text` is the document's own.
    The `schema` of the answer goes into the instructions: many servers accept one and ignore it.
    """
    if schema:
        prompt += f"\n\n{read_prompt('json_form').text.strip()}\n{json.dumps(schema)}"
    # ASCII only: half surrogate pairs and control characters travel as escapes.
    texts = [json.dumps(asked) if asked else "", text or ""]
    content = [{"type": "text", "text": part} for part in texts if part]
    for page in pages:
        if len(pages) > 1:
            content.append({"type": "text", "text": f"Page {page.number}:"})
        content.append(show(page))
    user: Any = content
    if all(item["type"] == "text" for item in content):
        # Plain text: servers of text-only models silently drop lists.
        user = "\n\n".join(item["text"] for item in content) or "{}"
    return [{"role": "system", "content": prompt}, {"role": "user", "content": user}]


class PageView:
    """How pages are shown, by the settings of a model that `changes` leaves as they are.

    `limit` is the longest side in pixels: with 0 no page is shown. `most` are the pages at most,
    `boxes` the unit of places: ``thousandths`` of a page or ``pixels`` of it as it is sent, or
    ``none``. With the setting ``pages=text`` the lines that OCR reads stand for an image. Threads
    may share a view.
    """

    def __init__(self, changes: Row) -> None:
        names = ("image_limit", "max_pages", "boxes", "pages")
        self.limit, self.most, self.boxes, shown = map((SHAPING | changes).get, names)
        self.as_text, self._engine = shown == "text", ocr.Engine()

    def pages(self, document: Row, root: Path | None) -> list[Page]:
        """All pages of a document; none where no page is shown."""
        if not self.limit:
            return []
        return pages(page_files(document, root), limit=self.limit, width=document["width"])

    def in_key(self, page: Page) -> Row:
        """What stands for a page in the key of an answer."""
        return self._part(page, lambda: page.shape)

    def in_call(self, page: Page) -> Row:
        """What stands for a page in the message to the model."""
        return self._part(page, page.url)

    def _part(self, page: Page, url: Callable[[], Any]) -> Row:
        if self.as_text:
            return {"type": "text", "text": self.lines(page)}
        return {"type": "image_url", "image_url": {"url": url()}}

    def lines(self, page: Page) -> str:
        """The lines that OCR reads on a page, from top to bottom, as the JSON that a model gets."""
        lines = self._engine(page.image, of=page.drawn, words=True)
        boxes = np.array([ocr.box_of(line.corners) for line in lines]).reshape(-1, 4)
        sides = 1000 * boxes / (page.sent * 2) if self.boxes == "thousandths" else boxes
        shown: list[Any] = []
        for number in (number for row in reading_order(boxes) for number in row):
            text, place = lines[number].text, [round(side) for side in sides[number].tolist()]
            shown.append(text if self.boxes == "none" else [text, *place])
        return json.dumps({"PAGE": page.number, "LINES": shown})


def example_turns(task: Task, examples: Corpus, view: PageView) -> list[Row]:
    """A message and its answer for each example of a task: turns of a conversation.

    A page is shown as the words that come with its document, else as those that OCR reads.
    `NotAvailable` if the task has no examples, `DataMissing` or `DataBroken` if one cannot be read.
    """
    if task.answer is None:
        what = f"no examples can be shown for {task.name}"
        raise NotAvailable(what, remedy="--set shots=0")
    known = examples.records.rows_by_key("doc_id", named=True, include_key=True)
    turns = []
    for document in examples.documents.iter_rows(named=True):
        gold = known.get(document["doc_id"], [])
        turns += _turns(document, gold, examples.root, task, view)
    return turns


def _turns(
    document: Row, gold: list[Row], root: Path | None, task: Task, view: PageView
) -> list[Row]:
    if task.answer is None or (ask := task.make(document, gold)) is None:
        return []
    supplied = vrdu.words(document, root) if meta_of(document).get("ocr") else None
    words = supplied or [row for row in gold if row["kind"] == "word"]
    shown: dict[int, Page] = {}
    try:
        shown |= {page.number: page for page in view.pages(document, root)[: view.most]}
    except DataMissing:
        if not words:
            raise

    def box_of(row: Row) -> list[int] | None:
        page, box = shown.get(row["page"]), [row.get(side) for side in SIDES]
        if page is None or view.boxes == "none" or None in box:
            return None
        return page.stated(box, unit=view.boxes)

    texts = list(_page_texts(words, box_of))[: view.most] or map(view.lines, shown.values())
    answer = task.answer(document, gold, lambda row: {"page": row["page"], "box": box_of(row)})
    question = messages("", ask.asked, text="\n".join(texts))[1]
    return [question, {"role": "assistant", "content": json.dumps(answer)}]


def _page_texts(words: list[Row], box_of: Callable[[Row], list[int] | None]) -> Iterator[str]:
    """The words of each page by lines, as the prompt ``pages_text`` describes them."""
    pages: dict[int, list[Row]] = {}
    for word in words:
        pages.setdefault(word["page"], []).append(word)
    for number, found in sorted(pages.items()):
        sides = [[0, *(word.get(side) for side in SIDES)] for word in found]
        sides = [meta_of(w).get("box", box)[1:] for w, box in zip(found, sides, strict=True)]
        is_placed = not any(None in box for box in sides)
        order = reading_order(np.array(sides)) if is_placed else [range(len(found))]
        lines = [_line([found[place] for place in line], box_of) for line in order]
        yield json.dumps({"PAGE": number, "LINES": lines})


def _line(words: list[Row], box_of: Callable[[Row], list[int] | None]) -> Any:
    text = " ".join(word["value"] for word in words)
    boxes = [box for word in words if (box := box_of(word))]
    if len(boxes) < len(words):
        return text
    left, top, right, bottom = zip(*boxes, strict=True)
    return [text, min(left), min(top), max(right), max(bottom)]
