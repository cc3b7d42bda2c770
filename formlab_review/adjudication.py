"""From several annotators to gold: what they agree on, what the lead decides, the pages."""

import re
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from formlab import files
from formlab.benchmarks.corpus import meta_of
from formlab.errors import DataBroken
from formlab.folders import Corpus
from formlab_review._spans import LABELS, PageText, Span
from formlab_review.annotation import Annotations

_NUMBER = re.compile("0|[1-9][0-9]{0,8}")
Reading = tuple[tuple[int, int, str], ...]
_COLUMNS = ("doc_id", "first", "last", "label", "text", "by")
__all__ = ["Entity", "decisions_of_lead", "entities", "facts", "queue", "read_decisions",
           "review_sample", "write_gold"]  # fmt: skip


class Entity(NamedTuple):
    """A place on a page with the marks that overlap there, by annotator.

    `share` of the annotators who saw the page have the same marks; `majority` are those of more
    than half of them, None if there are none.
    """

    page: str
    first: int
    last: int
    readings: dict[str, Reading]
    share: float
    majority: Reading | None

    def open(self, threshold: float) -> bool:
        """Whether the lead has to decide."""
        return self.majority is None or self.share < threshold


def entities(annotations: Annotations) -> list[Entity]:
    """The places that somebody marked, in the order of the pages."""
    by_page: dict[str, list[Span]] = {page: [] for page in annotations.seen}
    for span in sorted(annotations.spans, key=lambda span: span.first):
        by_page[span.page].append(span)
    listed = []
    for page, spans in by_page.items():
        clusters: list[list[Span]] = []
        for span in spans:
            if clusters and span.first < max(other.last for other in clusters[-1]):
                clusters[-1].append(span)
            else:
                clusters.append([span])
        listed += [_entity(page, cluster, annotations.seen[page]) for cluster in clusters]
    return listed


def _entity(page: str, spans: Sequence[Span], who: Sequence[str]) -> Entity:
    readings: dict[str, Reading] = {
        name: tuple(sorted({(s.first, s.last, s.label) for s in spans if s.annotator == name}))
        for name in who
    }
    same = {reading: list(readings.values()).count(reading) for reading in readings.values()}
    best = max(same, key=lambda reading: same[reading])
    share = same[best] / len(readings)
    ends = min(s.first for s in spans), max(s.last for s in spans)
    return Entity(page, *ends, readings, share, best if share > 0.5 else None)


def queue(annotations: Annotations, *, threshold: float = 1.0) -> list[dict[str, Any]]:
    """What the lead has to decide: a row for each entity whose agreement is too low.

    Parameters
    ----------
    annotations
        Of m annotators, without the lead.
    threshold
        Entities with a lower share of equal annotators are queued, in [0, 1]; 1 queues every
        disagreement, and what no majority supports is queued always.

    Returns
    -------
    list of dict
        `doc_id first last context readings share decision by note`. `readings` are each
        annotator's facts as [label, text]; `decision` is null until the lead writes an annotator's
        name there or the facts that are right, in the same notation, [] for none.

    Examples
    --------
    >>> from formlab import resources
    >>> from formlab_review.annotation import read
    >>> folder = resources.folder("data/sample") / "fincriticaled" / "annotations"
    >>> made = read(folder / "label_studio.json").without("4")
    >>> [row["readings"] for row in queue(made)][1]
    {'2': [['Number', '311,000']], '3': [['Number', '$311,000']]}
    """
    rows = []
    for entity in entities(annotations):
        if not entity.open(threshold):
            continue
        page = annotations.pages[entity.page]
        notation = {
            name: [[label, page.text[first:last]] for first, last, label in reading]
            for name, reading in entity.readings.items()
        }
        first, last = entity.first, entity.last
        rows.append(
            {"doc_id": entity.page, "first": first, "last": last}
            | {"context": page.context(first, last), "readings": notation, "share": entity.share}
            | {"decision": None, "by": None, "note": None}
        )
    return rows


def in_short(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, str]]:
    """The rows of a queue with `doc_id`, `context` and a text for each annotator's facts."""
    return [
        {"doc_id": row["doc_id"], "context": row["context"]}
        | {
            name: "; ".join(map(": ".join, facts)) or "none"
            for name, facts in row["readings"].items()
        }
        for row in rows
    ]


