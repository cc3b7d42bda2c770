"""What the fields of a user's own forms are: types, and how their values are compared."""

from __future__ import annotations

import dataclasses
import json
import math
import re
import sys
from collections import Counter
from collections.abc import Collection, Mapping
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from typing import Any

import msgspec
import polars as pl

from formlab import files, text
from formlab.benchmarks.meta import meta_of
from formlab.errors import DataBroken, DataMissing, NotAvailable, UnknownName
from formlab.files import convert
from formlab.own import _schemas
from formlab.own._schemas import TYPES
from formlab.readers.values import pattern, pointer
from formlab.text.values import possible_dates

COMPARATORS = ("exact", "text", "typed", "fuzzy")
# How many values of a field are read to infer its type.
_ENOUGH = 200
_DIGITS = re.compile(r"0|[1-9][0-9]*")
_CODE = re.compile(r"0[0-9]+|[0-9]{10,}")
# A letter or a figure for a box is as often something else.
_NO_BOX = re.compile(r"[a-z0-9]|[01]\.0|on|off", re.IGNORECASE)
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
}


@dataclasses.dataclass(frozen=True)
class Rule:
    """How the values at a path are compared.

    `comparator` is one of `COMPARATORS`, null for that of the field's type; `tolerance` how far a
    number may be from the right one, in its unit or, where `relative`, as a share of it (``1%``),
    or a date in days, 0 and more; `weight` how much a field counts, above 0; `required` whether
    every document should have it; `ordered` whether the items of the lists that it is in keep
    their order, so that each is compared with the item at its own position.
    """

    comparator: str | None = None
    tolerance: float | None = None
    weight: float = 1.0
    required: bool = False
    relative: bool = False
    ordered: bool = False


@dataclasses.dataclass(frozen=True)
class FieldType(Rule):
    """A `Rule` with the type of the values, their choices, and what a person asks for them by."""

    type: str | None = None
    question: str | None = None
    label: str | None = None
    choices: tuple[str, ...] = ()

    @property
    def kind(self) -> str | None:
        """The kind of its records."""
        return TYPES.get(self.type or "")


@lru_cache(maxsize=4096)
def rule_of(meta: str | None) -> Rule:
    """The rule in the `meta` of a record; the default rule where none was declared.

    Examples
    --------
    >>> rule_of('{"weight": 2.0}').weight, rule_of(None) == Rule()
    (2.0, True)
    """
    stated = meta_of(meta)
    names = [field.name for field in dataclasses.fields(Rule)]
    return Rule(**{name: stated[name] for name in names if name in stated})


