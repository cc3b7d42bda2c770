"""The values in the bodies of requests: what a server gets of a form."""

import json
import re
import urllib.parse
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

# Pages are hostile: characters of a text and of a name, and values of a request that are kept.
LONGEST, _NAME, _MOST = 20_000, 300, 3000
Values = dict[str, list[str]]


def carries(values: Values, contents: Mapping[str, Any]) -> bool:
    """Whether what was sent has something that the fields of a page hold.

    Examples
    --------
    >>> carries({"q": ["Ada"]}, {"name": "Ada"}), carries({"event": ["click"]}, {"name": "Ada"})
    (True, False)
    """
    texts = {text for all_texts in values.values() for text in all_texts}
    for field, content in contents.items():
        if content is True and field in values:
            return True
        options = content if isinstance(content, list) else [content]
        if any(isinstance(text, str) and text and text in texts for text in options):
            return True
    return False


def values_of(body: bytes, content_type: str) -> Values:
    """The values in the body of a request, by name; those of JSON by their paths.

    Examples
    --------
    >>> values_of(b"a=1&a=2&b=", "application/x-www-form-urlencoded")
    {'a': ['1', '2'], 'b': ['']}
    >>> values_of(b'{"who": {"name": "Ada"}, "tags": ["x", "y"], "ok": true}', "application/json")
    {'who.name': ['Ada'], 'tags': ['x', 'y'], 'ok': ['true']}
    """
    if body.startswith(b"--") and "multipart" in content_type:
        return grouped(_parts(body))
    text = body.decode("utf-8", "replace")
    if "urlencoded" in content_type:
        return grouped(pairs_of(text))
    try:
        return grouped(_paths(json.loads(text)))
    except (ValueError, RecursionError):
        return grouped(line.partition("=")[::2] for line in text.splitlines() if "=" in line)


def _parts(body: bytes) -> Iterator[tuple[str, str]]:
    """Name and text of each part; of a file, its name."""
    for part in body.split(body.split(b"\r\n", 1)[0])[1:]:
        head, _, data = part.partition(b"\r\n\r\n")
        # Browsers escape quotes and line breaks in names, and nothing else.
        names = {
            key: _raw(text).replace("%22", '"').replace("%0D%0A", "\r\n")
            for key, text in re.findall(rb'(\w+)="([^"]*)"', head)
        }
        if b"name" in names:
            yield names[b"name"], names.get(b"filename", _raw(data.removesuffix(b"\r\n")))


def _raw(text: bytes) -> str:
    return text.decode("utf-8", "replace")


def pairs_of(query: str) -> list[tuple[str, str]]:
    """Names and texts of a query."""
    return urllib.parse.parse_qsl(query, keep_blank_values=True)


def _paths(content: Any, path: str = "") -> Iterator[tuple[str, str]]:
    if isinstance(content, dict):
        for key, item in content.items():
            yield from _paths(item, f"{path}.{key}" if path else str(key))
    elif isinstance(content, list):
        for number, item in enumerate(content):
            is_text = not isinstance(item, dict | list)
            yield from _paths(item, path if is_text else f"{path}.{number}".lstrip("."))
    elif content is not None:
        yield path, content if isinstance(content, str) else json.dumps(content)


def grouped(pairs: Iterable[tuple[str, str]]) -> Values:
    """All texts of each name, in order."""
    values: Values = {}
    for number, (name, text) in enumerate(pairs):
        if number < _MOST:
            values.setdefault(str(name)[:_NAME], []).append(str(text)[:LONGEST])
    return values
