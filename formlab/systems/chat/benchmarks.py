"""What a model is asked for each benchmark, and the rows that its answers become."""

from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import Any

from formlab import benchmarks
from formlab.benchmarks.formcraft import MODALITIES, item_meta
from formlab.benchmarks.formcraft.forms import ITEMS, answer_rows, form_rows
from formlab.benchmarks.vrdu import REPEATED, UNREPEATED
from formlab.benchmarks.vrdu import Schema as Entities
from formlab.errors import NotAvailable, UnknownName
from formlab.systems.chat import ask
from formlab.systems.chat.ask import Place, Question, Row, Schema, Task, WrongShape
from formlab.systems.prompts import read as read_prompt
from formlab.tables import BOX as SIDES
from formlab.text.markup import line_rows
from formlab.text.normalise import as_text
from formlab.trees import leaves, unescape

_PAGE = {"task": "text", "path": None, "kind": "page"}
_CLICKS = {"task": "click", "path": None, "kind": "page"}

_LABELS = ("header", "question", "answer", "other")
_PIECE = ask.closed(text=ask.TEXT, label=ask.TEXT | {"enum": list(_LABELS)}, box=ask.BOX)
_ENTITY = ask.closed(text=ask.TEXT, page=ask.PAGE, box=ask.BOX)

_SUBTYPES = sorted({word for words in MODALITIES.values() for word in words})
_KINDS = {"modality": ask.TEXT | {"enum": list(MODALITIES)}}
_KINDS["modality_subtype"] = ask.TEXT | {"enum": _SUBTYPES}
_FIELD = ask.closed(label=ask.TEXT, value=ask.TEXT, **_KINDS, page=ask.PAGE, box=ask.BOX)
_PARTS = {"fields": ask.listed(_FIELD), "groups": ask.listed({"$ref": "#/$defs/group"})}
_GROUP = ask.closed(label=ask.TEXT, page=ask.PAGE, box=ask.BOX, **_PARTS)
# The schema of a form of FORMCRAFT's.
FORM = ask.closed(**_PARTS) | {"$defs": {"group": _GROUP}}
_ANSWER = {"id": ask.TEXT, "answer": ask.TEXT, "confidence": ask.NUMBER}
_REASON = {"reason": ask.TEXT, "fields": ask.listed(ask.closed(path=ask.TEXT, value=ask.TEXT))}
# Of questions and checks: what lists them, what is shown of each, and what an answer has.
_ITEMS: dict[str, tuple[str, tuple[str, ...], dict[str, Schema]]] = {
    "vqa": ("QUESTIONS", ("question", "options"), _ANSWER),
    "consistency": ("CHECKS", ("source", "dependent"), _ANSWER | _REASON),
}


def tasks_of(benchmark: str, names: str = "") -> tuple[Task, ...]:
    """The tasks of a benchmark, or those of `names` between commas; an error if there are none.

    >>> [task.name for task in tasks_of("formcraft", "vqa,formcraft_extraction")]
    ['formcraft_extraction', 'formcraft_vqa']
    """
    tasks = TASKS.get(benchmark)
    if tasks is None:
        # A user's own forms and benchmarks made outside of formlab are asked for their fields.
        entry, builtin = benchmarks.get(benchmark), benchmark in benchmarks.BENCHMARKS.builtin
        kind = next((task for task in entry.tasks if task in ("text", "value", "entity")), None)
        if kind is None or (builtin and entry.schema is None):
            known = ", ".join(sorted(TASKS))
            raise NotAvailable(f"no task for models in {benchmark}", remedy=f"one of: {known}")
        prompt = entry.prompt or ("" if builtin else read_prompt("fields_extraction").text)
        options = {"make": partial(_fields, kind), "places": "", "prompt": prompt}
        tasks = (Task(f"{benchmark}_extraction", kind, **options),)
    every = {task.name: task for task in tasks}
    chosen = filter(None, map(str.strip, names.split(",")))
    full = {name if name in every else f"{benchmark}_{name}" for name in chosen}
    for name in full - every.keys():
        raise UnknownName.of(f"task of {benchmark}", name, every)
    return tuple(task for name, task in every.items() if name in full or not full)


def _fields(kind: str, document: Row, gold: list[Row]) -> Question | None:
    """The values of a document: by its benchmark's schema, else a text for each path of gold."""
    schema = benchmarks.get(document["benchmark"]).schema_of(document)
    read, blank = partial(_field_rows, kind, schema), [_PAGE | {"task": kind}]
    if schema is not None:
        lacking = "" if schema.get("properties", True) else "no field is known: declare its type"
        text = document.get("context")
        return Question({}, schema, read, blank, lacking=lacking, text=text)
    paths = (row["path"] for row in gold if row["path"] and row["task"] == kind)
    names = list(dict.fromkeys(path.removeprefix("/") for path in paths))
    if not names and document["benchmark"] in TASKS:  # It has questions.
        return None
    lacking = "" if names else "the gold of this document has no fields"
    return Question({"FIELDS": names}, _texts(names), read, blank, lacking=lacking)


