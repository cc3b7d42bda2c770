"""Where clicks go: against what is typed there, how far off, and onto what else."""

from typing import Any

import numpy as np
import polars as pl

from formlab import tables
from formlab.benchmarks.corpus import meta_of
from formlab.errors import DataBroken
from formlab.folders import Evaluation
from formlab.metrics.actions import DESCRIPTION, nearest
from formlab.scoring.bands import Band

_RIGHT, _WRONG = "right", "wrong"
CELLS = (
    (_RIGHT, _RIGHT, "both right"), (_RIGHT, _WRONG, "click right, value wrong"),
    (_WRONG, _RIGHT, "click wrong, value right"), (_WRONG, _WRONG, "both wrong"),
)  # fmt: skip
# Distances in pixels; a line of a form is some 40 pixels high.
_EDGES = (5, 10, 20, 40, 80, 160, 320, 640)


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
        Columns `kind` (``all`` too), `click` and `value` (``right``, ``wrong``), `cell` (both in
        words), `n_cases`, `n_kind` and their `share`, in [0, 1]. Four rows a kind, also where
        nothing fell; none without clicks. Fields without a known place, and those to leave alone,
        are not among them.

    Raises
    ------
    DataBroken
        If the evaluation has clicks and no such metric.
    """
    fields = evaluation.gathered(lambda part: _fields(part, value))
    for name in ("click_accuracy", value):
        if fields.height and not fields[name].any():
            remedy = "formlab score formfactory, or formlab arena score"
            raise DataBroken(f"the evaluation has no {name}", remedy=remedy)
    fields = fields.filter("known")
    both = pl.concat([fields, fields.with_columns(kind=pl.lit("all"))])
    counts = both.group_by("kind", "click", "value").len("n_cases")
    kinds = both.select(pl.col("kind").unique(maintain_order=True))
    cells = pl.DataFrame(CELLS, schema=["click", "value", "cell"], orient="row")
    table = kinds.join(cells, how="cross", maintain_order="left_right")
    table = table.join(
        counts, on=["kind", "click", "value"], how="left", maintain_order="left"
    ).with_columns(pl.col("n_cases").fill_null(0).cast(pl.Int64))
    table = table.with_columns(n_kind=pl.col("n_cases").sum().over("kind"))
    return table.with_columns(share=pl.col("n_cases") / pl.col("n_kind"))


def _fields(evaluation: Evaluation, value: str) -> pl.DataFrame:
    """The kind, click and value of each field; whether it has a place, and each metric any row."""
    scores = evaluation.scores.filter(pl.col("level") == "field")
    cases = evaluation.cases.filter(pl.col("gold").is_not_null(), pl.col("task") == "click")
    scored: dict[str, pl.Expr] = {}
    for name in ("click_accuracy", value):
        rows = tables.only(scores, metric=name).select("doc_id", "path", value="value")
        scored[name] = pl.lit(rows.height > 0)
        rows = rows.rename({"value": name})
        cases = cases.join(rows, on=["doc_id", "path"], how="left", maintain_order="left")
    known = pl.col("click_accuracy").is_not_nan()
    right = (
        pl.when(pl.col("kind") == DESCRIPTION).then(pl.col("fuzzy")).otherwise(pl.col(value) == 1)
    ).fill_null(False)
    words = {True: _RIGHT, False: _WRONG}
    return cases.select(
        "kind", known=known.fill_null(False), **scored,
        click=(pl.col("click_accuracy") == 1).replace_strict(words, return_dtype=pl.String),
        value=right.replace_strict(words, return_dtype=pl.String),
    )  # fmt: skip


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
        pixels, 0 for a hit; `band`, the distance in bands that double, and `hit`, what it hit in
        words. A field whose values go to several places has its first miss.
    """
    return evaluation.gathered(_misses)


def _misses(evaluation: Evaluation) -> pl.DataFrame:
    templates = dict(evaluation.documents.select("doc_id", "template").rows())
    elements = {
        doc: [tuple(row) for row in meta_of(meta).get("elements", [])]
        for doc, meta in evaluation.documents.select("doc_id", "meta").iter_rows()
    }
    scores = evaluation.scores.filter(pl.col("level") == "field")
    clicked = tables.only(scores, metric="click_accuracy").select("doc_id", "path", click="value")
    unwanted = tables.only(scores, metric="unwanted_clicks")
    unwanted = unwanted.select("doc_id", "path", unwanted="value")
    far = tables.only(scores, metric="click_distance").filter(pl.col("total") > 0)
    far = far.select("doc_id", "path", distance="value")
    cases = evaluation.cases.filter(pl.col("task") == "click", pl.col("pred_x0").is_not_null())
    for rows in (clicked, unwanted, far):
        cases = cases.join(rows, on=["doc_id", "path"], how="left", maintain_order="left")
    wrong = (pl.col("click") == 0) | (pl.col("unwanted") == 1)
    cases = cases.filter(pl.col("gold").is_null() | wrong)
    rows = [_miss(row, elements.get(row["doc_id"], []), templates) for row in cases.to_dicts()]
    table = pl.DataFrame(rows, schema=_MISSES)
    hit = pl.when(pl.col("near_distance") == 0).then(pl.lit("hit a wrong element"))
    return table.with_columns(
        Band("", _EDGES).of(table["distance"]).alias("band"),
        hit.otherwise(pl.lit("hit no element")).alias("hit"),
    )


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
    near, gaps = nearest(point, boxes)
    at = int(near[0])
    asked = row["gold"] is not None
    return {
        "doc_id": row["doc_id"], "template": templates.get(row["doc_id"]),
        "path": row["path"] if asked else None, "kind": row["kind"] if asked else None,
        "pred": row["pred"], "page": row["pred_page"], "x": row["pred_x0"], "y": row["pred_y0"],
        "distance": row["distance"] if asked else None,
        "near": elements[at][5] if at >= 0 else None,
        "near_distance": float(gaps[0]) if at >= 0 else None,
    }  # fmt: skip
