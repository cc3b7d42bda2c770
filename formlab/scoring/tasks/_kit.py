"""What all scorers share: their result, settings, and rows of scores."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import polars as pl

from formlab import files, metrics, tables, text
from formlab.errors import DataBroken
from formlab.metrics import Metric
from formlab.metrics.metric import SOME_CLAIM
from formlab.tables import LADDER, USABLE, Settings

# Texts are compared as NFC, with white space collapsed and trimmed, in lower case.
NORM = ("nfc", "space", "lower")
# What a text that is not normalised is.
_AS_IT_IS = {"text": "visible", "markup": "markup"}

_USED = pl.when(pl.col("status").is_in(USABLE)).then("pred").fill_null("").alias("pred")


@dataclass(frozen=True)
class TaskScores:
    """The cases (schema CASES) and scores (schema SCORES) of one family of tasks."""

    cases: pl.DataFrame = field(default_factory=lambda: tables.table("cases", []))
    scores: pl.DataFrame = field(default_factory=lambda: tables.table("scores", []))
    notes: dict[str, int] = field(default_factory=dict)

    @classmethod
    def of(
        cls, cases: Iterable[pl.DataFrame], scores: Iterable[pl.DataFrame],
        notes: Mapping[str, int] | None = None,
    ) -> TaskScores:  # fmt: skip
        """All cases and all scores, of which there may be none, and the notes that count some."""
        every = (pl.concat([tables.table(name, []), *frames])
                 for name, frames in (("cases", cases), ("scores", scores)))  # fmt: skip
        return cls(*every, {what: count for what, count in (notes or {}).items() if count})


def any_for(records: pl.DataFrame, answers: pl.DataFrame) -> bool:
    """Whether a system that gave `records` took part in a task where it gave `answers`.

    One that answered other tasks and left this one out did not; one whose every answer was
    unusable did, and found nothing.
    """
    return answers.height > 0 or not records.filter(pl.col("status").is_in(USABLE)).height


def used(cases: pl.DataFrame) -> list[str]:
    """The predicted text of each case; empty unless its status is usable."""
    return cases.select(_USED).to_series().to_list()


def made_by(*rules: str | None, read: str | None = None) -> Settings:
    """The settings of a score: by which rules values are compared and fields are read."""
    named = "|".join(rule for rule in rules if rule)
    return Settings(rules=named or None, read=read, formlab=files.version())


def score_rows(
    rows: pl.DataFrame,
    metric: Metric,
    tallies: np.ndarray,
    settings: Settings,
    *,
    level: str,
    mode: str | None,
    task: str | None = None,
    slice_by: str | None = None,
    slice_value: str | pl.Series | None = None,
) -> pl.DataFrame:
    """Rows of *scores* for the rows of `rows` by one metric.

    `rows` are cases, or what has their ``benchmark split doc_id system task path status``;
    `tallies` has the shape (n, k), a row a case. A case without what the metric needs of its gold
    is undefined, and adds nothing to a sum; the settings say what it needs. `task`, `slice_by` and
    `slice_value` are given where the cases' columns do not tell them.
    """
    return score_table(
        rows, [(metric, tallies, settings)], level=level, mode=mode, task=task, slice_by=slice_by,
        slice_value=slice_value,
    )  # fmt: skip


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
    """`score_rows` by several metrics, one after the other."""
    if not isinstance(slice_value, pl.Series):
        slice_value = pl.lit(slice_value, pl.String)
    shared = rows.select(
        "benchmark", "split", "doc_id", "system", "path", "status",
        task=pl.lit(task) if task else "task", level=pl.lit(level), mode=pl.lit(mode, pl.String),
        slice_by=pl.lit(slice_by, pl.String), slice_value=slice_value,
    )  # fmt: skip
    # Only what differs between metrics is made for each; they share the rest, as whole columns.
    shared = {column.name: column for column in shared.rechunk().get_columns()}
    height = rows.height
    scores = []
    for metric, tallies, settings in counted:
        tallies, settings = _defined(metric, tallies, settings, level, mode, height)
        if tallies.shape[1] == 2:
            pair, stats = np.ascontiguousarray(tallies.T), _same(None, "stats", height)
        else:
            pair, stats = None, pl.Series(tallies).cast(tables.SCORES["stats"])
        columns = shared | {
            "metric": _same(metric.name, "metric", height),
            "settings": _same(vars(settings), "settings", height),
            "stats": stats,
            "value": pl.Series(metric.values(tallies, mode), dtype=pl.Float64),
        }
        for number, name in enumerate(("hits", "total")):
            columns[name] = _same(None, name, height) if pair is None else pl.Series(pair[number])
        scores.append(pl.DataFrame([columns[name].alias(name) for name in tables.SCORES]))
    return pl.concat(scores)


def _same(value: object, name: str, height: int) -> pl.Series:
    """A column of *scores* with one value in every row."""
    return pl.Series(name, [value], dtype=tables.SCORES[name]).new_from_index(0, height)


def _defined(
    metric: Metric,
    tallies: np.ndarray,
    settings: Settings,
    level: str,
    mode: str | None,
    height: int,
) -> tuple[np.ndarray, Settings]:
    """The tallies, 0 of cases that are undefined, and the settings with what a case must have."""
    tallies = np.asarray(tallies, dtype=float)
    if tallies.ndim != 2 or len(tallies) != height:
        what = f"tallies of {metric.name} have shape {tallies.shape} for {height} cases"
        raise DataBroken(what, remedy="an array of shape (cases, 2): numerator and denominator")
    if not np.isfinite(tallies).all():
        if np.isinf(tallies).any():
            what = f"tallies of {metric.name} are infinite"
            raise DataBroken(what, remedy="finite numbers, or NaN")
        # A unit whose tally is NaN is undefined: counted, and in no sum.
        tallies = np.where(np.isnan(tallies).any(axis=1, keepdims=True), 0.0, tallies)
    if need := metric.needs(level, mode):
        tallies = np.where(need.holds(tallies)[:, None], tallies, 0.0)
        rules = "|".join(filter(None, (settings.rules, need.rule)))
        settings = replace(settings, rules=rules)
    return tallies, settings


def text_rows(
    rows: pl.DataFrame,
    *,
    task: str,
    level: str,
    mode: str,
    threshold: float,
    rules: Sequence[str | None] = (),
    read: str | None = None,
    norm: Sequence[str] | None = NORM,
    gold_only: bool = False,
    view: str = "text",
) -> Iterator[pl.DataFrame]:
    """Rows of *scores* by every metric that compares two texts, or reads the ladder.

    The registry is asked for the metrics that declare `task` and read `view`. Texts are normalised
    by the steps `norm`, or compared as they are if it is None; `rules` and `read` go into the
    settings. With `gold_only`, texts that no gold asks for are compared with nothing only by
    metrics of claims.
    """

    # By which tasks and by what in the gold a metric's cases are chosen; all where it is None.
    def choice(metric: Metric) -> tuple[tuple[str, ...], bool] | None:
        every = metric.view in LADDER or not gold_only
        return None if every else (metric.tasks, metric.need != SOME_CLAIM)

    chosen = metrics.of(task, level, view, *(LADDER if view == "text" else ()))
    for which, group in itertools.groupby(chosen, choice):
        cases, asked = rows, False
        if which is not None:
            tasks, asked = which
            cases = rows.filter(pl.col("task").is_in(tasks))
            cases = cases.drop_nulls("gold") if asked else cases
        if not cases.height:
            continue
        counted, pairs = [], None
        for metric in group:
            if metric.view in LADDER:
                how = f"fuzzy>={threshold:g}|{text.DATE_RULE}"
                tallies = metric.count(cases[metric.view].to_list())
            else:
                pairs = pairs or _pairs(cases, norm)
                how = f"norm={','.join(norm)}" if norm else f"norm={_AS_IT_IS[view]}"
                how += "|of=gold fields" if asked else ""
                golds, preds, places = pairs
                tallies = metric.count(golds, preds)
                tallies = tallies[places] if len(tallies) == len(golds) else tallies
            counted.append((metric, tallies, made_by(how, *rules, read=read)))
        yield score_table(cases, counted, level=level, mode=mode)


def _pairs(
    cases: pl.DataFrame, norm: Sequence[str] | None
) -> tuple[list[str], list[str], np.ndarray]:
    """The different pairs of texts, each normalised, and which of them each case has."""
    sides = cases.select(pl.col("gold").fill_null(""), _USED).with_row_index("row")
    distinct = sides.group_by("gold", "pred", maintain_order=True).agg("row")
    places = np.empty(cases.height, dtype=np.int64)
    counts = distinct["row"].list.len().to_numpy()
    places[distinct["row"].explode().to_numpy()] = np.repeat(np.arange(len(counts)), counts)
    golds, preds = (distinct[name].to_list() for name in ("gold", "pred"))
    if norm:
        plain = {value: text.normalise(value, norm) for value in {*golds, *preds}}
        golds, preds = ([plain[value] for value in side] for side in (golds, preds))
    return golds, preds, places
