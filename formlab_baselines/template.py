"""The system `template`: values read where the most similar train document has them.

Two documents are similar by the texts of their cells, and by where these stand. A value is read in
the cell with the same texts to its left and above it, of the same shape, nearest to the place in
that document: right for a known template, and of little use for an unseen one.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from itertools import chain
from typing import Any

from formlab.benchmarks.vrdu import UNREPEATED, Schema
from formlab.systems import System
from formlab_baselines.entity_spans import Candidates, Example, GoldSpan, fits, start
from formlab_baselines.words import Cell, DocumentWords, Span

DEFAULTS = {"examples": 0, "seed": 0, "least": 0.4}
# Columns of a table begin within this share of the page's width of each other.
_NEAR = 0.03


def _learn(
    examples: list[Example], schema: Schema, settings: dict[str, Any]
) -> Callable[[DocumentWords], Candidates]:
    known = _settled(examples)
    looks = [_look(document) for document, _ in known]

    def candidates(document: DocumentWords) -> Candidates:
        look = _look(document)
        likeness = [len(look & other) / max(len(look | other), 1) for other in looks]
        _, spans = known[likeness.index(max(likeness))]
        return _candidates(document, spans, schema, settings["least"])

    return candidates


def _candidates(
    document: DocumentWords, spans: list[GoldSpan], schema: Schema, least: float
) -> Candidates:
    """The spans that stand as those of another document do, at least so nearly."""
    candidates: Candidates = {}
    for name, _, span, _ in spans:
        if schema.patterns.get(name) == UNREPEATED and not candidates.get(name):
            cuts = _cuts(document, name, span, schema)
            rated = [(cut, _alike(span.cell, cut.cell)) for cut in cuts]
            candidates[name] = [pair for pair in rated if pair[1] >= least]
    for name, pattern in schema.patterns.items():
        if pattern != UNREPEATED:
            candidates[name] = list(_columns(document, name, spans, schema, least))
    return candidates


def _columns(
    document: DocumentWords, name: str, spans: list[GoldSpan], schema: Schema, least: float
) -> Iterator[tuple[Span, float]]:
    """Every cell that stands below the same heading as one of the spans, and begins there."""
    cells = set()
    for span in (span for other, _, span, _ in spans if other == name and span.cell.head):
        for cut in _cuts(document, name, span, schema):
            cell = cut.cell
            is_below = _mask(cell.head) == _mask(span.cell.head)
            if is_below and cell not in cells and abs(cell.x0 - span.cell.x0) < _NEAR:
                cells.add(cell)
                yield cut, max(_alike(span.cell, cell), least)


def _cuts(document: DocumentWords, name: str, span: Span, schema: Schema) -> Iterator[Span]:
    """Of each cell the words that stand in it as those of `span` do, if they fit the entity."""
    rest = len(span.cell.words) - span.stop
    for cell in document.cells:
        cut = Span(cell, span.start, len(cell.words) - rest)
        if cut.start < cut.stop and fits(name, cut.run.text, schema):
            yield cut


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
    """Of values of unknown place the one by whose neighbours they stand in most documents."""

    def place(gold: GoldSpan) -> tuple[str, str, str]:
        return gold.name, _mask(gold.span.cell.left), _mask(gold.span.cell.above)

    votes = Counter(chain.from_iterable(set(map(place, spans)) for _, spans in examples))
    return [
        (words, sorted(spans, key=lambda gold: (gold.sure, votes[place(gold)]), reverse=True))
        for words, spans in examples
    ]


SYSTEM = System(
    name="template",
    title="baseline: values at the places of the most similar train document",
    start=partial(start, learn=_learn),
    defaults=DEFAULTS,
    versions=("pypdfium2",),
    learns=True,
)
