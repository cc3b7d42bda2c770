"""Seeded mutations of files: of their bytes, of what they hold, of where and what they are."""

import gzip
import io
import random
from contextlib import suppress
from pathlib import PurePosixPath

from backports.zstd import zipfile

from tests.fuzz.changes import Change
from tests.fuzz.json_mutations import json, jsonl
from tests.fuzz.table_mutations import cells, parquet
from tests.fuzz.text_mutations import BYTES, TEXT, Mutation, flipped, lines, words

# The arguments of a command, one a line.
ARGUMENTS_FILE = "arguments.txt"
NAMES = (
    "x" * 250, "é", "e\u0301", " ", "a b", "\x01", "\x1b[31m", "\r", "\u202e", "-", "--help", "%2e",
    "nan", "constructor", "NUL", "a\nb", "#", "?", "*", "[x]", "~", ".hidden", "x" * 80 + ".json",
)  # fmt: skip


def mutated(dice: random.Random, files: dict[str, bytes]) -> list[Change]:
    """One to three changes of the files of an input, by path."""
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
    ending = PurePosixPath(path).suffix.lower()
    own = _BY_ENDING.get(ending, ())
    if path == ARGUMENTS_FILE:
        return arguments(dice, data)
    if own and dice.random() < 0.75:
        # What an earlier change has broken cannot be changed by what it holds.
        with suppress(Exception):
            return dice.choice(own)(dice, data)
    return dice.choice(BYTES)(dice, data)


def _of_place(dice: random.Random, path: str, files: dict[str, bytes]) -> list[Change]:
    """Another thing in a file's place: none, a pipe, a folder, a link, another file or name."""
    here = PurePosixPath(path)
    what = dice.randrange(9)
    if what == 0:
        return [Change(path, "removed")]
    if what == 1:
        return [Change(path, "pipe")]
    if what == 2:
        return [Change(path, "folder")]
    if what == 3:
        return [
            Change(path, "link", dice.choice((here.name, "absent", "..", "/dev/zero")).encode())
        ]
    if what == 4:
        return [Change(path, data=files[_chosen(dice, files)])]
    if what == 5:
        return [Change(path, data=b"")]
    # Another name, or a second file under a name that reads the same.
    names = (
        f"0{here.name}",
        here.name.upper(),
        f"{here.name}.bak",
        f"{dice.choice(NAMES)}{here.suffix}",
    )
    other = str(here.with_name(dice.choice(names).replace("/", "_")))
    copy = Change(other, data=files[path])
    return [copy] if what == 6 else [copy, Change(path, "removed")]


def _gzip(dice: random.Random, data: bytes) -> bytes:
    if dice.random() < 0.1:
        return gzip.compress(b"0" * 50_000_000)
    try:
        return gzip.compress(dice.choice((jsonl, words, lines))(dice, gzip.decompress(data)))
    except (OSError, EOFError):
        return data[::-1]


def _zip(dice: random.Random, data: bytes) -> bytes:
    """A member of the archive mutated, doubled, left out, renamed or unpacking to very much."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            members = [(info.filename, archive.read(info)) for info in archive.infolist()]
    except (zipfile.BadZipFile, NotImplementedError):
        return flipped(dice, data)
    chosen = dice.randrange(len(members))
    name, inside = members[chosen]
    what = dice.randrange(7)
    if what < 4:
        members[chosen] = (name, content(dice, name, inside))
    elif what == 4:
        members.pop(chosen)
    elif what == 5:
        members[chosen] = (dice.choice(("../x", "/x", "é", "", name.upper())), inside)
    else:
        members[chosen] = (name, b"0" * 60_000_000)
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, inside in members:
            archive.writestr(name, inside)
    return out.getvalue()


_BY_ENDING: dict[str, tuple[Mutation, ...]] = {
    ".json": (json, json, json, *TEXT), ".jsonl": (jsonl, jsonl, jsonl, jsonl, *TEXT),
    ".csv": (cells, cells, cells, *TEXT), ".tsv": (cells, cells, cells, *TEXT),
    ".gz": (_gzip,), ".zip": (_zip,), ".xlsx": (_zip,), ".eval": (_zip,),
    ".parquet": (parquet, parquet), **dict.fromkeys((".txt", ".html", ".htm", ".xml"), TEXT),
    **dict.fromkeys((".yaml", ".yml", ".md"), TEXT),
}  # fmt: skip


# --- arguments of commands, one a line

ARGUMENTS = (
    "", " ", "-", "--", "--x", "-1", "0", "1", "2.5", "nan", "inf", "-inf", "1e999", "x", "none",
    "a=b", "=", "a=", "=b", "a=b=c", "a,b", ",", "é", "\x01", "\x1b[31m", "\u202e", "\udcff",
    "x" * 300, "x" * 5000, "absent", "absent/x", ".", "..", "empty", "folder", "table.csv",
    "text.txt",
    "x://y", "http://[::1/x", "http://u:PW@127.0.0.1:9/x", "file:///x", "s3://", "module:Class",
    "json:loads", "os", "funsd", "funsd:test", "test", "all", "--json", "--help", "[", "*",
    "%s", "{}",
)  # fmt: skip


def arguments(dice: random.Random, data: bytes) -> bytes:
    """Another list of arguments: one replaced, left out, added, doubled or changed."""
    words = data.decode("utf-8", "surrogateescape").split("\n")
    place, what = dice.randrange(len(words)), dice.randrange(8)
    if what < 4:
        words[place] = dice.choice(ARGUMENTS)
    elif what == 4:
        del words[place]
    elif what == 5:
        words.insert(place, dice.choice(ARGUMENTS))
    elif what == 6:
        words.insert(place, words[place])
    else:
        name, equals, _ = words[place].partition("=")
        words[place] = f"{name}={dice.choice(ARGUMENTS)}" if equals else words[place].upper()
    return "\n".join(words).encode("utf-8", "surrogateescape")
