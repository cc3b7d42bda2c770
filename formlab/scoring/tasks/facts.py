"""Scores of tagged facts: each fact in its page, and the page's text and structure."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
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
from formlab.scoring.tasks._kit import Scoring, TaskScores, scorer, text_rows
from formlab.tables import BOX, USABLE
from formlab.text.flow import Flow, read
from formlab.text.markup import is_html, visible_text, written_events

_TYPED = {"monetary_unit": "money", "temporal": "date", "number": "number"}
_PAGES = 64
# Equation 4: facts are numbers and dates.
_OF_PAPER = ("number", "temporal")
Row = dict[str, Any]


class PageMarkup(NamedTuple):
    """A page's HTML without tags of facts, what was read of it, and the score of its structure."""

    gold: str
    pred: str
    structure: int


@scorer()
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
    pages, words = _predicted_pages(records, notes), words_of(records)
    cases: list[pl.DataFrame] = []
    verdicts: list[FactVerdict] = []
    sources: list[PageMarkup] = []
    golds = corpus.records.partition_by("doc_id", as_dict=True, maintain_order=True)
    batch: list[Row] = []
    for number, document in enumerate(corpus.documents.iter_rows(named=True), start=1):
        doc_id = document["doc_id"]
        pred = pages.get(doc_id, {"value": "", "status": "missing", "origin": None})
        if (gold := golds.get((doc_id,))) is None:
            notes["documents without gold"] += 1
        else:
            rows, page_verdicts, source = _page(document, gold, pred, scoring.mode, notes)
            boxes = read_boxes(rows, words.get(doc_id, ()))
            batch += [row | box for row, box in zip(rows, boxes, strict=True)]
            verdicts += page_verdicts
            sources.append(source)
        if batch and (number % _PAGES == 0 or number == corpus.documents.height):
            cases.append(_cases(batch, scoring))
            batch = []
    table = pl.concat([tables.table("cases", []), *cases])
    return TaskScores.of([table], _scores(scoring, table, verdicts, sources), notes)


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


def _page(
    document: Row, gold: pl.DataFrame, pred: Row, mode: str, notes: Counter[str]
) -> tuple[list[Row], list[FactVerdict], PageMarkup]:
    """The cases of a page, the verdicts on its facts, and what of its markup is scored."""
    base = {key: document[key] for key in ("benchmark", "split", "doc_id")}
    base |= {"task": "fact", "page": 1, "status": pred["status"], "pred_origin": pred["origin"]}
    whole = gold.filter(pl.col("path").is_null())
    markup = whole["value"].first() or ""
    facts = gold.filter(pl.col("path").is_not_null()).to_dicts()
    verdicts, signed = _verdicts(markup, facts, pred["value"], mode, notes)
    rows = [
        base | {side: fact[side] for side in BOX} | {
            "level": "fact", "path": fact["path"], "kind": fact["kind"], "gold": fact["value"],
            "pred": verdict.text or None, "gold_origin": fact["origin"],
            "gold_status": fact["status"],
            "outcome": _outcome(verdict.correct, verdict.found), "misplaced": verdict.misplaced,
            "why": _why(fact["value"], written, verdict),
        }
        for fact, verdict, written in zip(facts, verdicts, signed, strict=True)
    ]  # fmt: skip
    texts = visible_text(markup), visible_text(pred["value"])
    source = PageMarkup(untagged(markup), pred["value"], structure(markup, pred["value"]).score)
    plain = bool(source.pred.strip()) and not is_html(source.pred)
    notes["predictions without markup, compared with HTML as they are"] += plain
    same = _outcome(texts[0] == texts[1], bool(texts[1]))
    rows.append(base | {
        "level": "page", "path": None, "kind": "page", "gold": texts[0], "pred": texts[1],
        "outcome": same, "gold_origin": whole["origin"].first(), "misplaced": False, "why": None,
    })  # fmt: skip
    return rows, verdicts, source


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
    notes["facts that the page does not show"] += sum(fact is None for fact in targets)
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
    frame = pl.DataFrame(rows, infer_schema_length=None).with_columns(
        pl.selectors.by_dtype(pl.Null).cast(pl.String)
    )
    kinds = pl.col("kind").replace_strict(_TYPED, default="string")
    done = scoring.judged(frame.with_columns(kinds))
    # A value that stands in its place may be written otherwise; it is not wrong.
    right = (pl.col("outcome") == "match") & ~pl.col("cause").is_in(STAGES["form"])
    cause = pl.coalesce(frame["why"], pl.when(~right.fill_null(False)).then("cause"))
    return done.with_columns(frame["kind"], cause.alias("cause"))


