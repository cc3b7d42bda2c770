"""What a model is asked for each benchmark, and the rows that its answers become."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from formlab import benchmarks
from formlab.benchmarks.formcraft import MODALITIES, item_meta
from formlab.benchmarks.formcraft.records import ITEMS, answer_rows, form_rows
from formlab.benchmarks.vrdu import REPEATED, UNREPEATED
from formlab.benchmarks.vrdu import Schema as Entities
from formlab.errors import DataMissing, NotAvailable, UnknownName
from formlab.systems.chat import ask
from formlab.systems.chat.ask import Ask, Place, Row, Schema, Task, WrongShape
from formlab.systems.prompts import read as read_prompt
from formlab.tables import BOX as SIDES
from formlab.text.answers import line_rows
from formlab.text.normalise import as_text
from formlab.trees import escape, leaves, unescape

# Tasks whose gold is a value at a path.
_FIELDS = ("text", "value", "entity")
_PAGE = {"task": "text", "path": None, "kind": "page"}
_CLICKS = {"task": "click", "path": None, "kind": "page"}

_LABELS = ("header", "question", "answer", "other")
_PIECES = ask.closed(
    entities=ask.listed(ask.closed(text=ask.TEXT, label=ask.choice(*_LABELS), box=ask.BOX))
)
_ENTITY = ask.closed(text=ask.TEXT, page=ask.PAGE, box=ask.BOX)

_FIELD = ask.closed(
    label=ask.TEXT,
    value=ask.TEXT,
    modality=ask.choice(*MODALITIES),
    modality_subtype=ask.choice(*sorted({word for words in MODALITIES.values() for word in words})),
    page=ask.PAGE,
    box=ask.BOX,
)
_GROUPS = ask.listed({"$ref": "#/$defs/group"})
_GROUP = ask.closed(
    label=ask.TEXT, page=ask.PAGE, box=ask.BOX, fields=ask.listed(_FIELD), groups=_GROUPS
)
# The schema of a form of FORMCRAFT's.
FORM = ask.closed(fields=ask.listed(_FIELD), groups=_GROUPS) | {"$defs": {"group": _GROUP}}
_ANSWER = {"id": ask.TEXT, "answer": ask.TEXT, "confidence": ask.NUMBER}
_REASON = {"reason": ask.TEXT, "fields": ask.listed(ask.closed(path=ask.TEXT, value=ask.TEXT))}
# Of questions and checks: what lists them, what is shown of each, and what an answer has.
_ITEMS: dict[str, tuple[str, tuple[str, ...], dict[str, Schema]]] = {
    "vqa": ("QUESTIONS", ("question", "options"), _ANSWER),
    "consistency": ("CHECKS", ("source", "dependent"), _ANSWER | _REASON),
}


def tasks_of(benchmark: str, names: str = "") -> tuple[Task, ...]:
    """All tasks of a benchmark, or those of `names`, names between commas.

    `NotAvailable` or `UnknownName` if a model cannot be asked about this benchmark, or has no such
    task.

    >>> [task.name for task in tasks_of("formcraft", "vqa,formcraft_extraction")]
    ['formcraft_extraction', 'formcraft_vqa']
    """
    every = {task.name: task for task in TASKS.get(benchmark) or _tasks_by_schema(benchmark)}
    chosen = filter(None, map(str.strip, names.split(",")))
    full = {name if name in every else f"{benchmark}_{name}" for name in chosen}
    for name in full - every.keys():
        raise UnknownName.of(f"task of {benchmark}", name, every)
    return tuple(task for name, task in every.items() if name in full or not full)


def _tasks_by_schema(benchmark: str) -> tuple[Task, ...]:
    """A user's own forms and benchmarks made outside of formlab are asked for their fields."""
    entry, builtin = benchmarks.get(benchmark), benchmark in benchmarks.BENCHMARKS.builtin
    kind = next((task for task in entry.tasks if task in _FIELDS), None)
    if kind is None or (builtin and entry.schema is None):
        known = ", ".join(sorted(TASKS))
        raise NotAvailable(f"no task for models in {benchmark}", remedy=f"one of: {known}")
    prompt = entry.prompt if builtin or entry.prompt else read_prompt("fields_extraction").text
    name, make = f"{benchmark}_extraction", partial(_fields, kind)
    return (Task(name, kind, make, places="", prompt=prompt),)


