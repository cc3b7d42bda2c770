"""What the fields of a user's own forms are: types, and how their values are compared."""

from __future__ import annotations

import json
import pkgutil
import re
import sys
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache, partial
from itertools import islice
from pathlib import Path
from typing import Annotated, Any

import msgspec
import polars as pl

from formlab import files, text
from formlab.benchmarks.meta import meta_of
from formlab.errors import DataBroken, NotAvailable, UnknownName
from formlab.readers.values import pattern, pointer
from formlab.text.values import possible_dates
from formlab.trees import escape, unescape

# Names of types, and the kind that the fields of each get.
TYPES = {name: name for name in ("string", "number", "money", "date", "choice", "address")}
TYPES |= {"text": "string", "integer": "number", "boolean": "checkbox", "checkbox": "checkbox"}
COMPARATORS = ("exact", "text", "typed", "fuzzy")
_KNOWN = {"type": TYPES, "comparator": COMPARATORS}
_FORMATS = {"date": "date", "date-time": "date", "money": "money", "currency": "money"}
# What of a field says how its values are compared.
_RULE = ("comparator", "tolerance", "weight", "relative", "ordered")
# What a JSON Schema may say of a field beside its own words, and how deep it may be nested.
_WORDS = ("comparator", "tolerance", "relative", "weight", "question", "label")
_DEEPEST = 40
# How many values of a field are read to infer its type.
_ENOUGH = 200
_DIGITS, _CODE = re.compile(r"0|[1-9][0-9]*"), re.compile(r"0[0-9]+|[0-9]{10,}|\+[0-9][0-9 ]{6,}")
# A letter or a figure for a box is as often something else.
_NO_BOX = re.compile(r"[a-z0-9]|[01]\.0|on|off", re.IGNORECASE)
_LISTED = re.compile(r"""\[\s*(["']).*\1\s*\]""", re.DOTALL)
# Words for no value that may be an option beside yes and no.
_OPTIONS = {"unknown", "missing", "blank", "empty", "keine", "geen", "brak"}
# From so many different values on, such a share must be of a type.
_FEW, _SHARE = 5, 0.8
_TESTS = {
    "boolean": lambda value: text.checked(value) is not None and not _NO_BOX.fullmatch(value),
    # 10.1999 may be October, but a field of such values has numbers.
    "date": lambda value: (
        text.date(value) is not None or (any(possible_dates(value)) and text.number(value) is None)
    ),
    "number": lambda value: text.number(value) is not None,
    "money": lambda value: text.money(value) is not None,
    # A list as text, whose order says nothing.
    "choice": _LISTED.fullmatch,
}


class FieldType(msgspec.Struct, frozen=True, omit_defaults=True):
    """How the values at a path are compared, their type, and what a person asks for them by.

    `comparator` is one of `COMPARATORS`, null for that of the type; `tolerance` how far a number
    may be from the right one, in its unit or, where `relative`, as a share of it (``1%``), or a
    date in days, 0 and more; `weight` how much a field counts, above 0; `ordered` whether each item
    of the lists that it is in is compared with the item at its own position.
    """

    comparator: str | None = None
    tolerance: Annotated[float, msgspec.Meta(ge=0, le=sys.float_info.max)] | None = None
    weight: Annotated[float, msgspec.Meta(gt=0, le=sys.float_info.max)] = 1.0
    relative: bool = False
    ordered: bool = False
    type: str | None = None
    question: str | None = None
    label: str | None = None
    choices: tuple[str, ...] = ()

    @property
    def kind(self) -> str | None:
        """The kind of its records."""
        return TYPES.get(self.type or "")


@lru_cache(maxsize=4096)
def rule_of(meta: str | None) -> FieldType:
    """The rule in the `meta` of a record; the default rule where none was declared.

    >>> rule_of('{"weight": 2.0}').weight, rule_of(None) == FieldType()
    (2.0, True)
    """
    return msgspec.convert(meta_of(meta), FieldType)


def rule_text(declared: FieldType) -> str | None:
    """How a field is compared, as the `meta` of its records; null where nothing is declared."""
    stated = msgspec.to_builtins(declared)
    rule = {name: stated[name] for name in _RULE if name in stated}
    return json.dumps(rule) if rule else None


