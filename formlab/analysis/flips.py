"""The fields of two systems beside each other: what both get right, one alone, or none."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from formlab import tables
from formlab.analysis.comparability import KEY, common, fields, of_gold
from formlab.folders import Evaluation
from formlab.scoring.align import rights
from formlab.scoring.evaluate import THRESHOLD
from formlab.tables import BOX, CASES, LADDER, own_columns

FLIPS = ("both right", "only a", "only b", "both wrong")
# Columns of *cases* that are the system's: each is there once a system, as `pred_a`, `pred_b` …
SYSTEM = ("system", "pred_path", "pred", "pred_page", *(f"pred_{edge}" for edge in BOX))
SYSTEM += ("confidence", "status", "outcome", *LADDER, "similarity", "cause", "pred_origin")
SYSTEM += ("readings", "at", "ambiguous", "failed")
_RIGHT = ("right", "rights")


def flips(first: Evaluation, second: Evaluation) -> pl.DataFrame:
    """Every field with what both systems made of it.

    Returns the gold's columns of *cases*; the systems' with the suffix ``_a`` and ``_b``;
    `right_a`, `right_b` and `flip`, one of `FLIPS`; `rights_a` and `rights_b`, whether a field is
    right as each other reading rule reads it, null where nothing was read under a box. Fields that
    could not be scored for one of the two are left out, and so is what no gold asks for, which
    `spurious_rate` counts.

    Raises `DataBroken` if the evaluations cannot be compared; the message says what differs.

    `first`, `second`: evaluations of the same corpus.
    """
    return flips_of_common(*common([first, second]).evaluations)


def flips_of_common(
    first: Evaluation, second: Evaluation, columns: Sequence[str] | None = None
) -> pl.DataFrame:
    """`flips` of two evaluations of one `common(…)`; `columns` that are nowhere are left out."""
    pair = first, second
    ids = [[part.documents["doc_id"].to_list() for part in of.parts()] for of in pair]
    # Parts that hold other documents are looked at together.
    parts = zip(*(of.parts() for of in pair), strict=True) if ids[0] == ids[1] else [pair]
    found = []
    for both in parts:
        table = _flipped(*both)
        names = table.columns if columns is None else columns
        found.append(table.select(name for name in names if name in table.columns))
    return pl.concat(found, how="diagonal_relaxed")


def _flipped(*pair: Evaluation) -> pl.DataFrame:
    """The fields of two evaluations beside each other."""
    users = dict.fromkeys(name for of in pair for name in own_columns("cases", of.cases))
    gold = [name for name in [*CASES, *users] if name not in SYSTEM and name not in KEY]
    frames = []
    for of in pair:
        cases = fields(of).filter(of_gold())
        cases = cases.with_columns(pl.lit(None).alias(n) for n in users if n not in cases.columns)
        cases = cases.with_columns(right=(pl.col("outcome") == "match").fill_null(False))
        threshold = of.settings.get("threshold", THRESHOLD)
        cases = cases.with_columns(rights(cases, "normalised", threshold=threshold))
        frames.append(cases.select(*KEY, *gold, *SYSTEM, *_RIGHT))
    a, b = frames
    joined = a.join(b, on=KEY, nulls_equal=True, suffix="_b", maintain_order="left")
    joined = joined.with_columns(pl.coalesce(name, f"{name}_b") for name in gold)
    joined = joined.drop(f"{name}_b" for name in gold)
    return joined.rename({name: f"{name}_a" for name in (*SYSTEM, *_RIGHT)}).with_columns(flip())


def flip() -> pl.Expr:
    """The column `flip`, one of `FLIPS`, from `right_a` and `right_b`."""
    place = 3 - 2 * pl.col("right_a").cast(pl.Int8) - pl.col("right_b").cast(pl.Int8)
    return place.replace_strict(dict(enumerate(FLIPS)), return_dtype=pl.Enum(FLIPS)).alias("flip")


def side(flipped: pl.DataFrame, which: str) -> pl.DataFrame:
    """The cases (schema CASES) of system ``a`` or ``b``, row for row: two tables to compare."""
    columns = [
        pl.col(f"{name}_{which}" if name in SYSTEM else name).cast(kind).alias(name)
        for name, kind in CASES.items()
    ]
    of_both = {f"{name}_{other}" for name in (*SYSTEM, *_RIGHT) for other in "ab"}
    of_both |= {*CASES, "turn", "flip"}
    users = [name for name in flipped.columns if name not in of_both]
    return tables.check("cases", flipped.select(*columns, *users))