def _texts(names: list[str], **others: Schema) -> Schema:
    """The schema of an object of texts, each of which may be null."""
    return ask.closed(**dict.fromkeys(names, ask.or_null(ask.TEXT)), **others)


def _field_rows(kind: str, schema: Schema | None, value: Any, _locate: Place) -> list[Row]:
    """A row for each leaf of the answer, at its JSON pointer; `WrongShape` if it is no object.

    Without a schema the names are the paths that were requested, and no pointers.
    """
    if not isinstance(value, dict):
        raise WrongShape("no object of fields")
    named = unescape if schema is None else str
    found = ((named(p), leaf) for p, leaf in leaves(_listed(value, schema)) if leaf is not None)
    return [{"task": kind, "path": p, "kind": _name(p), "value": as_text(v)} for p, v in found]


def _name(path: str) -> str:
    """The last step of a path that is no place in a list."""
    return next((step for step in reversed(path.split("/")) if not step.isdecimal()), "")


def _listed(value: Any, schema: Any) -> Any:
    """A value with a list around each single item of one, which many models leave out.

    Where one value or null is asked for, a list is its first item.
    """
    part: Schema = schema if isinstance(schema, dict) else {}
    if part.get("type") == "array" and not isinstance(value, list | None):
        value = [value]
    if "anyOf" in part and isinstance(value, list):
        value = next(iter(value), None)
    if isinstance(value, dict):
        inner = part.get("properties") or {}
        return {name: _listed(member, inner.get(name)) for name, member in value.items()}
    if isinstance(value, list):
        return [_listed(item, part.get("items")) for item in value]
    return value


def _form_rows(value: Any, locate: Place) -> list[Row]:
    try:
        rows, _ = form_rows(value, Counter())
    except ValueError as error:
        raise WrongShape(str(error).splitlines()[0]) from error
    for row in rows:
        row |= locate(row["page"], [row.pop(side, None) for side in SIDES])
    return [_PAGE | {"kind": "form"}, *rows]


def _items(task: str, _document: Row, gold: list[Row]) -> Question | None:
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
    return Question({title: asked}, schema, read, blank) if asked else None


def _item_rows(task: str, paths: set[str], value: Any, _locate: Place) -> list[Row]:
    """A row for each question or check that was answered, the first answer of each."""
    rows = dict[str, Row]()
    for row in answer_rows(task, ask.items_of(value, "answers")):
        if row["path"] in paths and row.get("value") is not None:
            rows.setdefault(row["path"], row)
    if not rows:
        raise WrongShape("no answer to anything that was asked")
    return list(rows.values())


def _vrdu(document: Row, _gold: list[Row]) -> Question:
    """The entities of the document's schema: once, many times, or as parts of line items."""
    known = Entities.of_document(document)
    kinds = {name: known.type_of(name) for name in known.patterns}
    once, many = known.names(UNREPEATED), known.names(REPEATED)
    parts = {group: known.names(group) for group in known.groups}
    asked: Row = {name: f"{kinds[name]}, once" for name in once}
    asked |= {name: f"{kinds[name]}, a list of all there are" for name in many}
    members = dict.fromkeys(once, ask.or_null(_ENTITY)) | dict.fromkeys(many, ask.listed(_ENTITY))
    for group, names in parts.items():
        asked[group] = {name: f"{kinds[name]}, in each line item" for name in names}
        members[group] = ask.listed(ask.closed(**dict.fromkeys(names, ask.or_null(_ENTITY))))
    schema, blank = ask.closed(**members), [{"task": "entity", "path": None}]
    return Question({"ENTITIES": asked}, schema, partial(_vrdu_rows, known, schema), blank)


def _vrdu_answer(document: Row, gold: list[Row], place: Callable[[Row], Row]) -> Row:
    """The answer that is read as the gold; of a value with several texts the first."""
    known, items = Entities.of_document(document), dict[str, Row]()
    answer: Row = dict.fromkeys(known.names(UNREPEATED))
    answer |= {name: [] for name in (*known.names(REPEATED), *known.groups)}
    for row in gold:
        if row["task"] != "entity" or row["path"] is None or row["value"] is None:
            continue
        name, item = row["kind"], row["path"].rpartition("/")[0]
        pattern, value = known.patterns[name], {"text": row["value"]} | place(row)
        if pattern == UNREPEATED:
            answer[name] = answer[name] or value
        elif pattern == REPEATED:
            answer[name].append(value)
        else:
            if item not in items:
                items[item] = dict.fromkeys(known.names(pattern))
                answer[pattern].append(items[item])
            items[item][name] = value
    return answer


