"""Who beats whom: a verdict for each pair of systems, their ranks, and tables of scores."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import polars as pl

from formlab import metrics, tables
from formlab.analysis import finding
from formlab.analysis.comparability import common, named, of_gold, same_rows, scored_metrics
from formlab.analysis.compare import (
    ROW,
    compare,
    evaluation_pairs,
    flips_of_common,
    score_pairs,
    tested,
    values_compared,
)
from formlab.analysis.finding import OUTCOME, SAME, Finding, Row, is_up
from formlab.analysis.summarise import summarise
from formlab.folders import Evaluation
from formlab.scoring.causes import IN_WORDS
from formlab.stats.draws import share
from formlab.tables import BOX, settings_text

BETTER, WORSE, ALIKE = ">", "<", "≈"
RANKS: dict[str, Any] = tables.schema(
    "system metric value:number ci_low:number ci_high:number rank:int n_docs:int n_cases:int"
) | {"groups": pl.List(pl.Int64)}
# The columns of a comparison that its finding has as well.
_OF_FINDING = ("benchmark", "split", "metric", "n_docs", "n_cases", "n_tested")
_OF_FINDING += ("ci_low", "ci_high", "p")
_ANSWER = ("doc_id", "task", "level", "path", "pred_path", "pred", "status")
_ANSWER += tuple(f"pred_{edge}" for edge in BOX)
_SCORE = ("doc_id", "task", "level", "path", "metric", "value")
_OF_FIELDS = (*tables.FIELD_LEVELS, "answer")
_OVER_ALL = pl.col("slice_by").is_null()


def identical(first: Evaluation, second: Evaluation) -> bool:
    """Whether every answer of two systems is the same (text, place, status), and every score.

    Both are from one `common(…)`.
    """
    read = (lambda part: part.cases.select(_ANSWER)), (lambda part: part.scores.select(_SCORE))
    return all(same_rows(first, second, of) for of in read)


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
    first = reference or None
    found = [values_compared(evaluations, ["kind"], first, **draws)]
    scored = {name for name, level in scored_metrics(evaluations[0]) if level not in _OF_FIELDS}
    if shared := [name for name in metrics.METRICS if name in scored]:
        name = metrics.get(metric).name
        options = {"average": metrics.POOLED, "reference": first}
        pairs = score_pairs(evaluations, [name if name in scored else shared[0]], **options)
        whole = [
            p for p in pairs if p.labels["level"] not in _OF_FIELDS and not p.labels["slice_by"]
        ]
        found.append(tested([whole], **draws).filter(pl.col("difference").is_not_nan()))
    table = pl.concat(found)
    pairs = evaluation_pairs(evaluations, first)
    same = {(a.system, b.system) for a, b in pairs if identical(a, b)}
    signs = [
        SAME if (a, b) in same else {a: BETTER, b: WORSE}.get(better, ALIKE)
        for a, b, better in table.select("system_a", "system_b", "better").iter_rows()
    ]
    return table.with_columns(pl.Series("verdict", signs, pl.String))


def tell_apart(evaluations: Sequence[Evaluation], table: pl.DataFrame) -> list[Finding]:
    """The findings on every pair of systems: one for each verdict, of kinds those that hold.

    `evaluations`: as from `common(…).evaluations`; `table`: as from `verdicts` of them.
    """
    systems = {evaluation.system: evaluation for evaluation in evaluations}
    apart = set(table.filter(_OVER_ALL).drop_nulls("better")["system_a", "system_b"].rows())
    wanted = [*finding.KEYS, "kind", "right_a", "right_b", "cause_a", "cause_b"]
    flipped: dict[tuple[str, str], pl.DataFrame] = {}
    found = []
    for row in table.filter(_OVER_ALL | pl.col("better").is_not_null()).to_dicts():
        pair, kind = (row["system_a"], row["system_b"]), row["slice_value"]
        numbers: dict[str, Any] = {name: row[name] for name in _OF_FINDING}
        claim = finding.comparison_sentence(row)
        if kind is not None and pair not in apart:
            claim += "; no difference over all fields was shown"
        if row["metric"] == OUTCOME:
            if pair not in flipped:
                both = map(systems.get, pair)
                flipped[pair] = flips_of_common(*both, columns=wanted)
            cases = flipped[pair] if kind is None else flipped[pair].filter(kind=kind)
            claim += _cause_phrase(row, cases)
            numbers["cases"] = finding.keys(cases.filter(pl.col("right_a") != pl.col("right_b")))
            numbers["at_least"] = max(0.0, row["ci_low"], -row["ci_high"]) * row["n_cases"]
            numbers["what_to_try"] = "Look at the fields that one of them alone gets right."
        numbers |= {"effect": row["difference"], "p_adjusted": row["p_holm"], "systems": pair}
        numbers |= {"holds": row["better"] is not None, "system": ", ".join(pair)}
        found.append(Finding(claim, "systems", settings=settings_text(row), **numbers))
    return found


def _cause_phrase(row: Row, flipped: pl.DataFrame) -> str:
    """The cause of errors that the system shown to do worse has more often than the better one."""
    if row["better"] is None:
        return ""
    sides = "ab" if row["better"] == row["system_b"] else "ba"
    wrong = [flipped.filter(~pl.col(f"right_{of}")).select(cause=f"cause_{of}") for of in sides]
    if not (cause := finding.cause_apart(*wrong, clear=())):
        return ""
    counts = [f"{of.filter(cause=cause).height:,} of {of.height:,}" for of in wrong]
    worse, better = (row[f"system_{of}"] for of in sides)
    return f"; in {counts[0]} errors of {worse} {IN_WORDS[cause]}, of {better} in {counts[1]}"


def ranks(evaluations: Sequence[Evaluation], table: pl.DataFrame, **draws: Any) -> pl.DataFrame:
    """The systems from best to worst, and the groups that no test separates.

    Returns the schema RANKS. `groups` are the numbers, from 1, of the groups that a system is in:
    neighbouring ranks of which no pair is told apart, as in a critical-difference diagram (J.
    Demšar, J. Mach. Learn. Res. 7, 2006). Systems are ranked by the share of fields right, or where
    no fields were scored by the metric of whole documents.

    `evaluations`: as from `common(…).evaluations`; `table`: as from `verdicts`, of all pairs;
    `draws`: `resamples`, `level` and `seed` of the interval, as for `summarise`.
    """
    metric = table["metric"].first() or OUTCOME
    if metric == OUTCOME:
        rows = [row for system in evaluations if (row := values_right(system, **draws))]
    else:
        level = {"metric": metric, "level": table["level"].first(), "slice_by": None}
        scored = pl.concat([summarise(e, average="pooled", **draws) for e in evaluations])
        rows = tables.only(scored, **level).filter(pl.col("value").is_not_nan()).to_dicts()
    rows.sort(key=lambda row: row["value"], reverse=is_up(metric))
    significant = table.filter(_OVER_ALL, pl.col("metric") == metric).drop_nulls("better")
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
    return pl.DataFrame([{name: row[name] for name in RANKS} for row in rows], schema=RANKS)


def values_right(evaluation: Evaluation, **draws: Any) -> dict[str, Any] | None:
    """The share of the gold's values that are right, as a row of a summary; None of no value."""
    values = evaluation.scan("cases").filter(finding.in_fields(), of_gold())
    values = values.select("doc_id", "outcome").collect()
    if not values.height:
        return None
    right = (pl.col("outcome") == "match").fill_null(False)
    row = {"system": evaluation.system, "metric": OUTCOME, "average": "pooled", "level": "field"}
    row |= dict(zip(("value", "ci_low", "ci_high"), share(values, right, **draws), strict=True))
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
    where one was; null where nothing could be tested, as without `resamples`. `p` is the adjusted p
    against the best.

    Raises `DataBroken` if evaluations with a metric in common cannot be compared; `UnknownName` if
    a metric of `scores` is not registered.

    `evaluations`: one or more of the same documents; a metric is compared among the systems that
    have it. `scores`: all that were scored if left out. The rest is as for `compare`.
    """
    systems, key = named(evaluations), ROW
    options = {"by": by, "average": average, **draws}
    table = pl.concat([summarise(system, **options) for system in systems])
    if scores is not None:
        table = table.filter(pl.col("metric").is_in([metrics.get(name).name for name in scores]))
    # The cells of a metric and slice stand together.
    table = table.sort(pl.int_range(pl.len()).min().over(key), maintain_order=True)
    having = dict(table.group_by("metric", maintain_order=True).agg("system").iter_rows())
    having = {metric: frozenset(names) for metric, names in having.items()}
    columns = tables.schema(f"{' '.join(key)} system top mark value:number p:number")
    tests = [pl.DataFrame(schema=columns)]
    for group in {names for names in having.values() if len(names) > 1}:
        alike = common([system for system in systems if system.system in group]).evaluations
        scored = {name for name, _ in scored_metrics(alike[0])}
        shared = [name for name, names in having.items() if names == group and name in scored]
        found = compare(alike, metric=shared, permutations=permutations, **options)
        found = found.drop_nans(["p_holm", "ci_low"])
        near = pl.when(pl.col("better").is_null()).then(pl.lit("near")).otherwise(pl.lit("worse"))
        for one, other in ("ab", "ba"):
            of = {"system": f"system_{one}", "top": f"system_{other}", "value": f"value_{one}"}
            tests.append(found.select(*key, **of, p="p_holm", mark=near))
    worth = {name: 1 if is_up(name) else -1 for name in having}
    worth = pl.col("metric").replace_strict(worth, return_dtype=pl.Int8)
    lead = worth * pl.col("value").fill_nan(None)
    is_best = (pl.len().over(key) > 1) & (lead == lead.max().over(key))
    table = table.with_columns(is_best=is_best.fill_null(False))
    table = table.with_columns(top=pl.col("system").filter("is_best").first().over(key))
    # A test of only what both were scored on says nothing of another number.
    of = {"on": [*key, "system", "top", "value"], "nulls_equal": True, "maintain_order": "left"}
    table = table.join(pl.concat(tests, how="diagonal_relaxed"), how="left", **of)
    mark = pl.when("is_best").then(pl.lit("best")).otherwise("mark").alias("mark")
    schema = tables.SUMMARY | tables.schema("mark p:number")
    return table.with_columns(mark).select(pl.col(name).cast(kind) for name, kind in schema.items())
