"""Seeded mutations of files: of their bytes, of what they hold, of where and what they are."""

import io
import json
import random
import re
from collections.abc import Callable
from contextlib import suppress
from pathlib import PurePosixPath
from typing import Any

from backports.zstd import zipfile

from tests.fuzz.inputs import lined
from tests.fuzz.verdicts import Change, Target, valid

Mutation = Callable[[random.Random, bytes], bytes]
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
# Values as JSON writes them; the last are no JSON, or more than a reader has to take.
JSON_VALUES = (
    "null", "true", "false", "0", "-1", "1.5", "-0.0", "1e400", "-1e400", "1e19", "1e-400",
    "9223372036854775807", "9223372036854775808", "-9223372036854775809", "1" * 40, "1" * 5000,
    '""', '" "', '"x"', '"1"', '"\\u0000"', '"\\ud800"', '"\\udc00\\ud800"', '"\\uffff"',
    '"\\u202e"', '"\\r"', '"\\n\\n"', '"\\u2028"', '"../../x"', '"/"', '"."', '"a\\u0000b"',
    '"http://[::1/x"', '"file:///x"', '"=1+1"', '"nan"', '"constructor"', '"__proto__"',
    "[]", "{}", "[[]]", "[{}]", "[null]", "[0]", '[""]', '["\\ud800"]', '["x", 1, null]', "[1, 2]",
    "[[1, 2], [3]]", '{"": ""}', '{"x": null}', '{"a": 1, "a": 2}', '{"\\ud800": 1}',
    '"' + "x" * 300 + '"', '"' + "y" * 70_000 + '"', "[" * 150 + "]" * 150,
    "[" * DEEP + "]" * DEEP, '{"a":' * DEEP + "1" + "}" * DEEP,
    "NaN", "Infinity", "-Infinity", "01", "0x1", "1.", "nul", "", "'x'", "[1,]", "{,}", '"\\x"',
    '"\\ud8"', '"a\nb"', '"a\x00b"', "/**/1",
)  # fmt: skip
# The arguments of a command, one a line.
ARGUMENTS_FILE = "arguments.txt"
ARGUMENTS = (
    "", " ", "-", "--", "--x", "-1", "0", "1", "2.5", "nan", "inf", "-inf", "1e999", "x", "none",
    "a=b", "=", "a=", "=b", "a=b=c", "a,b", ",", "é", "\x01", "\x1b[31m", "\u202e", "\udcff",
    "x" * 300, "x" * 5000, "absent", "absent/x", ".", "..", "empty", "folder", "table.csv",
    "text.txt",
    "x://y", "http://[::1/x", "http://u:PW@127.0.0.1:9/x", "file:///x", "s3://", "module:Class",
    "json:loads", "os", "funsd", "funsd:test", "test", "all", "--json", "--help", "[", "*",
    "%s", "{}",
)  # fmt: skip
NAMES = (
    "x" * 250, "é", "e\u0301", " ", "a b", "\x01", "\x1b[31m", "\r", "\u202e", "-", "--help", "%2e",
    "nan", "constructor", "NUL", "a\nb", "#", "?", "*", "[x]", "~", ".hidden", "x" * 80 + ".json",
)  # fmt: skip
_MARK = "\ue000raw\ue000"


def changes_of(target: Target, seed: str) -> list[Change]:
    """One to three changes of the files of a target's input."""
    dice = random.Random(f"{seed}/{target.name}")
    files = valid(target).files.items()
    files = {path: data for path, data in files if re.search(target.only, path)}
    changes: dict[str, Change] = {}
    for _ in range(dice.choice((1, 1, 1, 1, 2, 3))):
        path = _chosen(dice, files)
        if dice.random() < 0.14 and path != ARGUMENTS_FILE:
            made = _of_place(dice, path, files)
        else:
            before = changes.get(path, Change(path, data=files[path])).data
            made = [Change(path, data=content(dice, path, before))]
        changes |= {change.path: change for change in made}
    return list(changes.values())


def _chosen(dice: random.Random, files: dict[str, bytes]) -> str:
    """A file: each ending is as likely as the others, so that images do not outnumber the rest."""
    by_ending: dict[str, list[str]] = {}
    for path in sorted(files):
        by_ending.setdefault(PurePosixPath(path).suffix, []).append(path)
    return dice.choice(by_ending[dice.choice(sorted(by_ending))])


