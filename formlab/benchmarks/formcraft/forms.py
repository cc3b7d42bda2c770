"""FORMCRAFT's form as JSON and as rows of *records*; the words and the answers of models to it.

`formcraft.toml` lists the attributes of a form's parts, the modalities and their subtypes (L1), and
the labels of relations (L3). JSON that is close to the schema is mended; words have one spelling,
however a file or a model spells them.
"""

import json
import re
import tomllib
from collections import ChainMap, Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType, SimpleNamespace
from typing import Any, NamedTuple

from formlab import tables
from formlab.benchmarks.corpus import Row, box_of, meta_of, number
from formlab.text.normalise import as_text, as_texts
from formlab.trees import escape, unescape

_TABLE = tomllib.loads(Path(__file__).with_name("formcraft.toml").read_text("utf-8"))
MODALITIES, RELATIONS = (
    {name: tuple(words) for name, words in _TABLE[axes].items()} for axes in ("subtype", "relation")
)
TASK_OF: dict[str, str] = _TABLE["task"]
QUESTIONS: dict[str, str] = _TABLE["question"]
_LETTERS = re.compile(r"[^a-z]+")
# A label is a few words; what is longer is no label, or a line of a page that was taken for one.
_LONGEST_WORD, _LONGEST_LABEL = 80, 120


def _letters(label: str) -> str:
    return _LETTERS.sub("", label[:_LONGEST_WORD].casefold())


_SUBTYPES = dict(ChainMap(*_TABLE["subtype"].values()))
_AXES = {"modality": _TABLE["modality"], "subtype": _SUBTYPES, **_TABLE["relation"]}
_KNOWN = {
    axis: {_letters(word): name for name, words in names.items() for word in (name, *words.split())}
    for axis, names in _AXES.items()
}
# Real forms nest four or five groups; what nests deeper is a model caught in a loop.
DEEPEST = 40
# Where the items of L3 stand; a group of that name gives way.
VQA, CONSISTENCY = "/vqa", "/consistency"
ITEMS = {"vqa": VQA, "consistency": CONSISTENCY}
# The attributes of a form, a field, a group, a question and a check, and how each is read.
ATTRIBUTES: dict[str, dict[str, str]] = _TABLE["attributes"]
ATTRIBUTES |= {task: ATTRIBUTES[task] | ATTRIBUTES["relation"] for task in ITEMS}
_REQUIRED, _KEYS = _TABLE["required"], _TABLE["keys"]
_OF_FORM = frozenset({"fields", "groups", *ITEMS})
# What a model may call its answer to an item.
_ANSWERS = ("answer", "value", "prediction", "expected")


class NotAFormError(ValueError):
    """The JSON has nothing of a form in it, or not what an item must have; the message says why."""


def _page(value: Any) -> int | None:
    page = number(value)
    return int(page) if page is not None and 1 <= page < 1_000_000 else None


def _box(value: Any) -> tuple[float, ...] | None:
    # A malformed box must not cost the field it belongs to.
    return box_of(list(map(number, value)) if isinstance(value, list | tuple) else None)


def _object(value: Any) -> Row | None:
    if value is None or isinstance(value, dict):
        return value
    raise NotAFormError("a derivation is an object")


_READERS = {"text": as_text, "value": as_text, "texts": as_texts, "page": _page, "box": _box}
_READERS |= {"share": number, "object": _object, "word": as_text}


def canonical(axis: str, label: str | None) -> str | None:
    """The spelling of `label` on an axis (modality, scope …) by its letters, or None if unknown.

    >>> canonical("subtype", "Radio Buttons"), canonical("reference", "Consistency or Constraint")
    ('checkbox', 'constraint')
    """
    return None if label is None else _KNOWN[axis].get(_letters(label))


