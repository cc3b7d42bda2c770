"""The pictures of cases: the page each is on, kept whole or cut, and where its boxes stand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from formlab.charts._output import clean
from formlab.errors import FormlabError
from formlab.gallery._crops import PAGE_PIXELS, Box, Crops, Source, area, cut_pixels, finite

Row = Mapping[str, Any]
# 2,000 cases are to fit in 25 MB. WebP takes 0.02 to 0.09 bytes a pixel of a form, the most for a
# noisy scan, and base64 a third more: this allows some 18 MB of pages and leaves room for words.
PIXELS, CASES = 150_000_000, 2_000
# Below this a page of small print cannot be read, and cuts show more for the same bytes.
LEGIBLE = 500_000


class Mark(NamedTuple):
    """The box of one side of a case, on one page of its document."""

    page: int
    box: Box


def marks(row: Row, beside: Sequence[Row]) -> dict[str, Mark]:
    """The boxes of a case: ``gold``, ``pred``, and ``pred2`` onwards of further predictions."""
    corners = ("x0", "y0", "x1", "y1")
    found = {"gold": (row, row["page"] or row["pred_page"], corners)}
    for place, other in enumerate([row, *beside]):
        name = "pred" if place == 0 else f"pred{place + 1}"
        page = other["pred_page"] or row["page"]
        found[name] = (other, page, tuple(f"pred_{corner}" for corner in corners))
    return {
        name: Mark(page or 1, box)
        for name, (source, page, names) in found.items()
        if (box := finite([source[corner] for corner in names])) is not None
    }


def pictures(
    rows: Sequence[Row],
    beside: Sequence[Sequence[Row]],
    images: Mapping[tuple[str, str, str], Source],
    root: Path | None,
    *,
    crop: bool,
) -> tuple[list[dict[str, Any]], dict[str, dict[str, object]]]:
    """The picture of each row, and the images by key.

    A picture has ``image`` (a key, or None), ``view``, the part of it to show first, ``boxes``,
    both as fractions of the image, ``why`` if something cannot be shown, and ``sheet``, a number
    that the cases of one page share.
    """
    placed = [marks(row, others) for row, others in zip(rows, beside, strict=True)]
    pages = [_page(row, boxes) for row, boxes in zip(rows, placed, strict=True)]
    sheets: dict[tuple[tuple[str, str, str], int], list[int]] = {}
    for i, row in enumerate(rows):
        sheets.setdefault((document_key(row), pages[i]), []).append(i)
    known = [key for key in sheets if root is not None and key[0] in images]
    fair = PIXELS * max(len(rows), CASES) // CASES // max(len(known), 1)
    crops = Crops(root or Path(), pixels=max(1, min(PAGE_PIXELS, fair)))
    out: list[dict[str, Any]] = [{}] * len(rows)
    for number, (key, members) in enumerate(sheets.items()):
        boxes = [placed[i] for i in members]
        if root is None or key[0] not in images:
            drawn = [_none("no page image is known")] * len(members)
        else:
            drawn = _sheet(images[key[0]]._replace(page=key[1]), boxes, crops, crop=crop)
        for i, picture in zip(members, drawn, strict=True):
            why = picture["why"] or _why(placed[i], picture, key[1], _names(beside[i]))
            out[i] = picture | {"sheet": number, "why": why}
    return out, crops.images


def document_key(row: Row) -> tuple[str, str, str]:
    """The key of a row's document."""
    return str(row["benchmark"]), str(row["split"]), str(row["doc_id"])


def _page(row: Row, boxes: Mapping[str, Mark]) -> int:
    """The page to show: that of the gold box, else of the first predicted one."""
    first = next(iter(boxes.values()), None)
    return first.page if first else row["page"] or row["pred_page"] or 1


def _none(why: str) -> dict[str, Any]:
    return {"image": None, "view": None, "boxes": {}, "why": why}


def _names(beside: Sequence[Row]) -> dict[str, str]:
    further = {f"pred{i}": clean(other["system"], limit=80) for i, other in enumerate(beside, 2)}
    return {"gold": "gold", "pred": "predicted", **further}


def _sheet(
    page: Source, members: Sequence[Mapping[str, Mark]], crops: Crops, *, crop: bool
) -> list[dict[str, Any]]:
    """The pictures of the cases of one page, which is decoded once."""
    here = [
        {name: mark.box for name, mark in boxes.items() if mark.page == page.page}
        for boxes in members
    ]
    try:
        size = crops.size(page)
    except FormlabError as error:
        return [_none(f"{error.what}: {clean(page.image, limit=200)}")] * len(members)
    views = [area(list(boxes.values()) if crop else [], size) for boxes in here]
    # Where there is room a page is kept whole: it shows a field's surroundings, and all its cases
    # share one image. Else it is if its cuts would take more.
    most = max(crops.pixels, LEGIBLE)
    whole = most == crops.pixels or sum(map(cut_pixels, set(views))) >= min(most, size[0] * size[1])
    drawn = []
    for boxes, view in zip(here, views, strict=True):
        pixels = most if whole else crops.pixels
        cut = crops.crop(page, list(boxes.values()), whole=whole or not crop, pixels=pixels)
        left, top, width, height = view
        places = {name: cut.place(box) for name, box in boxes.items()}
        drawn.append({
            "image": cut.key, "why": None,
            "view": cut.place((left, top, left + width, top + height)),
            "boxes": {name: place for name, place in places.items() if place is not None},
        })  # fmt: skip
    return drawn


def _why(
    boxes: Mapping[str, Mark], picture: Mapping[str, Any], page: int, names: Mapping[str, str]
) -> str | None:
    """What the picture does not show of the boxes."""
    away = [f"the {names[n]} box is on page {m.page}" for n, m in boxes.items() if m.page != page]
    here = [name for name, mark in boxes.items() if mark.page == page]
    outside = [names[name] for name in here if name not in picture["boxes"]]
    lost = [f"the {' and '.join(outside)} box lies off the page"] if outside else []
    return "; ".join([*away, *lost]) or None
