"""Error cases to look at: the crop of the page, gold beside prediction, what differs and why."""

from __future__ import annotations

import dataclasses
import html
import math
from importlib import resources
from pathlib import Path
from typing import Any

import polars as pl

from formlab.charts import theme
from formlab.charts._output import clean
from formlab.errors import FormlabError
from formlab.gallery._crops import Crop, Crops, Source, finite
from formlab.gallery._diff import diff
from formlab.gallery.inline import document
from formlab.tables import LADDER

__all__ = ["Gallery", "assets", "errors"]

TEXT_LIMIT = 1_200
_BOXES = {
    "gold": ("x0", "y0", "x1", "y1"),
    "pred": ("pred_x0", "pred_y0", "pred_x1", "pred_y1"),
}
_WORDS = {"gold": "gold", "pred": "predicted"}
_PLAIN = (
    "benchmark", "split", "doc_id", "system", "task", "path", "kind", "outcome", "cause", "status",
)  # fmt: skip


@dataclasses.dataclass(frozen=True, eq=False)
class Gallery:
    """Cases with their crops; shows itself in JupyterLab and in reports.

    `cases` are plain mappings: the case's words, ``gold`` and ``pred`` (null where one side is
    absent), ``diff`` runs, ``ladder`` booleans, ``similarity``, ``boxes`` as fractions of the
    crop, ``image`` as a key of `images`, and ``why`` where there is no image. `images` maps keys
    to ``{src, width, height}``; `src` is a data URI. `total` counts the cases before any limit.
    """

    cases: list[dict[str, Any]]
    images: dict[str, dict[str, Any]]
    total: int

    def __len__(self) -> int:
        return len(self.cases)

    def __str__(self) -> str:
        return f"Gallery of {len(self.cases):,} of {self.total:,} cases"

    @property
    def payload(self) -> dict[str, Any]:
        """What ``gallery.js`` draws."""
        return {
            "cases": self.cases,
            "images": self.images,
            "total": self.total,
            "colours": {
                "system": theme.system_colours(sorted({case["system"] for case in self.cases})),
                "outcome": theme.OUTCOME_COLOURS,
                "cause": theme.CAUSE_COLOURS,
            },
        }

    def _repr_mimebundle_(self, **_: object) -> dict[str, Any]:
        if theme.in_report():
            return {theme.MIME.format("gallery"): self.payload, "text/plain": str(self)}
        # srcdoc in a sandbox without allow-same-origin: the frame cannot reach the notebook.
        frame = (
            f'<iframe sandbox="allow-scripts" title="{html.escape(str(self))}" '
            'style="width:100%;height:780px;border:1px solid #8884;border-radius:8px" '
            f'srcdoc="{html.escape(document(self.payload, assets()))}"></iframe>'
        )
        return {"text/html": frame, "text/plain": str(self)}


def assets() -> dict[str, str]:
    """The gallery's own files by name: ``gallery.js``, ``gallery.css`` and ``tokens.css``."""
    here = resources.files("formlab")
    places = {
        "gallery.js": "gallery/assets/gallery.js",
        "gallery.css": "gallery/assets/gallery.css",
        "tokens.css": "charts/assets/tokens.css",
    }
    return {name: here.joinpath(place).read_text("utf-8") for name, place in places.items()}