@dataclass(frozen=True)
class FieldTypes:
    """The types of fields by the pattern of their paths, such as ``/items/*/price``.

    `odd` counts the different values that are not of an inferred type; `is_list` says that a file
    names fields of these documents, while a schema may be of others too.

    >>> types = FieldTypes.read({"total": {"type": "money", "weight": 2}})
    >>> types.of("/total").weight, types.of("/note").type
    (2.0, None)
    """

    fields: dict[str, FieldType] = field(default_factory=dict)
    odd: dict[str, int] = field(default_factory=dict)
    is_list: bool = False

    def of(self, path: str | None) -> FieldType:
        """The type of the field at a path; an empty type where none is declared."""
        return self.fields.get(pattern(path or ""), FieldType())

    @classmethod
    def read(cls, source: Any) -> FieldTypes:
        """The types that are declared in a file, a mapping or a pydantic model.

        `source` is a JSON Schema (a file or a dict); a pydantic model (the class, or
        ``module:Class``); a YAML file or a dict of fields: ``total: money``, or ``total: {type:
        money, tolerance: 0.01, weight: 2}``, words that in a schema stand beside ``type``.
        `DataMissing`, `DataBroken`, `NotAvailable` or `UnknownName` if it cannot be read.
        """
        if isinstance(source, FieldTypes):
            return source
        where = str(source) if isinstance(source, str | Path) else None
        declared = _declared(source)
        if not isinstance(declared, Mapping) or not declared:
            what = "types are a JSON Schema, or fields with their types"
            raise DataBroken(what, where=where, remedy="total: money")
        is_schema = not {"properties", "$ref", "$schema"}.isdisjoint(declared)
        inner = declared.get("fields")
        listed = inner if isinstance(inner, Mapping) else declared
        named = ((pattern(pointer(str(name)) or "/"), said) for name, said in listed.items())
        fields = dict(_leaves(declared, "", declared, where) if is_schema else named)
        types = {path: _field(path, said, where) for path, said in fields.items()}
        return cls(types, is_list=bool(where) and not is_schema)

    @classmethod
    def of_document(cls, document: Mapping[str, Any]) -> FieldTypes:
        """The types that the document of a corpus was loaded with, from its row."""
        return cls(msgspec.convert(meta_of(document).get("types") or {}, dict[str, FieldType]))

    def stated(self) -> dict[str, dict[str, Any]]:
        """What differs from the defaults, by pattern, as values for JSON."""
        return msgspec.to_builtins(self.fields)

    @classmethod
    def inferred(cls, values: pl.DataFrame, lists: Collection[str] = ()) -> FieldTypes:
        """The types of fields by their values or `samples` of them, at `lists` those of items."""
        paths = values["path"].drop_nulls().unique()
        patterns = [pattern(f"{path}/0" if path in lists else path) for path in paths]
        step = pl.col("path").replace_strict(paths, patterns, default=None, return_dtype=pl.String)
        some = samples(values.select(step, "value"))
        some = some.group_by("path", maintain_order=True).agg(pl.col("value").drop_nulls())
        types = {path: _type_of(known) for path, known in some.rows()}
        fields = {path: FieldType(type=name) for path, (name, _) in types.items()}
        return cls(fields, {path: count for path, (_, count) in types.items() if count})

    def json_schema(self) -> dict[str, Any]:
        """A JSON Schema of a document with these fields, each of which may be null."""
        return _schema({tuple(path.split("/")[1:]): kind for path, kind in self.fields.items()})


def samples(values: pl.DataFrame, before: pl.DataFrame | None = None) -> pl.DataFrame:
    """The first different values at each path, as many as types need, after those `before`."""
    values = values.select("path", "value").filter(pl.col("path").is_not_null())
    values = values if before is None else pl.concat([before, values])
    values = values.unique(maintain_order=True)
    place = pl.col("value").is_not_null().cum_sum().over("path")
    return values.filter(pl.col("value").is_null() | (place <= _ENOUGH))


def _type_of(values: list[str]) -> tuple[str, int]:
    """The type that few values all have, or a share of more; how many are not of it."""
    plain = filter(None, map(str.strip, values))
    some = [v for v in plain if v.casefold() in _OPTIONS or not text.is_null_word(v)]
    if not some or any(_CODE.fullmatch(value) for value in some):
        return "string", 0
    least = len(some) if len(some) < _FEW else _SHARE * len(some)
    odd = {}
    for name, is_one in _TESTS.items():
        if name == "date" and all(map(_DIGITS.fullmatch, some)):
            continue
        # As soon as too many are none, the rest is not looked at.
        others = (value for value in some if not is_one(value))
        odd[name] = len(list(islice(others, int(len(some) - least) + 1)))
        if not odd[name]:
            return name, 0
    name = next((name for name, n in odd.items() if n <= len(some) - least), "string")
    return name, odd.get(name, 0)


