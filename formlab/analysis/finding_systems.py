"""Whether two systems differ on the same documents: by fields right, and by whole pages."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from formlab import metrics
from formlab.analysis.compare import DEPENDS, compare, evaluation_pairs
from formlab.analysis.finding import ALPHA, KEYS, LABEL, READER, Finding, keys, p_text, seen_text
from formlab.analysis.flips import flips_of_common, rights_by_document
from formlab.analysis.paired_tests import Pair, adjusted_p, differences
from formlab.analysis.tallied import numbered
from formlab.folders import Evaluation
from formlab.metrics import ratio
from formlab.tables import FIELD_LEVELS, settings_text


def tell_apart(
    evaluations: Sequence[Evaluation],
    matrix: pl.DataFrame,
    *,
    metric: str = "cer",
    reference: str = "",
    alpha: float = ALPHA,
    resamples: int = 1000,
    permutations: int = 9999,
    seed: int = 0,
) -> list[Finding]:
    """The findings on every pair of systems: one by fields, and one by whole pages.

    All are adjusted together after Holm. A finding by fields must hold as well without fields
    whose verdict depends on the reading rule, and without those whose label may be wrong.

    Parameters
    ----------
    evaluations
        As from `common(…).evaluations`.
    matrix
        As from `flip_matrices` of the same evaluations and `reference`.
    metric
        By which whole pages are compared; another that was scored where this one was not.
    resamples, permutations, seed
        As for `compare`.

    Returns
    -------
    list of Finding
        Those of the first pair first, fields before pages; none where nothing was scored.
    """
    draws = {"resamples": resamples, "permutations": permutations, "seed": seed}
    rows = []
    for first, second in evaluation_pairs(evaluations, reference or None):
        pair = (pl.col("system_a") == first.system) & (pl.col("system_b") == second.system)
        for row in matrix.filter(pair, pl.col("slice_by").is_null()).to_dicts():
            p, behind = surest_p(first, second, row, draws)
            rows.append((row | {"about": "fields", "repeated": p}, behind))
        for row in _pages([first, second], metric, draws):
            rows.append((row | {"about": "pages", "repeated": row["p"]}, None))
    adjusted = adjusted_p([row["repeated"] for row, _ in rows])
    count = int((~np.isnan(adjusted)).sum())
    base = {"benchmark": evaluations[0].benchmark, "split": evaluations[0].split}
    return [
        _finding(row, behind, float(p), count, alpha, base)
        for (row, behind), p in zip(rows, adjusted, strict=True)
    ]


def surest_p(
    first: Evaluation, second: Evaluation, row: Mapping[str, Any], draws: Mapping[str, int]
) -> tuple[float, pl.DataFrame]:
    """The greatest p with and without what no claim may rest on, and the fields that differ.

    `row` is that of all fields in `flip_matrix`; `draws` are resamples, permutations and seed.
    """
    columns = [*KEYS, *(f"{name}_{side}" for name in ("right", "cause") for side in "ab")]
    table = flips_of_common(first, second, columns=columns)
    p, sign = row["p"], np.sign(row["difference"])
    codes = {doc: number for number, doc in enumerate(numbered(first))}
    done = table.height
    for names in ((READER,), (READER, LABEL)):
        odd = pl.any_horizontal(pl.col(f"cause_{side}").is_in(names) for side in "ab")
        rows = table.filter(~odd.fill_null(False))
        if rows.height == done:
            continue
        done = rows.height
        tested = _test(rows, codes, draws)
        p = max(p, tested["p"]) if np.sign(tested["difference"]) == sign else 1.0
    return p, table.filter(pl.col("right_a") != pl.col("right_b"))


def _test(rows: pl.DataFrame, codes: dict[str, int], draws: Mapping[str, int]) -> dict[str, Any]:
    if not rows.height:
        return {"p": 1.0, "difference": 0.0}
    pair = Pair(*rights_by_document(rows, codes), ratio)
    return differences([pair], **{**draws, "resamples": 0})[0]


def _pages(pair: Sequence[Evaluation], metric: str, draws: dict[str, int]) -> list[dict[str, Any]]:
    """The row of whole documents by `metric`, or by the first other that both were scored by."""
    whole = pl.col("slice_by").is_null(), ~pl.col("level").is_in([*FIELD_LEVELS, "answer"])

    def alone(shard: Evaluation) -> pl.DataFrame:
        return shard.scan("scores").filter(*whole).collect()

    pair = [each.changed({"scores": alone}) for each in pair]
    known = [{n for s in each.shards() for n in s.scores["metric"].unique()} for each in pair]
    shared = [name for name in metrics.METRICS if all(name in names for names in known)]
    if not shared:
        return []
    name = metric if metric in shared else shared[0]
    rows = compare(pair, metric=name, **draws).filter(*whole).to_dicts()
    return [row for row in rows if not math.isnan(row["difference"])]


def _finding(
    row: dict[str, Any], behind: pl.DataFrame | None, adjusted: float, count: int, alpha: float,
    base: dict[str, str],
) -> Finding:  # fmt: skip
    low, high = row["ci_low"], row["ci_high"]
    clear = low > 0 or high < 0
    # A difference that changes sides with the reading rule is none.
    depends = row.get("rules") == DEPENDS
    holds = bool(adjusted <= alpha and clear and not depends)
    say = _of_fields if row["about"] == "fields" else _of_pages
    claim = say(row, holds, adjusted, count)
    if depends:
        claim += ", and which of them is ahead depends on the rule by which words go to fields"
    size = 0.0 if not clear else min(abs(low), abs(high))
    more = {} if behind is None else {"cases": keys(behind)}
    what = "Look at the fields that one of them alone gets right." if more else ""
    return Finding(
        claim, "systems", holds=holds, effect=row["difference"], ci_low=low, ci_high=high,
        at_least=size * row["n_cases"] if behind is not None else 0.0, n_docs=row["n_docs"],
        n_cases=row["n_cases"], p=row["p"], p_adjusted=adjusted, n_tested=count,
        system=f"{row['system_a']}, {row['system_b']}", what_to_try=what,
        systems=(row["system_a"], row["system_b"]), least=row["least_difference"],
        metric=row.get("metric", "outcome"), settings=settings_text(row), **base, **more,
    )  # fmt: skip


def _of_fields(row: dict[str, Any], holds: bool, p: float, count: int) -> str:
    a, b = row["system_a"], row["system_b"]
    fields = f"{row['n_cases']:,} fields in {row['n_docs']:,} documents"
    if not row["only_a"] + row["only_b"]:
        return f"{a} and {b} get the same fields right, all {fields} taken one by one"
    gain = row["difference"] > 0
    better, worse = (b, a) if gain else (a, b)
    won, lost = (row["only_b"], row["only_a"]) if gain else (row["only_a"], row["only_b"])
    moved = f"{won:,} of {fields} are right with {better} alone, {lost:,} with {worse} alone"
    if holds:
        return f"{better} gets more fields right than {worse}: {moved} ({_tested(p, count)})"
    return (
        f"No difference in fields right was shown between {a} and {b}: {moved} "
        f"({_tested(p, count)}{_seen(row)})"
    )


def _of_pages(row: dict[str, Any], holds: bool, p: float, count: int) -> str:
    a, b, title = row["system_a"], row["system_b"], metrics.title(row["metric"])
    whole = f"{row['n_docs']:,} whole documents"
    first, second = f"{row['value_a']:.3f}", f"{row['value_b']:.3f}"
    if row["difference"] == 0:
        return f"{a} and {b} have the same {title} over {whole}, {first}"
    own = metrics.get(metrics.plain(row["metric"]))
    better, worse = (b, a) if (row["difference"] > 0) == (own.direction == "up") else (a, b)
    values = (first, second) if better == a else (second, first)
    if holds:
        return (
            f"{better} does better than {worse} on {whole}: {title} {values[0]} against "
            f"{values[1]} ({_tested(p, count)})"
        )
    return (
        f"No difference in {title} of whole documents was shown between {a} ({first}) and {b} "
        f"({second}) over {whole} ({_tested(p, count)}{_seen(row)})"
    )


def _tested(p: float, count: int) -> str:
    if math.isnan(p):
        return "a single document cannot be tested"
    return p_text(p) + (f", adjusted for {count} tests" if count > 1 else "")


def _seen(row: dict[str, Any]) -> str:
    share = row["about"] == "fields"
    return seen_text(row["difference"], row["least_difference"], share=share)
