"""The effects of an experiment's factors on the share of fields that are right.

One model for all experiments. It is linear in the share and weighs every cell of the plan the
same, so that a marginal share is the mean over cells whatever their sizes, and its effects are
differences of shares. Its errors are those of whole units, pages or documents, since the fields of
a page are not independent.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations, product
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from scipy import stats

from formlab import tables
from formlab.errors import TableBroken
from formlab.folders import Evaluation
from formlab.stats.tests import adjusted_p

SCHEMA: dict[str, Any] = {
    "term": pl.String, "value": pl.String, "share": pl.Float64, "difference": pl.Float64,
    "ci_low": pl.Float64, "ci_high": pl.Float64, "p": pl.Float64, "p_adjusted": pl.Float64,
    "n_units": pl.Int64, "n_cases": pl.Int64, "bounded": pl.Boolean,
}  # fmt: skip
# Between the factors of a pair, and between their levels.
TIMES = " × "
# A contrast this far from what a plan can tell is not estimated.
TOLERANCE = 1e-8
_NAN = float("nan")


def judged_fields(evaluation: Evaluation) -> pl.DataFrame:
    """The fields with gold, whether each is right, and what is known of its document.

    Parameters
    ----------
    evaluation
        As from `read_and_score` or `formlab.evaluate`.

    Returns
    -------
    polars.DataFrame
        The cases of fields with gold, with the own columns of their documents and a column `right`:
        whether the outcome is `match`. A missing answer is wrong; a field that was not scored is
        null. A document without a column `page_of` is its own page.

    Examples
    --------
    >>> import formlab
    >>> evaluation = formlab.evaluate({"a": {"total": "9"}}, {"a": {"total": "8"}})
    >>> judged_fields(evaluation).select("page_of", "path", "right").rows()
    [('a', '/total', False)]
    """
    documents = evaluation.documents
    names = tables.own_columns("documents", documents)
    with_gold = pl.col("level").is_in(tables.FIELD_LEVELS) & pl.col("gold").is_not_null()
    unscored = pl.col("outcome") == "unscored"
    fields = evaluation.cases.filter(with_gold).with_columns(
        right=pl.when(~unscored).then(pl.col("outcome") == "match")
    )
    # A factor may be called `level`, as the column of cases that says "field" here.
    fields = fields.drop(names, strict=False).join(
        documents.select("doc_id", *names), on="doc_id", how="left", maintain_order="left"
    )
    return fields if "page_of" in fields.columns else fields.with_columns(page_of="doc_id")


def effects(
    cases: pl.DataFrame,
    factors: Sequence[str] | Mapping[str, Sequence[Any]],
    *,
    unit: str = "page_of",
    right: str = "right",
    beside: Sequence[str] = (),
    interactions: bool = True,
    level: float = 0.95,
) -> pl.DataFrame:
    """What each level of each factor does to the share of fields that are right.

    A linear model of the share, fitted with equal weight for each cell of the plan, with errors
    clustered by `unit` and Student's t with Satterthwaite's degrees of freedom. Factors may vary
    within units (one page at several levels) or between them.

    Parameters
    ----------
    cases
        One row a field, as from `judged_fields`.
    factors
        Columns of `cases`; or by column its levels in their order, the first of which is what the
        others are compared with. Without an order, numbers ascend, texts follow the alphabet.
    unit
        The column of what was sampled: pages or documents.
    right
        The column that says whether a field is right. Rows where it is null are left out.
    beside
        Those of the factors that no pair is estimated of: what differs between fields of a unit,
        such as their content, so that it does not blur the effects of the others.
    interactions
        Whether pairs of factors are estimated too.
    level
        Of the intervals, in (0, 1).

    Returns
    -------
    polars.DataFrame
        A row for each level of each factor, then for each pair of levels of each pair of factors:
        `term` and `value` (a pair's are joined by ×); `share` in [0, 1], the marginal share right
        with each cell of the plan weighing the same; `difference` from the factor's first level,
        in [-1, 1], or of a pair the interaction contrast, in [-2, 2] (what the two levels do
        together beyond what each does by itself); `ci_low`, `ci_high`; `p`; `p_adjusted` after
        Holm over all rows; `n_units` and `n_cases`, the counts behind the share; `bounded`. Where
        every field of a level is right, or wrong, its data show no spread: the interval is then
        at least as wide as one more unit that went the other way would make it, and `bounded` is
        true. First levels have no difference, and what the plan cannot tell has no value: NaN. A
        main effect that the plan cannot tell from interactions is that of the model without
        interactions.

    Raises
    ------
    TableBroken
        If a column is not there.

    Examples
    --------
    >>> cases = pl.DataFrame({
    ...     "page_of": ["a", "a", "b", "b", "c", "c", "d", "d"], "blur": [0, 2] * 4,
    ...     "right": [True, False, True, True, True, False, False, False],
    ... })
    >>> effects(cases, ["blur"]).select("value", "share", "difference", "n_units").rows()
    [('0', 0.75, nan, 4), ('2', 0.25, -0.5, 4)]
    """
    if missing := [name for name in (*factors, unit, right) if name not in cases.columns]:
        raise TableBroken(f"no column {missing[0]}", remedy=f"of {', '.join(cases.columns)}")
    cells = _Cells.of(cases, factors, unit, right)
    single = [(name,) for name in cells.plan]
    crossed = [name for name in cells.plan if name not in beside]
    pairs = list(combinations(crossed, 2)) if interactions else []
    fits = [_Fit.of(cells, terms) for terms in ([*single, *pairs], single)]
    table = []
    for names in (*single, *pairs):
        for values in product(*(cells.plan[name] for name in names)):
            levels = dict(zip(names, values, strict=True))
            table.append(_estimated(cells, levels, fits) | {"term": TIMES.join(names)})
    frame = pl.DataFrame(table, schema=SCHEMA | {"error": pl.Float64, "freedom": pl.Float64})
    return _with_tests(frame, level)


Levels = dict[str, Any]


class _Cells(NamedTuple):
    """The fields of each unit in each cell of the plan, which the models see together.

    `chosen` says by factor and level which of them have it; `units` numbers their units.
    """

    plan: dict[str, list[Any]]
    chosen: dict[tuple[str, Any], np.ndarray]
    units: np.ndarray
    counts: np.ndarray
    shares: np.ndarray
    weights: np.ndarray

    @classmethod
    def of(cls, cases: pl.DataFrame, factors: Any, unit: str, right: str) -> _Cells:
        plan = {
            name: list(factors[name])
            if isinstance(factors, Mapping)
            else cases[name].drop_nulls().unique().sort().to_list()
            for name in factors
        }
        rows = cases.drop_nulls([right, *factors])
        rows = rows.filter(pl.col(name).is_in(levels) for name, levels in plan.items())
        cells = rows.group_by(unit, *plan, maintain_order=True).agg(
            pl.len().alias("count of unit"),
            pl.col(right).cast(pl.Float64).mean().alias("share of unit"),
        )
        counts = cells["count of unit"]
        sums = cells.select(pl.col("count of unit").sum().over(list(plan))).to_series()
        return cls(
            plan, {(n, v): (cells[n] == v).to_numpy() for n, vs in plan.items() for v in vs},
            cells[unit].rank("dense").to_numpy().astype(int) - 1, counts.to_numpy(),
            cells["share of unit"].to_numpy(), (counts / sums).to_numpy(),
        )  # fmt: skip

    def with_levels(self, levels: Levels) -> np.ndarray:
        """Which cells have these levels."""
        return np.all([np.ones(len(self.units)), *map(self.chosen.get, levels.items())], axis=0)


class _Fit(NamedTuple):
    """A least-squares fit; a column of the model is the levels that it stands for.

    `left`, `sizes` and `right` are the singular values and vectors of the weighted design, which
    span what the plan tells; `response` and `rest` are the weighted shares and residuals.
    """

    columns: list[Levels]
    left: np.ndarray
    sizes: np.ndarray
    right: np.ndarray
    response: np.ndarray
    rest: np.ndarray
    units: np.ndarray

    @classmethod
    def of(cls, cells: _Cells, terms: Iterable[tuple[str, ...]]) -> _Fit:
        columns: list[Levels] = [{}]
        for names in terms:
            later = product(*(cells.plan[name][1:] for name in names))
            columns += [dict(zip(names, values, strict=True)) for values in later]
        design = np.column_stack([cells.with_levels(column) for column in columns])
        root = np.sqrt(cells.weights)
        left, sizes, right = np.linalg.svd(design * root[:, None], full_matrices=False)
        known = sizes > TOLERANCE * max(sizes, default=0)
        left, response = left[:, known], cells.shares * root
        rest = response - left @ (left.T @ response)
        return cls(columns, left, sizes[known], right[known], response, rest, cells.units)

    def estimate(self, weights: np.ndarray) -> tuple[float, float, float]:
        """Value, standard error and degrees of freedom of a sum of the columns.

        NaN where the plan cannot tell it. The error is the clustered one, scaled so that it has no
        bias if all units vary alike; the degrees of freedom are Satterthwaite's (R. M. Bell, D. F.
        McCaffrey, Survey Methodology 28(2), 2002). The clustered errors of statsmodels have
        neither, and are too small with few units a cell.
        """
        along = self.right @ weights
        if np.abs(along @ self.right - weights).max() > TOLERANCE:
            return _NAN, _NAN, _NAN
        share = self.left @ (along / self.sizes)
        value = round(float(share @ self.response), 12)
        whole = np.bincount(self.units, share**2)
        fitted = np.zeros((len(whole), len(self.sizes)))
        np.add.at(fitted, self.units, self.left * share[:, None])
        # Of the matrix of what is left of each unit's influence: its trace, and that of its square.
        trace = whole.sum() - (fitted**2).sum()
        if trace <= TOLERANCE * whole.sum():
            return value, _NAN, _NAN
        square = (
            (whole**2).sum() - 2 * whole @ (fitted**2).sum(1) + ((fitted.T @ fitted) ** 2).sum()
        )
        variance = (np.bincount(self.units, share * self.rest) ** 2).sum() * whole.sum() / trace
        return value, float(variance) ** 0.5, float(trace**2 / square)


def _mean(fit: _Fit, plan: dict[str, list[Any]], levels: Levels) -> np.ndarray:
    """The weights of the columns in the mean over all cells of the plan with these levels."""
    return np.array([
        math.prod([
            levels[name] == value if name in levels else 1 / len(plan[name])
            for name, value in column.items()
        ])
        for column in fit.columns
    ])  # fmt: skip


def _estimated(cells: _Cells, levels: Levels, fits: list[_Fit]) -> dict[str, Any]:
    """The row of some levels: its share, and its contrast with the first levels."""
    firsts = {name: cells.plan[name][0] for name in levels}
    # With each factor at its first level or not; the signs alternate.
    corners = [
        (levels | {name: firsts[name] for name in some}, (-1) ** count)
        for count in range(len(firsts) + 1)
        for some in combinations(firsts, count)
    ]
    is_first = any(levels[name] == first for name, first in firsts.items())
    behind = [cells.with_levels(corner) for corner, _ in corners]
    counts = [len(np.unique(cells.units[chosen])) for chosen in behind]
    row: dict[str, Any] = {
        "value": TIMES.join(map(str, levels.values())), "share": _NAN, "difference": _NAN,
        "error": _NAN, "freedom": _NAN, "bounded": False,
        "n_units": counts[0], "n_cases": int(cells.counts[behind[0]].sum()),
    }  # fmt: skip
    # A pair stands in the first model only.
    for fit in fits if len(levels) == 1 else fits[:1]:
        means = [_mean(fit, cells.plan, corner) for corner, _ in corners]
        # A linear model may leave the range of shares where cells are empty.
        row["share"] = float(np.clip(fit.estimate(means[0])[0], 0, 1))
        contrast = sum(sign * mean for mean, (_, sign) in zip(means, corners, strict=True))
        value, error, freedom = fit.estimate(contrast)
        if not np.isnan(value + row["share"]):
            break
    if is_first or np.isnan(value):
        return row
    same = [np.isin(cells.shares[chosen].mean(), (0, 1)) for chosen in behind]
    least = sum((n + 1) ** -2 for n, flat in zip(counts, same, strict=True) if flat) ** 0.5
    row["bounded"] = bool(error < least)
    return row | {"difference": value, "error": max(error, least), "freedom": freedom}


def _with_tests(frame: pl.DataFrame, level: float) -> pl.DataFrame:
    """The table of effects: intervals and tests from differences and their errors."""
    value, error, freedom = (frame[name].to_numpy() for name in ("difference", "error", "freedom"))
    # An error of 0 is that of shares that are the same in every unit.
    size = np.divide(np.abs(value), error, out=np.full(len(value), np.inf), where=error != 0)
    size[(value == 0) & (error == 0)] = 0
    p = np.where(np.isnan(error), _NAN, 2 * stats.t.sf(size, freedom))
    reach = stats.t.ppf((1 + level) / 2, freedom) * error
    # A linear model may leave the range of differences where cells are empty.
    most = 2.0 ** frame["term"].str.contains(TIMES, literal=True).to_numpy()
    return frame.with_columns(
        difference=np.clip(value, -most, most),
        ci_low=np.clip(value - reach, -most, most), ci_high=np.clip(value + reach, -most, most),
        p=p, p_adjusted=adjusted_p(p),
    ).select(*SCHEMA)  # fmt: skip
