"""The pictures of cases: the page each is on, kept whole or cut, and where its boxes stand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from formlab import tables
from formlab.charts._output import clean
from formlab.errors import FormlabError
from formlab.gallery._crops import PAGE_PIXELS, Box, Crops, PageSource, area, cut_pixels, finite

Row = Mapping[str, Any]
# 2,000 cases are to fit in 25 MB. WebP takes 0.02 to 0.09 bytes a pixel of a form, the most for a
# noisy scan, and base64 a third more: this allows some 18 MB of pages and leaves room for words.
PIXELS, CASES = 150_000_000, 2_000
# Of more pages than that allows, four shades of grey take a third of the bytes and read as well.
COLOURED, GREY = 400_000_000, 1_000_000_000
# Below this a page of small print cannot be read, and cuts show more for the same bytes.
LEGIBLE = 500_000


Document = tuple[str, str, str]
# Of a page the boxes of the gold, and those of each system; and the same as fractions of its image.
Boxes = dict[str, list[Box]]
Fractions = dict[str, list[list[float]]]


class PageBox(NamedTuple):
    """The box of one side of a case, on one page of its document."""

    page: int
    box: Box


def page_boxes(row: Row, beside: Sequence[Row]) -> dict[str, PageBox]:
    """The boxes of a case: ``gold``, ``pred``, and ``pred2`` onwards of further predictions."""
    sides = {"gold": (row, "", row["page"] or row["pred_page"])}
    for number, answer in enumerate([row, *beside], start=1):
        name = "pred" if number == 1 else f"pred{number}"
        sides[name] = (answer, "pred_", answer["pred_page"] or row["page"])
    return {
        name: PageBox(page or 1, box)
        for name, (answer, prefix, page) in sides.items()
        if (box := finite([answer[f"{prefix}{end}"] for end in ("x0", "y0", "x1", "y1")]))
    }


def pictures(
    rows: Sequence[Row], beside: Sequence[Sequence[Row]],
    images: Mapping[Document, PageSource], everything: Mapping[tuple[Document, int], Boxes], *,
    crop: bool,
) -> tuple[list[dict[str, Any]], dict[str, dict[str, object]], dict[int, Fractions]]:  # fmt: skip
    """The picture of each row, the images by key, and all boxes of the pages that are kept whole.

    A picture has ``image`` (a key, or None), ``view``, the part of it to show first, ``boxes``,
    both as fractions of the image, ``why`` if something cannot be shown, and ``sheet``, a number
    that the cases of one page share; the boxes of pages, of `everything`, are by that number.
    """
    placed = [page_boxes(row, others) for row, others in zip(rows, beside, strict=True)]
    sheets: dict[tuple[Document, int], list[int]] = {}
    for i, (row, boxes) in enumerate(zip(rows, placed, strict=True)):
        # The page of the gold box, else of the first predicted one.
        first = next(iter(boxes.values()), None)
        page = first.page if first else row["page"] or row["pred_page"] or 1
        sheets.setdefault((document_key(row), page), []).append(i)
    count = sum(document in images for document, _ in sheets)
    fair = min(PIXELS * max(len(rows), CASES) // CASES, COLOURED) // max(count, 1)
    grey = fair < LEGIBLE
    fair = GREY // max(count, 1) if grey else fair
    crops = Crops(Path(), pixels=max(1, min(PAGE_PIXELS, fair)), grey=grey)
    pages: dict[int, Fractions] = {}
    shown: list[dict[str, Any]] = [{}] * len(rows)
    for number, ((document, page), members) in enumerate(sheets.items()):
        drawn = [_none("no page image is known")] * len(members)
        if document in images:
            source = images[document]._replace(page=page)
            drawn = _sheet(source, [placed[i] for i in members], crops, crop=crop)
            pages[number] = _all_boxes(drawn, source, crops, everything.get((document, page), {}))
        for i, picture in zip(members, drawn, strict=True):
            why = picture["why"] or _why(placed[i], picture["boxes"], page, beside[i])
            shown[i] = picture | {"sheet": number, "why": why}
    return shown, crops.images, {number: boxes for number, boxes in pages.items() if boxes}


def boxes_of_pages(
    cases: Sequence[pl.DataFrame], documents: pl.DataFrame
) -> dict[tuple[Document, int], Boxes]:
    """All boxes of the fields of these documents, right or wrong, by page."""
    keys = documents.select("benchmark", "split", "doc_id").unique()
    placed: dict[tuple[Document, int], dict[str, dict[Box, None]]] = {}
    for table in cases:
        fields = table.filter(~pl.col("level").is_in(tables.WHOLE_LEVELS))
        fields = fields.join(keys, on=keys.columns, how="semi", maintain_order="left")
        for row in fields.iter_rows(named=True):
            for side, at in page_boxes(row, ()).items():
                name = "gold" if side == "gold" else f"pred:{row['system']}"
                page = placed.setdefault((document_key(row), at.page), {})
                page.setdefault(name, {})[at.box] = None
    return {at: {n: list(boxes) for n, boxes in page.items()} for at, page in placed.items()}


def _all_boxes(
    drawn: Sequence[Mapping[str, Any]], page: PageSource, crops: Crops, boxes: Boxes
) -> Fractions:
    """The boxes of a page as fractions of its image, if that shows the whole page."""
    if len({picture["image"] for picture in drawn}) > 1 or drawn[0]["image"] is None:
        return {}
    cut = crops.crop(page, [], whole=True, pixels=max(crops.pixels, LEGIBLE))
    if cut.key != drawn[0]["image"]:
        return {}
    placed = {name: [cut.fractions(box) for box in here] for name, here in boxes.items()}
    return {n: [[round(f, 4) for f in box] for box in here if box] for n, here in placed.items()}


def document_key(row: Row) -> Document:
    """The key of a row's document."""
    return str(row["benchmark"]), str(row["split"]), str(row["doc_id"])