def _scores(
    scoring: Scoring, cases: pl.DataFrame, verdicts: list[FactVerdict], sources: list[PageMarkup]
) -> Iterator[pl.DataFrame]:
    facts, whole = cases.filter(level="fact"), cases.filter(level="page")
    scored = facts["outcome"] != "unscored"
    facts = facts.filter(scored)
    verdicts = [verdict for verdict, counts in zip(verdicts, scored, strict=True) if counts]
    if facts.height:
        rule = "match=context" if scoring.mode == "fixed" else "match=substring"
        for name, tallies in family.counts(verdicts).items():
            per = "per=found" if name == "fact_accuracy_of_found" else "per=gold"
            yield scoring.rows(facts, metrics.get(name), tallies, per, rule, level="fact")
            if name == "fact_accuracy" and (of_paper := facts["kind"].is_in(_OF_PAPER)).any():
                metric, rows = metrics.get("number_date_accuracy"), facts.filter(of_paper)
                rules = per, rule, "of=numbers and dates"
                yield scoring.rows(rows, metric, tallies[of_paper], *rules, level="fact")
    if not whole.height:
        return
    how: dict[str, Any] = {"task": "fact", "level": "page", "norm": None}
    yield from text_rows(scoring, whole, **how)
    gold, pred, points = (pl.Series(side) for side in zip(*sources, strict=True))
    yield from text_rows(scoring, whole.with_columns(gold=gold, pred=pred), view="markup", **how)
    tallies = np.stack([points.to_numpy().astype(float), np.ones(len(points))], axis=1)
    yield scoring.rows(whole, metrics.get("structure_score"), tallies, level="page")


# Path, text and box of a word.
Word = tuple[str, str, tuple[float, float, float, float]]
# No figure goes on at either side of a place.
_WHOLE = r"(?:(?<![\d.,])|(?![\d.,]))%s(?:(?<![\d.,])|(?![\d.,]))"


class PageLines:
    """The words of one page by line, as one string a line in which every letter has its box."""

    def __init__(self, words: Iterable[Word]) -> None:
        self.lines: dict[str, str] = defaultdict(str)
        self.boxes: dict[str, list] = defaultdict(list)
        for path, word, box in words:
            line, packed = path.partition("/words/")[0], _packed(word)
            self.lines[line] += packed
            self.boxes[line] += [box] * len(packed)

    def places(self, text: str) -> list[tuple[float, ...]]:
        """The boxes of every place where `text` stands on one line, figures whole.

        Examples
        --------
        >>> page = PageLines([("/ocr/lines/0/words/0", "Sales", (0, 0, 5, 1)),
        ...                   ("/ocr/lines/0/words/1", "15", (6, 0, 8, 1))])
        >>> page.places("sales 15"), page.places("5")
        ([(0, 0, 8, 1)], [])
        """
        if not (target := _packed(text)):
            return []
        # Looked for ahead, so that places may overlap.
        whole, places = re.compile(f"(?={_WHOLE % re.escape(target)})"), []
        for path, line in self.lines.items():
            for start in (match.start() for match in whole.finditer(line)):
                x0, y0, x1, y1 = zip(*self.boxes[path][start : start + len(target)], strict=True)
                places.append((min(x0), min(y0), max(x1), max(y1)))
        return places


def _packed(text: str) -> str:
    return "".join(text.split()).lower()


def read_boxes(rows: Sequence[Mapping[str, Any]], words: Sequence[Word]) -> list[dict[str, float]]:
    """The predicted box of each case of one page, as columns of *cases*; empty if not known.

    Of several places of a text, the one closest to the gold box is taken; without a gold box, and
    for a value in a wrong row, a text is placed only where it stands once.

    `rows` have `pred`, `misplaced` and the gold box; `words` are path, text and box of the words
    that the system read, in reading order.
    """
    page, boxes = PageLines(words), []
    for row in rows:
        places = page.places(row["pred"] or "")
        if len(places) > 1 and row.get("x0") is not None and not row["misplaced"]:
            x, y = (row[f"{axis}0"] + row[f"{axis}1"] for axis in "xy")
            distances = [(b[0] + b[2] - x) ** 2 + (b[1] + b[3] - y) ** 2 for b in places]
            places = [places[distances.index(min(distances))]]
        names = (f"pred_{side}" for side in BOX)
        boxes.append(dict(zip(names, places[0], strict=True)) if len(places) == 1 else {})
    return boxes


def words_of(records: pl.DataFrame) -> dict[str, list[Word]]:
    """Path, text and box of the words on each page, from rows of *records*."""
    words = records.filter(pl.col("task") == "layout", pl.col("kind") == "word").drop_nulls(BOX)
    words = words.select("doc_id", "path", pl.col("value").fill_null(""), *BOX)
    by_document: dict[str, list[Word]] = defaultdict(list)
    for doc_id, path, word, *box in words.iter_rows():
        by_document[doc_id].append((path, word, tuple(box)))
    return dict(by_document)
