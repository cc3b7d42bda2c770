"""Systems on the same corpus: by how much they differ, with tests, and on which values."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import polars as pl

from formlab import metrics, tables
from formlab.analysis.comparability import KEY, common, fields, of_gold
from formlab.analysis.finding import LABEL, OUTCOME, READER
from formlab.errors import DataBroken, UnknownName
from formlab.folders import Evaluation
from formlab.metrics import ratio
from formlab.scoring.align import rights
from formlab.scoring.bands import BANDS, roots, sliced
from formlab.scoring.evaluate import THRESHOLD, score_again
from formlab.scoring.fields import READER as DEFAULT_RULE
from formlab.scoring.fields import others
from formlab.stats.draws import by_document
from formlab.stats.sums import SLICE, Row, document_sums, slice_order
from formlab.stats.tests import Pair, compared, paired_differences
from formlab.tables import BOX, CASES, DOCUMENTS, LADDER, Settings, own_columns

COMPARISON: dict[str, Any] = {
    **dict.fromkeys(("benchmark", "split"), pl.String),
    **tables.SLICE,
    **dict.fromkeys(("mode", "metric", "average", "system_a", "system_b"), pl.String),
    **dict.fromkeys(("value_a", "value_b", "difference", "ci_low", "ci_high"), pl.Float64),
    "better": pl.String,
    **dict.fromkeys(("p", "p_holm", "least_difference"), pl.Float64),
    **dict.fromkeys(("n_docs", "n_cases", "n_undefined", "both_right", "only_a"), pl.Int64),
    **dict.fromkeys(("only_b", "both_wrong"), pl.Int64),
    "rules": pl.String,
    "settings": tables.SETTINGS,
}
# The columns of a case that come from the gold; the others differ by system.
OF_GOLD = ("task", "path", "kind", "modality", "subtype", "field", "page")
OF_GOLD += ("scope", "reference", "complexity", "modal", "gold")
ROW = ("metric", "average", *SLICE)
FLIPS = ("both right", "only a", "only b", "both wrong")
# Columns of *cases* that are the system's: each is there once a system, as `pred_a`, `pred_b` …
SYSTEM = ("system", "pred_path", "pred", "pred_page", *(f"pred_{edge}" for edge in BOX))
SYSTEM += ("confidence", "status", "outcome", *LADDER, "similarity", "cause", "pred_origin")
SYSTEM += ("readings", "at", "ambiguous", "failed")
_RIGHT = ("right", "rights")
DRAWS = {"resamples": 1000, "permutations": 9999, "level": 0.95, "power": 0.8, "seed": 0}
# The metric, average and slice that a row is of.
Key = tuple[str | None, ...]
Tests = list[dict[str, Any]]


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
    permutation test, `p_holm` adjusted over the pairs and slices of a metric, average and level:
    wholes, kinds and slices by other columns are families of their own. `better` names the system
    that is shown to do better: `p_holm` is at most 1 - `level`, the interval is clear of 0 and no
    reading rule says otherwise; null elsewhere. `rules` says of scores of fields read under boxes
    whether the verdict is the ``same`` under every rule of `fields.READERS` or ``depends`` on it.
    `least_difference` is what these documents would find with `power`, NaN where there are too few
    to show anything; `n_cases` the greater of both counts. Of the values right over all fields
    `p_holm` is of the greater p with and without fields whose verdict depends on the reading rule
    or whose label may be wrong.

    Raises `DataBroken` if the evaluations cannot be compared, or a mean over documents is asked of
    the share of values right; `UnknownName` if there is no such metric or system, or `by` is a
    column of the system.

    Parameters
    ----------
    evaluations
        Two or more, of the same corpus, split, mode and threshold, cut to what all were scored on.
    metric
        Registered metrics; all that were scored if left out. ``outcome`` is the share of the gold's
        values right; its rows count how many both get right, one alone or none.
    average
        Only ``pooled`` or only ``macro``, the mean over documents; both if left out.
    by
        Columns of the gold, of *documents* or a user's own to slice the fields by.
    reference
        The system that every other is compared with, as `system_a`; all pairs if left out.
    **draws
        `resamples` (1000), `permutations` (9999), `level` (0.95), `power` (0.8) and `seed` (0), as
        for `stats.tests.paired_differences`; the draws are those of `summarise`.

    References
    ----------
    P. Koehn, EMNLP 2004 (bootstrap). A. Yeh, COLING 2000 (permutation).
    """
    names = [metric] if isinstance(metric, str) else metric
    has_values = OUTCOME in (names or ())
    if has_values and average == metrics.MACRO:
        problem = f"{OUTCOME} is the share of all values right and has no mean over documents"
        raise DataBroken(problem, remedy=f"average={metrics.POOLED!r}, or another metric")
    systems, options = common(evaluations).evaluations, DRAWS | draws
    _check_columns(systems, by)
    found = [values_compared(systems, by, reference, **draws)] if has_values else []
    scores = None if names is None else [name for name in names if name != OUTCOME]
    if scores != [] or not found:
        details = {"names": scores, "by": by, "average": average}
        tested = partial(_score_tests, **details, reference=reference, options=options)
        tests, by_rule = tested(systems), []
        # Scoring anew under the other rules takes most of the time: only where a rule has a say.
        if any(row["read"] for row in tests):
            by_rule = [tested(common(rule).evaluations) for rule in under_other_rules(evaluations)]
        found.append(_table(compared(tests, by_other_rules=by_rule, level=options["level"])))
    return pl.concat(found)