def modality_of(modality: str | None, subtype: str | None) -> tuple[str | None, str | None]:
    """Modality and subtype of a field in their one spelling; a known subtype tells the modality.

    >>> modality_of(None, "Handwritten"), modality_of("Cross", "Textual + Marking")
    (('textual', 'handwritten'), ('cross', 'cross'))
    """
    small, large = canonical("subtype", subtype), canonical("modality", modality)
    if large == "cross":
        return "cross", "cross"
    owner = next((name for name, members in MODALITIES.items() if small in members), None)
    # Where the two contradict each other the modality stands, and the subtype is unknown.
    return large or owner, small if large in (None, owner) else None


def item_of(task: str, item: Row) -> SimpleNamespace:
    """A question (`task` ``vqa``) or check (``consistency``) with all its attributes.

    `NotAFormError` if it lacks one that it must have.

    >>> item_of("vqa", {"id": 1, "question": "Who signed?", "answers": "Ada"}).answers
    ['Ada']
    """
    if lacking := [name for name in _REQUIRED[task] if name not in item]:
        raise NotAFormError(f"{lacking[0]}: it is required")
    kinds = ATTRIBUTES[task].items()
    return SimpleNamespace(**{name: _READERS[kind](item.get(name)) for name, kind in kinds})


def tidied(value: Row) -> tuple[Row, tuple[str, ...]]:
    """The form that `value` is, with what the schema has and is not empty, and what was changed.

    Mended: other names of keys (`name`, `subtype`, `sections` …), fields written as
    ``{"label": "value"}``, groups among fields, a form within one outer key.

    `NotAFormError` if there is neither `fields` nor `groups`, groups nest deeper than `DEEPEST`, or
    a question or check lacks what it must have.

    >>> tidied({"form": {"fields": {"Name": "Ada"}, "groups": None}})
    ({'fields': [{'label': 'Name', 'value': 'Ada'}], 'groups': []}, \
('form taken out of an outer key: 1', 'fields written as label and value: 1'))
    """
    done: Counter[str] = Counter()
    value = _renamed(value, done)
    if not _OF_FORM & value.keys():
        inner = [_renamed(item, done) for item in value.values() if isinstance(item, dict)]
        inner = [item for item in inner if _OF_FORM & item.keys()]
        if len(inner) != 1:
            raise NotAFormError("neither fields nor groups")
        (value,) = inner
        done["form taken out of an outer key"] += 1
    form = _tidy_group(value, "form", done, 0)
    for task in ITEMS:
        listed = value.get(task, [])
        if not isinstance(listed, list) or not all(isinstance(item, dict) for item in listed):
            raise NotAFormError(f"{task}: a list of objects is needed")
        items = [vars(item_of(task, item)) for item in listed]
        form |= {task: [_kept(item, _REQUIRED[task]) for item in items]} if items else {}
    return form, tuple(f"{what}: {count}" for what, count in done.items() if count)


def _renamed(value: Row, done: Counter[str]) -> Row:
    renamed: Row = {}
    for key, item in value.items():
        name = _KEYS.get(key.casefold().strip(), key.casefold().strip())
        done["keys renamed"] += name != key and name not in renamed
        renamed.setdefault(name, item)
    return renamed


def _kept(node: Row, needed: Collection[str] = ()) -> Row:
    empty = (None, "", [])
    return {name: value for name, value in node.items() if name in needed or value not in empty}


def _read(node: Row, kind: str) -> Row:
    return _kept({name: _READERS[word](node.get(name)) for name, word in ATTRIBUTES[kind].items()})


def _tidy_group(group: Row, kind: str, done: Counter[str], depth: int) -> Row:
    if depth > DEEPEST:
        raise NotAFormError(f"groups nested deeper than {DEEPEST}")
    fields, groups = (_listed(group.get(name), done) for name in ("fields", "groups"))
    # Fields with fields are groups; without a label they are what a list swallowed that was not
    # closed.
    strays = [
        field
        for field in fields
        if (inside := _OF_FORM & field.keys())
        and (any(map(field.get, inside)) or not {"label", "value"} & field.keys())
    ]
    done["groups taken out of a list of fields"] += len(strays)
    fields = [field for field in fields if field not in strays]
    for stray in strays:
        is_group = "label" in stray
        fields += [] if is_group else _listed(stray.get("fields"), done)
        groups += [stray] if is_group else _listed(stray.get("groups"), done)
    groups = [_tidy_group(inner, "groups", done, depth + 1) for inner in groups]
    fields = [_read(field, "fields") for field in fields]
    return _read(group, kind) | {"fields": fields, "groups": groups}


