"""What the readers of benchmarks share: documents read one by one, corpora of them, images."""

from __future__ import annotations

import dataclasses
import json
import math
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import chain, groupby, tee
from pathlib import Path
from typing import Annotated, Any, TypeVar

import msgspec
import polars as pl

from formlab import files, pictures, tables
from formlab.errors import DataBroken, DataMissing, FormlabError, GoldInDoubt
from formlab.folders import Corpus
from formlab.trees import leaves

T = TypeVar("T")
Row = dict[str, Any]
# The row of a document, and its gold records as rows or, which is quicker, as columns.
Part = tuple[Row, list[Row] | dict[str, Sequence[Any]]]
_Finite = Annotated[float, msgspec.Meta(ge=-sys.float_info.max, le=sys.float_info.max)]
Box = tuple[_Finite, _Finite, _Finite, _Finite]
UNREADABLE = "documents unreadable"
Reading = Callable[[], Corpus]
# What a record of gold has unless it says otherwise.
_USUAL: Row = {"role": "gold", "status": "ok"}


def _own_file(unit: Any) -> list[Path]:
    return [unit] if isinstance(unit, Path) else []


@dataclass(frozen=True)
class SplitReader:
    """One split of a benchmark, of which any documents can be read without the others.

    ``read(unit, flaws)`` yields the documents of a unit, such as a file, with their gold records
    and counts what is odd; `same` are columns of records that leave them out; `flaws` and `sources`
    are of the whole split; `empty` says what is missing where there is no document; `files_of`
    gives the file of a unit and those beside it. A unit whose own file cannot be read is left out,
    counted, and listed with the reason; it is an error if it has none, if no unit can be read, or
    if the gold contradicts itself (`GoldInDoubt`).
    """

    benchmark: str
    split: str
    root: Path
    units: Sequence[Any]
    read: Callable[[Any, Counter[str]], Iterator[Part]]
    same: Row = field(default_factory=dict)
    flaws: Counter[str] = field(default_factory=Counter)
    sources: dict[str, str] = field(default_factory=dict)
    empty: str = ""
    files_of: Callable[[Any], list[Path]] = _own_file

    def corpora(self, records: float, *, apart: bool = False) -> Iterator[Corpus | Reading]:
        """The documents in corpora of at most so many gold records, or of one unit.

        `apart`, those after the first are functions, if `read` is a partial of a module's function,
        which any process can call; their files are as large in all as those of the first.
        """
        # What is odd in the split as a whole is counted once.
        found, ahead = tee(chain([_Unit(self.flaws)], map(self._found, self.units)))
        heights = (sum(len(of["doc_id"]) for _, of in unit.parts) for unit in ahead)
        for number, units in enumerate(in_batches(found, heights, records)):
            corpus = self._corpus(units)
            if number == 0 and corpus.documents.is_empty() and corpus.unreadable:
                raise none_read(corpus.unreadable, self.root)
            if number == 0 and corpus.documents.is_empty() and self.empty:
                raise DataMissing(f"no {self.empty}", where=self.root, remedy="check the download")
            yield corpus
            if apart and isinstance(self.read, partial) and "<" not in self.read.func.__qualname__:
                # One of the batch is the split as a whole.
                sizes, start = [unit.stat().st_size for unit in self.units], len(units) - 1
                for rest in in_batches(self.units[start:], sizes[start:], sum(sizes[:start])):
                    yield dataclasses.replace(self, units=rest).read_units
                return

    def read_units(self) -> Corpus:
        """The documents of all units, without what is odd in the split as a whole."""
        return self._corpus(list(map(self._found, self.units)))

    def _found(self, unit: Any) -> _Unit:
        """The documents of a unit; none, and nothing counted, if its own file cannot be read."""
        (file, *beside), found = self.files_of(unit) or [None], _Unit()
        usual = _USUAL | self.same
        try:
            for document, rows in self.read(unit, found.flaws):
                columns = rows if isinstance(rows, dict) else tables.columns_of(rows, usual)
                count = len(next(iter(columns.values()), ()))
                paths = columns.get("path", ())
                if len({*paths, None}) + paths.count(None) < len(paths) + 1:
                    twice = Counter(filter(None, paths)).most_common(1)[0][0]
                    what = f"two values of {document['doc_id']} at one path: {twice}"
                    raise GoldInDoubt(what, where=file, remedy="keep one of them")
                found.parts.append((document, columns | {"doc_id": [document["doc_id"]] * count}))
            for path in (file, *filter(files.is_file, beside)) if file else ():
                found.sources[path.relative_to(self.root).as_posix()] = files.sha256(path)
        except (DataBroken, DataMissing, RecursionError) as error:
            if file is None or isinstance(error, GoldInDoubt):
                raise
            what = error if isinstance(error, FormlabError) else f"nested too deeply ({file})"
            name, reason = file.relative_to(self.root), str(what).replace(f"{self.root}/", "")
            return _Unit(Counter({UNREADABLE: 1}), unreadable={name.as_posix(): reason})
        return found

    def _corpus(self, units: list[_Unit]) -> Corpus:
        base, usual = {"benchmark": self.benchmark, "split": self.split}, _USUAL | self.same
        parts = [part for unit in units for part in unit.parts]
        # A column that a part lacks has what is usual.
        columns: dict[str, list[Any]] = {}
        for name in dict.fromkeys(chain.from_iterable(of for _, of in parts)):
            cells = (of.get(name) or [usual.get(name)] * len(of["doc_id"]) for _, of in parts)
            columns[name] = list(chain.from_iterable(cells))
        return Corpus(
            documents=tables.table("documents", [document for document, _ in parts], **base),
            records=tables.table("records", columns, **base, **usual),
            **base,
            root=self.root,
            flaws=dict(sorted(sum((unit.flaws for unit in units), Counter()).items())),
            sources=self.sources | {k: v for unit in units for k, v in unit.sources.items()},
            unreadable={k: v for unit in units for k, v in unit.unreadable.items()},
        ).check()


