"""Small inputs broken in every place: what tests of readers share."""

from __future__ import annotations

import copy
import json
import random
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from formlab.errors import FormlabError

from .nasty_json import BODIES
from .seeds import ALL

# What stands in the place of a part of a value; the last one takes the part out.
REMOVED = object()
PARTS = (None, True, 1.5, 2**70, 10**400, "\ud800", "a\0b", [], [None], {}, {"a": [1]}, REMOVED)
# How many places of a value are tried, and how long an error may be.
_PLACES, _LONGEST = 16 if ALL else 5, 5000


@dataclass(frozen=True)
class Source:
    """Files by name, and what reads the folder that they are in and gives names of documents.

    A file is a list or an object (JSON), a tuple of them (JSON lines), or text as it is. The first
    file is the one that is broken; `kept` are documents that stand in whatever is left of it when a
    part of its first item is broken.
    """

    files: Mapping[str, Any]
    read: Callable[[Path], Any]
    kept: frozenset[str] = frozenset()


def outcomes(source: Source, folder: Path) -> Counter[str]:
    """How many broken inputs were read and refused; an assertion fails for any other end."""
    counts: Counter[str] = Counter()
    name, sample = next(iter(source.files.items()))
    for other, content in source.files.items():
        (folder / other).parent.mkdir(parents=True, exist_ok=True)
        (folder / other).write_bytes(_bytes(content))
    whole = source.read(folder)
    assert source.kept <= set(whole)
    # In `make test` each source has every fourth body, and each body one source of four.
    start = 0 if ALL else zlib.crc32(str([*source.files]).encode()) % 4
    bodies = list(BODIES.items())[start :: 1 if ALL else 4]
    for label, content, keeps in _variants(sample, bodies):
        (folder / name).write_bytes(content)
        counts[_tried(source, folder, name, label, keeps=keeps)] += 1
    return counts


def _tried(source: Source, folder: Path, name: str, label: str, *, keeps: bool) -> str:
    refusal, read = None, ()
    try:
        read = source.read(folder)
    except FormlabError as error:
        refusal = str(error)
    except Exception as error:
        raise AssertionError(f"{label}: {error!r}") from error
    if refusal is None:
        assert not keeps or source.kept <= set(read), label
        return "read"
    # What no file of a folder has is an error of the folder.
    assert Path(name).name in refusal or str(folder) in refusal, (label, refusal)
    assert len(refusal) < _LONGEST, label
    return "refused"


def _variants(
    sample: Any, bodies: Iterable[tuple[str, bytes]]
) -> Iterator[tuple[str, bytes, bool]]:
    """What each is called, its bytes, and whether the other documents are still in it."""
    for label, body in bodies:
        yield label, body, False
        if isinstance(sample, tuple):
            yield f"a line: {label}", _bytes(sample) + body + b"\n", False
    if isinstance(sample, str):
        return
    value = list(sample) if isinstance(sample, tuple) else sample
    places = [place for place in _places(value) if place]
    draw = random.Random(0)
    for number, place in enumerate(draw.sample(places, min(len(places), _PLACES))):
        # Every place, and every part: of two places next to each other each has half of them.
        for part in PARTS[number % 2 :: 2]:
            broken = _with(value, place, part)
            content = _bytes(tuple(broken) if isinstance(sample, tuple) else broken)
            shown = "removed" if part is REMOVED else f"{part!r:.20}"
            yield f"{'/'.join(map(str, place))} {shown}", content, len(place) > 1


def _places(value: Any, place: tuple = ()) -> Iterator[tuple]:
    """The places in the first item of a value."""
    yield place
    if isinstance(value, dict):
        for name in value if place else list(value)[:1]:
            yield from _places(value[name], (*place, name))
    elif isinstance(value, list) and value:
        yield from _places(value[0], (*place, 0))


def _with(value: Any, place: tuple, part: Any) -> Any:
    broken = copy.deepcopy(value)
    inner = broken
    for step in place[:-1]:
        inner = inner[step]
    if part is REMOVED:
        del inner[place[-1]]
    else:
        inner[place[-1]] = part
    return broken


def _bytes(content: Any) -> bytes:
    if isinstance(content, str):
        return content.encode()
    if isinstance(content, tuple):
        return b"".join(json.dumps(row).encode() + b"\n" for row in content)
    return json.dumps(content).encode()
