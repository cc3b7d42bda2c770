"""A question to a model: what is asked of a document and shown, and its answer's JSON schema."""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from formlab.benchmarks import vrdu
from formlab.benchmarks.corpus import around, meta_of
from formlab.errors import DataMissing, NotAvailable
from formlab.folders import Corpus
from formlab.systems import ocr, prompts
from formlab.systems.chat.client import RUNNING, SHAPING
from formlab.systems.pages import Page, page_files, pages
from formlab.tables import BOX as SIDES
from formlab.text.markup import in_rows as reading_order

Row = dict[str, Any]
Schema = dict[str, Any]
# A page number and a box as the model gave them in, the columns page, x0, y0, x1, y1 out.
Place = Callable[[Any, Any], Row]

TEXT: Schema = {"type": "string"}
NUMBER: Schema = {"type": "number"}
PAGE: Schema = {"type": ["integer", "null"]}
# Neither `prefixItems` nor counts of items: servers support little of JSON schema.
BOX: Schema = {"type": ["array", "null"], "items": NUMBER}


class WrongShape(ValueError):
    """JSON of another shape than requested; the message says why."""


@dataclass(frozen=True)
class Question:
    """What is asked of one document.

    `asked` goes into the user message beside the pages, as JSON; `schema` is that of the answer,
    None for plain text; `read` makes rows of *records* of the answer's value; `blank` are those of
    an answer that is not usable; `lacking` is why the document cannot be asked about; `text` is
    its own, shown if it has no image; `turns` are messages of examples, `kind` is the task that
    its *responses* are of.
    """

    asked: Row
    schema: Schema | None
    read: Callable[[Any, Place], list[Row]]
    blank: list[Row] = field(default_factory=list)
    lacking: str = ""
    text: str | None = None
    document: Row = field(default_factory=dict)
    task: str = ""
    kind: str = ""
    prompt: str = ""
    turns: Sequence[Row] = ()


@dataclass(frozen=True)
class Task:
    """One thing a model is asked about every document of a benchmark.

    `kind` is the task of its *responses*; `make` gives what to ask of a document's row and its gold
    records, in which questions are, or None; the answer has ``boxes`` or ``points`` as `places`.
    Without `prompt` a file ``<name>.md`` in `formlab/systems/prompts` has its instructions.
    `answer` makes the right answer of a document, its gold, and what places a record.
    """

    name: str
    kind: str
    make: Callable[[Row, list[Row]], Question | None] = lambda *_: None
    places: str = "boxes"
    prompt: str = ""
    answer: Callable[[Row, list[Row], Callable[[Row], Row]], Row] | None = None


def listed(item: Schema) -> Schema:
    """The schema of a list."""
    return {"type": "array", "items": item}


def closed(**members: Schema) -> Schema:
    """The schema of an object with these members and no others."""
    required = {"required": list(members), "additionalProperties": False}
    return {"type": "object", "properties": members} | required


def or_null(schema: Schema) -> Schema:
    """The schema of what may be null."""
    return {"anyOf": [schema, {"type": "null"}]}


def items_of(value: Any, name: str) -> list[Row]:
    """The objects listed under `name`; `WrongShape` if there is no such list."""
    items = value.get(name) if isinstance(value, dict) else None
    items = [items] if isinstance(items, dict) else items
    if not isinstance(items, list):
        raise WrongShape(f"no list {name!r} in the answer")
    return [item for item in items if isinstance(item, dict)]


def prompt_of(task: Task, **settings: Any) -> str:
    """The instructions of a task, or those that the setting `prompt` names, and what follows.

    What follows is by the settings `boxes`, `pages` and `shots` of a model.
    """
    settings = SHAPING | RUNNING | settings
    names = [f"{task.places}_{settings['boxes']}"] if task.places else []
    names += ["pages_text"] if settings["pages"] == "text" else []
    names += ["shots_text"] if settings["shots"] else []
    own = settings["prompt"] or (not task.prompt and task.name)
    texts = [prompts.read(own).text if own else task.prompt]
    texts += [prompts.read(name).text for name in names]
    return "\n".join(text.strip() + "\n" for text in texts).strip()


