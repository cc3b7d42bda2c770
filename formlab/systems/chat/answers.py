"""A model's answer: its status, its JSON or text, how sure each value is, and where it is kept.

The store is made with sqlite3, as diskcache pickles and has locks that outlive a killed process.
"""

from __future__ import annotations

import dataclasses
import json
import math
import re
import sqlite3
import threading
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import count, islice
from pathlib import Path
from typing import Any

import numpy as np

from formlab import files
from formlab.errors import DataBroken, NotAvailable
from formlab.text.answers import DECODER, MARKS, Parsed, parse, plain
from formlab.text.normalise import as_text

Row = dict[str, Any]
# Statuses that asking again may mend.
BAD = ("bad_json", "refused", "truncated")
_CUT, _FILTERED = ("length", "max_tokens"), ("content_filter", "refusal")
# How models decline in plain words; only where nothing else was answered.
_DECLINES = re.compile(MARKS["declines"], re.IGNORECASE)
_LONGEST_REFUSAL = 600


@dataclasses.dataclass(frozen=True)
class Answer:
    """A model's answer to one question; `key` is the hash of everything that shaped it.

    `text` is null if no call succeeded, and then `error` says why. `status` is the server's word,
    `finish` why the model stopped (``bad_request`` if the server took the question for one).
    `seconds` are those of the answered call alone, `logprobs` those of its tokens (`token_spans`).
    """

    key: str = ""
    model: str = ""
    task: str = ""
    doc_id: str = ""
    text: str | None = None
    status: str = "ok"
    finish: str | None = None
    error: str | None = None
    attempts: int = 1
    tokens_in: int | None = None
    tokens_out: int | None = None
    cost: float | None = None
    seconds: float | None = None
    logprobs: str | None = None


def content(answer: Answer, *, json: bool, calls: bool = True) -> Parsed:
    """The JSON object in an answer, or with ``json=False`` its text; see `formlab.text.answers`."""
    if answer.text is None:
        return Parsed(None, "api_error", (answer.error or "no answer",))
    if answer.finish in _FILTERED or answer.status == "refused":
        return Parsed(None, "refused", (answer.error or "refused by the server",))
    if answer.finish in _CUT:
        return Parsed(None, "truncated", ("the model stopped at its limit of tokens",))
    parsed = parse(answer.text, calls=calls) if json else plain(answer.text)
    declines = len(answer.text) <= _LONGEST_REFUSAL and _DECLINES.match(answer.text)
    if declines and (parsed.value is None or not json):
        return Parsed(None, "refused", ("declined in words",))
    return parsed


_COLUMNS = [field.name for field in dataclasses.fields(Answer)]
_NAMES = ", ".join(_COLUMNS)
# An answer is on the disk when its statement ends, also through a power cut.
_SETUP = f"""PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL;
CREATE TABLE IF NOT EXISTS answers ({_NAMES}, saved DEFAULT CURRENT_TIMESTAMP);
CREATE INDEX IF NOT EXISTS answers_by_key ON answers (key)"""
_INSERT = f"INSERT INTO answers ({_NAMES}) VALUES ({', '.join('?' for _ in _COLUMNS)})"  # noqa: S608
_LATEST = f"SELECT {_NAMES} FROM answers WHERE key = ? ORDER BY rowid DESC LIMIT 1"  # noqa: S608


class AnswerStore:
    """Answers by key, in one SQLite file that runs can share; of one key, the latest counts.

    `DataBroken` if the file is there and is no store, or is damaged, `NotAvailable` if it cannot
    be written. While another program has it locked, it is waited for.
    """

    def __init__(self, path: str | Path) -> None:
        self.path, self._lock = Path(path), threading.Lock()
        saving = f"sqlite3 {self.path.name} .recover | sqlite3 saved.sqlite"
        self._remedy = f"another --out or store, or what can be saved of this one: {saving}"
        files.make_folder(self.path.parent)
        # An answer that is paid for waits long for another program that has the file locked.
        options = {"timeout": 600.0, "check_same_thread": False, "isolation_level": None}
        with self._errors():
            self._base = sqlite3.connect(self.path, **options)
            self._base.row_factory = sqlite3.Row
            self._base.executescript(_SETUP)

    def __enter__(self) -> AnswerStore:
        return self

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._base.close()

    def get(self, keys: Iterable[str]) -> Answer | None:
        """Of the latest answers of `keys` the first that has a text, else the first."""
        rows = [row for key in keys for row in self._rows(_LATEST, (key,))]
        error = {"where": f"{self.path}: answers", "remedy": self._remedy}
        answers = [files.convert(dict(row), Answer, **error) for row in rows]
        return next((a for a in answers if a.text is not None), answers[0] if answers else None)

    def put(self, answer: Answer) -> None:
        """Keep an answer; it is on the disk when this returns."""
        self._rows(_INSERT, [files.storable(value) for value in dataclasses.astuple(answer)])

    def _rows(self, statement: str, values: Sequence[Any] = ()) -> list[Any]:
        with self._errors(), self._lock:
            return self._base.execute(statement, values).fetchall()

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.OperationalError as error:  # Locked, read only, no room, no such table.
            what, remedy = f"answers cannot be kept: {error}", "another --out or store"
            raise NotAvailable(what, where=self.path, remedy=remedy) from error
        except (sqlite3.DatabaseError, UnicodeDecodeError) as error:
            what = f"not a store of answers, or damaged: {error}"
            raise DataBroken(what, where=self.path, remedy=self._remedy) from error


