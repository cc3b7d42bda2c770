"""FinCriticalED: financial pages as HTML in which experts tagged the facts that must be right.

Layout: ``gold_<i>.txt`` in the root or in a folder ``gold`` or ``gold_annotation_html`` (a page
image of the same number may stand in ``images``, and beside it the boxes of its facts, in the
order of their tags, in a JSON list), or one CSV with tagged HTML, a page a row.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from formlab import files, tables
from formlab.benchmarks.corpus import Part, Row, SplitReader, box_of, counts_of, image_columns
from formlab.benchmarks.facts import FACTS, tagged
from formlab.benchmarks.meta import meta_of
from formlab.errors import DataBroken, GoldInDoubt
from formlab.text.markup import events

FOLDERS = ("", "gold", "gold_annotation_html", "data/gold_annotation_html")
IMAGES = ("images", "gold/images")
COLUMNS = ("gold_html", "annotated_html", "matched_html", "html")
_NAME = re.compile(r"gold_(\d+)\.(?:txt|html?)")
_OPEN = re.compile(rf"<({'|'.join(FACTS)})\b[^>]*>", re.IGNORECASE)
_CLOSE = re.compile(rf"</({'|'.join(FACTS)})\s*>", re.IGNORECASE)
_REMEDY = "a folder with gold_0.txt, gold_1.txt, …, or a CSV with a column of tagged HTML"
__all__ = ["FACTS", "FactMeta", "decoded", "fact_meta", "tagged", "untagged"]


class FactMeta(NamedTuple):
    """What a fact's record says beside its value.

    `type` is the published name of its type, `hint` its context, and `mark` the running number
    of its tag among all fact tags of the page.
    """

    type: str
    hint: str
    mark: int


def fact_meta(record: Row) -> FactMeta:
    """The published type, the hint and the tag's number of a fact's record."""
    meta = meta_of(record)
    return FactMeta(meta["type"], meta["hint"], meta["mark"])


def untagged(markup: str) -> str:
    """A gold page's HTML without the tags of its facts, which no system is asked to write.

    >>> untagged("<td><Number>4,310</Number></td>")
    '<td>4,310</td>'
    """
    return _CLOSE.sub("", _OPEN.sub("", markup))


def decoded(file: Path, counts: Counter[str]) -> str:
    """The text of a file; one that is not UTF-8 is read as latin-1 and counted."""
    try:
        return files.read_text(file)
    except DataBroken:
        counts["files in latin-1"] += 1
        return files.read_text(file, encodings=("latin-1",))


def reader(split: str, root: Path) -> SplitReader:
    """The pages of one split: a record per fact at ``/facts/<n>``, and the page's HTML at no path.

    Facts keep the published order, numbers first, then dates, monetary units, entities and
    concepts, each from top to bottom. `kind` is the fact's type; `meta` holds the published name
    of that type and the hint of its context.
    """
    flaws, sources = Counter[str](), dict[str, str]()

    def read(unit: _Page | Path, flaws: Counter[str]) -> Iterator[Part]:
        page = unit if isinstance(unit, _Page) else _page(unit, flaws)
        facts = tagged(events(page.markup), flaws=flaws, where=page.origin)
        opened, closed = (
            Counter(name.lower() for name in tag.findall(page.markup)) for tag in (_OPEN, _CLOSE)
        )
        flaws["fact tags not closed"] += (opened - closed).total()
        flaws["fact tags closed but not opened"] += (closed - opened).total()
        flaws["fact tags without text"] += opened.total() - len(facts)
        flaws["pages without a fact"] += not facts
        image, boxes = _picture(root.parent if root.is_file() else root, page.name, flaws)
        rows: list[Row] = [{"kind": "page", "value": page.markup, "origin": page.origin}]
        for number, fact in enumerate(facts):
            path, said = f"/facts/{number}", FactMeta(fact.type, fact.hint, fact.mark)._asdict()
            row = {"path": path, "kind": fact.kind, "value": fact.value}
            row |= {"origin": f"{page.origin}#{path}", "meta": json.dumps(said, ensure_ascii=False)}
            rows.append(row | boxes.get(fact.mark, {}))
        yield {"doc_id": page.name} | counts_of(rows[1:]) | image | page.stated, rows

    units, same = _units(root, flaws, sources), {"task": "fact", "page": 1}
    found: Row = {"flaws": flaws, "sources": sources, "empty": f"gold pages: {_REMEDY}"}
    return SplitReader("fincriticaled", split, root, units, read, same, **found)


class _Page(NamedTuple):
    """A page's number and HTML, where it stands, and what it says of its document."""

    name: str
    markup: str
    origin: str
    stated: Row


