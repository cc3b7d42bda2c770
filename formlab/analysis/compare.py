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
from formlab.analysis.comparability import KEY, common
from formlab.analysis.finding import LABEL, OUTCOME, READER
from formlab.analysis.flips import FLIPS, flip, flips_of_common
from formlab.errors import DataBroken, UnknownName
from formlab.folders import Evaluation
from formlab.metrics import ratio
from formlab.scoring.bands import BANDS, roots, sliced
from formlab.scoring.evaluate import read_again
from formlab.scoring.fields import READER as DEFAULT_RULE
from formlab.scoring.fields import others
from formlab.stats.draws import by_document
from formlab.stats.sums import SLICE, Row, document_sums, slice_order
from formlab.stats.tests import Pair, compared, paired_differences
from formlab.tables import BOX, DOCUMENTS, Settings

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
OF_SYSTEM = ("certainty",)
ROW = ("metric", "average", *SLICE)
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
    P. Koehn, EMNLP 2004 (bootstrap). A. Yeh, COLING 2000 (permutation). Holm, Scand. J. Statist. 6,
    1979.
    """
    names = [metric] if isinstance(metric, str) else metric
    if OUTCOME in (names or ()) and average == metrics.MACRO:
        problem = f"{OUTCOME} is the share of all values right and has no mean over documents"
        raise DataBroken(problem, remedy=f"average={metrics.POOLED!r}, or another metric")
    systems, options = common(evaluations).evaluations, DRAWS | draws
    values = [values_compared(systems, by, reference, **draws)] if OUTCOME in (names or ()) else []
    scores = None if names is None else [name for name in names if name != OUTCOME]
    if scores == [] and values:
        return values[0]
    _check_columns(systems, by)

    def tested(systems: Sequence[Evaluation]) -> Tests:
        return _score_tests(score_rows(systems, by, average), scores, reference, options)

    found, by_rule = tested(systems), []
    # Scoring anew under the other rules takes most of the time: only where a rule has a say.
    if any(row["read"] for row in found):
        by_rule = [tested(common(rule).evaluations) for rule in under_other_rules(evaluations)]
    return pl.concat(
        [*values, _table(compared(found, by_other_rules=by_rule, level=options["level"]))]
    )


def _table(rows: Tests) -> pl.DataFrame:
    rows = [row | {"settings": dataclasses.asdict(row["settings"])} for row in rows]
    return pl.DataFrame(
        [{name: row.get(name) for name in COMPARISON} for row in rows], schema=COMPARISON
    )


def _check_columns(evaluations: Sequence[Evaluation], by: Sequence[str]) -> None:
    """Every column is the same whichever system is looked at; a user's own are."""
    users = dict.fromkeys(name for evaluation in evaluations for name in evaluation.own)
    bands = [name for name in BANDS if name not in OF_SYSTEM]
    known = dict.fromkeys([*OF_GOLD, *DOCUMENTS, "position", *bands, *users])
    for column in by:
        if column not in known:
            raise UnknownName.of("column of the gold to compare by", column, known)


def under_other_rules(evaluations: Sequence[Evaluation]) -> list[list[Evaluation]]:
    """The same evaluations under each other reading rule; none where no rule has a say.

    Nor are there any where one evaluation does not hold what was scored. All are in memory.
    """
    systems = common(evaluations).evaluations
    if not any(part.cases["readings"].count() for system in systems for part in system.parts()):
        return []
    found = []
    for rule in others(systems[0].settings.get("reader", DEFAULT_RULE)):
        # Scored is all that an evaluation holds, not only what it has in common with the others.
        pairs = zip(evaluations, systems, strict=True)
        scored = [read_again(e.changed(system=other.system), rule) for e, other in pairs]
        if None in scored:
            return []
        found.append([Evaluation.of([*each.parts()]) for each in scored])
    return found


def system_pairs(systems: Iterable[str], reference: str | None) -> list[tuple[str, str]]:
    """All pairs of systems in their order, or those of `reference` with every other."""
    names = list(systems)
    if not reference:
        return list(itertools.combinations(names, 2))
    if reference not in names:
        raise UnknownName.of("system to compare with", reference, names)
    return [(reference, name) for name in names if name != reference]


