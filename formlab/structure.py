"""Whether a value has the structure that a source declares; the error says where it has not."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Annotated, Any, NamedTuple, TypeVar

import msgspec
from msgspec import inspect

from formlab.errors import DataBroken

T = TypeVar("T")
# An integer that a table can hold.
Whole = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]
_COUNTS = ("no", "one", "two", "three", "four", "five", "six")
# Of each type of JSON: what one is called, and several.
_NAMES = {
    inspect.AnyType: ("a value", "values"),
    inspect.NoneType: ("null", "nulls"),
    inspect.BoolType: ("true or false", "truth values"),
    inspect.IntType: ("an integer", "integers"),
    inspect.FloatType: ("a number", "numbers"),
    inspect.StrType: ("a text", "texts"),
    inspect.ListType: ("a list", "lists"),
    inspect.VarTupleType: ("a list", "lists"),
    inspect.TupleType: ("a list", "lists"),
    inspect.DictType: ("an object", "objects"),
    inspect.StructType: ("an object", "objects"),
}


def checked(value: Any, kind: type[T], *, where: object, remedy: str | None = None) -> T:
    """A parsed JSON value as `kind`, a type that msgspec knows: a Struct, a dict, a list, ….

    Raises
    ------
    DataBroken
        If the value has another structure: the message has the path in it, what is expected
        there and what stands there.

    Examples
    --------
    >>> checked({"form": [{"box": None}]}, dict[str, list[dict[str, tuple[int, int]]]],
    ...         where="a.json")
    Traceback (most recent call last):
    ...
    formlab.errors.DataBroken: form/0/box: two integers expected, got null (a.json)
    """
    try:
        return msgspec.convert(value, kind)
    # Python's own errors are those of integers of thousands of digits, which nothing can write.
    except (ValueError, OverflowError, RecursionError) as error:
        what = str(next(_faults(_information(kind), value), error))
        raise DataBroken(what, where=where, remedy=remedy) from error


class _Fault(NamedTuple):
    """A place in a value, what belongs there, and what stands there."""

    path: tuple[object, ...]
    expected: str
    got: str

    def __str__(self) -> str:
        at = "/".join(str(part)[:60] for part in self.path)
        return f"{at and f'{at}: '}{self.expected} expected, got {self.got}"


@cache
def _information(kind: Any) -> inspect.Type:
    return inspect.type_info(kind)


def _faults(kind: inspect.Type, value: Any, path: tuple[object, ...] = ()) -> Iterator[_Fault]:
    """What in `value` is not as `kind` says, the first place first."""
    if isinstance(kind, inspect.Metadata):
        kind = kind.type
    if isinstance(kind, inspect.UnionType):
        found = [next(_faults(member, value, path), None) for member in kind.types]
        if None not in found:
            # Of several alternatives, the one that fits up to the deepest place is meant.
            deepest = max(found, key=lambda fault: len(fault.path))
            if len(deepest.path) > len(path):
                yield deepest
            else:
                yield _Fault(path, " or ".join(fault.expected for fault in found), _got(value))
    elif not _is_of(kind, value):
        yield _Fault(path, _expected(kind), _got(value))
    elif isinstance(kind, inspect.StructType):
        for member in kind.fields:
            if member.encode_name in value:
                at = (*path, member.encode_name)
                yield from _faults(member.type, value[member.encode_name], at)
            elif member.required:
                yield _Fault((*path, member.encode_name), _expected(member.type), "nothing")
    elif isinstance(kind, inspect.DictType):
        for name, part in value.items():
            yield from _faults(kind.value_type, part, (*path, name))
    elif isinstance(kind, inspect.TupleType):
        for place, (item, part) in enumerate(zip(kind.item_types, value, strict=True)):
            # A box is one thing: it is called wrong as a whole.
            if next(_faults(item, part), None):
                yield _Fault((*path, place), _expected(item), _got(part))
    elif isinstance(kind, (inspect.ListType, inspect.VarTupleType)):
        for place, part in enumerate(value):
            yield from _faults(kind.item_type, part, (*path, place))


def _is_of(kind: inspect.Type, value: Any) -> bool:
    """Whether the value itself, not what is in it, is of a kind."""
    match kind:
        case inspect.TupleType():
            return isinstance(value, list) and len(value) == len(kind.item_types)
        case inspect.ListType() | inspect.VarTupleType():
            return isinstance(value, list)
        case inspect.DictType() | inspect.StructType():
            return isinstance(value, dict)
        case inspect.IntType():
            whole = isinstance(value, int) and not isinstance(value, bool)
            at_least = kind.ge is None or (whole and value >= kind.ge)
            return whole and at_least and (kind.le is None or value <= kind.le)
        case inspect.FloatType():
            return isinstance(value, (int, float)) and not isinstance(value, bool)
        case inspect.BoolType():
            return isinstance(value, bool)
        case inspect.StrType():
            return isinstance(value, str)
        case inspect.NoneType():
            return value is None
    return True


def _expected(kind: inspect.Type) -> str:
    if isinstance(kind, inspect.UnionType):
        return " or ".join(map(_expected, kind.types))
    if isinstance(kind, inspect.TupleType):
        items = {_NAMES.get(type(item), ("", "values"))[1] for item in kind.item_types}
        count = len(kind.item_types)
        number = _COUNTS[count] if count < len(_COUNTS) else str(count)
        return f"{number} {items.pop() if len(items) == 1 else 'values'}"
    return _NAMES.get(type(kind), ("another value",))[0]


def _got(value: Any) -> str:
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, str):
        return f"the text {value[:20]!r}" + ("…" if len(value) > 20 else "")
    if isinstance(value, (list, dict)):
        noun = "list" if isinstance(value, list) else "object"
        return f"a{'n' * (noun == 'object')} {noun} of {len(value)}"
    if isinstance(value, float):
        return f"the number {value}"
    # No more digits than Python writes of an integer.
    return f"the number {value}" if abs(value) < 10**20 else "a number of over 20 digits"