def _declared(source: Any) -> Any:
    """The mapping that declares types, of a file, a model or itself."""
    if isinstance(source, str) and ":" in source and not files.is_file(source):
        sys.path.insert(0, str(Path.cwd()))
        try:
            source = pkgutil.resolve_name(source.replace(".py:", ":")).model_json_schema()
        except Exception as error:  # Whatever a user's own module meets.
            what = f"no model {source!r}: {type(error).__name__}: {error}"
            raise NotAvailable(what, remedy="module:Class, a pydantic model") from error
        finally:
            sys.path.pop(0)
    if isinstance(source, str | Path):
        is_json = Path(source).suffix.lower() == ".json"
        read = partial(files.read_json, once=True) if is_json else files.read_yaml
        return read(source, remedy="total: money")
    return source.model_json_schema() if hasattr(source, "model_json_schema") else source


def _field(path: str, said: Any, where: str | None) -> FieldType:
    """The type of a field by what is said of it: its type alone, or several properties."""
    rule = dict(said) if isinstance(said, Mapping) else {"type": said}
    rule.pop("required", None)  # A word of schemas and of 0.2: an absent value is never scored.
    words = [(f"property of {path}", name, FieldType.__struct_fields__) for name in rule]
    words += [(f"{n} of {path}", rule[n], known) for n, known in _KNOWN.items() if rule.get(n)]
    for what, word, known in words:
        if str(word) not in known:
            error = UnknownName.of(what, str(word), known)
            raise UnknownName(error.what, where=where, remedy=error.remedy)
    if isinstance(rule.get("choices"), list):
        rule["choices"] = list(map(str, rule["choices"]))
    share = str(rule.get("tolerance")).strip()
    try:
        if share.endswith("%"):
            rule |= {"tolerance": float(share[:-1]) / 100, "relative": True}
        return msgspec.convert(rule, FieldType, strict=False)
    except ValueError as error:
        remedy = "a tolerance is a number from 0 or per cent, a weight one above 0"
        raise DataBroken(str(error), where=f"{where or ''}#{path}", remedy=remedy) from error


def _leaves(
    node: Any, path: str, root: Any, where: str | None, *, ordered: bool = False
) -> Iterator[tuple[str, dict[str, Any]]]:
    """The leaves of a JSON Schema with what it and the lists around them say of them."""
    at = f"{where or ''}#{path[:80]}" if path else where
    if path.count("/") > _DEEPEST:
        raise DataBroken("a JSON Schema that refers to itself", where=at)
    node = dict(node) if isinstance(node, Mapping) else {}
    for word in ("$ref", "anyOf", "oneOf", "allOf") * _DEEPEST:
        # A reference is followed; of choices the first is taken that is not null.
        choices = node.pop(word, None)
        if isinstance(choices, str):
            target = root
            for step in choices.split("/")[1:]:
                target = target.get(unescape(step)) if isinstance(target, Mapping) else None
            choices = [target]
        listed = choices if isinstance(choices, list) else []
        real = [s for s in listed if isinstance(s, Mapping) and s.get("type") != "null"]
        node = dict(real[0]) | node if real else node
    ordered = ordered or bool(node.get("ordered"))
    if isinstance(members := node.get("properties"), Mapping):
        for name, member in members.items():
            yield from _leaves(member, f"{path}/{escape(name)}", root, where, ordered=ordered)
    elif isinstance(items := node.get("items"), Mapping):
        yield from _leaves(items, f"{path}/*", root, where, ordered=ordered)
    elif path:
        names = node.get("type") if isinstance(node.get("type"), list) else [node.get("type")]
        usual = next((name for name in names if str(name) in TYPES), "string")
        listed = node["enum"] if isinstance(node.get("enum"), list) else []
        said = {"type": _FORMATS.get(str(node.get("format")), usual), "ordered": ordered}
        said |= {"type": "choice"} if listed or "const" in node else {}
        said |= {"choices": [choice for choice in listed if choice is not None]}
        said |= {"question": node.get("description")}
        said |= {name: node[name] for name in _WORDS if name in node}
        yield pattern(path), {name: word for name, word in said.items() if word}


def _schema(fields: Mapping[tuple[str, ...], FieldType]) -> dict[str, Any]:
    """The JSON Schema of fields by their steps, closed as structured output asks for."""
    if declared := fields.get(()):
        name = {"number": "number", "checkbox": "boolean"}.get(declared.kind or "", "string")
        description = declared.question or declared.label
        stated = {"enum": [*declared.choices, None]} if declared.choices else {}
        stated |= {"description": description} if description else {}
        return {"type": [name, "null"]} | stated
    below: dict[str, dict[tuple[str, ...], FieldType]] = {}
    for (first, *steps), declared in fields.items():
        below.setdefault(unescape(first), {})[tuple(steps)] = declared
    if below.keys() == {"*"}:
        return {"type": "array", "items": _schema(below["*"])}
    members = {name: _schema(inner) for name, inner in below.items() if name != "*"}
    closed = {"type": "object", "properties": members, "required": list(members)}
    return closed | {"additionalProperties": False}
