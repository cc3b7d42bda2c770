"""The 25 forms, and the boxes on their labelled screenshots.

The release gives neither the kinds of fields nor which box is whose. ``fields.csv`` has both,
inferred from labels, names and heights of boxes and gold values: a tall box is a description. Its
`elements` are the box names of a field as the release spells them, slips included: its input, or
for ``radio`` and ``choice`` its options.

Screenshots are ``labeled-images/<A-H>/<code>[_<n>].{png,txt}``. A line of a box file is ``[A11]
[Applicant Name][331,548,2548,622]``, in one piece and in pixels of the screenshot.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

from rapidfuzz import fuzz

from formlab import files
from formlab.benchmarks.corpus import image_columns
from formlab.errors import DataBroken

_HERE = Path(__file__).parent
_LINE = re.compile(r"\[([^\]]*)\]\[(.+)\]\[(\d{1,7}),(\d{1,7}),(\d{1,7}),(\d{1,7})\]")
_NUMBER = re.compile(r"\d+")
_NOT_WORD = re.compile(r"[\W_]+")
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
    """One labelled element: the name it has, the page (from 1) and its pixels."""

    name: str
    page: int
    pixels: tuple[int, int, int, int]

    @property
    def row(self) -> list[int]:
        """Page and pixels in one list."""
        return [self.page, *self.pixels]


class Screens(NamedTuple):
    """The screenshots of a form in order, the first one's size, and the boxes of each field."""

    images: list[str]
    size: tuple[int, int] | None
    boxes: dict[str, list[Box]]


@cache
def forms(root: Path | None = None) -> dict[str, WebForm]:
    """All forms by code, in the order of the codes.

    Where the folder `root` of files has a ``fields.csv`` of its own, in the columns of ours, its
    forms ask for those fields; else for the released ones.

    >>> form = forms()["A12"]
    >>> form.file, form.fields["Gender"]
    ('grant_applications', FormField(label='Gender', kind='radio', elements=('Male', 'Female')))
    """
    own = root / "fields.csv" if root else None
    fields: dict[str, dict[str, FormField]] = {}
    file = own if own and own.is_file() else _HERE / "fields.csv"
    for code, label, kind, elements in _rows(file, ["code", "label", "kind", "elements"]):
        names = tuple(filter(None, elements.split("|")))
        fields.setdefault(code, {})[label] = FormField(label, kind, names)
    rows = _rows(_HERE / "forms.csv", ["code", "file", "name", "domain"])
    return {row[0]: WebForm(*row, fields.get(row[0], {})) for row in rows}


def _rows(file: Path, columns: list[str]) -> Iterator[list[str]]:
    rows = files.csv_rows(file, files.read_text(file)) or [(1, [])]
    for line, row in rows:
        if rows[0][1] != columns or len(row) != len(columns):
            remedy = ",".join(columns)
            raise DataBroken("a table of other columns", where=f"{file}:{line}", remedy=remedy)
    return (row for _, row in rows[1:])


def screenshots(root: Path, form: WebForm, flaws: Counter[str]) -> list[Path]:
    """The screenshots of a form in order; other files that begin with its code are counted."""
    folder = root / "labeled-images" / form.code[0]
    stems = {file.stem for kind in ("txt", "png") for file in folder.glob(f"{form.code}*.{kind}")}
    names = [name for name in stems if re.fullmatch(rf"{form.code}(_\d+)?", name)]
    names.sort(key=lambda name: (int(name.rpartition("_")[2]) if "_" in name else 0, name))
    flaws["screenshots of another name than a form's"] += len(stems) - len(names)
    return [folder / f"{name}.png" for name in names]


def read_screens(root: Path, form: WebForm, flaws: Counter[str]) -> Screens:
    """The screenshots and boxes of `form`; a line that is no box is counted in `flaws`."""
    images, sizes, boxes = screenshots(root, form, flaws), [], []
    for page, image in enumerate(images, start=1):
        columns, labels = image_columns(root, image, flaws), image.with_suffix(".txt")
        size = (columns["width"], columns["height"]) if "width" in columns else None
        sizes += [size] if size else []
        if files.is_file(labels):
            boxes += _boxes(labels, page, size, flaws)
        else:
            flaws["screenshots without a box file"] += 1
    flaws["forms without a screenshot"] += not images
    names = [image.relative_to(root).as_posix() for image in images]
    return Screens(names, sizes[0] if sizes else None, _owned(form, boxes))


def _boxes(
    file: Path, page: int, size: tuple[int, int] | None, flaws: Counter[str]
) -> Iterator[Box]:
    for number, line in enumerate(files.read_text(file).split("\n"), start=1):
        if match := _LINE.fullmatch(line.strip()):
            x0, y0, x1, y1 = map(int, match.groups()[2:])
            flaws["boxes named for another screenshot"] += match[1] != file.stem
            flaws["boxes without area"] += not (x1 > x0 and y1 > y0)
            flaws["boxes beyond their screenshot"] += bool(size and (x1 > size[0] or y1 > size[1]))
            yield Box(match[2], page, (x0, y0, x1, y1))
        elif line.strip():
            flaws["malformed box lines"] += 1
            flaws[f"malformed box line {file.name}:{number}"] += 1


def _owned(form: WebForm, boxes: list[Box]) -> dict[str, list[Box]]:
    """The boxes of each field, by label: its inputs, and the options of a list when it is open.

    A screenshot of an open list names the input first and its options after it.
    """
    inputs = {name for item in form.fields.values() for name in item.elements}
    owners: dict[str, list[Box]] = {}
    for label, item in form.fields.items():
        owners[label] = [box for box in boxes if box.name in item.elements]
        pages = {box.page for box in owners[label]} if item.kind == "dropdown" else ()
        for page in pages:
            first, *others = [box for box in boxes if box.page == page]
            if first.name in item.elements:
                owners[label] += [box for box in others if box.name not in inputs]
    return owners


def targets(item: FormField, boxes: list[Box], value: str) -> list[Box]:
    """Where a click is right that enters `value`: the input, or the option that is meant."""
    if item.kind not in ("dropdown", "radio", "choice"):
        return boxes
    option = closest_option({box.name for box in boxes}, value)
    is_input = item.elements if item.kind == "dropdown" else ()
    return [box for box in boxes if box.name == option or box.name in is_input]


def closest_option(options: set[str], value: str) -> str | None:
    """The option that a value names, slips of the pen aside; another number is another option.

    >>> closest_option({"Fall 2024", "Part-time"}, "Part time")
    'Part-time'
    >>> closest_option({"Fall 2024", "Part-time"}, "Fall 2025")
    """

    def likeness(option: str) -> float:
        if _NUMBER.findall(option) != _NUMBER.findall(value):
            return 0.0
        return fuzz.ratio(*(_NOT_WORD.sub("", text).casefold() for text in (option, value)))

    if value in options:
        return value
    best = max(sorted(options), key=likeness, default=None)
    return best if best is not None and likeness(best) >= _SLIP else None
