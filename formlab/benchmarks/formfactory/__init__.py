"""FormFactory: instances of 25 web forms to fill in from a text, and their screenshots.

Layout: ``data1/<form>.json`` (gold), ``data2/<form>.txt`` (texts) and
``labeled-images/<A-H>/<code>[_<n>].{png,txt}``. A line of a box file is ``[A11] [Applicant Name]
[331,548,2548,622]``, in one piece and in pixels of the screenshot.

The release gives neither the kinds of fields nor which box is whose. ``fields.csv`` has both,
inferred from labels, names and heights of boxes and gold values: a tall box is a description. Its
`elements` are the box names of a field as the release spells them, slips included: its input, or
for ``radio`` and ``choice`` its options.
"""

import json
import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from itertools import pairwise, repeat
from pathlib import Path
from typing import Any, NamedTuple

from rapidfuzz import fuzz, process

from formlab import files, tables
from formlab.benchmarks.corpus import Part, Row, SplitReader, counts_of, image_columns
from formlab.errors import DataBroken
from formlab.text import as_text, checked
from formlab.trees import escape

_HERE = Path(__file__).parent
_MARK = re.compile(r"^[ \t*#]*(\d{1,4})([.)])", re.MULTILINE)
_LINE = re.compile(r"\[([^\]]*)\]\[(.+)\]\[(\d{1,7}),(\d{1,7}),(\d{1,7}),(\d{1,7})\]")
_NUMBER, _NOT_WORD = re.compile(r"\d+"), re.compile(r"[\W_]+")
# From here on an option's label and a value are one text but for a slip of the pen.
_SLIP = 85


class FormField(NamedTuple):
    """One field of a form: its label in the gold, its kind, the names of its boxes."""

    label: str
    kind: str
    elements: tuple[str, ...]


class WebForm(NamedTuple):
    """One form: `code` as in ``labeled-images``, `file` as in ``data1`` and ``data2``."""

    code: str
    file: str
    name: str
    domain: str
    fields: dict[str, FormField]


class Box(NamedTuple):
    """One labelled element: its name, and its page (from 1) with its pixels."""

    name: str
    row: list[int]


@cache
def forms(root: Path | None = None) -> dict[str, WebForm]:
    """All forms by code, in the order of the codes.

    Where the folder `root` of files has a ``fields.csv`` of its own, in the columns of ours, its
    forms ask for those fields; else for the released ones.

    >>> form = forms()["A12"]
    >>> form.file, form.fields["Gender"]
    ('grant_applications', FormField(label='Gender', kind='radio', elements=('Male', 'Female')))
    """
    found = (folder / "fields.csv" for folder in (root, _HERE) if folder)
    file, fields = next(filter(Path.is_file, found)), dict[str, dict[str, FormField]]()
    for code, label, kind, elements in _rows(file, "code,label,kind,elements"):
        names = tuple(filter(None, elements.split("|")))
        fields.setdefault(code, {})[label] = FormField(label, kind, names)
    rows = _rows(_HERE / "forms.csv", "code,file,name,domain")
    return {row[0]: WebForm(*row, fields.get(row[0], {})) for row in rows}


def _rows(file: Path, columns: str) -> Iterator[list[str]]:
    rows = files.csv_rows(file, files.read_text(file)) or [(1, [])]
    for line, row in rows:
        if ",".join(header := rows[0][1]) != columns or len(row) != len(header):
            raise DataBroken("a table of other columns", where=f"{file}:{line}", remedy=columns)
    return (row for _, row in rows[1:])


def reader(split: str, root: Path) -> SplitReader:
    """One document per instance of a form, one record (task `click`) per field value.

    `value` is a text as it stands and anything else as JSON; for the rest see `gold_row`. `meta` of
    a document has the form's `images` and its `elements` ``[page, x0, y0, x1, y1, path]``.
    """
    remedy = "a folder that holds data1, data2 and labeled-images"
    folder = files.folder(root / "data1", remedy=remedy)

    def files_of(form: WebForm) -> list[Path]:
        boxes = [image.with_suffix(".txt") for image in _screenshots(root, form, Counter())]
        return [folder / f"{form.file}.json", root / "data2" / f"{form.file}.txt", *boxes]

    def read(form: WebForm, flaws: Counter[str]) -> Iterator[Part]:
        images, page, boxes = _screens(root, form, flaws)
        elements = [[*box.row, pointer(name)] for name, found in boxes.items() for box in found]
        shown = [image.relative_to(root).as_posix() for image in images]
        page |= {"template": form.code, "domain": form.domain}
        file, text, *_ = files_of(form)
        gold = instances(file)
        values = [list(map(as_text, instance.values())) for instance in gold]
        flaws["forms without texts"] += not (is_there := files.is_file(text))
        texts = split_texts(files.read_text(text), values, flaws) if is_there else repeat(None)
        for number, (instance, context) in enumerate(zip(gold, texts, strict=False), start=1):
            origin, rows = f"{file.name}#/{number - 1}", []
            strange = [label for label in instance if label not in form.fields]
            flaws["instances with labels that the form does not have"] += bool(strange)
            flaws["values under a label that the form does not have"] += len(strange)
            for label, value in instance.items():
                kind = "number" if isinstance(value, int | float) else "string"
                kind = "checkbox" if isinstance(value, bool) else kind
                places = boxes.get(label, [])
                field = form.fields.get(label, FormField(label, kind, ()))
                row, items = gold_row(field, value, places)
                flaws["values whose field has no box"] += not places
                no_option = bool(places and items and row["page"] is None)
                flaws["values whose option has no box"] += no_option
                rows.append(row | {"origin": f"{origin}{pointer(label)}"})
            meta = {"form": form.name, "file": form.file, "instance": number}
            meta |= {"images": shown, "elements": elements}
            document = {"doc_id": doc_id(form, number), "context": context}
            yield document | {"meta": json.dumps(meta)} | page | counts_of(rows), rows

    every = list(forms(root).values())
    # A file that is there and none to be read is left out with its reason.
    units = [form for form in every if os.path.lexists(files_of(form)[0])]
    flaws = Counter({"forms without a gold file": len(every) - len(units)})
    how: Row = {"empty": "gold files in data1", "files_of": files_of}
    return SplitReader("formfactory", split, root, units, read, flaws=flaws, **how)


