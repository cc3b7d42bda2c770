"""Annotations of facts with Label Studio: its tasks, its exports, checks, several annotators."""

from __future__ import annotations

import base64
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from xml.sax.saxutils import quoteattr

import msgspec
import polars as pl

from formlab import files
from formlab.errors import DataBroken, UnknownName
from formlab.files import convert, storable
from formlab.folders import Corpus
from formlab_review._spans import LABELS, PageText, Span, without_tags
from formlab_review.agreement import NOTHING
from formlab_review.fact_checks import AnnotationFault, of_mark, of_page

# The paper's two types of facts; the released files know four more.
PAPER_LABELS = ("Number", "Date")
HTML_KEYS = ("matched_html", "html", "text")
_NEEDED = ("start", "startOffset", "endOffset", "text")
_MARKS = ("hypertextlabels", "labels")


class _Task(msgspec.Struct):
    annotations: list[dict[str, Any]] | None = None


class _Annotation(msgspec.Struct):
    result: list[Any] | None = None


class _Value(msgspec.Struct):
    hypertextlabels: list[str] | None = None
    labels: list[str] | None = None


__all__ = ["Annotations", "Span", "labelling_config", "ratings", "read", "tasks"]


def labelling_config(labels: Iterable[str] = PAPER_LABELS) -> str:
    """Label Studio's labelling interface: the page's HTML to mark in, its image beside it.

    Raises
    ------
    UnknownName
        For a label without a fact tag.

    Examples
    --------
    >>> '<Label value="Date" hotkey="2"/>' in labelling_config()
    True
    """
    buttons = []
    for number, label in enumerate(labels, start=1):
        if label not in LABELS:
            raise UnknownName.of("label", label, LABELS)
        buttons.append(f'      <Label value={quoteattr(label)} hotkey="{number}"/>')
    return "\n".join([
        '<View style="display: flex; gap: 1em">', '  <View style="flex: 1">',
        '    <HyperTextLabels name="label" toName="page">', *buttons,
        "    </HyperTextLabels>", '    <HyperText name="page" value="$html"/>', "  </View>",
        '  <View style="flex: 1">', '    <Image name="image" value="$image" zoomControl="true"/>',
        "  </View>", "</View>", "",
    ])  # fmt: skip


def tasks(corpus: Corpus, *, image_url: str | None = None) -> list[dict[str, Any]]:
    """A Label Studio task for each page of a corpus, without its fact tags.

    Parameters
    ----------
    corpus
        Pages in FinCriticalED's layout; with or without facts.
    image_url
        What comes before the name of a page's image in its address. Without it the image itself
        is in the task.

    Examples
    --------
    >>> from formlab import benchmarks
    >>> tasks(benchmarks.load("fincriticaled"), image_url="/files/")[3]["data"]["image"]
    '/files/images/3.png'
    """
    pages = corpus.records.filter(pl.col("path").is_null()).select("doc_id", "value")
    rows = corpus.documents.join(pages, on="doc_id", maintain_order="left")
    made = []
    for row in rows.iter_rows(named=True):
        data = {"doc_id": row["doc_id"], "html": without_tags(row["value"])}
        data["image"] = _image(corpus, row["image"], image_url)
        if row["domain"]:
            data["document_type"] = row["domain"]
        made.append({"data": data})
    return made


def _image(corpus: Corpus, name: str | None, image_url: str | None) -> str:
    if name is None:
        return ""
    if image_url is not None:
        return f"{image_url}{name}"
    content = base64.b64encode(files.read_bytes(corpus.root / name)).decode()
    return f"data:image/{Path(name).suffix[1:]};base64,{content}"


