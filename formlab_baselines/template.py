"""The system `template`: values read where the most similar train document has them.

Two documents are similar by the texts of their cells, and by where these stand. A value is read in
the cell with the same texts to its left and above it, of the same shape, nearest to the place in
that document: right for a known template, and of little use for an unseen one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from formlab.benchmarks.vrdu import REPEATED, UNREPEATED, Schema
from formlab.folders import Corpus
from formlab.systems._spec import Reader, System
from formlab.trees import escape
from formlab_baselines.document_words import Cell, DocumentWords, Span, reader
from formlab_baselines.entity_spans import (
    EntitySpan,
    Example,
    GoldSpan,
    fits,
    learn_from,
    line_items,
)

DEFAULTS = {"examples": 0, "seed": 0, "least": 0.4}
# Columns of a table begin within this share of the page's width of each other.
_NEAR = 0.03


def start(settings: dict[str, Any], threads: int, examples: Corpus) -> Reader:
    """A reader that knows the documents of `examples`."""
    schema, read = Schema.of(examples), reader(settings, threads)
    known = _settled(learn_from(examples, read, schema))
    looks = [_look(document) for document, _ in known]

    def predict(document: dict[str, Any], root: Path | None) -> list[dict[str, Any]]:
        words = read(document, root)
        look = _look(words)
        likeness = [len(look & other) / max(len(look | other), 1) for other in looks]
        _, spans = known[likeness.index(max(likeness))]
        return [words.record(*row) for row in entities(words, spans, schema, settings["least"])]

    return predict


def entities(
    document: DocumentWords, spans: list[GoldSpan], schema: Schema, least: float
) -> Iterator[EntitySpan]:
    """The entities of a document that stand as those of another do, at least so nearly."""
    seen = set()
    for name, _, span, _ in spans:
        if schema.patterns.get(name) != UNREPEATED or name in seen:
            continue
        cuts = [(_alike(span.cell, cell), cut) for cell, cut in _cuts(document, name, span, schema)]
        nearness, cut = max(cuts, key=lambda pair: pair[0], default=(0.0, span))
        if nearness >= least:
            seen.add(name)
            yield EntitySpan(f"/{escape(name)}", name, cut, nearness)
    for name in schema.names(REPEATED):
        columns = list(_columns(document, name, spans, schema, least))
        for number, (_, cut, nearness) in enumerate(columns):
            yield EntitySpan(f"/{escape(name)}/{number}", name, cut, nearness)
    for group in schema.groups:
        components = [
            component for name in schema.names(group)
            for component in _columns(document, name, spans, schema, least)
        ]  # fmt: skip
        yield from line_items(group, components)


def _columns(
    document: DocumentWords, name: str, spans: list[GoldSpan], schema: Schema, least: float
) -> Iterator[tuple[str, Span, float]]:
    """Every cell that stands below the same heading as one of the spans, and begins there."""
    patterns = [span for other, _, span, _ in spans if other == name and span.cell.head]
    taken = set()
    for span in patterns:
        for cell, cut in _cuts(document, name, span, schema):
            is_below = _mask(cell.head) == _mask(span.cell.head)
            if is_below and cell not in taken and abs(cell.x0 - span.cell.x0) < _NEAR:
                taken.add(cell)
                yield name, cut, max(_alike(span.cell, cell), least)


def _cuts(
    document: DocumentWords, name: str, span: Span, schema: Schema
) -> Iterator[tuple[Cell, Span]]:
    """Of each cell the words that stand in it as those of `span` do, if they fit the entity."""
    rest = len(span.cell.words) - span.stop
    for cell in document.cells:
        cut = Span(cell, span.start, len(cell.words) - rest)
        if cut.start < cut.stop and fits(name, cut.text, schema):
            yield cell, cut


def _alike(known: Cell, cell: Cell) -> float:
    """How alike two cells stand, in [0, 1]: by the texts around, their place and their shape."""
    left = _mask(known.left) == _mask(cell.left)
    above = _mask(known.above) == _mask(cell.above)
    away = abs(known.x0 - cell.x0) + abs(known.words[0].y0 - cell.words[0].y0)
    near = max(0.0, 1 - 4 * away) if known.page == cell.page else 0.0
    return 0.35 * left + 0.25 * above + 0.3 * near + 0.1 * (known.mask == cell.mask)


def _mask(cell: Cell | None) -> str:
    return cell.mask if cell else ""


def _look(document: DocumentWords) -> set[str]:
    places = (f"{cell.mask}@{cell.x0:.1f},{cell.words[0].y0:.1f}" for cell in document.cells)
    return {*places, *(cell.mask for cell in document.cells)}


def _settled(examples: list[Example]) -> list[Example]:
    """Of values whose place the gold does not give, the place that most documents have in common.

    It is told by the texts to the left and above.
    """
    votes = Counter(
        key for _, spans in examples
        for key in {(s.name, _mask(s.span.cell.left), _mask(s.span.cell.above)) for s in spans}
    )  # fmt: skip

    def support(gold: GoldSpan) -> tuple[bool, int]:
        cell = gold.span.cell
        return gold.sure, votes[gold.name, _mask(cell.left), _mask(cell.above)]

    return [(words, sorted(spans, key=support, reverse=True)) for words, spans in examples]


SYSTEM = System(
    name="template",
    title="baseline: values at the places of the most similar train document",
    start=start,
    defaults=DEFAULTS,
    versions=("pypdfium2",),
    learns=True,
)
