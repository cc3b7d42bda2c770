"""Scores of tagged facts: each fact in its page, and the page's text and structure."""

from collections import Counter
from collections.abc import Iterator

import numpy as np
import polars as pl

from formlab import text
from formlab.benchmarks.corpus import Row, meta_of
from formlab.benchmarks.fincriticaled import FACTS, untagged
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


def score(scoring: Scoring) -> TaskScores:
    """Every fact and every page.

    In mode `fixed` a fact must stand in its context in the page's text; in mode `official` its
    text anywhere counts, as in the released code. Both definitions of accuracy are given: of the
    gold facts (`fact_accuracy`, the paper's) and of those found (`fact_accuracy_of_found`). The
    paper's facts are numbers and dates (`number_date_accuracy`), the release has five kinds. The
    text of a page is compared as it is shown, which the released code does, and its HTML as it is
    written (metrics that end in ``_html``), which the paper does; plain text is compared as it is.
    """
    corpus, notes = scoring.corpus, Counter[str]()
    records = scoring.predictions.records.filter(pl.col("task") != "layout")
    answers = records.filter(pl.col("path").is_null())
    answers = answers.with_columns(pl.when(pl.col("status").is_in(USABLE)).then("value"))
    notes["empty predictions"] = answers.filter(pl.col("value").str.strip_chars() == "").height
    notes["predicted values beside the pages, not scored"] = records.height - answers.height
    # Of several answers the first.
    given = {row["doc_id"]: row for row in answers.reverse().iter_rows(named=True)}
    golds = corpus.records.partition_by("doc_id", as_dict=True, maintain_order=True)
    nothing = {"value": "", "status": "missing", "origin": None}
    docs = [doc for doc in corpus.documents["doc_id"] if (doc,) in golds]
    rows: list[Row] = []
    for doc in docs:
        rows += _page(golds[doc,].to_dicts(), given.get(doc, nothing), scoring.mode, notes)
    notes["documents without gold"] += corpus.documents.height - len(docs)
    if not rows:
        return TaskScores.of(notes=notes)
    frame = pl.DataFrame(rows, infer_schema_length=None)
    frame = frame.with_columns(pl.selectors.by_dtype(pl.Null).cast(pl.String))
    kinds = pl.col("kind").replace_strict(_TYPED, default="string")
    cases = scoring.judged(frame.with_columns(kinds))
    # A value that stands in its place may be written otherwise; it is not wrong.
    right = (pl.col("outcome") == "match") & ~pl.col("cause").is_in(STAGES["form"])
    cause = pl.coalesce(frame["why"], pl.when(~right.fill_null(False)).then("cause"))
    cases = cases.with_columns(frame["kind"], cause.alias("cause"))
    return TaskScores.of([cases], _scores(scoring, cases, frame), notes)


def _page(gold: list[Row], pred: Row, mode: str, notes: Counter[str]) -> list[Row]:
    """Rows of cases of a page's facts, with the verdicts on them, and of its text."""
    base = {key: gold[0][key] for key in ("benchmark", "split", "doc_id")}
    base |= {"task": "fact", "page": 1, "status": pred["status"], "pred_origin": pred["origin"]}
    of_page = next((row for row in gold if row["path"] is None), {})
    markup, answer = of_page.get("value") or "", pred["value"] or ""
    facts = [row for row in gold if row["path"] is not None]
    # The figure of each fact with the sign that it has on the page.
    signed = [""] * len(facts)
    if mode == "official":
        verdicts = by_substring([fact["value"] for fact in facts], answer)
    elif not answer.strip():
        verdicts = [MISSING] * len(facts)
    else:
        page = Places(Flow(written_events(markup), tags=FACTS))
        targets = [locate(page, row["kind"], row["value"], meta_of(row)["mark"]) for row in facts]
        notes["facts that the page does not show"] += targets.count(None)
        signed = [page.figure(fact.first, fact.last) if fact else "" for fact in targets]
        verdicts = match_facts(page, targets, Places(read(answer)))
    rows = [
        base
        | {name: fact[name] for name in ("path", "kind", *BOX)}
        | {f"gold_{name}": fact[name] for name in ("origin", "status")}
        | verdict._asdict()
        | {"level": "fact", "gold": fact["value"], "pred": verdict.text or None}
        | {"outcome": _outcome(verdict.correct, verdict.found)}
        | {"why": _why(fact["value"], written, verdict)}
        for fact, verdict, written in zip(facts, verdicts, signed, strict=True)
    ]
    texts = visible_text(markup), visible_text(answer)
    whole = base | {"level": "page", "kind": "page", "gold": texts[0], "pred": texts[1]}
    outcome = _outcome(texts[0] == texts[1], bool(texts[1]))
    whole |= {"gold_origin": of_page.get("origin"), "outcome": outcome, "why": None}
    whole |= {"gold_html": untagged(markup), "pred_html": answer}
    plain = bool(answer.strip()) and not is_html(answer)
    notes["predictions without markup, compared with HTML as they are"] += plain
    return [*rows, whole]


def _why(value: str, written: str, verdict: FactVerdict) -> str | None:
    """The cause of a wrong figure from its sign on the page; None where the texts decide."""
    if verdict.correct or not verdict.text:
        return None
    # The same figure twice, read once: the place that is there is another fact's.
    if verdict.misplaced or value == written == verdict.text:
        return "wrong_row"
    numbers = text.number(written), text.number(verdict.text)
    right = numbers[0] == numbers[1]
    return None if None in numbers else cause(written, verdict.text, right=right)


def _outcome(right: bool, found: bool) -> str:
    return "match" if right else "mismatch" if found else "missing"


def _scores(scoring: Scoring, cases: pl.DataFrame, frame: pl.DataFrame) -> Iterator[pl.DataFrame]:
    is_scored = (cases["level"] == "fact") & (cases["outcome"] != "unscored")
    if (facts := cases.filter(is_scored)).height:
        rule = "match=context" if scoring.mode == "fixed" else "match=substring"
        flags = frame.filter(is_scored).select("found", "correct", "misplaced")
        found, correct, misplaced = flags.cast(pl.Float64).to_numpy().T
        every = np.ones_like(found)
        counts = {"fact_accuracy": (correct, every), "fact_missing_rate": (1 - found, every)}
        counts |= {"fact_misplaced_rate": (misplaced, every)}
        counts = {name: np.stack(pair, axis=1) for name, pair in counts.items()}
        of_found = {"fact_accuracy_of_found": np.stack([correct, found], axis=1)}
        yield scoring.rows(facts, of_found, "per=found", rule, level="fact")
        yield scoring.rows(facts, counts, "per=gold", rule, level="fact")
        if (of_paper := facts["kind"].is_in(_OF_PAPER)).any():
            parts = {"number_date_accuracy": counts["fact_accuracy"][of_paper]}
            rules = "per=gold", rule, "of=numbers and dates"
            yield scoring.rows(facts.filter(of_paper), parts, *rules, level="fact")
    whole, written = cases.filter(level="page"), frame.filter(level="page")
    html = whole.with_columns(gold=written["gold_html"], pred=written["pred_html"])
    for table, view, norm in ((whole, "text", "visible"), (html, "markup", "markup")):
        yield from text_rows(scoring, table, task="fact", level="page", view=view, norm=norm)