Decisions = dict[tuple[str, int, int], tuple[Reading, str]]


def decisions_of_lead(annotations: Annotations, lead: str, *, threshold: float = 1.0) -> Decisions:
    """What the lead's own annotation says where the others' agreement is too low.

    What the lead alone marked, where the others marked nothing, counts as well. On pages that the
    lead did not annotate nothing is decided.

    Raises
    ------
    UnknownName
        If nobody of that name annotated a page.
    """
    marks = {page: [] for page, names in annotations.seen.items() if lead in names}
    for span in annotations.spans:
        if span.annotator == lead:
            marks[span.page].append((span.first, span.last, span.label))
    decided: Decisions = {}
    for entity in entities(annotations.without(lead)):
        page, first, last = entity[:3]
        here = [mark for mark in marks.get(page, ()) if mark[0] < last and first < mark[1]]
        if page in marks:
            marks[page] = [mark for mark in marks[page] if mark not in here]
            if entity.open(threshold):
                decided[page, first, last] = tuple(sorted(here)), lead
    alone = ((page, mark) for page, left in marks.items() for mark in left)
    return decided | {(page, *mark[:2]): ((mark,), lead) for page, mark in alone}


def read_decisions(path: Path, annotations: Annotations) -> Decisions:
    """The decided lines of a queue's file; those whose `decision` is null are passed over.

    Raises
    ------
    DataMissing, DataBroken
        At the first line that is about no entity of the annotations, or has no sound decision.
    """
    known = {tuple(map(str, entity[:3])): entity for entity in entities(annotations)}
    decided: Decisions = {}
    for number, row in files.each_jsonl(path):
        decision, where = row.get("decision"), f"{path}:{number}"
        if decision is None:
            continue
        entity = known.get(tuple(str(row.get(name)) for name in ("doc_id", "first", "last")))
        if entity is None:
            what = "no entity of the annotations stands there"
            raise DataBroken(what, where=where, remedy="make the queue again from these exports")
        if not isinstance(decision, str):
            reading = _located(decision, annotations.pages[entity.page], entity, where)
        elif decision in entity.readings:
            reading = entity.readings[decision]
        else:
            what = f"unknown annotator {decision!r:.80}"
            remedy = f"one of: {', '.join(entity.readings)}, or a list of [label, text]"
            raise DataBroken(what, where=where, remedy=remedy)
        decided[entity[:3]] = reading, str(row.get("by") or "lead")
    return decided


def _located(decision: Any, page: PageText, entity: Entity, where: str) -> Reading:
    """The facts of a decision, each at the place of its text that overlaps the entity."""
    reading = []
    for fact in decision if isinstance(decision, list) else [decision]:
        if not isinstance(fact, list) or len(fact) != 2 or fact[0] not in LABELS:
            what = "a decision is an annotator or a list of [label, text]"
            raise DataBroken(what, where=where, remedy=f"labels: {', '.join(LABELS)}")
        label, text = fact[0], str(fact[1])
        taken = max((last for _, last, _ in reading), default=0)
        first = page.text.find(text, max(taken, entity.first - len(text) + 1, 0)) if text else -1
        if not 0 <= first < entity.last:
            raise DataBroken(f"{text!r:.80} does not stand there", where=where)
        reading.append((first, first + len(text), label))
    return tuple(reading)


def facts(
    annotations: Annotations, decided: Mapping[tuple[str, int, int], tuple[Reading, str]],
    *, threshold: float = 1.0,
) -> tuple[pl.DataFrame, list[Entity]]:  # fmt: skip
    """The gold facts, and the entities on which nobody has decided.

    Parameters
    ----------
    annotations
        Of m annotators, without the lead.
    decided
        As from `read_decisions` or `decisions_of_lead`; it overrules the annotators.
    threshold
        As for `queue`.

    Returns
    -------
    (polars.DataFrame, list of Entity)
        `doc_id first last label text by`, where `by` is ``all``, ``majority`` or who decided.

    Examples
    --------
    >>> from formlab import resources
    >>> from formlab_review.annotation import read
    >>> folder = resources.folder("data/sample") / "fincriticaled" / "annotations"
    >>> made = read(folder / "label_studio.json")
    >>> table, undecided = facts(made.without("4"), decisions_of_lead(made, "4"))
    >>> table.height, table.filter(by="4")["text"].to_list(), undecided
    (54, ['18 months', '311,000', '2024', '(40,598)', '1 1/4'], [])
    """
    rows, undecided, added = [], [], dict(decided)
    for entity in entities(annotations):
        reading, by = added.pop(entity[:3], (None, ""))
        if reading is None:
            if entity.open(threshold):
                undecided.append(entity)
                continue
            reading, by = entity.majority or (), "all" if entity.share == 1 else "majority"
        rows += [(entity.page, *mark, by) for mark in reading]
    rows += [(key[0], *mark, by) for key, (reading, by) in added.items() for mark in reading]
    rows = [
        (page, first, last, label, annotations.pages[page].text[first:last], by)
        for page, first, last, label, by in rows
    ]
    schema = dict.fromkeys(_COLUMNS, pl.String) | {"first": pl.Int64, "last": pl.Int64}
    table = pl.DataFrame(rows, schema=schema, orient="row")
    return table.sort("doc_id", "first", maintain_order=True), undecided


