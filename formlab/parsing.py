"""JSON and YAML of strangers as values of a known type: every error names its file and line."""

from __future__ import annotations

import json
from collections import Counter
from typing import Annotated, Any, TypeVar, get_args, get_origin

import msgspec
import yaml

from formlab.errors import DataBroken

T = TypeVar("T")
# An integer that a table can hold.
Whole = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]
# How deep JSON and YAML may be nested.
DEEPEST = 200
_NO_BRACKETS = bytes(sorted(set(range(256)) - set(b"[]{}")))
_STEPS = bytes.maketrans(b"[{]}", b"\1\1\xff\xff")


def storable(value: Any) -> Any:
    """`value` as UTF-8 can hold it: half of a surrogate pair, as in JSON, is kept as its escape.

    >>> storable("\\ud800"), storable({"a": ["\\ud800"]})
    ('\\\\ud800', {'a': ['\\\\ud800']})
    """
    if isinstance(value, str) and not value.isascii():
        return value.encode("utf-8", "backslashreplace").decode()
    if isinstance(value, dict):
        return {storable(name): storable(member) for name, member in value.items()}
    return list(map(storable, value)) if isinstance(value, list) else value


def convert(value: Any, kind: type[T], *, where: object, remedy: str | None = None) -> T:
    """A parsed value as a type that msgspec knows: a Struct, a dict, a list, …

    Examples
    --------
    >>> convert({"a": {"box": 1}}, dict[str, dict[str, list[int]]], where="a.json")
    Traceback (most recent call last):
    ...
    formlab.errors.DataBroken: Expected `array`, got `int` (a.json#a#box)
    """
    try:
        try:
            return msgspec.convert(value, kind)
        except UnicodeEncodeError:
            return msgspec.convert(storable(value), kind)
    # Python's own errors are those of integers of thousands of digits.
    except (ValueError, OverflowError, RecursionError) as error:
        if get_origin(kind) is dict and isinstance(value, dict):
            # msgspec does not say under which name of a dict something stands.
            for name, member in value.items():
                convert(member, get_args(kind)[1], where=f"{where}#{name}", remedy=remedy)
        raise DataBroken(str(error), where=where, remedy=remedy) from error


def parse_json(
    text: str,
    kind: type[T] = object,
    *,
    where: str,
    first_line: int = 1,
    as_written: bool = False,
    once: bool = False,
    remedy: str | None = None,
) -> T:
    """The value of a JSON text, of a type as for `convert`; an error names `where` and the line.

    With `as_written`, a number is the text that it is written as: 9.00 stays. With `once`, an
    object that has a name twice, of which one value would be lost, is an error too.

    Examples
    --------
    >>> parse_json('{"a": }', where="x.json")
    Traceback (most recent call last):
    ...
    formlab.errors.DataBroken: broken JSON, Expecting value at column 7 (x.json:1). Try: mend that \
line
    """
    how: dict[str, Any] = {"parse_float": str, "parse_int": str} if as_written else {}
    how |= {"object_pairs_hook": _named_once} if once else {}
    _check_depth(text, f"{where}:{first_line}")
    try:
        value = json.loads(text, **how)
    except ValueError as error:
        what, line, remedy = str(error), 1 if "\n" not in text.strip() else None, "mend that value"
        if isinstance(error, json.JSONDecodeError):
            what, line = f"broken JSON, {error.msg} at column {error.colno}", error.lineno
            remedy = "mend that line"
        at = where if line is None else f"{where}:{line + first_line - 1}"
        raise DataBroken(what, where=at, remedy=remedy) from error
    return convert(value, kind, where=where, remedy=remedy)


def _named_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) < len(pairs):
        twice = next(name for name, n in Counter(name for name, _ in pairs).items() if n > 1)
        raise ValueError(f"an object has the name {twice[:80]!r} twice")
    return members


# Reads numbers as they are written, and no name twice.
AS_WRITTEN = json.JSONDecoder(object_pairs_hook=_named_once, parse_float=str, parse_int=str)


def _check_depth(text: str, where: str) -> None:
    """`DataBroken` if lists and objects stand in more than `DEEPEST` others."""
    if text.count("[") + text.count("{") <= DEEPEST:
        return
    import numpy as np  # A third of a second, which few texts need.

    # Every other piece between quotation marks is a text, in which brackets mean nothing.
    plain = text.encode("utf-8", "replace").replace(rb"\\", b"").replace(rb"\"", b"")
    steps = b"".join(plain.split(b'"')[::2]).translate(_STEPS, _NO_BRACKETS)
    if np.cumsum(np.frombuffer(steps, np.int8), dtype=np.int32).max(initial=0) > DEEPEST:
        what = f"nested more than {DEEPEST} deep"
        raise DataBroken(what, where=where, remedy="mend that line")


# Tags such as !!bool before other words are followed without a look: all kinds of errors.
_NOT_YAML = (yaml.YAMLError, ValueError, LookupError, AttributeError, TypeError, RecursionError)


class _UniqueLoader(yaml.SafeLoader):
    """JSON's types and days, and each key once; YAML's own reader takes the last one silently."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen = set()
        for key, _ in node.value:
            if (key.tag, str(key.value)) in seen:
                what = f"the key {key.value!r} twice"
                raise yaml.MarkedYAMLError(problem=what, problem_mark=key.start_mark)
            seen.add((key.tag, str(key.value)))
        return super().construct_mapping(node, deep)


def parse_yaml(text: str, *, where: object, remedy: str) -> tuple[Any, yaml.Node | None]:
    """The value of a YAML text, and its nodes, which know their lines; null if it is empty.

    `DataBroken` with the line and `remedy` if it is no YAML.
    """
    _check_depth(text, f"{where}:1")
    try:
        loader = _UniqueLoader(text)
        root = loader.get_single_node()
        return root and loader.construct_document(root), root
    except _NOT_YAML as error:
        mark, problem = (getattr(error, name, None) for name in ("problem_mark", "problem"))
        what = f"not YAML: {problem}" if problem else "not YAML"
        where = f"{where}:{mark.line + 1}" if mark else where
        raise DataBroken(what, where=where, remedy=remedy) from error
