"""The labelled screenshots: ``labeled-images/<A-H>/<code>[_<n>].{png,txt}``.

A line of a box file is ``[A11][Applicant Name][331,548,2548,622]``, in pixels of the screenshot.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from rapidfuzz import fuzz

from formlab import files
from formlab.benchmarks._build import image_columns
from formlab.benchmarks.formfactory._forms import FormField, WebForm

FOLDER = "labeled-images"
_LINE = re.compile(r"\[([^\]]*)\]\[(.+)\]\[(\d{1,7}),(\d{1,7}),(\d{1,7}),(\d{1,7})\]")
_NUMBER = re.compile(r"\d+")
_NOT_WORD = re.compile(r"[\W_]+")
# From here on an option's label and a value are one text but for a slip of the pen.
_SLIP = 85


@dataclass(frozen=True)
class Box:
    """One labelled element: the name it has, the page (from 1) and its pixels."""

    name: str
    page: int
    pixels: tuple[int, int, int, int]

    @property
    def row(self) -> list[int]:
        """Page and pixels in one list."""
        return [self.page, *self.pixels]


@dataclass(frozen=True)
class Screens:
    """The screenshots of one form in order, and the boxes on them."""

    images: list[str] = field(default_factory=list)
    size: tuple[int, int] | None = None
    boxes: list[Box] = field(default_factory=list)


def read_screens(
    root: Path, form: WebForm, flaws: Counter[str], sources: dict[str, str]
) -> Screens:
    """The screenshots and boxes of `form`; a line that is no box is counted in `flaws`."""
    folder = root / FOLDER / form.code[0]
    boxes: list[Box] = []
    every = {file.stem for kind in ("txt", "png") for file in folder.glob(f"{form.code}*.{kind}")}
    names = {name for name in every if re.fullmatch(rf"{form.code}(_\d+)?", name)}
    flaws["screenshots of another name than a form's"] += len(every - names)
    images, sizes = [], []
    for page, stem in enumerate(sorted(names, key=_order), start=1):
        image = folder / f"{stem}.png"
        images.append(image.relative_to(root).as_posix())
        shown = image_columns(root, image, flaws)
        size = (shown["width"], shown["height"]) if "width" in shown else None
        sizes.append(size)
        labels = folder / f"{stem}.txt"
        flaws["screenshots without a box file"] += not files.is_file(labels)
        if files.is_file(labels):
            sources[labels.relative_to(root).as_posix()] = files.sha256(labels)
            boxes += _boxes(labels, page, size, flaws)
    flaws["forms without a screenshot"] += not images
    return Screens(images, next((size for size in sizes if size), None), boxes)


def _order(stem: str) -> tuple[int, str]:
    return (int(stem.rpartition("_")[2]) if "_" in stem else 0, stem)


def _boxes(file: Path, page: int, size: tuple[int, int] | None, flaws: Counter[str]) -> list[Box]:
    boxes = []
    for number, line in enumerate(files.read_text(file).split("\n"), start=1):
        if not line.strip():
            continue
        match = _LINE.fullmatch(line.strip())
        if not match:
            flaws["malformed box lines"] += 1
            flaws[f"malformed box line {file.name}:{number}"] += 1
            continue
        x0, y0, x1, y1 = map(int, match.groups()[2:])
        flaws["boxes named for another screenshot"] += match[1] != file.stem
        flaws["boxes without area"] += not (x1 > x0 and y1 > y0)
        flaws["boxes beyond their screenshot"] += bool(size and (x1 > size[0] or y1 > size[1]))
        boxes.append(Box(match[2], page, (x0, y0, x1, y1)))
    return boxes


def owned(form: WebForm, screens: Screens) -> dict[str, list[Box]]:
    """The boxes of each field, by label: its inputs, and the options of a list when it is open.

    A screenshot of an open list names the input first and its options after it.
    """
    inputs = {name for item in form.fields.values() for name in item.elements}
    owners: dict[str, list[Box]] = {}
    for label, item in form.fields.items():
        owners[label] = [box for box in screens.boxes if box.name in item.elements]
        if item.kind != "dropdown":
            continue
        for page in {box.page for box in owners[label]}:
            listed = [box for box in screens.boxes if box.page == page]
            if listed[0].name in item.elements:
                owners[label] += [box for box in listed[1:] if box.name not in inputs]
    return owners


def targets(item: FormField, boxes: list[Box], value: str) -> list[Box]:
    """Where a click is right that enters `value`: the input, or the option that is meant."""
    if item.kind not in ("dropdown", "radio", "choice"):
        return boxes
    names = {box.name for box in boxes}
    option = value if value in names else _closest_option(names, value)
    chosen = [box for box in boxes if box.name == option]
    if item.kind == "dropdown":
        return [box for box in boxes if box.name in item.elements or box in chosen]
    return chosen


def _closest_option(options: set[str], value: str) -> str | None:
    def likeness(option: str) -> float:
        if _NUMBER.findall(option) != _NUMBER.findall(value):
            return 0.0
        return fuzz.ratio(*(_NOT_WORD.sub("", text).casefold() for text in (option, value)))

    best = max(sorted(options), key=likeness, default=None)
    return best if best is not None and likeness(best) >= _SLIP else None