@dataclasses.dataclass(frozen=True)
class FieldTypes:
    """The types of fields by the pattern of their paths, such as ``/items/*/price``.

    Examples
    --------
    >>> types = FieldTypes.read({"total": {"type": "money", "weight": 2}})
    >>> types.of("/total").weight, types.of("/note").type
    (2.0, None)
    """

    fields: dict[str, FieldType] = dataclasses.field(default_factory=dict)
    # By inferred field, how many different values are not of its type.
    odd: dict[str, int] = dataclasses.field(default_factory=dict)
    # Whether a file names fields of these documents; a schema or a dict may be of others too.
    is_list: bool = False

    def of(self, path: str | None) -> FieldType:
        """The type of the field at a path; an empty type where none is declared."""
        return self.fields.get(pattern(path or ""), FieldType())

    @classmethod
    def read(cls, source: Any) -> FieldTypes:
        """The types that are declared in a file, a mapping or a pydantic model.

        Parameters
        ----------
        source
            A JSON Schema (a file or a dict); a pydantic model (the class, or ``module:Class``); a
            YAML file or a dict of fields: ``total: money``, or ``total: {type: money, tolerance:
            0.01, weight: 2, comparator: typed, required: true, question: …}``. In a schema these
            words stand beside ``type``.

        Raises
        ------
        DataMissing, DataBroken, UnknownName, NotAvailable
            If there is no such file or model, it cannot be read, or it has an unknown word.
        """
        if isinstance(source, FieldTypes):
            return source
        where = None if isinstance(source, Mapping | type) else str(source)
        value = _declared(source)
        if not isinstance(value, Mapping) or not value:
            what = "types are a JSON Schema, or fields with their types"
            raise DataBroken(what, where=where, remedy="total: money")
        is_schema = not {"properties", "$ref", "$schema"}.isdisjoint(value)
        if is_schema:
            leaves = list(_schemas.leaves(value, "", value, where, required=False, depth=0))
        else:
            inner = value.get("fields", value)
            fields = inner if isinstance(inner, Mapping) else value
            leaves = [
                (str(pointer(str(name))), dict(stated) if isinstance(stated, Mapping)
                 else {"type": stated})
                for name, stated in fields.items()
            ]  # fmt: skip
        try:
            fields = {pattern(path): _field(path, stated, where) for path, stated in leaves}
            return cls(fields, is_list=not is_schema and where is not None)
        except UnknownName as error:
            raise UnknownName(error.what, where=where, remedy=error.remedy) from error

    @classmethod
    def of_document(cls, document: Mapping[str, Any]) -> FieldTypes:
        """The types that the document of a corpus was loaded with, from its row."""
        return cls.of_stated(meta_of(document).get("types") or {})

    @classmethod
    def of_stated(cls, stated: Mapping[str, Mapping[str, Any]]) -> FieldTypes:
        """The types that `stated` gave."""
        return cls({
            path: FieldType(**{n: tuple(v) if isinstance(v, list) else v for n, v in rule.items()})
            for path, rule in stated.items()
        })  # fmt: skip

    @classmethod
    def inferred(cls, values: pl.DataFrame, lists: Collection[str] = ()) -> FieldTypes:
        """The types of fields by their values: dates, amounts, numbers … all but few of a field's.

        `values` has the columns path and value; `samples` of them give the same types. The values
        at the paths `lists` are the items of lists.
        """
        paths = values["path"].drop_nulls().unique()
        patterns = [pattern(f"{path}/0" if path in lists else path) for path in paths]
        step = pl.col("path").replace_strict(paths, patterns, default=None, return_dtype=pl.String)
        known = values.select(step, "value")
        some = None
        for piece in known.iter_slices(20_000):
            some = samples(piece, some)
        if some is None:
            return cls()
        some = some.group_by("path", maintain_order=True).agg(pl.col("value").drop_nulls())
        types = {path: _type_of(known) for path, known in some.rows()}
        fields = {path: FieldType(type=name) for path, (name, _) in types.items()}
        return cls(fields, {path: count for path, (_, count) in types.items() if count})

    def stated(self) -> dict[str, dict[str, Any]]:
        """What differs from the defaults, by pattern, as values for JSON."""
        return {path: _stated(field) for path, field in self.fields.items()}

    def counts(self) -> dict[str, int]:
        """How many fields have each type."""
        return dict(Counter(field.type or "string" for field in self.fields.values()).most_common())

    def json_schema(self) -> dict[str, Any]:
        """A JSON Schema of a document with these fields, each of which may be null."""
        root: dict[str, Any] = {"type": "object", "properties": {}}
        for path, field in self.fields.items():
            _grow(root, [_schemas.unescaped(step) for step in path.split("/")[1:]], field)
        return _closed(root)


def samples(values: pl.DataFrame, before: pl.DataFrame | None = None) -> pl.DataFrame:
    """As many different values at each path as types are inferred by, the first ones, and a null.

    The samples of a table are those of its last piece after the samples of all `before` it.
    """
    values = values.select("path", "value").filter(pl.col("path").is_not_null())
    if before is not None:
        counts = before.group_by("path").agg(pl.col("value").count())
        full = counts.filter(pl.col("value") >= _ENOUGH)["path"]
        values = pl.concat([before, values.filter(~pl.col("path").is_in(full.implode()))])
    values = values.unique(maintain_order=True)
    place = pl.col("value").is_not_null().cum_sum().over("path")
    return values.filter(pl.col("value").is_null() | (place <= _ENOUGH))


def _stated(rule: Rule) -> dict[str, Any]:
    usual = type(rule)()
    return {n: v for n, v in dataclasses.asdict(rule).items() if v != getattr(usual, n)}


def rule_text(field: FieldType) -> str | None:
    """The rule of a field as the `meta` of its records; null where nothing is declared."""
    names = {member.name for member in dataclasses.fields(Rule)}
    stated = {name: value for name, value in _stated(field).items() if name in names}
    return json.dumps(stated) if stated else None


def _declared(source: Any) -> Any:
    """The mapping that a source holds, a model's being its schema."""
    if isinstance(source, Mapping):
        return source
    if isinstance(source, str) and ":" in source and not files.is_file(source):
        source = _model(source)
    if hasattr(source, "model_json_schema"):
        return source.model_json_schema()
    if not isinstance(source, str | Path):
        what = f"types cannot be read from {type(source).__name__}"
        raise DataBroken(what, remedy="a file, a dict or a pydantic model")
    if Path(source).suffix.lower() == ".json":
        return files.read_json(source, once=True)
    if not files.is_file(source):
        remedy = "a JSON Schema, a YAML file, or module:Class"
        raise DataMissing("no such file of types", where=source, remedy=remedy)
    return files.read_yaml(source, remedy="total: money")