@dataclass(slots=True)
class Annotations:
    """What is in the exports of one project.

    `pages` has each page's text by `doc_id`, `data` what its task says of it besides, `seen` who
    annotated it; `spans` are the marks that have a place, and `problems` what is wrong.
    """

    pages: dict[str, PageText] = field(default_factory=dict)
    data: dict[str, dict[str, Any]] = field(default_factory=dict)
    seen: dict[str, list[str]] = field(default_factory=dict)
    spans: list[Span] = field(default_factory=list)
    problems: list[AnnotationFault] = field(default_factory=list)

    def report(self, where: str, page: str, who: str, what: str, remedy: str) -> None:
        """Add a problem."""
        task = self.data[page]["task"]
        self.problems.append(AnnotationFault(where, task, page, who, what, remedy))

    def without(self, annotator: str | None) -> Annotations:
        """The same without one annotator, whose marks are not compared with the others'.

        Raises
        ------
        UnknownName
            If nobody of that name annotated a page.
        """
        known = sorted({name for names in self.seen.values() for name in names})
        if annotator is not None and annotator not in known:
            raise UnknownName.of("annotator", annotator, known)
        seen = {
            page: [who for who in names if who != annotator] for page, names in self.seen.items()
        }
        spans = [span for span in self.spans if span.annotator != annotator]
        return Annotations(self.pages, self.data, seen, spans, self.problems)


def read(*paths: Path) -> Annotations:
    """Exports of one Label Studio project, as JSON or JSON-MIN, with what is wrong in them.

    A page is known by its task's `doc_id`, else by the task's number; an annotator by address if
    the export has it, else by number. Of two annotations of a page by one person the later counts.

    Raises
    ------
    DataMissing, DataBroken
        If a file is absent or not a list of tasks; the message names the task.

    Examples
    --------
    >>> from formlab import resources
    >>> folder = resources.folder("data/sample") / "fincriticaled" / "annotations"
    >>> made = read(folder / "label_studio.json")
    >>> made.seen["3"], made.spans[0].text, made.problems[0].what
    (['2', '3', '4'], 'March 1, 2025', "the sign of '40,598' is outside the mark")
    """
    result = Annotations()
    marks: dict[tuple[str, str], list[Span]] = {}
    for path in paths:
        exported = files.read_json(path)
        convert(exported, list[_Task], where=path, remedy="an export of Label Studio as JSON")
        for number, task in enumerate(exported):
            where = f"{path}#/{number}"
            page = _page(task, where, result)
            for at, annotation in enumerate(_annotations_of(task)):
                place = f"{where}/annotations/{at}"
                convert(annotation, _Annotation, where=place)
                who = annotation.get("completed_by")
                who = str(who.get("email") or who.get("id") if isinstance(who, dict) else who)
                who = storable(who)
                if annotation.get("was_cancelled"):
                    result.report(place, page, who, "skipped by the annotator", "annotate it")
                    continue
                if who in result.seen[page]:
                    what = "annotated again by the same person"
                    result.report(place, page, who, what, "the later annotation counts")
                else:
                    result.seen[page].append(who)
                marks[page, who] = _spans(annotation, place, page, who, result)
    result.spans = [span for spans in marks.values() for span in spans]
    for (page, who), spans in marks.items():
        for fault in of_page(spans):
            result.report(result.data[page]["where"], page, who, *fault)
    for page, names in result.seen.items():
        if len(names) < 2:
            what = "annotated by one person only" if names else "not annotated"
            remedy = "each page is annotated by two people"
            result.report(result.data[page]["where"], page, "", what, remedy)
    return result


def _page(task: Any, where: str, result: Annotations) -> str:
    """The name of a task's page, which is added to the pages."""
    data = task.get("data", task) if isinstance(task, dict) else None
    data = data if isinstance(data, dict) else {}
    key = next((key for key in HTML_KEYS if isinstance(data.get(key), str)), None)
    if key is None:
        what, remedy = "a task without HTML", f"a key {HTML_KEYS[0]}"
        raise DataBroken(what, where=f"{where}/data", remedy=remedy)
    page = storable(str(data.get("doc_id", task.get("id", where.rpartition("/")[2]))))
    if page not in result.pages:
        result.pages[page], result.seen[page] = PageText(data[key]), []
        known = {"document_type": data.get("document_type"), "task": str(task.get("id", ""))}
        result.data[page] = {"where": where} | known
    elif result.pages[page].markup != data[key]:
        what = f"page {page} has other HTML at {result.data[page]['where']}"
        raise DataBroken(what, where=where, remedy="exports of one project")
    return page


