"""Scores of tagged facts: each fact in its page, and the page's text and structure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import polars as pl

from formlab import tables, text
from formlab.benchmarks.corpus import meta_of
from formlab.benchmarks.fincriticaled import FACTS, untagged
from formlab.metrics import facts as family
from formlab.metrics.facts import MISSING, FactVerdict, locate, match_facts
from formlab.metrics.judge import by_substring
from formlab.metrics.places import Places
from formlab.scoring.causes import STAGES, cause
from formlab.scoring.tasks._kit import Scoring, TaskScores, text_rows
from formlab.tables import BOX, USABLE
from formlab.text.markup import Flow, is_html, read, visible_text, written_events

_TYPED = {"monetary_unit": "money", "temporal": "date", "number": "number"}
# Equation 4: facts are numbers and dates.
_OF_PAPER = ("number", "temporal")
Row = dict[str, Any]


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
    corpus, notes = scoring.corpus, Counter[str]()
    records = scoring.predictions.records.filter(pl.col("task") != "layout")
    given: dict[str, Row] = {}
    for row in records.filter(pl.col("path").is_null()).iter_rows(named=True):
        value = row["value"] if row["status"] in USABLE else None
        notes["empty predictions"] += value is not None and not value.strip()
        given.setdefault(row["doc_id"], row | {"value": value or ""})
    beside = records.filter(pl.col("path").is_not_null()).height
    notes["predicted values beside the pages, not scored"] += beside
    golds = corpus.records.partition_by("doc_id", as_dict=True, maintain_order=True)
    nothing = {"value": "", "status": "missing", "origin": None}
    rows: list[Row] = []
    verdicts: list[FactVerdict] = []
    docs = [doc for doc in corpus.documents["doc_id"] if (doc,) in golds]
    for doc in docs:
        of_page = _page(golds[doc,].to_dicts(), given.get(doc, nothing), scoring.mode, notes)
        rows += of_page[0]
        verdicts += of_page[1]
    notes["documents without gold"] += corpus.documents.height - len(docs)
    cases = _cases(rows, scoring) if rows else tables.table("cases", [])
    return TaskScores.of([cases], _scores(scoring, cases, verdicts, rows), notes)


def _page(
    gold: list[Row], pred: Row, mode: str, notes: Counter[str]
) -> tuple[list[Row], list[FactVerdict]]:
    """Rows of cases of a page's facts and of its text, and the verdicts on the facts."""
    base = {key: gold[0][key] for key in ("benchmark", "split", "doc_id")}
    base |= {"task": "fact", "page": 1, "status": pred["status"], "pred_origin": pred["origin"]}
    of_page = next((row for row in gold if row["path"] is None), {})
    markup, answer = of_page.get("value") or "", pred["value"]
    facts = [row for row in gold if row["path"] is not None]
    # The figure of each fact with the sign that it has on the page.
    signed: list[str | None] = [None] * len(facts)
    if mode == "official":
        verdicts = by_substring([fact["value"] for fact in facts], answer)
    elif not answer.strip():
        verdicts = [MISSING] * len(facts)
    else:
        page = Places(Flow(written_events(markup), tags=FACTS))
        targets = [locate(page, row["kind"], row["value"], meta_of(row)["mark"]) for row in facts]
        notes["facts that the page does not show"] += targets.count(None)
        signed = [page.figure(fact.first, fact.last) if fact else None for fact in targets]
        verdicts = match_facts(page, targets, Places(read(answer)))
    rows = [
        base
        | {name: fact[name] for name in ("path", "kind", *BOX)}
        | {f"gold_{name}": fact[name] for name in ("origin", "status")}
        | {"level": "fact", "gold": fact["value"], "pred": verdict.text or None}
        | {"outcome": _outcome(verdict.correct, verdict.found)}
        | {"why": _why(fact["value"], written, verdict)}
        for fact, verdict, written in zip(facts, verdicts, signed, strict=True)
    ]
    texts = visible_text(markup), visible_text(answer)
    whole = base | {"level": "page", "kind": "page", "gold": texts[0], "pred": texts[1]}
    outcome = _outcome(texts[0] == texts[1], bool(texts[1]))
    whole |= {"gold_origin": of_page.get("origin"), "outcome": outcome}
    whole |= {"gold_html": untagged(markup), "pred_html": answer}
    plain = bool(answer.strip()) and not is_html(answer)
    notes["predictions without markup, compared with HTML as they are"] += plain
    return [*rows, whole], verdicts


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
    frame = pl.DataFrame(rows, infer_schema_length=None)
    frame = frame.with_columns(pl.selectors.by_dtype(pl.Null).cast(pl.String))
    kinds = pl.col("kind").replace_strict(_TYPED, default="string")
    done = scoring.judged(frame.with_columns(kinds))
    # A value that stands in its place may be written otherwise; it is not wrong.
    right = (pl.col("outcome") == "match") & ~pl.col("cause").is_in(STAGES["form"])
    cause = pl.coalesce(frame["why"], pl.when(~right.fill_null(False)).then("cause"))
    return done.with_columns(frame["kind"], cause.alias("cause"))


def _scores(
    scoring: Scoring, cases: pl.DataFrame, verdicts: list[FactVerdict], rows: list[Row]
) -> Iterator[pl.DataFrame]:
    facts, whole = cases.filter(level="fact"), cases.filter(level="page")
    scored = (facts["outcome"] != "unscored").to_list()
    facts = facts.filter(scored)
    if facts.height:
        rule = "match=context" if scoring.mode == "fixed" else "match=substring"
        counts = family.counts([v for v, counts in zip(verdicts, scored, strict=True) if counts])
        found = {"fact_accuracy_of_found": counts.pop("fact_accuracy_of_found")}
        yield scoring.rows(facts, found, "per=found", rule, level="fact")
        yield scoring.rows(facts, counts, "per=gold", rule, level="fact")
        if (of_paper := facts["kind"].is_in(_OF_PAPER)).any():
            parts = {"number_date_accuracy": counts["fact_accuracy"][of_paper]}
            rules = "per=gold", rule, "of=numbers and dates"
            yield scoring.rows(facts.filter(of_paper), parts, *rules, level="fact")
    sides = {
        side: pl.Series(
            [row[f"{side}_html"] for row in rows if "gold_html" in row], dtype=pl.String
        )
        for side in ("gold", "pred")
    }
    html = whole.with_columns(**sides)
    for table, view, norm in ((whole, "text", "visible"), (html, "markup", "markup")):
        yield from text_rows(scoring, table, task="fact", level="page", view=view, norm=norm)