def _fields(kind: str, document: Row, gold: list[Row]) -> Ask:
    """The values of a document: by its benchmark's schema, else a text for each path of gold."""
    blank = [_PAGE | {"task": kind}]
    schema = benchmarks.get(document["benchmark"]).schema_of(document)
    read = partial(_field_rows, kind, schema)
    if schema is not None:
        lacking = "" if schema.get("properties", True) else "no field is known: declare its type"
        return Ask({}, schema, read, blank, lacking=lacking, text=document.get("context"))
    paths = (row["path"] for row in gold if row["path"] and row["task"] == kind)
    names = list(dict.fromkeys(path.removeprefix("/") for path in paths))
    lacking = "" if names else "the gold of this document has no fields"
    members = ask.closed(**{name: ask.or_null(ask.TEXT) for name in names})
    return Ask({"FIELDS": names}, members, read, blank, lacking=lacking)


def _field_rows(kind: str, schema: Schema | None, value: Any, _locate: Place) -> list[Row]:
    """A row for each leaf of the answer, at its JSON pointer; `WrongShape` if it is no object.

    Without a schema the names are the paths that were requested, and no pointers.
    """
    if not isinstance(value, dict):
        raise WrongShape("no object of fields")
    rows = []
    for pointer, leaf in leaves(_listed(value, schema)):
        path = unescape(pointer) if schema is None else pointer
        name = next((step for step in reversed(path.split("/")) if not step.isdecimal()), "")
        row = {"task": kind, "path": path, "kind": name, "value": as_text(leaf)}
        rows += [row] if leaf is not None else []
    return rows


def _listed(value: Any, schema: Any) -> Any:
    """A value with a list around each single item of one, which many models leave out."""
    part: Schema = schema if isinstance(schema, dict) else {}
    if part.get("type") == "array" and not isinstance(value, list | None):
        value = [value]
    if isinstance(value, dict):
        inner = part.get("properties") or {}
        return {name: _listed(member, inner.get(name)) for name, member in value.items()}
    if isinstance(value, list):
        return [_listed(item, part.get("items")) for item in value]
    return value


def _ocrbench_fields(document: Row, gold: list[Row]) -> Ask | None:
    """The texts of a document at the paths of its gold; None if it has none."""
    fields = _fields("text", document, gold)
    return None if fields.lacking else fields


def _form_rows(value: Any, locate: Place) -> list[Row]:
    """The rows of a whole form."""
    try:
        rows, _ = form_rows(value, Counter())
    except ValueError as error:
        raise WrongShape(str(error).splitlines()[0]) from error
    for row in rows:
        row |= locate(row["page"], [row.pop(side, None) for side in SIDES])
    return [_PAGE | {"kind": "form"}, *rows]


def _items(task: str, _document: Row, gold: list[Row]) -> Ask | None:
    """All questions or checks of one form; None if it has none."""
    title, names, answer = _ITEMS[task]
    asked, blank = [], [{"task": task, "path": row["path"]} for row in gold if row["task"] == task]
    for meta, row in ((item_meta(row), row) for row in gold if row["task"] == task):
        shown = {name: value for name in names if (value := getattr(meta, name))}
        if task == "consistency":
            shown["fields"] = list(meta.relevant)
        asked.append({"id": row["path"].removeprefix(f"{ITEMS[task]}/")} | shown)
    read = partial(_item_rows, task, {row["path"] for row in blank})
    schema = ask.closed(answers=ask.listed(ask.closed(**answer)))
    return Ask({title: asked}, schema, read, blank) if asked else None


def _item_rows(task: str, paths: set[str], value: Any, _locate: Place) -> list[Row]:
    """A row for each question or check that was answered, the first answer of each."""
    rows = dict[str, Row]()
    for row in answer_rows(task, ask.items_of(value, "answers")):
        if row["path"] in paths and row.get("value") is not None:
            rows.setdefault(row["path"], row)
    if not rows:
        raise WrongShape("no answer to anything that was asked")
    return list(rows.values())


