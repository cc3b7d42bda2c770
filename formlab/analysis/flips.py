"""Which fields one system gets right and the other does not."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
import polars as pl
from scipy import special

from formlab import tables
from formlab.analysis.comparability import KEY, common, fields, of_gold
from formlab.analysis.compare import (
    OF_GOLD,
    OF_SYSTEM,
    evaluation_pairs,
    settings_of_tests,
)
from formlab.analysis.finding import LABEL, READER
from formlab.errors import UnknownName
from formlab.folders import Evaluation
from formlab.metrics import ratio
from formlab.scoring.align import rights
from formlab.scoring.bands import BANDS, order, sliced
from formlab.scoring.score_batch import THRESHOLD
from formlab.stats.compare import compared
from formlab.stats.draws import by_document
from formlab.stats.tests import Pair, paired_differences
from formlab.tables import BOX, CASES, LADDER, Settings, own_columns

# The column that a slice is by and its value; neither for all fields.
Slice = tuple[str | None, str | None]
_DRAWS = {"resamples": 1000, "permutations": 9999, "level": 0.95, "power": 0.8, "seed": 0}
FLIPS = ("both right", "only a", "only b", "both wrong")
# Columns of *cases* that are the system's: each is there once a side, as `pred_a`, `pred_b` …
SYSTEM = (
    "system", "pred_path", "pred", "pred_page", *(f"pred_{side}" for side in BOX), "confidence",
    "status", "outcome", *LADDER, "similarity", "cause", "pred_origin", "readings",
    "at", "ambiguous", "failed",
)  # fmt: skip
# Slices by outcome are descriptive; testing them would be circular.
AFTERWARDS = ("outcome", *LADDER, "similarity", "cause", "status", "confidence", "pred")
MATRIX: dict[str, Any] = {
    **tables.SLICE, "both_right": pl.Int64, "only_a": pl.Int64, "only_b": pl.Int64,
    "both_wrong": pl.Int64, "n_cases": pl.Int64, "n_docs": pl.Int64, "value_a": pl.Float64,
    "value_b": pl.Float64, "difference": pl.Float64, "ci_low": pl.Float64, "ci_high": pl.Float64,
    "better": pl.String, "p": pl.Float64, "p_holm": pl.Float64, "p_bh": pl.Float64,
    "p_mcnemar": pl.Float64, "least_difference": pl.Float64, "rules": pl.String,
    "system_a": pl.String, "system_b": pl.String, "settings": tables.SETTINGS,
}  # fmt: skip


def flips(
    first: Evaluation,
    second: Evaluation,
    *,
    right: str = "outcome",
    columns: Sequence[str] | None = None,
) -> pl.DataFrame:
    """Every field with what both systems made of it.

    Parameters
    ----------
    first, second
        Evaluations of the same corpus.
    right
        What counts as right: the outcome ``match``, or a rung of the ladder.
    columns
        Which columns of the table; all if left out. Few columns of millions of fields take little
        memory.

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
    UnknownName
        If `right` is neither.
    """
    return flips_of_common(*common([first, second]).evaluations, right=right, columns=columns)


def flips_of_common(
    first: Evaluation,
    second: Evaluation,
    *,
    right: str = "outcome",
    columns: Sequence[str] | None = None,
) -> pl.DataFrame:
    """`flips` of two evaluations of one `common(…)`, which are not compared and cut once more."""
    if right not in ("outcome", *LADDER):
        raise UnknownName.of("measure of right", right, ("outcome", *LADDER))
    parts = []
    for one, other in aligned(first, second):
        table = _flipped(one, other, right).with_columns(_flip())
        parts.append(table if columns is None else table.select(columns))
    return pl.concat(parts, how="diagonal_relaxed")


def aligned(first: Evaluation, second: Evaluation) -> Iterator[tuple[Evaluation, Evaluation]]:
    """Pairs of evaluations of the same documents, for each part of the first."""
    own, theirs = (
        [part.documents["doc_id"].to_list() for part in each.parts()] for each in (first, second)
    )
    if own == theirs:
        yield from zip(first.parts(), second.parts(), strict=True)
        return
    places = {doc_id: number for number, ids in enumerate(theirs) for doc_id in ids}
    for part, ids in zip(first.parts(), own, strict=True):
        numbers = {places[doc_id] for doc_id in ids}
        known = pl.col("doc_id").is_in(ids)
        others = [
            other.changed({n: partial(_rows_of, table=n, known=known) for n in other.TABLES})
            for number, other in enumerate(second.parts())
            if number in numbers
        ]
        yield part, others[0] if len(others) == 1 else Evaluation.of(others)


def _rows_of(part: Evaluation, table: str, known: pl.Expr) -> pl.DataFrame:
    return part.scan(table).filter(known).collect()


def _flipped(first: Evaluation, second: Evaluation, right: str) -> pl.DataFrame:
    """The fields of two evaluations side by side."""
    pair = first, second
    users = list(dict.fromkeys(n for each in pair for n in own_columns("cases", each.cases)))
    a, b = (_side(each, right, users) for each in pair)
    gold = [name for name in [*CASES, *users] if name not in SYSTEM and name not in KEY]
    own = [*SYSTEM, "right", "rights"]
    joined = a.select(*KEY, *gold, *own).join(
        b.select(*KEY, *gold, *own), on=KEY, nulls_equal=True, suffix="_b", maintain_order="left",
    )  # fmt: skip
    names = {name: f"{name}_a" for name in own}
    joined = joined.with_columns(pl.coalesce(name, f"{name}_b") for name in gold)
    return joined.drop(f"{name}_b" for name in gold).rename(names)


def _side(evaluation: Evaluation, right: str, users: Sequence[str]) -> pl.DataFrame:
    """The fields of one system, whether each is right, and right by each other reading rule."""
    cases = fields(evaluation).filter(of_gold())
    good = pl.col("outcome") == "match" if right == "outcome" else pl.col(right)
    cases = cases.with_columns(good.fill_null(False).alias("right"))
    cases = cases.with_columns(pl.lit(None).alias(n) for n in users if n not in cases.columns)
    rung = "normalised" if right == "outcome" else right
    threshold = evaluation.settings.get("threshold", THRESHOLD)
    return cases.with_columns(rights(cases, rung, threshold=threshold))


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
        As for `stats.tests.paired_differences`.

    Returns
    -------
    polars.DataFrame
        Counts, the shares right `value_a` and `value_b`, the first less the second with its
        interval, `p` of swapping whole documents, adjusted over the rows, and `p_mcnemar`, exact
        and two-sided. McNemar's test takes fields for independent: where those of a page fail
        together it is too sure, and `p` is the one to trust. Slices by outcome (``cause_a`` …) are
        not tested, as such a test would be circular. `rules` tells whether the verdict is the
        ``same`` under every reading rule or ``depends`` on it, and `better` names the system that
        is shown to do better, both as for `compare`. Of all fields `p_holm` is of the greatest p
        with and without fields whose verdict depends on the reading rule or whose label may be
        wrong.
    """
    return matrix_of(
        [(table, documents)], by=by, resamples=resamples, permutations=permutations, level=level,
        power=power, seed=seed,
    )  # fmt: skip