def _units(root: Path, flaws: Counter[str], sources: dict[str, str]) -> list[Any]:
    """The files of pages in the order of their numbers, or the pages of a CSV."""
    if root.is_file():
        return list(_rows(root, flaws, sources))
    for name in FOLDERS:
        numbered: dict[int, Path] = {}
        for file in sorted((files.folder(root, remedy=_REMEDY) / name).glob("gold_*")):
            if match := _NAME.fullmatch(file.name):
                first = numbered.setdefault(int(match[1]), file)
                if first is not file:
                    what = f"two golds of page {int(match[1])}: {first.name} and {file.name}"
                    raise GoldInDoubt(what, where=file.parent, remedy="keep one of them")
        if numbered:
            return [numbered[number] for number in sorted(numbered)]
    return [page for file in sorted(root.glob("*.csv"))[:1] for page in _rows(file, flaws, sources)]


def _page(file: Path, flaws: Counter[str]) -> _Page:
    number = _NAME.fullmatch(file.name)[1]  # type: ignore[index]
    # What it says of itself: the type of document becomes its domain.
    beside, stated = file.with_name(f"meta_{number}.json"), {}
    if beside.is_file():
        meta = files.read_json(beside, dict[str, Any])
        domain = files.convert(meta.get("document_type"), str | None, where=beside)
        stated = {"domain": domain, "meta": json.dumps(meta, ensure_ascii=False)}
    return _Page(str(int(number)), decoded(file, flaws), file.name, stated)


def _rows(file: Path, flaws: Counter[str], sources: dict[str, str]) -> Iterator[_Page]:
    (_, header), *rows = files.csv_rows(file, decoded(file, flaws)) or [(1, [])]
    sources[file.name] = files.sha256(file)
    names = [name.strip().lower() for name in header]
    column = next((names.index(name) for name in COLUMNS if name in names), None)
    if column is None:
        remedy = f"a column named {', '.join(COLUMNS[:-1])} or {COLUMNS[-1]}"
        raise DataBroken("no column of tagged HTML", where=f"{file}:1", remedy=remedy)
    for number, (line, row) in enumerate(rows):
        if len(row) <= column:
            raise DataBroken("a row without its HTML", where=f"{file}:{line}")
        stated = {"domain": dict(zip(names, row, strict=False)).get("document_type")}
        yield _Page(str(number), row[column], f"{file.name}:{line}", stated)


def _picture(base: Path, stem: str, flaws: Counter[str]) -> tuple[Row, dict[int, Row]]:
    """The columns of a page's image, and the boxes of its fact tags by their running numbers."""
    images = [base / folder / f"{stem}.png" for folder in IMAGES]
    image = next((image for image in images if image.is_file()), None)
    if image is None:  # Pages may come without images: that is no flaw.
        return {}, {}
    columns, boxes = image_columns(base, image, flaws), {}
    if (beside := image.with_suffix(".json")).is_file():
        listed = files.read_json(beside, list[Any], remedy="[[x0, y0, x1, y1], …]")
        for mark, value in enumerate(listed):
            if box := box_of(value):
                boxes[mark] = dict(zip(tables.BOX, box, strict=True))
            else:
                flaws["fact boxes not known"] += 1
    return columns, boxes
