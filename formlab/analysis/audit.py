"""Rule, judge and human verdicts on the same facts, side by side, and how far they agree."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from formlab import benchmarks, files, readers, tables
from formlab.analysis._fact_pages import facts_of, texts_of, usable
from formlab.analysis.judge_scores import MODES, judge_scores
from formlab.analysis.kappa import rater_agreement
from formlab.analysis.summarise import summarise
from formlab.benchmarks import fincriticaled
from formlab.errors import DataBroken, DataMissing
from formlab.folders import Corpus, Evaluation, Predictions
from formlab.metrics._places import Places
from formlab.metrics.facts import locate, match_facts
from formlab.metrics.judge import (
    ENTRIES,
    official,
    performance,
    plain_text,
    released_form,
    settled,
)  # fmt: skip
from formlab.text.flow import Flow, read
from formlab.text.markup import visible_text, written_events
from formlab.workers import threads

if TYPE_CHECKING:
    from formlab.systems.judge import Call

RATERS = ("rule", "judge", "human")
COLUMNS = (
    "doc_id", "path", "kind", "gold", "text", *RATERS, "final", "override", "reason", "planted",
)  # fmt: skip
_HUMAN = {"doc_id": pl.String, "path": pl.String, "correct": pl.Boolean, "reason": pl.String}
_WORDS = dict.fromkeys(
    ("doc_id", "judge", "status", "error", "structure_explanation", "overall_explanation"),
    pl.String,
)
_FLAWS = ("facts listed twice", "facts skipped", "entries for no fact")
# What a page says to sway the model that judges it; financial pages do not speak of verdicts.
_PLANTED = re.compile(
    r"(?:mark|grade|score|rate|judge|count|treat|label)\s.{0,40}?\b(?:all|every\w*|each)\b.{0,60}?"
    r"\b(?:correct|true|right|found)\b"
    r"|(?:ignore|disregard|forget)\s.{0,30}?\b(?:previous|above|prior|earlier)\b.{0,20}?\binstruct\w+"
    r"|\byou are (?:a|the|an) (?:judge|evaluator|grader|inspector)\b"
    r"|[\"']?(?:found_in_prediction|entity_diagnostics|entity_accuracy)[\"']?\s*[:=]",
    re.IGNORECASE | re.DOTALL,
)


@dataclass(frozen=True)
class Checked:
    """A judge's answers after the checks, by page, the figures over all, and counts of flaws."""

    answers: dict[str, dict[str, Any]]
    performance: dict[str, float]
    notes: dict[str, int]


def answers(path: Path) -> dict[str, dict[str, Any]]:
    """A judge's answers by page number, in the released form.

    The file is an object by number, or the released array with `id`; answers may have any schema
    that names facts.

    Raises
    ------
    DataMissing, DataBroken
        If the file is absent, no JSON, or lists a page twice or without its number.
    """
    answers = files.read_json(path, once=True)
    if isinstance(answers, list):
        numbers = [item.get("id") if isinstance(item, dict) else None for item in answers]
        if None in numbers:
            where = f"{path}#/{numbers.index(None)}"
            raise DataBroken("an answer without its page", where=where, remedy='add "id"')
        pages = [str(number) for number in numbers]
        if twice := [page for page, count in Counter(pages).items() if count > 1]:
            raise DataBroken(f"pages answered twice: {', '.join(twice)}", where=path)
        answers = dict(zip(pages, answers, strict=True))
    objects = answers.values() if isinstance(answers, dict) else [None]
    if not all(isinstance(item, dict) for item in objects):
        raise DataBroken("judge answers are an object by page or an array", where=path)
    return {page: released_form(answer) or answer for page, answer in answers.items()}


def check(raw: str | Path, *, root: str | Path, predictions: str | Path | None = None) -> Checked:
    """A judge's raw answers checked as the released code does, with its figures.

    `raw` is the judge's JSON file, `root` the folder of the gold pages, `predictions` that of
    ``pred_<i>.txt``, which is ``pred`` in `root` if left out.

    Raises
    ------
    DataMissing, DataBroken
        If a file is absent or unreadable, or no answer is for a gold page.
    """
    root = Path(root)
    corpus = fincriticaled.read("test", root)
    where = Path(predictions) if predictions is not None else root / "pred"
    reader = readers.reader_of(where, corpus)
    if reader is None or reader.name != corpus.benchmark:
        raise DataMissing("no pred_<i>.txt", where=where, remedy="--predictions with their folder")
    texts = texts_of(readers.predictions(where, corpus))
    notes: Counter[str] = Counter()
    checked, facts = {}, facts_of(corpus)
    for page, answer in usable(answers(Path(raw)), notes).items():
        if page not in facts:
            notes["answers for pages without gold"] += 1
        elif page not in texts:
            notes["answers for pages without a prediction"] += 1
        else:
            # The released code puts the page's number into the answer before it counts.
            known = answer | {"id": int(page) if page.isdecimal() else page}
            checked[page] = official(known, facts[page], plain_text(texts[page]))
            # Counted: what the released code takes as it is.
            odd: Counter[str] = Counter()
            settled(answer, facts[page], Places(read("")), odd)
            notes.update({f"judge: {name}": odd[f"judge: {name}"] for name in _FLAWS})
    if not checked:
        raise DataBroken("no answer is for a gold page with a prediction", where=raw)
    counts = {name: count for name, count in notes.items() if count}
    return Checked(checked, performance(checked.values()), counts)


