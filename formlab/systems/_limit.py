"""The first documents of a corpus that can be read, for a run over a part of it."""

from __future__ import annotations

import polars as pl

from formlab.errors import DataMissing
from formlab.tables import Corpus

SKIPPED = "documents without an image, passed over by --limit"


def first(corpus: Corpus, limit: int | None, *, images: bool = True) -> tuple[pl.DataFrame, int]:
    """The first `limit` documents, and how many before the last of them have no image.

    Parameters
    ----------
    limit
        How many; all documents if None, with an image or without.
    images
        Whether the system reads images: then only documents whose image is there count.

    Raises
    ------
    DataMissing
        If none of the documents has an image to read.
    """
    if limit is None:
        return corpus.documents, 0
    if not images:
        return corpus.documents.head(limit), 0
    places: list[int] = []
    for place, image in enumerate(corpus.documents["image"]):
        if len(places) == limit:
            break
        if image is not None and corpus.root is not None and (corpus.root / image).is_file():
            places.append(place)
    if not places:
        what = f"no document of {corpus.benchmark}:{corpus.split} has an image to read"
        raise DataMissing(what, where=corpus.root, remedy="--root with the benchmark's images")
    return corpus.documents[places], places[-1] + 1 - len(places)
