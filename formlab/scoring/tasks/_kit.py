"""The common parts of all scorers: their input, their result, and rows of scores.

A scorer is a function `score` of a `Scoring` to `TaskScores`, in a module of `scoring.tasks`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from formlab import files, metrics, tables, text
from formlab.errors import DataBroken
from formlab.folders import Corpus, Predictions
from formlab.metrics import Metric
from formlab.metrics.counts import answer_tallies
from formlab.scoring.align import judged, with_status
from formlab.scoring.fields import READER
from formlab.scoring.whole import Whole
from formlab.tables import LADDER, USABLE, Settings

# Texts are compared as NFC, with white space collapsed and trimmed, in lower case.
NORM = "nfc,space,lower"
Frames, Notes = Iterable[pl.DataFrame], Mapping[str, int]


class TaskScores(NamedTuple):
    """The cases (schema CASES) and scores (schema SCORES) of one family of tasks, and notes."""

    cases: pl.DataFrame
    scores: pl.DataFrame
    notes: dict[str, int]

    @classmethod
    def of(cls, cases: Frames = (), scores: Frames = (), notes: Notes | None = None) -> TaskScores:
        """All cases and all scores, of which there may be none, and the notes that count some."""
        both = (("cases", cases), ("scores", scores))
        every = (pl.concat([pl.DataFrame(schema=tables.SCHEMAS[n]), *of]) for n, of in both)
        return cls(*every, {note: count for note, count in (notes or {}).items() if count})


@dataclass(frozen=True)
class Scoring:
    """Documents to score with their predictions, facts of the `whole` corpus, and the options."""

    corpus: Corpus
    predictions: Predictions
    mode: str
    threshold: float
    whole: Whole
    reader: str = READER

    @functools.cached_property
    def orders(self) -> dict[str, Any]:
        """Which of day and month each document writes first."""
        return text.date_orders(self.corpus.documents["doc_id"], self.whole.dates)

    @property
    def options(self) -> dict[str, Any]:
        """How values are compared on the ladder."""
        return {"threshold": self.threshold, "orders": self.orders}

    def judged(self, joined: pl.DataFrame) -> pl.DataFrame:
        """Cases with their status, ladder, outcome and cause, see `align.judged`."""
        if "status" not in joined.columns:
            joined = with_status(joined, self.predictions.records)
        known = self.options | {"words": self.whole.words}
        return judged(joined, system=self.predictions.system, **known)

    def documents(self, records: pl.DataFrame) -> pl.DataFrame:
        """A unit for each document with what the first of some records says of it, if any does."""
        answers = records.unique("doc_id", keep="first")
        answers = answers.select("doc_id", pred_status="status", pred="value")
        same = {"system": pl.lit(self.predictions.system), "path": pl.lit(None, pl.String)}
        units = self.corpus.documents.select("benchmark", "split", "doc_id", **same)
        units = units.join(answers, on="doc_id", how="left", maintain_order="left")
        return with_status(units, self.predictions.records).drop("pred_status")

    def rows(
        self, units: pl.DataFrame, parts: Mapping[str, np.ndarray], *rules: str | None, **more: Any
    ) -> pl.DataFrame:
        """Rows of *scores* as from `score_table`, of fields where it is not said otherwise."""
        return score_table(units, parts, *rules, **{"level": "field", "mode": self.mode} | more)


def any_for(records: pl.DataFrame, answers: pl.DataFrame) -> bool:
    """Whether a system that gave `records` took part in a task where it gave `answers`."""
    # Who answered other tasks left this one out; whose every answer was unusable found nothing.
    return answers.height > 0 or not records.filter(pl.col("status").is_in(USABLE)).height


def by_document(records: pl.DataFrame, made: Callable[..., Any] = list) -> dict[str, Any]:
    """What is `made` of the records of each document that has any."""
    groups = records.group_by("doc_id", maintain_order=True)
    return {str(doc_id): made(group.to_dicts()) for (doc_id,), group in groups}


def sides(cases: pl.DataFrame) -> pl.DataFrame:
    """The columns `gold` and `pred` of cases: empty for none, or if the status is not usable."""
    used = pl.when(pl.col("status").is_in(USABLE)).then("pred")
    return cases.select(pl.col("gold").fill_null(""), used.fill_null("").alias("pred"))


def _composed(texts: pl.Series) -> pl.Series:
    """Each text as NFC; plain ASCII is so already."""
    others = (texts.str.len_bytes() != texts.str.len_chars()).arg_true()
    return texts.scatter(others, texts.gather(others).str.normalize("NFC"))


def score_table(
    units: pl.DataFrame,
    parts: Mapping[str, np.ndarray],
    *rules: str | None,
    level: str,
    mode: str | None,
    read: str | None = None,
    task: str | None = None,
    slices: Mapping[str | None, str | pl.Series | None] | None = None,
) -> pl.DataFrame:
    """Rows of *scores* of some units from the tallies of each metric, one after the other.

    `rules` say how values are compared and `read` how fields are read, for the settings. `slices`
    have the value of each, where None is all units.
    """
    kept = ("benchmark", "split", "doc_id", "system", "path", "status")
    same = {"level": pl.lit(level), "mode": pl.lit(mode, pl.String)}
    shared = units.select(*kept, task=pl.lit(task) if task else "task", **same)
    scores = []
    for name, tallies in parts.items():
        metric, tallies = metrics.get(name), np.asarray(tallies, dtype=float)
        if tallies.ndim != 2 or len(tallies) != units.height:
            problem = f"tallies of {name} have shape {tallies.shape} for {units.height} cases"
            remedy = "an array of shape (cases, 2): numerator and denominator"
            raise DataBroken(problem, remedy=remedy)
        if np.isinf(tallies).any():
            raise DataBroken(f"tallies of {name} are infinite", remedy="finite numbers, or NaN")
        # A unit is undefined whose tally is NaN, or that lacks what the metric needs: in no sum.
        if (need := metric.needs(level, mode)) or np.isnan(tallies).any():
            defined = ~np.isnan(tallies).any(axis=1)
            defined &= tallies[:, -1] >= (need.least if need else -np.inf)
            tallies = np.where(defined[:, None], tallies, 0.0)
        rule = "|".join(filter(None, (*rules, need and need.rule))) or None
        settings = [vars(Settings(rules=rule, read=read, formlab=files.version()))]
        settings = pl.lit(pl.Series("settings", settings, tables.SETTINGS)).first()
        columns = {"hits": tallies[:, 0], "total": tallies[:, -1]}
        columns = columns if tallies.shape[1] == 2 else {"stats": tallies}
        columns |= {"value": metric.values(tallies, mode)}
        series = (pl.Series(key, values, tables.SCORES[key]) for key, values in columns.items())
        rows = shared.with_columns(settings, *series, metric=pl.lit(name))
        for by, value in (slices or {None: None}).items():
            sliced = {"slice_by": pl.lit(by, pl.String), "slice_value": pl.lit(value, pl.String)}
            scores.append(rows.with_columns(**sliced))
    return pl.concat([pl.DataFrame(schema=tables.SCORES), *scores], how="diagonal")


def answer_scores(responses: pl.DataFrame, *, mode: str | None = None) -> pl.DataFrame:
    """Scores of the answers' statuses, a row per answer and share: over all tasks and by task."""
    rows = responses.with_columns(path=pl.lit(None, pl.String))
    parts = answer_tallies(rows["status"].to_list())
    slices = {None: None, "task": rows["task"]}
    return score_table(rows, parts, level="answer", mode=mode, slices=slices)


