"""The verdicts on several systems: who beats whom, their ranks, and how a sentence says so."""

import itertools
import math
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import polars as pl

from formlab import metrics, tables
from formlab.analysis.comparability import ROW, common, named, of_gold, same_rows, scored_metrics
from formlab.analysis.compare import compare, evaluation_pairs, score_pairs, tested, values_compared
from formlab.analysis.finding import OUTCOME, Row, counted, in_fields, is_up, p_text, word
from formlab.analysis.summarise import summarise
from formlab.folders import Evaluation
from formlab.stats.draws import share
from formlab.stats.tests import ALPHA, DEPENDS, documents_needed
from formlab.tables import BOX, FIELD_LEVELS

# The verdict on two systems; the last where every answer of both is the same.
BETTER, WORSE, ALIKE, SAME = ">", "<", "≈", "="
RANKS: dict[str, Any] = tables.schema("system metric value:number ci_low:number ci_high:number")
RANKS |= tables.schema("rank:int n_docs:int n_cases:int") | {"groups": pl.List(pl.Int64)}
OVER_ALL = pl.col("slice_by").is_null()
_OF_FIELDS = (*FIELD_LEVELS, "answer")


def identical(first: Evaluation, second: Evaluation) -> bool:
    """Whether answers (text, place, status) and scores of two systems of one `common` are equal."""
    key = ("doc_id", "task", "level", "path")
    answers = *key, "status", "pred_path", "pred", *(f"pred_{edge}" for edge in BOX)
    same, scores = partial(same_rows, first, second), (*key, "metric", "value")
    return same(lambda of: of.cases.select(answers)) and same(lambda of: of.scores.select(scores))


def verdicts(
    evaluations: Sequence[Evaluation], *, metric: str = "cer", reference: str = "", **draws: Any
) -> pl.DataFrame:
    """The verdict on every pair of systems: by values right, by whole documents, and by kind.

    Returns rows of `compare`: values right (`metric` ``outcome``) over all and by kind, then whole
    documents. `verdict` is ``>`` or ``<`` where the first or the second system is shown to do
    better, ``=`` where every answer of both is the same, and ``≈`` where no difference was shown.

    `evaluations`: as from `common(…).evaluations`; `metric`: by which whole documents are compared,
    or another that was scored where this one was not; `reference`, `draws`: as for `compare`.
    """
    table = values_compared(evaluations, ["kind"], reference, **draws)
    scored = {name for name, level in scored_metrics(evaluations[0]) if level not in _OF_FIELDS}
    if shared := [name for name in (metrics.get(metric).name, *metrics.METRICS) if name in scored]:
        of = {"average": metrics.POOLED, "reference": reference}
        scores = tested([score_pairs(evaluations, shared[:1], **of)], **draws)
        whole = OVER_ALL & ~pl.col("level").is_in(_OF_FIELDS) & pl.col("difference").is_not_nan()
        table = pl.concat([table, scores.filter(whole)])
    pairs = evaluation_pairs(evaluations, reference)
    same = [(a.system, b.system) for a, b in pairs if identical(a, b)]
    rows = table.select("system_a", "system_b", "better").iter_rows()
    signs = [SAME if (a, b) in same else {a: BETTER, b: WORSE}.get(of, ALIKE) for a, b, of in rows]
    return table.with_columns(pl.Series("verdict", signs, pl.String))


def ranks(evaluations: Sequence[Evaluation], table: pl.DataFrame, **draws: Any) -> pl.DataFrame:
    """The systems from best to worst, and the groups that no test separates.

    Returns the schema RANKS. `groups` are the numbers, from 1, of the groups that a system is in:
    neighbouring ranks of which no pair is told apart, as in a critical-difference diagram (J.
    Demšar, J. Mach. Learn. Res. 7, 2006). Systems are ranked by the share of fields right, or where
    no fields were scored by the metric of whole documents.

    `evaluations`: of one `common(…)`; `table`: all `verdicts`; `draws`: as for `summarise`.
    """
    metric = table["metric"].first() or OUTCOME
    if metric == OUTCOME:
        rows = [*filter(None, (values_right(system, **draws) for system in evaluations))]
    else:
        of = {"metric": metric, "level": table["level"].first(), "slice_by": None}
        scored = pl.concat([summarise(e, average="pooled", **draws) for e in evaluations])
        rows = tables.only(scored, **of).drop_nans("value").to_dicts()
    rows.sort(key=lambda row: row["value"], reverse=is_up(metric))
    significant = table.filter(OVER_ALL, pl.col("metric") == metric).drop_nulls("better")
    apart = {frozenset(pair) for pair in significant["system_a", "system_b"].rows()}
    # The longest runs of neighbours of which no pair is told apart; none of a system alone.
    names, groups = [row["system"] for row in rows], []
    for start, first in enumerate(names):
        run = [first]
        for name in names[start + 1 :]:
            if any(frozenset((name, other)) in apart for other in run):
                break
            run.append(name)
        # A run within the one before says nothing more.
        if len(run) > 1 and not (groups and run[-1] in groups[-1]):
            groups.append(run)
    for rank, row in enumerate(rows, start=1):
        member = [n for n, group in enumerate(groups, start=1) if row["system"] in group]
        row |= {"rank": rank, "metric": metric, "groups": member}
    return pl.DataFrame(rows, schema=RANKS)


