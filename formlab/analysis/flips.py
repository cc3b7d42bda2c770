"""Which fields one system gets right and the other does not."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import polars as pl
from scipy import stats

from formlab import tables
from formlab.analysis.bands import BANDS
from formlab.analysis.comparability import KEY, common, fields
from formlab.analysis.compare import (
    OF_GOLD,
    OF_SYSTEM,
    adjusted,
    agreeing,
    evaluation_pairs,
    tests_made,
)
from formlab.analysis.intervals import by_document
from formlab.analysis.paired_tests import Pair, differences
from formlab.analysis.summarise import SLICE, order, sliced
from formlab.errors import UnknownName
from formlab.folders import Evaluation
from formlab.metrics import ratio
from formlab.scoring.align import rights
from formlab.scoring.evaluate import THRESHOLD
from formlab.tables import BOX, CASES, LADDER, Settings, own_columns

# The column that a slice is by and its value; neither for all fields.
Slice = tuple[str | None, str | None]
FLIPS = ("both right", "only a", "only b", "both wrong")
# Columns of *cases* that are the system's: each is there once a side, as `pred_a`, `pred_b` …
SYSTEM = (
    "system", "pred_path", "pred", "pred_page", *(f"pred_{side}" for side in BOX), "confidence",
    "status", "outcome", *LADDER, "similarity", "cause", "pred_origin", "readings",
    "at", "ambiguous",
)  # fmt: skip
# Slices by outcome are descriptive: a test of them would be circular.
AFTERWARDS = ("outcome", *LADDER, "similarity", "cause", "status", "confidence", "pred")
MATRIX: dict[str, Any] = {
    **tables.SLICE, "both_right": pl.Int64, "only_a": pl.Int64, "only_b": pl.Int64,
    "both_wrong": pl.Int64, "n_cases": pl.Int64, "n_docs": pl.Int64, "value_a": pl.Float64,
    "value_b": pl.Float64, "difference": pl.Float64, "ci_low": pl.Float64, "ci_high": pl.Float64,
    "p": pl.Float64, "p_holm": pl.Float64, "p_bh": pl.Float64, "p_mcnemar": pl.Float64,
    "least_difference": pl.Float64, "rules": pl.String, "system_a": pl.String,
    "system_b": pl.String, "settings": tables.SETTINGS,
}  # fmt: skip


def flips(first: Evaluation, second: Evaluation, *, right: str = "outcome") -> pl.DataFrame:
    """Every field with what both systems made of it.

    Parameters
    ----------
    first, second
        Evaluations of the same corpus.
    right
        What counts as right: the outcome ``match``, or a rung of the ladder.

    Returns
    -------
    polars.DataFrame
        The gold's columns of *cases*; the systems' with the suffix ``_a`` and ``_b``; `right_a`,
        `right_b` and `flip`, one of `FLIPS`; `rights_a` and `rights_b`, whether a field is right
        as each other reading rule reads it, null where nothing was read under a box. A claim that
        no gold asks for is wrong, and not to make it is right. Fields that could not be scored for
        one of the two are left out, and so is text inserted into a page, which stands in no field.

    Raises
    ------
    DataBroken
        If the evaluations cannot be compared; the message says what differs.
    UnknownName
        If `right` is neither.
    """
    if right not in ("outcome", *LADDER):
        raise UnknownName.of("measure of right", right, ("outcome", *LADDER))
    ground, sides = common([first, second]).evaluations, []
    for one in ground:
        cases = fields(one).filter(pl.col("outcome") != "unscored")
        # Its place in one system's text is not its place in the other's, so none could agree.
        cases = cases.filter(pl.col("level") != "stretch")
        good = pl.col("outcome") == "match" if right == "outcome" else pl.col(right)
        cases = cases.with_columns(good.fill_null(False).alias("right"))
        rung = "normalised" if right == "outcome" else right
        threshold = one.settings.get("threshold", THRESHOLD)
        sides.append(cases.with_columns(rights(cases, rung, threshold=threshold)))
    a, b = sides
    users = list(dict.fromkeys(n for one in ground for n in own_columns("cases", one.cases)))
    a, b = (
        each.with_columns(pl.lit(None).alias(n) for n in users if n not in each.columns)
        for each in (a, b)
    )
    gold = [name for name in [*CASES, *users] if name not in SYSTEM and name not in KEY]
    own = [*SYSTEM, "right", "rights"]
    joined = a.select(*KEY, *gold, *own).join(
        b.select(*KEY, *gold, *own), on=KEY, how="full", coalesce=True, suffix="_b",
        maintain_order="left_right",
    )  # fmt: skip
    names = {name: f"{name}_a" for name in own}
    joined = joined.with_columns(pl.coalesce(name, f"{name}_b") for name in gold)
    joined = joined.drop(f"{name}_b" for name in gold).rename(names)
    said = [part for s, one in zip("ab", ground, strict=True) for part in _silent(s, one.system)]
    return joined.with_columns(said).with_columns(_flip())


def _silent(which: str, system: str) -> list[pl.Expr]:
    """What is said of a system that rightly makes no claim: a match of nothing with nothing."""
    words = {"system": system, "status": "ok", "outcome": "match"}
    said = [pl.col(f"{name}_{which}").fill_null(value) for name, value in words.items()]
    return [*said, pl.col(f"right_{which}").fill_null(True)]


def _flip() -> pl.Expr:
    a, b = pl.col("right_a"), pl.col("right_b")
    return (
        pl.when(a & b).then(pl.lit(FLIPS[0])).when(a).then(pl.lit(FLIPS[1]))
        .when(b).then(pl.lit(FLIPS[2])).otherwise(pl.lit(FLIPS[3]))
        .cast(pl.Enum(FLIPS)).alias("flip")
    )  # fmt: skip


def side(flipped: pl.DataFrame, which: str) -> pl.DataFrame:
    """The cases of system ``a`` or ``b``, row for row: two tables to lay beside each other.

    Returns
    -------
    polars.DataFrame
        The schema CASES.
    """
    columns = [
        pl.col(f"{name}_{which}" if name in SYSTEM else name).cast(kind).alias(name)
        for name, kind in CASES.items()
    ]
    return tables.check("cases", flipped.select(*columns, *_users(flipped)))


def _users(table: pl.DataFrame) -> list[str]:
    """The columns of `flips` that are a user's own."""
    ours = [f"{name}_{side}" for name in (*SYSTEM, "right", "rights") for side in "ab"]
    return [name for name in table.columns if name not in {*CASES, "turn", "flip", *ours}]


