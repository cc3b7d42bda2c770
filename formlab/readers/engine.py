"""What Azure, Textract, Document AI, hOCR, ALTO, PAGE XML and Tesseract's TSV say of documents."""

import csv
import re
import tomllib
from bisect import bisect
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl
from lxml import etree

from formlab import files, tables
from formlab.benchmarks.corpus import Box, around, number
from formlab.errors import DataBroken, FormlabError
from formlab.readers import ODD, Reader, Row, Source, answers, by_name, door
from formlab.readers.door import as_text, at, written
from formlab.trees import leaves

_FILES = tomllib.loads(Path(__file__).with_name("engines.toml").read_text("utf-8"))
_PAGES, _LINES, _WORDS, _PLACE, _SUMMARIES = (of.split() for of in _FILES.pop("names").values())
_VALUE, _BOX, _SURE, _POINT = _FILES.pop("patterns").values()
_SAFE: dict[str, Any] = {"no_network": True, "huge_tree": False, "remove_comments": True}


@dataclass
class Found:
    """A text, its box in the unit of its page, and the engine's confidence from 0 to 1."""

    text: str = ""
    box: Box | None = None
    confidence: float | None = None
    page: int = 1
    start: int = 0  # In the text of the document.


# Values in an object or list, lines with their words, and the size of each page by number.
Reading = tuple[Any, list[list[Found]], dict[int, tuple[Any, Any]]]


def _rows(reading: Reading, size: tuple[int, int] | None, *, has_text: bool) -> Iterator[Row]:
    """The values, and text and words if there is none or the gold's pages, of `size`, have."""
    values, lines, sizes = reading

    def row(part: Found, path: str, **cells: Any) -> Row:
        # Boxes are in pixels of the gold's page if that is known, else as the engine has them.
        sides = sizes.get(part.page, (0, 0))
        scale = (size[0] / sides[0], size[1] / sides[1]) if size and all(sides) else (1.0, 1.0)
        corners = zip(tables.BOX, part.box or (), scale * 2, strict=False)
        box = {side: corner * by for side, corner, by in corners}
        stated = {"path": path, "value": part.text.strip() or None, "page": part.page}
        return stated | {"confidence": part.confidence} | box | cells

    # One form is no list of forms.
    is_one = isinstance(values, list) and len(values) == 1
    for path, value in leaves(values[0] if is_one else values or {}):
        yield row(value, path)
    if values and not has_text:
        return
    texts, rows, read = [], [], {"task": "layout", "status": "ok"}
    for line, *found in lines:
        words = [word for word in found if word.text]
        if text := line.text or " ".join(word.text for word in words):
            path, numbered = f"/ocr/lines/{len(texts)}", enumerate(words)
            texts.append(text)
            rows.append(row(line, path, value=text, kind="line", **read))
            rows += [row(w, f"{path}/words/{n}", kind="word", **read) for n, w in numbered]
    page = {"path": None, "kind": "page", "task": "text", "status": "ok"}
    yield from [page | {"value": "\n".join(texts)}, *rows]


def _reader(
    name: str, read: Callable[[Any], Reading], *, title: str, endings: list[str], mark: str
) -> Reader:
    """A reader of files with `mark` in them, one a document; JSON is parsed before it is `read`."""
    listed = partial(door.marked, endings=endings, mark=mark)

    def rows(source: Source) -> Iterator[Row]:
        source.files, corpus = listed(source.path), source.corpus
        home = source.path if source.path.is_dir() else source.path.parent
        names = [f.relative_to(home).with_name(door.stem(f)).as_posix() for f in source.files]
        documents = by_name("files for document", zip(names, source.files, strict=True))
        errors, renamed, sizes, has_text = [], dict[str, str](), {}, True
        if corpus is not None:
            renamed = answers.renames(documents, corpus.documents["doc_id"], source.notes)
            sides = corpus.documents.select("doc_id", "width", "height").drop_nulls()
            sizes = sides.rows_by_key("doc_id", unique=True)
            has_text = corpus.records.filter(pl.col("path").is_null())["value"].count() > 0
        for name, file in documents.items():
            doc_id = renamed.get(name, name)
            base = {"role": "answer", "doc_id": doc_id, "origin": file.name}
            try:
                is_json = endings == [".json"]
                found = read(files.parse_json(written(file), where=str(file)) if is_json else file)
                if not any(found):
                    raise DataBroken(f"no pages, no values: {written(file)[:200]!r}", where=file)
                rows = list(_rows(found, sizes.get(doc_id), has_text=has_text))
            except (*ODD, etree.XMLSyntaxError) as error:
                if not isinstance(error, FormlabError):
                    error = DataBroken(f"not laid out as {title}: {error!r:.200}", where=file)
                errors.append(error)
                base |= {"task": "text", "status": "api_error"}
                rows = [{"kind": "page"}, {"role": "call", "error": str(error)[:2000]}]
            yield from (base | row for row in rows)
        source.notes[f"files without a readable result of {title}"] += len(errors)
        if len(errors) == len(documents):
            raise errors[0]

    return Reader(name, title, listed, rows)


