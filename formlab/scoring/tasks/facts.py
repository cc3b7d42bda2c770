"""Scores of tagged facts: each fact in its page, and the page's text and structure."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from formlab import metrics, tables, text
from formlab.benchmarks.fincriticaled import FACTS, fact_meta, untagged
from formlab.metrics import facts as family
from formlab.metrics.facts import MISSING, FactVerdict, locate, match_facts
from formlab.metrics.judge import by_substring
from formlab.metrics.places import Places
from formlab.metrics.structure import structure
from formlab.scoring.causes import STAGES, cause
from formlab.scoring.tasks._kit import Scoring, TaskScores, text_rows
from formlab.tables import BOX, USABLE
from formlab.text.flow import Flow, read
from formlab.text.markup import is_html, visible_text, written_events

_TYPED = {"monetary_unit": "money", "temporal": "date", "number": "number"}
# Equation 4: facts are numbers and dates.
_OF_PAPER = ("number", "temporal")
_NO_PAGE = {"value": "", "status": "missing", "origin": None}
Row = dict[str, Any]
# Text and box of a word, by line.
Lines = dict[str, list[tuple[str, tuple[float, ...]]]]


class Page(NamedTuple):
    """The cases of a page's facts and of its text, the verdicts, and what of its HTML is scored.

    `gold` is its HTML without tags of facts, `structure` the score of its structure.
    """

    facts: list[Row]
    whole: Row
    verdicts: list[FactVerdict]
    gold: str
    pred: str
    structure: int


def score(scoring: Scoring) -> TaskScores:
    """Every fact and every page.

    In mode `fixed` a fact must stand in its context in the page's text; in mode `official` its
    text anywhere counts, as in the released code. Both definitions of accuracy are given: of the
    gold facts (`fact_accuracy`, the paper's) and of those found (`fact_accuracy_of_found`). The
    paper's facts are numbers and dates (`number_date_accuracy`), the release has five kinds. The
    text of a page is compared as it is shown, which the released code does, and its HTML as it is
    written (metrics that end in ``_html``), which the paper does; plain text is compared with the
    HTML as it is.
    """
    corpus, records = scoring.corpus, scoring.predictions.records
    notes: Counter[str] = Counter()
    predicted, words = _predicted_pages(records, notes), words_of(records)
    golds = corpus.records.partition_by("doc_id", as_dict=True, maintain_order=True)
    pages = []
    for document in corpus.documents.iter_rows(named=True):
        doc_id = document["doc_id"]
        if (gold := golds.get((doc_id,))) is None:
            notes["documents without gold"] += 1
            continue
        page = _page(document, gold, predicted.get(doc_id, _NO_PAGE), scoring.mode, notes)
        read_boxes([*page.facts, page.whole], words.get(doc_id, {}))
        pages.append(page)
    cases = _cases([row for page in pages for row in (*page.facts, page.whole)], scoring)
    return TaskScores.of([cases], _scores(scoring, cases, pages), notes)


def _predicted_pages(records: pl.DataFrame, notes: Counter[str]) -> dict[str, Row]:
    """The page of each document that was predicted."""
    records = records.filter(pl.col("task") != "layout")
    rows = records.filter(pl.col("path").is_null()).select("doc_id", "value", "status", "origin")
    notes["predicted values beside the pages, not scored"] += records.height - rows.height
    pages: dict[str, Row] = {}
    for row in rows.iter_rows(named=True):
        value = row["value"] if row["status"] in USABLE else None
        notes["empty predictions"] += value is not None and not value.strip()
        pages.setdefault(row["doc_id"], row | {"value": value or ""})
    return pages


def _page(document: Row, gold: pl.DataFrame, pred: Row, mode: str, notes: Counter[str]) -> Page:
    base = {key: document[key] for key in ("benchmark", "split", "doc_id")}
    base |= {"task": "fact", "page": 1, "status": pred["status"], "pred_origin": pred["origin"]}
    of_page = gold.filter(pl.col("path").is_null())
    markup = of_page["value"].first() or ""
    facts = gold.filter(pl.col("path").is_not_null()).to_dicts()
    verdicts, signed = _verdicts(markup, facts, pred["value"], mode, notes)
    same = ("path", "kind", *BOX)
    rows = [
        base
        | {name: fact[name] for name in same}
        | {f"gold_{name}": fact[name] for name in ("origin", "status")}
        | {"level": "fact", "gold": fact["value"], "pred": verdict.text or None}
        | {"outcome": _outcome(verdict.correct, verdict.found), "misplaced": verdict.misplaced}
        | {"why": _why(fact["value"], written, verdict)}
        for fact, verdict, written in zip(facts, verdicts, signed, strict=True)
    ]
    texts = visible_text(markup), visible_text(pred["value"])
    whole = base | {"level": "page", "kind": "page", "gold": texts[0], "pred": texts[1]}
    whole |= {"gold_origin": of_page["origin"].first(), "misplaced": False}
    whole["outcome"] = _outcome(texts[0] == texts[1], bool(texts[1]))
    plain = bool(pred["value"].strip()) and not is_html(pred["value"])
    notes["predictions without markup, compared with HTML as they are"] += plain
    points = structure(markup, pred["value"])
    return Page(rows, whole, verdicts, untagged(markup), pred["value"], points)


def _verdicts(
    markup: str, facts: list[Row], pred: str, mode: str, notes: Counter[str]
) -> tuple[list[FactVerdict], list[str | None]]:
    """A verdict on each fact, and its figure with the sign that it has on the page, if it is one.

    A tag may hold a figure and leave its brackets outside.
    """
    unsigned: list[str | None] = [None] * len(facts)
    if mode == "official":
        return by_substring([fact["value"] for fact in facts], pred), unsigned
    if not pred.strip():
        return [MISSING] * len(facts), unsigned
    page = Places(Flow(written_events(markup), tags=FACTS))
    targets = [locate(page, fact["kind"], fact["value"], fact_meta(fact).mark) for fact in facts]
    notes["facts that the page does not show"] += targets.count(None)
    signed = [page.figure(fact.first, fact.last) if fact else None for fact in targets]
    return match_facts(page, targets, Places(read(pred))), signed


def _why(value: str, written: str | None, verdict: FactVerdict) -> str | None:
    """The cause of a wrong figure from its sign on the page; None where the texts decide."""
    if verdict.correct or not verdict.text:
        return None
    # The same figure twice, read once: the place that is there is another fact's.
    if verdict.misplaced or value == written == verdict.text:
        return "wrong_row"
    numbers = text.number(written or ""), text.number(verdict.text)
    if None in numbers:
        return None
    return cause(written or "", verdict.text, right=numbers[0] == numbers[1])


def _outcome(right: bool, found: bool) -> str:
    return "match" if right else "mismatch" if found else "missing"


def _cases(rows: list[Row], scoring: Scoring) -> pl.DataFrame:
    if not rows:
        return tables.table("cases", [])
    frame = pl.DataFrame(rows, infer_schema_length=None)
    frame = frame.with_columns(pl.selectors.by_dtype(pl.Null).cast(pl.String))
    kinds = pl.col("kind").replace_strict(_TYPED, default="string")
    done = scoring.judged(frame.with_columns(kinds))
    # A value that stands in its place may be written otherwise; it is not wrong.
    right = (pl.col("outcome") == "match") & ~pl.col("cause").is_in(STAGES["form"])
    cause = pl.coalesce(frame["why"], pl.when(~right.fill_null(False)).then("cause"))
    return done.with_columns(frame["kind"], cause.alias("cause"))


def _scores(scoring: Scoring, cases: pl.DataFrame, pages: list[Page]) -> Iterator[pl.DataFrame]:
    facts, whole = cases.filter(level="fact"), cases.filter(level="page")
    scored = (facts["outcome"] != "unscored").to_list()
    facts, verdicts = facts.filter(scored), [v for page in pages for v in page.verdicts]
    if facts.height:
        rule = "match=context" if scoring.mode == "fixed" else "match=substring"
        counts = family.counts([v for v, counts in zip(verdicts, scored, strict=True) if counts])
        for name, tallies in counts.items():
            per = "per=found" if name == "fact_accuracy_of_found" else "per=gold"
            yield scoring.rows(facts, metrics.get(name), tallies, per, rule, level="fact")
            if name == "fact_accuracy" and (of_paper := facts["kind"].is_in(_OF_PAPER)).any():
                metric, rows = metrics.get("number_date_accuracy"), facts.filter(of_paper)
                rules = per, rule, "of=numbers and dates"
                yield scoring.rows(rows, metric, tallies[of_paper], *rules, level="fact")
    if not whole.height:
        return
    options: dict[str, Any] = {"task": "fact", "level": "page", "norm": False}
    yield from text_rows(scoring, whole, **options)
    sides = {side: pl.Series([getattr(page, side) for page in pages]) for side in ("gold", "pred")}
    yield from text_rows(scoring, whole.with_columns(**sides), view="markup", **options)
    tallies = np.array([(page.structure, 1) for page in pages], dtype=float)
    yield scoring.rows(whole, metrics.get("structure_score"), tallies, level="page")


def words_of(records: pl.DataFrame) -> dict[str, Lines]:
    """The words on each page by line, as texts without white space with their boxes."""
    words = records.filter(pl.col("task") == "layout", pl.col("kind") == "word").drop_nulls(BOX)
    pages: dict[str, Lines] = defaultdict(lambda: defaultdict(list))
    for doc_id, path, word, *box in words.select("doc_id", "path", "value", *BOX).iter_rows():
        pages[doc_id][path.partition("/words/")[0]].append((_packed(word or ""), tuple(box)))
    return pages


def _packed(text: str) -> str:
    return "".join(text.split()).lower()


def places_of(text: str, lines: Lines) -> list[tuple[float, ...]]:
    """The boxes of every place where `text` stands on one line, figures whole.

    >>> lines = {"/lines/0": [("sales", (0, 0, 5, 1)), ("15", (6, 0, 8, 1))]}
    >>> places_of("Sales 15", lines), places_of("5", lines)
    ([(0, 0, 8, 1)], [])
    """
    if not (target := _packed(text)):
        return []
    # Looked for ahead, so that places may overlap; no figure goes on at either side.
    edge = r"(?:(?<![\d.,])|(?![\d.,]))"
    pattern, places = re.compile(f"(?={edge}{re.escape(target)}{edge})"), []
    for words in lines.values():
        boxes = [box for word, box in words for _ in word]
        for match in pattern.finditer("".join(word for word, _ in words)):
            x0, y0, x1, y1 = zip(*boxes[match.start() : match.start() + len(target)], strict=True)
            places.append((min(x0), min(y0), max(x1), max(y1)))
    return places


def read_boxes(rows: Iterable[Row], lines: Lines) -> None:
    """Add to each case of one page the predicted box, where it is known.

    Of several places of a text, the one closest to the gold box is taken; without a gold box, and
    for a value in a wrong row, a text is placed only where it stands once.
    """
    for row in rows if lines else ():
        places = places_of(row["pred"] or "", lines)
        if len(places) > 1 and row.get("x0") is not None and not row["misplaced"]:
            x, y = row["x0"] + row["x1"], row["y0"] + row["y1"]
            places = [min(places, key=lambda b: (b[0] + b[2] - x) ** 2 + (b[1] + b[3] - y) ** 2)]
        if len(places) == 1:
            row |= zip((f"pred_{side}" for side in BOX), places[0], strict=True)
