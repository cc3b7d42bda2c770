"""Who beats whom: a verdict for each pair of systems, their ranks, and the sentence of both."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from formlab import metrics, tables
from formlab.analysis.comparability import common, digests, of_gold, scored_metrics
from formlab.analysis.compare import compare, evaluation_pairs
from formlab.analysis.finding import OUTCOME, Finding, by_text, p_text, seen_text
from formlab.analysis.summarise import summarise
from formlab.folders import Evaluation
from formlab.metrics import ratio
from formlab.stats.draws import intervals
from formlab.tables import BOX

BETTER, WORSE, ALIKE, SAME = ">", "<", "≈", "="
VERDICTS: dict[str, Any] = {
    "system_a": pl.String, "verdict": pl.String, "system_b": pl.String, "metric": pl.String,
    "better": pl.String, "difference": pl.Float64, "ci_low": pl.Float64, "ci_high": pl.Float64,
    "p": pl.Float64, "p_adjusted": pl.Float64, "n_tested": pl.Int64,
    "least_difference": pl.Float64, "n_docs": pl.Int64, "n_cases": pl.Int64,
}  # fmt: skip
RANKS: dict[str, Any] = {
    "system": pl.String, "rank": pl.Int64, "metric": pl.String, "value": pl.Float64,
    "ci_low": pl.Float64, "ci_high": pl.Float64, "groups": pl.List(pl.Int64),
    "n_docs": pl.Int64, "n_cases": pl.Int64,
}  # fmt: skip
# How many kinds a sentence names.
_KINDS = 3
_ANSWER = ("doc_id", "task", "level", "path", "pred_path", "pred", "status")
_SCORE = ("doc_id", "task", "level", "path", "metric", "value")
Row = Mapping[str, Any]


def identical(first: Evaluation, second: Evaluation) -> bool:
    """Whether every answer of two systems is the same (text, place, status), and every score."""
    pair = common([first, second]).evaluations
    columns = {"cases": [*_ANSWER, *(f"pred_{side}" for side in BOX)], "scores": _SCORE}
    for table, names in columns.items():
        sums = [
            digests(each, lambda part, t=table, n=names: getattr(part, t).select(n))
            for each in pair
        ]
        if not sums[0].equals(sums[1]):
            return False
    return True


def verdicts(
    evaluations: Sequence[Evaluation], found: Sequence[Finding], *, reference: str = ""
) -> pl.DataFrame:
    """The verdict on every pair of systems, by fields right and by whole documents.

    Parameters
    ----------
    evaluations
        As from `common(…).evaluations`.
    found
        As from `tell_apart` of the same evaluations and `reference`.

    Returns
    -------
    polars.DataFrame
        The schema VERDICTS, fields before documents (`metric` is ``outcome`` for fields right).
        `verdict` is ``>`` or ``<`` where the first or the second system is shown to do better,
        ``=`` where every answer of both is the same, and ``≈`` where no difference was shown.
        `p_adjusted` is after Holm over the `n_tested` comparisons.
    """
    pairs = evaluation_pairs(evaluations, reference or None)
    same = {(a.system, b.system) for a, b in pairs if identical(a, b)}
    rows = []
    for finding in found:
        a, b = finding.systems
        sign = SAME if (a, b) in same else ALIKE
        if finding.holds:
            sign = BETTER if finding.effect > 0 else WORSE
        rows.append({
            "system_a": a, "verdict": sign, "system_b": b,
            "better": {BETTER: a, WORSE: b}.get(sign),
            "difference": finding.effect, "least_difference": finding.least,
            **{n: getattr(finding, n) for n in VERDICTS if hasattr(finding, n)},
        })  # fmt: skip
    table = pl.DataFrame(rows, schema=VERDICTS)
    return table.sort(pl.col("metric") != OUTCOME, maintain_order=True)


def every_difference(
    evaluations: Sequence[Evaluation],
    matrix: pl.DataFrame,
    *,
    metric: str = "cer",
    average: str = metrics.POOLED,
    by: Sequence[str] = (),
    reference: str = "",
    **draws: int,
) -> pl.DataFrame:
    """All differences of a comparison: fields right and `metric` by slice, all other metrics whole.

    Parameters
    ----------
    evaluations
        As from `common(…).evaluations`.
    matrix
        As from `flip_matrices` of the same evaluations and `reference`.
    metric, average
        What is compared by slice; left out where it was not scored.
    by, reference, draws
        As for `compare`.

    Returns
    -------
    polars.DataFrame
        The columns of `compare` and those of `flip_matrices`; `metric` is null for fields right.
        All else, p and `better` among it, is as they say.
    """
    options = {"reference": reference or None, **draws}
    is_slice = pl.col("slice_by").is_not_null()
    parts = [matrix.filter(~is_slice), compare(evaluations, **options).filter(~is_slice)]
    if by and metrics.get(metric).name in scored_metrics(evaluations[0]):
        options |= {"metric": metric, "average": average}
        parts.append(compare(evaluations, by=by, **options).filter(is_slice))
    return pl.concat([*parts, matrix.filter(is_slice)], how="diagonal_relaxed")


def ranks(
    evaluations: Sequence[Evaluation],
    table: pl.DataFrame,
    *,
    resamples: int = 1000,
    level: float = 0.95,
    seed: int = 0,
) -> pl.DataFrame:
    """The systems from best to worst, and the groups that no test separates.

    A critical-difference diagram as a table, by the test of `table` instead of Nemenyi's.

    Parameters
    ----------
    evaluations
        As from `common(…).evaluations`.
    table
        As from `verdicts`, of all pairs. Systems are ranked by the share of fields right, or where
        no fields were scored by the metric of whole documents.
    resamples, level, seed
        Of the percentile interval, which draws documents.

    Returns
    -------
    polars.DataFrame
        The schema RANKS. `groups` are the numbers, from 1, of the groups that a system is in:
        neighbouring ranks of which no pair is told apart.

    References
    ----------
    J. Demšar, J. Mach. Learn. Res. 7, 2006.
    """
    metric = table["metric"].first() or OUTCOME
    options = {"resamples": resamples, "level": level, "seed": seed}
    shares = [values_right(each, **options) for each in evaluations if metric == OUTCOME]
    rows = [row for row in shares if row]
    if not rows:
        scored = pl.concat([summarise(each, average="pooled", **options) for each in evaluations])
        whole = tables.only(scored, metric=metric, slice_by=None)
        whole = whole.filter(~pl.col("level").is_in(tables.FIELD_LEVELS))
        rows = whole.filter(pl.col("value").is_not_nan()).to_dicts()
    rows.sort(key=lambda row: row["value"], reverse=_is_up(metric))
    own = table.filter(pl.col("metric") == metric, pl.col("better").is_not_null())
    apart = {frozenset(pair) for pair in own.select("system_a", "system_b").iter_rows()}
    groups = _groups([row["system"] for row in rows], apart)
    for rank, row in enumerate(rows, start=1):
        member = [n for n, names in enumerate(groups, start=1) if row["system"] in names]
        row |= {"rank": rank, "metric": metric, "groups": member}
    return pl.DataFrame([{name: row[name] for name in RANKS} for row in rows], schema=RANKS)


def values_right(
    evaluation: Evaluation, *, resamples: int = 1000, level: float = 0.95, seed: int = 0
) -> dict[str, Any] | None:
    """The share of the gold's values that are right, with interval and counts; None of no value."""

    def counted(part: Evaluation) -> pl.DataFrame:
        rows = part.fields.filter(of_gold()).group_by("doc_id")
        right = (pl.col("outcome") == "match").sum()
        return rows.agg(right.cast(pl.Float64), total=pl.len().cast(pl.Float64))

    counts = evaluation.gathered(counted)
    if not counts.height:
        return None
    names = evaluation.document_names.to_frame()
    counted_all = names.join(counts, on="doc_id", how="left", maintain_order="left").fill_null(0)
    parts = counted_all.select("outcome", "total").to_numpy()
    ((low, high),) = intervals([(parts, ratio)], resamples=resamples, level=level, seed=seed)
    return {
        "system": evaluation.system, "metric": OUTCOME, "average": metrics.POOLED, "level": "field",
        "value": float(ratio(parts.sum(axis=0))), "ci_low": low, "ci_high": high,
        "n_docs": counts.height, "n_cases": int(parts[:, 1].sum()),
    }  # fmt: skip