def ask_judge(
    corpus: Corpus,
    predictions: Predictions,
    *,
    call: Call,
    prompt: str | Path,
    view: str = "html",
    workers: int = 1,
) -> Iterator[tuple[str, dict[str, Any], dict[str, Any]]]:
    """Number, answer and response of each predicted page, in their order; many asked at once.

    `call`, `prompt` and `view` are as for `formlab.systems.judge.ask`; a page without facts is
    not asked.

    Raises
    ------
    NotAvailable
        If no call can succeed.
    """
    from formlab.systems.judge import ask  # With it come all chat models.

    texts, facts = texts_of(predictions), facts_of(corpus)
    golds = dict(corpus.records.filter(pl.col("path").is_null()).select("doc_id", "value").rows())
    pages = [page for page in golds if page in texts and facts[page]]

    def asked(page: str) -> tuple[dict[str, Any], dict[str, Any]]:
        how = {"call": call, "prompt": prompt, "view": view}
        return ask(page, facts[page], golds[page], texts[page], **how)

    # If the caller stops, calls not yet begun are cancelled; those under way reach the store.
    ready: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {}
    left = list(reversed(pages))
    with closing(threads(asked, pages, workers=workers, name="judge")) as answered:
        for asked_page, both in answered:
            ready[asked_page] = both
            while left and left[-1] in ready:
                yield (page := left.pop()), *ready.pop(page)


def audit(
    corpus: Corpus,
    predictions: Predictions,
    raw: Mapping[str, Mapping[str, Any]],
    *,
    humans: pl.DataFrame | None = None,
) -> tuple[pl.DataFrame, dict[str, int]]:
    """Every fact with the verdict of the rules, of the judge, and of a human where there is one.

    `raw` has the judge's answers by `doc_id`, as from `answers`; `humans` the columns
    `doc_id path correct`, and `reason` if known: the last word on these facts.

    Returns
    -------
    polars.DataFrame
        `COLUMNS`; verdicts are null where there are none. `planted` is a stretch of the prediction
        that is written to sway a judge; it is data and is never obeyed.
    dict of str to int
        What was odd in the judge's answers.
    """
    notes: Counter[str] = Counter()
    raw = usable(raw, notes)
    texts, facts = texts_of(predictions), facts_of(corpus)
    pages = corpus.records.filter(pl.col("path").is_null())
    rows: list[dict[str, Any]] = []
    for doc_id, markup in pages.select("doc_id", "value").iter_rows():
        rows += _audited(doc_id, markup, facts.get(doc_id, []), texts.get(doc_id, ""), raw, notes)
    schema = dict.fromkeys(("doc_id", "path", "kind", "gold", "text", "planted"), pl.String)
    table = pl.DataFrame(rows, schema=schema | {"rule": pl.Boolean, "judge": pl.Boolean})
    verdicts = [pl.DataFrame(schema=_HUMAN), *([humans] if humans is not None else ())]
    human = pl.concat(verdicts, how="diagonal").select(*_HUMAN).rename({"correct": "human"})
    table = table.join(human, on=["doc_id", "path"], how="left", maintain_order="left")
    table = table.with_columns(final=pl.coalesce("human", "rule"))
    # A human overrules the judge; without one the rules do, as their verdict can be retraced.
    overruled = pl.col("judge") != pl.col("final")
    by = pl.when(pl.col("human").is_not_null()).then(pl.lit("human")).otherwise(pl.lit("rule"))
    why = pl.coalesce("reason", by + pl.lit(": ") + pl.coalesce("text", pl.lit("not found")))
    table = table.with_columns(
        override=pl.when(overruled).then(by), reason=pl.when(overruled).then(why)
    )
    return table.select(COLUMNS), {name: count for name, count in notes.items() if count}


def _audited(
    doc_id: str, markup: str, facts: list[dict[str, Any]], text: str, raw: Mapping,
    notes: Counter[str],
) -> list[dict[str, Any]]:  # fmt: skip
    gold, pred = Places(Flow(written_events(markup), tags=fincriticaled.FACTS)), Places(read(text))
    places = [locate(gold, fact["kind"], fact["value"], fact["mark"]) for fact in facts]
    rules = match_facts(gold, places, pred)
    verdicts = [None] * len(facts)
    # Counts without verdicts say nothing of a single fact.
    if raw.get(doc_id, {}).get(ENTRIES):
        verdicts = settled(raw[doc_id], facts, pred, notes)
    stretches = planted(text, gold=visible_text(markup))
    notes["predictions with text for the judge"] += bool(stretches)
    return [
        {
            "doc_id": doc_id, "path": fact["path"], "kind": fact["kind"], "gold": fact["value"],
            "text": rule.text or None, "rule": rule.correct,
            "judge": None if verdict is None else verdict.correct,
            "planted": stretches[0] if stretches else None,
        }
        for fact, rule, verdict in zip(facts, rules, verdicts, strict=True)
    ]  # fmt: skip