def content(dice: random.Random, path: str, data: bytes) -> bytes:
    """Other bytes for a file, by what its name says that it is."""
    if path == ARGUMENTS_FILE:
        return _arguments(dice, data)
    own = _BY_ENDING.get(PurePosixPath(path).suffix.lower(), ())
    if own and dice.random() < 0.75:
        # What an earlier change has broken cannot be changed by what it holds.
        with suppress(Exception):
            return dice.choice(own)(dice, data)
    return _of_bytes(dice, data)


def _of_place(dice: random.Random, path: str, files: dict[str, bytes]) -> list[Change]:
    """Another thing in a file's place: none, a pipe, a folder, a link, another file or name."""
    here = PurePosixPath(path)
    target = dice.choice((here.name, "absent", "..", "/dev/zero")).encode()
    # Another name, or a second file under a name that reads the same.
    names = (f"0{here.name}", here.name.upper(), f"{dice.choice(NAMES)}{here.suffix}")
    copy = Change(str(here.with_name(dice.choice(names).replace("/", "_"))), data=files[path])
    kinds = [Change(path, kind, target) for kind in ("removed", "pipe", "folder", "link")]
    others = [Change(path, data=files[_chosen(dice, files)]), Change(path), copy]
    made = dice.choice([*kinds, *others])
    return [copy, kinds[0]] if made is copy and dice.random() < 0.6 else [made]


def _of_bytes(dice: random.Random, data: bytes) -> bytes:
    """Bytes cut off, changed, left out, doubled, exchanged or put between."""
    first, second, third = sorted(dice.randrange(len(data) + 1) for _ in range(3))
    changed = bytearray(data)
    for _ in range(dice.choice((1, 1, 2, 8)) if data else 0):
        changed[dice.randrange(len(data))] = dice.randrange(256)
    stop = first + dice.choice((1, 8, 64, 512))
    odd = (dice.randbytes(4), b"\x00", b"\xff\xfe", b"\xef\xbb\xbf", b"\xed\xa0\x80", b"\r")
    return dice.choice(
        (
            data[:first],
            bytes(changed),
            data[:first] + data[stop:],
            data[:stop] + data[first:],
            data[:first] + data[second:third] + data[first:second] + data[third:],
            data[:first] + dice.choice(odd) + data[first:],
        )
    )


def _encoded(dice: random.Random, data: bytes) -> bytes:
    encodings = ("utf-16", "utf-16-le", "utf-32", "latin-1", "cp1252", "utf-8-sig", "utf-7")
    return data.decode("utf-8", "replace").encode(dice.choice(encodings), "replace")


def _line_ends(dice: random.Random, data: bytes) -> bytes:
    return data.replace(b"\n", dice.choice((b"\r", b"\r\n", b"\n\n", b"\x0b", b" ")))


def _word(dice: random.Random) -> bytes:
    return dice.choice(TEXTS).encode("utf-8", "surrogatepass")


def _words(dice: random.Random, data: bytes) -> bytes:
    start = dice.randrange(len(data) + 1)
    return data[:start] + _word(dice) + data[start + dice.choice((0, 0, 1, 8)) :]


def _lines(dice: random.Random, data: bytes) -> bytes:
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
        lines[one] = _word(dice) + b"\n"
    else:
        dice.shuffle(lines)
    return b"".join(lines)


def _json(dice: random.Random, data: bytes) -> bytes:
    value = json.loads(data)
    raw = dice.choice(JSON_VALUES)
    places = list(_places(value))
    if not places or dice.random() < 0.03:
        value = _MARK
    else:
        # Places near the top are fewer, and matter more.
        parent, name = dice.choice(places[:8] if dice.random() < 0.3 else places)
        raw = _changed_at(dice, parent, name, raw)
    return lined(value).replace(json.dumps(_MARK), raw).encode("utf-8", "surrogatepass")


def _places(value: Any) -> Any:
    """Each parent with the name or number of an item in it, those at the top first."""
    todo = [value]
    while todo:
        node = todo.pop(0)
        if isinstance(node, dict | list):
            names = list(node) if isinstance(node, dict) else range(len(node))
            yield from ((node, name) for name in names)
            todo += [node[name] for name in names]


