"""Normalisers by name, applied in the order they are listed."""

import itertools
import json
import re
import tomllib
import unicodedata
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from formlab.errors import UnknownName

# Words and signs of values, by hand: units, months, streets, states of boxes, currencies.
WORDS = tomllib.loads(Path(__file__).with_name("words.toml").read_text("utf-8"))
_DASHES, _QUOTES = (
    {ord(sign): plain for plain, signs in WORDS[name].items() for sign in signs}
    for name in ("dashes", "quotes")
)
_CODES = {
    name: [code for first, last in ranges for code in range(first, last + 1)]
    for name, ranges in WORDS["ranges"].items()
}
_PLAIN = {code: unicodedata.normalize("NFKC", chr(code)) for code in _CODES["forms"]}
_PLAIN |= dict.fromkeys(_CODES["unseen"], "")
UNITS = WORDS["units"].split()
_TIGHT = re.compile(WORDS["tight"].replace("{units}", "|".join(UNITS)))
_INITIAL_DOT = re.compile(r"(?<=\b[^\W\d_])\.(?=[^\W\d_]\b)")
_WORD = re.compile(r"[^\W_]+")
_SHORT = {word: short for short, words in WORDS["streets"].items() for word in words.split()}
# Every combining mark falls outside \w, so this finds all long runs of them, and little else.
_LONG_RUN = re.compile(r"[^\w\s\x00-\x7f]{32,}")


def _sort_marks(run: re.Match[str]) -> str:
    text = "".join(unicodedata.normalize("NFD", char) for char in run.group())
    # Sorting leaves what is no mark where it stands: its class is 0.
    groups = itertools.groupby(text, key=lambda char: unicodedata.combining(char) > 0)
    return "".join(char for _, group in groups for char in sorted(group, key=unicodedata.combining))


STEPS: dict[str, Callable[[str], str]] = {
    # Python reorders combining marks in quadratic time, hours for a hostile megabyte; marks that
    # are in canonical order already cost linear time and give the same result.
    "nfc": lambda text: unicodedata.normalize("NFC", _LONG_RUN.sub(_sort_marks, text)),
    "space": lambda text: " ".join(text.split()),
    "lower": str.lower,
    "forms": lambda text: text.translate(_PLAIN),
    "dashes": lambda text: text.translate(_DASHES),
    "quotes": lambda text: text.replace("`", "'") if text.isascii() else text.translate(_QUOTES),
    "units": lambda text: _TIGHT.sub("", text),
}
# Plain ASCII stays as it is.
_OF_OTHERS = {"nfc", "forms", "dashes"}
# NFC comes again at the end: lower-casing can leave a letter and a mark that compose.
LADDER_STEPS = ("nfc", "forms", "dashes", "quotes", "space", "lower", "nfc", "units")


def normalise(text: str, steps: Sequence[str] = ("nfc", "space", "lower")) -> str:
    """`text` after each of `steps`, in that order; `UnknownName` for one that is not in `STEPS`.

    They are `nfc` (Unicode NFC), `space` (each run of white space is one space, none at the ends),
    `lower` (lower case), `forms` (full-width characters and ligatures as plain ones, none that is
    invisible), `dashes` (every dash and minus is `-`), `quotes` (typographic quotes and primes are
    `'` or `"`), `units` (no space before the unit of a number or in a range of numbers). `text` is
    any string, lone surrogates and control characters included.

    >>> normalise("  Invoice\\n No. 7 ")
    'invoice no. 7'
    >>> normalise("5′ – 6′", ["dashes", "quotes"])
    "5' - 6'"
    """
    is_ascii = text.isascii()
    for step in steps:
        if step not in STEPS:
            raise UnknownName.of("normaliser", step, STEPS)
        if not is_ascii or step not in _OF_OTHERS:
            text = STEPS[step](text)
    return text


def address(text: str) -> tuple[str, ...] | None:
    """The words and numbers of an address, street words shortened, or None if there are none.

    Case, punctuation and line breaks do not count; order does.

    >>> address("12 North Main Street,\\nSuite 4") == address("12 N. Main St., Ste. 4")
    True
    """
    cleaned = _INITIAL_DOT.sub("", normalise(text, LADDER_STEPS)).replace("'", "")
    return tuple(_SHORT.get(word, word) for word in _WORD.findall(cleaned)) or None


def as_text(value: Any) -> str:
    """A JSON value as text: null is empty, a list or an object is its JSON.

    >>> as_text(None), as_text(True), as_text(["Tea", "Milk"])
    ('', 'true', '["Tea", "Milk"]')
    """
    if isinstance(value, str):
        # Half of a surrogate pair is kept as its escape; a `Sure` leaf of a model stays one.
        text = value.encode("utf-8", "backslashreplace").decode()
        return value if text == value else text
    if value is None:
        return ""
    with suppress(ValueError, RecursionError):
        return as_text(json.dumps(value, ensure_ascii=False, default=str))
    return ""


def as_texts(value: Any) -> list[str]:
    """A JSON value as a list of texts; one value is a list of one."""
    values = value if isinstance(value, list) else [value]
    return [] if value is None else list(map(as_text, values))
