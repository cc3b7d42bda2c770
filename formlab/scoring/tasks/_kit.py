"""The common parts of all scorers: their input, their result, settings, and rows of scores.

A scorer is a function `score` of a `Scoring` to `TaskScores`, in a module of `scoring.tasks`.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import polars as pl

from formlab import files, metrics, tables, text
from formlab.errors import DataBroken
from formlab.folders import Corpus, Predictions
from formlab.metrics import Metric
from formlab.metrics.metric import SOME_CLAIM
from formlab.scoring.align import judged
from formlab.scoring.fields import READER
from formlab.scoring.whole import Whole
from formlab.tables import BOX, LADDER, USABLE, Settings

# Texts are compared as NFC, with white space collapsed and trimmed, in lower case.
NORM = ("nfc", "space", "lower")
# Such texts are in lower case, and then normalised.
_PLAIN = "^(?:[!-~]+(?: [!-~]+)*)?$"
# What a text that is not normalised is.
_AS_IT_IS = {"text": "visible", "markup": "markup"}
Frames = Iterable[pl.DataFrame]
_USED = pl.when(pl.col("status").is_in(USABLE)).then("pred").fill_null("").alias("pred")


@dataclass(frozen=True)
class TaskScores:
    """The cases (schema CASES) and scores (schema SCORES) of one family of tasks."""

    cases: pl.DataFrame = field(default_factory=lambda: tables.table("cases", []))
    scores: pl.DataFrame = field(default_factory=lambda: tables.table("scores", []))
    notes: dict[str, int] = field(default_factory=dict)

    @classmethod
    def of(
        cls, cases: Frames, scores: Frames, notes: Mapping[str, int] | None = None
    ) -> TaskScores:
        """All cases and all scores, of which there may be none, and the notes that count some."""
        sides = (("cases", cases), ("scores", scores))
        every = (pl.concat([tables.table(name, []), *frames]) for name, frames in sides)
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
        records = self.corpus.records
        return text.date_orders(records["doc_id"], records["value"], self.whole.dates)

    def judged(self, joined: pl.DataFrame) -> pl.DataFrame:
        """Cases with the ladder, outcome and cause, see `align.judged`."""
        known = {"orders": self.orders, "words": self.whole.words, "threshold": self.threshold}
        return judged(joined, system=self.predictions.system, **known)

    def documents(self, status: Mapping[str, str]) -> pl.DataFrame:
        """A unit for each document, with what became of it: `missing` where `status` has none."""
        state = pl.col("doc_id").replace_strict(status, default="missing", return_dtype=pl.String)
        same = {"system": pl.lit(self.predictions.system), "path": pl.lit(None, pl.String)}
        named = self.corpus.documents.select("benchmark", "split", "doc_id")
        return named.with_columns(status=state, **same)

    def rows(
        self,
        cases: pl.DataFrame,
        tallies: Mapping[str, np.ndarray],
        *rules: str | None,
        read: str | None = None,
        **options: Any,
    ) -> pl.DataFrame:
        """Rows of *scores* of cases from the tallies of each metric, by `rules`."""
        settings = made_by(*rules, read=read)
        counted = [(metrics.get(name), parts, settings) for name, parts in tallies.items()]
        return score_table(cases, counted, **{"level": "field", "mode": self.mode} | options)


def any_for(records: pl.DataFrame, answers: pl.DataFrame) -> bool:
    """Whether a system that gave `records` took part in a task where it gave `answers`."""
    # Who answered other tasks left this one out; whose every answer was unusable found nothing.
    return answers.height > 0 or not records.filter(pl.col("status").is_in(USABLE)).height


def failed(records: pl.DataFrame) -> dict[str, str]:
    """The status of each document of which nothing usable was given."""
    bad = records.filter(pl.col("path").is_null(), ~pl.col("status").is_in(USABLE))
    return dict(bad.unique("doc_id", keep="first").select("doc_id", "status").iter_rows())


def used(cases: pl.DataFrame) -> list[str]:
    """The predicted text of each case; empty unless its status is usable."""
    return cases.select(_USED).to_series().to_list()


def normalised(texts: pl.Series) -> pl.Series:
    """Texts after the steps `NORM`."""
    odd = (~texts.str.contains(_PLAIN)).arg_true()
    low = texts.str.to_lowercase()
    return low.scatter(odd, [text.normalise(value, NORM) for value in texts.gather(odd)])


def made_by(*rules: str | None, read: str | None = None) -> Settings:
    """The settings of a score: by which rules values are compared and fields are read."""
    named = "|".join(rule for rule in rules if rule)
    return Settings(rules=named or None, read=read, formlab=files.version())


def score_table(
    rows: pl.DataFrame,
    counted: Iterable[tuple[Metric, np.ndarray, Settings]],
    *,
    level: str,
    mode: str | None,
    task: str | None = None,
    slice_by: str | None = None,
    slice_value: str | pl.Series | None = None,
) -> pl.DataFrame:
    """Rows of *scores* of some units by several metrics, one after the other."""
    if not isinstance(slice_value, pl.Series):
        slice_value = pl.lit(slice_value, pl.String)
    shared = rows.select(
        "benchmark", "split", "doc_id", "system", "path", "status",
        task=pl.lit(task) if task else "task", level=pl.lit(level), mode=pl.lit(mode, pl.String),
        slice_by=pl.lit(slice_by, pl.String), slice_value=slice_value,
    )  # fmt: skip
    scores = []
    for metric, tallies, settings in counted:
        tallies = np.asarray(tallies, dtype=float)
        if tallies.ndim != 2 or len(tallies) != rows.height:
            problem = f"tallies of {metric.name} have shape {tallies.shape} for {rows.height} cases"
            remedy = "an array of shape (cases, 2): numerator and denominator"
            raise DataBroken(problem, remedy=remedy)
        if np.isinf(tallies).any():
            remedy = "finite numbers, or NaN"
            raise DataBroken(f"tallies of {metric.name} are infinite", remedy=remedy)
        # A unit whose tally is NaN, or without what the metric needs, is undefined: counted, and in
        # no sum.
        defined = ~np.isnan(tallies).any(axis=1)
        if need := metric.needs(level, mode):
            defined &= tallies[:, -1] >= need.least
            settings = replace(settings, rules="|".join(filter(None, (settings.rules, need.rule))))
        tallies = np.where(defined[:, None], tallies, 0.0)
        columns = {"metric": metric.name, "settings": vars(settings), "stats": None}
        columns |= {"hits": None, "total": None, "value": metric.values(tallies, mode)}
        if tallies.shape[1] == 2:
            columns["hits"], columns["total"] = np.ascontiguousarray(tallies.T)
        else:
            columns["stats"] = tallies
        for name, value in columns.items():
            if isinstance(value, np.ndarray):
                columns[name] = pl.Series(value).cast(tables.SCORES[name])
            else:
                columns[name] = pl.lit(pl.Series([value], dtype=tables.SCORES[name])).first()
        scores.append(shared.with_columns(**columns).select(*tables.SCORES))
    return pl.concat(scores)


def text_rows(
    scoring: Scoring,
    rows: pl.DataFrame,
    *rules: str | None,
    task: str,
    level: str,
    read: str | None = None,
    norm: bool = True,
    gold_only: bool = False,
    view: str = "text",
    chosen: Iterable[Metric] | None = None,
) -> Iterator[pl.DataFrame]:
    """Rows of *scores* by every metric that reads a view of cases or the ladder, or by `chosen`.

    `gold_only` is for fields of several tasks: each metric is of its tasks and, but for those that
    ask for claims, of the gold's fields alone.
    """
    # Equal pairs of texts are counted once, but for metrics that were chosen by hand.
    if is_shared := chosen is None:
        chosen = metrics.of(task, level, view, *(LADDER if view == "text" else ()))
    compared = f"norm={','.join(NORM)}" if norm else f"norm={_AS_IT_IS[view]}"
    pairs: dict[Any, tuple[list[str], list[str], np.ndarray]] = {}
    for metric in chosen:
        cases, of_gold = rows, metric.view in LADDER
        if gold_only and not of_gold:
            of_gold = metric.need != SOME_CLAIM
            cases = cases.filter(pl.col("task").is_in(metric.tasks))
            cases = cases.drop_nulls("gold") if of_gold else cases
        if not cases.height:
            continue
        rule = compared
        if metric.view in LADDER:
            rule = f"fuzzy>={scoring.threshold:g}|{text.DATE_RULE}"
            # Whether each case is right on the rung; null where the gold has no such field.
            asked_for = pl.when(pl.col("gold").is_not_null()).then(metric.view)
            tallies = metric.count(cases.select(asked_for).to_series().to_list())
        elif metric.view == "boxes":
            sides = BOX, [f"pred_{name}" for name in BOX]
            boxes = (cases.select(side).to_numpy().astype(float) for side in sides)
            rule, tallies = "", metric.count(*boxes)
        else:
            key = (metric.tasks, of_gold) if gold_only else None
            golds, preds, places = pairs[key] = pairs.get(key) or _pairs(cases, norm=norm)
            if not is_shared:
                golds, preds = ([side[place] for place in places] for side in (golds, preds))
            tallies = metric.count(golds, preds)
            tallies = tallies[places] if is_shared and len(tallies) == len(golds) else tallies
        settings = made_by(rule, "of=gold fields" if of_gold else None, *rules, read=read)
        yield score_table(cases, [(metric, tallies, settings)], level=level, mode=scoring.mode)


def _pairs(cases: pl.DataFrame, *, norm: bool) -> tuple[list[str], list[str], np.ndarray]:
    """The different pairs of texts, and which of them each case has."""
    sides = cases.select(pl.col("gold").fill_null(""), _USED)
    if norm:
        sides = sides.select(normalised(side) for side in sides)
    distinct = sides.unique(maintain_order=True).with_row_index("place")
    places = sides.join(distinct, on=["gold", "pred"], maintain_order="left")["place"].to_numpy()
    return distinct["gold"].to_list(), distinct["pred"].to_list(), places
