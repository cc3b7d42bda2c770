"""What all scorers share: their result, settings, and rows of scores."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace

import numpy as np
import polars as pl

from formlab import files, metrics, tables, text
from formlab.errors import DataBroken
from formlab.metrics import Metric
from formlab.metrics._spec import SOME_CLAIM
from formlab.tables import LADDER, USABLE, Settings

# Texts are compared as NFC, with white space collapsed and trimmed, in lower case.
NORM = ("nfc", "space", "lower")
# What a text that is not normalised is.
_AS_IT_IS = {"text": "visible", "markup": "markup"}


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
    kept = pl.when(pl.col("status").is_in(USABLE)).then("pred").fill_null("")
    return cases.select(kept).to_series().to_list()


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
    tallies = np.asarray(tallies, dtype=float)
    if tallies.ndim != 2 or len(tallies) != rows.height:
        what = f"tallies of {metric.name} have shape {tallies.shape} for {rows.height} cases"
        raise DataBroken(what, remedy="an array of shape (cases, 2): numerator and denominator")
    if np.isinf(tallies).any():
        raise DataBroken(f"tallies of {metric.name} are infinite", remedy="finite numbers, or NaN")
    # A unit whose tally is NaN is undefined: counted, and in no sum.
    tallies = np.where(np.isnan(tallies).any(axis=1, keepdims=True), 0.0, tallies)
    pair = tallies.shape[1] == 2
    if need := metric.needs(level):
        tallies = np.where(need.holds(tallies)[:, None], tallies, 0.0)
        rules = "|".join(filter(None, (settings.rules, need.rule)))
        settings = replace(settings, rules=rules)
    values = metric.values(tallies, mode)
    none = [None] * rows.height
    columns = rows.select(
        "benchmark", "split", "doc_id", "system", "path", "status",
        task=pl.lit(task) if task else "task",
    )  # fmt: skip
    if not isinstance(slice_value, pl.Series):
        slice_value = pl.lit(slice_value, pl.String)
    return columns.with_columns(
        slice_value.alias("slice_value"),
        pl.Series("hits", tallies[:, 0] if pair else none, dtype=pl.Float64),
        pl.Series("total", tallies[:, 1] if pair else none, dtype=pl.Float64),
        pl.Series("stats", none if pair else tallies).cast(pl.List(pl.Float64)),
        pl.Series("value", values, dtype=pl.Float64),
        tables.settings_of(**asdict(settings)),
        level=pl.lit(level),
        metric=pl.lit(metric.name),
        mode=pl.lit(mode),
        slice_by=pl.lit(slice_by, pl.String),
    ).select(list(tables.SCORES))


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
    sides = rows["gold"].fill_null("").to_list(), used(rows)
    plain = {v: text.normalise(v, norm) if norm else v for v in {*sides[0], *sides[1]}}
    golds, preds = ([plain[v] for v in side] for side in sides)
    rows = rows.with_columns(
        pl.Series("_gold", golds, dtype=pl.String), pl.Series("_pred", preds, dtype=pl.String)
    )
    for metric in metrics.of(task, level, view, *(LADDER if view == "text" else ())):
        if metric.view in LADDER:
            how, cases = f"fuzzy>={threshold:g}|{text.DATE_RULE}", rows
            tallies = metric.count(rows[metric.view].to_list())
        else:
            asked = gold_only and metric.need != SOME_CLAIM
            cases = rows.filter(pl.col("gold").is_not_null()) if asked else rows
            if gold_only:
                cases = cases.filter(pl.col("task").is_in(metric.tasks))
            how = f"norm={','.join(norm)}" if norm else f"norm={_AS_IT_IS[view]}"
            how += "|of=gold fields" if asked else ""
            tallies = _counted(metric, cases.select("_gold", "_pred"))
        if cases.height:
            settings = made_by(how, *rules, read=read)
            yield score_rows(cases, metric, tallies, settings, level=level, mode=mode)


def _counted(metric: Metric, pairs: pl.DataFrame) -> np.ndarray:
    """The tallies of pairs of texts, each counted once however often it occurs."""
    names = pairs.columns
    distinct = pairs.unique(maintain_order=True).with_row_index("place")
    tallies = metric.count(*(distinct[name].to_list() for name in names))
    if distinct.height == pairs.height or tallies.shape[:1] != (distinct.height,):
        return tallies
    places = pairs.join(distinct, on=names, how="left", maintain_order="left")["place"]
    return tallies[places.to_numpy()]