def _table(rows: Tests) -> pl.DataFrame:
    rows = [row | {"settings": dataclasses.asdict(row["settings"])} for row in rows]
    return pl.DataFrame([{n: row.get(n) for n in COMPARISON} for row in rows], schema=COMPARISON)


def _check_columns(evaluations: Sequence[Evaluation], by: Sequence[str]) -> None:
    """Every column is the same whichever system is looked at; a user's own are."""
    users = [name for evaluation in evaluations for name in evaluation.own]
    columns = dict.fromkeys([*OF_GOLD, *DOCUMENTS, "position", *BANDS, *users])
    del columns["certainty"]
    if unknown := [name for name in by if name not in columns]:
        raise UnknownName.of("column of the gold to compare by", unknown[0], columns)


def under_other_rules(evaluations: Sequence[Evaluation]) -> list[list[Evaluation]]:
    """The same evaluations under each other reading rule; none where no rule has a say.

    Nor are there any where one evaluation does not hold what was scored. All are in memory.
    """
    systems = common(evaluations).evaluations
    if not any(part.cases["readings"].count() for system in systems for part in system.parts()):
        return []
    # Scored is all that an evaluation holds, not only what it has in common with the others.
    pairs = zip(evaluations, systems, strict=True)
    named = [evaluation.changed(system=other.system) for evaluation, other in pairs]
    rules = others(systems[0].settings.get("reader", DEFAULT_RULE))
    rescored = [[score_again(evaluation, reader=rule) for evaluation in named] for rule in rules]
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


def score_rows(
    evaluations: Sequence[Evaluation], by: Sequence[str], average: str | None = None
) -> dict[str, dict[Key, Row]]:
    """By system, then metric, average and slice, the tallies of each document."""
    rows = {
        evaluation.system: {
            tuple(row.labels[name] for name in ROW): row
            for row in document_sums(evaluation, by, average=average)
        }
        for evaluation in evaluations
    }
    # One slice that holds everything would only be tested once more.
    slices = {key[3:] for system in rows.values() for key in system}
    columns = [column for column, _ in slices]
    single = {of for of in slices if of[0] in by and columns.count(of[0]) == 1}
    return {
        system: {key: row for key, row in of.items() if key[3:] not in single}
        for system, of in rows.items()
    }


def score_pairs(
    rows: Mapping[str, Mapping[Key, Row]], systems: tuple[str, str], names: Sequence[str] | None
) -> Iterable[Pair]:
    """Two systems by each score that either has: the tallies of both, as a pair to test."""
    first, second = (rows[name] for name in systems)
    keys = dict.fromkeys([*first, *second])
    names = list(dict.fromkeys(key[0] for key in keys) if names is None else names)
    chosen = [key for key in keys if key[0] in names]
    # All slices of a metric stand together.
    for key in sorted(chosen, key=lambda key: (names.index(key[0]), key[1] == metrics.MACRO)):
        both = first.get(key), second.get(key)
        scored = [row for row in both if row]
        base, labels = scored[0], [row.labels for row in scored]
        # A system without a case in the slice (of claims that only the other makes) adds nothing.
        parts = [row.tally if row else np.zeros(base.tally.shape) for row in both]
        up = metrics.get(base.labels["metric"]).direction == "up"
        known = {n: base.labels[n] for n in ("benchmark", "split", "task", "mode", *ROW)}
        known |= dict(zip(("system_a", "system_b"), systems, strict=True))
        known |= {n: max(x[n] for x in labels) for n in ("n_docs", "n_cases", "n_undefined")}
        known["settings"] = _together([label["settings"] for label in labels])
        yield Pair(*parts, base.score, up, known | {"read": bool(known["settings"].read)})