@dataclass
class _Unit:
    """The documents of a unit and the columns of their records, or why it cannot be read."""

    flaws: Counter[str] = field(default_factory=Counter)
    parts: list[tuple[Row, dict[str, Sequence[Any]]]] = field(default_factory=list)
    sources: dict[str, str] = field(default_factory=dict)
    unreadable: dict[str, str] = field(default_factory=dict)


def made(given: Any) -> Any:
    """A corpus or predictions, or those that a function reads."""
    return given() if callable(given) else given


def none_read(unreadable: dict[str, str], where: Path | None) -> DataBroken:
    """The error for documents of which none can be read, with the reason of the first."""
    first = next(iter(unreadable.values()))
    what = f"no document can be read, the first of {len(unreadable)}: {first}"
    return DataBroken(what, where=where)


def cut(corpus: Corpus, records: float) -> Iterator[Corpus]:
    """A corpus as corpora of at most so many gold records each, or of one document."""
    if corpus.records.height <= records:
        yield corpus
        return
    heights = dict(corpus.records.group_by("doc_id").len().iter_rows())
    names = corpus.documents["doc_id"]
    counts = (heights.get(name, 0) for name in names)
    for number, group in enumerate(in_batches(names, counts, records)):
        part = corpus.filtered(pl.col("doc_id").is_in(group))
        # What is odd in the whole is counted once.
        yield part if number == 0 else dataclasses.replace(part, flaws={}, unreadable={})


def batch_numbers(counts: Iterable[int], records: float) -> Iterator[int]:
    """The number of the batch of each document, by the counts of their records.

    >>> list(batch_numbers([2, 2, 9, 1], 4))
    [0, 0, 1, 2]
    """
    number = total = 0
    for count in counts:
        is_full = total > 0 and total + count > records
        number, total = number + is_full, count + total * (not is_full)
        yield number


def in_batches(items: Iterable[T], counts: Iterable[int], records: float) -> Iterator[list[T]]:
    """Items in batches, by the counts of their records as for `batch_numbers`."""
    numbers = batch_numbers(counts, records)
    return (list(group) for _, group in groupby(items, lambda _: next(numbers)))


def image_columns(root: Path, image: str | Path | None, flaws: Counter[str]) -> Row:
    """The columns `image`, `width` and `height` of a page; what is not there is counted."""
    if image is None or not files.is_file(image):
        flaws["images missing"] += 1
        return {}
    row: Row = {"image": Path(image).relative_to(root).as_posix()}
    try:
        row["width"], row["height"] = pictures.image_size(image)
    except (DataBroken, DataMissing):
        # Whatever opens the image reports why; the document stays.
        flaws["images unreadable"] += 1
    return row


def meta_of(row: Any) -> Row:
    """The `meta` of a row, or a text of it, as an object; empty where there is none.

    >>> meta_of({"meta": '{"pages": ["a.png"]}'}), meta_of({"meta": None}), meta_of("[1]")
    ({'pages': ['a.png']}, {}, {})
    """
    text = row if isinstance(row, str) or row is None else row.get("meta")
    meta = json.loads(text or "{}")
    return meta if isinstance(meta, dict) else {}


def page_images(document: Row) -> list[str]:
    """The images of a document in order: those that its meta lists, else the one it has.

    >>> page_images({"image": "a.png", "meta": '{"images": ["a.png", "a_2.png"]}'})
    ['a.png', 'a_2.png']
    >>> page_images({"image": "a.png"}), page_images({"image": None})
    (['a.png'], [])
    """
    meta = meta_of(document)
    listed = meta.get("pages") or meta.get("images")
    return listed or ([document["image"]] if document.get("image") else [])


def counts_of(rows: Iterable[Row]) -> Row:
    """The columns `n_fields` and `n_kinds` of a document by the rows of its fields.

    >>> counts_of([{"kind": "date"}, {"kind": "money"}, {"kind": "date"}])
    {'n_fields': 3, 'n_kinds': 2}
    """
    kinds = [row["kind"] for row in rows]
    return {"n_fields": len(kinds), "n_kinds": len(set(kinds))}


def box_of(value: Any) -> Box | None:
    """A list of four finite numbers as a box; None for anything else.

    >>> box_of([1, 2, 3.5, 4]), box_of([1, 2, 3]), box_of([1, 2, 3, float("inf")])
    ((1.0, 2.0, 3.5, 4.0), None, None)
    """
    try:
        return msgspec.convert(value, Box)
    except (ValueError, OverflowError):
        return None


def number(value: Any, part: float = 1) -> float | None:
    """A number, a text of one or a truth value, divided by `part`; null for all else."""
    try:
        found = float(value) / part
    except (TypeError, ValueError, OverflowError):
        return None
    return found if math.isfinite(found) else None


def around(points: Any) -> Box | None:
    """The upright box around points, as pairs or one list; null without two, or with no number."""
    sides = [number(side) for _, side in leaves(points)]
    across, down = sides[: len(sides) // 2 * 2 : 2], sides[1::2]
    if len(down) < 2 or None in (*across, *down):
        return None
    return min(across), min(down), max(across), max(down)
