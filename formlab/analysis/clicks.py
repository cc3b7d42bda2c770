"""Where clicks go: against what is typed there, how far off, and onto what else."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from formlab import tables
from formlab.benchmarks.formfactory import elements_of
from formlab.errors import DataBroken
from formlab.metrics.actions import DESCRIPTION, distances, nearest
from formlab.tables import Evaluation

_RIGHT, _WRONG = "right", "wrong"


def click_and_value(evaluation: Evaluation, *, value: str = "value_found_accuracy") -> pl.DataFrame:
    """Fields by whether the click and whether the value is right: a 2 × 2 table per field type.

    Parameters
    ----------
    evaluation
        Of a benchmark with the task `click`.
    value
        The metric that says whether a value is right. Of a description, which it leaves out, the
        similarity to the gold decides (rung `fuzzy`).

    Returns
    -------
    polars.DataFrame
        Columns `kind` (``all`` too), `click` and `value` (``right``, ``wrong``), `n_cases` and
        `share` of the fields of that kind, in [0, 1]. Four rows a kind, also where nothing fell.
        Fields without a known place, and those to leave alone, are not among them.

    Raises
    ------
    DataBroken
        If the evaluation has no clicks, or no such metric.
    """
    fields = _fields(evaluation, value)
    both = pl.concat([fields, fields.with_columns(kind=pl.lit("all"))])
    counts = both.group_by("kind", "click", "value").len("n_cases")
    kinds = both.select(pl.col("kind").unique(maintain_order=True))
    cells = pl.DataFrame(
        {"click": [_RIGHT, _RIGHT, _WRONG, _WRONG], "value": [_RIGHT, _WRONG, _RIGHT, _WRONG]}
    )
    table = kinds.join(cells, how="cross", maintain_order="left_right")
    table = table.join(
        counts, on=["kind", "click", "value"], how="left", maintain_order="left"
    ).with_columns(pl.col("n_cases").fill_null(0).cast(pl.Int64))
    total = pl.col("n_cases").sum().over("kind")
    return table.with_columns(share=pl.col("n_cases") / total)


def _fields(evaluation: Evaluation, value: str) -> pl.DataFrame:
    """The kind, click and value of each field that has a place, in the order of the cases."""
    scores = evaluation.scores.filter(pl.col("level") == "field")
    held = {
        name: tables.only(scores, metric=name).select("doc_id", "path", pl.col("value").alias(name))
        for name in ("click_accuracy", value)
    }
    for name, rows in held.items():
        if not rows.height:
            remedy = "formlab score formfactory, or formlab arena score"
            raise DataBroken(f"the evaluation has no {name}", remedy=remedy)
    cases = evaluation.cases.filter(pl.col("gold").is_not_null(), pl.col("task") == "click")
    for rows in held.values():
        cases = cases.join(rows, on=["doc_id", "path"], how="left", maintain_order="left")
    known = pl.col("click_accuracy").is_not_nan()
    right = (
        pl.when(pl.col("kind") == DESCRIPTION).then(pl.col("fuzzy")).otherwise(pl.col(value) == 1)
    ).fill_null(False)
    return cases.filter(known.fill_null(False)).select(
        "kind",
        click=_word(pl.col("click_accuracy") == 1),
        value=_word(right),
    )


def _word(held: pl.Expr) -> pl.Expr:
    return pl.when(held).then(pl.lit(_RIGHT)).otherwise(pl.lit(_WRONG))


def misses(evaluation: Evaluation) -> pl.DataFrame:
    """Every click that is not right: how far off it is, and what it hit or is next to.

    Parameters
    ----------
    evaluation
        Of a benchmark with the task `click`.

    Returns
    -------
    polars.DataFrame
        Columns `doc_id`, `template`, `path` and `kind` of the field meant (null where it is meant
        for none), `pred` (what is typed), `page`, `x`, `y` (pixels), `distance` to the nearest
        place that would be right, in pixels (null on another page or without one), `near`, the
        path of the element hit or nearest on that page (null for none), and `near_distance`, in
        pixels, 0 for a hit. A field whose values go to several places has its first miss.
    """
    templates = dict(evaluation.documents.select("doc_id", "template").rows())
    elements = {
        doc: [tuple(row) for row in elements_of(meta)]
        for doc, meta in evaluation.documents.select("doc_id", "meta").iter_rows()
    }
    scores = evaluation.scores.filter(pl.col("level") == "field")
    clicked = tables.only(scores, metric="click_accuracy").select("doc_id", "path", click="value")
    unwanted = tables.only(scores, metric="unwanted_clicks")
    unwanted = unwanted.select("doc_id", "path", unwanted="value")
    far = tables.only(scores, metric="click_distance").filter(pl.col("total") > 0)
    far = far.select("doc_id", "path", distance="value")
    cases = evaluation.cases.filter(pl.col("task") == "click", pl.col("pred_x0").is_not_null())
    for part in (clicked, unwanted, far):
        cases = cases.join(part, on=["doc_id", "path"], how="left", maintain_order="left")
    wrong = (pl.col("click") == 0) | (pl.col("unwanted") == 1)
    cases = cases.filter(pl.col("gold").is_null() | wrong)
    rows = [_miss(row, elements.get(row["doc_id"], []), templates) for row in cases.to_dicts()]
    return pl.DataFrame(rows, schema=_MISSES)


_MISSES = {
    "doc_id": pl.String, "template": pl.String, "path": pl.String, "kind": pl.String,
    "pred": pl.String, "page": pl.Int64, "x": pl.Float64, "y": pl.Float64,
    "distance": pl.Float64, "near": pl.String, "near_distance": pl.Float64,
}  # fmt: skip


def _miss(
    row: dict[str, Any], elements: list[tuple[Any, ...]], templates: dict[str, str]
) -> dict[str, Any]:
    page = np.nan if row["pred_page"] is None else float(row["pred_page"])
    point = np.array([[page, row["pred_x0"], row["pred_y0"]]], dtype=float)
    boxes = np.array([element[:5] for element in elements], dtype=float).reshape(-1, 5)
    at = int(nearest(point, boxes)[0])
    meant = row["gold"] is not None
    return {
        "doc_id": row["doc_id"], "template": templates.get(row["doc_id"]),
        "path": row["path"] if meant else None, "kind": row["kind"] if meant else None,
        "pred": row["pred"], "page": row["pred_page"], "x": row["pred_x0"], "y": row["pred_y0"],
        "distance": row["distance"] if meant else None,
        "near": elements[at][5] if at >= 0 else None,
        "near_distance": float(distances(point, boxes)[0, at]) if at >= 0 else None,
    }  # fmt: skip