def _groups(names: Sequence[str], apart: set[frozenset[str]]) -> list[list[str]]:
    """The longest runs of neighbours of which no pair is told apart; none of a system alone."""
    runs: list[list[str]] = []
    last = 0
    for start in range(len(names)):
        end = start
        while end < len(names) and not any(
            frozenset((names[end], other)) in apart for other in names[start:end]
        ):
            end += 1
        # A run within the one before says nothing more.
        if end > last and end - start > 1:
            runs.append(list(names[start:end]))
        last = max(last, end)
    return runs


def shown_kinds(matrix: pl.DataFrame) -> list[dict[str, Any]]:
    """The rows of kinds on which a difference is shown, the largest first, at most three.

    Kinds are tested beside all fields together, which may hide what one of them loses.
    """
    shown = tables.only(matrix, slice_by="kind").filter(pl.col("better").is_not_null())
    return shown.sort(pl.col("difference").abs(), descending=True).head(_KINDS).to_dicts()


def verdict_sentence(
    table: pl.DataFrame, ranked: pl.DataFrame, matrix: pl.DataFrame | None = None
) -> str:
    """The one sentence of a comparison: who is better, on what and by how much, or that none is.

    Parameters
    ----------
    table, ranked
        As from `verdicts` and `ranks` of the same evaluations.
    matrix
        As from `flip_matrices` of these by ``kind``: of two systems the sentence names the kinds
        on which one is shown to do better.
    """
    if not table.height:
        return "Neither a field nor a whole document was scored for both systems."
    metric = table["metric"][0]
    rows = tables.only(table, metric=metric).to_dicts()
    names = ranked["system"].to_list()
    if all(row["verdict"] == SAME for row in rows):
        systems = dict.fromkeys(n for row in rows for n in (row["system_a"], row["system_b"]))
        return f"{_list([*systems])} are identical: every answer is the same ({_counts(rows[0])})."
    if len(rows) == 1:
        parts = [_of_two(rows[0], dict(ranked.select("system", "value").iter_rows()))]
        kinds = shown_kinds(matrix) if matrix is not None and metric == OUTCOME else []
        parts += [
            f"on {row['slice_value']} {row['better']} gets more right (by "
            f"{by_text(row | {'metric': OUTCOME}, size_only=True)}; {p_text(row['p_holm'])})"
            for row in kinds
        ]
    else:
        parts = [_of_several(rows, names)]
    pages = table.filter(pl.col("metric") != metric).to_dicts()
    return "; ".join(parts) + (f". {_of_pages(pages)}." if pages else ".")


