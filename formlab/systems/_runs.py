"""Shared by all runs: the documents that a limit leaves, and the run's head."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl
from PIL import Image

from formlab import files, pictures
from formlab.benchmarks.meta import page_images
from formlab.errors import DataBroken, DataMissing
from formlab.folders import Corpus

SKIPPED = "documents without an image, passed over by --documents N"
HEAD, PREDICTIONS = "run.json", "predictions"
HEADLESS = "delete this file and give formlab run the settings of before: what is finished stays"
# Pixels to a point of a PDF: print of 8 points is read well.
SHARP = 2.0
# Raised when a page is drawn in another way, so that no reading of the old picture is taken.
DRAWING = 1


def first(
    corpus: Corpus, limit: int | None, *, images: bool = True, texts: bool = False
) -> tuple[pl.DataFrame, int]:
    """The first `limit` documents (all if None), and how many without an image were passed over.

    Only a system that reads `images` passes over documents; `DataMissing` if none has one. With
    `texts`, a document without an image may have a text of its own instead.
    """
    if limit is None:
        return corpus.documents, 0
    if not images:
        return corpus.documents.head(limit), 0
    rows: list[int] = []
    for row, (image, text) in enumerate(corpus.documents.select("image", "context").iter_rows()):
        if len(rows) == limit:
            break
        if image is None:
            has_page = texts and bool(text)
        else:
            has_page = corpus.root is not None and (corpus.root / image).is_file()
        if has_page:
            rows.append(row)
    if not rows:
        what = f"no document of {corpus.benchmark}:{corpus.split} has an image to read"
        raise DataMissing(what, where=corpus.root, remedy="--root with the benchmark's images")
    return corpus.documents[rows], rows[-1] + 1 - len(rows)


def image_file(document: dict[str, Any], root: Path | None) -> Path:
    """The image of a document; `DataMissing` if it has none."""
    if document["image"] is None or root is None:
        raise DataMissing("this document has no image", where=document["doc_id"])
    return root / document["image"]


def page_files(document: dict[str, Any], root: Path | None) -> list[Path]:
    """The images of all pages of a document; `DataMissing` if it has none."""
    image_file(document, root)
    return [Path(root or "") / name for name in page_images(document)]


@dataclass(frozen=True)
class PagePicture:
    """A page of a document that is drawn when it is asked for.

    `number` counts the document's pages, `page` those of `file`; `zoom` are the picture's pixels
    to a unit of the document's, whose first page is `width` of them wide where that is known.
    """

    number: int
    file: Path
    page: int
    width: float | None
    zoom: float
    is_pdf: bool

    def image(self) -> Image.Image:
        """The picture; `DataMissing` or `DataBroken` if it cannot be read."""
        image = pictures.read_image(self.file, page=self.page, width=self.width, zoom=self.zoom)
        if self.zoom != 1 and not self.is_pdf:
            image = image.resize(tuple(max(1, round(side * self.zoom)) for side in image.size))
        return image

    def shape(self) -> dict[str, Any]:
        """All that the picture depends on, as JSON: the file's content, and how it is drawn."""
        width = self.width if self.is_pdf else None
        drawn = {"page": self.page, "zoom": self.zoom, "width": width, "drawing": DRAWING}
        return {"sha256": files.sha256(self.file)} | drawn


def page_pictures(
    document: dict[str, Any], root: Path | None, *, scale: float = 1.0
) -> Iterator[PagePicture]:
    """Each page of a document.

    A PDF that is measured in points is drawn with `SHARP` pixels a point; `scale` enlarges all.
    `DataMissing` or `DataBroken` if there is no page or a file cannot be read.
    """
    width = document.get("width")
    several = [(file, pictures.page_count(file)) for file in page_files(document, root)]
    pages = [(file, page) for file, count in several for page in range(1, count + 1)]
    if not pages:
        raise DataMissing("this document has no page", where=document["doc_id"])
    for number, (file, page) in enumerate(pages, start=1):
        is_pdf = files.read_bytes(file, 5) == b"%PDF-"
        zoom = scale * (SHARP if is_pdf and not width else 1.0)
        yield PagePicture(number, file, page, width, zoom, is_pdf)


def read_head(folder: Path) -> dict[str, Any]:
    """The head of a run; `DataBroken` if it is damaged."""
    file = folder / HEAD
    try:
        return files.read_json(file, dict[str, Any])
    except DataBroken as error:
        raise DataBroken(error.what, where=error.where, remedy=HEADLESS) from error


def check_head(folder: Path, head: dict[str, Any]) -> None:
    """`DataBroken` if `folder` holds a run whose head is damaged or has other values."""
    if not (folder / HEAD).is_file():
        return
    before, now = _flat(read_head(folder)), _flat(json.loads(json.dumps(head)))
    changed = [n for n in now | before if n[0] in head and before.get(n) != now.get(n)]
    if changed:
        differences = (f"{' '.join(n)} {before.get(n)!r}, now {now.get(n)!r}" for n in changed)
        what = f"this folder holds another run: {', '.join(differences)}"
        raise DataBroken(what, where=folder, remedy="--out")


def _flat(head: dict[str, Any]) -> dict[tuple[str, ...], Any]:
    """The values of a head, each setting by itself."""
    parts = [
        [((name, inner), item) for inner, item in value.items()]
        if isinstance(value, dict)
        else [((name,), value)]
        for name, value in head.items()
    ]
    return dict(itertools.chain.from_iterable(parts))


def begin(folder: Path, head: dict[str, Any], **more: Any) -> None:
    """Write the head of a run into its folder, after `check_head`; `more` is not compared."""
    check_head(folder, head)
    files.write_json(folder / HEAD, head | more)
    # Earlier predictions would look complete while this run is under way.
    with files.writing(folder):
        files.remove(folder / PREDICTIONS)
        (folder / "manifest.json").unlink(missing_ok=True)  # Of format 1.
