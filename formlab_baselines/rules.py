"""The system `rules`: plain rules instead of a model, for whatever a document asks for.

Where the document names the entities it wants (VRDU), key words and typed patterns find them in
the text of the PDF; every other form becomes a tree of groups and fields by geometry and
punctuation. A baseline without a key and without a model, except that of the OCR.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

from formlab.systems.system import Reader, System
from formlab_baselines import form_rules, keywords, words


def start(settings: dict[str, Any], threads: int) -> Reader:
    """A reader that hands each document to the rules that fit it, loaded when first needed."""
    reader = cache(lambda rules: rules.start(settings, threads))

    def read(document: dict[str, Any], root: Path | None) -> list[dict[str, Any]]:
        return reader(keywords if keywords.is_for(document) else form_rules)(document, root)

    return read


SYSTEM = System(
    name="rules",
    title="baseline: plain rules over the text of PDFs and over what the OCR reads",
    start=start,
    defaults=form_rules.DEFAULTS | words.DEFAULTS,
    versions=("rapidocr", "onnxruntime", "opencv-python-headless", "pypdfium2"),
    extra="ocr",
)
