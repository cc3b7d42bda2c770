"""Rule, judge and human verdicts on the same facts of financial pages, and how far they agree."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import polars as pl

from formlab import benchmarks, files, readers, tables
from formlab.analysis.agreement import rater_agreement
from formlab.analysis.summarise import summarise
from formlab.benchmarks.corpus import meta_of
from formlab.errors import DataBroken, DataMissing
from formlab.folders import Corpus, Evaluation, Predictions
from formlab.metrics import judge as judging
from formlab.metrics.places import Places
from formlab.scoring.tasks._kit import score_table
from formlab.tables import USABLE
from formlab.text.markup import read
from formlab.workers import threads

if TYPE_CHECKING:
    from formlab.systems.judge import Call

MODES = ("fixed", "official")
RATERS = ("rule", "judge", "human")
COLUMNS = ("doc_id", "path", "kind", "gold", "text", *RATERS, "final", "override", "reason")
_WORDS = ("doc_id", "judge", "status", "error", "structure_explanation", "overall_explanation")
_VERDICTS = dict.fromkeys(("true", "1", "yes"), True) | dict.fromkeys(("false", "0", "no"), False)
Answers = Mapping[str, Mapping[str, Any]]


class Checked(NamedTuple):
    """A judge's answers after the checks, by page, the figures over all, and counts of flaws."""

    answers: dict[str, dict[str, Any]]
    performance: dict[str, float]
    notes: dict[str, int]


class Audit(NamedTuple):
    """Verdicts on each fact (`COLUMNS`), their `rater_agreement`, and the judge's words by page.

    `summary` is of the `judge_scores` in both modes; `notes` count what was odd in the answers.
    """

    table: pl.DataFrame = pl.DataFrame()
    kappas: pl.DataFrame = pl.DataFrame()
    notes: Mapping[str, int] = {}
    summary: pl.DataFrame = pl.DataFrame()
    pages: pl.DataFrame = pl.DataFrame()


class Judged:
    """What a judge is asked of predictions, by page: the text predicted, and the gold's facts."""

    def __init__(self, corpus: Corpus, predictions: Predictions) -> None:
        whole = predictions.records.filter(pl.col("path").is_null(), pl.col("task") != "layout")
        self.texts = dict(whole.select("doc_id", pl.col("value").fill_null("")).iter_rows())
        self.facts: dict[str, list[dict[str, Any]]] = {doc: [] for doc in corpus.records["doc_id"]}
        for row in corpus.records.drop_nulls("path").iter_rows(named=True):
            fact = {name: row[name] for name in ("path", "kind", "value")}
            self.facts[row["doc_id"]].append(fact | meta_of(row))
        # Those of a fact, which were predicted.
        self.pages = [page for page, of in self.facts.items() if page in self.texts and of]


def _usable(raw: Answers, notes: Counter[str]) -> dict[str, Mapping[str, Any]]:
    """The answers with verdicts; `notes` count the pages that have none, by status."""
    statuses = {page: answer.get("status", "ok") for page, answer in raw.items()}
    odd = (status for status in statuses.values() if status not in USABLE)
    notes.update(f"judge: pages without verdicts, {status}" for status in odd)
    return {page: raw[page] for page, status in statuses.items() if status in USABLE}


def answers(path: Path) -> dict[str, dict[str, Any]]:
    """A judge's answers by page number; `DataBroken` if no JSON has them, one for each page."""
    answers = files.read_json(path, once=True)
    if isinstance(answers, list):
        numbers = [item.get("id") if isinstance(item, dict) else None for item in answers]
        if None in numbers:
            where = f"{path}#/{numbers.index(None)}"
            raise DataBroken("an answer without its page", where=where, remedy='add "id"')
        if twice := [page for page, count in Counter(map(str, numbers)).items() if count > 1]:
            raise DataBroken(f"pages answered twice: {', '.join(twice)}", where=path)
        answers = dict(zip(map(str, numbers), answers, strict=True))
    if not isinstance(answers, dict) or not all(isinstance(a, dict) for a in answers.values()):
        raise DataBroken("judge answers are an object by page or an array", where=path)
    return answers


