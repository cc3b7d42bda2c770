"""The rows of any table, JSON, folder, archive or frame, as they are written."""

from __future__ import annotations

import io
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import chain, islice
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from formlab import files
from formlab.errors import DataBroken, DataMissing
from formlab.files import local
from formlab.readers import Row, sheets
from formlab.readers.door import FORMS, TABLES, Member, ending, is_json, kind, members, stem
from formlab.text import answers
from formlab.text.answers import WRAPPERS, arguments, by_name, is_flat, plain_name

# What stands for a name where there is no file.
FRAME = "frame"
# How many rows, files of documents and lines of JSON are read at once.
ROWS, _FILES, _LINES = 50_000, 1_000, 100


class Batch(NamedTuple):
    """Rows as they were read, with `documents` all of one each; their origins follow `home`."""

    origins: Sequence[str]
    rows: Sequence[Row]
    documents: bool = False
    home: str = ""

    @property
    def names(self) -> list[str]:
        """The names of the columns, in the order in which rows have them."""
        return list(dict.fromkeys(chain.from_iterable(self.rows)))


def items(source: Any, notes: Counter[str] | None = None) -> Iterator[tuple[str, Row]]:
    """Origin and cells, as written, of each row of whatever it is."""
    for batch in batches(source, Counter() if notes is None else notes):
        yield from zip(batch.origins, batch.rows, strict=True)


def columns_of(source: Any) -> list[str]:
    """The names of a source's columns, by its first rows."""
    return next((batch.names for batch in batches(source, Counter())), [])


def batches(source: Any, notes: Counter[str]) -> Iterator[Batch]:
    """The rows of a path, an address, a frame or mappings, many at a time."""
    place = f"{FRAME}, row "
    if isinstance(source, str | Path):
        yield from _of_path(local(source), notes)
    elif isinstance(source, Mapping):
        yield _of_value({str(name): member for name, member in source.items()}, "object", FRAME, "")
    elif isinstance(source, pl.LazyFrame | pl.DataFrame):
        yield from _of_frames(source.lazy().collect().iter_slices(ROWS), place)
    else:
        if type(source).__module__.partition(".")[0] == "pandas":
            if not source.columns.is_unique:
                twice = source.columns[source.columns.duplicated()][0]
                raise DataBroken(f"two columns are called {twice!r}", remedy="rename one")
            if source.index.name not in (None, *source.columns):
                source = source.reset_index()
            short = dict.fromkeys(source.select_dtypes("float32"), str)
            source = source.astype(short).astype(dict.fromkeys(short, float))
            # What is missing is NaN, NaT or NA by its dtype; all of them are null here.
            source = source.astype(object).where(source.notna(), None).to_dict("records")
        rows = list(source) if isinstance(source, Iterable) else [None]
        if not all(isinstance(row, Mapping) for row in rows):
            what = f"values cannot be read from {type(source).__name__}"
            raise DataBroken(what, remedy="a path, a polars or pandas frame, or a list of dicts")
        named = [{str(name): cell for name, cell in row.items()} for row in rows]
        yield Batch(_origins(place, 1, len(rows)), named)


def document_files(path: Path) -> list[Member]:
    """The files of a folder or archive with a document each: JSON, else texts; else its tables."""
    if path.is_dir():
        paths = (file for file in sorted(path.rglob("*")) if file.is_file())
        named = [Member.of(file, file.relative_to(path).as_posix()) for file in paths]
    else:
        named = list(members(path).values())
    named = [m for m in named if not any(s[:1] in ("", ".") for s in m.name.split("/"))]
    for endings in ((".json",), (".txt",), (".md",), TABLES):
        if found := [member for member in named if ending(member.name) in endings]:
            return found
    remedy = "one JSON file a document, or a table"
    raise DataBroken("no JSON files in this folder", where=path, remedy=remedy)


