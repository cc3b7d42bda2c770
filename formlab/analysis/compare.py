"""Systems on the same corpus: by how much they differ, on which values, and who beats whom."""

from __future__ import annotations

import dataclasses
import functools
import itertools
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import polars as pl

from formlab import metrics, tables
from formlab.analysis import comparability
from formlab.analysis.comparability import KEY, common, named, of_gold, scored_metrics
from formlab.analysis.finding import LABEL, OUTCOME, READER, SAME, in_fields, is_up
from formlab.analysis.summarise import summarise
from formlab.errors import DataBroken, UnknownName
from formlab.folders import Evaluation
from formlab.metrics import ratio
from formlab.scoring.align import rights
from formlab.scoring.bands import DERIVED, roots, sliced
from formlab.scoring.evaluate import THRESHOLD, score_again
from formlab.scoring.fields import READER as DEFAULT_RULE
from formlab.scoring.fields import others
from formlab.stats.draws import by_document, share
from formlab.stats.sums import SLICE, Row, document_sums, slice_order
from formlab.stats.tests import Pair, compared, paired_differences
from formlab.tables import BOX, CASES, DOCUMENTS, FIELD_LEVELS, LADDER, Settings

COMPARISON = tables.schema("benchmark split") | tables.SLICE
COMPARISON |= tables.schema(
    "mode metric average system_a system_b value_a:number value_b:number difference:number "
    "ci_low:number ci_high:number better p:number p_holm:number least_difference:number "
    "n_tested:int n_docs:int n_cases:int n_undefined:int both_right:int only_a:int only_b:int "
    "both_wrong:int rules settings:settings"
)
ROW = ("metric", "average", *SLICE)
FLIPS = ("both right", "only a", "only b", "both wrong")
# Columns of *cases* that are the system's: each is there once a system, as `pred_a`, `pred_b` …
SYSTEM = ("system", "pred_path", "pred", "pred_page", *(f"pred_{edge}" for edge in BOX))
SYSTEM += ("confidence", "status", "outcome", *LADDER, "similarity", "cause", "pred_origin")
SYSTEM += ("readings", "at", "ambiguous", "failed")
_RIGHT = ("right", "rights")
BETTER, WORSE, ALIKE = ">", "<", "≈"
RANKS: dict[str, Any] = tables.schema(
    "system metric value:number ci_low:number ci_high:number rank:int n_docs:int n_cases:int"
) | {"groups": pl.List(pl.Int64)}
_OF_FIELDS = (*FIELD_LEVELS, "answer")
OVER_ALL = pl.col("slice_by").is_null()
DRAWS = {"resamples": 1000, "permutations": 9999, "level": 0.95, "seed": 0}


def compare(
    evaluations: Sequence[Evaluation],
    *,
    metric: str | Sequence[str] | None = None,
    average: str | None = None,
    by: Sequence[str] = (),
    reference: str | None = None,
    **draws: Any,
) -> pl.DataFrame:
    """The difference of every metric between systems on the same documents.

    Documents are what is drawn and what is swapped: fields of one page are not independent.

    Returns a row for each pair of systems, metric and slice. `difference` is by how much system a
    is better: a less b, of error rates b less a, with its percentile interval. `p` is of the paired
    permutation test; `p_holm`, `better` and `rules` are as of `stats.tests.compared`, `rules` of
    scores of fields read under boxes alone. `least_difference` is what these documents would find
    with a power of 0.8, NaN where there are too few to show anything; `n_cases` the greater of both
    counts. Of the values right over all fields `p_holm` is of the greater p with and without fields
    whose verdict depends on the reading rule or whose label may be wrong.

    Raises `DataBroken` if the evaluations cannot be compared, or a mean over documents is asked of
    the share of values right; `UnknownName` for metrics, systems and columns that are not known.

    `evaluations`: two or more of the same corpus, split, mode and threshold, cut to what all were
    scored on. `metric`: all that were scored if left out; ``outcome`` is the share of the gold's
    values right, whose rows count how many both get right, one alone or none.
    `average`: only ``pooled`` or only ``macro``, the mean over documents. `by`: columns of the
    gold, of *documents* or a user's own to slice the fields by. `reference`: the system that every
    other is compared with, as `system_a`; all pairs if left out. `draws`: as `DRAWS`, for
    `stats.tests.paired_differences`; the draws are those of `summarise`.

    References
    ----------
    P. Koehn, EMNLP 2004 (bootstrap). A. Yeh, COLING 2000 (permutation).
    """
    names = [metric] if isinstance(metric, str) else metric
    has_values = OUTCOME in (names or ())
    if has_values and average == metrics.MACRO:
        problem = f"{OUTCOME} is the share of all values right and has no mean over documents"
        raise DataBroken(problem, remedy=f"average={metrics.POOLED!r}, or another metric")
    systems = common(evaluations).evaluations
    users = itertools.chain(*(system.own for system in systems))
    # Every column is the same whichever system is looked at; a user's own are.
    columns = {*CASES, *DOCUMENTS, *DERIVED, *users} - {*SYSTEM, "certainty"}
    if unknown := [name for name in by if name not in columns]:
        raise UnknownName.of("column of the gold to compare by", unknown[0], columns)
    found = [values_compared(systems, by, reference, **draws)] if has_values else []
    scores = None if names is None else [name for name in names if name != OUTCOME]
    if scores != [] or not found:
        chosen = {"names": scores, "by": by, "average": average, "reference": reference}
        versions = [score_pairs(systems, **chosen)]
        # Scoring anew under the other rules takes most of the time: only where a rule has a say.
        if any(pair.labels["read"] for pair in versions[0]):
            rules = map(common, under_other_rules(evaluations))
            versions += [score_pairs(rule.evaluations, **chosen) for rule in rules]
        found.append(tested(versions, **draws))
    return pl.concat(found)