def check(raw: str | Path, *, root: str | Path, predictions: str | Path | None = None) -> Checked:
    """A judge's raw answers checked as the released code does, with its figures.

    `raw` is the judge's JSON file, `root` the folder of the gold pages, `predictions` that of
    ``pred_<i>.txt``, ``pred`` in `root` if left out. `DataMissing` or `DataBroken` if a file is
    absent or unreadable, or no answer is for a gold page.
    """
    corpus = benchmarks.load("fincriticaled", split="test", root=Path(root))
    where = Path(root) / "pred" if predictions is None else Path(predictions)
    reader = readers.reader_of(where, corpus)
    if reader is None or reader.name != corpus.benchmark:
        raise DataMissing("no pred_<i>.txt", where=where, remedy="--predictions with their folder")
    judged = Judged(corpus, readers.read_predictions(where, corpus))
    notes, checked = Counter[str](), {}
    for page, answer in _usable(answers(Path(raw)), notes).items():
        facts, text = judged.facts.get(page), judged.texts.get(page)
        if facts is None or text is None:
            notes[f"answers for pages without {'gold' if facts is None else 'a prediction'}"] += 1
            continue
        # The released code puts the page's number into the answer before it counts.
        numbered = answer | {"id": int(page) if page.isdecimal() else page}
        checked[page] = judging.official(numbered, facts, judging.plain_text(text))
        # Counted: what the released code takes as it is.
        judging.entries_of(answer, facts, notes)
    if not checked:
        raise DataBroken("no answer is for a gold page with a prediction", where=raw)
    return Checked(checked, judging.performance(checked.values()), dict(+notes))