# Of JSON that is known to be valid: a string (a name if a colon follows), a number or a word.
_SCALAR = re.compile(r'"((?:[^"\\]|\\.)*+)"(\s*+:)?|[^\s{}\[\]:,"]+', re.DOTALL)


class Sure(str):
    """A leaf of an answer, with the probability of its tokens as its `confidence`."""

    confidence: float


def token_spans(choice: Any, text: str) -> str | None:
    """JSON of the first character, the end and the log-probability of each token of an answer.

    None if the server sent none, or sent tokens that do not make up `text`; what stands around it,
    such as the mark of its end, is left out.

    >>> tokens = [{"token": "Ca", "logprob": -0.5}, {"token": "f", "logprob": 0.0},
    ...     {"token": "?", "bytes": [195], "logprob": -1}, {"token": "?", "bytes": [169],
    ...     "logprob": -2}, {"token": "<end>", "logprob": -9}]
    >>> token_spans({"logprobs": {"content": tokens}}, "Café")
    '[[0, 2, -0.5], [2, 3, 0.0], [3, 4, -1.0], [3, 4, -2.0]]'
    """
    try:
        tokens = choice["logprobs"]["content"]
        bits = [t["token"].encode() if t.get("bytes") is None else t["bytes"] for t in tokens]
        pieces, chances = list(map(bytes, bits)), [float(t["logprob"]) for t in tokens]
        at = b"".join(pieces).find(text.encode())
    except (LookupError, TypeError, ValueError, AttributeError, OverflowError):
        return None
    if at < 0 or not text or any(map(math.isnan, chances)):
        return None
    character = [number for number, letter in enumerate(text) for _ in letter.encode()]
    spans, end = [], -at
    for piece, chance in zip(pieces, chances, strict=True):
        start, end = end, end + len(piece)
        if inside := character[max(0, start) : max(0, end)]:
            # -inf is no JSON; nothing is as unlikely.
            spans.append([inside[0], inside[-1] + 1, min(0.0, max(chance, -1e4))])
    return json.dumps(spans)


def with_confidence(value: Any, text: str, spans: str) -> Any:
    """`value`, the JSON in `text`, with each leaf but null as a `Sure`.

    A leaf's confidence is the product of the probabilities of the tokens that its characters are
    in. Unchanged where the JSON had to be repaired: what was not written has no probability.
    """
    for start in [match.start() for match in islice(re.finditer(r"\{", text), 50)]:
        with suppress(ValueError, RecursionError):
            read, end = DECODER.raw_decode(text, start)
            if read == value:
                break
    else:
        return value
    found = [match for match in _SCALAR.finditer(text, start, end) if not match[2]]
    places = [match.span(1 if match[1] else 0) for match in found]
    firsts, ends, chances = np.array(json.loads(spans), dtype=float).reshape(-1, 3).T
    # Tokens follow one another: those of a leaf are a run of them.
    total = np.concatenate([[0.0], np.cumsum(chances)])
    begin = np.searchsorted(ends, [first for first, _ in places], "right")
    stop = np.searchsorted(firsts, [last for _, last in places])
    confidences, numbers = np.exp(total[stop] - total[begin]).tolist(), count()

    def leaf(number: str) -> Sure | None:
        given = DECODER.decode(found[int(number)][0])
        sure = Sure(as_text(given))
        sure.confidence = confidences[int(number)]
        return None if given is None else sure

    # Read again with the number of each leaf in its place.
    numbered = _SCALAR.sub(lambda m: m[0] if m[2] else str(next(numbers)), text[start:end])
    return json.loads(numbered, parse_int=leaf, strict=False)


def agreement(
    samples: Sequence[list[Row]], fixed: Collection[str | None], count: int
) -> list[float | None]:
    """For each row of the first sample, the share of `count` samples with its value at its path.

    Spaces within a value count as one. Numbers in a path are left out, as items of a list have no
    other name, but in the paths `fixed`, which were asked for. Rows without a value have none.

    >>> first = [{"path": "/items/0", "value": "Tea"}, {"path": "/total", "value": "9"}]
    >>> other = [{"path": "/items/1", "value": "Tea"}, {"path": "/total", "value": "8"}]
    >>> agreement([first, other], (), 2)
    [1.0, 0.5]
    """

    def named(row: Row) -> Any:
        path, value = row.get("path"), row.get("value")
        if not path or value is None:
            return None
        steps = [step for step in path.split("/") if path in fixed or not step.isdecimal()]
        return "/".join(steps), " ".join(value.split())

    votes = Counter(name for rows in samples for name in {*map(named, rows)})
    return [votes[name] / count if name else None for name in map(named, samples[0])]
