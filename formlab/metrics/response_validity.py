"""Instruction following: the share of responses by validity status."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from formlab import tables
from formlab.metrics._spec import Metric

# The title of each share and the statuses that it counts; `valid_answers` needed no repair.
_SHARES: dict[str, tuple[str, tuple[str, ...]]] = {
    "usable_answers": ("Usable answers", tables.USABLE),
    "valid_answers": ("Valid as given", ("ok",)),
    "repaired_answers": ("Usable after repair", ("repaired",)),
    "bad_json_answers": ("No usable JSON", ("bad_json",)),
    "refused_answers": ("Refused", ("refused",)),
    "truncated_answers": ("Cut short", ("truncated",)),
    "failed_calls": ("Errors of the API", ("api_error",)),
}
_UP = ("usable_answers", "valid_answers")


def was_prompted(responses: pl.DataFrame) -> bool:
    """Whether the responses are of a model that was sent a request, and answered or failed to.

    Runs of engines that read pages made before version 0.2 keep a hash of the page as `request`;
    neither a text nor a status of answers stands beside it.

    Examples
    --------
    >>> row = {"benchmark": "b", "split": "s", "doc_id": "1", "system": "m", "task": "text"}
    >>> [was_prompted(tables.table("responses", [row | more])) for more in (
    ...     {"status": "ok", "request": "1f"}, {"status": "refused", "request": "1f"},
    ...     {"status": "ok", "request": "1f", "text": "{}"})]
    [False, True, True]
    """
    answer = pl.col("text").is_not_null() | ~pl.col("status").is_in(["ok", "missing"])
    return responses.filter(pl.col("request").is_not_null(), answer).height > 0


def answer_tallies(statuses: Sequence[str], name: str) -> np.ndarray:
    """Whether each answer counts for the share `name`, out of one answer; shape (n, 2).

    A question that was never asked (status `missing`) says nothing of the system: 0 of 0.

    Examples
    --------
    >>> answer_tallies(["ok", "repaired", "missing"], "valid_answers").tolist()
    [[1.0, 1.0], [0.0, 1.0], [0.0, 0.0]]
    """
    hits = np.array([status in _SHARES[name][1] for status in statuses], dtype=float)
    asked = np.array([status not in ("missing", "unscored") for status in statuses], dtype=float)
    return np.stack([hits, asked], axis=1)


VALIDITY_METRICS = {
    name: Metric(
        name=name, title=title, direction="up" if name in _UP else "down",
        unit="answers", source="FORMCRAFT, appendix J: following of instructions",
        view="counts", units=("answer",),
    )
    for name, (title, _) in _SHARES.items()
}  # fmt: skip