def ask_judge(
    corpus: Corpus, predictions: Predictions, *, call: Call, workers: int = 1, **shown: Any
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Ask a judge about every predicted page with facts: page and answer, as they come.

    `call`, `shown`: as for `formlab.systems.judge.ask`; `NotAvailable` if no call can succeed.
    """
    from formlab.systems.judge import ask  # With it come all chat models.

    judged = Judged(corpus, predictions)
    golds = dict(corpus.records.filter(pl.col("path").is_null()).select("doc_id", "value").rows())

    def answer(page: str) -> dict[str, Any]:
        return ask(page, judged.facts[page], golds[page], judged.texts[page], call=call, **shown)

    # If the caller stops, calls not yet begun are cancelled; those under way reach the store.
    with closing(threads(answer, judged.pages, workers=workers, name="judge")) as answered:
        yield from answered


def _verdicts(
    evaluation: Evaluation, raw: Answers, humans: pl.DataFrame, notes: Counter[str]
) -> pl.DataFrame:
    """Every fact with the verdict of the rules, of the judge, and of a human where there is one."""
    judged, verdicts = Judged(evaluation.corpus, evaluation.predictions), []
    for page, answer in _usable(raw, notes).items():
        # Counts without verdicts say nothing of a single fact.
        if answer.get(judging.ENTRIES) and (facts := judged.facts.get(page)):
            pred = Places(read(judged.texts.get(page, "")))
            settled = judging.settled(answer, facts, pred, notes)
            verdicts += [(page, f["path"], v.correct) for f, v in zip(facts, settled, strict=True)]
    cases = evaluation.scan("cases").filter(pl.col("level") == "fact")
    rule = pl.col("outcome") == "match"
    table = cases.select("doc_id", "path", "kind", "gold", text="pred", rule=rule).collect()
    judge = pl.DataFrame(verdicts, schema=tables.schema("doc_id path judge:flag"), orient="row")
    for rater in (judge, humans):
        table = table.join(rater, on=["doc_id", "path"], how="left", maintain_order="left")
    # A human overrules the judge; without one the rules do, as their verdict can be retraced.
    by = pl.when(pl.col("human").is_not_null()).then(pl.lit("human")).otherwise(pl.lit("rule"))
    why = pl.coalesce("reason", pl.format("{}: {}", by, pl.col("text").fill_null("not found")))
    final = pl.coalesce("human", "rule")
    overruled = pl.when(pl.col("judge") != final)
    columns = {"final": final, "override": overruled.then(by), "reason": overruled.then(why)}
    return table.with_columns(**columns).select(COLUMNS)


def judge_scores(
    corpus: Corpus, predictions: Predictions, raw: Answers, notes: Counter[str] | None = None
) -> pl.DataFrame:
    """The scores of every predicted page by a judge, in both modes, and its facts right by kind.

    In mode `official` the judge's own counts stand, in mode `fixed` its verdicts after they are
    verified (`formlab.metrics.judge.settled`). A page without a usable answer is undefined. The
    rows have the schema SCORES; summarise those of one mode at a time.
    """
    notes = Counter() if notes is None else notes
    judged, usable = Judged(corpus, predictions), _usable(raw, Counter())
    notes["judge: pages cut for their length"] += sum("cut_at" in a for a in usable.values())
    origin = {"benchmark": corpus.benchmark, "split": corpus.split, "system": predictions.system}
    origin |= {"path": None, "task": "fact", "status": "ok"}
    base = pl.DataFrame([{"doc_id": page} | origin for page in judged.pages])
    named = ("judge", "prompt", "view")
    rules = {f"{key}={answer[key]}" for answer in usable.values() for key in named if key in answer}
    rules, rows = ("judge", *sorted(rules)), [tables.table("scores", [])]
    for mode in MODES:
        tallies: dict[tuple[str, str], dict[int, tuple[float, float]]] = {}
        for at, page in enumerate(judged.pages):
            asked = usable.get(page, {}), judged.facts[page], Places(read(judged.texts[page]))
            for key, tally in judging.page_scores(*asked, mode=mode, notes=notes).items():
                tallies.setdefault(key, {})[at] = tally
        for (name, kind), of in sorted(tallies.items()):
            by = {"slices": {"kind": kind}} if kind else {}
            parts = {name: np.array(list(of.values()))}
            rows.append(score_table(base[list(of)], parts, *rules, level="page", mode=mode, **by))
    return pl.concat(rows)


def open_audit(
    evaluation: Evaluation, judge: str | Path = "", *, humans: str | Path = "", **draws: int
) -> Audit:
    """The audit of a judge's answers on what an evaluation scored; without answers, an empty one.

    `evaluation` is of the pages that were judged; `judge` the judge's JSON file; `humans` a CSV of
    verdicts with columns `doc_id path correct`, and `reason` if known; `draws` as for `summarise`.

    Raises `DataMissing` or `DataBroken` if a file is absent or unreadable, or the scored data is.
    """
    if not str(judge):
        return Audit()
    if evaluation.predictions is None or evaluation.corpus is None:
        raise DataMissing("the evaluation holds no pages to audit", remedy="formlab score again")
    raw, notes = answers(Path(judge)), Counter[str]()
    table = _verdicts(evaluation, raw, _humans(humans), notes)
    scores = judge_scores(evaluation.corpus, evaluation.predictions, raw, notes)
    words = ({"doc_id": page, "status": "ok"} | answer for page, answer in raw.items())
    words = [{name: str(row[name]) for name in _WORDS if name in row} for row in words]
    pages = pl.DataFrame(words, schema=dict.fromkeys(_WORDS, pl.String))
    raters = [name for name in RATERS if table[name].null_count() < table.height]
    modes = [replace(evaluation, scores=scores.filter(mode=mode)) for mode in MODES]
    summary = pl.concat([summarise(mode, by=(), average="pooled", **draws) for mode in modes])
    return Audit(table, rater_agreement(table, raters, **draws), dict(+notes), summary, pages)


def _humans(file: str | Path) -> pl.DataFrame:
    """What people said of facts, with `reason` where they gave any; of no file nothing."""
    schema = tables.schema("doc_id path human:flag reason")
    if not str(file):
        return pl.DataFrame(schema=schema)
    try:
        table = pl.read_csv(files.read_text(Path(file)).encode(), infer_schema=False)
    except pl.exceptions.PolarsError as error:
        raise DataBroken(f"not a readable CSV: {error}", where=file) from error
    if missing := [name for name in ("doc_id", "path", "correct") if name not in table.columns]:
        raise DataBroken(f"no column {', '.join(missing)}", where=f"{file}:1")
    word = pl.col("correct").str.strip_chars().str.to_lowercase()
    table = table.with_columns(human=word.replace_strict(_VERDICTS, default=None))
    if (verdicts := table["human"]).null_count():
        where = f"{file}:{2 + verdicts.is_null().arg_max()}"
        raise DataBroken("a verdict is true or false", where=where, remedy="true or false")
    return pl.DataFrame(table.to_dicts(), schema=schema)