def _vrdu_rows(known: Entities, schema: Schema, value: Any, locate: Place) -> list[Row]:
    """Rows of the entities in an answer, at the paths of the gold, after one for the document."""
    if not isinstance(value, dict) or not {*known.entities} & value.keys():
        raise WrongShape("none of the entities that were asked for")
    rows: list[Row] = [{"task": "entity", "path": None}]
    # A model may give the text alone.
    parts = leaves(_listed(value, schema), is_value=lambda part: {"text", "value"} & part.keys())
    for path, given in parts:
        name, part = unescape(_name(path)), given if isinstance(given, dict) else {"text": given}
        text = as_text(part.get("text", part.get("value")))
        if name in known.patterns and text.strip():
            row = {"task": "entity", "path": path, "kind": name, "value": text}
            rows.append(row | locate(part.get("page"), part.get("box")))
    return rows


def _funsd_answer(_document: Row, gold: list[Row], place: Callable[[Row], Row]) -> Row:
    pieces = (row for row in gold if row["kind"] in _LABELS and row["value"])
    named = ({"text": row["value"], "label": row["kind"]} | place(row) for row in pieces)
    return {"entities": [{n: piece[n] for n in ("text", "label", "box")} for piece in named]}


def _funsd_rows(value: Any, locate: Place) -> list[Row]:
    """The page's text, and each piece of it as a line, compared under the gold's boxes."""
    rows: list[Row] = []
    for item in ask.items_of(value, "entities"):
        text, label = as_text(item.get("text")), as_text(item.get("label")).strip().lower()
        row = {"task": "layout", "path": f"/chat/entities/{len(rows)}", "kind": "line"}
        row |= {"value": text, "subtype": label if label in _LABELS else None}
        rows += [row | locate(1, item.get("box"))] if text.strip() else []
    return [_PAGE | {"value": " ".join(row["value"].strip() for row in rows)}, *rows]


def _sroie(_document: Row, gold: list[Row]) -> Question:
    paths = [r["path"] for r in gold if r["task"] == "text" and r["path"] and r["kind"] != "line"]
    keys = [path.removeprefix("/") for path in paths]
    schema = _texts(keys, lines=ask.listed(ask.TEXT))
    return Question({"KEYS": keys}, schema, partial(_sroie_rows, keys), [_PAGE])


def _sroie_rows(keys: list[str], value: Any, locate: Place) -> list[Row]:
    """The page's text and the keys in the answer; `WrongShape` if neither is there."""
    if not isinstance(value, dict) or not {*keys, "lines"} & value.keys():
        raise WrongShape("none of the keys that were asked for")
    lines = value.get("lines")
    lines = [as_text(line).strip() for line in lines] if isinstance(lines, list) else []
    found = {key: value[key] for key in keys if key in value}
    page = _PAGE | {"value": " ".join(filter(None, lines)) or None}
    return [page, *_field_rows("text", None, found, locate)]


def _clicks(document: Row, _gold: list[Row]) -> Question:
    """Where to click on a screenshot, and what to type, as FormFactory's lines."""
    asked = {"FORM": document["template"], "TEXT": document["context"]}
    lacking = "" if asked["TEXT"] else "this instance has no text to fill the form in from"
    return Question(asked, None, _click_rows, [_CLICKS], lacking=lacking)


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


def _same(*question: Any) -> Callable[..., Question]:
    """What asks the same of each document; nothing of the gold is shown."""
    return lambda *_: Question({}, *question)


_HTML = _same(None, lambda value, _: [_PAGE | {"value": as_text(value)}], [_PAGE])
_FORM = _same(FORM, _form_rows, [_PAGE | {"kind": "form"}])
_FUNSD = _same(ask.closed(entities=ask.listed(_PIECE)), _funsd_rows, [_PAGE])
_QUESTIONS = Task("formcraft_vqa", "vqa", partial(_items, "vqa"), places="")
_CHECKS = Task("formcraft_consistency", "consistency", partial(_items, "consistency"), places="")
_FIELDS = Task("fields_extraction", "text", partial(_fields, "text"), places="")
TASKS: dict[str, tuple[Task, ...]] = {
    "formcraft": (Task("formcraft_extraction", "layout", _FORM), _QUESTIONS, _CHECKS),
    "vrdu": (Task("vrdu_extraction", "entity", _vrdu, answer=_vrdu_answer),),
    "fincriticaled": (Task("fincriticaled_transcription", "text", _HTML, places=""),),
    "funsd": (Task("funsd_extraction", "text", _FUNSD, answer=_funsd_answer),),
    "ocrbench_v2": (_QUESTIONS, _FIELDS),
    "sroie": (Task("sroie_extraction", "text", _sroie, places=""),),
    "formfactory": (Task("formfactory_lines", "click", _clicks, places="points"),),
}