def _vrdu(document: Row, _gold: list[Row]) -> Ask:
    """The entities of the document's schema: once, many times, or as parts of line items."""
    known = _entities_of(document)
    asked: Row = {name: f"{known.type_of(name)}, once" for name in known.names(UNREPEATED)}
    members = {name: ask.or_null(_ENTITY) for name in asked}
    for name in known.names(REPEATED):
        asked[name] = f"{known.type_of(name)}, a list of all there are"
        members[name] = ask.listed(_ENTITY)
    for group in known.groups:
        parts = known.names(group)
        asked[group] = {name: f"{known.type_of(name)}, in each line item" for name in parts}
        members[group] = ask.listed(ask.closed(**dict.fromkeys(parts, ask.or_null(_ENTITY))))
    blank = [{"task": "entity", "path": None}]
    return Ask({"ENTITIES": asked}, ask.closed(**members), partial(_vrdu_rows, known), blank)


def _entities_of(document: Row) -> Entities:
    known = Entities.of_document(document)
    if known is None:
        raise DataMissing("no schema of entities", where=document["doc_id"], remedy="load it anew")
    return known


def _vrdu_answer(document: Row, gold: list[Row], place: Callable[[Row], Row]) -> Row:
    """The answer that is read as the gold; of a value with several texts the first."""
    known = _entities_of(document)
    once = dict.fromkeys(known.names(UNREPEATED))
    answer: Row = once | {name: [] for name in known.names(REPEATED)}
    items: dict[str, dict[str, Row]] = {group: {} for group in known.groups}
    for row in gold:
        if row["task"] != "entity" or row["path"] is None or row["value"] is None:
            continue
        name, value = row["kind"], {"text": row["value"]} | place(row)
        pattern = known.patterns.get(name)
        if pattern in items:
            parts = dict.fromkeys(known.names(pattern))
            items[pattern].setdefault(row["path"].split("/")[2], parts)[name] = value
        elif pattern == REPEATED:
            answer[name].append(value)
        elif name in once and answer[name] is None:
            answer[name] = value
    return answer | {group: list(numbered.values()) for group, numbered in items.items()}


def _vrdu_rows(known: Entities, value: Any, locate: Place) -> list[Row]:
    """Rows of the entities in an answer, at the paths of the gold, after one for the document."""
    if not isinstance(value, dict) or not {*known.entities} & value.keys():
        raise WrongShape("none of the entities that were asked for")
    rows: list[Row] = [{"task": "entity", "path": None}]
    for path, name, given in _vrdu_places(known, value):
        # A model may give the text alone, or a list of one.
        answer = given[0] if isinstance(given, list) and given else given
        parts = answer if isinstance(answer, dict) else {"text": answer}
        text = as_text(parts.get("text", parts.get("value")))
        if text.strip():
            row = {"task": "entity", "path": path, "kind": name, "value": text}
            rows.append(row | locate(parts.get("page"), parts.get("box")))
    return rows


def _vrdu_places(known: Entities, value: Row) -> Iterator[tuple[str, str, Any]]:
    """The path and name of each entity of an answer, and what is given for it."""
    for name in known.names(UNREPEATED):
        yield f"/{escape(name)}", name, value.get(name)
    for group in (*known.names(REPEATED), *known.groups):
        items = [] if value.get(group) is None else value[group]
        for number, item in enumerate(items if isinstance(items, list) else [items]):
            path = f"/{escape(group)}/{number}"
            if group not in known.groups:
                yield path, group, item
            elif isinstance(item, dict):
                for name in known.names(group):
                    yield f"{path}/{escape(name)}", name, item.get(name)


def _funsd_answer(_document: Row, gold: list[Row], place: Callable[[Row], Row]) -> Row:
    """The answer that is read as the gold."""
    pieces = [row for row in gold if row["kind"] in _LABELS and row["value"]]
    named = [{"text": row["value"], "label": row["kind"]} for row in pieces]
    return {"entities": [n | {"box": place(r)["box"]} for n, r in zip(named, pieces, strict=True)]}