def _none(why: str) -> dict[str, Any]:
    return {"image": None, "view": None, "boxes": {}, "why": why}


def _sheet(
    page: PageSource, members: Sequence[Mapping[str, PageBox]], crops: Crops, *, crop: bool
) -> list[dict[str, Any]]:
    """The pictures of the cases of one page, which is decoded once."""
    try:
        size = crops.size(page)
    except FormlabError as error:
        return [_none(f"{error.what}: {clean(page.image, limit=200)}")] * len(members)
    here = [{n: b.box for n, b in boxes.items() if b.page == page.page} for boxes in members]
    views = [area(list(boxes.values()) if crop else [], size) for boxes in here]
    # Where there is room a page is kept whole: it shows a field's surroundings, and all its cases
    # share one image. Else it is if its cuts would take more.
    most = max(crops.pixels, LEGIBLE)
    whole = most == crops.pixels or sum(map(cut_pixels, set(views))) >= min(most, size[0] * size[1])
    drawn = []
    for boxes, (left, top, width, height) in zip(here, views, strict=True):
        pixels = most if whole else crops.pixels
        cut = crops.crop(page, list(boxes.values()), whole=whole or not crop, pixels=pixels)
        fractions = {name: cut.fractions(box) for name, box in boxes.items()}
        drawn.append({
            "image": cut.key, "why": None,
            "view": cut.fractions((left, top, left + width, top + height)),
            "boxes": {name: box for name, box in fractions.items() if box is not None},
        })  # fmt: skip
    return drawn


def _why(
    boxes: Mapping[str, PageBox], shown: Mapping[str, Any], page: int, beside: Sequence[Row]
) -> str | None:
    """What the picture does not show of the boxes."""
    names = {"gold": "gold", "pred": "predicted"}
    names |= {f"pred{i}": clean(other["system"], limit=80) for i, other in enumerate(beside, 2)}
    away = [f"the {names[n]} box is on page {b.page}" for n, b in boxes.items() if b.page != page]
    outside = [names[n] for n, box in boxes.items() if box.page == page and n not in shown]
    lost = [f"the {' and '.join(outside)} box lies off the page"] if outside else []
    return "; ".join([*away, *lost]) or None
