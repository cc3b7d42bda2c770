"""Field reading: the text of a field is what a system read under the field's box.

So a system that reads pages and knows no fields can be scored field by field. The rules, which
stand in every score's `settings` as `RULES`:

- a word belongs to a field only where at least `HEIGHT` of its height lies within the box;
- with at least `WIDTH` of its width within the box the whole word belongs to it;
- with less, those of its characters do whose centres lie within the box, the characters of a word
  being taken as evenly wide; a word of one character goes by its own centre.
"""

from __future__ import annotations

import numpy as np
import polars as pl

from formlab.systems.layout import rows
from formlab.tables import BOX

HEIGHT, WIDTH = 0.5, 0.75
RULES = f"read=under-box,height>={HEIGHT:g},width>={WIDTH:g},char-centre"


def read_fields(fields: pl.DataFrame, seen: pl.DataFrame) -> pl.DataFrame:
    """What stands under the box of each field.

    Parameters
    ----------
    fields
        Records with boxes; needs doc_id, path and the box.
    seen
        A system's records of task `layout`: its words or, of a document where there are none, its
        lines.

    Returns
    -------
    polars.DataFrame
        One row per field of the documents that occur in `seen`: doc_id, path, value ("" where
        nothing lies under the box), confidence (mean over characters), and the box of what was
        read, null where nothing was.
    """
    found = []
    words = {key[0]: group for key, group in seen.group_by("doc_id", maintain_order=True)}
    for (doc_id,), group in fields.group_by("doc_id", maintain_order=True):
        if doc_id in words:
            page = words[doc_id]
            if (page["kind"] == "word").any():
                page = page.filter(pl.col("kind") == "word")
            page = page.drop_nulls(BOX)
            found += _page(str(doc_id), group, page)
    schema = {"doc_id": pl.String, "path": pl.String, "pred": pl.String, "confidence": pl.Float64}
    schema |= {f"pred_{side}": pl.Float64 for side in BOX}
    return pl.DataFrame(found, schema=schema, orient="row")


def _page(doc_id: str, fields: pl.DataFrame, words: pl.DataFrame) -> list[tuple]:
    box = fields.select(BOX).to_numpy()[:, None, :]
    word = words.select(BOX).to_numpy()[None, :, :]
    left, top = np.maximum(box[..., 0], word[..., 0]), np.maximum(box[..., 1], word[..., 1])
    right, bottom = np.minimum(box[..., 2], word[..., 2]), np.minimum(box[..., 3], word[..., 3])
    width = np.maximum(word[..., 2] - word[..., 0], 1e-9)
    height = np.maximum(word[..., 3] - word[..., 1], 1e-9)
    inside = (right > left) & ((bottom - top) / height >= HEIGHT)
    whole = (right - left) / width >= WIDTH
    texts = [text or "" for text in words["value"]]
    certain = words["confidence"].cast(pl.Float64).to_numpy()
    found = []
    for place, path in enumerate(fields["path"]):
        pieces = []
        for number in np.flatnonzero(inside[place]):
            text, piece = texts[number], word[0, number]
            if not whole[place, number]:
                text, piece = _cut(text, piece, box[place, 0, 0], box[place, 0, 2])
            if text:
                pieces.append((text, piece, certain[number]))
        found.append((doc_id, path, *_join(pieces)))
    return found


def _cut(text: str, word: np.ndarray, x0: float, x1: float) -> tuple[str, np.ndarray]:
    """The characters whose centres lie from x0 to x1, and the box they take."""
    step = (word[2] - word[0]) / max(len(text), 1)
    centres = word[0] + step * (np.arange(len(text)) + 0.5)
    kept = np.flatnonzero((centres >= x0) & (centres <= x1))
    if not kept.size:
        return "", word
    first, last = int(kept[0]), int(kept[-1]) + 1
    box = np.array([word[0] + step * first, word[1], word[0] + step * last, word[3]])
    return text[first:last], box


def _join(pieces: list[tuple[str, np.ndarray, float]]) -> tuple:
    if not pieces:
        return ("", None, None, None, None, None)
    boxes = np.array([box for _, box, _ in pieces])
    order = [place for row in rows(boxes) for place in row]
    text = " ".join(pieces[place][0] for place in order)
    lengths = [len(piece[0]) for piece in pieces]
    confidence = float(np.average([piece[2] for piece in pieces], weights=lengths))
    low, high = boxes[:, :2].min(axis=0), boxes[:, 2:].max(axis=0)
    return (text, confidence, *low.tolist(), *high.tolist())