def tested(versions: Sequence[Sequence[Pair]], **draws: Any) -> pl.DataFrame:
    """The tests of pairs; the other `versions` are of the same under other rules of reading."""
    options = DRAWS | draws
    interval = "bootstrap,documents,paired,n={resamples},level={level:g},seed={seed}"
    made = {"interval": interval.format(**options)}
    made |= {"test": "swap,documents,n={permutations},power=0.8".format(**options)}
    schema = COMPARISON | {"read": pl.Boolean, "surest": pl.Float64}
    tests = []
    for pairs in versions:
        rows = paired_differences(pairs, **options | ({"resamples": 0} if tests else {}))
        rows = [row | {"settings": dataclasses.asdict(row["settings"]) | made} for row in rows]
        tests.append(pl.DataFrame(rows, schema=schema))
    return compared(*tests, level=options["level"]).select(*COMPARISON)


def under_other_rules(evaluations: Sequence[Evaluation]) -> list[list[Evaluation]]:
    """The same evaluations under each other reading rule; none where no rule has a say.

    Nor are there any where one evaluation does not hold what was scored. All are in memory.
    """
    systems = named(evaluations)
    if not any(part.cases["readings"].count() for system in systems for part in system.parts()):
        return []
    rules = others(systems[0].settings.get("reader", DEFAULT_RULE))
    rescored = [[score_again(system, reader=rule) for system in systems] for rule in rules]
    return [] if any(None in row for row in rescored) else rescored


def evaluation_pairs(
    evaluations: Sequence[Evaluation], reference: str | None = None
) -> list[tuple[Evaluation, Evaluation]]:
    """All pairs of systems in their order, or those of `reference` with every other."""
    systems = {evaluation.system: evaluation for evaluation in evaluations}
    if not reference:
        return list(itertools.combinations(systems.values(), 2))
    if reference not in systems:
        raise UnknownName.of("system to compare with", reference, systems)
    first = systems.pop(reference)
    return [(first, other) for other in systems.values()]


def score_pairs(
    evaluations: Sequence[Evaluation],
    names: Sequence[str] | None = None,
    by: Sequence[str] = (),
    *,
    average: str | None = None,
    reference: str | None = None,
) -> list[Pair]:
    """Every two systems by each score that either has, to be tested; all without `names`."""
    rows: dict[str, dict[tuple, Row]] = {}
    for evaluation in evaluations:
        sums = document_sums(evaluation, by, average=average)
        rows[evaluation.system] = {tuple(map(row.labels.get, ROW)): row for row in sums}
    keys = dict.fromkeys(itertools.chain(*rows.values()))
    scored = dict.fromkeys(key[0] for key in keys)
    names = list(scored if names is None else names)
    if unknown := [name for name in names if name not in scored]:
        raise UnknownName.of("metric scored for all systems", unknown[0], scored)
    # One slice that holds everything would only be tested once more.
    slices = Counter(column for column, _ in {key[3:] for key in keys})
    keys = [key for key in keys if key[0] in names and (key[3] not in by or slices[key[3]] > 1)]
    # All slices of a metric stand together.
    keys.sort(key=lambda key: (names.index(key[0]), key[1] == metrics.MACRO))
    return [
        _score_pair([rows[system.system].get(key) for system in systems], systems)
        for systems in evaluation_pairs(evaluations, reference)
        for key in keys
        if any(key in rows[system.system] for system in systems)
    ]