def _sized(*sides: Any) -> Box | None:
    left, top, width, height = map(number, sides)
    return None if None in (left, top, width, height) else (left, top, left + width, top + height)


def _marked_up(path: Path, *, parser: Any) -> Reading:
    root = etree.fromstring(door.Member.of(path).read(), parser)
    declared = root.getroottree().docinfo.internalDTD
    if declared is not None and next(declared.iterentities(), None) is not None:
        raise DataBroken("XML that declares entities", where=path, remedy="take them out")
    # Regions stand in the order of the groups that refer to them, each with an index.
    order, read, sizes, last = {}, [], {}, [float("inf")]
    for part in root.iterfind(".//*[@regionRef]"):
        groups = [part, *part.iterancestors()][::-1]
        order[part.get("regionRef")] = [int(number(group.get("index")) or 0) for group in groups]
    for count, page in enumerate(_below(root, _PAGES), start=1):
        # A caption may have lines of its own, and a region none; some engines write words alone.
        lines = [e for e in _below(page, _LINES) if not _below(e, _LINES)] or _below(page, _WORDS)
        lines.sort(key=lambda e: order.get(e.get("id")) or order.get(e.getparent().get("id"), last))
        read += [[_element(e, count) for e in (line, *_below(line, _WORDS))] for line in lines]
        sides = [page.get(f"image{side}") or page.get(side.upper()) for side in ("Width", "Height")]
        sizes[count] = (_outline(page) or (0, 0, *map(number, sides)))[2:]
    return None, read, sizes


def _below(element: Any, names: list[str]) -> list[Any]:
    below = element.iterdescendants(etree.Element)
    named = ((e, {etree.QName(e).localname, *e.get("class", "").split()}) for e in below)
    return [inner for inner, its in named if not its.isdisjoint(names)]


def _element(element: Any, page: int) -> Found:
    """A line or word with its own text, if it has one, of several readings the first by index."""
    text, sure = element.get("CONTENT", ""), number(element.get("WC"))
    if readings := element.findall("{*}TextEquiv"):
        best = min(readings, key=lambda reading: int(number(reading.get("index")) or 0))
        text, sure = best.findtext("{*}Unicode", "").strip(), number(best.get("conf"))
    elif "class" in element.attrib:
        text = " ".join("".join(element.itertext()).split())
        sure = number(f[1], 100) if (f := re.search(_SURE, element.get("title", ""))) else None
    return Found(text, _outline(element), sure, page)


def _outline(element: Any) -> Box | None:
    if stated := re.search(_BOX, element.get("title", "")):
        return around(stated.groups())
    if (outline := element.find("{*}Coords")) is not None:
        return around(re.findall(_POINT, outline.get("points", "")))
    return _sized(*(element.get(side) for side in ("HPOS", "VPOS", "WIDTH", "HEIGHT")))


def _tesseract(path: Path) -> Reading:
    sizes, lines = {}, dict[tuple[int, ...], list[Found]]()
    # Quotation marks are text in Tesseract's own files; in a table that others saved they quote.
    how = {"delimiter": "\t", "quoting": csv.QUOTE_NONE} if b"\t" in door.head(path) else {}
    for row in csv.DictReader(written(path).split("\n"), **how):
        level, page, *place = (int(float(row[name])) for name in _PLACE)
        box = _sized(*map(row.get, ("left", "top", "width", "height")))
        # By page, block, paragraph and line, as a table may have the rows of words alone.
        line = lines.setdefault((page, *place), [Found(page=page)])
        if level == 1:
            sizes[page] = box[2:]
        elif level == 4:
            line[0].box = box
        elif (text := row["text"] or "").strip():
            line.append(Found(text, box, number(row["conf"], 100), page))
    return None, [*lines.values()], sizes


