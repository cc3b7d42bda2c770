"""Where a system is significantly worse than on the rest: slices of up to three columns."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import polars as pl
from scipy import stats

from formlab import metrics, tables
from formlab.analysis.finding import LABEL, OUTCOME, READER, asked, origin
from formlab.analysis.intervals import BLOCK, by_document, draws, percentiles
from formlab.analysis.paired_tests import adjusted_p
from formlab.errors import UnknownName
from formlab.folders import Evaluation
from formlab.metrics import ratio
from formlab.scoring.bands import sliced
from formlab.scoring.tallies import of_cases
from formlab.tables import Settings

# What is known of a field without looking at how it was read.
COLUMNS = (
    "task", "kind", "modality", "subtype", "scope", "reference", "complexity", "modal", "template",
    "domain", "page", "length", "nesting", "box_height", "box_width", "position", "certainty",
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
        scored = _tallied(evaluation, metric)
        names = [*COLUMNS, *evaluation.own] if columns is None else columns
        codes = _coded(scored, evaluation, names)
        tested = list(_search(scored, codes, depth, min_docs, min_cases))
        kept = [
            each
            for each in passed(tested, alpha, correction)
            if _beats_parents(each, scored, codes, alpha) and _but_for_labels(each, scored, alpha)
        ]
        rules = f"columns<={depth}|docs>={min_docs}|cases>={min_cases}"
        if odd := evaluation.cases.filter(pl.col("cause") == READER).height:
            rules += f"|without={odd} that depend on the reading rule"
        settings = dataclasses.asdict(Settings(
            rules=rules, interval=f"bootstrap,documents,n={resamples},level={level:g},seed={seed}",
            test=f"score test,documents,t,fdr={correction}<={alpha:g}",
        ))  # fmt: skip
        base = {"metric": metric, "n_tested": len(tested), "settings": settings}
        base |= origin(evaluation) | {"mode": evaluation.mode}
        rows += [base | row for row in _rows(kept, scored, resamples, level, seed)]
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
    cases = _of_gold(evaluation)
    for column, value in zip(found["slice_by"], found["slice_value"], strict=True):
        cases = cases.filter(sliced(cases, evaluation.documents, column).cast(pl.String) == value)
    return cases.filter(pl.col("outcome") != "match") if wrong else cases


def _of_gold(evaluation: Evaluation) -> pl.DataFrame:
    return asked(evaluation).filter(pl.col("cause").ne_missing(READER))


def _tallied(evaluation: Evaluation, metric: str) -> _Tallies:
    cases, worse = _of_gold(evaluation), -1
    if metric == OUTCOME:
        right = (cases["outcome"] == "match").cast(pl.Float64).to_numpy()
        parts = np.stack([right, np.ones(len(right))], axis=1)
    else:
        loose = evaluation.scores.filter(of_cases())
        scored = loose["metric"].unique().sort()
        known = [OUTCOME, *(name for name in scored if metrics.get(name).score is ratio)]
        if metric not in known:
            raise UnknownName.of("metric of fields that is hits of a total", metric, known)
        worse = -1 if metrics.get(metric).direction == "up" else 1
        key = ["doc_id", "path"]
        tallies = loose.filter(pl.col("metric") == metric).unique(key, keep="first")
        tallies = tallies.select(*key, "hits", "total")
        cases = cases.join(tallies, on=key, how="inner", maintain_order="left")
        parts = cases.select("hits", "total").to_numpy()
    # Documents without a field tell nothing of fields.
    used, document = np.unique(cases["doc_id"].to_numpy(), return_inverse=True)
    return _Tallies(cases, document, parts, len(used), worse)


def _but_for_labels(each: Slice, scored: _Tallies, alpha: float) -> bool:
    """Whether a slice is worse as well without the fields whose label may be wrong."""
    sure = (scored.cases["cause"].ne_missing(LABEL)).to_numpy()
    if sure.all():
        return True
    inside = scored.by_document(each.members[sure[each.members]])
    whole = scored.by_document(np.flatnonzero(sure))
    return bool(scored.p(inside, whole) <= alpha)


def _rows(
    kept: Sequence[Slice], scored: _Tallies, resamples: int, level: float, seed: int
) -> Iterator[dict[str, Any]]:
    whole = scored.by_document(np.arange(len(scored.document)))
    drawn = np.concatenate(list(draws(scored.count, resamples=resamples, seed=seed))) if kept else 0
    for each in kept:
        inside = scored.by_document(each.members)
        value, rest = (float(ratio(side.sum(axis=0)[:2])) for side in (inside, whole - inside))
        values, others = (ratio((drawn @ side)[:, :2]) for side in (inside, whole - inside))
        low, high = percentiles(values, level)
        least, most = percentiles(values - others, level)
        yield {
            "slice_by": [name for name, _ in each.conditions],
            "slice_value": [word for _, word in each.conditions],
            "value": value, "ci_low": low, "ci_high": high, "rest": rest,
            "difference": value - rest, "difference_low": least,
            "difference_high": most, "p": each.p, "p_adjusted": each.adjusted,
            "excess": abs(value - rest) * len(each.members),
            "n_docs": int((inside[:, 2] > 0).sum()), "n_cases": len(each.members),
        }  # fmt: skip


@dataclasses.dataclass
class _Tallies:
    """Fields of the gold: hits and total of each, and the number of its document."""

    cases: pl.DataFrame
    document: np.ndarray
    parts: np.ndarray
    count: int
    worse: int

    def by_document(self, members: np.ndarray) -> np.ndarray:
        """Hits, total and number of the fields `members`, summed by document: (documents, 3)."""
        columns = [*self.parts[members].T, np.ones(len(members))]
        return by_document(self.document[members], columns, self.count)

    def p(self, inside: np.ndarray, whole: np.ndarray) -> float:
        """One-sided p of one slice against the rest of `whole`."""
        return score_test(inside[None], (whole - inside)[None], self.worse)[0]


@dataclasses.dataclass
class Slice:
    """A conjunction of (column, value), the fields it holds, and how its test went."""

    conditions: tuple[tuple[str, str], ...]
    members: np.ndarray
    p: float = float("nan")
    adjusted: float = float("nan")


# Of each column: the code of every field's value, -1 for none, and the values.
Codes = dict[str, tuple[np.ndarray, list[str]]]


def _coded(scored: _Tallies, evaluation: Evaluation, columns: Sequence[str]) -> Codes:
    """The values of each column as codes; columns without any are left out."""
    codes = {}
    for name in columns:
        values = sliced(scored.cases, evaluation.documents, name).cast(pl.String)
        words = values.drop_nulls().unique().sort().to_list()
        if words:
            numbers = {word: number for number, word in enumerate(words)}
            code = values.replace_strict(numbers, default=-1, return_dtype=pl.Int64)
            codes[name] = code.fill_null(-1).to_numpy(), words
    return codes


def _search(
    scored: _Tallies, codes: Codes, depth: int, min_docs: int, min_cases: int
) -> Iterator[Slice]:
    """Every conjunction with enough support, tested against its rest; the same fields once."""
    marks = np.random.default_rng(0).integers(0, 2**63, len(scored.document), dtype=np.uint64)
    whole = scored.by_document(np.arange(len(scored.document)))
    room = max(1, BLOCK // (10 * max(scored.count, 1)))
    seen: set[int] = set()
    for size in range(1, depth + 1):
        for names in itertools.combinations(codes, size):
            block: list[tuple[Slice, np.ndarray]] = []
            for each in _groups(codes, names, min_cases):
                mark = int(marks[each.members].sum(dtype=np.uint64))
                inside = scored.by_document(each.members)
                if mark in seen or not _supported(inside, whole - inside, min_docs, min_cases):
                    continue
                seen.add(mark)
                block.append((each, inside))
                if len(block) == room:
                    yield from _with_p(block, whole, scored.worse)
                    block = []
            yield from _with_p(block, whole, scored.worse)


def _groups(codes: Codes, names: tuple[str, ...], min_cases: int) -> Iterator[Slice]:
    """The conjunctions of one value of each of `names` that hold enough fields."""
    known = np.flatnonzero(np.all([codes[name][0] >= 0 for name in names], axis=0))
    sizes = [len(codes[name][1]) for name in names]
    key = np.ravel_multi_index([codes[name][0][known] for name in names], sizes)
    order = np.argsort(key, kind="stable")
    ends = [*np.flatnonzero(np.diff(key[order])) + 1, len(order)]
    for begin, end in itertools.pairwise([0, *ends]):
        if end - begin < min_cases:
            continue
        numbers = np.unravel_index(key[order[begin]], sizes)
        words = (codes[name][1][number] for name, number in zip(names, numbers, strict=True))
        yield Slice(tuple(zip(names, words, strict=True)), known[order[begin:end]])


def _supported(
    inside: np.ndarray, outside: np.ndarray, min_docs: int, min_cases: int
) -> np.bool | bool:
    counts = inside[:, 2], outside[:, 2]
    return all((side > 0).sum() >= min_docs and side.sum() >= min_cases for side in counts)


def _with_p(
    block: list[tuple[Slice, np.ndarray]], whole: np.ndarray, worse: int
) -> Iterator[Slice]:
    if block:
        inside = np.stack([tallies for _, tallies in block])
        for (each, _), p in zip(block, score_test(inside, whole - inside, worse), strict=True):
            yield dataclasses.replace(each, p=float(p))


def score_test(inside: np.ndarray, outside: np.ndarray, worse: int) -> np.ndarray:
    """One-sided p of slices against the rest, by documents: see `find_slices`.

    Sides have the shape (slices, documents, 3): hits, total and number of the fields; `worse` is 1
    where more is worse, else -1. NaN where a side has a total of 0.
    """
    rate = ratio((inside + outside).sum(axis=1)[:, :2])[:, None]
    moved = []
    for side in (inside, outside):
        total = side[..., 1].sum(axis=1, keepdims=True)
        gain = side[..., 0] - rate * side[..., 1]
        moved.append(np.divide(gain, total, out=np.full(gain.shape, np.nan), where=total != 0))
    each = worse * (moved[0] - moved[1])
    spread = np.sqrt((each**2).sum(axis=1))
    away = np.divide(each.sum(axis=1), spread, out=np.zeros(len(each)), where=spread != 0)
    documents = np.minimum(*((side[..., 2] > 0).sum(axis=1) for side in (inside, outside)))
    return stats.t.sf(away, np.maximum(documents - 1, 1))


def passed(tested: Sequence[Slice], alpha: float, correction: str) -> list[Slice]:
    """Those whose adjusted p is at most alpha, by the false-discovery control ``by`` or ``bh``."""
    adjusted = adjusted_p([each.p for each in tested], f"fdr_{correction}")
    for each, p in zip(tested, adjusted, strict=True):
        each.adjusted = float(p)
    return [each for each in tested if each.adjusted <= alpha]


def _beats_parents(each: Slice, scored: _Tallies, codes: Codes, alpha: float) -> bool:
    """Whether a conjunction is worse than what is left of each one that it refines."""
    if len(each.conditions) == 1:
        return True
    inside = scored.by_document(each.members)
    for left_out in each.conditions:
        rest = [codes[n][0] == codes[n][1].index(v) for n, v in each.conditions if n != left_out[0]]
        parent = scored.by_document(np.flatnonzero(np.all(rest, axis=0)))
        # Equal to its parent, the p is undefined, and the conjunction says nothing more.
        if not scored.p(inside, parent) <= alpha:
            return False
    return True