def _listed(value: Any, done: Counter[str]) -> list[Row]:
    """The fields or groups in `value`, whichever way they were written."""
    if isinstance(value, dict) and {"label", *_OF_FORM} & {key.casefold() for key in value}:
        done["one object where a list belongs"] += 1
        value = [value]
    elif isinstance(value, dict):
        value = [
            {"label": label} | item if isinstance(item, dict) else {"label": label, "value": item}
            for label, item in value.items()
        ]
        done["fields written as label and value"] += len(value)
    items = value if isinstance(value, list) else []
    objects = [_renamed(item, done) for item in items if isinstance(item, dict)]
    done["not a field or group: left out"] += len(items) - len(objects)
    return objects


class ItemMeta(NamedTuple):
    """What the record of a question or a consistency check says beside its answer, else empty.

    The names are those of the schema; `values` are what a predicted answer says stands in the
    fields of a check, by path.
    """

    question: str | None = None
    options: Sequence[str] = ()
    source: str | None = None
    dependent: str | None = None
    fields: Sequence[str] = ()
    rationale: str = ""
    derivation: Mapping[str, Any] | None = None
    values: Mapping[str, str] = MappingProxyType({})

    @property
    def relevant(self) -> tuple[str, ...]:
        """The paths of all fields involved, each once; the dependent field of a check last."""
        derived = ((self.derivation or {}).get("fields") or {}).values()
        others = dict.fromkeys((self.source, *self.fields, *derived))
        others.pop(self.dependent, None)
        return tuple(filter(None, (*others, self.dependent)))


def item_meta(record: Row | str | None) -> ItemMeta:
    """The `meta` of a question's or check's record.

    >>> item_meta({"meta": '{"question": "Who signed?", "fields": ["/Name"]}'}).fields
    ['/Name']
    """
    meta = meta_of(record)
    return ItemMeta(**{name: meta[name] for name in ItemMeta._fields if name in meta})


class Paths:
    """Gives each field and group of one form a path of its own.

    >>> paths = Paths()
    >>> paths.of("", "Section A"), paths.of("/Section A", "Yes/No"), paths.of("", "Section A")
    ('/Section A', '/Section A/Yes~1No', '/Section A#2')
    """

    def __init__(self) -> None:
        self._numbers = Counter({VQA: 1, CONSISTENCY: 1})

    def of(self, parent: str, label: str) -> str:
        """The path of `label` below `parent`, as in a JSON Pointer; a second one gets ``#2``."""
        step = " ".join(label[:_LONGEST_LABEL].split()) or "#"
        base = f"{parent}/{escape(step)}"
        path = base
        while self._numbers[path]:
            self._numbers[base] += 1
            path = f"{base}#{self._numbers[base]}"
        self._numbers[path] = 1
        return path


def label_of(path: str) -> str:
    """The label that a path ends in.

    >>> label_of("/Section A/Yes~1No#2")
    'Yes/No'
    """
    return unescape(re.sub(r"#\d+\Z", "", path.rpartition("/")[2]))


def walk(
    form: Row, parent: str = "", paths: Paths | None = None
) -> Iterator[tuple[str, Row, bool]]:
    """The path of each field and group, what it is, and whether it is a group, in their order."""
    paths = paths or Paths()
    for kind in ("fields", "groups"):
        for node in form.get(kind, ()):
            path, is_group = paths.of(parent, node.get("label", "")), kind == "groups"
            yield path, node, is_group
            yield from walk(node, path, paths) if is_group else ()