def _model(named: str) -> Any:
    """The class of ``module:Class``, the module being looked for in the working folder too."""
    module, _, name = named.partition(":")
    here = str(Path.cwd())
    sys.path.insert(0, here)
    try:
        model = getattr(import_module(module.removesuffix(".py")), name)
    except Exception as error:  # Whatever a user's own module meets.
        what = f"no model {named!r}: {type(error).__name__}: {error}"
        raise NotAvailable(what, remedy="module:Class, a pydantic model") from error
    finally:
        sys.path.remove(here)
    if not hasattr(model, "model_json_schema"):
        raise NotAvailable(f"{named} is no pydantic model", remedy="a subclass of BaseModel")
    return model


class _Stated(msgspec.Struct):
    """What may be said of a field."""

    type: str | None = None
    comparator: str | None = None
    tolerance: float | str | None = None
    weight: float | str | None = None
    required: bool | None = None
    relative: bool | None = None
    ordered: bool | None = None
    question: str | None = None
    label: str | None = None
    choices: list[Any] | None = None


def _field(path: str, stated: dict[str, Any], where: str | None) -> FieldType:
    names = [field.name for field in dataclasses.fields(FieldType)]
    for name in stated:
        if name not in names:
            raise UnknownName.of(f"property of {path}", name, names)
    convert(stated, _Stated, where=_schemas.at(where, path))
    for name, known in (("type", TYPES), ("comparator", COMPARATORS)):
        if stated.get(name) is not None and stated[name] not in known:
            raise UnknownName.of(f"{name} of {path}", stated[name], known)
    rule = dict(stated)
    try:
        for name in ("tolerance", "weight"):
            if stated.get(name) is not None:
                share = name == "tolerance" and str(stated[name]).strip().endswith("%")
                number = str(stated[name]).strip().removesuffix("%") if share else stated[name]
                rule[name] = float(number) / (100 if share else 1)
                rule |= {"relative": True} if share else {}
        tolerance = rule.get("tolerance") or 0.0
        if not (0 < rule.get("weight", 1.0) < math.inf and 0 <= tolerance < math.inf):
            raise ValueError
    except (TypeError, ValueError, OverflowError) as error:
        what = f"{path}: a tolerance is a number from 0 or per cent, a weight one above 0"
        raise DataBroken(what, where=where) from error
    rule["choices"] = tuple(str(choice) for choice in rule.get("choices") or ())
    return FieldType(**rule)


def _type_of(values: list[str]) -> tuple[str, int]:
    """The type that the values of a field have, and how many of them are not of it.

    Words for no value are set aside. Few values must all be of the type, of more a share.
    """
    some = [value.strip() for value in values if value.strip() and not text.is_null_word(value)]
    plain = [value for value in some if _DIGITS.fullmatch(value)]
    if not some or any(_CODE.fullmatch(value) for value in some):
        return "string", 0
    least = len(some) if len(some) < _FEW else _SHARE * len(some)
    for share in (len(some), least):
        for name, is_one in _TESTS.items():
            count = sum(map(is_one, some))
            if count >= share and not (name == "date" and len(plain) == len(some)):
                return name, len(some) - count
    return "string", 0


_JSON = {"number": "number", "checkbox": "boolean"}


def _grow(node: dict[str, Any], steps: list[str], field: FieldType) -> None:
    for step, following in zip(steps, [*steps[1:], None], strict=True):
        leaf: dict[str, Any] = (
            _leaf(field, step) if following is None
            else {"type": "array", "items": {}} if following == "*"
            else {"type": "object", "properties": {}}
        )  # fmt: skip
        if step == "*":
            node["items"] = node.get("items") or leaf
            node = node["items"]
        else:
            node = node.setdefault("properties", {}).setdefault(step, leaf)


def _leaf(field: FieldType, name: str) -> dict[str, Any]:
    stated: dict[str, Any] = {"type": [_JSON.get(field.kind or "", "string"), "null"]}
    if field.choices:
        stated["enum"] = [*field.choices, None]
    # Titles that pydantic makes of a field's name say nothing more.
    is_name = (field.label or "").replace(" ", "_").casefold() == name.casefold()
    description = field.question or (field.label if not is_name else None)
    return stated | ({"description": description} if description else {})


def _closed(node: dict[str, Any]) -> dict[str, Any]:
    """Every member named as required and no other allowed, as structured output asks for."""
    if isinstance(inner := node.get("properties"), dict):
        node |= {"required": list(inner), "additionalProperties": False}
        for member in inner.values():
            _closed(member)
    if isinstance(items := node.get("items"), dict):
        _closed(items)
    return node
