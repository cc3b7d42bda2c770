"""The system `rules`: plain rules instead of a model, for whatever a document asks for.

Where the document names the entities it wants (VRDU), key words and typed patterns find them in
the text of the PDF (`keywords`). Any other form becomes groups and fields by what the system `ocr`
reads (`form`), whose fields answer its questions. Rings, struck words and signatures are not seen.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from formlab import text
from formlab.benchmarks.corpus import meta_of
from formlab.benchmarks.formcraft import TASK_OF, VQA, Paths
from formlab.systems import Reader, System, above_zero, ocr
from formlab.systems.pages import document_pages
from formlab.tables import BOX
from formlab_baselines import form, keywords
from formlab_baselines.page import page_words
from formlab_baselines.words import DEFAULTS

# The least dark share inside a box that is checked; how much a page is enlarged to be read.
FORMS = {"tick_ink": 0.15, "zoom": 1.0} | ocr.ENGINE
Row = dict[str, Any]
_WORD = re.compile(r"\w+")
_HOW_MANY = re.compile(r"\bhow (?:many|much)\b", re.IGNORECASE)
_NEGATED = re.compile(r"\bno[tr]?\b", re.IGNORECASE)


def start(settings: Row, threads: int) -> Reader:
    """A reader that hands each document to the rules that fit it, made when first needed."""
    reader = cache(lambda rules: rules(settings, threads))

    def read(document: Row, root: Path | None) -> list[Row]:
        return reader(keywords.start if keywords.is_for(document) else forms)(document, root)

    return read


def forms(settings: Row, threads: int) -> Reader:
    """A reader of page images: fields and groups beside all that the system `ocr` gives."""
    above_zero(settings, "zoom")
    read_lines = ocr.start(settings | {"scale": settings["zoom"]}, threads)

    def read(document: Row, root: Path | None) -> list[Row]:
        pages, paths, fields = document_pages(document, root), Paths(), []
        page_text, *lines = read_lines(document, root)
        for page in pages:
            rows = (row for row in lines if row["page"] == page.number)
            gray = np.asarray(page.image().convert("L"))
            for row in form.read(page_words(rows, gray, page.zoom, settings["tick_ink"]), paths):
                sides = (side / page.zoom for side in row.pop("run").box)
                fields.append(row | dict(zip(BOX, sides, strict=True)) | {"page": page.number})
        claims = [row for row in fields if row["task"] in TASK_OF.values() and row["value"]]
        return [page_text, *fields, *lines, *_answers(meta_of(document), claims)]

    return read


def _answers(meta: Row, fields: Sequence[Row]) -> Iterator[Row]:
    """A row for each question that a filled field answers: that with its rarest words in its path.

    Of options it is those that are marked on the form, or, of a question with a "not", the others.
    """
    marks = [text.choices(row["value"]) for row in fields if row["task"] == "marking"]
    marked = frozenset().union(*filter(None, marks))
    filled = [(_words(row["path"]), row["value"]) for row in fields]
    known = Counter(word for words, _ in filled for word in words)
    for item in meta.get("questions") or ():
        asked = _words(item["question"])
        is_number = bool(_HOW_MANY.search(item["question"]))
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
