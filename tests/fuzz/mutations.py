"""Seeded mutations of files: of their bytes, of what they hold, of where and what they are."""

import io
import json
import random
from contextlib import suppress
from pathlib import Path, PurePosixPath

import yaml
from backports.zstd import zipfile

from tests.fuzz.bench import Change
from tests.nasty_json import BODIES

DEEP = 3000  # So deep nothing is nested that people write.
ODD = yaml.safe_load(Path(__file__).with_name("inputs.yml").read_text("utf-8"))
TEXTS = (*ODD["texts"], "\ud800", "9" * 5000, "x" * 70_000, "{1." * 100_000)
TEXTS += tuple(mark * DEEP for mark in ("<number>", "<div>", "[", "{", "- "))
NAMES = (*ODD["names"], "x" * 250, "x" * 80 + ".json")
ENCODINGS = ("utf-16", "utf-16-le", "utf-32", "latin-1", "cp1252", "utf-8-sig", "utf-7")
MARK = "\ue000raw\ue000"


def changes_of(files, seed):
    """One to three changes of the files of an input, each ending as likely as the others."""
    dice, changes = random.Random(seed), {}
    by_ending = {}
    for path in sorted(files):
        by_ending.setdefault(PurePosixPath(path).suffix, []).append(path)
    for _ in range(dice.choice((1, 1, 1, 1, 2, 3))):
        path = dice.choice(by_ending[dice.choice(sorted(by_ending))])
        if dice.random() < 0.14:
            made = place_change(dice, path, files)
        else:
            before = changes.get(path, Change(path, data=files[path])).data
            made = Change(path, data=content(dice, path, before))
        changes[made.path] = made
    return list(changes.values())


def place_change(dice, path, files):
    """Another thing in a file's place: none, a pipe, a folder, a link, another file or name."""
    place = PurePosixPath(path)
    name = dice.choice((place.name.upper(), f"{dice.choice(NAMES)}{place.suffix}"))
    target = dice.choice((place.name, "absent", "..", "/dev/zero")).encode()
    made = [Change(path, kind, target) for kind in ("removed", "pipe", "folder", "link")]
    made += [Change(path, data=files[dice.choice(sorted(files))]), Change(path)]
    return dice.choice([*made, Change(str(place.with_name(name)), data=files[path])])


def content(dice, path, data):
    """Other bytes for a file, by what its name says that it is."""
    kinds = BY_ENDING.get(PurePosixPath(path).suffix.lower(), ())
    if kinds and dice.random() < 0.75:
        # What an earlier change has broken cannot be changed by what it holds.
        with suppress(Exception):
            return dice.choice(kinds)(dice, data)
    first, second, third = sorted(dice.randrange(len(data) + 1) for _ in range(3))
    flipped, stop = bytearray(data), first + dice.choice((1, 8, 64, 512))
    for _ in range(dice.choice((1, 1, 2, 8)) if data else 0):
        flipped[dice.randrange(len(data))] = dice.randrange(256)
    odd = dice.choice(
        (dice.randbytes(4), b"\x00", b"\xff\xfe", b"\xef\xbb\xbf", b"\xed\xa0", b"\r")
    )
    moved = data[:first] + data[second:third] + data[first:second] + data[third:]
    cut, put = data[:first] + data[stop:], data[:first] + odd + data[first:]
    return dice.choice((data[:first], bytes(flipped), cut, data[:stop] + data[first:], moved, put))


def word(dice):
    return dice.choice(TEXTS).encode("utf-8", "surrogatepass")


def words(dice, data):
    start = dice.randrange(len(data) + 1)
    return data[:start] + word(dice) + data[start + dice.choice((0, 0, 1, 8)) :]


def encoded(dice, data):
    if dice.random() < 0.5:
        return data.replace(b"\n", dice.choice((b"\r", b"\r\n", b"\n\n", b"\x0b", b" ")))
    return data.decode("utf-8", "replace").encode(dice.choice(ENCODINGS), "replace")


