"""Where entities stand among the words of a document: in the gold, and as a system reads them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from formlab import text as texts
from formlab.benchmarks.meta import meta_of
from formlab.benchmarks.vrdu import Schema, fractions
from formlab.errors import DataMissing
from formlab.folders import Corpus
from formlab.metrics.entities import same_values
from formlab.trees import escape
from formlab_baselines.document_words import Cell, DocumentWords, Span

# No date or amount has more words, and no name that is looked for.
_SHORT, _LONG = 4, 14


class GoldSpan(NamedTuple):
    """A place where an entity may stand; `item` is the path of its line item, '' for none.

    `sure` says that the gold gives the place, and not only the value.
    """

    name: str
    item: str
    span: Span
    sure: bool


class EntitySpan(NamedTuple):
    """An entity as a system reads it."""

    path: str
    name: str
    span: Span
    confidence: float


Example = tuple[DocumentWords, list[GoldSpan]]


def learn_from(
    examples: Corpus, read: Callable[..., DocumentWords], schema: Schema
) -> list[Example]:
    """The words and the gold spans of each document of `examples` that has pages.

    Raises
    ------
    DataMissing
        If none has a page with one of its values.
    """
    documents = []
    for document in examples.documents.iter_rows(named=True):
        try:
            words = read(document, examples.root)
        except DataMissing:
            # Counted in the flaws of the corpus.
            continue
        records = examples.records.filter(doc_id=document["doc_id"]).to_dicts()
        documents.append((words, gold_spans(words, records, schema)))
    if not any(spans for _, spans in documents):
        remedy = "the PDFs or the OCR of the train documents, or more of them"
        what = "no gold value stands on a page of the documents to learn from"
        raise DataMissing(what, where=f"{examples.benchmark}:{examples.split}", remedy=remedy)
    return documents


def fits(name: str, text: str, schema: Schema) -> bool:
    """Whether a text may be a value of an entity, by its data type.

    Examples
    --------
    >>> schema = Schema({"day": "DateMatch", "who": "NameMatch"}, {})
    >>> fits("day", "May 7, 2020", schema), fits("day", "Monday", schema), fits("who", ":", schema)
    (True, False, False)
    """
    parser = {"date": texts.date, "money": texts.money}.get(schema.type_of(name))
    if parser is not None:
        return parser(text) is not None
    digits = schema.matches.get(name) == "NumericalStringMatch"
    return any(sign.isdigit() if digits else sign.isalnum() for sign in text)


def gold_spans(
    document: DocumentWords, records: list[dict[str, Any]], schema: Schema
) -> list[GoldSpan]:
    """The spans of the gold records of a document: in their boxes, else of equal value."""
    spans = []
    for record in records:
        if record["value"] is None or record["path"] is None:
            continue
        item = record["path"].rpartition("/")[0]
        item = item if item.count("/") > 1 else ""
        boxes = [box for box in meta_of(record).get("boxes", ()) if fractions(box)]
        sure = [span for box in boxes for span in _in_box(document, box)]
        places = sure or list(_of_value(document, record, schema))
        spans += [GoldSpan(record["kind"], item, span, bool(sure)) for span in places]
    return spans


def _in_box(document: DocumentWords, box: list[float]) -> Iterator[Span]:
    page, (x0, y0, x1, y1) = fractions(box) or (0, (0.0,) * 4)
    for cell in document.cells:
        if cell.page != page + 1:
            continue
        ratio = document.ratio(cell.page)
        inside = [
            x0 <= (word.x0 + word.x1) / 2 <= x1 and y0 <= (word.y0 + word.y1) / 2 / ratio <= y1
            for word in cell.words
        ]
        if any(inside):
            stop = len(inside) - inside[::-1].index(True)
            yield Span(cell, inside.index(True), stop)


def _of_value(document: DocumentWords, record: dict[str, Any], schema: Schema) -> Iterator[Span]:
    match = schema.matches.get(record["kind"], "")
    typed = schema.type_of(record["kind"]) in ("date", "money")
    spans = [
        span for cell in document.cells for span in _spans(cell, _SHORT if typed else _LONG)
        if not typed or any(sign.isdigit() for sign in span.text)
    ]  # fmt: skip
    if typed:
        values = [record["value"]] * len(spans)
        same = same_values(match, values, [span.text for span in spans], mode="fixed")
    else:
        letters = _letters(record["value"])
        same = [_letters(span.text) == letters for span in spans]
    return (span for span, equal in zip(spans, same, strict=True) if equal)


def _letters(text: str) -> str:
    return "".join(sign for sign in text.casefold() if sign.isalnum())


def _spans(cell: Cell, longest: int) -> Iterator[Span]:
    for start in range(len(cell.words)):
        for stop in range(start + 1, min(start + longest, len(cell.words)) + 1):
            yield Span(cell, start, stop)


def line_items(group: str, components: list[tuple[str, Span, float]]) -> Iterator[EntitySpan]:
    """The parts of line items, those in one line together, from left to right."""
    lines: dict[int, dict[str, tuple[Span, float]]] = defaultdict(dict)
    for name, span, confidence in sorted(
        components, key=lambda component: component[1].words[0].x0
    ):
        lines[span.cell.row].setdefault(name, (span, confidence))
    # A line with one of several components is more often a total or a heading.
    several = min(2, len({name for name, *_ in components}))
    items = [lines[row] for row in sorted(lines) if len(lines[row]) >= several]
    for number, item in enumerate(items):
        for name, (span, confidence) in item.items():
            path = f"/{escape(group)}/{number}/{escape(name)}"
            yield EntitySpan(path, name, span, confidence)
