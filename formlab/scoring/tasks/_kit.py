"""The common parts of all scorers: their input, their result, and rows of scores.

A scorer is a function `score` of a `Scoring` to `TaskScores`, in a module of `scoring.tasks`.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from formlab import files, metrics, tables, text
from formlab.errors import DataBroken
from formlab.folders import Corpus, Predictions
from formlab.metrics import SOME_CLAIM, Metric
from formlab.scoring.align import judged, with_status
from formlab.scoring.fields import READER
from formlab.scoring.whole import Whole
from formlab.tables import BOX, LADDER, USABLE, Settings

# Texts are compared as NFC, with white space collapsed and trimmed, in lower case.
NORM = ("nfc", "space", "lower")
# Such texts are in lower case, and then normalised.
_PLAIN = "^(?:[!-~]+(?: [!-~]+)*)?$"
Frames, Notes = Iterable[pl.DataFrame], Mapping[str, int]
_USED = pl.when(pl.col("status").is_in(USABLE)).then("pred").fill_null("").alias("pred")


class TaskScores(NamedTuple):
    """The cases (schema CASES) and scores (schema SCORES) of one family of tasks, and notes."""

    cases: pl.DataFrame
    scores: pl.DataFrame
    notes: dict[str, int]

    @classmethod
    def of(cls, cases: Frames = (), scores: Frames = (), notes: Notes | None = None) -> TaskScores:
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
        """A unit for each document, with its `status`, else what became of the document."""
        given = pl.col("doc_id").replace_strict(status, default=None, return_dtype=pl.String)
        same = {"system": pl.lit(self.predictions.system), "path": pl.lit(None, pl.String)}
        named = self.corpus.documents.select("benchmark", "split", "doc_id", pred_status=given)
        units = with_status(named.with_columns(**same), self.predictions.records)
        return units.drop("pred_status")

    def rows(
        self, units: pl.DataFrame, parts: Mapping[str, np.ndarray], *rules: str | None, **more: Any
    ) -> pl.DataFrame:
        """Rows of *scores* as from `score_table`, of fields where it is not said otherwise."""
        return score_table(units, parts, *rules, **{"level": "field", "mode": self.mode} | more)


def any_for(records: pl.DataFrame, answers: pl.DataFrame) -> bool:
    """Whether a system that gave `records` took part in a task where it gave `answers`."""
    # Who answered other tasks left this one out; whose every answer was unusable found nothing.
    return answers.height > 0 or not records.filter(pl.col("status").is_in(USABLE)).height


def used(cases: pl.DataFrame) -> list[str]:
    """The predicted text of each case; empty unless its status is usable."""
    return cases.select(_USED).to_series().to_list()


def normalised(texts: pl.Series) -> pl.Series:
    """Texts after the steps `NORM`."""
    odd = (~texts.str.contains(_PLAIN)).arg_true()
    low = texts.str.to_lowercase()
    return low.scatter(odd, [text.normalise(value, NORM) for value in texts.gather(odd)])


def score_table(
    units: pl.DataFrame,
    parts: Mapping[str, np.ndarray],
    *rules: str | None,
    level: str,
    mode: str | None,
    read: str | None = None,
    task: str | None = None,
    slice_by: str | None = None,
    slice_value: str | pl.Series | None = None,
) -> pl.DataFrame:
    """Rows of *scores* of some units from the tallies of each metric, one after the other.

    `rules` say how values are compared and `read` how fields are read, for the settings.
    """
    if not isinstance(slice_value, pl.Series):
        slice_value = pl.lit(slice_value, pl.String)
    shared = units.select(
        "benchmark", "split", "doc_id", "system", "path", "status",
        task=pl.lit(task) if task else "task", level=pl.lit(level), mode=pl.lit(mode, pl.String),
        slice_by=pl.lit(slice_by, pl.String), slice_value=slice_value,
    )  # fmt: skip
    scores = []
    for name, tallies in parts.items():
        metric, tallies = metrics.get(name), np.asarray(tallies, dtype=float)
        if tallies.ndim != 2 or len(tallies) != units.height:
            problem = f"tallies of {name} have shape {tallies.shape} for {units.height} cases"
            remedy = "an array of shape (cases, 2): numerator and denominator"
            raise DataBroken(problem, remedy=remedy)
        if np.isinf(tallies).any():
            raise DataBroken(f"tallies of {name} are infinite", remedy="finite numbers, or NaN")
        # A unit whose tally is NaN, or without what the metric needs, is undefined: counted, and in
        # no sum.
        defined, need = ~np.isnan(tallies).any(axis=1), metric.needs(level, mode)
        if need:
            defined &= tallies[:, -1] >= need.least
        tallies = np.where(defined[:, None], tallies, 0.0)
        named = "|".join(filter(None, (*rules, need and need.rule)))
        settings = Settings(rules=named or None, read=read, formlab=files.version())
        columns = {
            "metric": name,
            "settings": vars(settings),
            "value": metric.values(tallies, mode),
        }
        if tallies.shape[1] == 2:
            hits, total = np.ascontiguousarray(tallies.T)
            columns |= {"hits": hits, "total": total, "stats": None}
        else:
            columns |= {"hits": None, "total": None, "stats": tallies}
        for column, value in columns.items():
            if isinstance(value, np.ndarray):
                columns[column] = pl.Series(value).cast(tables.SCORES[column])
            else:
                columns[column] = pl.lit(pl.Series([value], dtype=tables.SCORES[column])).first()
        scores.append(shared.with_columns(**columns).select(*tables.SCORES))
    return pl.concat(scores)


def text_rows(
    scoring: Scoring,
    rows: pl.DataFrame,
    *rules: str | None,
    task: str,
    level: str,
    read: str | None = None,
    norm: str = ",".join(NORM),
    gold_only: bool = False,
    view: str = "text",
    chosen: Iterable[Metric] | None = None,
) -> Iterator[pl.DataFrame]:
    """Rows of *scores* by every metric that reads a view of cases or the ladder, or by `chosen`.

    `norm` names how texts are written. `gold_only` is for fields of several tasks: each metric is
    of its tasks and, but for those that ask for claims, of the gold's fields alone.
    """
    # Equal pairs of texts are counted once, but for metrics that were chosen by hand.
    if is_shared := chosen is None:
        chosen = metrics.of(task, level, view, *(LADDER if view == "text" else ()))
    pairs: dict[Any, tuple[list[str], list[str], np.ndarray]] = {}
    made: dict[Any, tuple[pl.DataFrame, dict[str, np.ndarray]]] = {}
    for metric in chosen:
        of_gold, key, cases = metric.view in LADDER, None, rows
        if gold_only and not of_gold:
            of_gold = metric.need != SOME_CLAIM
            key = metric.tasks, of_gold
            asked = pl.col("gold").is_not_null() | (not of_gold)
            cases = rows.filter(pl.col("task").is_in(metric.tasks), asked)
        if not cases.height:
            continue
        rule = f"norm={norm}"
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
            if key not in pairs:
                pairs[key] = _pairs(cases, is_plain=norm != ",".join(NORM))
            *texts, places = pairs[key]
            if not is_shared:
                texts, places = [[side[at] for at in places] for side in texts], slice(None)
            tallies = metric.count(*texts)
            tallies = tallies[places] if len(tallies) == len(texts[0]) else tallies
        settings = rule, "of=gold fields" if of_gold else None, *rules
        made.setdefault((key, settings), (cases, {}))[1][metric.name] = tallies
    for (_, settings), (cases, tallies) in made.items():
        yield scoring.rows(cases, tallies, *settings, level=level, read=read)


def _pairs(cases: pl.DataFrame, *, is_plain: bool) -> tuple[list[str], list[str], np.ndarray]:
    """The different pairs of texts, and which of them each case has."""
    sides = cases.select(pl.col("gold").fill_null(""), _USED)
    if not is_plain:
        sides = sides.select(normalised(side) for side in sides)
    distinct = sides.unique(maintain_order=True).with_row_index("place")
    places = sides.join(distinct, on=["gold", "pred"], maintain_order="left")["place"].to_numpy()
    return distinct["gold"].to_list(), distinct["pred"].to_list(), places