def in_a_row(dice, items, other):
    """One item left out, doubled, exchanged with another, or replaced by `other`."""
    items = list(items)
    one, two = (dice.randrange(len(items)) for _ in range(2))
    match dice.randrange(4):
        case 0:
            del items[one]
        case 1:
            items.insert(two, items[one])
        case 2:
            items[one], items[two] = items[two], items[one]
        case _:
            items[one] = other
    return items


def lines(dice, data):
    return b"".join(in_a_row(dice, data.splitlines(keepends=True) or [b""], word(dice) + b"\n"))


def json_value(dice, data):
    """One item of the value replaced, wrapped, left out, doubled, or under another name."""
    value, raw = json.loads(data), dice.choice(list(BODIES.values()))
    places, todo = [], [value]
    while todo:
        node = todo.pop(0)
        if isinstance(node, dict | list):
            names = list(node) if isinstance(node, dict) else range(len(node))
            places += [(node, name) for name in names]
            todo += [node[name] for name in names]
    if not places:
        return raw
    # Places near the top are fewer, and matter more.
    parent, name = dice.choice(places[:8] if dice.random() < 0.3 else places)
    old, kind = parent[name], dice.randrange(9)
    if kind == 0:
        del parent[name]
    elif kind == 1 and isinstance(parent, dict):
        parent[dice.choice(("", "x", "id", "doc_id", name.upper(), "n" * 300))] = parent.pop(name)
    elif kind == 2 and isinstance(parent, dict):
        # The name a second time: which of the two counts is the reader's choice.
        raw = f"{json.dumps(old)}, {json.dumps(name)}: ".encode() + (raw or b"0")
        parent[name] = MARK
    elif kind == 3:
        parent[name] = dice.choice(([old], str(old), [old, old]))
    else:
        parent[name] = MARK
    return lined(value).encode().replace(json.dumps(MARK).encode(), raw)


def json_line(dice, data):
    rows = data.splitlines(keepends=True)
    chosen = dice.randrange(len(rows))
    rows[chosen] = json_value(dice, rows[chosen]).replace(b"\n", b" ") + b"\n"
    return b"".join(rows)


def cells(dice, data):
    rows = data.decode("utf-8", "replace").split("\n")
    row, mark = dice.randrange(len(rows)), "\t" if "\t" in rows[0] else ","
    quoted = f'"{dice.choice(TEXTS)}' + dice.choice(('"', "", '""', '"x', '\n"'))
    made = in_a_row(dice, rows[row].split(mark), dice.choice((quoted, dice.choice(TEXTS))))
    rows[row] = mark.join(made)
    return "\n".join(rows).encode("utf-8", "surrogatepass")


def archive(dice, data):
    """A member of the archive mutated, left out, renamed or unpacking to very much."""
    with zipfile.ZipFile(io.BytesIO(data)) as source:
        members = [(info.filename, source.read(info)) for info in source.infolist()]
    name, inside = members.pop(dice.randrange(len(members)))
    changed, other = (name, content(dice, name, inside)), dice.choice(("../x", "/x", "é", ""))
    members += dice.choice(
        ([changed], [changed], [(other, inside)], [(name, b"0" * 60_000_000)], [])
    )
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as target:
        for name, inside in members:
            target.writestr(name, inside)
    return out.getvalue()


def lined(value):
    """JSON with an item a line, two levels deep: a change of one leaves the lines of others."""
    if isinstance(value, dict) and value:
        pairs = (f"{json.dumps(name)}: {items(item)}" for name, item in value.items())
        return "{\n" + ",\n".join(pairs) + "\n}"
    return items(value)


def items(value):
    if isinstance(value, list) and value:
        return "[\n" + ",\n".join(map(json.dumps, value)) + "\n]"
    return json.dumps(value)


TEXT = (encoded, words, words, words, lines, lines)
BY_ENDING = {
    ".json": (json_value, json_value, json_value, *TEXT),
    ".jsonl": (json_line, json_line, json_line, json_line, *TEXT),
    **dict.fromkeys((".csv", ".tsv"), (cells, cells, cells, *TEXT)),
    **dict.fromkeys((".zip", ".xlsx", ".eval"), (archive,)),
    **dict.fromkeys((".txt", ".html", ".htm", ".xml", ".yaml", ".yml", ".md"), TEXT),
}