def flipped(table: pl.DataFrame, flip: str, *, limit: int = 20) -> pl.DataFrame:
    """The rows with one flip, those first in which the wrong side is furthest from its gold.

    Values not found at all come last: a wrong reading shows more.
    """
    if flip not in FLIPS:
        raise UnknownName.of("flip", flip, FLIPS)
    wrong = "a" if flip == "only b" else "b"
    order_by = [
        pl.col(f"outcome_{wrong}") == "missing", pl.col(f"similarity_{wrong}"),
        pl.col("doc_id"), pl.col("path"),
    ]  # fmt: skip
    return table.filter(pl.col("flip") == flip).sort(order_by).head(limit)


def flip_matrix(
    table: pl.DataFrame,
    documents: pl.DataFrame,
    *,
    by: Sequence[str] = (),
    resamples: int = 1000,
    permutations: int = 9999,
    level: float = 0.95,
    power: float = 0.8,
    seed: int = 0,
) -> pl.DataFrame:
    """How many fields both get right, one of them, or none: over all and by slice.

    Parameters
    ----------
    table
        As from `flips`.
    documents
        Of the evaluations; those without a field count in the draws as well.
    by
        Columns of the gold, of *documents*, a user's own, or of a side such as ``cause_a``.
    resamples, permutations, level, power, seed
        As for `paired_tests.differences`.

    Returns
    -------
    polars.DataFrame
        Counts, the shares right `value_a` and `value_b`, their difference with its interval, `p`
        of swapping whole documents, adjusted over the rows, and `p_mcnemar`, exact and two-sided.
        McNemar's test takes fields for independent: where those of a page fail together it is too
        sure, and `p` is the one to trust. Slices by outcome (``cause_a`` …) are not tested, as such
        a test would be circular. `rules` tells whether the verdict is the
        ``same`` under every reading rule or ``depends`` on it, as for `compare`.
    """
    places = {doc: place for place, doc in enumerate(documents["doc_id"])}
    options = {
        "resamples": resamples, "permutations": permutations, "level": level, "power": power,
        "seed": seed,
    }  # fmt: skip

    def matrix(some: pl.DataFrame) -> pl.DataFrame:
        return _matrix(_slices(some, documents, by), places, options)

    found = matrix(table)
    elsewhere = [matrix(some) for some in _by_other_rules(table)]
    return found.with_columns(agreeing(found, elsewhere, SLICE, level=level))