def planted(text: str, *, gold: str = "") -> list[str]:
    """Stretches of a prediction that address its judge and that the gold page does not have."""
    shown = visible_text(text)
    hidden = " ".join(re.findall(r"<!--(.*?)(?:-->|$)", text[:1_000_000], flags=re.DOTALL))
    stretches = (match[0] for match in _PLANTED.finditer(f"{shown[:1_000_000]} {hidden}"))
    return [stretch for stretch in dict.fromkeys(stretches) if stretch not in gold]


@dataclass(frozen=True)
class Audit:
    """The verdicts of rule, judge and human on each fact, their agreement, and what was odd.

    The tables are as from `audit`, `rater_agreement` and `judge_scores`, empty where nothing was
    judged; `summary` is that of the scores, in both modes, and `pages` has the judge's own words:
    `doc_id`, `judge`, `status`, `error`, `structure_explanation` and `overall_explanation`.
    """

    table: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=COLUMNS))
    kappas: pl.DataFrame = field(default_factory=lambda: rater_agreement(pl.DataFrame(), ()))
    notes: dict[str, int] = field(default_factory=dict)
    scores: pl.DataFrame = field(default_factory=lambda: tables.table("scores", []))
    summary: pl.DataFrame = field(default_factory=lambda: tables.table("summary", []))
    pages: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=_WORDS))


def open_audit(
    evaluation: Evaluation,
    judge: str | Path = "",
    *,
    predictions: str | Path = "",
    humans: str | Path = "",
    resamples: int = 1000,
    seed: int = 0,
) -> Audit:
    """The audit of a judge's answers on an evaluation; without answers, an empty one.

    Parameters
    ----------
    evaluation
        Of a benchmark with facts; its gold is read again from its root.
    judge
        The judge's JSON file.
    predictions
        What was judged, in any format; if left out, those of the evaluation, or the folder
        ``pred`` beside the gold.
    humans
        A CSV of verdicts with columns `doc_id path correct`, and `reason` if known.
    resamples, seed
        Of the intervals of kappa and of the judge's scores; pages are drawn.

    Raises
    ------
    DataMissing, DataBroken
        If a file is absent or unreadable, or the evaluation's gold is no longer at its root.
    """
    if not str(judge):
        return Audit()
    if evaluation.root is None:
        raise DataMissing("the evaluation names no folder of gold", remedy="score it again")
    corpus = benchmarks.load(evaluation.benchmark, root=evaluation.root, split=evaluation.split)
    judged = evaluation.predictions
    if str(predictions) or judged is None:
        judged_at = Path(predictions) if str(predictions) else evaluation.root / "pred"
        if not str(predictions) and not judged_at.is_dir():
            remedy = "the parameter predictions with what was judged"
            raise DataMissing("no predictions to audit", where=judged_at, remedy=remedy)
        judged = readers.read_predictions(judged_at, corpus)
    verdicts = _humans(Path(humans)) if str(humans) else None
    raw = answers(Path(judge))
    table, notes = audit(corpus, judged, raw, humans=verdicts)
    odd: Counter[str] = Counter()
    scores = judge_scores(corpus, judged, raw, odd)
    words = [{"doc_id": page, "status": "ok"} | answer for page, answer in raw.items()]
    words = [{name: str(row[name]) if name in row else None for name in _WORDS} for row in words]
    raters = [name for name in RATERS if table[name].null_count() < table.height]
    kappas = rater_agreement(table, raters, resamples=resamples, seed=seed)
    notes |= {name: count for name, count in odd.items() if count}
    modes = [replace(evaluation, scores=scores.filter(mode=mode)) for mode in MODES]
    drawn: dict[str, Any] = {"by": (), "resamples": resamples, "seed": seed}
    summary = pl.concat([summarise(each, **drawn) for each in modes])
    return Audit(table, kappas, notes, scores, summary, pl.DataFrame(words, schema=_WORDS))


def _humans(file: Path) -> pl.DataFrame:
    text = files.read_text(file)
    try:
        table = pl.read_csv(text.encode(), infer_schema=False)
    except pl.exceptions.PolarsError as error:
        raise DataBroken(f"not a readable CSV: {error}", where=file) from error
    if missing := [name for name in [*_HUMAN][:3] if name not in table.columns]:
        raise DataBroken(f"no column {', '.join(missing)}", where=f"{file}:1")
    words = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}
    known = pl.col("correct").str.strip_chars().str.to_lowercase()
    odd = table.with_row_index("line", 2).filter(~known.is_in(list(words)).fill_null(False))
    if odd.height:
        where = f"{file}:{odd['line'][0]}"
        raise DataBroken("a verdict is true or false", where=where, remedy="true or false")
    return table.with_columns(known.replace_strict(words, return_dtype=pl.Boolean).alias("correct"))