def _changed_at(dice: random.Random, parent: Any, name: Any, raw: str) -> str:
    """Changes one item, and gives the text that stands for the mark."""
    old, what = parent[name], dice.randrange(10)
    if what == 5:
        del parent[name]
        return raw
    if what == 6:
        raw = json.dumps([old]) if dice.random() < 0.5 else json.dumps(str(old))
    elif what > 6 and isinstance(parent, list):
        parent.insert(dice.randrange(len(parent) + 1), _MARK if what > 7 else old)
        return raw
    elif what == 7:
        # The name a second time: which of the two counts is the reader's choice.
        raw = f"{json.dumps(old)}, {json.dumps(name)}: {raw or 0}"
    elif what > 7:
        parent.pop(name)
        other = dice.choice(("", "x", "id", "doc_id", str(name).upper(), "\ud800", "n" * 300))
        parent[other] = _MARK if what > 8 else old
        return raw
    parent[name] = _MARK
    return raw


def _jsonl(dice: random.Random, data: bytes) -> bytes:
    lines = data.splitlines(keepends=True)
    chosen = dice.randrange(len(lines))
    lines[chosen] = _json(dice, lines[chosen]).replace(b"\n", b" ") + b"\n"
    return b"".join(lines)


def _cells(dice: random.Random, data: bytes) -> bytes:
    lines = data.decode("utf-8", "replace").split("\n")
    row = dice.randrange(len(lines))
    mark = "\t" if "\t" in lines[0] else ","
    cells = lines[row].split(mark)
    cell, what = dice.randrange(len(cells)), dice.randrange(6)
    if what < 3:
        cells[cell] = dice.choice(TEXTS)
    elif what == 3:
        del cells[cell]
    elif what == 4:
        cells.insert(cell, cells[cell])
    else:
        cells[cell] = f'"{cells[cell]}' + dice.choice(('"', "", '""', '"x', '\n"'))
    lines[row] = mark.join(cells)
    return "\n".join(lines).encode("utf-8", "surrogatepass")


def _zip(dice: random.Random, data: bytes) -> bytes:
    """A member of the archive mutated, left out, renamed or unpacking to very much."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        members = [(info.filename, archive.read(info)) for info in archive.infolist()]
    name, inside = members.pop(dice.randrange(len(members)))
    other = dice.choice(("../x", "/x", "é", "", name.upper()))
    changed = (name, content(dice, name, inside))
    made = [changed, changed, changed, (other, inside), (name, b"0" * 60_000_000), None]
    if member := dice.choice(made):
        members.append(member)
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, inside in members:
            archive.writestr(name, inside)
    return out.getvalue()


def _arguments(dice: random.Random, data: bytes) -> bytes:
    """Another list of arguments: one replaced, left out, added, doubled or changed."""
    words = data.decode("utf-8", "surrogateescape").split("\n")
    place, what = dice.randrange(len(words)), dice.randrange(7)
    if what < 3:
        words[place] = dice.choice(ARGUMENTS)
    elif what == 3:
        del words[place]
    elif what < 6:
        words.insert(place, dice.choice((*ARGUMENTS, words[place])))
    else:
        name, equals, _ = words[place].partition("=")
        words[place] = f"{name}={dice.choice(ARGUMENTS)}" if equals else words[place].upper()
    return "\n".join(words).encode("utf-8", "surrogateescape")


TEXT: tuple[Mutation, ...] = (_encoded, _line_ends, _words, _words, _words, _lines, _lines)
_BY_ENDING: dict[str, tuple[Mutation, ...]] = {
    ".json": (_json, _json, _json, *TEXT),
    ".jsonl": (_jsonl, _jsonl, _jsonl, _jsonl, *TEXT),
    **dict.fromkeys((".csv", ".tsv"), (_cells, _cells, _cells, *TEXT)),
    **dict.fromkeys((".zip", ".xlsx", ".eval"), (_zip,)),
    **dict.fromkeys((".txt", ".html", ".htm", ".xml", ".yaml", ".yml", ".md"), TEXT),
}