def _together(several: Sequence[Settings]) -> Settings:
    """The settings of both systems; where they differ, each after the other."""
    rows = [dataclasses.asdict(settings) for settings in several]
    values = {name: dict.fromkeys(row[name] or "none" for row in rows) for name in rows[0]}
    joined = {name: " / ".join(texts) for name, texts in values.items() if len(texts) > 1}
    return dataclasses.replace(several[0], **joined)


def _score_tests(
    systems: Sequence[Evaluation],
    names: Sequence[str] | None,
    by: Sequence[str],
    average: str | None,
    reference: str | None,
    options: Mapping[str, Any],
) -> Tests:
    """The test of every pair of systems by every metric and slice."""
    rows = score_rows(systems, by, average)
    several = [(a.system, b.system) for a, b in evaluation_pairs(systems, reference)]
    pairs = [pair for names_of in several for pair in score_pairs(rows, names_of, names)]
    for name in {*(names or ())} - {pair.labels["metric"] for pair in pairs}:
        metrics.refuse_mean(name)
        scored = dict.fromkeys(key[0] for of in rows.values() for key in of)
        raise UnknownName.of("metric scored for all systems", name, scored)
    made = _settings_of_tests(**options)
    tests = paired_differences(pairs, **options)
    return [row | {"settings": dataclasses.replace(row["settings"], **made)} for row in tests]


def _settings_of_tests(
    *, resamples: int, permutations: int, level: float, power: float, seed: int
) -> dict[str, str]:
    """What of the settings says how differences were tested."""
    return {
        "interval": f"bootstrap,documents,paired,n={resamples},level={level:g},seed={seed}",
        "test": f"swap,documents,n={permutations},power={power:g}",
    }


def values_compared(
    systems: Sequence[Evaluation],
    by: Sequence[str] = (),
    reference: str | None = None,
    **draws: Any,
) -> pl.DataFrame:
    """`compare` of the values right by systems of one `common(…)`."""
    _check_columns(systems, by)
    options, pairs = DRAWS | draws, evaluation_pairs(systems, reference)
    needed = [*KEY, "page", *BOX, "kind", *by, *(root for name in by for root in roots(name))]
    needed += [f"{name}_{which}" for name in ("cause", "right", "rights") for which in "ab"]
    tables = [flips_of_common(*pair, columns=list(dict.fromkeys(needed))) for pair in pairs]
    counts = [table[f"rights_{of}"].list.len().max() or 0 for table in tables for of in "ab"]
    rows, *elsewhere = (
        [
            test
            for pair, table in zip(pairs, tables, strict=True)
            for test in _value_tests(*pair, table.with_columns(_right(rule)), by, options)
        ]
        for rule in (None, *range(max(counts, default=0)))
    )
    return _table(compared(rows, by_other_rules=elsewhere, level=options["level"]))


def _right(rule: int | None) -> Iterator[pl.Expr]:
    """Whether fields are right as one of the other reading rules has it, where it has a say."""
    for which in "ab":
        right, read = pl.col(f"right_{which}"), pl.col(f"rights_{which}")
        yield (
            right
            if rule is None
            else pl.coalesce(read.list.get(rule, null_on_oob=True).alias(f"right_{which}"), right)
        )


