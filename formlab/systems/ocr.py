"""The systems `ocr` and `ocr_html`: RapidOCR, whose weights come with its wheel: no download."""

import hashlib
import platform
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import lru_cache, partial
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from threading import Lock
from typing import Any, NamedTuple

import numpy as np

from formlab import files, saving
from formlab.benchmarks.corpus import around
from formlab.systems import Reader, System, above_zero
from formlab.systems.pages import Page, document_pages
from formlab.tables import BOX
from formlab.text.markup import page_html, page_text

Row = dict[str, Any]
# The settings of the engine, and what RapidOCR calls them.
ENGINE = {"angle": False, "threshold": 0.3, "box_threshold": 0.5, "unclip": 1.6, "text_score": 0.5}
_PARAMS = "Global.use_cls Det.thresh Det.box_thresh Det.unclip_ratio Global.text_score"
# What a picture goes through before and in the engine.
_LIBRARIES = "rapidocr onnxruntime opencv-python opencv-python-headless numpy pillow pypdfium2"
_LIBRARIES += " pyclipper shapely"


class Line(NamedTuple):
    """A line of a page: its text, how sure that is, its corners and its words in the same form."""

    text: str
    confidence: float
    corners: list[list[float]]
    words: Sequence[tuple[str, float, list[list[float]]]] = ()


class Engine:
    """RapidOCR, whose readings are kept (`formlab.saving`): no picture is read twice.

    `threads` of -1 means all. Threads may share an engine, which reads one picture after the other.

    Settings, those of `ENGINE` where left out: `angle`, whether a classifier turns lines that it
    takes for upside down; `threshold` and `box_threshold`, how sure the detector is of a pixel of
    text and of a line at least; `unclip`, how much larger a box is made than what was detected
    (area times this, by its perimeter); `text_score`, the least confidence of a line's text. All
    but `unclip` and `angle` lie from 0 to 1.
    """

    def __init__(self, settings: Row = ENGINE, *, threads: int = -1) -> None:
        named = zip(_PARAMS.split(), map((ENGINE | settings).get, ENGINE), strict=True)
        self._params = {"Global.log_level": "error"} | dict(named)
        self._threads, self._engine, self._lock = threads, None, Lock()

    def __call__(self, picture: np.ndarray | Page) -> list[Line]:
        """The lines of an image in BGR, or with their words of a page, drawn only if it is new."""
        if words := isinstance(picture, Page):
            of = picture.drawn
        else:
            of = {"pixels": hashlib.sha256(np.ascontiguousarray(picture)).hexdigest()}
            of |= {"shape": list(picture.shape), "type": str(picture.dtype)}
        key = {"picture": of, "lines": words, "params": self._params, "engine": _engine_state()}
        return [Line(*line) for line in saving.kept("ocr", key, partial(self._read, picture))]

    def _read(self, picture: np.ndarray | Page) -> list[Any]:
        words = isinstance(picture, Page)
        pixels = np.asarray(picture.image())[:, :, ::-1] if words else picture
        if min(pixels.shape[:2]) < 8:  # No text is so small, and the engine may take minutes.
            return []

        def plain(text: str, score: Any, corners: Any) -> list[Any]:
            return [text, float(score), np.asarray(corners).tolist()]

        with self._lock:
            self._engine = self._engine or self._started()
            result = self._engine(pixels, return_word_box=words)
        if not result.txts:
            return []
        parts = (words and result.word_results) or [()] * len(result.txts)
        lines = zip(result.txts, result.scores, result.boxes, parts, strict=True)
        return [[*plain(*line), [plain(*word) for word in within]] for *line, within in lines]

    def _started(self) -> Any:
        from rapidocr import RapidOCR

        more = {"EngineConfig.onnxruntime.intra_op_num_threads": self._threads}
        return RapidOCR(params=self._params | more)


@lru_cache
def _engine_state() -> Row:
    """Everything beside a picture and the settings that shapes a reading: versions and models."""
    state: Row = {"machine": platform.machine()}
    for name in _LIBRARIES.split():
        with suppress(metadata.PackageNotFoundError):
            state[name] = metadata.version(name)
    spec = find_spec("rapidocr")
    home = Path(spec.origin).parent if spec and spec.origin else None
    models = sorted([*home.glob("*.yaml"), *home.glob("models/*.onnx")]) if home else []
    return state | {file.name: files.sha256(file) for file in models}


def start(settings: Row, threads: int, *, write: Callable[..., str] = page_text) -> Reader:
    """A reader of pages: their lines and words with boxes and confidence, and the text of all.

    Lines are at ``/ocr/lines/<n>``, their words below them, with boxes in pixels of the unscaled
    image. `write` makes the page of the lines' boxes and texts. Settings: `scale` enlarges pages
    before they are read; the others are those of the engine (`Engine`).
    """
    above_zero(settings, "scale")
    engine = Engine(settings, threads=threads)

    def read(document: Row, root: Path | None) -> list[Row]:
        rows, texts, count = list[Row](), [], 0
        for page in document_pages(document, root, scale=settings["scale"]):
            found = engine(page)
            boxes = np.array([around(np.array(line.corners) / page.zoom) for line in found])
            texts.append(write(boxes, [line.text for line in found]))
            for line in found:
                path, parts = f"/ocr/lines/{count}", enumerate(line.words)
                rows.append(_row(path, "line", *line[:3], page))
                rows += [_row(f"{path}/words/{n}", "word", *word, page) for n, word in parts]
                count += 1
        return [{"path": None, "kind": "page", "task": "text", "value": "\n".join(texts)}, *rows]

    return read


def _row(path: str, kind: str, text: str, score: float, corners: Any, page: Page) -> Row:
    # Task `layout`: what stands where on the page, not a claim about any field of the form.
    row = {"path": path, "kind": kind, "task": "layout", "value": text, "page": page.number}
    row |= zip(BOX, around(np.array(corners) / page.zoom), strict=True)
    return row | {"confidence": float(score)}


_TITLE = "RapidOCR with the page as HTML: tables where boxes stand in rows and columns"
_OPTIONS = {"defaults": {"scale": 1.0} | ENGINE, "extra": "ocr"}
_OPTIONS["versions"] = ("rapidocr", "onnxruntime")
SYSTEM = System("ocr", "RapidOCR: text lines and words of a page image", start, **_OPTIONS)
HTML = System("ocr_html", _TITLE, partial(start, write=page_html), **_OPTIONS)