def doc_id(form: WebForm, number: int) -> str:
    """The id of an instance, counted from 1, such as ``A11-03``."""
    return f"{form.code}-{number:02d}"


def instances(file: Path) -> list[Row]:
    """The values of each instance in a file of ``data1``, by their labels."""
    return files.read_json(file, list[dict[str, Any]], remedy='[{"Label": "value"}]')


def pointer(label: str) -> str:
    """The path of a field: of Title/Position, ``/Title~1Position``."""
    return f"/{escape(label)}"


def gold_row(field: FormField, value: Any, boxes: Sequence[Box]) -> tuple[Row, list[Row]]:
    """The record of a field, with the ways to type its value in `accepted`, and its items.

    Items, also in `meta`, are the values to enter one by one, each with its `targets` ``[page, x0,
    y0, x1, y1]``; a field to leave empty has none. Page (from 1) and box are the first target's.

    >>> gold_row(FormField("Age", "number", ("Age",)), 40, [Box("Age", [1, 10, 10, 90, 30])])[1]
    [{'value': '40', 'targets': [[1, 10, 10, 90, 30]]}]
    """
    chosen = value if field.kind == "choice" and isinstance(value, list) else [value]
    # How else a value that is no text may be typed or said.
    accepted = [_typed(value)] if isinstance(value, list) else None
    if isinstance(value, float) and value.is_integer():
        accepted = [str(int(value))]
    # A box not to tick, and a file not to upload: the right thing to do is nothing.
    empty = (None, "", "None") if field.kind == "file" else (None,)
    if field.kind == "checkbox":
        ticked = checked(as_text(value))
        accepted = ["No", "false", "unchecked"]
        accepted = ["Yes", "true", "checked", field.label] if ticked else accepted
        chosen = [] if ticked is False else chosen
    chosen = [] if value in empty else chosen
    items = [
        {"value": entry, "targets": [box.row for box in _targets(field, list(boxes), entry)]}
        for entry in map(_typed, chosen)
    ]
    places = [target for item in items for target in item["targets"]]
    page, *box = places[0] if places else [None]
    row = {"task": "click", "path": pointer(field.label), "kind": field.kind, "page": page}
    row |= {"value": as_text(value), "accepted": accepted}
    row |= {"meta": json.dumps({"items": items}, ensure_ascii=False)}
    return row | dict(zip(tables.BOX, map(float, box), strict=False)), items


def items_of(metas: Iterable[str | None]) -> list[list[Row]]:
    """The `items` of records, as `gold_row` makes them, from the `meta` of each."""
    # One JSON of all of them is read faster than each by itself.
    metas_read = json.loads(f"[{','.join(meta or '{}' for meta in metas)}]")
    return [meta.get("items", []) for meta in metas_read]


def _typed(value: Any) -> str:
    """A list in one field is typed with commas."""
    return ", ".join(map(as_text, value)) if isinstance(value, list) else as_text(value)


