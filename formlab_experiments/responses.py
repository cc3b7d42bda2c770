"""How a system responds to pages made worse: curves, half levels, the order of effects, causes."""

import math
from itertools import combinations, pairwise

import numpy as np
import polars as pl
from scipy import stats

from formlab.errors import DataMissing, TableBroken
from formlab.stats.draws import drawn_parts
from formlab.stats.tests import adjusted_p
from formlab_experiments.degradations import DEGRADATIONS
from formlab_experiments.effects import effects
from formlab_experiments.stress import NONE

_NAN = float("nan")
_TESTED = ("share", "difference", "ci_low", "ci_high", "p", "p_adjusted", "n_units", "n_cases")
_PLANNED = ("page_of", "degradation", "amount", "step")
REACHED, NEVER, NO_START = "", "half is never reached in this range", "nothing is right at step 0"


def print_sizes(cases: pl.DataFrame, number: int = 3) -> pl.DataFrame:
    """The cases with a column `print_size`: classes of `print` with equally many fields.

    Parameters
    ----------
    cases
        Of `judged_fields`, with a column `print` in pixels.
    number
        How many classes, at most; null where `print` is.

    Examples
    --------
    >>> cases = pl.DataFrame({"print": [8.0, 9.0, 12.0, 20.0]})
    >>> print_sizes(cases, 2)["print_size"].to_list()
    ['up to 9 px', 'up to 9 px', 'over 9 px', 'over 9 px']
    """
    sizes = cases["print"].drop_nulls().sort()
    below = sizes.filter(sizes < (sizes.max() or 0))
    places = [math.ceil(sizes.len() * share / number) - 1 for share in range(1, number)]
    # Many fields of one size stay together.
    cuts = sorted({min(sizes[place], below[-1]) for place in places}) if below.len() else []
    ends = [f"up to {high:g} px" for high in cuts[:1]]
    ends += [f"over {low:g} to {high:g} px" for low, high in pairwise(cuts)]
    ends += [f"over {cuts[-1]:g} px"] if cuts else ["any size"]
    place = pl.sum_horizontal(pl.lit(0), *(pl.col("print") > cut for cut in cuts))
    names = place.replace_strict(range(len(ends)), ends, return_dtype=pl.Enum(ends))
    known = pl.col("print").is_not_null()
    return cases.with_columns(pl.when(known).then(names).alias("print_size"))


def response(cases: pl.DataFrame, by: str | None = None) -> pl.DataFrame:
    """The share of fields right at each amount of each degradation, compared on the same pages.

    Parameters
    ----------
    cases
        Of `judged_fields` of a `stress_corpus`.
    by
        A column whose values have a curve each, such as ``kind``, ``modality`` or ``print_size``;
        all fields together, if left out.

    Returns
    -------
    polars.DataFrame
        A row for each degradation, value of `by` and step: `degradation`, `unit`, `amount`, `step`,
        `by` and `value` (null without `by`), then as from `effects`: `share` in [0, 1],
        `difference` from the same pages as they are with its interval and test by pages,
        `p_adjusted` after Holm over the whole table; `low` and `high` are the interval as shares.
        Step 0 is the page as it is, at the amount that changes nothing; its difference is NaN.

    Raises
    ------
    DataMissing
        Without a field on a page that was made worse.

    Examples
    --------
    >>> cases = pl.DataFrame({
    ...     "page_of": ["a", "a", "b", "b", "c", "c"], "degradation": ["none", "blur"] * 3,
    ...     "amount": [0.0, 2.0] * 3, "step": [0, 1] * 3,
    ...     "right": [True, False, True, True, True, False],
    ... })
    >>> response(cases).select("amount", "share", "n_pages").rows()[0]
    (0.0, 1.0, 3)
    """
    rows = []
    for name, value, own in _curves(cases, by):
        amounts = dict(own.filter(degradation=name).select("step", "amount").unique().iter_rows())
        amounts[0] = DEGRADATIONS[name].neutral
        table = effects(own, {"step": sorted(amounts)}, interactions=False)
        step = pl.col("value").cast(pl.Int64)
        rows.append(
            table.select(
                pl.lit(name).alias("degradation"), pl.lit(DEGRADATIONS[name].unit).alias("unit"),
                step.replace_strict(amounts, return_dtype=pl.Float64).alias("amount"),
                step.alias("step"), pl.lit(by, pl.String).alias("by"),
                pl.lit(value, pl.String).alias("value"), *_TESTED,
            )
        )  # fmt: skip
    if not rows:
        remedy = "a system that answers, on pages with fields in the gold"
        raise DataMissing("no field was judged on any page", remedy=remedy)
    start = pl.col("share").first().over("degradation", "value")
    spans = [(start + pl.col(f"ci_{end}")).clip(0, 1).alias(end) for end in ("low", "high")]
    return _adjusted(pl.concat(rows)).with_columns(spans)


