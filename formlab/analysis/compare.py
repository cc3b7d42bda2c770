"""Systems on the same corpus: by how much they differ, and on which values."""

import dataclasses
import itertools
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import polars as pl

from formlab import metrics, tables
from formlab.analysis import comparability
from formlab.analysis.comparability import KEY, ROW, common, named, of_gold
from formlab.analysis.finding import LABEL, OUTCOME, READER
from formlab.errors import DataBroken, UnknownName
from formlab.folders import Evaluation
from formlab.metrics import ratio
from formlab.scoring.align import rights
from formlab.scoring.bands import DERIVED, roots, sliced
from formlab.scoring.evaluate import THRESHOLD, score_again
from formlab.scoring.fields import READER as DEFAULT_RULE
from formlab.scoring.fields import others
from formlab.stats.draws import by_document
from formlab.stats.sums import Row, check_slices, document_sums, slice_order
from formlab.stats.tests import Pair, compared, paired_differences
from formlab.tables import BOX, CASES, DOCUMENTS, LADDER, Settings

COMPARISON = tables.schema("benchmark split task level slice_by slice_value")
COMPARISON |= tables.schema(
    "mode metric average system_a system_b value_a:number value_b:number difference:number "
    "ci_low:number ci_high:number better p:number p_holm:number least_difference:number "
    "n_tested:int n_docs:int n_cases:int n_undefined:int both_right:int only_a:int only_b:int "
    "both_wrong:int rules settings:settings"
)
FLIPS = ("both right", "only a", "only b", "both wrong")
# Columns of *cases* that are the system's: each is there once a system, as `pred_a`, `pred_b` …
SYSTEM = ("system", "pred_path", "pred", "pred_page", *(f"pred_{edge}" for edge in BOX))
SYSTEM += ("confidence", "status", "outcome", *LADDER, "similarity", "cause", "pred_origin")
SYSTEM += ("readings", "at", "ambiguous", "failed")
_RIGHT = ("right", "rights")
DRAWS = {"resamples": 1000, "permutations": 9999, "level": 0.95, "seed": 0}
_MADE = {"interval": "bootstrap,documents,paired,n={resamples},level={level:g},seed={seed}"}
_MADE |= {"test": "swap,documents,n={permutations},power=0.8"}


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

    Documents are drawn and swapped: fields of one page are not independent.

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
    values right, whose rows count how many both get right, one alone or none. `average`: only
    ``pooled`` or only ``macro``, the mean over documents. `by`: columns of the gold, of *documents*
    or a user's own to slice the fields by. `reference`: the system that every other is compared
    with, as `system_a`; all pairs if left out. `draws`: as `DRAWS`, as for `summarise`.

    P. Koehn, EMNLP 2004 (bootstrap); A. Yeh, COLING 2000 (permutation).
    """
    names = [metric] if isinstance(metric, str) else metric
    has_values = OUTCOME in (names or ())
    if has_values and average == metrics.MACRO:
        problem = f"{OUTCOME} is the share of all values right and has no mean over documents"
        raise DataBroken(problem, remedy=f"average={metrics.POOLED!r}, or another metric")
    systems = common(evaluations).evaluations
    # What is the same whichever system is looked at.
    columns = {*CASES, *DOCUMENTS, *DERIVED}.union(*(system.own for system in systems))
    columns -= {*SYSTEM, "certainty"}
    check_slices(by, sorted(columns), "column of the gold to compare by")
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
    options, tests = DRAWS | draws, []
    for pairs in versions:
        rows = paired_differences(pairs, **options | ({"resamples": 0} if tests else {}))
        made = {name: text.format(**options) for name, text in _MADE.items()}
        rows = [row | {"settings": dataclasses.asdict(row["settings"]) | made} for row in rows]
        schema = COMPARISON | tables.schema("read:flag surest:number")
        tests.append(pl.DataFrame(rows, schema=schema))
    return compared(*tests, level=options["level"]).select(*COMPARISON)


def under_other_rules(evaluations: Sequence[Evaluation]) -> list[list[Evaluation]]:
    """Evaluations under each other reading rule, in memory; none if it has no say or no source."""
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
    return [(systems[reference], other) for name, other in systems.items() if name != reference]


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
    pairs = itertools.product(evaluation_pairs(evaluations, reference), keys)
    scored = (([rows[of.system].get(key) for of in pair], pair) for pair, key in pairs)
    return [_score_pair(of, pair) for of, pair in scored if any(of)]


def _score_pair(rows: Sequence[Row | None], systems: Sequence[Evaluation]) -> Pair:
    base = (scored := [row for row in rows if row])[0]
    # A system without a case in the slice (of claims that only the other makes) adds nothing.
    parts = (row.tally if row else np.zeros(base.tally.shape) for row in rows)
    up = metrics.get(base.labels["metric"]).direction == "up"
    # Settings that differ stand each after the other.
    made = [dataclasses.asdict(row.labels["settings"]) for row in scored]
    texts = {name: dict.fromkeys(row[name] or "none" for row in made) for name in made[0]}
    joined = {name: " / ".join(of) for name, of in texts.items() if len(of) > 1}
    settings = dataclasses.replace(base.labels["settings"], **joined)
    counts = ("n_docs", "n_cases", "n_undefined")
    labels = base.labels | {n: max(row.labels[n] for row in scored) for n in counts}
    labels |= {"settings": settings, "read": bool(settings.read)}
    labels |= {f"system_{which}": of.system for which, of in zip("ab", systems, strict=True)}
    return Pair(*parts, base.score, up, labels)


def values_compared(
    systems: Sequence[Evaluation], by: Sequence[str], reference: str | None = None, **draws: Any
) -> pl.DataFrame:
    """`compare` of the values right by systems of one `common(…)`."""
    needed = [*KEY, *by, *itertools.chain(*map(roots, by))]
    needed += [f"{name}_{which}" for name in ("cause", *_RIGHT) for which in "ab"]
    pairs = evaluation_pairs(systems, reference)
    tables = [flips_of_common(*pair, columns=dict.fromkeys(needed)) for pair in pairs]
    counts = [of[f"rights_{which}"].list.len().max() or 0 for of in tables for which in "ab"]
    versions = []
    for rule in range(-1, max(counts, default=0)):
        # Whether fields are right as another reading rule has it, where it has a say.
        read = {of: pl.col(f"rights_{of}").list.get(rule, null_on_oob=True) for of in "ab"}
        read = {f"right_{of}": pl.coalesce(by_rule, f"right_{of}") for of, by_rule in read.items()}
        rows = (of.with_columns(**read) if rule >= 0 else of for of in tables)
        rows = zip(pairs, rows, strict=True)
        versions.append([one for pair, of in rows for one in _value_pairs(*pair, of, by)])
    return tested(versions, **draws)


def _value_pairs(
    first: Evaluation, second: Evaluation, table: pl.DataFrame, by: Sequence[str]
) -> Iterator[Pair]:
    """The values right of two systems: all fields, then slices."""
    names, count = pl.Enum(first.document_names), len(first.document_names)
    labels = {name: getattr(first, name) for name in ("benchmark", "split", "mode")}
    labels |= {"system_a": first.system, "system_b": second.system, "metric": OUTCOME}
    labels |= {"average": metrics.POOLED, "level": "field", "settings": Settings(rules="right")}

    def pair(rows: pl.DataFrame, column: str | None = None, value: str | None = None) -> Pair:
        number = rows["doc_id"].cast(names).to_physical().to_numpy()
        a, b = rows["right_a"].to_numpy(), rows["right_b"].to_numpy()
        parts = (by_document(number, [right, np.ones(len(a))], count) for right in (a, b))
        of = {"both_right": a & b, "only_a": a & ~b, "only_b": b & ~a, "both_wrong": ~(a | b)}
        of = {name: int(values.sum()) for name, values in of.items()}
        of |= {"n_cases": rows.height, "n_docs": rows["doc_id"].n_unique(), "read": True}
        of |= {"task": rows["task"].first() if rows["task"].n_unique() == 1 else None}
        return Pair(*parts, ratio, labels=labels | of | {"slice_by": column, "slice_value": value})

    if table.height:
        overall, odd = pair(table), pl.col("cause_a", "cause_b").is_in([READER, LABEL])
        sure = table.filter(~pl.any_horizontal(odd).fill_null(False))
        overall.sure = pair(sure) if sure.height < table.height else None
        yield overall
    for column in by:
        text = sliced(table, first.documents, column).cast(pl.String).fill_null("none")
        groups = {value: rows for (value,), rows in table.group_by(text, maintain_order=True)}
        for value in sorted(groups, key=lambda value: slice_order(column, value)):
            # One slice that holds everything would only be tested once more.
            if len(groups) > 1:
                yield pair(groups[value], column, value)


def flips(first: Evaluation, second: Evaluation) -> pl.DataFrame:
    """Every field of the gold that could be scored for both systems, with what they made of it.

    Returns the gold's columns of *cases*; the systems' with the suffix ``_a`` and ``_b``;
    `right_a`, `right_b` and `flip`, one of `FLIPS`; `rights_a` and `rights_b`, whether a field is
    right as each other reading rule reads it, null where nothing was read under a box.

    Raises `DataBroken` if the evaluations cannot be compared; the message says what differs.
    """
    return flips_of_common(*common([first, second]).evaluations)


def flips_of_common(*pair: Evaluation, columns: Sequence[str] | None = None) -> pl.DataFrame:
    """`flips` of two evaluations of one `common(…)`; `columns` that are nowhere are left out."""
    ids = [[part.documents["doc_id"].to_list() for part in of.parts()] for of in pair]
    # Parts that hold other documents are looked at together.
    parts = zip(*(of.parts() for of in pair), strict=True) if ids[0] == ids[1] else [pair]
    tables = (_flipped(*both) for both in parts)
    if columns is not None:
        tables = (table.select(n for n in columns if n in table.columns) for table in tables)
    return pl.concat(tables, how="diagonal_relaxed")


def _flipped(*pair: Evaluation) -> pl.DataFrame:
    frames, right = [], (pl.col("outcome") == "match").fill_null(False)
    for of in pair:
        cases = comparability.with_turns(of.fields).filter(of_gold()).with_columns(right=right)
        threshold = of.settings.get("threshold", THRESHOLD)
        frames.append(cases.with_columns(rights(cases, threshold=threshold)))
    first, second = frames
    # The gold's columns are those of the first.
    second = second.drop({*first.columns} - {*KEY, *SYSTEM, *_RIGHT}, strict=False)
    joined = first.join(second, on=KEY, nulls_equal=True, suffix="_b", maintain_order="left")
    joined = joined.rename({name: f"{name}_a" for name in (*SYSTEM, *_RIGHT)})
    place = 3 - 2 * pl.col("right_a").cast(pl.Int8) - pl.col("right_b").cast(pl.Int8)
    flip = place.replace_strict(dict(enumerate(FLIPS)), return_dtype=pl.Enum(FLIPS))
    return joined.with_columns(flip=flip)


def side(flipped: pl.DataFrame, which: str) -> pl.DataFrame:
    """The cases (schema CASES) of system ``a`` or ``b``, row for row: two tables to compare."""
    names = {name: f"{name}_{which}" if name in SYSTEM else name for name in CASES}
    columns = (pl.col(of).cast(CASES[name]).alias(name) for name, of in names.items())
    of_both = {f"{name}_{other}" for name in (*SYSTEM, *_RIGHT) for other in "ab"}
    users = pl.exclude(*CASES, *of_both, "turn", "flip")
    return tables.check("cases", flipped.select(*columns, users))
