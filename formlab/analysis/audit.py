"""Rule, judge and human verdicts on the same facts of financial pages, and how far they agree."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from formlab import benchmarks, files, metrics, readers, tables
from formlab.analysis.kappa import rater_agreement
from formlab.analysis.summarise import summarise
from formlab.benchmarks import fincriticaled
from formlab.errors import DataBroken, DataMissing
from formlab.folders import Corpus, Evaluation, Predictions
from formlab.metrics import judge as judging
from formlab.metrics._places import Places
from formlab.metrics.facts import locate, match_facts
from formlab.metrics.judge_scores import METRICS, page_scores
from formlab.scoring.tasks._kit import made_by, score_rows
from formlab.tables import USABLE
from formlab.text.flow import Flow, read
from formlab.text.markup import visible_text, written_events
from formlab.workers import threads

if TYPE_CHECKING:
    from formlab.systems.judge import Call

MODES = ("fixed", "official")
RATERS = ("rule", "judge", "human")
_FACT = ("doc_id", "path", "kind", "gold", "text")
COLUMNS = (*_FACT, *RATERS, "final", "override", "reason", "planted")
_HUMAN = {"doc_id": pl.String, "path": pl.String, "correct": pl.Boolean, "reason": pl.String}
_WORDS = dict.fromkeys(
    ("doc_id", "judge", "status", "error", "structure_explanation", "overall_explanation"),
    pl.String,
)
_FLAWS = ("facts listed twice", "facts skipped", "entries for no fact")
_VERDICTS = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}
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


def texts_of(predictions: Predictions) -> dict[str, str]:
    """The page that was predicted for each document."""
    pages = predictions.records.filter(pl.col("path").is_null(), pl.col("task") != "layout")
    return dict(pages.select("doc_id", pl.col("value").fill_null("")).iter_rows())


def _facts_of(corpus: Corpus) -> dict[str, list[dict[str, Any]]]:
    """The facts of each document: path, kind and value, and what `fact_meta` says of them."""
    facts: dict[str, list[dict[str, Any]]] = {name: [] for name in corpus.records["doc_id"]}
    for row in corpus.records.filter(pl.col("path").is_not_null()).iter_rows(named=True):
        fact = {name: row[name] for name in ("path", "kind", "value")}
        facts[row["doc_id"]].append(fact | fincriticaled.fact_meta(row)._asdict())
    return facts


def _usable(raw: Mapping[str, Mapping[str, Any]], notes: Counter[str]) -> dict[str, Mapping]:
    """The answers with verdicts; the others are counted in `notes` by their status."""
    status = {page: answer.get("status", "ok") for page, answer in raw.items()}
    for word in status.values():
        notes[f"judge: pages without verdicts, {word}"] += word not in USABLE
    return {page: answer for page, answer in raw.items() if status[page] in USABLE}


def _counts(notes: Counter[str]) -> dict[str, int]:
    return {name: count for name, count in notes.items() if count}


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
        pages = Counter(map(str, numbers))
        if twice := [page for page, count in pages.items() if count > 1]:
            raise DataBroken(f"pages answered twice: {', '.join(twice)}", where=path)
        answers = dict(zip(pages, answers, strict=True))
    objects = answers.values() if isinstance(answers, dict) else [None]
    if not all(isinstance(item, dict) for item in objects):
        raise DataBroken("judge answers are an object by page or an array", where=path)
    return {page: judging.released_form(answer) or answer for page, answer in answers.items()}


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
    texts, facts = texts_of(readers.read_predictions(where, corpus)), _facts_of(corpus)
    notes: Counter[str] = Counter()
    checked = {}
    for page, answer in _usable(answers(Path(raw)), notes).items():
        missing = {"gold": page not in facts, "a prediction": page not in texts}
        if lacking := next((name for name, is_missing in missing.items() if is_missing), None):
            notes[f"answers for pages without {lacking}"] += 1
            continue
        # The released code puts the page's number into the answer before it counts.
        known = answer | {"id": int(page) if page.isdecimal() else page}
        checked[page] = judging.official(known, facts[page], judging.plain_text(texts[page]))
        # Counted: what the released code takes as it is.
        odd: Counter[str] = Counter()
        judging.settled(answer, facts[page], Places(read("")), odd)
        notes.update({f"judge: {name}": odd[f"judge: {name}"] for name in _FLAWS})
    if not checked:
        raise DataBroken("no answer is for a gold page with a prediction", where=raw)
    return Checked(checked, judging.performance(checked.values()), _counts(notes))


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

    texts, facts = texts_of(predictions), _facts_of(corpus)
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
    raw = _usable(raw, notes)
    texts, facts = texts_of(predictions), _facts_of(corpus)
    rows: list[tuple] = []
    pages = corpus.records.filter(pl.col("path").is_null())
    for page, markup in pages.select("doc_id", "value").iter_rows():
        text, own = texts.get(page, ""), facts[page]
        gold = Places(Flow(written_events(markup), tags=fincriticaled.FACTS))
        pred = Places(read(text))
        places = [locate(gold, fact["kind"], fact["value"], fact["mark"]) for fact in own]
        verdicts = [None] * len(own)
        # Counts without verdicts say nothing of a single fact.
        if raw.get(page, {}).get(judging.ENTRIES):
            verdicts = judging.settled(raw[page], own, pred, notes)
        stretches = planted(text, gold=visible_text(markup))
        notes["predictions with text for the judge"] += bool(stretches)
        swayed = next(iter(stretches), None)
        rules = match_facts(gold, places, pred)
        for fact, rule, verdict in zip(own, rules, verdicts, strict=True):
            said = rule.text or None, swayed, rule.correct, verdict and verdict.correct
            rows.append((page, fact["path"], fact["kind"], fact["value"], *said))
    schema = dict.fromkeys((*_FACT, "planted"), pl.String)
    schema |= {"rule": pl.Boolean, "judge": pl.Boolean}
    table = pl.DataFrame(rows, schema=schema, orient="row")
    human = pl.DataFrame(schema=_HUMAN)
    if humans is not None:
        human = pl.concat([human, humans], how="diagonal").select(*_HUMAN)
    human = human.rename({"correct": "human"})
    table = table.join(human, on=["doc_id", "path"], how="left", maintain_order="left")
    # A human overrules the judge; without one the rules do, as their verdict can be retraced.
    table = table.with_columns(final=pl.coalesce("human", "rule"))
    overruled = pl.col("judge") != pl.col("final")
    by = pl.when(pl.col("human").is_not_null()).then(pl.lit("human")).otherwise(pl.lit("rule"))
    why = pl.coalesce("reason", by + pl.lit(": ") + pl.coalesce("text", pl.lit("not found")))
    override, reason = (pl.when(overruled).then(words) for words in (by, why))
    return table.with_columns(override=override, reason=reason).select(COLUMNS), _counts(notes)


def planted(text: str, *, gold: str = "") -> list[str]:
    """Stretches of a prediction that address its judge and that the gold page does not have."""
    shown = visible_text(text)
    hidden = " ".join(re.findall(r"<!--(.*?)(?:-->|$)", text[:1_000_000], flags=re.DOTALL))
    stretches = (match[0] for match in _PLANTED.finditer(f"{shown[:1_000_000]} {hidden}"))
    return [stretch for stretch in dict.fromkeys(stretches) if stretch not in gold]


def judge_scores(
    corpus: Corpus,
    predictions: Predictions,
    raw: Mapping[str, Mapping[str, Any]],
    notes: Counter[str] | None = None,
) -> pl.DataFrame:
    """The scores of every predicted page by a judge, in both modes, and its facts right by kind.

    `raw` has the judge's answers by `doc_id`. In mode `official` its own counts stand, in mode
    `fixed` its verdicts after they are verified (`formlab.metrics.judge.settled`). A page without
    a usable answer is undefined.

    Returns
    -------
    polars.DataFrame
        The schema SCORES, level ``page``; the slices are by ``kind``. Summarise the rows of
        one mode at a time.
    """
    notes = Counter() if notes is None else notes
    texts, facts, usable = texts_of(predictions), _facts_of(corpus), _usable(raw, Counter())
    notes["judge: pages cut for their length"] += sum("cut_at" in a for a in usable.values())
    pages = [page for page in corpus.documents["doc_id"] if page in texts and facts.get(page)]
    known = {"benchmark": corpus.benchmark, "split": corpus.split, "system": predictions.system}
    known |= {"task": "fact", "status": "ok"}
    base = pl.DataFrame({"doc_id": pages}, schema={"doc_id": pl.String}).with_columns(
        path=pl.lit(None, pl.String), **{name: pl.lit(value) for name, value in known.items()}
    )
    named = ("judge", "prompt", "view")
    rules = {f"{key}={answer[key]}" for answer in usable.values() for key in named if key in answer}
    how: dict[str, Any] = {"settings": made_by("judge", *sorted(rules)), "level": "page"}
    rows = [tables.table("scores", [])]
    for mode in MODES if pages else ():
        scored = []
        for page in pages:
            answer, pred = usable.get(page, {}), Places(read(texts[page]))
            scored.append(page_scores(answer, facts[page], pred, mode=mode, notes=notes))
        for name in METRICS:
            tallies = np.array([by_metric[name] for by_metric, _ in scored])
            rows.append(score_rows(base, metrics.get(name), tallies, mode=mode, **how))
        for kind in sorted({kind for _, by_kind in scored for kind in by_kind}):
            having = [at for at, (_, by_kind) in enumerate(scored) if kind in by_kind]
            tallies = np.array([scored[at][1][kind] for at in having])
            sliced = how | {"mode": mode, "slice_by": "kind", "slice_value": kind}
            shares = metrics.get("judge_entity_accuracy")
            rows.append(score_rows(base[having], shares, tallies, **sliced))
    return pl.concat(rows)


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
    notes |= _counts(odd)
    modes = [replace(evaluation, scores=scores.filter(mode=mode)) for mode in MODES]
    drawn: dict[str, Any] = {"by": (), "average": "pooled", "resamples": resamples, "seed": seed}
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
    known = pl.col("correct").str.strip_chars().str.to_lowercase()
    odd = table.with_row_index("line", 2).filter(~known.is_in(list(_VERDICTS)).fill_null(False))
    if odd.height:
        where = f"{file}:{odd['line'][0]}"
        raise DataBroken("a verdict is true or false", where=where, remedy="true or false")
    return table.with_columns(
        known.replace_strict(_VERDICTS, return_dtype=pl.Boolean).alias("correct")
    )
