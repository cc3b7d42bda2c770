"""The system `rules`: plain rules instead of a model, for whatever a document asks for.

Where the document names the entities it wants (VRDU), key words and typed patterns find them in
the text of the PDF (`keywords`). Any other form becomes a tree of groups and fields by OCR, plain
geometry and punctuation: a label ends in a colon or stands left of a line to write on; bold, shaded
or capital text alone in its row opens a group; ink inside a box means checked, a ring around a word
means chosen; long rules make tables and frames. Values are what OCR read: no picture is described,
and a scribble on a line is called a signature. No key, no model but the OCR's, no word of any form.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from formlab import resources, text
from formlab.benchmarks.formcraft import TASK_OF, VQA, Paths, questions_of
from formlab.errors import DataBroken
from formlab.systems import ocr
from formlab.systems.pages import document_pages
from formlab.systems.system import Reader, System, above_zero
from formlab.tables import BOX
from formlab_baselines import keywords, page_marks
from formlab_baselines.form_build import build
from formlab_baselines.form_parts import FormGroup
from formlab_baselines.page_marks import Rect
from formlab_baselines.page_text import Word, text_of, words
from formlab_baselines.words import DEFAULTS

cv2 = resources.optional("cv2", extra="ocr")

TABLES = ("field", "rows")
FORMS = {"bold": 1.15, "tick_ink": 0.15, "tables": "field", "signature": "signed", "zoom": 1.0}
FORMS |= ocr.ENGINE
Row = dict[str, Any]
_WORD = re.compile(r"\w+")
# Of such a question the answer is a number.
_COUNTED = re.compile(r"\bhow (?:many|much)\b", re.IGNORECASE)
_NEGATED = re.compile(r"\bno[tr]?\b", re.IGNORECASE)


def start(settings: Row, threads: int) -> Reader:
    """A reader that hands each document to the rules that fit it, made when first needed."""
    reader = cache(lambda rules: rules(settings, threads))

    def read(document: Row, root: Path | None) -> list[Row]:
        return reader(keywords.start if keywords.is_for(document) else forms)(document, root)

    return read


def forms(settings: Row, threads: int) -> Reader:
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

    def read(document: Row, root: Path | None) -> list[Row]:
        paths, rows, texts = Paths(), [], []
        for page in document_pages(document, root, scale=settings["zoom"]):
            number, zoom = page.number, page.zoom
            gray = np.asarray(page.image().convert("L"))
            level, matrix = page_marks.upright(gray)
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


def answers(questions: Sequence[Row], fields: Sequence[Row]) -> Iterator[Row]:
    """A row for each question that one of `fields`, rows with `task`, `path` and `value`, answers.

    The answer is the value of the field whose names share the rarest words with the question.
    Where there are options, it is those that are marked anywhere on the form, or, if the question
    has a "not" in it, the others. Nothing is worked out.

    Examples
    --------
    >>> fields = [
    ...     {"task": "text", "path": "/Bill/Paid", "value": "4.00"},
    ...     {"task": "marking", "path": "/Menu/Sweet", "value": "tart"},
    ... ]
    >>> paid = {"id": "q1", "question": "How much of the bill was paid?"}
    >>> sweet = {"id": "q2", "question": "Which was not chosen?", "options": ["tart", "ice"]}
    >>> [row["value"] for row in answers([paid, sweet], fields)]
    ['4.00', 'ice']
    """
    fields = [row for row in fields if row["value"]]
    marks = [text.choices(row["value"]) for row in fields if row["task"] == "marking"]
    marked = frozenset().union(*filter(None, marks))
    filled = [(_words(row["path"]), row["value"]) for row in fields]
    known = Counter(word for words, _ in filled for word in words)
    for item in questions:
        asked = _words(item["question"])
        is_number = bool(_COUNTED.search(item["question"]))
        rated = [
            (sum(1 / known[word] for word in words & asked), value)
            for words, value in filled
            if not is_number or any(map(str.isdecimal, value))
        ]
        score, value = max(rated, key=lambda pair: pair[0], default=(0, ""))
        if options := item.get("options"):
            chosen = [option for option in options if text.normalise(option) in marked]
            others = [option for option in options if option not in chosen]
            is_negated = bool(_NEGATED.search(item["question"]))
            score, value = len(chosen), "; ".join(others if is_negated else chosen)
        if score and value:
            yield {"task": "vqa", "path": f"{VQA}/{item['id']}", "value": value}


def _words(name: str) -> set[str]:
    """The words of a text, the plural of each as its singular."""
    return {word.removesuffix("s") for word in _WORD.findall(name.casefold()) if len(word) > 1}


SYSTEM = System(
    name="rules",
    title="baseline: plain rules over the text of PDFs and over what the OCR reads",
    start=start,
    defaults=FORMS | DEFAULTS,
    versions=("rapidocr", "onnxruntime", "opencv-python-headless", "pypdfium2"),
    extra="ocr",
)