def values_right(evaluation: Evaluation, **draws: Any) -> dict[str, Any] | None:
    """The share of the gold's values that are right, as a row of a summary; None of no value."""
    right = (pl.col("outcome") == "match").fill_null(False)
    values = evaluation.scan("cases").filter(in_fields(), of_gold()).select("doc_id", right=right)
    if not (values := values.collect()).height:
        return None
    row = {"system": evaluation.system, "metric": OUTCOME, "average": "pooled", "level": "field"}
    row |= zip(("value", "ci_low", "ci_high"), share(values, pl.col("right"), **draws), strict=True)
    return row | {"n_docs": values["doc_id"].n_unique(), "n_cases": values.height}


def side_by_side(
    evaluations: Sequence[Evaluation],
    scores: Sequence[str] | None = None,
    *,
    average: str | None = None,
    by: Sequence[str] = (),
    permutations: int = 9999,
    **draws: Any,
) -> pl.DataFrame:
    """The scores of several systems, each marked by how it stands to the best of its column.

    Returns the rows of `summarise` for every system, and `mark`: ``best`` for the best value of its
    metric and slice; ``near`` where no difference from the best was shown by `compare`; ``worse``
    where one was; null where nothing could be tested, as without `resamples`. `p` is against it.

    Raises `DataBroken` if evaluations with a metric in common cannot be compared; `UnknownName` if
    a metric of `scores`, by default all, is not registered. The rest is as for `compare`.
    """
    systems, options = named(evaluations), {"by": by, "average": average, **draws}
    table = pl.concat([summarise(system, **options) for system in systems])
    if scores is not None:
        table = table.filter(pl.col("metric").is_in([metrics.get(name).name for name in scores]))
    groups: dict[frozenset[str], list[str]] = {}
    for metric, names in table.group_by("metric", maintain_order=True).agg("system").iter_rows():
        groups.setdefault(frozenset(names), []).append(metric)
    # By the score, the system, the best one and the value that was tested.
    tests: dict[tuple, tuple[str, float]] = {}
    for names in filter(lambda names: len(names) > 1, groups):
        alike = common([system for system in systems if system.system in names]).evaluations
        scored = {name for name, _ in scored_metrics(alike[0])}
        shared = [metric for metric in groups[names] if metric in scored]
        found = compare(alike, metric=shared, permutations=permutations, **options)
        for row in found.drop_nans(["p_holm", "ci_low"]).to_dicts():
            result = "near" if row["better"] is None else "worse", row["p_holm"]
            for one, other in ("ab", "ba"):
                sides = row[f"system_{one}"], row[f"system_{other}"], row[f"value_{one}"]
                tests[*map(row.get, ROW), *sides] = result
    rows, cells = table.to_dicts(), {}
    for row in rows:
        cells.setdefault(tuple(map(row.get, ROW)), []).append(row)
    for key, cell in cells.items():
        values = {row["value"]: row["system"] for row in cell[::-1] if not math.isnan(row["value"])}
        best = (max if is_up(key[0]) else min)(values, default=None)
        for row in cell:
            # A test of only what both were scored on says nothing of another number.
            mark, p = tests.get((*key, row["system"], values.get(best), row["value"]), (None, None))
            row |= {"mark": "best" if len(cell) > 1 and row["value"] == best else mark, "p": p}
    return pl.DataFrame(rows, schema=tables.SUMMARY | tables.schema("mark p:number"))


def verdict_sentence(table: pl.DataFrame, ranked: pl.DataFrame) -> str:
    """The one sentence of a comparison: who is better, on what and by how much, or that none is.

    Of two systems it names the kinds on which one is shown to do better. `table` and `ranked` are
    from `verdicts` and `ranks` of the same evaluations.
    """
    if not table.height:
        return "Neither a field nor a whole document was scored for both systems."
    over_all = table.filter(OVER_ALL).partition_by("metric", maintain_order=True)
    rows, *others = (of.to_dicts() for of in over_all)
    if all(row["verdict"] == SAME for row in rows):
        systems = dict.fromkeys(row[name] for row in rows for name in ("system_a", "system_b"))
        return f"{_identical([*systems], rows[0])}."
    if len(rows) > 1:
        names = ranked["system"].to_list()
        return ". ".join(_best_of_several(of, names) for of in (rows, *others)) + "."
    first, *pages = map(comparison_sentence, itertools.chain(rows, *others))
    kinds = significant_kinds(table)
    kinds = [f"On {word(row['slice_value'])}: {comparison_sentence(row)}" for row in kinds]
    return ". ".join([first, *kinds, *pages]) + "."