def _written(cases: pl.DataFrame, norm: str) -> tuple[list[str], list[str], np.ndarray]:
    """The texts of both sides as `norm` has them, equal pairs once; the place of each case's."""
    texts = sides(cases)
    if norm == NORM:
        # White space as `str.split` has it.
        spaced = pl.all().str.replace_all(r"[\s\x1c-\x1f]{2,}|[[\s\x1c-\x1f]--[ ]]", " ")
        texts = texts.select(map(_composed, texts))
        texts = texts.select(spaced.str.strip_chars(" ").str.to_lowercase())
    distinct = texts.unique(maintain_order=True).with_row_index("place")
    places = texts.join(distinct, on=["gold", "pred"], maintain_order="left")["place"]
    return distinct["gold"].to_list(), distinct["pred"].to_list(), places.to_numpy()


def text_rows(
    scoring: Scoring,
    cases: pl.DataFrame,
    *rules: str | None,
    task: str,
    level: str,
    norm: str = NORM,
    view: str = "text",
    chosen: Iterable[Metric] | None = None,
    **more: Any,
) -> Iterator[pl.DataFrame]:
    """Rows of *scores* by every metric that reads a view of cases or the ladder, or by `chosen`.

    `norm` names how texts are written; `more` is for `score_table`.
    """
    chosen = chosen or metrics.of(task, level, view, *(LADDER if view == "text" else ()))
    written = functools.cache(functools.partial(_written, cases, norm))
    for metric in chosen if cases.height else ():
        if metric.view in LADDER:
            rule = f"fuzzy>={scoring.threshold:g}|{text.DATE_RULE}|of=gold fields"
            # Whether each case is right on the rung; null where the gold has no such field.
            asked_for = pl.when(pl.col("gold").is_not_null()).then(metric.view)
            tallies = metric.count(cases.select(asked_for).to_series().to_list())
        else:
            rule = f"norm={norm}"
            golds, preds, places = written()
            tallies = metric.count(golds, preds)
            tallies = tallies[places] if len(tallies) == len(golds) else tallies
        yield scoring.rows(cases, {metric.name: tallies}, rule, *rules, level=level, **more)