def _of_two(row: Row, values: Mapping[str, float]) -> str:
    a, b, better = row["system_a"], row["system_b"], row["better"]
    share = row["metric"] == OUTCOME
    texts = {n: f"{100 * v:.1f} %" if share else f"{v:.3f}" for n, v in values.items()}
    over = f"of {_counts(row)} are right" if share else f"over {_counts(row)}"
    tested = f"(difference {_lead(row)}; {_tested(row)}{_seen(row)})"
    if better:
        worse = a if better == b else b
        gains = f"{better} {_does(row)} than {worse}"
        return f"{gains}: {texts[better]} against {texts[worse]} {over} {tested}"
    what = f"No difference in {_what(row)} was shown between {a} and {b}"
    return f"{what}: {texts[a]} and {texts[b]} {over} {tested}"


def _of_several(rows: Sequence[Row], names: Sequence[str]) -> str:
    wins = {name: [row for row in rows if row["better"] == name] for name in names}
    # Where the best value is not shown to beat anyone, the sentence is of the first that does.
    best = next((name for name in names if wins[name]), None)
    if best is None:
        most = max(rows, key=lambda row: np.nan_to_num(row["least_difference"]))
        return f"No difference in {_what(rows[0])} was shown among {_list(names)}{_seen(most)}"
    beaten = [_other(row, best) for row in wins[best]]
    least = min(wins[best], key=lambda row: abs(row["difference"]))
    which = f"least ahead of {_other(least, best)}: " if len(beaten) > 1 else ""
    details = f"{which}by {_lead(least)}; {_counts(least)}, {_tested(least)}"
    rest = [name for name in names if name not in (best, *beaten)]
    ends = f"; no difference from {_list(rest)} was shown" if rest else ""
    return f"{best} {_does(rows[0])} than {_list(beaten)} ({details}){ends}"


def _of_pages(rows: Sequence[Row]) -> str:
    """What whole documents say beside the fields."""
    title = metrics.title(rows[0]["metric"])
    winners = [row["better"] for row in rows if row["better"]]
    if not winners:
        return f"In {title} of whole documents no difference was shown"
    best = max(winners, key=winners.count)
    beaten = [_other(row, best) for row in rows if row["better"] == best]
    row = rows[0]
    details = f" (by {_lead(row)}; {_counts(row)}, {_tested(row)})" if len(rows) == 1 else ""
    return f"In {title} of whole documents {best} beats {_list(beaten)}{details}"


def _other(row: Row, name: str) -> str:
    return row["system_b"] if row["system_a"] == name else row["system_a"]


def _is_up(metric: str) -> bool:
    return metric == OUTCOME or metrics.get(metric).direction == "up"


def _does(row: Row) -> str:
    if row["metric"] == OUTCOME:
        return "gets more fields right"
    return f"has the {'higher' if _is_up(row['metric']) else 'lower'} {_what(row)}"


def _what(row: Row) -> str:
    if row["metric"] == OUTCOME:
        return "fields right"
    return f"{metrics.title(row['metric'])} of whole documents"


def _lead(row: Row) -> str:
    """The size of the better one's lead; where none is better, that of the first."""
    return by_text(row, size_only=row["better"] is not None)


def _tested(row: Row) -> str:
    if math.isnan(row["p_adjusted"]):
        return "a single document cannot be tested"
    tests = f" after adjusting for {row['n_tested']} tests" if row["n_tested"] > 1 else ""
    return p_text(row["p_adjusted"]) + tests


def _counts(row: Row) -> str:
    documents = f"{row['n_docs']:,} document{'s' * (row['n_docs'] != 1)}"
    return documents if row["metric"] != OUTCOME else f"{row['n_cases']:,} fields in {documents}"


def _seen(row: Row) -> str:
    counts = {"n_docs": row["n_docs"], "n_tested": row["n_tested"]}
    share = row["metric"] == OUTCOME
    return seen_text(row["difference"], row["least_difference"], share=share, **counts)


def _list(names: Sequence[str]) -> str:
    """Names as a sentence lists them."""
    *first, last = names or [""]
    return f"{', '.join(first)} and {last}" if first else last
