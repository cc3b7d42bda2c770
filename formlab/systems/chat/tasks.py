"""What a model is asked for each benchmark, and the prompts it is asked with.

A prompt is a file ``<task>.md`` in `formlab/systems/prompts`; the setting `prompt` names another,
or a file, for the only task asked. Its version is the hash of its text, which is part of the
settings.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from formlab import benchmarks
from formlab.errors import NotAvailable, UnknownName
from formlab.systems.chat import _fields, _formcraft, _formfactory, _pages, _vrdu
from formlab.systems.chat._ask import Ask, Row
from formlab.systems.chat.images import PageImage
from formlab.systems.prompts import read as read_prompt

BOXES = ("thousandths", "pixels", "none")
PAGES = ("image", "text")


@dataclass(frozen=True)
class Task:
    """One thing a model is asked about every document of a benchmark.

    `kind` is the task that its *responses* are filed under; `make` takes a document's row and its
    gold records (questions are in them) and gives what to ask, or None; `places` is how the
    answer gives positions, if it does: ``boxes`` or ``points``. A task that is not `usual` is asked
    only where it is named. `prompt` are its instructions, if no file has them. `answer` makes of a
    document's row, its gold and what gives page and box of a record the answer it should get.
    """

    name: str
    kind: str
    make: Callable[[Row, list[Row]], Ask | None]
    places: str = "boxes"
    usual: bool = True
    prompt: str = ""
    answer: Callable[[Row, list[Row], Callable[[Row], Row]], Row] | None = None


TASKS: dict[str, tuple[Task, ...]] = {
    "formcraft": (
        Task("formcraft_extraction", "layout", _formcraft.extraction),
        Task("formcraft_vqa", "vqa", partial(_formcraft.items, "vqa"), places=""),
        Task(
            "formcraft_consistency", "consistency",
            partial(_formcraft.items, "consistency"), places="",
        ),
    ),
    "vrdu": (Task("vrdu_extraction", "entity", _vrdu.extraction, answer=_vrdu.answer),),
    "fincriticaled": (
        Task("fincriticaled_transcription", "text", _pages.transcription, places=""),
    ),
    "funsd": (Task("funsd_extraction", "text", _pages.funsd, answer=_pages.funsd_answer),),
    "ocrbench_v2": (
        Task("formcraft_vqa", "vqa", partial(_formcraft.items, "vqa"), places=""),
        Task("fields_extraction", "text", _fields.keys, places=""),
    ),
    "sroie": (Task("sroie_extraction", "text", _pages.sroie, places=""),),
    "formfactory": (
        Task("formfactory_lines", "click", _formfactory.lines, places="points"),
        Task("formfactory_actions", "click", _formfactory.actions, places="points", usual=False),
    ),
}  # fmt: skip


def tasks_of(benchmark: str, names: str = "") -> tuple[Task, ...]:
    """The usual tasks of a benchmark, or those of `names`, names between commas.

    `NotAvailable` or `UnknownName` if a model cannot be asked about this benchmark, or has no such
    task.

    Examples
    --------
    >>> [task.name for task in tasks_of("formcraft", "vqa,formcraft_extraction")]
    ['formcraft_extraction', 'formcraft_vqa']
    """
    every = {task.name: task for task in _every(benchmark)}
    chosen = [name.strip() for name in names.split(",") if name.strip()]
    full = {name if name in every else f"{benchmark}_{name}" for name in chosen}
    for name in full - every.keys():
        raise UnknownName.of(f"task of {benchmark}", name, every)
    return tuple(task for name, task in every.items() if name in full or (task.usual and not full))


def _every(benchmark: str) -> tuple[Task, ...]:
    """All tasks of a benchmark; one made outside of formlab is asked for its plain fields."""
    if benchmark in TASKS:
        return TASKS[benchmark]
    entry = benchmarks.get(benchmark)
    kind = next((task for task in entry.tasks if task in _fields.KINDS), None)
    builtin = benchmark in benchmarks.BENCHMARKS.builtin
    if kind is None or (builtin and entry.schema is None):
        known = ", ".join(sorted(TASKS))
        raise NotAvailable(f"no task for models in {benchmark}", remedy=f"one of: {known}")
    make = partial(_fields.extraction, entry, kind)
    prompt = entry.prompt if builtin or entry.prompt else read_prompt("fields_extraction").text
    return (Task(f"{benchmark}_extraction", kind, make, places="", prompt=prompt),)


def prompt_of(
    task: Task,
    *,
    prompt: str = "",
    boxes: str = BOXES[0],
    pages: str = PAGES[0],
    shots: str = "",
) -> str:
    """The instructions of a task: those of `prompt`, a name or file, or formlab's own.

    `shots` says how examples are shown, where there are any. `UnknownName` if `boxes` is not a way
    to give boxes, or `pages` to show pages.

    Examples
    --------
    >>> "in pixels" in prompt_of(TASKS["funsd"][0], boxes="pixels")
    True
    """
    ways = BOXES[:2] if task.places == "points" else BOXES
    if boxes not in ways:
        raise UnknownName.of(f"way to give {task.places or 'boxes'}", boxes, ways)
    if pages not in PAGES:
        raise UnknownName.of("way to show pages", pages, PAGES)
    names = [f"{task.places}_{boxes}"] if task.places else []
    names += ["pages_text"] if pages == "text" else []
    names += [f"shots_{shots}"] if shots else []
    main = read_prompt(prompt).text if prompt else task.prompt or read_prompt(task.name).text
    texts = [main, *(read_prompt(name).text for name in names)]
    return "\n".join(text.strip() + "\n" for text in texts).strip()


def messages(
    prompt: str,
    asked: Row,
    pages: list[PageImage],
    *,
    show: Callable[[PageImage], Row],
    text: str | None = None,
) -> list:
    """The two messages of a question: the instructions, then what is asked, and the document.

    `show` makes of a page the part of the message that stands for it; `text` is the document's own.
    """
    content: list[Row] = []
    if asked:
        # ASCII only: half surrogate pairs and control characters travel as escapes.
        content.append({"type": "text", "text": json.dumps(asked)})
    if text:
        content.append({"type": "text", "text": text})
    for page in pages:
        if len(pages) > 1:
            content.append({"type": "text", "text": f"Page {page.number}:"})
        content.append(show(page))
    user: Any = content
    if all(item["type"] == "text" for item in content):
        # Plain text: servers of text-only models silently drop lists.
        user = "\n\n".join(item["text"] for item in content) or "{}"
    return [{"role": "system", "content": prompt}, {"role": "user", "content": user}]


def with_schema(messages: list, schema: Row) -> list:
    """The messages with the schema in the instructions: many servers accept one and ignore it."""
    asked = f"{read_prompt('json_form').text.strip()}\n{json.dumps(schema)}"
    system = messages[0] | {"content": f"{messages[0]['content']}\n\n{asked}"}
    return [system, *messages[1:]]
