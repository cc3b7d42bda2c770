"""Entities by key words and typed patterns, from the text of a PDF or from its OCR."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from formlab import files, pictures, resources
from formlab.benchmarks.meta import meta_of
from formlab.benchmarks.vrdu import Schema
from formlab.errors import DataBroken
from formlab.systems import ocr
from formlab.systems.pages import image_file
from formlab.systems.system import Reader, above_zero
from formlab.tables import BOX
from formlab_baselines.keywords import RULES, Run, entities

DEFAULTS = {"scale": 2.0, "pages": 5} | ocr.ENGINE
# A page with less text than this is a scan.
_LEAST_TEXT = 20


def start(settings: dict[str, Any], threads: int) -> Reader:
    """A reader of PDFs (and of page images) that gives the entities the document's schema names."""
    above_zero(settings, "scale")

    def read(document: dict[str, Any], root: Path | None) -> list[dict[str, Any]]:
        sheets = list(pages(image_file(document, root), settings, threads))
        runs = [run for sheet in sheets for run in sheet.runs]
        factor = zoom(sheets, document["width"])
        values = entities(runs, _names(document)).items()
        return [entity_row(f"/{name}", name, run, factor) for name, run in values]

    return read


def is_for(document: dict[str, Any]) -> bool:
    """Whether a document says which entities it wants, or is a PDF that does not type its fields.

    Examples
    --------
    >>> is_for({"image": "a.pdf", "meta": None}), is_for({"image": "a.png", "meta": "{}"})
    (True, False)
    >>> is_for({"image": "a.pdf", "meta": '{"types": {}}'})
    False
    """
    is_pdf = str(document["image"] or "").lower().endswith(".pdf")
    return (is_pdf and "types" not in meta_of(document)) or Schema.of_document(document) is not None


def _names(document: dict[str, Any]) -> list[str]:
    schema = Schema.of_document(document)
    names = [*schema.matches, *schema.unlabelled] if schema else list(RULES)
    return [name for name in names if name in RULES]


def entity_row(path: str, name: str, run: Run, factor: float | None) -> dict[str, Any]:
    """The record of an entity, whose box is that of the run times `factor`; without it none."""
    row = {"task": "entity", "path": path, "kind": name, "value": run.text, "page": run.page}
    return row | {side: value * factor for side, value in zip(BOX, run[2:], strict=True) if factor}


class PageRuns(NamedTuple):
    """The size of a page, in points or pixels, and its runs in reading order."""

    width: float
    height: float
    runs: list[Run]


def zoom(sheets: list[PageRuns], width: float | None) -> float:
    """The units of a document whose first page is so wide, to those of its sheets."""
    return width / sheets[0].width if sheets and width else 1.0


# Few documents are scans: the models are loaded at the first of them.
@cache
def _engine(settings: frozenset[tuple[str, Any]], threads: int) -> Any:
    resources.need("ocr")
    return ocr.Engine(dict(settings), threads=threads)


def pages(path: Path, settings: dict[str, Any], threads: int) -> Iterator[PageRuns]:
    """The pages of a PDF or an image; OCR reads those without a text."""

    def read(image: Any, number: int, scale: float) -> list[Run]:
        result = _engine(frozenset((name, settings[name]) for name in ocr.ENGINE), threads)(image)
        lines = zip(result.boxes, result.txts, strict=True) if result.txts else ()
        return [Run(text, number, *ocr.box_of(corners, scale)) for corners, text in lines]

    if files.read_bytes(path, 5) != b"%PDF-":
        image = pictures.read_image(path)
        yield PageRuns(image.width, image.height, read(image, 1, 1.0))
        return
    import pypdfium2

    try:
        document = pypdfium2.PdfDocument(path)
    except pypdfium2.PdfiumError as error:
        raise DataBroken(f"not a readable PDF: {error}", where=path) from error
    scale = settings["scale"]
    with document:
        for number in range(min(len(document), settings["pages"])):
            page = document[number]
            runs = _joined(list(_text_runs(page, number + 1)))
            if sum(len(run.text) for run in runs) < _LEAST_TEXT:
                runs = read(page.render(scale=scale).to_numpy(), number + 1, scale)
            runs.sort(key=lambda run: (round(run.y0), run.x0))
            yield PageRuns(*page.get_size(), runs)


def _text_runs(page: Any, number: int) -> Iterator[Run]:
    turned, (width, height) = page.get_rotation(), page.get_size()
    text = page.get_textpage()
    for index in range(text.count_rects()):
        left, bottom, right, top = text.get_rect(index)
        value = " ".join(text.get_text_bounded(left, bottom, right, top).split())
        if not value:
            continue
        # The text's own coordinates are those of the page before it was turned.
        corners = {
            0: (left, height - top, right, height - bottom),
            90: (bottom, left, top, right),
            180: (width - right, bottom, width - left, top),
            270: (width - top, height - right, width - bottom, height - left),
        }[turned]
        yield Run(value, number, *corners)


def _joined(runs: list[Run]) -> list[Run]:
    """Runs of one row that stand no further apart than words do, as one."""
    lines: list[Run] = []
    for run in sorted(runs, key=lambda run: (round(run.y1), run.x0)):
        last = lines[-1] if lines else None
        if last and abs(last.y1 - run.y1) < 2 and -1 < run.x0 - last.x1 < 0.4 * (last.y1 - last.y0):
            top, bottom = min(last.y0, run.y0), max(last.y1, run.y1)
            lines[-1] = Run(f"{last.text} {run.text}", run.page, last.x0, top, run.x1, bottom)
        else:
            lines.append(run)
    return lines
