"""What the fields of a user's own forms are: types, and how their values are compared."""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from functools import lru_cache, partial
from itertools import filterfalse, islice
from pathlib import Path
from typing import Annotated, Any

import msgspec
import polars as pl

from formlab import files, text
from formlab.benchmarks.corpus import meta_of
from formlab.errors import DataBroken, UnknownName
from formlab.readers import Row, door
from formlab.readers.values import by_text, samples
from formlab.text.values import possible_dates
from formlab.trees import escape, pattern, pointer, unescape

# Names of types, and the kind that the fields of each get.
TYPES = {name: kind for kind, names in door.NAMES["kinds"].items() for name in names}
_KNOWN = {"type": TYPES, "comparator": ("exact", "text", "typed", "fuzzy")}
_FORMATS = {form: name for name, forms in door.NAMES["formats"].items() for form in forms}
_RULE, _WORDS, _AROUND, _OPTIONS = door.NAMES["types"].values()
_SCHEMA, _DEEPEST = {"properties", "$ref", "$schema"}, 40  # How deep one may be nested.
_DIGITS, _CODE, _NO_BOX, _LISTED = door.PATTERNS["texts"]
_FEW, _SHARE = 5, 0.8  # From so many different values on, such a share must be of a type.
_TESTS = {
    "boolean": lambda value: text.checked(value) is not None and not _NO_BOX.fullmatch(value),
    # 10.1999 may be October, but a field of such values has numbers.
    "date": lambda v: text.date(v) or (any(possible_dates(v)) and text.number(v) is None),
    "number": lambda value: text.number(value) is not None,
    "money": lambda value: text.money(value) is not None,
    # A list as text, whose order says nothing.
    "choice": _LISTED.fullmatch,
}


class FieldType(msgspec.Struct, frozen=True, omit_defaults=True):
    """How the values at a path are compared, their type, and what a person asks for them by.

    `tolerance` is how far a number may be from the right one, in its unit or, where `relative`, as
    a share of it (``1%``), or a date in days; `ordered` whether items of lists keep their places.
    """

    comparator: str | None = None
    tolerance: Annotated[float, msgspec.Meta(ge=0, le=sys.float_info.max)] | None = None
    weight: Annotated[float, msgspec.Meta(gt=0, le=sys.float_info.max)] = 1  # One in any process.
    relative: bool = False
    ordered: bool = False
    type: str | None = None
    question: str | None = None
    label: str | None = None
    choices: tuple[str, ...] = ()


@lru_cache(maxsize=4096)
def rule_of(meta: str | None) -> FieldType:
    """The rule in the `meta` of a record; the default rule where none was declared."""
    return msgspec.convert(meta_of(meta), FieldType)


class FieldTypes(msgspec.Struct, frozen=True):
    """The types of fields by the pattern of their paths, such as ``/items/*/price``.

    >>> types = FieldTypes.read({"total": {"type": "money", "weight": 2}})
    >>> types.of("/total").weight, types.of("/note").type
    (2.0, None)
    """

    fields: dict[str, FieldType] = {}
    odd: dict[str, int] = {}  # Values not of the inferred type.
    is_list: bool = False  # A file names fields of these documents; a schema may be of others too.

    def of(self, path: str | None) -> FieldType:
        """The type of the field at a path; an empty type where none is declared."""
        return self.fields.get(pattern(path or ""), FieldType())

    def rule(self, path: str) -> str | None:
        """How the field at a path is compared, as the `meta` of its records; null if as usual."""
        said = msgspec.to_builtins(self.of(path))
        return door.as_text({name: said[name] for name in said if name in _RULE} or None)

    @classmethod
    def read(cls, source: Any) -> FieldTypes:
        """The types that a JSON Schema (file or dict), a pydantic model or a YAML file declares.

        YAML or a dict has fields: ``total: money``, or ``total: {type: money, tolerance: 0.01}``,
        words that in a schema stand beside ``type``. `FormlabError` if it cannot be read.
        """
        declared, where = source, "the types"
        if isinstance(source, str | Path):
            where, is_json = str(source), Path(source).suffix.lower() == ".json"
            parse = partial(files.read_json, once=True) if is_json else files.read_yaml
            declared = parse(source, remedy="total: money")
        elif hasattr(source, "model_json_schema"):
            declared = source.model_json_schema()
        if not isinstance(declared, Mapping) or not declared:
            raise DataBroken("types are fields or JSON Schema", where=where, remedy="total: money")
        for name in _AROUND:
            if isinstance(inner := declared.get(name), Mapping) and {*inner} & {*_AROUND, *_SCHEMA}:
                declared = inner
        is_schema, inner = not _SCHEMA.isdisjoint(declared), declared.get("fields")
        listed = inner if isinstance(inner, Mapping) else declared
        named = ((pattern(pointer(str(name)) or "/"), said) for name, said in listed.items())
        try:
            leaves = dict(_leaves(declared, "", declared) if is_schema else named)
        except (AttributeError, TypeError) as error:
            raise DataBroken(f"not a JSON Schema: {error}", where=where) from error
        fields = {path: _field(said, f"{where}#{path}") for path, said in leaves.items()}
        return cls(fields, is_list=isinstance(source, str | Path) and not is_schema)

    @classmethod
    def inferred(cls, values: pl.DataFrame, lists: Collection[str] = ()) -> FieldTypes:
        """The types of fields by their values or `samples` of them, at `lists` those of items."""
        of = by_text(values["path"], lambda p: pattern(f"{p}/0" if p in lists else p))
        some = samples(values.select(of, "value")).group_by("path", maintain_order=True)
        types = {p: _type_of(known) for p, known in some.agg(pl.col("value").drop_nulls()).rows()}
        fields = {path: FieldType(type=name) for path, (name, _) in types.items()}
        return cls(fields, {path: count for path, (_, count) in types.items()})

    def json_schema(self) -> dict[str, Any]:
        """A JSON Schema of these fields, which may be null, closed as structured output asks."""
        if declared := self.fields.get(""):
            kinds = {"number": "number", "checkbox": "boolean"}
            name = kinds.get(TYPES.get(declared.type), "string")
            stated = {"description": declared.question or declared.label}
            stated |= {"enum": [*declared.choices, None]} if declared.choices else {}
            return {"type": [name, "null"]} | {word: said for word, said in stated.items() if said}
        below = defaultdict[str, dict[str, FieldType]](dict)
        for path, declared in self.fields.items():
            first, slash, rest = path.removeprefix("/").partition("/")
            below[unescape(first)][slash + rest] = declared
        members = {name: FieldTypes(inner).json_schema() for name, inner in below.items()}
        if members.keys() == {"*"}:
            return {"type": "array", "items": members["*"]}
        members.pop("*", None)
        closed = {"type": "object", "properties": members, "required": list(members)}
        return closed | {"additionalProperties": False}