def half_level(
    cases: pl.DataFrame, by: str | None = None, *, resamples: int = 2000, level: float = 0.95,
    seed: int = 0,
) -> pl.DataFrame:  # fmt: skip
    """The amount at which half of what was right on the page as it is is right no more.

    Between two amounts the curve is taken as straight. The interval draws pages with replacement;
    in a draw whose curve never falls so far the amount lies beyond the range, and an end of the
    interval that lies there is NaN.

    Parameters
    ----------
    cases, by
        As for `response`.
    resamples, level, seed
        Draws of pages, the level of the interval in (0, 1), and their seed.

    Returns
    -------
    polars.DataFrame
        `degradation`, `by`, `value`; `amount`, `ci_low`, `ci_high` in `unit`, the lower end first;
        `reached`, the share of draws that fall so far; `last`, the worst amount, and `left`, the
        share of what was right at first that is right there; `n_pages`; and `reason`, why the
        amount is NaN, else empty.

    Examples
    --------
    >>> cases = pl.DataFrame({
    ...     "page_of": ["a", "a", "b", "b"], "degradation": ["none", "blur"] * 2,
    ...     "amount": [0.0, 2.0] * 2, "step": [0, 1] * 2, "right": [True, False, True, False],
    ... })
    >>> half_level(cases).select("amount", "ci_low", "ci_high", "reason").row(0)
    (1.0, 1.0, 1.0, '')
    """
    rows = []
    for name, value, own in _curves(cases, by):
        counts = own.drop_nulls("right").group_by("page_of", "step").agg(
            pl.col("right").sum().alias("hits"), pl.col("amount").first()
        ).sort("page_of", "step")  # fmt: skip
        places = counts.filter(pl.col("step") > 0).select("step", "amount").unique().sort("step")
        amounts = np.array([DEGRADATIONS[name].neutral, *places["amount"]])
        # Every page has the same fields at every step: their number cancels.
        hits = counts.pivot("step", index="page_of", values="hits").sort("page_of")
        hits = hits.select("0", *places["step"].cast(pl.String)).fill_null(0).to_numpy()
        pages = len(hits)
        (draws,) = drawn_parts([hits], resamples=resamples, seed=seed)
        steps = _half(np.vstack([hits.sum(axis=0), draws]))
        tails = _tails(level, pages)
        drawn = resamples and pages > 1
        ends = np.quantile(steps[1:], tails, method="nearest") if drawn else [np.inf] * 2
        half, *ends = _at(np.array([steps[0], *ends]), amounts)
        # Of a degradation that takes away, such as scale, the milder end is the higher one.
        low, high = ends[:: int(np.sign(amounts[-1] - amounts[0]))]
        sums = hits.sum(axis=0)
        reason = REACHED if not np.isnan(half) else NEVER if sums[0] else NO_START
        rows.append({
            "degradation": name, "by": by, "value": value, "amount": half, "ci_low": low,
            "ci_high": high, "unit": DEGRADATIONS[name].unit,
            "reached": float(np.isfinite(steps[1:]).mean()) if drawn else _NAN,
            "last": float(amounts[-1]), "left": float(sums[-1] / sums[0]) if sums[0] else _NAN,
            "n_pages": pages, "reason": reason,
        })  # fmt: skip
    return pl.DataFrame(rows, schema_overrides={"by": pl.String, "value": pl.String})