def _every(holders: Iterable[Any], *names: str) -> list[Any]:
    """The entries of the lists that objects have at the first name, of theirs at the next."""
    for name in names:
        holders = [entry for holder in holders for entry in at(holder, name) or ()]
    return list(holders)


def _first(value: Any, *names: str) -> Any:
    return next(filter(None, (at(value, name) for name in names)), None)


def _keyed(pairs: Iterable[tuple[str | None, Any]]) -> dict[str, Any]:
    """Values by their keys; those of a key that is there several times, and objects, are a list."""
    found: dict[str, list[Any]] = {}
    for key, value in pairs:
        found.setdefault((key or "").strip(" :*"), []).append(value)
    return {key: v if len(v) > 1 or isinstance(v[0], dict) else v[0] for key, v in found.items()}


def _part(element: Any, page: int = 1, text: str = "") -> Found:
    """A word, a line or a value of any service; those of Document AI are parts of a `text`."""
    stated = at(element, "layout") or element
    regions = _every([stated], "boundingRegions") or _every([at(stated, "pageAnchor")], "pageRefs")
    place, anchor = next(iter(regions), stated), at(stated, "textAnchor")
    # A place of 0 is left out.
    parts = _every([anchor], "textSegments")
    ends = [[int(number(at(p, f"{end}Index")) or 0) for end in ("start", "end")] for p in parts]
    said = _first(stated, "SelectionStatus", "content", "text", "Text", "mentionText")
    said = said or at(anchor, "content") or "".join(text[start:end] for start, end in ends)
    span = next(iter(_every([stated], "spans")), at(stated, "span"))
    start = ends[0][0] if ends else int(number(at(span, "offset")) or 0)
    sure, percent = at(stated, "confidence"), at(stated, "Confidence")
    sure = number(sure) if percent is None else number(percent, 100)
    # Places of entities count pages from 0.
    count = _first(place, "pageNumber", "Page") or (number(at(place, "page")) or page - 1) + 1
    # Sides, or corners as numbers in turn or as points, of which 0 is left out.
    sides, outline = at(place, "Geometry", "BoundingBox"), at(place, "boundingPoly")
    corners = at(place, "polygon") or at(outline, "normalizedVertices") or []
    if all(isinstance(corner, dict) for corner in corners):
        corners = [(corner.get("x") or 0, corner.get("y") or 0) for corner in corners]
    box = _sized(*map(sides.get, ("Left", "Top", "Width", "Height"))) if sides else around(corners)
    return Found(" ".join(said.split()), box, sure, int(count), start)


def _paged(content: Any) -> Reading:
    """Lines with their words in the order of the text; forms, else entities, else keyed values."""
    document = at(content, "analyzeResult") or at(content, "document") or content
    read, sizes, keyed, text = [], {}, [], at(document, "text") or ""
    pairs = [(_part, pair) for pair in _every([document], "keyValuePairs")]
    for count, page in enumerate(_every([document], "pages"), start=1):
        count = int(number(at(page, "pageNumber")) or count)
        part = partial(_part, page=count, text=text)
        # The places of Document AI are shares of a page.
        sizes[count] = number(at(page, "width")) or 1, number(at(page, "height")) or 1
        # A line begins with its first word; words of a page without lines are those of one.
        lines = [[part(line)] for line in _every([page], "lines")] or [[part(None)]]
        lines.sort(key=lambda line: line[0].start)
        words = map(part, _every([page], "words") + _every([page], "tokens"))
        for word in sorted(words, key=lambda word: word.start):
            place = bisect(lines, word.start, key=lambda line: line[0].start)
            lines[max(place - 1, 0)].append(word)
        read += lines
        pairs += [(part, pair) for pair in _every([page], "formFields")]
    for part, pair in pairs:
        # How sure a value is may stand beside it.
        value = part(pair | (_first(pair, "value", "fieldValue") or {}))
        tick = at(pair, "valueType") or ""
        value.text = (tick if "checkbox" in tick else at(pair, "correctedValueText")) or value.text
        name = at(pair, "correctedKeyText") or part(_first(pair, "key", "fieldName")).text
        keyed.append((name, value))
    fields = (at(form, "fields") or {} for form in _every([document], "documents"))
    forms = [{name: _azure_field(value) for name, value in of.items()} for of in fields]
    return forms if any(forms) else _entities(document, "entities") or _keyed(keyed), read, sizes