def _funsd_rows(value: Any, locate: Place) -> list[Row]:
    """The page's text, and each piece of it as a line at ``/chat/entities/<n>``.

    Pieces have no name that the gold could have: what is read is compared under the gold's boxes.
    """
    pieces = [(as_text(item.get("text")), item) for item in ask.items_of(value, "entities")]
    pieces = [(text, item) for text, item in pieces if text.strip()]
    rows: list[Row] = [_PAGE | {"value": " ".join(text.strip() for text, _ in pieces)}]
    for number, (text, item) in enumerate(pieces):
        label = as_text(item.get("label")).strip().lower()
        row = {"task": "layout", "path": f"/chat/entities/{number}", "kind": "line", "value": text}
        row["subtype"] = label if label in _LABELS else None
        rows.append(row | locate(1, item.get("box")))
    return rows


def _sroie(_document: Row, gold: list[Row]) -> Ask:
    """The keys of a receipt and its text."""
    paths = [r["path"] for r in gold if r["task"] == "text" and r["path"] and r["kind"] != "line"]
    keys = [path.removeprefix("/") for path in paths]
    schema = ask.closed(**{key: ask.or_null(ask.TEXT) for key in keys}, lines=ask.listed(ask.TEXT))
    return Ask({"KEYS": keys}, schema, partial(_sroie_rows, keys), [_PAGE])


def _sroie_rows(keys: list[str], value: Any, _locate: Place) -> list[Row]:
    """The page's text and the keys in the answer; `WrongShape` if neither is there."""
    if not isinstance(value, dict) or not {*keys, "lines"} & value.keys():
        raise WrongShape("none of the keys that were asked for")
    lines = value.get("lines")
    lines = [as_text(line).strip() for line in lines] if isinstance(lines, list) else []
    found = {key: as_text(value[key]) for key in keys if value.get(key) is not None}
    rows = [{"task": "text", "path": f"/{k}", "kind": k, "value": v} for k, v in found.items()]
    return [_PAGE | {"value": " ".join(filter(None, lines)) or None}, *rows]


def _clicks(document: Row, _gold: list[Row]) -> Ask:
    """Where to click on a screenshot, and what to type, as FormFactory's lines."""
    asked = {"FORM": document["template"], "TEXT": document["context"]}
    lacking = "" if asked["TEXT"] else "this instance has no text to fill the form in from"
    return Ask(asked, None, _click_rows, [_CLICKS], lacking=lacking)


def _click_rows(value: Any, locate: Place) -> list[Row]:
    """The output as lines ``[x, y] value``, and each action; `WrongShape` if there is no action."""
    text = as_text(value)
    if not (rows := line_rows(text)):
        raise WrongShape("no line '[x, y] value'")
    for row in rows:
        # Without its page a click is on whichever screenshot it suits.
        page, box = row["page"], [row.pop(side) for side in SIDES]
        row |= locate(1 if page is None else page, box) | ({"page": None} if page is None else {})
    return [_CLICKS | {"value": text}, *rows]


def _same(*ask: Any) -> Callable[..., Ask]:
    """What asks the same of each document; nothing of the gold is shown."""
    return lambda *_: Ask({}, *ask)


_HTML = _same(None, lambda value, _: [_PAGE | {"value": as_text(value)}], [_PAGE])
_FORM = _same(FORM, _form_rows, [_PAGE | {"kind": "form"}])
_FUNSD = _same(_PIECES, _funsd_rows, [_PAGE])
_QUESTIONS = Task("formcraft_vqa", "vqa", partial(_items, "vqa"), places="")
_CHECKS = Task("formcraft_consistency", "consistency", partial(_items, "consistency"), places="")
TASKS: dict[str, tuple[Task, ...]] = {
    "formcraft": (Task("formcraft_extraction", "layout", _FORM), _QUESTIONS, _CHECKS),
    "vrdu": (Task("vrdu_extraction", "entity", _vrdu, answer=_vrdu_answer),),
    "fincriticaled": (Task("fincriticaled_transcription", "text", _HTML, places=""),),
    "funsd": (Task("funsd_extraction", "text", _FUNSD, answer=_funsd_answer),),
    "ocrbench_v2": (_QUESTIONS, Task("fields_extraction", "text", _ocrbench_fields, places="")),
    "sroie": (Task("sroie_extraction", "text", _sroie, places=""),),
    "formfactory": (Task("formfactory_lines", "click", _clicks, places="points"),),
}