def field_rows(form: Row, flaws: Counter[str]) -> Iterator[Row]:
    """Rows of all fields and groups, in the order of the form.

    A field has the task of its modality (`text` where that is not known); a group has the task
    `layout` and the kind `group`, its label as value. `flaws` counts labels and words of the
    taxonomy that are missing or unknown.
    """
    for path, node, is_group in walk(form):
        label, row = node.get("label", ""), {"path": path, "page": node.get("page") or 1}
        row |= dict(zip(tables.BOX, node.get("box") or (), strict=False))
        if is_group:
            yield row | {"task": "layout", "kind": "group", "value": label}
            continue
        modality, subtype = modality_of(node.get("modality"), node.get("modality_subtype"))
        flaws["fields without a label"] += not label.strip()
        flaws["fields of an unknown modality"] += modality is None
        flaws["fields of an unknown subtype"] += modality is not None and subtype is None
        row |= {"task": TASK_OF.get(modality or "", "text"), "value": node.get("value", "")}
        row |= {"kind": node.get("kind") or _TABLE["kind"].get(subtype or "", "string")}
        row |= {"modality": modality, "subtype": subtype, "accepted": node.get("accepted")}
        yield row


def item_rows(form: Row, known: set[str], flaws: Counter[str]) -> Iterator[Row]:
    """Rows of the questions and consistency checks; `known` are the paths of the fields."""
    listed = [(name, vars(item_of(name, item))) for name in ITEMS for item in form.get(name, ())]
    for task, said in listed:
        paths = {*said["fields"], *(said[name] for name in ("source", "dependent") if name in said)}
        flaws["questions or checks of a field that is not there"] += not paths <= known
        answer, *others = said.get("answers", [said.get("expected")]) or [None]
        flaws["questions without an answer"] += answer is None
        row = {"task": task, "path": f"{ITEMS[task]}/{said['id']}", "value": answer}
        row |= {"accepted": others or None, "status": "unscored" if answer is None else "ok"}
        row |= {"kind": said["kind"] or ("choice" if said.get("options") else None)}
        meta = {name: said[name] for name in ItemMeta._fields if said.get(name)}
        row |= {"meta": json.dumps(meta, ensure_ascii=False), "confidence": said.get("confidence")}
        for axis in RELATIONS:
            row[axis] = canonical(axis, said[axis])
            flaws[f"items with an unknown {axis}"] += row[axis] is None
        yield row


def form_rows(value: Any, notes: Counter[str]) -> tuple[list[Row], tuple[str, ...]]:
    """The rows of a form, and how it was mended; `ValueError` if it is none."""
    form, mended = tidied(value)
    flaws = Counter[str]()
    rows = list(field_rows(form, flaws))
    notes.update({f"predicted {flaw}": count for flaw, count in flaws.items()})
    return rows, mended


def answer_rows(task: str, found: Any) -> Iterator[Row]:
    """A row for each answer, of an object by id or a list; without an id its path is null.

    Its `meta` has its `reason`, and the values of its `fields`: a mapping of paths to values, or a
    list of objects with `path` and `value`.

    >>> answer = {"id": "c1", "answer": 9, "fields": [{"path": "/Parts", "value": 4}]}
    >>> [row["meta"] for row in answer_rows("consistency", [answer])]
    ['{"values": {"/Parts": "4"}}']
    """
    listed = found if isinstance(found, list) else ()
    pairs = [(a.get("id") if isinstance(a, dict) else None, a) for a in listed]
    for name, answer in found.items() if isinstance(found, dict) else pairs:
        path = None if name is None else f"{ITEMS[task]}/{as_text(name)}"
        row: Row = {"task": task, "path": path}
        if isinstance(answer, dict):
            fields = answer.get("fields")
            if isinstance(fields, list):
                objects = [field for field in fields if isinstance(field, dict)]
                fields = {as_text(field.get("path")): field.get("value") for field in objects}
            named = fields.items() if isinstance(fields, dict) else ()
            values = {path: as_text(value) for path, value in named if value is not None}
            meta = {"reason": as_text(answer.get("reason")), "values": values}
            meta = {key: value for key, value in meta.items() if value}
            row["meta"] = json.dumps(meta) if meta else None
            row["confidence"] = number(answer.get("confidence"))
            answer = next((answer[key] for key in _ANSWERS if key in answer), None)
        yield row | ({"status": "missing"} if answer is None else {"value": as_text(answer)})