def significant_kinds(table: pl.DataFrame, most: int = 3) -> list[dict[str, Any]]:
    """The rows of kinds on which a difference is shown, the largest first."""
    rows = tables.only(table, slice_by="kind").drop_nulls("better")
    return rows.sort(pl.col("difference").abs(), descending=True).head(most).to_dicts()


def comparison_sentence(row: Row) -> str:
    """The verdict on two systems, a row of `verdicts`, as one sentence without a full stop."""
    a, b, better, said = row["system_a"], row["system_b"], row["better"], _phrases(row)
    if row["verdict"] == SAME:
        return _identical([a, b], row)
    tested = f"{said['over']} (difference {said['size']}; {said['p']}{detectable_text(row)})"
    first, second = said["value_a"], said["value_b"]
    if better is None:
        rule = ", and which of them is ahead depends on the rule by which words go to fields"
        rule *= row.get("rules") == DEPENDS
        shown = f"No difference in {said['aspect']} was shown between {a} and {b}"
        return f"{shown}: {first} and {second} {tested}{rule}"
    if better == b:
        a, b, first, second = b, a, second, first
    return f"{a} {said['does']} than {b}: {first} against {second} {tested}"


def _best_of_several(rows: Sequence[Row], names: Sequence[str]) -> str:
    """The first system, from best to worst, that is shown to beat any, and whom it beats."""
    better = {row["better"] for row in rows}
    if not (best := next((name for name in names if name in better), None)):
        most = max(rows, key=lambda row: np.nan_to_num(row["least_difference"]))
        aspect = _phrases(most)["aspect"]
        return f"No difference in {aspect} was shown among {_list(names)}{detectable_text(most)}"
    pairs = ((row["system_a"], row["system_b"], row) for row in rows if row["better"] == best)
    wins = {b if a == best else a: row for a, b, row in pairs}
    least = min(wins, key=lambda name: abs(wins[name]["difference"]))
    said, rest = _phrases(wins[least]), [name for name in names if name not in (best, *wins)]
    which = f"least ahead of {least}: " * (len(wins) > 1)
    details = f"{which}by {said['size']}; {said['counts']}, {said['p']}"
    ends = f"; no difference from {_list(rest)} was shown" * bool(rest)
    return f"{best} {said['does']} than {_list([*wins])} ({details}){ends}"


def detectable_text(row: Row) -> str:
    """Which difference would have been seen if none was, or how many documents its tests need."""
    least, needed = row["least_difference"], documents_needed(ALPHA / max(row["n_tested"], 1))
    if (count := row["n_docs"]) < needed:
        return f"; {counted(count, 'document')}: nothing can be shown, {needed} are needed"
    if row["better"] or not abs(row["difference"]) < least < 1 or least < 0.005:
        return ""
    size = f"{100 * least:.2g} points" if row["metric"] == OUTCOME else f"{least:.2f}"
    return f"; a difference of about {size} would have been seen"


def _identical(systems: Sequence[str], row: Row) -> str:
    counts = _phrases(row)["counts"]
    return f"{_list(systems)} are identical: every answer is the same ({counts})"


def _phrases(row: Row) -> dict[str, str]:
    """The parts of a sentence on a comparison: its numbers, and what the better system does."""
    is_share, documents = row["metric"] == OUTCOME, counted(row["n_docs"], "document")

    def text(value: float, unit: str = "", sign: str = "") -> str:
        number = f"{100 * value:{sign}.1f}{unit}" if is_share else f"{value:{sign}.3f}"
        return number.replace("-", "−")

    # A difference has no sign where the sentence says who is ahead.
    sign, turn = ("+", 1) if row["better"] is None else ("", math.copysign(1, row["difference"]))
    size = text(turn * row["difference"], " points", sign)
    if not math.isnan(row["ci_low"]):
        ends = sorted(turn * row[end] for end in ("ci_low", "ci_high"))
        size += f", 95 % interval {' to '.join(text(end, sign=sign) for end in ends)}"
    p = p_text(row["p_holm"]) + f", adjusted for {row['n_tested']} tests" * (row["n_tested"] > 1)
    said = {f"value_{of}": text(row[f"value_{of}"], " %") for of in "ab"} | {"size": size}
    said["p"] = "a single document cannot be tested" if math.isnan(row["p_holm"]) else p
    if is_share:
        kind = f"{word(row['slice_value'])} values" if row["slice_value"] else "fields"
        counts = f"{row['n_cases']:,} fields in {documents}"
        said |= {"does": f"gets more {kind} right", "aspect": "fields right"}
        return said | {"counts": counts, "over": f"of {counts} are right"}
    aspect = f"{metrics.title(row['metric'])} of whole documents"
    said |= {"does": f"has the {'higher' if is_up(row['metric']) else 'lower'} {aspect}"}
    return said | {"aspect": aspect, "counts": documents, "over": f"over {documents}"}


def _list(names: Sequence[str]) -> str:
    """Names as a sentence lists them."""
    *first, last = names or [""]
    return f"{', '.join(first)} and {last}" if first else last