def _score_pair(rows: Sequence[Row | None], systems: Sequence[Evaluation]) -> Pair:
    scored = [row for row in rows if row]
    base = scored[0]
    # A system without a case in the slice (of claims that only the other makes) adds nothing.
    parts = (row.tally if row else np.zeros(base.tally.shape) for row in rows)
    up = metrics.get(base.labels["metric"]).direction == "up"
    # Settings that differ stand each after the other.
    made = [dataclasses.asdict(row.labels["settings"]) for row in scored]
    texts = {name: dict.fromkeys(row[name] or "none" for row in made) for name in made[0]}
    joined = {name: " / ".join(of) for name, of in texts.items() if len(of) > 1}
    settings = dataclasses.replace(base.labels["settings"], **joined)
    labels = base.labels | {"settings": settings, "read": bool(settings.read)}
    for name in ("n_docs", "n_cases", "n_undefined"):
        labels[name] = max(row.labels[name] for row in scored)
    labels |= {f"system_{which}": of.system for which, of in zip("ab", systems, strict=True)}
    return Pair(*parts, base.score, up, labels)


def values_compared(
    systems: Sequence[Evaluation], by: Sequence[str], reference: str | None = None, **draws: Any
) -> pl.DataFrame:
    """`compare` of the values right by systems of one `common(…)`."""
    needed = [*KEY, *by, *(root for name in by for root in roots(name))]
    needed += [f"{name}_{which}" for name in ("cause", *_RIGHT) for which in "ab"]
    pairs = evaluation_pairs(systems, reference)
    tables = [flips_of_common(*pair, columns=dict.fromkeys(needed)) for pair in pairs]
    counts = (of[f"rights_{which}"].list.len().max() or 0 for of in tables for which in "ab")
    versions = []
    for rule in range(max(counts, default=0) + 1):
        # Whether fields are right as another reading rule has it, where it has a say.
        read = {
            f"right_{of}": pl.coalesce(
                pl.col(f"rights_{of}").list.get(rule - 1, null_on_oob=True), f"right_{of}"
            )
            for of in ("ab" if rule else "")
        }
        rows = zip(pairs, (of.with_columns(**read) for of in tables), strict=True)
        versions.append([one for pair, of in rows for one in _value_pairs(*pair, of, by)])
    return tested(versions, **draws)


def _value_pairs(
    first: Evaluation, second: Evaluation, table: pl.DataFrame, by: Sequence[str]
) -> Iterator[Pair]:
    """The values right of two systems: all fields, then slices."""
    names = pl.Enum(first.document_names)
    labels = {name: getattr(first, name) for name in ("benchmark", "split", "mode")}
    labels |= {"system_a": first.system, "system_b": second.system, "metric": OUTCOME}
    labels |= {"average": metrics.POOLED, "level": "field", "read": True}
    labels["settings"] = Settings(rules="right")

    def pair(rows: pl.DataFrame, column: str | None = None, value: str | None = None) -> Pair:
        number = rows["doc_id"].cast(names).to_physical().to_numpy()
        a, b = rows["right_a"].to_numpy(), rows["right_b"].to_numpy()
        count, ones = len(names.categories), np.ones(len(a))
        parts = (by_document(number, [right, ones], count) for right in (a, b))
        of = {"both_right": a & b, "only_a": a & ~b, "only_b": b & ~a, "both_wrong": ~(a | b)}
        of = {name: int(values.sum()) for name, values in of.items()}
        of |= {"n_cases": rows.height, "n_docs": rows["doc_id"].n_unique()}
        of |= {"task": rows["task"].first() if rows["task"].n_unique() == 1 else None}
        return Pair(*parts, ratio, labels=labels | of | {"slice_by": column, "slice_value": value})

    if table.height:
        overall, odd = pair(table), pl.col("cause_a", "cause_b").is_in([READER, LABEL])
        sure = table.filter(~pl.any_horizontal(odd).fill_null(False))
        overall.sure = pair(sure) if sure.height < table.height else None
        yield overall
    for column in by:
        text = sliced(table, first.documents, column).cast(pl.String).fill_null("none")
        groups = dict(iter(table.group_by(text.alias("_slice"), maintain_order=True)))
        # One slice that holds everything would only be tested once more.
        if len(groups) > 1:
            for (value,) in sorted(groups, key=lambda key: slice_order(column, key[0])):
                yield pair(groups[value,], column, value)


def flips(first: Evaluation, second: Evaluation) -> pl.DataFrame:
    """Every field of the gold that could be scored for both systems, with what they made of it.

    Returns the gold's columns of *cases*; the systems' with the suffix ``_a`` and ``_b``;
    `right_a`, `right_b` and `flip`, one of `FLIPS`; `rights_a` and `rights_b`, whether a field is
    right as each other reading rule reads it, null where nothing was read under a box.

    Raises `DataBroken` if the evaluations cannot be compared; the message says what differs.
    """
    return flips_of_common(*common([first, second]).evaluations)