def matrix_of(
    pairs: Iterable[tuple[pl.DataFrame, pl.DataFrame]], *, by: Sequence[str] = (), **options: Any
) -> pl.DataFrame:
    """`flip_matrix` of the flips and documents of several pairs, adjusted over all of them."""
    level = options.setdefault("level", 0.95)
    tested: list[list[list[dict[str, Any]]]] = []
    for table, documents in pairs:
        codes = {doc: number for number, doc in enumerate(documents["doc_id"].unique().sort())}
        rules = [table, *_by_other_rules(table)]
        tested.append([_tested(_slices(each, documents, by), codes, options) for each in rules])
    # A pair on which the other reading rules have no say is the same under each of them.
    count = max(map(len, tested), default=1)
    rows, *elsewhere = (
        [row for rules in tested for row in rules[min(number, len(rules) - 1)]]
        for number in range(count)
    )
    return compared(rows, MATRIX, by_other_rules=elsewhere, level=level)


def _by_other_rules(table: pl.DataFrame) -> Iterator[pl.DataFrame]:
    """The flips as each other reading rule makes them; none where nothing was read under boxes."""
    counts = [table[f"rights_{which}"].list.len().max() for which in "ab"]
    for rule in range(max((count for count in counts if count), default=0)):
        right = [
            pl.col(f"rights_{s}").list.get(rule, null_on_oob=True).fill_null(pl.col(f"right_{s}"))
            .alias(f"right_{s}") for s in "ab"
        ]  # fmt: skip
        yield table.with_columns(right).with_columns(_flip())


