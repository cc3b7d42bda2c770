"""The attributes of fields, groups, questions and checks that people edit, as text and back."""

import json
from collections.abc import Mapping
from typing import Any

from formlab import files
from formlab.benchmarks.formcraft import ATTRIBUTES, MODALITIES, RELATIONS
from formlab.errors import DataBroken, UnknownName
from formlab.text.normalise import as_text

# What names fields in a question or check.
NAMED = ("fields", "source", "dependent")
# The lists of a form.
KINDS = ("fields", "groups", "vqa", "consistency")
# How a value is written by how it is read; other values are texts.
_NOTATIONS = {"texts": "lines", "object": "json", "box": "box", "page": "number", "share": "number"}
# Attributes whose values are words of the taxonomy.
WORDS = {
    "modality": tuple(MODALITIES),
    "modality_subtype": tuple(word for words in MODALITIES.values() for word in words),
} | RELATIONS


def attributes(kind: str) -> dict[str, str]:
    """The attributes of a kind of node that people edit, and how each is written as text.

    Examples
    --------
    >>> attributes("groups")
    {'label': 'text', 'page': 'number', 'box': 'box'}
    """
    known = ATTRIBUTES[kind] if kind in KINDS else {}
    return {name: _notation(name, read) for name, read in known.items() if name != "id"}


def _notation(name: str, read: str) -> str:
    if name in WORDS:
        return "word"
    if name in NAMED:
        return "paths" if read == "texts" else "path"
    return _NOTATIONS.get(read, "text")


def written(value: Any, notation: str) -> str:
    """The value of an attribute as text; empty for one that is absent."""
    if isinstance(value, dict):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, list | tuple):
        return (" " if notation == "box" else "\n").join(map(as_text, value))
    return "" if value is None else as_text(value)


def read_value(name: str, notation: str, text: str) -> Any:
    """The value of an attribute, None for one left out."""
    if notation == "word" and text and text not in WORDS[name]:
        raise UnknownName.of(name, text, WORDS[name])
    if notation in ("lines", "paths"):
        return [line for line in text.split("\n") if line.strip()]
    if notation in ("word", "text", "path"):
        return text
    if not text.strip():
        return None
    if notation == "json":
        value = files.parse_json(text, where=name)
        if not isinstance(value, dict):
            raise DataBroken(f"{name} should be a JSON object")
        return value
    numbers = numbers_in(text)
    if notation == "number" and len(numbers) == 1:
        return numbers[0]
    is_box = len(numbers) == 4 and numbers[0] < numbers[2] and numbers[1] < numbers[3]
    if notation == "box" and is_box:
        return numbers
    raise DataBroken(f"{name} should be " + ("a number" if notation == "number" else "x0 y0 x1 y1"))


def numbers_in(text: str) -> list[float]:
    """The numbers that a text consists of, whole ones as integers; none if it has anything else."""
    try:
        numbers = [float(word) for word in text.replace(",", " ").split()]
        return [int(number) if number == int(number) else number for number in numbers]
    except (ValueError, OverflowError):
        return []


def readdressed(item: dict[str, Any], moved: Mapping[str, str]) -> dict[str, Any]:
    """A question or check, or some attributes of one, with the paths of fields as they are now."""

    def at(path: Any) -> Any:
        if isinstance(path, list):
            return [at(entry) for entry in path]
        return moved.get(path, path) if isinstance(path, str) else path

    now = {name: at(value) if name in NAMED else value for name, value in item.items()}
    derivation = now.get("derivation")
    if isinstance(derivation, dict) and isinstance(named := derivation.get("fields"), dict):
        new = {name: at(path) for name, path in named.items()}
        now["derivation"] = derivation | {"fields": new}
    return now