def _by_other_rules(table: pl.DataFrame) -> Iterator[pl.DataFrame]:
    """The flips as each other reading rule makes them; none where nothing was read under boxes."""
    counts = [table[f"rights_{which}"].list.len().max() for which in "ab"]
    for place in range(max((count for count in counts if count), default=0)):
        told = [
            pl.coalesce(pl.col(f"rights_{s}").list.get(place, null_on_oob=True), f"right_{s}")
            for s in "ab"
        ]
        yield table.with_columns(told[0].alias("right_a"), told[1].alias("right_b")).with_columns(
            _flip()
        )


def _matrix(
    slices: Sequence[tuple[Slice, pl.DataFrame]], places: dict[str, int], options: dict[str, Any]
) -> pl.DataFrame:
    pairs = [_matrix_pair(of, part, places) for of, part in slices if part.height]
    rows = differences(pairs, **options)
    settings = Settings(rules="right", **tests_made(**options))
    for row in rows:
        row["settings"], row["rules"] = settings, None
        column = (row["slice_by"] or "").removesuffix("_a").removesuffix("_b")
        if column in AFTERWARDS:
            names = ("ci_low", "ci_high", "p", "p_mcnemar", "least_difference")
            row |= dict.fromkeys(names, float("nan"))
    return adjusted(rows, MATRIX)


def flip_matrices(
    evaluations: Sequence[Evaluation],
    *,
    by: Sequence[str] = (),
    reference: str | None = None,
    right: str = "outcome",
    **options: Any,
) -> pl.DataFrame:
    """`flip_matrix` of every pair of systems, or of `reference` with each other one.

    Parameters
    ----------
    evaluations
        Two or more, of the same corpus.
    by, options
        As for `flip_matrix`.
    reference
        As for `compare`.
    right
        As for `flips`.
    """
    found = [
        flip_matrix(flips(a, b, right=right), a.documents, by=by, **options)
        for a, b in evaluation_pairs(common(evaluations).evaluations, reference)
    ]
    return pl.concat(found)


def _slices(
    table: pl.DataFrame, documents: pl.DataFrame, by: Sequence[str]
) -> list[tuple[Slice, pl.DataFrame]]:
    bands = [name for name in BANDS if name not in OF_SYSTEM]
    known = [*OF_GOLD, *documents.columns, "position", *bands, *_users(table)]
    known += [f"{name}_{which}" for name in AFTERWARDS for which in "ab"]
    found: list[tuple[Slice, pl.DataFrame]] = [((None, None), table)]
    for column in by:
        if column not in known:
            raise UnknownName.of("column to slice flips by", column, dict.fromkeys(known))
        values = sliced(table, documents, column)
        parts = table.with_columns(values.alias("_slice")).group_by("_slice", maintain_order=True)
        if column.startswith("cause_"):
            # A cause is of what this side gets wrong; what is right but not exact has one too.
            wrong = ~pl.col(f"right_{column[-1]}")
            parts = [(key, part.filter(wrong)) for key, part in parts if key[0] is not None]
            parts = [(key, part) for key, part in parts if part.height]
        named = sorted(parts, key=lambda item: order(values, item[0][0]))
        # One slice that holds everything would only be tested once more.
        named = [(key, part) for key, part in named if part.height < table.height]
        found += [((column, "none" if v is None else str(v)), part) for (v,), part in named]
    return found


def rights_by_document(part: pl.DataFrame, places: dict[str, int]) -> list[np.ndarray]:
    """Of each side the fields right and all fields of every document."""
    place = part["doc_id"].replace_strict(places, return_dtype=pl.Int64).to_numpy()
    total = np.ones(part.height)
    return [by_document(place, [part[f"right_{s}"], total], len(places)) for s in "ab"]


def _matrix_pair(of: Slice, part: pl.DataFrame, places: dict[str, int]) -> Pair:
    counts = part["flip"].value_counts()
    seen = dict(counts.iter_rows())
    tally = {flip.replace(" ", "_"): seen.get(flip, 0) for flip in FLIPS}
    labels = tally | {
        "task": part["task"].first() if part["task"].n_unique() == 1 else None,
        "level": "field", "slice_by": of[0], "slice_value": of[1],
        "n_cases": part.height, "n_docs": part["doc_id"].n_unique(),
        "p_mcnemar": mcnemar(tally["only_a"], tally["only_b"]),
        **{f"system_{s}": part[f"system_{s}"].first() for s in "ab"},
    }  # fmt: skip
    return Pair(*rights_by_document(part, places), ratio, labels)


def mcnemar(only_a: int, only_b: int) -> float:
    """McNemar's exact two-sided p of the fields that one system alone gets right; 1 for none.

    Examples
    --------
    >>> mcnemar(1, 5)
    0.21875
    """
    return float(stats.binomtest(only_a, only_a + only_b).pvalue) if only_a + only_b else 1.0
