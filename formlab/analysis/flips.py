"""Which values one system gets right and the other does not, and the tests of such values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl
from scipy import special

from formlab import tables
from formlab.analysis.comparability import KEY, common, fields, of_gold
from formlab.analysis.finding import LABEL, OUTCOME, READER
from formlab.folders import Evaluation
from formlab.metrics import ratio
from formlab.scoring.align import rights
from formlab.scoring.bands import order, roots, sliced
from formlab.scoring.score_batch import THRESHOLD
from formlab.stats.draws import by_document
from formlab.stats.tests import Pair, paired_differences
from formlab.tables import BOX, CASES, LADDER, own_columns

FLIPS = ("both right", "only a", "only b", "both wrong")
# Columns of *cases* that are the system's: each is there once a side, as `pred_a`, `pred_b` …
SYSTEM = ("system", "pred_path", "pred", "pred_page", *(f"pred_{side}" for side in BOX))
SYSTEM += ("confidence", "status", "outcome", *LADDER, "similarity", "cause", "pred_origin")
SYSTEM += ("readings", "at", "ambiguous", "failed")
_RIGHT = ("right", "rights")
# What a test of values needs beside the columns that it slices by.
_TESTED = ("doc_id", "task", "path", "page", *BOX, "flip", "kind")
_TESTED += tuple(f"{name}_{side}" for name in ("system", "cause", *_RIGHT) for side in "ab")


def flips(first: Evaluation, second: Evaluation) -> pl.DataFrame:
    """Every field with what both systems made of it.

    Parameters
    ----------
    first, second
        Evaluations of the same corpus.

    Returns
    -------
    polars.DataFrame
        The gold's columns of *cases*; the systems' with the suffix ``_a`` and ``_b``; `right_a`,
        `right_b` and `flip`, one of `FLIPS`; `rights_a` and `rights_b`, whether a field is right
        as each other reading rule reads it, null where nothing was read under a box. Fields that
        could not be scored for one of the two are left out, and so is what no gold asks for, which
        `spurious_rate` counts.

    Raises
    ------
    DataBroken
        If the evaluations cannot be compared; the message says what differs.
    """
    return flips_of_common(*common([first, second]).evaluations)


def flips_of_common(
    first: Evaluation, second: Evaluation, columns: Sequence[str] | None = None
) -> pl.DataFrame:
    """`flips` of two evaluations of one `common(…)`; `columns` that are nowhere are left out."""
    pair = first, second
    ids = [[part.documents["doc_id"].to_list() for part in each.parts()] for each in pair]
    # Parts that hold other documents are looked at together.
    parts = zip(*(each.parts() for each in pair), strict=True) if ids[0] == ids[1] else [pair]
    found = []
    for both in parts:
        table = _flipped(*both).with_columns(_flip())
        names = table.columns if columns is None else columns
        found.append(table.select(name for name in names if name in table.columns))
    return pl.concat(found, how="diagonal_relaxed")


def _flipped(first: Evaluation, second: Evaluation) -> pl.DataFrame:
    """The fields of two evaluations beside each other."""
    pair = first, second
    users = list(dict.fromkeys(n for each in pair for n in own_columns("cases", each.cases)))
    gold = [name for name in [*CASES, *users] if name not in SYSTEM and name not in KEY]
    named = [*SYSTEM, *_RIGHT]
    a, b = (_side(each, users).select(*KEY, *gold, *named) for each in pair)
    joined = a.join(b, on=KEY, nulls_equal=True, suffix="_b", maintain_order="left")
    joined = joined.with_columns(pl.coalesce(name, f"{name}_b") for name in gold)
    return joined.drop(f"{name}_b" for name in gold).rename({name: f"{name}_a" for name in named})


def _side(evaluation: Evaluation, users: Sequence[str]) -> pl.DataFrame:
    """The fields of one system, whether each is right, and right by each other reading rule."""
    cases = fields(evaluation).filter(of_gold())
    cases = cases.with_columns(pl.lit(None).alias(n) for n in users if n not in cases.columns)
    is_right = (pl.col("outcome") == "match").fill_null(False)
    cases = cases.with_columns(is_right.alias("right"))
    threshold = evaluation.settings.get("threshold", THRESHOLD)
    return cases.with_columns(rights(cases, "normalised", threshold=threshold))


def _flip() -> pl.Expr:
    place = 3 - 2 * pl.col("right_a").cast(pl.Int8) - pl.col("right_b").cast(pl.Int8)
    return place.replace_strict(dict(enumerate(FLIPS)), return_dtype=pl.Enum(FLIPS)).alias("flip")


def side(flipped: pl.DataFrame, which: str) -> pl.DataFrame:
    """The cases (schema CASES) of system ``a`` or ``b``, row for row: two tables to compare."""
    columns = [
        pl.col(f"{name}_{which}" if name in SYSTEM else name).cast(kind).alias(name)
        for name, kind in CASES.items()
    ]
    of_both = {f"{name}_{side}" for name in (*SYSTEM, *_RIGHT) for side in "ab"}
    of_both |= {*CASES, "turn", "flip"}
    users = [name for name in flipped.columns if name not in of_both]
    return tables.check("cases", flipped.select(*columns, *users))


def value_tests(
    first: Evaluation, second: Evaluation, by: Sequence[str], options: Mapping[str, Any]
) -> list[list[dict[str, Any]]]:
    """The tests of the values right of two systems, under their own and each other reading rule.

    All fields come first, with the greatest p (`surest`) with and without those that no claim may
    rest on. The slices are by columns of the gold, of documents or a user's own.
    """
    needed = dict.fromkeys([*_TESTED, *by, *(root for name in by for root in roots(name))])
    table = flips_of_common(first, second, columns=list(needed))
    codes = {name: number for number, name in enumerate(first.document_names)}
    labels = {name: getattr(first, name) for name in ("benchmark", "split", "mode")}
    labels |= {"system_a": first.system, "system_b": second.system}
    tested = []
    for flipped in (table, *_by_other_rules(table)):
        slices = _slices(flipped, first.documents, by) if flipped.height else ()
        pairs = [_pair(rows, codes, labels | of) for of, rows in slices]
        tested.append(paired_differences(pairs, **options))
    if tested[0]:
        tested[0][0]["surest"] = _surest_p(table, tested[0][0], codes, options)
    return tested


def _by_other_rules(table: pl.DataFrame) -> Iterator[pl.DataFrame]:
    """The flips as each other reading rule makes them; none where nothing was read under boxes."""
    counts = [table[f"rights_{which}"].list.len().max() or 0 for which in "ab"]
    for rule in range(max(counts)):
        right = {n: pl.col(f"rights_{n}").list.get(rule, null_on_oob=True) for n in "ab"}
        yield table.with_columns(
            value.fill_null(pl.col(f"right_{n}")).alias(f"right_{n}") for n, value in right.items()
        ).with_columns(_flip())


def _surest_p(
    table: pl.DataFrame, row: dict[str, Any], codes: dict[str, int], options: Mapping[str, Any]
) -> float:
    """The greatest p with and without what no claim may rest on; 1 where the sign changes."""
    p, count = row["p"], table.height
    for causes in ((READER,), (READER, LABEL)):
        odd = pl.any_horizontal(pl.col(f"cause_{side}").is_in(causes) for side in "ab")
        rest = table.filter(~odd.fill_null(False))
        if rest.height == count:
            continue
        if not rest.height:
            return 1.0
        count = rest.height
        (tested,) = paired_differences([_pair(rest, codes, {})], **{**options, "resamples": 0})
        same = np.sign(tested["difference"]) == np.sign(row["difference"])
        p = max(p, tested["p"]) if same else 1.0
    return p


def _slices(
    table: pl.DataFrame, documents: pl.DataFrame, by: Sequence[str]
) -> Iterator[tuple[dict[str, Any], pl.DataFrame]]:
    yield {"slice_by": None, "slice_value": None}, table
    for column in by:
        values = sliced(table, documents, column)
        groups = table.with_columns(values.alias("_slice")).group_by("_slice", maintain_order=True)
        for (value,), rows in sorted(groups, key=lambda item: order(values, item[0][0])):
            # One slice that holds everything would only be tested once more.
            if rows.height < table.height:
                text = "none" if value is None else str(value)
                yield {"slice_by": column, "slice_value": text}, rows


def _pair(rows: pl.DataFrame, codes: dict[str, int], labels: dict[str, Any]) -> Pair:
    number = rows["doc_id"].replace_strict(codes, return_dtype=pl.Int64).to_numpy()
    total = np.ones(rows.height)
    counts = [by_document(number, [rows[f"right_{side}"], total], len(codes)) for side in "ab"]
    flipped = dict(rows["flip"].value_counts().iter_rows())
    labels = labels | {flip.replace(" ", "_"): flipped.get(flip, 0) for flip in FLIPS}
    labels |= {"metric": OUTCOME, "level": "field", "n_cases": rows.height}
    labels["task"] = rows["task"].first() if rows["task"].n_unique() == 1 else None
    labels["n_docs"] = rows["doc_id"].n_unique()
    labels["p_mcnemar"] = mcnemar(labels["only_a"], labels["only_b"])
    return Pair(*counts, ratio, labels=labels)


def mcnemar(only_a: int, only_b: int) -> float:
    """McNemar's exact two-sided p of the fields that one system alone gets right; 1 for none.

    It takes fields for independent: where those of a page fail together it is too sure.
    """
    return min(1.0, 2 * float(special.bdtr(min(only_a, only_b), only_a + only_b, 0.5)))
