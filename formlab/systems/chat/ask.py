"""A question to a model: what is asked of a document, the messages, and its answer's JSON schema.

A prompt is a file ``<task>.md`` in `formlab/systems/prompts`; the setting `prompt` names another,
or a file, for the only task asked. Its version is the hash of its text, which is part of the
settings.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from formlab.errors import UnknownName
from formlab.systems.prompts import read as read_prompt

if TYPE_CHECKING:
    from formlab.systems.pages import Page

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

    Examples
    --------
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