def _tested(
    slices: Sequence[tuple[Slice, pl.DataFrame]], codes: dict[str, int], options: dict[str, Any]
) -> list[dict[str, Any]]:
    pairs = [_matrix_pair(key, rows, codes) for key, rows in slices if rows.height]
    rows = paired_differences(pairs, **options)
    if rows:
        rows[0]["surest"] = _surest_p(slices[0][1], rows[0], codes, options)
    settings = Settings(rules="right", **settings_of_tests(**(_DRAWS | options)))
    for row in rows:
        row["settings"] = settings
        column = (row["slice_by"] or "").removesuffix("_a").removesuffix("_b")
        if column in AFTERWARDS:
            names = ("ci_low", "ci_high", "p", "p_mcnemar", "least_difference")
            row |= dict.fromkeys(names, float("nan"))
    return rows


def _surest_p(
    table: pl.DataFrame, row: dict[str, Any], codes: dict[str, int], options: dict[str, Any]
) -> float:
    """The greatest p with and without what no claim may rest on; 1 where the sign changes."""
    p, done = row["p"], table.height
    for names in ((READER,), (READER, LABEL)):
        odd = pl.any_horizontal(pl.col(f"cause_{side}").is_in(names) for side in "ab")
        rest = table.filter(~odd.fill_null(False))
        if rest.height == done:
            continue
        if not rest.height:
            return 1.0
        done = rest.height
        pair = Pair(*rights_by_document(rest, codes), ratio)
        (tested,) = paired_differences([pair], **{**options, "resamples": 0})
        same = np.sign(tested["difference"]) == np.sign(row["difference"])
        p = max(p, tested["p"]) if same else 1.0
    return p


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
    pairs = evaluation_pairs(common(evaluations).evaluations, reference)
    tables = ((flips_of_common(a, b, right=right), a.documents) for a, b in pairs)
    return matrix_of(tables, by=by, **options)


def _slices(
    table: pl.DataFrame, documents: pl.DataFrame, by: Sequence[str]
) -> list[tuple[Slice, pl.DataFrame]]:
    bands = [name for name in BANDS if name not in OF_SYSTEM]
    known = [*OF_GOLD, *documents.columns, "position", *bands, *_users(table)]
    known += [f"{name}_{which}" for name in AFTERWARDS for which in "ab"]
    slices: list[tuple[Slice, pl.DataFrame]] = [((None, None), table)]
    for column in by:
        if column not in known:
            raise UnknownName.of("column to slice flips by", column, dict.fromkeys(known))
        values = sliced(table, documents, column)
        groups = table.with_columns(values.alias("_slice")).group_by("_slice", maintain_order=True)
        for (value,), rows in sorted(groups, key=lambda item: order(values, item[0][0])):
            if column.startswith("cause_"):
                # A cause is of what this side gets wrong; what is right but not exact has one too.
                rows = rows.filter(~pl.col(f"right_{column[-1]}"), pl.lit(value is not None))
            # One slice that holds everything would only be tested once more.
            if 0 < rows.height < table.height:
                slices.append(((column, "none" if value is None else str(value)), rows))
    return slices


def rights_by_document(rows: pl.DataFrame, codes: dict[str, int]) -> list[np.ndarray]:
    """Of each side the fields right and all fields of every document."""
    number = rows["doc_id"].replace_strict(codes, return_dtype=pl.Int64).to_numpy()
    total = np.ones(rows.height)
    return [by_document(number, [rows[f"right_{s}"], total], len(codes)) for s in "ab"]


def _matrix_pair(key: Slice, rows: pl.DataFrame, codes: dict[str, int]) -> Pair:
    counts = dict(rows["flip"].value_counts().iter_rows())
    tally = {flip.replace(" ", "_"): counts.get(flip, 0) for flip in FLIPS}
    labels = tally | {
        "task": rows["task"].first() if rows["task"].n_unique() == 1 else None,
        "level": "field", "slice_by": key[0], "slice_value": key[1],
        "n_cases": rows.height, "n_docs": rows["doc_id"].n_unique(),
        "p_mcnemar": mcnemar(tally["only_a"], tally["only_b"]),
        **{f"system_{s}": rows[f"system_{s}"].first() for s in "ab"},
    }  # fmt: skip
    return Pair(*rights_by_document(rows, codes), ratio, labels=labels)


def mcnemar(only_a: int, only_b: int) -> float:
    """McNemar's exact two-sided p of the fields that one system alone gets right; 1 for none."""
    return min(1.0, 2 * float(special.bdtr(min(only_a, only_b), only_a + only_b, 0.5)))