def _tails(level: float, pages: int) -> list[float]:
    """Which quantiles of the draws hold the truth as often as `level` says with so few pages.

    Percentiles are too near for small samples by the factor that T. C. Hesterberg corrects (What
    teachers should know about the bootstrap, The American Statistician 69(4), 2015).
    """
    pages = max(pages, 2)
    reach = stats.t.ppf((1 + level) / 2, pages - 1) * math.sqrt(pages / (pages - 1))
    return [float(stats.norm.cdf(-reach)), float(stats.norm.cdf(reach))]


def _half(hits: np.ndarray) -> np.ndarray:
    """The step, with its fraction, at which each curve (a row) falls to half; infinite if never."""
    half = hits[:, :1] / 2
    below = (hits <= half) & (hits[:, :1] > 0)
    place = np.where(below.any(axis=1), below.argmax(axis=1), 1)
    rows = np.arange(len(hits))
    before, after = hits[rows, place - 1], hits[rows, place]
    fall = np.where(before > after, before - after, 1)
    return np.where(below.any(axis=1), place - 1 + (before - half[:, 0]) / fall, np.inf)


def _at(steps: np.ndarray, amounts: np.ndarray) -> np.ndarray:
    """The amounts at steps with fractions; NaN beyond the last."""
    within = np.interp(np.nan_to_num(steps, posinf=0), np.arange(len(amounts)), amounts)
    return np.where(np.isfinite(steps), within, _NAN)


def harm(cases: pl.DataFrame) -> pl.DataFrame:
    """What each degradation does over its own range, and in pairs which does more.

    The share right at the steps of a degradation, each step weighing the same, is compared with
    that of the same pages as they are, and with that at the steps of each other degradation. So
    the order is that of these ranges: another range may have another order.

    Parameters
    ----------
    cases
        As for `response`.

    Returns
    -------
    polars.DataFrame
        `first` (``none`` for the pages as they are) and `second`, `range` of the second; `share` of
        the second, `difference` from the first, in [-1, 1], with interval, `p`, `p_adjusted` after
        Holm over the whole table, `n_pages` and `n_fields`. First the comparisons with ``none``,
        the most harmful first; in the pairs the less harmful one is the first.

    Examples
    --------
    >>> cases = pl.DataFrame({
    ...     "page_of": ["a", "a", "b", "b"], "degradation": ["none", "blur"] * 2,
    ...     "amount": [0.0, 2.0] * 2, "step": [0, 1] * 2, "right": [True, False, True, False],
    ... })
    >>> harm(cases).select("first", "second", "difference").rows()
    [('none', 'blur', -1.0)]
    """
    names = _names(cases)
    levels = {"degradation": [NONE, *names]}
    single = effects(cases, levels, interactions=False)
    single = single.filter(pl.col("value") != NONE).sort("share", "value")
    tables = [single.with_columns(pl.lit(NONE).alias("first"))]
    for second, first in combinations(single["value"], 2):
        pair = effects(cases, {"degradation": [first, second]}, interactions=False)
        tables.append(pair.filter(value=second).with_columns(pl.lit(first).alias("first")))
    amounts = cases.filter(pl.col("step") > 0).sort("step").group_by("degradation").agg(
        pl.col("amount").first().alias("mild"), pl.col("amount").last().alias("worst")
    )  # fmt: skip
    ranges = {name: f"{mild:g} to {worst:g}" for name, mild, worst in amounts.iter_rows()}
    table = pl.concat(tables).rename({"value": "second"})
    table = table.with_columns(pl.col("second").replace_strict(ranges).alias("range"))
    return _adjusted(table.select("first", "second", "range", *_TESTED))