def _azure_field(value: Any) -> Any:
    """A field as its page shows it, or those in a list or an object; without text if absent."""
    kind = _first(value, "type", "valueType")
    stated = (v for name, v in (value or {}).items() if re.match(_VALUE, name) and v is not None)
    typed = next(stated, None)
    if isinstance(typed, list):
        return [*map(_azure_field, typed)]
    if isinstance(typed, dict) and kind in ("object", "dictionary"):
        return {name: _azure_field(inner) for name, inner in typed.items()}
    is_shown = (found := _part(value)).text and kind != "selectionMark"
    return found if is_shown else replace(found, text=as_text(typed) or "")


def _textract(content: Any) -> Reading:
    responses = content if isinstance(content, list) else [content]
    expenses = _every(responses, "ExpenseDocuments")
    # Pages of one job may be saved as a list of their blocks.
    blocks = _every([*responses, *expenses], "Blocks") or [b for b in responses if "BlockType" in b]
    by_id, pairs = {block.get("Id"): block for block in blocks}, []

    def related(block: Row, kind: str = "CHILD") -> list[Row]:
        relations = [r for r in _every([block], "Relationships") if r.get("Type") == kind]
        return [by_id[name] for name in _every(relations, "Ids") if name in by_id]

    def text(block: Row) -> str:
        return " ".join(_part(child).text for child in related(block))

    for block in blocks:
        name = _first(block.get("Query"), "Alias", "Text")
        pairs += [(name, _part(answer)) for answer in related(block, "ANSWER")]
        if "KEY" in (block.get("EntityTypes") or ()):
            values = related(block, "VALUE")
            found = _part(next(iter(values), None), int(block.get("Page") or 1))
            pairs.append((text(block), replace(found, text=" ".join(map(text, values)))))
    summaries = map(_summary, _every(responses, "IdentityDocuments") + expenses)
    lines = [[*map(_part, (b, *related(b)))] for b in blocks if b.get("BlockType") == "LINE"]
    sizes = {int(block.get("Page") or 1): (1, 1) for block in (*blocks, *expenses)}
    return [form for form in (_keyed(pairs), *summaries) if form], lines, sizes


def _summary(holder: Row) -> dict[str, Any]:
    """Values by type, or by label if that is OTHER; a row as a whole says its cells again."""
    pairs, items = [], [*map(_summary, _every([holder], "LineItemGroups", "LineItems"))]
    for entry in _first(holder, *_SUMMARIES) or ():
        kind, label = at(entry, "Type", "Text"), at(entry, "LabelDetection", "Text")
        if kind != "EXPENSE_ROW":
            value = _part(at(entry, "ValueDetection"), int(at(entry, "PageNumber") or 1))
            pairs.append((label if kind == "OTHER" and label else kind, value))
    return _keyed(pairs) | ({"line_items": items} if items else {})


def _entities(holder: Any, name: str) -> dict[str, Any]:
    """Entities at their types; those of a type that comes again or has properties are a list."""
    found = []
    for entity in _every([holder], name):
        kind, normal = str(_first(entity, "type", "type_")), at(entity, "normalizedValue")
        value = _part(entity)
        value.text = value.text or as_text(at(normal, "text") or at(normal, "booleanValue")) or ""
        found.append((kind.rpartition("/")[2], _entities(entity, "properties") or value))
    return _keyed(found)


_XML = partial(_marked_up, parser=etree.XMLParser(resolve_entities=False, load_dtd=False, **_SAFE))
# Without a declaration libxml2 takes HTML for Latin-1.
_HOCR = partial(_marked_up, parser=etree.HTMLParser(encoding="utf-8", **_SAFE))
_READ = (_paged, _textract, _paged, _HOCR, _XML, _XML, _tesseract)  # As in `engines.toml`.
READERS = {n: _reader(n, read, **_FILES[n]) for n, read in zip(_FILES, _READ, strict=True)}