def _type_of(values: list[str]) -> tuple[str, int]:
    """The type that few values all have, or a share of more; how many are not of it."""
    plain = filter(None, map(str.strip, values))
    some = [v for v in plain if v.casefold() in _OPTIONS or not text.is_null_word(v)]
    if not some or any(_CODE.fullmatch(value) for value in some):
        return "string", 0
    most = 0 if len(some) < _FEW else int(len(some) - _SHARE * len(some))
    # As soon as too many are none, the rest is not looked at.
    others = {name: islice(filterfalse(is_one, some), most + 1) for name, is_one in _TESTS.items()}
    odd = {name: count for name, found in others.items() if (count := len([*found])) <= most}
    if all(map(_DIGITS.fullmatch, some)):
        odd.pop("date", None)
    # The first that all of them are, else that which most are.
    return min(odd.items(), key=lambda item: item[1] > 0, default=("string", 0))


def _field(said: Any, where: str) -> FieldType:
    """The type of a field by what is said of it: its type alone, or several properties."""
    rule = dict(said) if isinstance(said, Mapping) else {"type": said}
    rule.pop("required", None)  # A word of schemas and of 0.2: an absent value is never scored.
    words = [("property", name, FieldType.__struct_fields__) for name in rule]
    words += [(name, rule[name], known) for name, known in _KNOWN.items() if rule.get(name)]
    for what, word, known in words:
        if str(word) not in known:
            raise UnknownName.of(f"{what} of {where}", word, known)
    if isinstance(rule.get("choices"), list):
        rule["choices"] = list(map(str, rule["choices"]))
    share = str(rule.get("tolerance")).strip()
    try:
        if share.endswith("%"):
            rule |= {"tolerance": float(share[:-1]) / 100, "relative": True}
        return msgspec.convert(rule, FieldType, strict=False)
    except ValueError as error:
        remedy = "a tolerance is a number from 0 or per cent, a weight one above 0"
        raise DataBroken(str(error), where=where, remedy=remedy) from error


def _leaves(node: Any, path: str, root: Any, *, ordered: bool = False) -> Iterator[tuple[str, Row]]:
    """The leaves of a JSON Schema with what it and the lists around them say of them."""
    if path.count("/") > _DEEPEST:
        raise DataBroken("a JSON Schema that refers to itself", where=path[:80])
    node = dict(node) if isinstance(node, Mapping) else {}
    for word in ("$ref", "anyOf", "oneOf", "allOf") * _DEEPEST:
        # A reference is followed; of choices the first is taken that is not null.
        choices = node.pop(word, None) or []
        if isinstance(choices, str):
            choices = [door.at(root, *map(unescape, choices.split("/")[1:]))]
        real = [s for s in choices if isinstance(s, Mapping) and s.get("type") != "null"]
        node = dict(real[0]) | node if real else node
    ordered = ordered or bool(node.get("ordered"))
    if members := node.get("properties"):
        for name, member in members.items():
            yield from _leaves(member, f"{path}/{escape(name)}", root, ordered=ordered)
    elif isinstance(items := node.get("items"), Mapping):
        yield from _leaves(items, f"{path}/*", root, ordered=ordered)
    elif path:
        names = node.get("type") if isinstance(node.get("type"), list) else [node.get("type")]
        usual = next((name for name in names if str(name) in TYPES), "string")
        is_choice = "enum" in node or "const" in node
        usual = "choice" if is_choice else _FORMATS.get(str(node.get("format")), usual)
        choices = [choice for choice in node.get("enum", ()) if choice is not None]
        said = {"type": usual, "ordered": ordered, "choices": choices}
        said |= {"question": node.get("description")} | {n: node[n] for n in _WORDS if n in node}
        yield pattern(path), {name: word for name, word in said.items() if word}