def split_texts(
    text: str, values: Sequence[Sequence[str]], flaws: Counter[str]
) -> list[str | None]:
    """The text of each instance, of a file of all; None for one whose number is not found.

    A file numbers all its instances in one style, ``1.`` or ``1)``, that of its first number; a
    numbered list within a text may use the same. Where a number stands several times, the place is
    taken whose text holds most of the instance's values, the first of equals.

    >>> split_texts("1) Ada, 7\\n1. tea\\n2) Bo, 8", [["Ada"], ["Bo"]], Counter())
    ['Ada, 7\\n1. tea', 'Bo, 8']
    """
    marks = list(_MARK.finditer(text))
    style = next((mark[2] for mark in marks if int(mark[1]) == 1), None)
    marks = [mark for mark in marks if mark[2] == style]
    ends = {mark: after.start() for mark, after in pairwise(marks)}

    def held(passage: str, answers: Sequence[str]) -> int:
        folded = passage.casefold()
        return sum(bool(value.strip()) and value.casefold() in folded for value in answers)

    chosen: list[re.Match[str] | None] = []
    last = -1
    for number, answers in enumerate(values, start=1):
        places = [mark for mark in marks if int(mark[1]) == number and mark.start() > last]
        counts = [held(text[mark.end() : ends.get(mark)], answers) for mark in places]
        chosen.append(places[counts.index(max(counts))] if places else None)
        last = chosen[-1].start() if chosen[-1] else last
    ends = {mark: after.start() for mark, after in pairwise(filter(None, chosen))}
    texts = [text[mark.end() : ends.get(mark)].strip() if mark else None for mark in chosen]
    flaws["instances without a text"] += texts.count(None)
    pairs = zip(texts, values, strict=True)
    strange = sum(found is not None and not held(found, answers) for found, answers in pairs)
    flaws["texts that hold none of their values"] += strange
    others = {int(mark[1]) for mark in marks} - set(range(1, len(values) + 1))
    flaws["numbered texts without an instance"] += len(others)
    return texts


def _screenshots(root: Path, form: WebForm, flaws: Counter[str]) -> list[Path]:
    """The screenshots of a form in order; other files that begin with its code are counted."""
    folder = root / "labeled-images" / form.code[0]
    stems = {file.stem for kind in ("txt", "png") for file in folder.glob(f"{form.code}*.{kind}")}
    names = [name for name in stems if re.fullmatch(rf"{form.code}(_\d+)?", name)]
    names.sort(key=lambda name: (int(name.rpartition("_")[2]) if "_" in name else 0, name))
    flaws["screenshots of another name than a form's"] += len(stems) - len(names)
    return [folder / f"{name}.png" for name in names]


def _screens(
    root: Path, form: WebForm, flaws: Counter[str]
) -> tuple[list[Path], Row, dict[str, list[Box]]]:
    """The screenshots of a form, the columns of the first, and the boxes of each field by label.

    These are its inputs, and the options of a list when it is open: a screenshot of an open list
    names the input first and its options after it. A line that is no box is counted.
    """
    images, pages = _screenshots(root, form, flaws), []
    shots = [image_columns(root, image, flaws) for image in images]
    for page, (image, shot) in enumerate(zip(images, shots, strict=True), start=1):
        is_there = files.is_file(labels := image.with_suffix(".txt"))
        flaws["screenshots without a box file"] += not is_there
        pages.append(list(_boxes(labels, page, shot, flaws)) if is_there else [])
    flaws["forms without a screenshot"] += not images
    inputs, owners = {name for item in form.fields.values() for name in item.elements}, {}
    for label, item in form.fields.items():
        owners[label] = [box for boxes in pages for box in boxes if box.name in item.elements]
        for first, *others in filter(None, pages if item.kind == "dropdown" else ()):
            if first.name in item.elements:
                owners[label] += [box for box in others if box.name not in inputs]
    return images, next(iter(shots), {}), owners


def _boxes(file: Path, page: int, shot: Row, flaws: Counter[str]) -> Iterator[Box]:
    for number, line in enumerate(files.read_text(file).split("\n"), start=1):
        if match := _LINE.fullmatch(line.strip()):
            x0, y0, x1, y1 = map(int, match.groups()[2:])
            flaws["boxes named for another screenshot"] += match[1] != file.stem
            flaws["boxes without area"] += not (x1 > x0 and y1 > y0)
            is_beyond = "width" in shot and (x1 > shot["width"] or y1 > shot["height"])
            flaws["boxes beyond their screenshot"] += is_beyond
            yield Box(match[2], [page, x0, y0, x1, y1])
        elif line.strip():
            flaws["malformed box lines"] += 1
            flaws[f"malformed box line {file.name}:{number}"] += 1


def _targets(item: FormField, boxes: list[Box], value: str) -> list[Box]:
    """Where a click is right that enters `value`: the input, or the option that is meant."""
    if item.kind not in ("dropdown", "radio", "choice"):
        return boxes
    option = _closest_option({box.name for box in boxes}, value)
    is_input = item.elements if item.kind == "dropdown" else ()
    return [box for box in boxes if box.name == option or box.name in is_input]


def _closest_option(options: set[str], value: str) -> str | None:
    """The option that a value names, slips of the pen aside; another number is another option.

    >>> _closest_option({"Fall 2024", "Part-time"}, "Part time")
    'Part-time'
    >>> _closest_option({"Fall 2024", "Part-time"}, "Fall 2025")
    """
    if value in options:
        return value
    alike = [o for o in sorted(options) if _NUMBER.findall(o) == _NUMBER.findall(value)]
    how = {"processor": lambda text: _NOT_WORD.sub("", text).casefold(), "score_cutoff": _SLIP}
    best = process.extractOne(value, alike, scorer=fuzz.ratio, **how)
    return best and best[0]
