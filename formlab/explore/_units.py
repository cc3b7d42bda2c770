"""What the explorer counts, part by part: fields, or pages and documents, and their tallies."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import polars as pl

from formlab import tables
from formlab.analysis.finding import fields_of, in_fields
from formlab.folders import Evaluation
from formlab.stats.sums import small

RIGHT, ERRORS, SIMILARITY = "outcome", "errors", "similarity"
_OF_CASES = (RIGHT, ERRORS, SIMILARITY)
NO_ERROR = ("match", "unscored")
_WHOLE = ("document", "page")
# What a case is told by, and what a gallery ranks it by.
NEEDED = (
    "benchmark", "split", "system", "doc_id", "task", "level", "path", "gold", "similarity",
    "outcome", "cause", "status",
)  # fmt: skip


class Tally(NamedTuple):
    """Of each unit its hits and its total; both 0 where it is not scored."""

    hits: np.ndarray
    total: np.ndarray


def of_wholes(evaluation: Evaluation) -> bool:
    """Whether an evaluation has no fields, so that pages and documents are counted."""
    some = (each.scan("cases").filter(in_fields()).head(1) for each in evaluation.parts())
    return not any(rows.collect().height for rows in some)


def pieces(
    evaluation: Evaluation, names: Sequence[str] | None = None
) -> Iterator[tuple[Evaluation, pl.DataFrame]]:
    """Part by part what is counted: all its columns, or what the columns `names` follow from.

    Pages and documents, which are few, are one piece, whose part is the evaluation.
    """
    if not of_wholes(evaluation):
        for part in evaluation.parts():
            yield part, fields_of(part, names)
        return
    level = pl.col("level").is_in(_WHOLE)
    whole = evaluation.gathered(lambda each: each.cases.filter(level))
    tasks = evaluation.gathered(
        lambda each: each.scan("scores").filter(level).select("task").unique().collect()
    )
    absent = evaluation.documents.join(whole, on="doc_id", how="anti")
    head = {"system": evaluation.system, "level": "document", "outcome": "unscored"}
    head |= {"task": tasks["task"].min() or "text"}
    keys = absent.select("benchmark", "split", "doc_id").iter_rows(named=True)
    rows = tables.table("cases", [head | key for key in keys])
    yield evaluation, pl.concat([whole, rows], how="diagonal_relaxed")


def scores_of(part: Evaluation, whole: bool) -> pl.LazyFrame:
    """The scores of the `units`, one by one."""
    levels = pl.col("level").is_in(_WHOLE if whole else tables.FIELD_LEVELS)
    return part.scan("scores").filter(levels, pl.col("slice_by").is_null())


def tally_of(part: Evaluation, cases: pl.DataFrame, measure: str, *, whole: bool) -> Tally:
    """Hits and total of each of the `cases`, which are a piece of an evaluation."""
    if measure in _OF_CASES:
        wrong = ~cases["outcome"].is_in(NO_ERROR)
        asked = cases["gold"].is_not_null() & (cases["outcome"] != "unscored")
        similarity = cases["similarity"]
        hits, total = {
            RIGHT: ((cases["outcome"] == "match") & asked, asked),
            ERRORS: (wrong, asked),
            SIMILARITY: (similarity.fill_nan(None), similarity.is_finite()),
        }[measure]
        return _numbers(hits, total)
    # Scores of a page have no path, and its case may have none either.
    key = ["doc_id"] if whole else ["doc_id", "path"]
    columns = [*key, "hits", "total"]
    own = pl.col("metric") == measure
    tallies = part.gathered(
        lambda each: scores_of(each, whole).filter(own).select(columns).collect()
    )
    tallies = tallies.unique(key, keep="first", maintain_order=True)
    joined = cases.select(key).join(tallies, on=key, how="left", maintain_order="left")
    return _numbers(joined["hits"], joined["total"])


def needed_by(measure: str) -> Sequence[str]:
    """The columns of cases that the tallies of a measure follow from."""
    return ("outcome", "gold", "similarity") if measure in _OF_CASES else ("doc_id", "path")


def _numbers(hits: pl.Series, total: pl.Series) -> Tally:
    both = pl.DataFrame({"hits": hits, "total": total}).cast(pl.Float64).fill_nan(None)
    return Tally(*(small(column) for column in both.fill_null(0.0).to_numpy().T))