def _annotations_of(task: dict[str, Any]) -> list[Any]:
    if "annotator" not in task:
        return task.get("annotations") or []
    # JSON-MIN: a row for each annotation, its marks under the name of the control.
    values = [value for values in task.values() if isinstance(values, list) for value in values]
    return [{"completed_by": task["annotator"], "result": [{"value": value} for value in values]}]


def _spans(
    annotation: dict[str, Any], where: str, page: str, who: str, result: Annotations
) -> list[Span]:
    """One person's marks on a page; what has no label or no place is reported."""
    spans, text = [], result.pages[page]
    for at, mark in enumerate(annotation.get("result") or []):
        place = f"{where}/result/{at}"
        value = mark.get("value") if isinstance(mark, dict) else None
        if not isinstance(value, dict) or mark.get("type", _MARKS[0]) not in _MARKS:
            continue
        convert(value, _Value, where=place)
        labels = value.get("hypertextlabels") or value.get("labels") or []
        missing = [] if labels else ["label"]
        missing += [name for name in _NEEDED if value.get(name) is None]
        if missing:
            what = f"a mark without {', '.join(missing)}"
            result.report(place, page, who, what, "mark it again")
        ends = text.place(value) if labels else None
        if labels and ends is None:
            what = f"{value.get('text')!r:.80} is not at its place"
            remedy = "export the page as it was annotated, or mark it again"
            result.report(place, page, who, what, remedy)
        if ends is not None:
            paths = str(value.get("start")), str(value.get("end"))
            label = storable(labels[0])
            spans.append(Span(page, who, label, *ends, text.text[slice(*ends)], *paths))
            for fault in of_mark(text, spans[-1]):
                result.report(place, page, who, *fault)
    return spans


def ratings(
    annotations: Annotations, *, level: str = "entity", mode: str = "fixed"
) -> pl.DataFrame:
    """What each annotator says of each item, for `fact_agreement`.

    Parameters
    ----------
    annotations
        Of m annotators, as from `read`.
    level
        ``entity``: the places that somebody marked; ``token``: every word of the pages.
    mode
        In ``official`` an entity is known by its text nodes alone, as in the released script, so
        that of several facts in one node the last counts; in ``fixed`` by its characters.

    Returns
    -------
    polars.DataFrame
        `doc_id item` and a column per annotator with the label or ``none``; null where he or she
        did not see the page.

    Examples
    --------
    >>> from formlab import resources
    >>> folder = resources.folder("data/sample") / "fincriticaled" / "annotations"
    >>> ratings(read(folder / "label_studio.json")).row(0)
    ('3', '59|72', 'Date', 'Date', 'none')
    """
    items: dict[tuple[str, str], dict[str, str]] = {}
    by_page: dict[str, list[Span]] = {}
    for span in annotations.spans:
        by_page.setdefault(span.page, []).append(span)
    for page, spans in by_page.items() if level == "entity" else ():
        for span in spans:
            ends = (span.start, span.end) if mode == "official" else (span.first, span.last)
            items.setdefault((page, "|".join(map(str, ends))), {})[span.annotator] = span.label
    for page, text in annotations.pages.items() if level == "token" else ():
        for first, last in text.words():
            item = items[page, f"{first}|{last}"] = {}
            for span in by_page.get(page, ()):
                if span.first < last and first < span.last:
                    item[span.annotator] = span.label
    who = sorted({name for names in annotations.seen.values() for name in names})
    rows = [
        {"doc_id": page, "item": item}
        | {n: labels.get(n, NOTHING if n in annotations.seen[page] else None) for n in who}
        for (page, item), labels in items.items()
    ]
    return pl.DataFrame(rows, schema=dict.fromkeys(("doc_id", "item", *who), pl.String))
