"""The systems `ocr` and `ocr_html`: RapidOCR, whose weights come with its wheel: no download."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from formlab.systems._runs import page_pictures
from formlab.systems._spec import Reader, System
from formlab.tables import BOX
from formlab.text.layout import page_html, page_text


def start(
    settings: dict[str, Any], threads: int, *, write: Callable[..., str] = page_text
) -> Reader:
    """A reader of pages: their lines and words with boxes and confidence, and the text of all.

    `write` makes the page of the lines' boxes and texts.
    """
    read_image = engine(text_score=settings["text_score"], threads=threads)

    def read(document: dict[str, Any], root: Path | None) -> list[dict[str, Any]]:
        rows: list[dict[str, Any]] = []
        texts, count = [], 0
        for number, image, zoom in page_pictures(document, root, scale=settings["scale"]):
            result = read_image(np.asarray(image)[:, :, ::-1], return_word_box=True)
            text, *found = records(result, scale=zoom, page=number, first=count, write=write)
            count += sum(row["kind"] == "line" for row in found)
            texts.append(text["value"])
            rows += found
        return [text | {"value": "\n".join(texts)}, *rows]

    return read


def engine(*, text_score: float, threads: int = -1) -> Any:
    """RapidOCR itself: an image in BGR in, what was read out; `threads` of -1 means all."""
    from rapidocr import RapidOCR

    return RapidOCR(
        params={
            "Global.log_level": "error",
            "Global.text_score": text_score,
            "EngineConfig.onnxruntime.intra_op_num_threads": threads,
        }
    )


def records(
    result: Any, *, scale: float = 1.0, page: int = 1, first: int = 0,
    write: Callable[..., str] = page_text,
) -> list[dict[str, Any]]:  # fmt: skip
    """The rows of one page from RapidOCR's result; boxes in pixels of the unscaled image.

    Lines are at ``/ocr/lines/<n>``, from `first` on, their words below them, the page, as `write`
    makes it of boxes and texts, at no path.
    """
    rows: list[dict[str, Any]] = []
    texts, boxes = [], []
    for number, (text, score, corners, words) in enumerate(lines(result), start=first):
        path = f"/ocr/lines/{number}"
        texts.append(text)
        boxes.append(box_of(corners, scale))
        rows.append(_row(path, "line", text, score, boxes[-1]))
        for position, (word, confidence, outline) in enumerate(words):
            box = box_of(outline, scale)
            rows.append(_row(f"{path}/words/{position}", "word", word, confidence, box))
    rows = [row | {"page": page} for row in rows]
    read = write(np.array(boxes), texts)
    return [{"path": None, "kind": "page", "task": "text", "value": read}, *rows]


def lines(result: Any) -> list[tuple[str, float, Any, Any]]:
    """Text, confidence, corners and words of each line of a result that has boxes of words."""
    if not result.txts:
        return []
    words = list(result.word_results or ()) or [()] * len(result.txts)
    return list(zip(result.txts, result.scores, result.boxes, words, strict=True))


def box_of(corners: Any, scale: float = 1.0) -> tuple[float, float, float, float]:
    """The upright box around the corners that RapidOCR gives, in pixels of the unscaled image."""
    points = np.asarray(corners, dtype=float) / scale
    return (*points.min(axis=0).tolist(), *points.max(axis=0).tolist())


def _row(path: str, kind: str, text: str, score: float, box: tuple) -> dict[str, Any]:
    # Task `layout`: what stands where on the page, not a claim about any field of the form.
    row = {"path": path, "kind": kind, "task": "layout", "value": text}
    return row | {"confidence": float(score)} | dict(zip(BOX, box, strict=True))


SYSTEM = System(
    name="ocr",
    title="RapidOCR: text lines and words of a page image",
    start=start,
    defaults={"scale": 1.0, "text_score": 0.5},
    versions=("rapidocr", "onnxruntime"),
    extra="ocr",
)
HTML = replace(
    SYSTEM,
    name="ocr_html",
    title="RapidOCR with the page as HTML: tables where boxes stand in rows and columns",
    start=partial(start, write=page_html),
)