def _origins(place: str, first: int, count: int) -> list[str]:
    """The origins of so many rows of a place, whose numbers follow one another."""
    return [f"{place}{number}" for number in range(first, first + count)]


def _of_frames(frames: Iterable[pl.DataFrame], place: str) -> Iterator[Batch]:
    first = 1
    for frame in frames:
        # The shorter floats are read as they are written: 88.2, not 88.19999694824219.
        frame = frame.with_columns(pl.col(pl.Float32).cast(pl.String).cast(pl.Float64))
        yield Batch(_origins(place, first, frame.height), frame.to_dicts())
        first += frame.height


def _of_path(path: Path, notes: Counter[str]) -> Iterator[Batch]:
    # Not Path.exists(), which raises on names that no file can have.
    if not os.path.exists(path):
        raise DataMissing("no such file or folder", where=path, remedy="check the path")
    is_file = not path.is_dir() and kind(path) != "zip"
    found = [Member.of(path)] if is_file else document_files(path)
    if is_file or ending(found[0].name) in TABLES:
        if len(found) > 1:
            what = f"several tables: {', '.join(member.name for member in found[:5])}"
            raise DataBroken(what, where=path, remedy="one of them, or one JSON file a document")
        home = found[0].where.removesuffix(found[0].name)
        for batch in _of_file(found[0], notes):
            yield batch._replace(home=home)
        return
    names = [stem(member.name) for member in found]
    if path.is_dir() and ending(found[0].name) == ".json":
        texts = sum(stem(file) not in names for file in path.rglob("*.txt"))
        notes["files of text beside those of JSON, left out"] += texts
    if len(found) > 1 == len(set(names)):
        # Files of one name in a folder each: that is called like the document.
        names = [Path(member.name).parent.as_posix() for member in found]
    elif len(set(names)) < len(found):
        names = [Path(member.name).with_name(stem(member.name)).as_posix() for member in found]
    documents = zip(names, found, strict=True)
    while some := list(islice(documents, _FILES)):
        rows = [{"doc_id": name} | _document(member, notes) for name, member in some]
        yield Batch([member.name for _, member in some], rows, documents=True, home=f"{path}/")


def _of_file(member: Member, notes: Counter[str]) -> Iterator[Batch]:
    form = kind(member.name, member.head())
    if form in ("workbook", "delimited"):
        yield from (Batch(*part) for part in sheets.tabular(member, form, notes, ROWS))
    elif form == "parquet":
        try:
            source = member.where if files.is_file(member.where) else io.BytesIO(member.read())
            scan = pl.scan_parquet(source, glob=False)
            frames = scan.collect_batches(chunk_size=ROWS, maintain_order=True)
            yield from _of_frames(frames, f"{member.name}, row ")
        except (pl.exceptions.PolarsError, OSError) as error:
            what = f"not a readable Parquet file: {str(error).splitlines()[0]}"
            raise DataBroken(what, where=member.where) from error
    elif form == "json":
        with member.text() as stream:
            value = _parsed(stream.read(), member.where)
        yield _of_value(value, member.name, stem(member.name), member.where)
    elif form == "lines":
        with member.text() as stream:
            # Only newlines end a line, as a value may hold U+2028 unescaped.
            stream.reconfigure(newline="\n")
            lines = ((n, text) for n, text in enumerate(stream, start=1) if text.strip())
            while some := list(islice(lines, ROWS)):
                parts = (some[at : at + _LINES] for at in range(0, len(some), _LINES))
                rows = [row for part in parts for row in _objects(part, member.where)]
                yield Batch([f"{member.name}:{number}" for number, _ in some], rows)
    else:
        what = f"values cannot be read from {ending(member.name) or 'this file'}"
        remedy = f"a folder of JSON files, or one of: {', '.join(FORMS)}"
        raise DataBroken(what, where=member.where, remedy=remedy)


def _parsed(text: str, where: str, line: int = 1) -> Any:
    return files.parse_json(text, where=where, first_line=line, as_written=True, once=True)


