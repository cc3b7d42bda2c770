"""Where a system is significantly worse than on the rest: slices of up to three columns."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import polars as pl

from formlab import metrics, tables
from formlab.analysis.finding import KEYS, LABEL, OUTCOME, READER, asked, keys, origin
from formlab.analysis.intervals import BLOCK, drawn_parts, exact_sums, percentiles
from formlab.analysis.paired_tests import adjusted_p
from formlab.analysis.slice_search import Fields, Tested, collected, refined, search, sure
from formlab.errors import UnknownName
from formlab.folders import Evaluation
from formlab.metrics import ratio
from formlab.scoring.bands import sliced
from formlab.stats.sums import of_cases
from formlab.tables import Settings

# What is known of a field without looking at how it was read.
COLUMNS = (
    "task", "kind", "modality", "subtype", "field", "scope", "reference", "complexity", "modal",
    "template", "domain", "page", "length", "nesting", "box_height", "box_width", "position",
    "certainty",
)  # fmt: skip
SLICES: dict[str, Any] = {
    "benchmark": pl.String, "split": pl.String, "system": pl.String, "metric": pl.String,
    "slice_by": pl.List(pl.String), "slice_value": pl.List(pl.String),
    "value": pl.Float64, "ci_low": pl.Float64, "ci_high": pl.Float64, "rest": pl.Float64,
    "difference": pl.Float64, "difference_low": pl.Float64, "difference_high": pl.Float64,
    "p": pl.Float64, "p_adjusted": pl.Float64, "excess": pl.Float64,
    "n_docs": pl.Int64, "n_cases": pl.Int64, "n_tested": pl.Int64,
    "mode": pl.String, "settings": tables.SETTINGS,
}  # fmt: skip
CORRECTIONS = ("by", "bh")
# Columns that follow from the error: searching them would be circular.
_AFTERWARDS = ("outcome", "cause", "similarity", "status", "exact", "normalised", "typed", "fuzzy")


def find_slices(
    evaluations: Evaluation | Sequence[Evaluation],
    *,
    metric: str = OUTCOME,
    columns: Sequence[str] | None = None,
    max_columns: int = 3,
    min_docs: int = 5,
    min_cases: int = 20,
    alpha: float = 0.05,
    correction: str = "by",
    resamples: int = 1000,
    level: float = 0.95,
    seed: int = 0,
) -> pl.DataFrame:
    """The slices of fields on which a system is significantly worse than on all other fields.

    Every conjunction of at most `max_columns` values with enough fields in enough documents, inside
    and outside, is tested by documents (see Notes). Of those that pass, a conjunction stays only if
    it is also worse, at `alpha`, than what is left of each conjunction it refines. Of two that hold
    the same fields, the shorter one stays. Fields whose verdict depends on the reading rule are no
    fields here, and a slice must be worse as well without those whose label may be wrong.

    Parameters
    ----------
    evaluations
        One, or several that are searched one by one.
    metric
        ``outcome``, the share of fields right, or a metric of fields that is hits of a total.
    columns
        Of *cases* or *documents*, bands and ``position``; `COLUMNS` and those of a user's own if
        left out. A field without a value is in no slice.
        Columns that follow from the error, such as ``cause``, are refused.
    max_columns
        At most three.
    min_docs, min_cases
        The least support of a slice and of its rest.
    alpha
        Bound of the expected share of false finds.
    correction
        ``by`` (Benjamini-Yekutieli) holds however slices overlap; ``bh`` finds more.
    resamples, level, seed
        Of the percentile intervals, with the draws of `summarise`.

    Returns
    -------
    polars.DataFrame
        Ranked by `excess`, the difference times the fields: how many fields' worth of score would
        be won if the slice were as good as the rest. `n_tested` slices were tried. Values gold does
        not have (spurious) are not fields here. A found slice was picked for looking bad: expect
        its difference to be smaller on new documents.

    Raises
    ------
    UnknownName
        If a column, the metric or the correction is not known or not allowed.

    Notes
    -----
    With H of T in the whole, a document adds u = (h - H/T t) / T of its part inside the slice, less
    the same of its part outside; the sum of u is the difference. The one-sided score test takes
    the sum over the root of the sum of squares as Student's t, with one degree of freedom less
    than documents that hold the slice, or the rest, if those are fewer. The variance is that of no
    difference: few documents that fail alike are no proof.

    References
    ----------
    The test: D. D. Boos, Am. Stat. 46, 1992, on score tests with a sandwich variance. Benjamini,
    Yekutieli, Ann. Statist. 29, 2001.
    """
    if correction not in CORRECTIONS:
        raise UnknownName.of("correction", correction, CORRECTIONS)
    if refused := [name for name in columns or () if name in _AFTERWARDS]:
        allowed = [name for name in columns or () if name not in _AFTERWARDS]
        raise UnknownName.of("column to search slices in", refused[0], allowed or COLUMNS)
    depth, rows = min(max_columns, 3), []
    several = [evaluations] if isinstance(evaluations, Evaluation) else list(evaluations)
    for evaluation in several:
        fields = _fields(evaluation, metric, columns, min_cases)
        tested = list(search(fields, depth, min_docs, min_cases))
        kept, count = _kept(fields, tested, alpha, correction), sum(len(each.p) for each in tested)
        rules = f"columns<={depth}|docs>={min_docs}|cases>={min_cases}"
        if odd := _count(evaluation, pl.col("cause") == READER):
            rules += f"|without={odd} that depend on the reading rule"
        settings = dataclasses.asdict(Settings(
            rules=rules, interval=f"bootstrap,documents,n={resamples},level={level:g},seed={seed}",
            test=f"score test,documents,t,fdr={correction}<={alpha:g}",
        ))  # fmt: skip
        base = {"metric": metric, "n_tested": count, "settings": settings}
        base |= origin(evaluation) | {"mode": evaluation.mode}
        rows += [base | row for row in _rows(fields, kept, resamples, level, seed)]
    return pl.DataFrame(rows, schema=SLICES).sort(
        pl.col("excess"), *(pl.col(name).list.join(" & ") for name in ("slice_by", "slice_value")),
        descending=[True, False, False],
    )  # fmt: skip


def slice_cases(
    evaluation: Evaluation, found: dict[str, Any], *, wrong: bool = True
) -> pl.DataFrame:
    """The cases of one slice, the wrong ones alone unless asked otherwise.

    Parameters
    ----------
    evaluation
        The one the slice was found in.
    found
        A row of `find_slices`.

    Returns
    -------
    polars.DataFrame
        The schema CASES, in the order of the evaluation.
    """
    return evaluation.gathered(lambda part: _in_slice(part, found, wrong=wrong))


def slice_keys(evaluation: Evaluation, found: dict[str, Any]) -> pl.DataFrame:
    """The keys of the wrong cases of one slice."""
    return keys(evaluation.gathered(lambda part: _in_slice(part, found, columns=KEYS)))


def _in_slice(
    part: Evaluation, found: dict[str, Any], *, wrong: bool = True,
    columns: Sequence[str] | None = None,
) -> pl.DataFrame:  # fmt: skip
    needed = None if columns is None else [*columns, "outcome", *found["slice_by"]]
    cases = _of_gold(part, needed)
    for column, value in zip(found["slice_by"], found["slice_value"], strict=True):
        cases = cases.filter(sliced(cases, part.documents, column).cast(pl.String) == value)
    return cases.filter(pl.col("outcome") != "match") if wrong else cases


def _of_gold(evaluation: Evaluation, columns: Sequence[str] | None = None) -> pl.DataFrame:
    needed = None if columns is None else [*columns, "cause"]
    return asked(evaluation, needed).filter(pl.col("cause").ne_missing(READER))


def _count(evaluation: Evaluation, where: pl.Expr) -> int:
    counts = (part.scan("cases").filter(where).select(pl.len()) for part in evaluation.parts())
    return sum(count.collect().item() for count in counts)


def _fields(
    evaluation: Evaluation, metric: str, columns: Sequence[str] | None, min_cases: int
) -> Fields:
    """The fields of all parts with hits, total and the values of the columns."""
    worse = -1
    if metric != OUTCOME:
        scored: set[str] = set()
        for part in evaluation.parts():
            loose = part.scan("scores").filter(of_cases())
            scored |= set(loose.select("metric").unique().collect()["metric"])
        known = [OUTCOME, *(name for name in sorted(scored) if metrics.get(name).score is ratio)]
        if metric not in known:
            raise UnknownName.of("metric of fields that is hits of a total", metric, known)
        worse = -1 if metrics.get(metric).direction == "up" else 1
    pieces = (_piece(part, metric, columns) for part in evaluation.parts())
    return collected(pieces, least=min_cases, worse=worse)


def _piece(
    part: Evaluation, metric: str, columns: Sequence[str] | None
) -> tuple[pl.DataFrame, dict[str, pl.Series]]:
    """Of the fields of a part hits and total, and the values of each column as text."""
    names = [*COLUMNS, *part.own] if columns is None else columns
    cases = _of_gold(part, ["doc_id", "path", "outcome", *names])
    if metric == OUTCOME:
        cases = cases.with_columns(hits=pl.col("outcome") == "match", total=1.0)
    else:
        key = ["doc_id", "path"]
        tallies = part.scan("scores").filter(of_cases(), pl.col("metric") == metric)
        tallies = tallies.select(*key, "hits", "total").collect().unique(key, keep="first")
        cases = cases.join(tallies, on=key, how="inner", maintain_order="left")
    table = cases.select("doc_id", "hits", "total", sure=pl.col("cause").ne_missing(LABEL))
    values = {name: sliced(cases, part.documents, name).cast(pl.String) for name in names}
    return table, values


def _kept(
    fields: Fields, tested: Sequence[Tested], alpha: float, correction: str
) -> list[tuple[Tested, np.ndarray]]:
    """The slices that pass all tests, with adjusted p."""
    p = np.concatenate([np.zeros(0), *(each.p for each in tested)])
    adjusted = np.split(adjusted_p(p, f"fdr_{correction}"), np.cumsum([len(t.p) for t in tested]))
    kept = []
    for each, p_adjusted in zip(tested, adjusted[:-1], strict=True):
        each, p_adjusted = each.only(good := p_adjusted <= alpha), p_adjusted[good]
        for test in (refined, sure):
            each, p_adjusted = each.only(good := test(fields, each, alpha)), p_adjusted[good]
        kept.append((each, p_adjusted))
    return kept


def _rows(
    fields: Fields, kept: Sequence[tuple[Tested, np.ndarray]], resamples: int, level: float,
    seed: int,
) -> Iterator[dict[str, Any]]:  # fmt: skip
    whole = fields.whole().dense(0)
    found = (
        ({"slice_by": list(each.names), "slice_value": fields.values(each.names, codes),
          "p": p, "p_adjusted": q}, sums.dense(slot))
        for each, adjusted in kept
        if len(each.p)
        for sums in [fields.of(each.names, each.codes)]
        for slot, (codes, p, q) in enumerate(zip(each.codes, each.p, adjusted, strict=True))
    )  # fmt: skip
    # So many slices are drawn at once as fit into a block.
    most_at_once = max(1, BLOCK // (2 * len(whole) + 1))
    while several := list(itertools.islice(found, most_at_once)):
        sides = [inside[:, :2] for _, inside in several]
        *drawn, all_drawn = drawn_parts([*sides, whole[:, :2]], resamples=resamples, seed=seed)
        for (labels, inside), sums in zip(several, drawn, strict=True):
            value, rest = (
                float(ratio(exact_sums(side.T[:2]))) for side in (inside, whole - inside)
            )
            values, others = ratio(sums), ratio(all_drawn - sums)
            low, high = percentiles(values, level)
            least, most = percentiles(values - others, level)
            count = int(inside[:, 2].sum())
            yield labels | {
                "value": value, "ci_low": low, "ci_high": high, "rest": rest,
                "difference": value - rest, "difference_low": least, "difference_high": most,
                "excess": abs(value - rest) * count,
                "n_docs": int((inside[:, 2] > 0).sum()), "n_cases": count,
            }  # fmt: skip
