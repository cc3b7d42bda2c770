"""How well a system does as it is told: the share of its answers that are valid, or are not."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from formlab import tables
from formlab.metrics._spec import Metric, ratio

# The statuses that each share counts; `valid_answers` are those that needed no repair.
_COUNTED: dict[str, tuple[str, ...]] = {
    "usable_answers": tables.USABLE,
    "valid_answers": ("ok",),
    "repaired_answers": ("repaired",),
    "bad_json_answers": ("bad_json",),
    "refused_answers": ("refused",),
    "truncated_answers": ("truncated",),
    "failed_calls": ("api_error",),
}
_TITLES = {
    "usable_answers": "Usable answers", "valid_answers": "Valid as given",
    "repaired_answers": "Usable after repair", "bad_json_answers": "No usable JSON",
    "refused_answers": "Refused", "truncated_answers": "Cut short",
    "failed_calls": "Errors of the API",
}  # fmt: skip
_UP = ("usable_answers", "valid_answers")


def told(responses: pl.DataFrame) -> bool:
    """Whether a model was told what to do: it was sent a request, and answered or failed to.

    Runs of engines that read pages made before version 0.2 keep a hash of the page as `request`;
    neither a text nor a status of answers stands beside it.

    Examples
    --------
    >>> row = {"benchmark": "b", "split": "s", "doc_id": "1", "system": "m", "task": "text"}
    >>> [told(tables.table("responses", [row | more])) for more in (
    ...     {"status": "ok", "request": "1f"}, {"status": "refused", "request": "1f"},
    ...     {"status": "ok", "request": "1f", "text": "{}"})]
    [False, True, True]
    """
    answer = pl.col("text").is_not_null() | ~pl.col("status").is_in(["ok", "missing"])
    return responses.filter(pl.col("request").is_not_null(), answer).height > 0


def answer_tallies(statuses: Sequence[str], name: str) -> np.ndarray:
    """Whether each answer counts for the share `name`, out of one answer.

    A question that was never asked (status `missing`) says nothing of the system: 0 of 0.

    Returns
    -------
    numpy.ndarray
        Shape (n, 2).

    Examples
    --------
    >>> answer_tallies(["ok", "repaired", "missing"], "valid_answers").tolist()
    [[1.0, 1.0], [0.0, 1.0], [0.0, 0.0]]
    """
    hits = np.array([status in _COUNTED[name] for status in statuses], dtype=float)
    asked = np.array([status not in ("missing", "unscored") for status in statuses], dtype=float)
    return np.stack([hits, asked], axis=1)


def following(responses: pl.DataFrame) -> pl.DataFrame:
    """Each share per benchmark, split, system and task, and over all tasks (task ``all``).

    Parameters
    ----------
    responses
        The table *responses* of one run or several.

    Returns
    -------
    polars.DataFrame
        benchmark, split, system, task, metric, hits, total, value. A value is in [0, 1], and NaN
        where no question was asked; the shares but `usable_answers` add up to 1.

    Examples
    --------
    >>> row = {"benchmark": "b", "split": "s", "doc_id": "1", "system": "m", "task": "vqa"}
    >>> rows = tables.table("responses", [row | {"status": s} for s in ("ok", "refused")])
    >>> following(rows).filter(task="vqa", metric="refused_answers")["value"].to_list()
    [0.5]
    """
    both = pl.concat([responses, responses.with_columns(task=pl.lit("all"))])
    key = ["benchmark", "split", "system", "task"]
    rows = []
    for named, part in both.group_by(key, maintain_order=True):
        for name in FOLLOWING_METRICS:
            hits, total = answer_tallies(part["status"].to_list(), name).sum(axis=0)
            counts = {"metric": name, "hits": float(hits), "total": float(total)}
            value = float(ratio(np.array([hits, total])))
            rows.append(dict(zip(key, named, strict=True)) | counts | {"value": value})
    schema = dict.fromkeys([*key, "metric"], pl.String)
    schema |= dict.fromkeys(["hits", "total", "value"], pl.Float64)
    return pl.DataFrame(rows, schema=schema)


def _metric(name: str) -> Metric:
    def tallies(gold: Sequence[str], pred: Sequence[str]) -> np.ndarray:
        del gold
        return answer_tallies(pred, name)

    return Metric(
        name=name, title=_TITLES[name], direction="up" if name in _UP else "down",
        low=0.0, high=1.0, unit="answers",
        source="FORMCRAFT, appendix J: following of instructions", view="counts",
        tallies=tallies, units=("answer",),
    )  # fmt: skip


FOLLOWING_METRICS: dict[str, Metric] = {name: _metric(name) for name in _COUNTED}