def _objects(lines: Sequence[tuple[int, str]], where: str) -> list[Row]:
    """The objects of numbered lines: read together, which takes half the time, else one by one."""
    with suppress(ValueError, RecursionError):
        rows = files.AS_WRITTEN.decode(f"[{','.join(line for _, line in lines)}]")
        if len(rows) == len(lines) and {*map(type, rows)} == {dict}:
            return rows
    rows = []
    for number, line in lines:
        # A closer look, whose error names the line.
        rows.append(row := _parsed(line.removesuffix("\n"), where, number))
        if not isinstance(row, dict):
            what = f"a JSON object is expected, this is a {type(row).__name__}"
            remedy = 'one object a line, such as {"doc_id": "1", "text": "…"}'
            raise DataBroken(what, where=f"{where}:{number}", remedy=remedy)
    return rows


def _document(member: Member, notes: Counter[str]) -> Row:
    """The members of a document's file; at ``/`` a text, or why it cannot be read."""
    try:
        with member.text() as stream:
            text = stream.read()
        if not is_json(text):
            return {"/": text}
        value = _parsed(text, member.where)
        if arguments(value) is not None:
            return {"/": text}
        if not isinstance(value, dict | list):
            raise DataBroken(f"a JSON object is expected, this is {type(value).__name__}")
        if not is_flat(value):
            raise DataBroken("nested too deep for a form")
    except DataBroken as error:
        notes[f"files that cannot be read: {error.what}"] += 1
        return {"/": f"cannot be read: {error.what}"}
    value = by_name(value)
    return value if isinstance(value, dict) else {f"/{n}": item for n, item in enumerate(value)}


def _of_value(value: Any, name: str, document: str, where: str, below: str = "") -> Batch:
    """One JSON value: rows, a document for each key (of several, if they are lists), or one."""
    known = value if isinstance(value, dict) else ()
    inside = [key for key in known if key.lower() in WRAPPERS or len(known) == 1]
    if len(inside) == 1:
        place, inner = f"{below}{inside[0]}/", value[inside[0]]
        if isinstance(inner, dict) and len(inner) == 1 and {*inner} <= {*WRAPPERS}:
            return _of_value(inner, name, document, where, place)
        if _are_documents(inside[0].lower(), inner):
            below, value = place, inner
    if isinstance(value, list) and value and all(isinstance(row, dict) for row in value):
        return Batch(_origins(f"{name}#/{below}", 0, len(value)), value)
    if not isinstance(value, dict) or not value:
        what = "a list of objects or an object of documents is expected"
        remedy = 'such as {"scan_1": {"total": "9.00"}}'
        raise DataBroken(what, where=where or None, remedy=remedy)
    is_listed = len(value) > 1 and {*map(type, value.values())} == {list}
    named = {key: by_name(inner) if is_listed else inner for key, inner in value.items()}
    if len(named) > 1 and all(isinstance(of, str) and answers.is_json(of) for of in named.values()):
        # What a model answered about each.
        named = {key: {"/": text} for key, text in named.items()}
    if not all(isinstance(inner, dict) for inner in named.values()):
        return Batch([name], [{"doc_id": document} | value], documents=True)
    rows = [{"doc_id": key} | row for key, row in named.items()]
    return Batch([f"{name}#/{below}{key}" for key in value], rows, documents=True)


def _are_documents(name: str, value: Any) -> bool:
    """Whether what is called so are objects of which each names its document, or is called so."""
    rows = list(value.values()) if isinstance(value, dict) else value
    if not isinstance(rows, list) or not rows or not all(isinstance(row, dict) for row in rows):
        return False
    if isinstance(value, dict):
        # Anything but documents may be the only field with parts.
        return name in WRAPPERS and len(rows) >= (1 if name == "documents" else 2)
    usual = sheets.IDS if name in WRAPPERS else {"docid"}
    return all(not usual.isdisjoint(map(plain_name, row)) for row in rows)