def flips_of_common(
    first: Evaluation, second: Evaluation, columns: Sequence[str] | None = None
) -> pl.DataFrame:
    """`flips` of two evaluations of one `common(…)`; `columns` that are nowhere are left out."""
    pair = first, second
    ids = [[part.documents["doc_id"].to_list() for part in of.parts()] for of in pair]
    # Parts that hold other documents are looked at together.
    parts = zip(*(of.parts() for of in pair), strict=True) if ids[0] == ids[1] else [pair]
    tables = (_flipped(*both) for both in parts)
    if columns is not None:
        tables = (table.select(n for n in columns if n in table.columns) for table in tables)
    return pl.concat(tables, how="diagonal_relaxed")


def _flipped(*pair: Evaluation) -> pl.DataFrame:
    frames = []
    for of in pair:
        cases = comparability.with_turns(of.fields).filter(of_gold())
        cases = cases.with_columns(right=(pl.col("outcome") == "match").fill_null(False))
        threshold = of.settings.get("threshold", THRESHOLD)
        frames.append(cases.with_columns(rights(cases, "normalised", threshold=threshold)))
    first, second = frames
    by_system = (*SYSTEM, *_RIGHT)
    second = second.select(
        n for n in second.columns if n in (*KEY, *by_system) or n not in first.columns
    )
    joined = first.join(second, on=KEY, nulls_equal=True, suffix="_b", maintain_order="left")
    joined = joined.rename({name: f"{name}_a" for name in by_system})
    place = 3 - 2 * pl.col("right_a").cast(pl.Int8) - pl.col("right_b").cast(pl.Int8)
    flip = place.replace_strict(dict(enumerate(FLIPS)), return_dtype=pl.Enum(FLIPS))
    return joined.with_columns(flip=flip)


def side(flipped: pl.DataFrame, which: str) -> pl.DataFrame:
    """The cases (schema CASES) of system ``a`` or ``b``, row for row: two tables to compare."""
    names = {f"{name}_{which}" if name in SYSTEM else name: name for name in CASES}
    of_both = {f"{name}_{other}" for name in (*SYSTEM, *_RIGHT) for other in "ab"}
    users = [n for n in flipped.columns if n not in {*CASES, *of_both, "turn", "flip"}]
    columns = (pl.col(of).cast(CASES[name]).alias(name) for of, name in names.items())
    return tables.check("cases", flipped.select(*columns, *users))


def identical(first: Evaluation, second: Evaluation) -> bool:
    """Whether every answer of two systems is the same (text, place, status), and every score.

    Both are from one `common(…)`.
    """
    key = ("doc_id", "task", "level", "path")
    answers = *key, "status", "pred_path", "pred", *(f"pred_{edge}" for edge in BOX)
    same = functools.partial(comparability.same_rows, first, second)
    scores = (*key, "metric", "value")
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
    found = [values_compared(evaluations, ["kind"], reference, **draws)]
    scored = {name for name, level in scored_metrics(evaluations[0]) if level not in _OF_FIELDS}
    if shared := [name for name in (metrics.get(metric).name, *metrics.METRICS) if name in scored]:
        options = {"average": metrics.POOLED, "reference": reference}
        pairs = score_pairs(evaluations, shared[:1], by=(), **options)
        scopes = ((pair, pair.labels["level"], pair.labels["slice_by"]) for pair in pairs)
        whole = [pair for pair, level, by in scopes if level not in _OF_FIELDS and not by]
        found.append(tested([whole], **draws).filter(pl.col("difference").is_not_nan()))
    table, signs = pl.concat(found), []
    pairs = evaluation_pairs(evaluations, reference)
    same = [(a.system, b.system) for a, b in pairs if identical(a, b)]
    for a, b, better in table.select("system_a", "system_b", "better").iter_rows():
        sign = {a: BETTER, b: WORSE}.get(better, ALIKE)
        signs.append(SAME if (a, b) in same else sign)
    return table.with_columns(pl.Series("verdict", signs, pl.String))


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
        rows = [*filter(None, (values_right(system, **draws) for system in evaluations))]
    else:
        level = {"metric": metric, "level": table["level"].first(), "slice_by": None}
        scored = pl.concat([summarise(e, average="pooled", **draws) for e in evaluations])
        rows = tables.only(scored, **level).filter(pl.col("value").is_not_nan()).to_dicts()
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
    values = evaluation.scan("cases").filter(in_fields(), of_gold())
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
    having = table.group_by("metric", maintain_order=True).agg("system").iter_rows()
    having = {metric: frozenset(names) for metric, names in having}
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
    worth = pl.col("metric").is_in([*filter(is_up, having)]).cast(pl.Int8) * 2 - 1
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
