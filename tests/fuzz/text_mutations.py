"""Mutations of bytes and of texts."""

import random
from collections.abc import Callable

# So deep nothing is nested that people write.
DEEP = 3000
TEXTS = (
    "", " ", "\x00", "\x01", "\x1b[31m", "\ufeff", "\u202e", "\u2028", "\r", "\n", "\r\n", "\t",
    "\x0c", '"', '""', "'", ",", ";", "|", "=1+1", "@x", "null", "nan", "inf", "-1", "0", "1e999",
    "9" * 30, "9" * 5000, "x" * 70_000, "../../x", "/", "a/b", "http://[::1/x", "\ufffd", "é",
    "e\u0301",
    "<", "&", "<b>", "</b>", "<!--", "]]>", "&#0;", "&#xD800;", "&amp;amp;", "<?xml", "<x a=",
    "<number>" * DEEP, "<div>" * DEEP, "[" * DEEP, "{" * DEEP, "{1." * 100_000, "- " * DEEP,
    "&a *a ", "*a", "!!python/object:x", "---\n", "\ud800", "{", "}", "[", "]", ":", "#", "%",
    "\\", "\\u0000",
)  # fmt: skip
Mutation = Callable[[random.Random, bytes], bytes]


def place(dice: random.Random, data: bytes) -> int:
    return dice.randrange(len(data) + 1)


def _truncated(dice: random.Random, data: bytes) -> bytes:
    return data[: place(dice, data)]


def flipped(dice: random.Random, data: bytes) -> bytes:
    changed = bytearray(data)
    for _ in range(dice.choice((1, 1, 2, 8)) if data else 0):
        changed[dice.randrange(len(data))] = dice.randrange(256)
    return bytes(changed)


def _without_chunk(dice: random.Random, data: bytes) -> bytes:
    start = place(dice, data)
    return data[:start] + data[start + dice.choice((1, 8, 64, 512)) :]


def _doubled_chunk(dice: random.Random, data: bytes) -> bytes:
    start = place(dice, data)
    stop = start + dice.choice((1, 8, 64, 512))
    return data[:stop] + data[start:stop] + data[stop:]


def _swapped_chunks(dice: random.Random, data: bytes) -> bytes:
    first, second, third = sorted(place(dice, data) for _ in range(3))
    return data[:first] + data[second:third] + data[first:second] + data[third:]


def _inserted(dice: random.Random, data: bytes) -> bytes:
    start = place(dice, data)
    word = dice.choice(
        (dice.randbytes(4), b"\x00", b"\xff\xfe", b"\xef\xbb\xbf", b"\xed\xa0\x80", b"\r")
    )
    return data[:start] + word + data[start:]


BYTES: tuple[Mutation, ...] = (
    _truncated, flipped, _without_chunk, _doubled_chunk, _swapped_chunks, _inserted,
)  # fmt: skip


def _encoded(dice: random.Random, data: bytes) -> bytes:
    text = data.decode("utf-8", "replace")
    encoding = dice.choice(
        ("utf-16", "utf-16-le", "utf-32", "latin-1", "cp1252", "utf-8-sig", "utf-7")
    )
    return text.encode(encoding, "replace")


def _line_ends(dice: random.Random, data: bytes) -> bytes:
    return data.replace(b"\n", dice.choice((b"\r", b"\r\n", b"\n\n", b"\x0b", b" ")))


def words(dice: random.Random, data: bytes) -> bytes:
    start = place(dice, data)
    stop = start + dice.choice((0, 0, 1, 8))
    return data[:start] + dice.choice(TEXTS).encode("utf-8", "surrogatepass") + data[stop:]


def lines(dice: random.Random, data: bytes) -> bytes:
    lines = data.splitlines(keepends=True) or [b""]
    one, other = dice.randrange(len(lines)), dice.randrange(len(lines))
    what = dice.randrange(5)
    if what == 0:
        del lines[one]
    elif what == 1:
        lines.insert(other, lines[one])
    elif what == 2:
        lines[one], lines[other] = lines[other], lines[one]
    elif what == 3:
        lines[one] = dice.choice(TEXTS).encode("utf-8", "surrogatepass") + b"\n"
    else:
        dice.shuffle(lines)
    return b"".join(lines)


TEXT: tuple[Mutation, ...] = (_encoded, _line_ends, words, words, words, lines, lines)
