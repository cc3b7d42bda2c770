"""The system `ocr`: RapidOCR over page images. Its weights come with its wheel: no download."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from formlab.systems._runs import page_pictures
from formlab.systems._spec import Reader, System
from formlab.systems.layout import page_text
from formlab.tables import BOX


def start(settings: dict[str, Any], threads: int) -> Reader:
    """A reader of pages: their lines and words with boxes and confidence, and the text of all."""
    read_image = engine(text_score=settings["text_score"], threads=threads)

    def read(document: dict[str, Any], root: Path | None) -> list[dict[str, Any]]:
        rows: list[dict[str, Any]] = []
        texts, lines = [], 0
        for number, image, zoom in page_pictures(document, root, scale=settings["scale"]):
            result = read_image(np.asarray(image)[:, :, ::-1], return_word_box=True)
            text, *found = records(result, scale=zoom, page=number, first=lines)
            lines += sum(row["kind"] == "line" for row in found)
            texts.append(text["value"])
            rows += found
        return [text | {"value": "\n".join(texts)}, *rows]

    return read


def engine(*, text_score: float, threads: int = -1) -> Any:
    """RapidOCR itself: an image in BGR in, what was read out; `threads` of -1 are all there are."""
    from rapidocr import RapidOCR

    return RapidOCR(
        params={
            "Global.log_level": "error",
            "Global.text_score": text_score,
            "EngineConfig.onnxruntime.intra_op_num_threads": threads,
        }
    )


def records(
    result: Any, *, scale: float = 1.0, page: int = 1, first: int = 0
) -> list[dict[str, Any]]:
    """The rows of one page from RapidOCR's result; boxes in pixels of the unscaled image.

    Lines are at ``/ocr/lines/<n>``, from `first` on, their words below them, the page's text at no
    path.
    """
    lines = list(zip(result.boxes, result.txts, result.scores, strict=True)) if result.txts else []
    words = list(result.word_results or ()) or [()] * len(lines)
    rows: list[dict[str, Any]] = []
    boxes = [_box(corners, scale) for corners, _, _ in lines]
    for place, ((_, text, score), box) in enumerate(zip(lines, boxes, strict=True)):
        path = f"/ocr/lines/{first + place}"
        rows.append(_row(path, "line", text, score, box))
        for number, (word, confidence, corners) in enumerate(words[place]):
            box = _box(corners, scale)
            rows.append(_row(f"{path}/words/{number}", "word", word, confidence, box))
    text = page_text(np.array(boxes), [text for _, text, _ in lines])
    rows = [row | {"page": page} for row in rows]
    return [{"path": None, "kind": "page", "task": "text", "value": text}, *rows]


def _box(corners: Any, scale: float) -> tuple[float, float, float, float]:
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
