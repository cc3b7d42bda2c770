"""Forms read by OCR, plain geometry and punctuation.

No model except the OCR's is used, no key, and no word of any form. A label ends in a colon or
stands left of a line to write on; bold, shaded or capital text alone in its row opens a group; ink
inside a box means checked, a ring around a word means chosen; long rules make tables and frames.
Values are what OCR read: no picture is described, and a scribble on a line is called a signature.
Questions are answered from the fields (`form_answers`).
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from formlab import resources
from formlab.benchmarks.formcraft import TASK_OF, Paths, questions_of
from formlab.errors import DataBroken
from formlab.systems import ocr
from formlab.systems.pages import document_pages
from formlab.systems.system import Reader, above_zero
from formlab.tables import BOX
from formlab_baselines import page_lines, page_marks
from formlab_baselines.form_answers import answers
from formlab_baselines.form_build import build
from formlab_baselines.form_rows import FormGroup
from formlab_baselines.page_lines import Rect
from formlab_baselines.page_text import Word, text_of, words

cv2 = resources.optional("cv2", extra="ocr")

TABLES = ("field", "rows")
DEFAULTS = {"bold": 1.15, "tick_ink": 0.15, "tables": "field", "signature": "signed", "zoom": 1.0}
DEFAULTS |= ocr.ENGINE
Row = dict[str, Any]


def start(settings: dict[str, Any], threads: int) -> Reader:
    """A reader of page images that gives fields, groups, the OCR's words, and the page's text.

    Settings: those of `ocr.Engine`; `bold`, how much wider than common the
    strokes of a heading are; `tick_ink`, the least dark share inside a box that is checked;
    `tables`, whether a table is one ``field`` or a group of ``rows``, else `DataBroken`;
    `signature`, the value of a line with a scribble on it; `zoom` enlarges pages before they are
    read.
    """
    if settings["tables"] not in TABLES:
        raise DataBroken(f"tables={settings['tables']!r} of rules", remedy=" or ".join(TABLES))
    above_zero(settings, "zoom")
    engine = ocr.Engine(settings, threads=threads)

    def read(document: dict[str, Any], root: Path | None) -> list[Row]:
        paths, rows, texts = Paths(), [], []
        for page in document_pages(document, root, scale=settings["zoom"]):
            number, zoom = page.number, page.zoom
            gray = np.asarray(page.image().convert("L"))
            level, matrix = page_lines.upright(gray)
            marks, clean = page_marks.find(level)
            # OCR takes minutes for a page a few pixels high, and finds nothing.
            read_words = []
            if marks.has_letters:
                result = engine(cv2.cvtColor(clean, cv2.COLOR_GRAY2BGR), return_word_box=True)
                read_words = words(result, clean)
            form = build(read_words, marks, settings)
            back, corner = cv2.invertAffineTransform(matrix), gray.shape[::-1]
            for row, box in (*_tree_rows(form, "", paths), *_word_rows(read_words, number)):
                sides = _turned(box, back, corner, zoom) if box else {}
                rows.append(row | sides | {"page": number})
            texts.append(text_of(read_words))
        fields = [row for row in rows if row["task"] in TASK_OF.values()]
        rows += answers(questions_of(document), fields)
        return [{"path": None, "kind": "page", "task": "text", "value": "\n".join(texts)}, *rows]

    return read


def _tree_rows(group: FormGroup, parent: str, paths: Paths) -> Iterator[tuple[Row, Rect | None]]:
    """The rows of all fields and groups below `group`, whose path is `parent`, and their boxes."""
    for field in group.fields:
        names = ("kind", "modality", "subtype", "value", "confidence")
        row = {"task": TASK_OF[field.modality], "path": paths.of(parent, field.label)}
        yield row | {name: getattr(field, name) for name in names}, field.box
    for inner in group.groups:
        path = paths.of(parent, inner.label)
        yield {"task": "layout", "path": path, "kind": "group", "value": inner.label}, inner.box
        yield from _tree_rows(inner, path, paths)


def _word_rows(page_words: list[Word], page: int) -> Iterator[tuple[Row, Rect]]:
    """The rows of the words, at paths below those of the system `ocr`."""
    for number, word in enumerate(page_words):
        row = {"task": "layout", "path": f"/ocr/pages/{page}/words/{number}", "kind": "word"}
        yield row | {"value": word.text, "confidence": word.line.score}, word.box


def _turned(box: Rect, back: np.ndarray, corner: tuple[int, int], zoom: float) -> Row:
    """The sides of a box where it is on the page, whose lower right is `corner`."""
    corners = np.array([[x, y, 1.0] for x in (box.x0, box.x1) for y in (box.y0, box.y1)])
    turned = np.clip(corners @ back.T, 0, corner) / zoom
    sides = np.concatenate([turned.min(axis=0), turned.max(axis=0)])
    return dict(zip(BOX, sides.tolist(), strict=True))
