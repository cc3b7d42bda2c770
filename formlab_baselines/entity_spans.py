"""Where entities stand among the words of a document: in the gold, and as a system reads them."""

from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from formlab import text as texts
from formlab.benchmarks.corpus import meta_of
from formlab.benchmarks.vrdu import REPEATED, UNREPEATED, Schema, fractions
from formlab.errors import DataMissing
from formlab.folders import Corpus
from formlab.metrics.entities import comparator
from formlab.systems import Reader
from formlab.trees import escape
from formlab_baselines.words import Cell, DocumentWords, Run, Span, reader

# No date or amount has more words, and no name that is looked for.
_SHORT, _LONG = 4, 14


class GoldSpan(NamedTuple):
    """A place where an entity may stand, `sure` where the gold gives it and not only the value."""

    name: str
    item: str  # The path of its line item, '' for none.
    span: Span
    sure: bool


Row = dict[str, Any]
Example = tuple[DocumentWords, list[GoldSpan]]
# For each entity the spans where it may stand, each with a confidence.
Candidates = dict[str, list[tuple[Span, float]]]
Learn = Callable[[list[Example], Schema, Row], Callable[[DocumentWords], Candidates]]


def start(settings: Row, threads: int, examples: Corpus, *, learn: Learn) -> Reader:
    """A reader of what `learn` has learnt from the documents of `examples` that have pages."""
    schema, read = Schema.of(examples), reader(settings, threads)
    candidates = learn(_read_examples(examples, read, schema), schema, settings)

    def predict(document: Row, root: Path | None) -> list[Row]:
        words = read(document, root)
        return list(_records(words, candidates(words), schema))

    return predict


def _read_examples(
    examples: Corpus, read: Callable[..., DocumentWords], schema: Schema
) -> list[Example]:
    documents = []
    for document in examples.documents.iter_rows(named=True):
        try:
            words = read(document, examples.root)
        except DataMissing:
            # Counted in the flaws of the corpus.
            continue
        records = examples.records.filter(doc_id=document["doc_id"]).to_dicts()
        documents.append((words, _gold_spans(words, records, schema)))
    if not any(spans for _, spans in documents):
        remedy = "the PDFs or the OCR of the train documents, or more of them"
        what = "no gold value stands on a page of the documents to learn from"
        raise DataMissing(what, where=f"{examples.benchmark}:{examples.split}", remedy=remedy)
    return documents


def fits(name: str, text: str, schema: Schema) -> bool:
    """Whether a text may be a value of an entity, by its data type: "Monday" is no date."""
    parser = {"date": texts.date, "money": texts.money}.get(schema.type_of(name))
    if parser is not None:
        return parser(text) is not None
    digits = schema.matches.get(name) == "NumericalStringMatch"
    return any(sign.isdigit() if digits else sign.isalnum() for sign in text)


def _gold_spans(document: DocumentWords, records: list[Row], schema: Schema) -> list[GoldSpan]:
    """The spans of the gold records of a document: in their boxes, else of equal value."""
    spans = []
    for record in (row for row in records if None not in (row["value"], row["path"])):
        item = record["path"].rpartition("/")[0]
        item = item if item.count("/") > 1 else ""
        boxes = filter(None, map(fractions, meta_of(record).get("boxes", ())))
        sure = [span for box in boxes for span in _in_box(document, *box)]
        places = sure or list(_of_value(document, record, schema))
        spans += [GoldSpan(record["kind"], item, span, bool(sure)) for span in places]
    return spans


def _in_box(document: DocumentWords, page: int, corners: tuple[float, ...]) -> Iterator[Span]:
    (x0, y0, x1, y1), ratio = corners, document.ratio(page + 1)

    def holds(word: Run) -> bool:
        across, down = (word.x0 + word.x1) / 2, (word.y0 + word.y1) / 2 / ratio
        return x0 <= across <= x1 and y0 <= down <= y1

    for cell in (cell for cell in document.cells if cell.page == page + 1):
        if places := [place for place, word in enumerate(cell.words) if holds(word)]:
            yield Span(cell, places[0], places[-1] + 1)


def _of_value(document: DocumentWords, record: Row, schema: Schema) -> Iterator[Span]:
    match = schema.matches.get(record["kind"], "")
    is_typed = schema.type_of(record["kind"]) in ("date", "money")
    value, letters = record["value"], _letters(record["value"])
    compare = comparator(match, "fixed") if is_typed else None
    for span in (span for cell in document.cells for span in _spans(cell, is_typed)):
        text = span.run.text
        if compare is None:
            is_equal = _letters(text) == letters
        else:
            is_equal = any(map(str.isdigit, text)) and compare(value, text, None)
        if is_equal:
            yield span


def _letters(text: str) -> str:
    return "".join(sign for sign in text.casefold() if sign.isalnum())


def _spans(cell: Cell, is_typed: bool) -> Iterator[Span]:
    longest = _SHORT if is_typed else _LONG
    for start in range(len(cell.words)):
        for stop in range(start + 1, min(start + longest, len(cell.words)) + 1):
            yield Span(cell, start, stop)


def _records(document: DocumentWords, candidates: Candidates, schema: Schema) -> Iterator[Row]:
    for name, spans in candidates.items():
        if spans and schema.patterns.get(name) == UNREPEATED:
            # The first of those that are equally sure.
            span, confidence = max(spans, key=lambda pair: pair[1])
            yield document.record(f"/{escape(name)}", name, span, confidence)
    for name in schema.names(REPEATED):
        for number, (span, confidence) in enumerate(candidates.get(name, ())):
            yield document.record(f"/{escape(name)}/{number}", name, span, confidence)
    for group in schema.groups:
        spans = {name: candidates[name] for name in schema.names(group) if candidates.get(name)}
        for number, item in enumerate(_line_items(spans)):
            for name, (span, confidence) in item.items():
                path = f"/{escape(group)}/{number}/{escape(name)}"
                yield document.record(path, name, span, confidence)


def _line_items(candidates: Candidates) -> list[dict[str, tuple[Span, float]]]:
    """The components in one line together, from left to right."""
    lines: dict[int, dict[str, tuple[Span, float]]] = defaultdict(dict)
    components = [(name, pair) for name, pairs in candidates.items() for pair in pairs]
    for name, pair in sorted(components, key=lambda component: component[1][0].run.x0):
        lines[pair[0].cell.row].setdefault(name, pair)
    # A line with one of several components is more often a total or a heading.
    return [lines[row] for row in sorted(lines) if len(lines[row]) >= min(2, len(candidates))]
