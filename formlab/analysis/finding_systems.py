"""Whether two systems differ on the same documents: by fields right, and by whole pages."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import polars as pl

from formlab import metrics
from formlab.analysis.compare import COMPARISON, compare, evaluation_pairs
from formlab.analysis.finding import KEYS, OUTCOME, Finding, by_text, keys, p_text, seen_text, word
from formlab.analysis.flips import flips_of_common
from formlab.folders import Evaluation
from formlab.stats.tests import ALPHA, DEPENDS, holds
from formlab.tables import FIELD_LEVELS, settings_text

_NAMES = ["system_a", "system_b"]


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

    p is that of `flip_matrices` and of `compare`: adjusted after Holm over the pairs. A finding by
    fields must hold as well without fields whose verdict depends on the reading rule, and without
    those whose label may be wrong.

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
    whole = _pages(evaluations, metric, reference, draws)
    base = {"benchmark": evaluations[0].benchmark, "split": evaluations[0].split}
    tables = {"fields": matrix.filter(pl.col("slice_by").is_null()), "pages": whole}
    tested = {about: table["p_holm"].drop_nans().count() for about, table in tables.items()}
    found = []
    for first, second in evaluation_pairs(evaluations, reference or None):
        pair = (pl.col("system_a") == first.system) & (pl.col("system_b") == second.system)
        for about, table in tables.items():
            for row in table.filter(pair).to_dicts():
                behind = _flipped(first, second) if about == "fields" else None
                row |= {"about": about, "n_tested": tested[about]}
                found.append(_finding(row, behind, alpha, base))
    return found


def kinds_apart(
    evaluations: Sequence[Evaluation], matrix: pl.DataFrame, *, alpha: float = ALPHA
) -> list[Finding]:
    """On which kinds of field one of two systems gets more right, as findings that hold.

    `matrix` is from `flip_matrices` of the same evaluations ``by=["kind"]``; p is adjusted after
    Holm over the kinds of all pairs. Where no difference over all fields is shown it says so.
    """
    systems = {each.system: each for each in evaluations}
    whole = matrix.filter(pl.col("slice_by").is_null())
    kinds = matrix.filter(pl.col("slice_by") == "kind")
    shown_over_all = set(whole.filter(pl.col("better").is_not_null())[_NAMES].rows())
    found = []
    for row in kinds.to_dicts():
        pair = a, b = row["system_a"], row["system_b"]
        if not holds(row["p_holm"], row["ci_low"], row["ci_high"], row["rules"], alpha=alpha):
            continue
        better, worse = pair if row["difference"] > 0 else (b, a)
        values = sorted((row["value_a"], row["value_b"]), reverse=True)
        share = f"{values[0]:.1%} against {values[1]:.1%}".replace("%", " %")
        beside = "" if pair in shown_over_all else "no difference over all fields was shown; "
        tested = f"{p_text(row['p_holm'])}, adjusted for {kinds['p_holm'].drop_nans().len()} tests"
        behind = _flipped(systems[a], systems[b]).filter(kind=row["slice_value"])
        found.append(Finding(
            f"{better} gets more {word(row['slice_value'])} values right than {worse}: {share} of "
            f"{row['n_cases']:,}, by {by_text(row | {'metric': OUTCOME}, size_only=True)} "
            f"({beside}{tested})",
            "systems", effect=row["difference"], ci_low=row["ci_low"], ci_high=row["ci_high"],
            at_least=min(abs(row["ci_low"]), abs(row["ci_high"])) * row["n_cases"],
            n_docs=row["n_docs"], n_cases=row["n_cases"], p=row["p"], p_adjusted=row["p_holm"],
            n_tested=kinds["p_holm"].drop_nans().len(), system=f"{a}, {b}", systems=pair,
            metric=OUTCOME, settings=settings_text(row), cases=keys(behind),
            what_to_try="Look at the fields that one of them alone gets right.",
            benchmark=evaluations[0].benchmark, split=evaluations[0].split,
        ))  # fmt: skip
    return found


def _flipped(first: Evaluation, second: Evaluation) -> pl.DataFrame:
    """The fields that one of two systems alone gets right."""
    table = flips_of_common(first, second, columns=[*KEYS, "kind", "right_a", "right_b"])
    return table.filter(pl.col("right_a") != pl.col("right_b"))


def _pages(
    evaluations: Sequence[Evaluation], metric: str, reference: str, draws: dict[str, int]
) -> pl.DataFrame:
    """The rows of whole documents by `metric`, or by the first other that all were scored by."""
    whole = pl.col("slice_by").is_null(), ~pl.col("level").is_in([*FIELD_LEVELS, "answer"])

    def alone(part: Evaluation) -> pl.DataFrame:
        return part.scan("scores").filter(*whole).collect()

    evaluations = [each.changed({"scores": alone}) for each in evaluations]
    known = [{n for s in e.parts() for n in s.scores["metric"].unique()} for e in evaluations]
    shared = [name for name in metrics.METRICS if all(name in names for names in known)]
    if not shared or len(evaluations) < 2:
        return pl.DataFrame(schema=COMPARISON)
    name = metric if metrics.get(metric).name in shared else shared[0]
    rows = compare(evaluations, metric=name, average="pooled", reference=reference or None, **draws)
    return rows.filter(*whole, pl.col("difference").is_not_nan())


def _finding(
    row: dict[str, Any], behind: pl.DataFrame | None, alpha: float, base: dict[str, str]
) -> Finding:
    low, high, p = row["ci_low"], row["ci_high"], row["p_holm"]
    # A difference that changes sides with the reading rule is none.
    depends = row.get("rules") == DEPENDS
    shown = holds(p, low, high, row.get("rules"), alpha=alpha)
    say = _of_fields if row["about"] == "fields" else _of_pages
    claim = say(row, shown)
    if depends:
        claim += ", and which of them is ahead depends on the rule by which words go to fields"
    size = min(abs(low), abs(high)) if low > 0 or high < 0 else 0.0
    more = {} if behind is None else {"cases": keys(behind)}
    what = "Look at the fields that one of them alone gets right." if more else ""
    return Finding(
        claim, "systems", holds=shown, effect=row["difference"], ci_low=low, ci_high=high,
        at_least=size * row["n_cases"] if behind is not None else 0.0, n_docs=row["n_docs"],
        n_cases=row["n_cases"], p=row["p"], p_adjusted=p, n_tested=row["n_tested"],
        system=f"{row['system_a']}, {row['system_b']}", what_to_try=what,
        systems=(row["system_a"], row["system_b"]), least=row["least_difference"],
        metric=row.get("metric", "outcome"), settings=settings_text(row), **base, **more,
    )  # fmt: skip


def _of_fields(row: dict[str, Any], shown: bool) -> str:
    a, b = row["system_a"], row["system_b"]
    fields = f"{row['n_cases']:,} fields in {row['n_docs']:,} documents"
    if not row["only_a"] + row["only_b"]:
        return f"{a} and {b} get the same fields right, all {fields} taken one by one"
    gain = row["difference"] > 0
    better, worse = (a, b) if gain else (b, a)
    won, lost = (row["only_a"], row["only_b"]) if gain else (row["only_b"], row["only_a"])
    moved = f"{won:,} of {fields} are right with {better} alone, {lost:,} with {worse} alone"
    if shown:
        return f"{better} gets more fields right than {worse}: {moved} ({_tested(row)})"
    return (
        f"No difference in fields right was shown between {a} and {b}: {moved} "
        f"({_tested(row)}{_seen(row)})"
    )


def _of_pages(row: dict[str, Any], shown: bool) -> str:
    a, b, title = row["system_a"], row["system_b"], metrics.title(row["metric"])
    whole = f"{row['n_docs']:,} whole documents"
    first, second = f"{row['value_a']:.3f}", f"{row['value_b']:.3f}"
    if row["difference"] == 0:
        return f"{a} and {b} have the same {title} over {whole}, {first}"
    better, worse = (a, b) if row["difference"] > 0 else (b, a)
    values = (first, second) if better == a else (second, first)
    if shown:
        return (
            f"{better} does better than {worse} on {whole}: {title} {values[0]} against "
            f"{values[1]} ({_tested(row)})"
        )
    return (
        f"No difference in {title} of whole documents was shown between {a} ({first}) and {b} "
        f"({second}) over {whole} ({_tested(row)}{_seen(row)})"
    )


def _tested(row: dict[str, Any]) -> str:
    p, count = row["p_holm"], row["n_tested"]
    if math.isnan(p):
        return "a single document cannot be tested"
    return p_text(p) + (f", adjusted for {count} tests" if count > 1 else "")


def _seen(row: dict[str, Any]) -> str:
    counts = {"n_docs": row["n_docs"], "n_tested": row["n_tested"]}
    share = row["about"] == "fields"
    return seen_text(row["difference"], row["least_difference"], share=share, **counts)
