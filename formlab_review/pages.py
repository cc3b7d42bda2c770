"""The pages that a review shows, drawn when they are asked for."""

import io
from pathlib import Path
from typing import Any

import polars as pl
from PIL import Image

from formlab import pictures
from formlab.benchmarks.corpus import page_images
from formlab.errors import DataMissing, FormlabError

# Wide enough to read small print when zoomed in, small enough to travel at once.
WIDTH, QUALITY = 1_500, 80


class Pages:
    """The pages of documents as images in WebP.

    Parameters
    ----------
    documents
        The schema DOCUMENTS; of several evaluations or corpora one after the other.
    root
        The folder that images are relative to; None shows none.
    """

    def __init__(self, documents: pl.DataFrame, root: str | Path | None) -> None:
        self.root = None if root is None else Path(root)
        columns = ("doc_id", "image", "width", "meta")
        self._documents = {row["doc_id"]: row for row in documents.select(columns).to_dicts()}

    def count(self, doc_id: str) -> int:
        """How many images of pages a document names, at least 1."""
        return max(1, len(page_images(self._documents.get(doc_id, {}))))

    def draw(self, doc_id: str, page: int) -> tuple[bytes, int, int]:
        """A page in WebP, and its width and height in the unit of the boxes.

        Raises
        ------
        DataMissing, DataBroken
            If there is no such image, or it cannot be read.
        """
        document = self._documents.get(doc_id)
        if self.root is None or document is None or document["image"] is None:
            raise DataMissing("no page image is known", where=doc_id)
        names = page_images(document)
        if page > 1 and len(names) > 1:
            if page > len(names):
                raise DataMissing(f"no image of page {page}", where=doc_id)
            image = _opened(self.root / names[page - 1])
        else:
            image = _opened(self.root / document["image"], page=page, width=document["width"])
        size = image.size
        image.thumbnail((WIDTH, 4 * WIDTH), Image.Resampling.LANCZOS)
        stream = io.BytesIO()
        image.save(stream, "WEBP", quality=QUALITY, method=2)
        return stream.getvalue(), *size


def _opened(path: Path, **options: Any) -> Image.Image:
    try:
        return pictures.read_image(path, **options)
    except ValueError as error:
        # A NUL in a path is a ValueError before it is a missing file.
        raise FormlabError(f"not a usable path: {error}") from error