def _value_tests(
    first: Evaluation,
    second: Evaluation,
    table: pl.DataFrame,
    by: Sequence[str],
    options: Mapping[str, Any],
) -> Tests:
    """The tests of the values right: of all fields, with its `surest` p, then by slices."""
    if not table.height:
        return []
    labels = {name: getattr(first, name) for name in ("benchmark", "split", "mode")}
    labels |= {"system_a": first.system, "system_b": second.system, "metric": OUTCOME}
    labels |= {"average": metrics.POOLED, "level": "field", "read": True}
    labels["settings"] = Settings(rules="right", **_settings_of_tests(**options))
    names = first.document_names

    def pair(rows: pl.DataFrame, column: str | None = None, value: str | None = None) -> Pair:
        number = rows["doc_id"].cast(pl.Enum(names)).to_physical().to_numpy()
        a, b = rows["right_a"].to_numpy(), rows["right_b"].to_numpy()
        parts = (by_document(number, [of, np.ones(len(of))], len(names)) for of in (a, b))
        counts = {"n_cases": rows.height, "n_docs": rows["doc_id"].n_unique()}
        counts |= {"both_right": (a & b).sum(), "only_a": (a & ~b).sum()}
        counts |= {"only_b": (b & ~a).sum(), "both_wrong": (~a & ~b).sum()}
        task = rows["task"].first() if rows["task"].n_unique() == 1 else None
        of = {"task": task, "slice_by": column, "slice_value": value}
        return Pair(*parts, ratio, labels=labels | of | {n: int(x) for n, x in counts.items()})

    pairs = [pair(table)]
    for column in by:
        text = sliced(table, first.documents, column).cast(pl.String).fill_null("none")
        groups = dict(iter(table.group_by(text.alias("_slice"), maintain_order=True)))
        for (value,) in sorted(groups, key=lambda key: slice_order(column, key[0])):
            # One slice that holds everything would only be tested once more.
            if len(groups) > 1:
                pairs.append(pair(groups[value,], column, value))
    row, *rest = paired_differences(pairs, **options)
    odd = pl.any_horizontal(pl.col("cause_a", "cause_b").is_in([READER, LABEL]))
    sure = table.filter(~odd.fill_null(False))
    if sure.height < table.height:
        (again,) = paired_differences([pair(sure)], **{**options, "resamples": 0})
        is_same = np.sign(again["difference"]) == np.sign(row["difference"])
        row["surest"] = max(row["p"], again["p"]) if is_same else 1.0
    return [row, *rest]


def flips(first: Evaluation, second: Evaluation) -> pl.DataFrame:
    """Every field with what both systems made of it.

    Returns the gold's columns of *cases*; the systems' with the suffix ``_a`` and ``_b``;
    `right_a`, `right_b` and `flip`, one of `FLIPS`; `rights_a` and `rights_b`, whether a field is
    right as each other reading rule reads it, null where nothing was read under a box. Fields that
    could not be scored for one of the two are left out, and so is what no gold asks for, which
    `spurious_rate` counts.

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
    found = []
    for both in parts:
        table = _flipped(*both)
        names = table.columns if columns is None else columns
        found.append(table.select(name for name in names if name in table.columns))
    return pl.concat(found, how="diagonal_relaxed")


def _flipped(*pair: Evaluation) -> pl.DataFrame:
    """The fields of two evaluations beside each other."""
    users = dict.fromkeys(name for of in pair for name in own_columns("cases", of.cases))
    gold = [name for name in [*CASES, *users] if name not in SYSTEM and name not in KEY]
    frames = []
    for of in pair:
        cases = fields(of).filter(of_gold())
        cases = cases.with_columns(pl.lit(None).alias(n) for n in users if n not in cases.columns)
        cases = cases.with_columns(right=(pl.col("outcome") == "match").fill_null(False))
        threshold = of.settings.get("threshold", THRESHOLD)
        cases = cases.with_columns(rights(cases, "normalised", threshold=threshold))
        frames.append(cases.select(*KEY, *gold, *SYSTEM, *_RIGHT))
    a, b = frames
    joined = a.join(b, on=KEY, nulls_equal=True, suffix="_b", maintain_order="left")
    joined = joined.with_columns(pl.coalesce(name, f"{name}_b") for name in gold)
    joined = joined.drop(f"{name}_b" for name in gold)
    joined = joined.rename({name: f"{name}_a" for name in (*SYSTEM, *_RIGHT)})
    place = 3 - 2 * pl.col("right_a").cast(pl.Int8) - pl.col("right_b").cast(pl.Int8)
    flip = place.replace_strict(dict(enumerate(FLIPS)), return_dtype=pl.Enum(FLIPS))
    return joined.with_columns(flip=flip)


def side(flipped: pl.DataFrame, which: str) -> pl.DataFrame:
    """The cases (schema CASES) of system ``a`` or ``b``, row for row: two tables to compare."""
    columns = [
        pl.col(f"{name}_{which}" if name in SYSTEM else name).cast(kind).alias(name)
        for name, kind in CASES.items()
    ]
    of_both = {f"{name}_{other}" for name in (*SYSTEM, *_RIGHT) for other in "ab"}
    of_both |= {*CASES, "turn", "flip"}
    users = [name for name in flipped.columns if name not in of_both]
    return tables.check("cases", flipped.select(*columns, *users))
