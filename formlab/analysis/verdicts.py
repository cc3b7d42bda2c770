"""Who beats whom: a verdict for each pair of systems, their ranks, and the sentence of both."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from formlab import metrics, tables
from formlab.analysis.comparability import digests, of_gold, scored_metrics
from formlab.analysis.compare import (
    COMPARISON,
    compare,
    evaluation_pairs,
    flips_of_common,
    values_compared,
)
from formlab.analysis.finding import KEYS, OUTCOME, Finding, by_text, keys, p_text, seen_text, word
from formlab.analysis.summarise import summarise
from formlab.folders import Evaluation
from formlab.metrics import ratio
from formlab.stats.draws import intervals
from formlab.stats.tests import DEPENDS
from formlab.tables import BOX, settings_text

BETTER, WORSE, ALIKE, SAME = ">", "<", "≈", "="
VERDICTS: dict[str, Any] = COMPARISON | {"verdict": pl.String, "n_tested": pl.Int64}
RANKS: dict[str, Any] = {
    **dict.fromkeys(("system", "metric"), pl.String),
    **dict.fromkeys(("value", "ci_low", "ci_high"), pl.Float64),
    **dict.fromkeys(("rank", "n_docs", "n_cases"), pl.Int64),
    "groups": pl.List(pl.Int64),
}
# How many kinds a sentence names.
_KINDS = 3
_ANSWER = ("doc_id", "task", "level", "path", "pred_path", "pred", "status")
_SCORE = ("doc_id", "task", "level", "path", "metric", "value")
_OF_DOCUMENTS = ~pl.col("level").is_in([*tables.FIELD_LEVELS, "answer"])
Row = Mapping[str, Any]


def identical(first: Evaluation, second: Evaluation) -> bool:
    """Whether every answer of two systems is the same (text, place, status), and every score.

    Both are from one `common(…)`.
    """
    columns = {"cases": [*_ANSWER, *(f"pred_{side}" for side in BOX)], "scores": _SCORE}
    sums = (
        [digests(each, lambda part, t=table, n=names: getattr(part, t).select(n)) for each in pair]
        for pair in [(first, second)]
        for table, names in columns.items()
    )
    return all(one.equals(other) for one, other in sums)


def verdicts(
    evaluations: Sequence[Evaluation], *, metric: str = "cer", reference: str = "", **draws: Any
) -> pl.DataFrame:
    """The verdict on every pair of systems: by values right, by whole documents, and by kind.

    Returns rows of `compare`: values right (`metric` ``outcome``) over all and by kind, then whole
    documents. `verdict` is ``>`` or ``<`` where the first or the second system is shown to do
    better, ``=`` where every answer of both is the same, and ``≈`` where no difference was shown.
    `n_tested` counts the comparisons that `p_holm` is adjusted for.

    Parameters
    ----------
    evaluations
        As from `common(…).evaluations`.
    metric
        By which whole documents are compared; another that was scored where this one was not.
    reference, **draws
        As for `compare`.
    """
    options = {"reference": reference or None, **draws}
    of_values = values_compared(evaluations, ["kind"], **options)
    table = pl.concat([of_values, _of_documents(evaluations, metric, options)])
    pairs = evaluation_pairs(evaluations, reference or None)
    same = {(a.system, b.system) for a, b in pairs if identical(a, b)}
    is_same = pl.Series([pair in same for pair in table["system_a", "system_b"].rows()], dtype=bool)
    ahead = pl.when(pl.col("better") == pl.col("system_a")).then(pl.lit(BETTER))
    ahead = ahead.when(pl.col("better").is_not_null()).then(pl.lit(WORSE))
    counted = pl.col("p").is_not_nan().sum().over("metric", "slice_by")
    return table.with_columns(
        verdict=ahead.when(is_same).then(pl.lit(SAME)).otherwise(pl.lit(ALIKE)),
        n_tested=counted.cast(pl.Int64),
    ).select(*VERDICTS)


def _of_documents(
    evaluations: Sequence[Evaluation], metric: str, options: Mapping[str, Any]
) -> pl.DataFrame:
    """The rows of whole documents by `metric`, or by the first other that all were scored by."""
    whole = pl.col("slice_by").is_null(), _OF_DOCUMENTS
    alone = [
        each.changed({"scores": lambda part: part.scan("scores").filter(*whole).collect()})
        for each in evaluations
    ]
    scored = set.intersection(*map(scored_metrics, alone))
    shared = [name for name in metrics.METRICS if name in scored]
    if not shared:
        return pl.DataFrame(schema=COMPARISON)
    name = metric if metrics.get(metric).name in shared else shared[0]
    rows = compare(alone, metric=name, average="pooled", **options)
    return rows.filter(*whole, pl.col("difference").is_not_nan())


def tell_apart(evaluations: Sequence[Evaluation], table: pl.DataFrame) -> list[Finding]:
    """The findings on every pair of systems: one for each verdict, of kinds those that hold.

    `evaluations`: as from `common(…).evaluations`; `table`: as from `verdicts` of them.
    """
    systems = {each.system: each for each in evaluations}
    shown_over_all = set(_over_all(table).drop_nulls("better")["system_a", "system_b"].rows())
    flipped: dict[tuple[str, str], pl.DataFrame] = {}
    found = []
    for row in table.to_dicts():
        pair, kind = (row["system_a"], row["system_b"]), row["slice_value"]
        if kind is not None and row["better"] is None:
            continue
        more: dict[str, Any] = {n: row[n] for n in ("ci_low", "ci_high", "n_docs", "n_cases", "p")}
        more |= {n: row[n] for n in ("metric", "n_tested", "benchmark", "split")}
        claim = comparison_sentence(row)
        if kind is not None and pair not in shown_over_all:
            claim += "; no difference over all fields was shown"
        if row["metric"] == OUTCOME:
            if pair not in flipped:
                columns = [*KEYS, "kind", "right_a", "right_b"]
                flips = flips_of_common(*(systems[name] for name in pair), columns=columns)
                flipped[pair] = flips.filter(pl.col("right_a") != pl.col("right_b"))
            behind = flipped[pair] if kind is None else flipped[pair].filter(kind=kind)
            surely = max(0.0, row["ci_low"], -row["ci_high"]) * row["n_cases"]
            more |= {"cases": keys(behind), "at_least": surely}
            more["what_to_try"] = "Look at the fields that one of them alone gets right."
        more |= {"effect": row["difference"], "p_adjusted": row["p_holm"], "systems": pair}
        more |= {"holds": row["better"] is not None, "system": ", ".join(pair)}
        more["settings"] = settings_text(row)
        found.append(Finding(claim, "systems", **more))
    return found


def ranks(evaluations: Sequence[Evaluation], table: pl.DataFrame, **draws: Any) -> pl.DataFrame:
    """The systems from best to worst, and the groups that no test separates.

    A critical-difference diagram as a table, by the test of `table` instead of Nemenyi's.

    Returns the schema RANKS. `groups` are the numbers, from 1, of the groups that a system is in:
    neighbouring ranks of which no pair is told apart.

    Parameters
    ----------
    evaluations
        As from `common(…).evaluations`.
    table
        As from `verdicts`, of all pairs. Systems are ranked by the share of fields right, or where
        no fields were scored by the metric of whole documents.
    **draws
        `resamples`, `level` and `seed` of the interval, as for `summarise`.

    References
    ----------
    J. Demšar, J. Mach. Learn. Res. 7, 2006.
    """
    metric = table["metric"].first() or OUTCOME
    if metric == OUTCOME:
        rows = [row for each in evaluations if (row := values_right(each, **draws))]
    else:
        scored = pl.concat([summarise(each, average="pooled", **draws) for each in evaluations])
        known = pl.col("value").is_not_nan() & _OF_DOCUMENTS
        rows = tables.only(scored, metric=metric, slice_by=None).filter(known).to_dicts()
    rows.sort(key=lambda row: row["value"], reverse=_is_up(metric))
    shown = _over_all(table).filter(pl.col("metric") == metric).drop_nulls("better")
    apart = {frozenset(pair) for pair in shown["system_a", "system_b"].rows()}
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
        right = (pl.col("outcome") == "match").sum().cast(pl.Float64)
        rows = part.fields.filter(of_gold()).group_by("doc_id")
        return rows.agg(right, total=pl.len().cast(pl.Float64))

    counts = evaluation.gathered(counted)
    if not counts.height:
        return None
    every = evaluation.document_names.to_frame().join(
        counts, on="doc_id", how="left", maintain_order="left"
    )
    parts = every.select(pl.col("outcome", "total").fill_null(0)).to_numpy()
    ((low, high),) = intervals([(parts, ratio)], resamples=resamples, level=level, seed=seed)
    row = {"system": evaluation.system, "metric": OUTCOME, "average": "pooled", "level": "field"}
    row |= {"value": float(ratio(parts.sum(axis=0))), "ci_low": low, "ci_high": high}
    return row | {"n_docs": counts.height, "n_cases": int(parts[:, 1].sum())}


def _groups(names: Sequence[str], apart: set[frozenset[str]]) -> list[list[str]]:
    """The longest runs of neighbours of which no pair is told apart; none of a system alone."""
    runs: list[list[str]] = []
    for start in range(len(names)):
        run = [names[start]]
        for name in names[start + 1 :]:
            if any(frozenset((name, other)) in apart for other in run):
                break
            run.append(name)
        # A run within the one before says nothing more.
        if len(run) > 1 and not (runs and run[-1] in runs[-1]):
            runs.append(run)
    return runs


def _over_all(table: pl.DataFrame) -> pl.DataFrame:
    return table.filter(pl.col("slice_by").is_null())


def shown_kinds(table: pl.DataFrame) -> list[dict[str, Any]]:
    """The rows of kinds on which a difference is shown, the largest first, at most three.

    Kinds are tested beside all fields together, which may hide what one of them loses.
    """
    shown = tables.only(table, slice_by="kind").drop_nulls("better")
    return shown.sort(pl.col("difference").abs(), descending=True).head(_KINDS).to_dicts()


def verdict_sentence(table: pl.DataFrame, ranked: pl.DataFrame) -> str:
    """The one sentence of a comparison: who is better, on what and by how much, or that none is.

    Of two systems it names the kinds on which one is shown to do better. `table` and `ranked` are
    from `verdicts` and `ranks` of the same evaluations.
    """
    if not table.height:
        return "Neither a field nor a whole document was scored for both systems."
    metric = table["metric"][0]
    rows = tables.only(_over_all(table), metric=metric).to_dicts()
    pages = table.filter(pl.col("metric") != metric).to_dicts()
    names = ranked["system"].to_list()
    if all(row["verdict"] == SAME for row in rows):
        systems = dict.fromkeys(n for row in rows for n in (row["system_a"], row["system_b"]))
        return f"{_list([*systems])} are identical: every answer is the same ({_counts(rows[0])})."
    if len(rows) == 1:
        parts = [comparison_sentence(row) for row in (*rows, *pages)]
        kinds = [(word(row["slice_value"]), comparison_sentence(row)) for row in shown_kinds(table)]
        parts[1:1] = [f"On {kind}: {sentence}" for kind, sentence in kinds]
        return ". ".join(parts) + "."
    sentences = [_of_several(rows, names)] + ([_of_several(pages, names)] if pages else [])
    return ". ".join(sentences) + "."


def comparison_sentence(row: Row) -> str:
    """The verdict on two systems, a row of `verdicts`, as one sentence without a full stop."""
    a, b, better = row["system_a"], row["system_b"], row["better"]
    if row["verdict"] == SAME:
        return f"{a} and {b} are identical: every answer is the same ({_counts(row)})"
    share = row["metric"] == OUTCOME
    texts = [f"{100 * v:.1f} %" if share else f"{v:.3f}" for v in (row["value_a"], row["value_b"])]
    over = f"of {_counts(row)} are right" if share else f"over {_counts(row)}"
    size = by_text(row, size_only=better is not None)
    tested = f"(difference {size}; {_tested(row)}{_seen(row)})"
    does, aspect = _words(row)
    if better is None:
        what = f"No difference in {aspect} was shown between {a} and {b}"
        turned = row.get("rules") == DEPENDS
        rule = ", and which of them is ahead depends on the rule by which words go to fields"
        return f"{what}: {texts[0]} and {texts[1]} {over} {tested}{rule * turned}"
    first, second = texts if better == a else texts[::-1]
    return f"{better} {does} than {_other(row, better)}: {first} against {second} {over} {tested}"


def _of_several(rows: Sequence[Row], names: Sequence[str]) -> str:
    wins = {name: [row for row in rows if row["better"] == name] for name in names}
    # Where the best value is not shown to beat anyone, the sentence is of the first that does.
    best = next((name for name in names if wins[name]), None)
    does, aspect = _words(rows[0])
    if best is None:
        most = max(rows, key=lambda row: np.nan_to_num(row["least_difference"]))
        return f"No difference in {aspect} was shown among {_list(names)}{_seen(most)}"
    beaten = [_other(row, best) for row in wins[best]]
    least = min(wins[best], key=lambda row: abs(row["difference"]))
    which = f"least ahead of {_other(least, best)}: " if len(beaten) > 1 else ""
    rest = [name for name in names if name not in (best, *beaten)]
    ends = f"; no difference from {_list(rest)} was shown" if rest else ""
    details = f"{which}by {by_text(least, size_only=True)}; {_counts(least)}, {_tested(least)}"
    return f"{best} {does} than {_list(beaten)} ({details}){ends}"


def _other(row: Row, name: str) -> str:
    return row["system_b"] if row["system_a"] == name else row["system_a"]


def _is_up(metric: str) -> bool:
    return metric == OUTCOME or metrics.get(metric).direction == "up"


def _words(row: Row) -> tuple[str, str]:
    """What the better system does, and in what systems may differ."""
    if row["metric"] == OUTCOME:
        kind = f"{word(row['slice_value'])} values" if row["slice_value"] else "fields"
        return f"gets more {kind} right", "fields right"
    aspect = f"{metrics.title(row['metric'])} of whole documents"
    return f"has the {'higher' if _is_up(row['metric']) else 'lower'} {aspect}", aspect


def _tested(row: Row) -> str:
    if math.isnan(row["p_holm"]):
        return "a single document cannot be tested"
    tests = f", adjusted for {row['n_tested']} tests" if row["n_tested"] > 1 else ""
    return p_text(row["p_holm"]) + tests


def _counts(row: Row) -> str:
    documents = f"{row['n_docs']:,} document{'s' * (row['n_docs'] != 1)}"
    return documents if row["metric"] != OUTCOME else f"{row['n_cases']:,} fields in {documents}"


def _seen(row: Row) -> str:
    counts = {"n_docs": row["n_docs"], "n_tested": row["n_tested"]}
    is_share = row["metric"] == OUTCOME
    return seen_text(row["difference"], row["least_difference"], share=is_share, **counts)


def _list(names: Sequence[str]) -> str:
    """Names as a sentence lists them."""
    *first, last = names or [""]
    return f"{', '.join(first)} and {last}" if first else last
