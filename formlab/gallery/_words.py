"""The texts of a case: gold value, answer of each system, their differences, scores."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from formlab.charts._output import clean
from formlab.gallery._diff import diff
from formlab.scoring.causes import STAGE_OF
from formlab.tables import LADDER

Row = Mapping[str, Any]
Key = tuple[Any, ...]
TEXT_LIMIT = 1_200
_WORD_LIMIT = 300
_OF_CASE = ("benchmark", "split", "doc_id", "level", "task", "path", "kind", "gold")
_OF_ANSWER = ("system", "outcome", "cause", "status")
_SCORED = ("benchmark", "split", "doc_id", "system", "path")


def case(row: Row, beside: Sequence[Row], scores: Mapping[Key, list[Any]]) -> dict[str, Any]:
    """A case without its picture; `beside` holds the answers of further systems."""
    words: dict[str, Any] = {name: _text(row[name]) for name in _OF_CASE}
    words["gold"] = _text(row["gold"], limit=TEXT_LIMIT)
    if row.get("verdict") is not None:
        words["verdict"] = _text(row["verdict"])
    first, *others = [_answer(answer, words["gold"], scores) for answer in (row, *beside)]
    return words | first | ({"beside": others} if others else {})


def _answer(row: Row, gold: str | None, scores: Mapping[Key, list[Any]]) -> dict[str, Any]:
    pred = _text(row["pred"], limit=TEXT_LIMIT)
    answer: dict[str, Any] = {name: _text(row[name]) for name in _OF_ANSWER}
    answer |= {
        "stage": STAGE_OF.get(row["cause"]), "pred": pred, "diff": diff(gold, pred),
        "ladder": [row[rung] for rung in LADDER], "similarity": _number(row["similarity"]),
    }  # fmt: skip
    if (confidence := _number(row["confidence"])) is not None:
        answer["confidence"] = confidence
    if row["failed"] is not None and len(row["failed"]):
        answer["failed"] = [_text(path) for path in row["failed"]]
    if own := scores.get(tuple(row[name] for name in _SCORED)):
        answer["scores"] = own
    return answer


def _text(value: object, *, limit: int = _WORD_LIMIT) -> str | None:
    return None if value is None else clean(value, limit=limit)


def _number(value: float | None) -> float | None:
    return round(value, 4) if value is not None and math.isfinite(value) else None


def scores_by_case(
    scores: pl.DataFrame | None, cases: Sequence[pl.DataFrame]
) -> dict[Key, list[Any]]:
    """``[metric, value, hits, total]`` of the scores that belong to one case, by case.

    Scores of a page or a document, which have no path, belong to no single case.
    """
    if scores is None:
        return {}
    keys = pl.concat([table.select(_SCORED) for table in cases]).unique()
    of_cases = scores.filter(pl.col("path").is_not_null()).join(keys, on=_SCORED, how="semi")
    by_case: dict[Key, list[Any]] = {}
    for row in of_cases.iter_rows(named=True):
        numbers = [_number(row[name]) for name in ("value", "hits", "total")]
        by_case.setdefault(tuple(row[k] for k in _SCORED), []).append([row["metric"], *numbers])
    return by_case