def harm_sentence(table: pl.DataFrame, *, alpha: float = 0.05) -> str:
    """What a table of `harm` shows at the level `alpha`, as a sentence.

    Examples
    --------
    >>> row = {"first": "none", "second": "blur", "range": "1 to 3", "difference": -0.25}
    >>> harm_sentence(pl.DataFrame([row | {"p_adjusted": 0.01}]))
    'Over its range, blur (1 to 3) costs 25 points of the share of fields right'
    """
    shown = table.filter(pl.col("p_adjusted") < alpha, pl.col("difference") < 0)
    alone = shown.filter(first=NONE).sort("difference")
    if not alone.height:
        return "No degradation is shown to change the share of fields right over its range"
    costs = [
        f"{name} ({ends}) costs {-100 * change:.0f} points"
        for name, ends, change in alone.select("second", "range", "difference").rows()
    ]
    plural = "their ranges" if alone.height > 1 else "its range"
    text = f"Over {plural}, {costs[0]} of the share of fields right"
    text += f", {', '.join(costs[1:])}" if costs[1:] else ""
    most = alone["second"][0]
    others = table.filter(pl.col("first") != NONE, second=most)["first"].to_list()
    beaten = shown.filter(pl.col("first").is_in(others), second=most)["first"].to_list()
    if beaten and len(beaten) == len(others):
        return f"{text}; {most} does more harm than every other"
    if beaten:
        return f"{text}; {most} does more harm than {' and '.join(beaten)}"
    return text


def growing_causes(cases: pl.DataFrame) -> pl.DataFrame:
    """Which causes of errors grow with each degradation, over its own range.

    Parameters
    ----------
    cases
        As for `response`, with a column `cause`.

    Returns
    -------
    polars.DataFrame
        `degradation`, `cause`, `share` of fields that fail for it at the steps of the degradation,
        `difference` from the same pages as they are, interval, `p` and `p_adjusted` after Holm over
        the whole table, `n_pages`, `n_fields`; the cause that grows most first.

    Examples
    --------
    >>> cases = pl.DataFrame({
    ...     "page_of": ["a", "a", "b", "b"], "degradation": ["none", "blur"] * 2,
    ...     "amount": [0.0, 2.0] * 2, "step": [0, 1] * 2, "cause": [None, "missed"] * 2,
    ... })
    >>> growing_causes(cases).select("degradation", "cause", "difference").rows()
    [('blur', 'missed', 1.0)]
    """
    tables = []
    levels = {"degradation": [NONE, *_names(cases)]}
    for cause in cases["cause"].drop_nulls().unique().sort():
        marked = cases.with_columns(hit=pl.col("cause").eq_missing(pl.lit(cause)))
        table = effects(marked, levels, right="hit", interactions=False)
        table = table.filter(pl.col("value") != NONE).rename({"value": "degradation"})
        # Where a cause occurs neither before nor after, there is nothing to test.
        table = table.filter((pl.col("share") != 0) | (pl.col("difference") != 0))
        tables.append(table.select("degradation", pl.lit(cause).alias("cause"), *_TESTED))
    if not tables:
        return harm(cases).clear().drop("first", "range").rename({"second": "cause"})
    order = ["degradation", "difference", "cause"]
    return _adjusted(pl.concat(tables)).sort(order, descending=[False, True, False])


def _names(cases: pl.DataFrame) -> list[str]:
    """The degradations in the order of the plan."""
    if missing := [name for name in _PLANNED if name not in cases.columns]:
        remedy = "judged_fields of an evaluation of formlab stress"
        raise TableBroken(f"no column {missing[0]}", remedy=remedy)
    steps = cases.filter(pl.col("step") > 0)
    return steps["degradation"].unique(maintain_order=True).to_list()


def _curves(cases: pl.DataFrame, by: str | None) -> list[tuple[str, str | None, pl.DataFrame]]:
    """Of each degradation and value: its cases, with those of the pages as they are."""
    groups = [(None, cases)]
    if by is not None:
        values = cases[by].drop_nulls().unique().sort()
        groups = [(str(value), cases.filter(pl.col(by) == value)) for value in values]
    return [
        (name, value, group.filter(pl.col("degradation").is_in([NONE, name])))
        for name in _names(cases)
        for value, group in groups
    ]


def _adjusted(table: pl.DataFrame) -> pl.DataFrame:
    """The table with p adjusted over all of its rows, and no zero with a sign."""
    p = pl.Series("p_adjusted", adjusted_p(table["p"].to_numpy()))
    return table.with_columns(p, pl.col("share", "difference") + 0.0).rename(
        {"n_units": "n_pages", "n_cases": "n_fields"}
    )