def errors(
    cases: pl.DataFrame,
    *,
    root: str | Path | None,
    documents: pl.DataFrame | None = None,
    limit: int | None = None,
    crop: bool = True,
) -> Gallery:
    """A gallery of `cases`, in their order; filter and sort the frame before to choose them.

    Parameters
    ----------
    cases
        A table of the schema ``cases``.
    root
        The folder that `documents.image` is relative to; None shows no images.
    documents
        A table of the schema ``documents``; without it no page image is known.
    limit
        At most so many cases are kept, the first ones.
    crop
        False shows the whole page with its boxes instead of the part around them.

    Examples
    --------
    >>> from formlab import tables
    >>> cases = tables.table("cases", [{"benchmark": "b", "split": "s", "doc_id": "1",
    ...     "system": "ocr", "task": "value", "outcome": "mismatch", "gold": "Co", "pred": "C0"}])
    >>> shown = errors(cases, root=None)
    >>> shown.cases[0]["diff"], shown.cases[0]["why"]
    ([('equal', 'C'), ('delete', 'o'), ('insert', '0')], 'no page image is known')
    """
    total = cases.height
    rows = list(cases.head(total if limit is None else limit).iter_rows(named=True))
    images = _images(documents)
    crops = Crops(Path(root) if root is not None else Path())
    shown: list[dict[str, Any]] = [{} for _ in rows]
    # Page by page, so that each page is decoded once; the order shown stays the caller's.
    for i in sorted(range(len(rows)), key=lambda i: (_document(rows[i]), _page(rows[i]))):
        image = images.get(_document(rows[i])) if root is not None else None
        shown[i] = _case(rows[i], image, crops, whole=not crop)
    return Gallery(shown, crops.images, total)


def _document(row: dict[str, Any]) -> tuple[str, str, str]:
    return str(row["benchmark"]), str(row["split"]), str(row["doc_id"])


def _images(documents: pl.DataFrame | None) -> dict[tuple[str, str, str], Source]:
    if documents is None:
        return {}
    return {
        _document(row): Source(row["image"], width=row["width"])
        for row in documents.iter_rows(named=True)
        if row["image"] is not None
    }


def _page(row: dict[str, Any]) -> int:
    """The page to show: that of the gold box, else of the predicted one."""
    places = {side: finite([row[name] for name in names]) for side, names in _BOXES.items()}
    first = "pred" if places["gold"] is None and places["pred"] is not None else "gold"
    return _pages(row)[first]


def _pages(row: dict[str, Any]) -> dict[str, int]:
    gold, pred = row["page"], row["pred_page"]
    return {"gold": gold or pred or 1, "pred": pred or gold or 1}


def _case(
    row: dict[str, Any], image: Source | None, crops: Crops, *, whole: bool
) -> dict[str, Any]:
    gold, pred = (
        None if row[side] is None else clean(row[side], limit=TEXT_LIMIT)
        for side in ("gold", "pred")
    )
    similarity = row["similarity"]
    known = similarity is not None and math.isfinite(similarity)
    case = {
        **{name: None if row[name] is None else clean(row[name], limit=300) for name in _PLAIN},
        "gold": gold,
        "pred": pred,
        "diff": diff(gold, pred),
        "ladder": [row[rung] for rung in LADDER],
        "similarity": round(similarity, 4) if known else None,
    }
    if image is None:
        return case | {"image": None, "boxes": {}, "why": "no page image is known"}
    return case | _picture(row, image._replace(page=_page(row)), crops, whole=whole)


def _picture(row: dict[str, Any], page: Source, crops: Crops, *, whole: bool) -> dict[str, Any]:
    boxes = {
        side: box
        for side, names in _BOXES.items()
        if (box := finite([row[name] for name in names])) is not None
    }
    away = {side: number for side in boxes if (number := _pages(row)[side]) != page.page}
    here = {side: box for side, box in boxes.items() if side not in away}
    try:
        cut = crops.crop(page, list(here.values()), whole=whole)
    except FormlabError as error:
        why = f"{error.what}: {clean(page.image, limit=200)}"
        return {"image": None, "boxes": {}, "why": why}
    placed = _placed(cut, here)
    said = [f"the {_WORDS[side]} box is on page {number}" for side, number in away.items()]
    why = "; ".join([*said, *([placed["why"]] if placed["why"] else [])]) or None
    return {"image": cut.key, "boxes": placed["boxes"], "why": why}


def _placed(cut: Crop, boxes: dict[str, tuple[float, float, float, float]]) -> dict[str, Any]:
    placed = {side: cut.place(box) for side, box in boxes.items()}
    outside = [side for side, place in placed.items() if place is None]
    return {
        "boxes": {side: place for side, place in placed.items() if place is not None},
        "why": f"the {' and '.join(_WORDS[side] for side in outside)} box lies off the page"
        if outside
        else None,
    }
