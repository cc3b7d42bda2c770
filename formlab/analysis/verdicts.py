"""Who beats whom: a verdict for each pair of systems, their ranks, and the sentence of both."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl

from formlab import metrics, tables
from formlab.analysis.comparability import (
    common,
    digests,
    of_gold,
    scored_metrics,
)
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


def identical(first: Evaluation, second: Evaluation) -> bool:
    """Whether every answer of two systems is the same (text, place, status), and every score."""
    pair = common([first, second]).evaluations
    of_cases = [*_ANSWER, *(f"pred_{side}" for side in BOX)]

    def alike(table: str, columns: Sequence[str]) -> bool:
        sums = [digests(each, lambda part: getattr(part, table).select(columns)) for each in pair]
        return sums[0].equals(sums[1])

    return alike("cases", of_cases) and alike("scores", _SCORE)


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
        better = None
        if finding.holds:
            better = a if finding.effect > 0 else b
        sign = {a: BETTER, b: WORSE}.get(better or "", SAME if (a, b) in same else ALIKE)
        rows.append({
            "system_a": a, "verdict": sign, "system_b": b, "better": better,
            "difference": finding.effect, "least_difference": finding.least,
            **{n: getattr(finding, n) for n in VERDICTS if hasattr(finding, n)},
        })  # fmt: skip
    table = pl.DataFrame(rows, schema=VERDICTS)
    return table.sort(pl.col("metric") != OUTCOME, maintain_order=True)


def _up(metric: str) -> bool:
    return metrics.get(metrics.plain(metric)).direction == "up"


def every_difference(
    evaluations: Sequence[Evaluation],
    matrix: pl.DataFrame,
    *,
    metric: str = "cer",
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
    metric
        The metric that is compared by slice; left out where it was not scored.
    by, reference, draws
        As for `compare`.

    Returns
    -------
    polars.DataFrame
        The columns of `compare` and those of `flip_matrices`; `metric` is null for fields right.
        All else, p and `better` among it, is as they say.
    """
    options = {"reference": reference or None, **draws}
    rows = tables.only(compare(evaluations, **options), slice_by=None)
    parts = [tables.only(matrix, slice_by=None), rows]
    if by and metrics.plain(metric) in scored_metrics(evaluations[0]):
        of_metric = compare(evaluations, metric=metric, by=by, **options)
        parts.append(of_metric.filter(pl.col("slice_by").is_not_null()))
    parts.append(matrix.filter(pl.col("slice_by").is_not_null()))
    return pl.concat(parts, how="diagonal_relaxed")


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
        scored = pl.concat([summarise(each, **options) for each in evaluations])
        whole = tables.only(scored, metric=metric, slice_by=None)
        whole = whole.filter(~pl.col("level").is_in(tables.FIELD_LEVELS))
        rows = whole.filter(pl.col("value").is_not_nan()).to_dicts()
    sign = -1 if metric == OUTCOME or _up(metric) else 1
    rows.sort(key=lambda row: sign * row["value"])
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
    right, values = (pl.col("outcome") == "match").sum(), pl.len()

    def counted(part: Evaluation) -> pl.DataFrame:
        rows = part.fields.filter(of_gold()).group_by("doc_id")
        return rows.agg(right.cast(pl.Float64), values.cast(pl.Float64))

    counts = evaluation.gathered(counted)
    if not counts.height:
        return None
    names = evaluation.document_names.to_frame()
    there = names.join(counts, on="doc_id", how="left", maintain_order="left").fill_null(0)
    parts = there.select("outcome", "len").to_numpy()
    ((low, high),) = intervals([(parts, ratio)], resamples=resamples, level=level, seed=seed)
    sums = parts.sum(axis=0)
    return {
        "system": evaluation.system, "metric": OUTCOME, "level": "field",
        "value": float(ratio(sums)), "ci_low": low, "ci_high": high,
        "n_docs": counts.height, "n_cases": int(sums[1]),
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
    if all(row["verdict"] == SAME for row in rows):
        systems = dict.fromkeys(n for row in rows for n in (row["system_a"], row["system_b"]))
        return f"{_list(systems)} are identical: every answer is the same ({_counts(rows[0])})."
    say = _two(rows[0], ranked) if len(rows) == 1 else _several(rows, ranked)
    if len(rows) == 1 and metric == OUTCOME and matrix is not None:
        say += _on_kinds(matrix)
    return f"{say}{_also(table.filter(pl.col('metric') != metric).to_dicts())}."


def _two(row: dict[str, Any], ranked: pl.DataFrame) -> str:
    a, b, better = row["system_a"], row["system_b"], row["better"]
    values = dict(ranked.select("system", "value").iter_rows())
    if better:
        worse = a if better == b else b
        say, texts = f"{better} {_does(row)} than {worse}", [values[better], values[worse]]
    else:
        say = f"No difference in {_what(row)} was shown between {a} and {b}"
        texts = [values[a], values[b]]
    share = row["metric"] == OUTCOME
    both = (" against " if better else " and ").join(
        f"{100 * value:.1f} %" if share else f"{value:.3f}" for value in texts
    )
    over = f"of {_counts(row)} are right" if share else f"over {_counts(row)}"
    return f"{say}: {both} {over} (difference {_by(row)}; {_tested(row)}{_seen(row)})"


def _on_kinds(matrix: pl.DataFrame) -> str:
    """The kinds of fields on which one of two systems is shown to do better."""
    texts = [
        f"on {row['slice_value']} {row['better']} gets more right (by "
        f"{by_text(row | {'metric': OUTCOME}, size_only=True)}; {p_text(row['p_holm'])})"
        for row in shown_kinds(matrix)
    ]
    return f"; {_list(texts)}" if texts else ""


def shown_kinds(matrix: pl.DataFrame) -> list[dict[str, Any]]:
    """The rows of kinds on which a difference is shown, the largest first, at most three.

    Kinds are tested beside all fields together, which may hide what one of them loses.
    """
    shown = tables.only(matrix, slice_by="kind").filter(pl.col("better").is_not_null())
    return shown.sort(pl.col("difference").abs(), descending=True).head(_KINDS).to_dicts()


def _several(rows: list[dict[str, Any]], ranked: pl.DataFrame) -> str:
    names = ranked["system"].to_list()
    shown = [row for row in rows if row["better"]]
    if not shown:
        most = max(rows, key=lambda row: np.nan_to_num(row["least_difference"]))
        return f"No difference in {_what(rows[0])} was shown among {_list(names)}{_seen(most)}"
    wins = {name: [r for r in shown if r["better"] == name] for name in names}
    # Where the best value is not shown to beat anyone, the sentence is of the first that does.
    best = next(name for name in names if wins[name])
    beaten = [_other(row, best) for row in wins[best]]
    least = min(wins[best], key=lambda row: abs(row["difference"]))
    rest = [name for name in names if name not in (best, *beaten)]
    which = f"least ahead of {_other(least, best)}: " if len(beaten) > 1 else ""
    details = f"{which}by {_by(least)}; {_counts(least)}, {_tested(least)}"
    say = f"{best} {_does(rows[0])} than {_list(beaten)} ({details})"
    return say + (f"; no difference from {_list(rest)} was shown" if rest else "")


def _other(row: dict[str, Any], name: str) -> str:
    return row["system_b"] if row["system_a"] == name else row["system_a"]


def _also(rows: list[dict[str, Any]]) -> str:
    """What whole documents say beside the fields."""
    if not rows:
        return ""
    title = metrics.title(rows[0]["metric"])
    wins: dict[str, list[str]] = {}
    for row in rows:
        if row["better"]:
            wins.setdefault(row["better"], []).append(_other(row, row["better"]))
    if not wins:
        return f". In {title} of whole documents no difference was shown"
    best = max(wins, key=lambda name: len(wins[name]))
    row = rows[0]
    details = f" (by {_by(row)}; {_counts(row)}, {_tested(row)})" if len(rows) == 1 else ""
    return f". In {title} of whole documents {best} beats {_list(wins[best])}{details}"


def _does(row: dict[str, Any]) -> str:
    if row["metric"] == OUTCOME:
        return "gets more fields right"
    return f"has the {'higher' if _up(row['metric']) else 'lower'} {_what(row)}"


def _what(row: dict[str, Any]) -> str:
    if row["metric"] == OUTCOME:
        return "fields right"
    return f"{metrics.title(row['metric'])} of whole documents"


def _by(row: dict[str, Any]) -> str:
    """The size of the better one's lead; where none is better, that of the first."""
    return by_text(row, size_only=row["better"] is not None)


def _tested(row: dict[str, Any]) -> str:
    if math.isnan(row["p_adjusted"]):
        return "a single document cannot be tested"
    tests = f" after adjusting for {row['n_tested']} tests" if row["n_tested"] > 1 else ""
    return p_text(row["p_adjusted"]) + tests


def _counts(row: dict[str, Any]) -> str:
    documents = f"{row['n_docs']:,} document{'s' * (row['n_docs'] != 1)}"
    return documents if row["metric"] != OUTCOME else f"{row['n_cases']:,} fields in {documents}"


def _seen(row: dict[str, Any]) -> str:
    counts = {"n_docs": row["n_docs"], "n_tested": row["n_tested"]}
    share = row["metric"] == OUTCOME
    return seen_text(row["difference"], row["least_difference"], share=share, **counts)


def _list(names: Sequence[str] | dict[str, None]) -> str:
    """Names as a sentence lists them."""
    *first, last = names or [""]
    return f"{', '.join(first)} and {last}" if first else last