def messages(
    prompt: str, asked: Row, parts: Iterable[Row] = (), *, schema: Any = None, text: str = ""
) -> list[Row]:
    """The two messages of a question: the instructions, then what is asked, and the document.

    `parts` show its pages (`PageView.parts`), `text` is its own. The `schema` of the answer goes
    into the instructions as well: many servers accept one and ignore it.
    """
    if schema:
        prompt += f"\n\n{prompts.read('json_form').text.strip()}\n{json.dumps(schema)}"
    # ASCII only: half surrogate pairs and control characters travel as escapes.
    texts = [json.dumps(asked) if asked else "", text]
    user: Any = [*({"type": "text", "text": part} for part in texts if part), *parts]
    if all(part["type"] == "text" for part in user):
        # Plain text: servers of text-only models silently drop lists.
        user = "\n\n".join(part["text"] for part in user) or "{}"
    return [{"role": "system", "content": prompt}, {"role": "user", "content": user}]


class PageView:
    """How pages are shown, by the settings of a model that `changes` leaves as they are.

    `limit` is the longest side in pixels, 0 to show none, `most` the pages at most, `boxes` the
    unit of places. With ``pages=text`` lines of OCR stand for images. Threads may share a view.
    """

    def __init__(self, changes: Row) -> None:
        names = ("image_limit", "max_pages", "boxes", "pages")
        self.limit, self.most, self.boxes, shown = map((SHAPING | changes).get, names)
        self._is_text, self._engine = shown == "text", ocr.Engine()

    def pages(self, document: Row, root: Path | None) -> list[Page]:
        """All pages of a document; none where no page is shown."""
        if not self.limit:
            return []
        return pages(page_files(document, root), limit=self.limit, width=document["width"])

    def parts(self, pages: Sequence[Page]) -> Iterator[Row]:
        """The parts of a message that show these pages; a `Page` stands for its own picture."""
        for page in pages:
            if len(pages) > 1:
                yield {"type": "text", "text": f"Page {page.number}:"}
            picture = {"type": "image_url", "image_url": {"url": page}}
            yield {"type": "text", "text": self.lines(page)} if self._is_text else picture

    def lines(self, page: Page) -> str:
        """The lines that OCR reads on a page, from top to bottom, as the JSON that a model gets."""
        lines = self._engine(page)
        boxes = np.array([around(line.corners) for line in lines]).reshape(-1, 4)
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
        raise NotAvailable(f"no examples can be shown for {task.name}", remedy="--set shots=0")
    known = examples.records.rows_by_key("doc_id", named=True, include_key=True)
    turns = []
    for document in examples.documents.iter_rows(named=True):
        gold = known.get(document["doc_id"], [])
        supplied = vrdu.words(document, examples.root) if meta_of(document).get("ocr") else None
        words = supplied or [row for row in gold if row["kind"] == "word"]
        shown: dict[int, Page] = {}
        try:
            shown |= {p.number: p for p in view.pages(document, examples.root)[: view.most]}
        except DataMissing:
            if not words:
                raise

        def place(row: Row, pages: dict[int, Page] = shown) -> Row:
            page, box = pages.get(row["page"]), [row.get(side) for side in SIDES]
            is_placed = page is not None and view.boxes != "none" and None not in box
            box = page.stated(box, unit=view.boxes) if is_placed else None
            return {"page": row["page"], "box": box}

        texts = list(_page_texts(words, place))[: view.most] or map(view.lines, shown.values())
        asked, answer = task.make(document, gold).asked, task.answer(document, gold, place)
        turns.append(messages("", asked, text="\n".join(texts))[1])
        turns.append({"role": "assistant", "content": json.dumps(answer)})
    return turns


def _page_texts(words: list[Row], place: Callable[[Row], Row]) -> Iterator[str]:
    """The words of each page by lines, as the prompt ``pages_text`` describes them."""
    pages: dict[int, list[Row]] = {}
    for word in words:
        pages.setdefault(word["page"], []).append(word)
    for number, found in sorted(pages.items()):
        boxes = [meta_of(word).get("box") or [0, *map(word.get, SIDES)] for word in found]
        lines: list[Any] = []
        for order in reading_order(np.array([sides for _, *sides in boxes])):
            line = " ".join(found[index]["value"] for index in order)
            sides = [place(found[index])["box"] for index in order]
            if None not in sides:
                left, top, right, bottom = zip(*sides, strict=True)
                line = [line, min(left), min(top), max(right), max(bottom)]
            lines.append(line)
        yield json.dumps({"PAGE": number, "LINES": lines})