def write_gold(
    annotations: Annotations, table: pl.DataFrame, out: Path, *, source: Corpus | None = None
) -> int:
    """Write pages with their facts as tags in FinCriticalED's layout, and count the pages.

    ``facts.jsonl`` beside them says of each fact who decided on it. Images come from `source`, the
    corpus that the tasks were made of.

    Raises
    ------
    DataBroken
        If the folder has gold pages already, or a tag would cut another element in two.
    """
    if any(out.glob("gold_*")):
        raise DataBroken("this folder holds gold pages already", where=out, remedy="another --out")
    numbered = all(_NUMBER.fullmatch(page) for page in annotations.pages)
    pages = () if source is None else source.documents.select("doc_id", "image").iter_rows()
    images = dict(pages)
    for number, (page, text) in enumerate(annotations.pages.items()):
        name = page if numbered else str(number)
        rows = table.filter(doc_id=page).select("first", "last", "label").rows()
        for first, last, label in rows:
            if label not in LABELS or not text.in_one_element(first, last):
                what = f"{label} {text.text[first:last]!r:.60} cannot be a tag of page {page}"
                remedy = "decide on it otherwise; formlab annotate check says why"
                raise DataBroken(what, where=annotations.data[page]["where"], remedy=remedy)
        files.write_text(out / f"gold_{name}.txt", text.tagged(rows))
        meta = {"document_type": annotations.data[page]["document_type"]}
        meta |= {} if numbered else {"doc_id": page}
        if known := {key: value for key, value in meta.items() if value}:
            files.write_json(out / f"meta_{name}.json", known)
        if source is not None and images.get(page):
            image = source.root / str(images[page])
            with files.atomic(out / "images" / f"{name}{image.suffix}") as copy:
                shutil.copyfile(image, copy)
    files.write_jsonl(out / "facts.jsonl", table.iter_rows(named=True))
    return len(annotations.pages)


def review_sample(
    corpus: Corpus, *, share: float = 0.05, every: int = 100, seed: int = 0
) -> pl.DataFrame:
    """A seeded sample of gold facts for a domain expert: a share of each batch of pages.

    Parameters
    ----------
    corpus
        Gold pages.
    share
        Of the facts of each batch, in (0, 1]; rounded up.
    every
        Pages in a batch.
    seed
        The same seed draws the same facts.

    Returns
    -------
    polars.DataFrame
        `doc_id path type value context right note`; the last two are for the expert.

    Examples
    --------
    >>> from formlab import benchmarks
    >>> review_sample(benchmarks.load("fincriticaled")).height
    14
    """
    pages = corpus.documents.select("doc_id", batch=pl.int_range(pl.len()) // every)
    table = corpus.records.filter(pl.col("path").is_not_null()).join(
        pages, on="doc_id", maintain_order="left"
    )
    names, blank = ("doc_id", "path", "type", "value", "context", "right", "note"), (None, None)
    rows = [
        (*map((meta_of(row) | row).get, ("doc_id", "path", "type", "value", "hint")), *blank)
        for batch in table.with_row_index("at").partition_by("batch", maintain_order=True)
        for row in batch.sample(-int(-len(batch) * share // 1), seed=seed).sort("at").to_dicts()
    ]
    return pl.DataFrame(rows, schema=dict.fromkeys(names, pl.String), orient="row")