def evaluation_pairs(
    evaluations: Sequence[Evaluation], reference: str | None = None
) -> list[tuple[Evaluation, Evaluation]]:
    """The evaluations of `system_pairs`; `common` numbers systems of one name."""
    by_name = {evaluation.system: evaluation for evaluation in evaluations}
    return [(by_name[a], by_name[b]) for a, b in system_pairs(by_name, reference)]


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
    rows: Mapping[str, Mapping[Key, Row]],
    names: Sequence[str] | None,
    reference: str | None,
    options: Mapping[str, Any],
) -> Tests:
    """The test of every pair of systems by every metric and slice."""
    pairs = [pair for ab in system_pairs(rows, reference) for pair in score_pairs(rows, ab, names)]
    for name in {*(names or ())} - {pair.labels["metric"] for pair in pairs}:
        metrics.refuse_mean(name)
        scored = dict.fromkeys(key[0] for system in rows.values() for key in system)
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
    options = DRAWS | draws
    tested = [_value_tests(*pair, by, options) for pair in evaluation_pairs(systems, reference)]
    # A pair on which the other reading rules have no say is the same under each of them.
    rows, *elsewhere = (
        [row for rules in tested for row in rules[min(number, len(rules) - 1)]]
        for number in range(max(map(len, tested), default=1))
    )
    return _table(compared(rows, by_other_rules=elsewhere, level=options["level"]))


def _value_tests(
    first: Evaluation, second: Evaluation, by: Sequence[str], options: Mapping[str, Any]
) -> list[Tests]:
    """The tests of the values right of two systems, under their own and each other reading rule.

    All fields come first, with the greater p (`surest`) with and without those that no claim may
    rest on. The slices are by columns of the gold, of documents or a user's own.
    """
    needed = [
        *KEY,
        "page",
        *BOX,
        "flip",
        "kind",
        *by,
        *(root for name in by for root in roots(name)),
    ]
    needed += [f"{name}_{which}" for name in ("cause", "right", "rights") for which in "ab"]
    table = flips_of_common(first, second, columns=list(dict.fromkeys(needed)))
    settings = Settings(rules="right", **_settings_of_tests(**options))
    labels = {name: getattr(first, name) for name in ("benchmark", "split", "mode")}
    labels |= {"system_a": first.system, "system_b": second.system, "settings": settings}
    pair = partial(_value_pair, names=first.document_names, labels=labels)
    rules = [table, *_by_other_rules(table)] if table.height else []
    tests = [
        paired_differences(
            [pair(rows, **of) for of, rows in _slices(rule, first.documents, by)], **options
        )
        for rule in rules
    ]
    if not tests:
        return [[]]
    odd = pl.any_horizontal(pl.col(f"cause_{which}").is_in([READER, LABEL]) for which in "ab")
    sure, row = table.filter(~odd.fill_null(False)), tests[0][0]
    if sure.height < table.height:
        (again,) = paired_differences([pair(sure)], **{**options, "resamples": 0})
        is_same = np.sign(again["difference"]) == np.sign(row["difference"])
        row["surest"] = max(row["p"], again["p"]) if is_same else 1.0
    return tests


def _by_other_rules(table: pl.DataFrame) -> Iterator[pl.DataFrame]:
    """The flips as each other reading rule makes them; none where nothing was read under boxes."""
    for rule in range(max(table[f"rights_{which}"].list.len().max() or 0 for which in "ab")):
        yield table.with_columns(
            pl.col(f"rights_{which}")
            .list.get(rule, null_on_oob=True)
            .fill_null(pl.col(f"right_{which}"))
            .alias(f"right_{which}")
            for which in "ab"
        ).with_columns(flip())


def _slices(
    table: pl.DataFrame, documents: pl.DataFrame, by: Sequence[str]
) -> Iterator[tuple[dict[str, Any], pl.DataFrame]]:
    yield {"slice_by": None, "slice_value": None}, table
    for column in by:
        text = sliced(table, documents, column).cast(pl.String).fill_null("none")
        groups = table.group_by(text.alias("_slice"), maintain_order=True)
        for (value,), rows in sorted(groups, key=lambda item: slice_order(column, item[0][0])):
            # One slice that holds everything would only be tested once more.
            if rows.height < table.height:
                yield {"slice_by": column, "slice_value": value}, rows


def _value_pair(
    rows: pl.DataFrame, *, names: pl.Series, labels: Mapping[str, Any], **of: Any
) -> Pair:
    number = rows["doc_id"].cast(pl.Enum(names)).to_physical().to_numpy()
    total = np.ones(rows.height)
    parts = [by_document(number, [rows[f"right_{which}"], total], len(names)) for which in "ab"]
    flipped = dict(rows["flip"].value_counts().iter_rows())
    counts = {name.replace(" ", "_"): flipped.get(name, 0) for name in FLIPS}
    counts |= {"n_cases": rows.height, "n_docs": rows["doc_id"].n_unique()}
    known = {"metric": OUTCOME, "average": metrics.POOLED, "level": "field", "read": True}
    known["task"] = rows["task"].first() if rows["task"].n_unique() == 1 else None
    return Pair(*parts, ratio, labels={**labels, **known, **counts, **of})
