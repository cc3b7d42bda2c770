"""Two or more systems on the same corpus: by how much they differ, with intervals and tests."""

from __future__ import annotations

import dataclasses
import itertools
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import polars as pl

from formlab import metrics, tables
from formlab.analysis.comparability import common
from formlab.analysis.finding import OUTCOME
from formlab.analysis.flips import value_tests
from formlab.errors import DataBroken, UnknownName
from formlab.folders import Evaluation
from formlab.scoring.bands import BANDS
from formlab.scoring.evaluate import read_again
from formlab.scoring.fields import READER, others
from formlab.stats.compare import compared
from formlab.stats.sums import SLICE, Row, document_sums
from formlab.stats.tests import Pair, paired_differences
from formlab.tables import DOCUMENTS, Settings

COMPARISON: dict[str, Any] = {
    **dict.fromkeys(("benchmark", "split"), pl.String),
    **tables.SLICE,
    **dict.fromkeys(("mode", "metric", "average", "system_a", "system_b"), pl.String),
    **dict.fromkeys(("value_a", "value_b", "difference", "ci_low", "ci_high"), pl.Float64),
    "better": pl.String,
    **dict.fromkeys(("p", "p_holm", "p_bh", "p_mcnemar", "least_difference"), pl.Float64),
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


def compare(
    evaluations: Sequence[Evaluation],
    *,
    metric: str | Sequence[str] | None = None,
    average: str | None = None,
    by: Sequence[str] = (),
    reference: str | None = None,
    workers: int | str = 1,
    **draws: Any,
) -> pl.DataFrame:
    """The difference of every metric between systems on the same documents.

    Documents are what is drawn and what is swapped: fields of one page are not independent.

    Parameters
    ----------
    evaluations
        Two or more, of the same corpus, split, mode and threshold; see `comparability.common` for
        what is compared where one system was scored on more.
    metric
        Registered metrics; all that were scored if left out. With ``outcome`` the share of the
        gold's values right, of which the table also has how many both get right, one alone or
        none, and p of McNemar's test, which takes fields for independent.
    average
        Only ``pooled`` or only ``macro``, the mean over documents, which the share of values right
        has not; both if left out.
    by
        Columns of the gold, of *documents* or a user's own to slice the fields by.
    reference
        The system that every other is compared with, as `system_a`; all pairs if left out.
    workers
        As for `workers.each`: who scores large evaluations under the other reading rules.
    **draws
        `resamples` (1000), `permutations` (9999), `level` (0.95), `power` (0.8) and `seed` (0), as
        for `stats.tests.paired_differences`; the draws are those of `summarise`.

    Returns
    -------
    polars.DataFrame
        A row for each pair of systems, metric and slice. `difference` is by how much system a is
        better: a less b, of error rates b less a, with its percentile interval. `better` names the
        system that is shown to do better: `p_holm` is at most 1 - `level`, the interval is clear of
        0 and the verdict does not depend on the reading rule; null elsewhere. `p` is of the paired
        permutation test; `p_holm` and `p_bh` are adjusted over the pairs and slices of a metric,
        average and level: wholes, kinds and slices by all other columns are families of their own.
        `least_difference` is what this corpus would find with `power`, NaN where there are too few
        documents to show anything. `n_cases` is the greater of the two systems' counts. `rules`
        tells of scores of fields that were read under boxes whether the verdict is the ``same``
        under every rule of `fields.READERS` or ``depends`` on it: no finding may rest on that; null
        where no rule has a say, or where the evaluations do not hold what was scored. Of the values
        right over all fields `p_holm` is of the greatest p with and without fields whose verdict
        depends on the reading rule or whose label may be wrong.

    Raises
    ------
    DataBroken
        If the evaluations cannot be compared, the message says what differs; or if a mean over
        documents is asked of the share of values right.
    UnknownName
        If no such metric was scored, no such system is there, or `by` is a column of the system.

    References
    ----------
    The bootstrap: P. Koehn, EMNLP 2004. The permutation: A. Yeh, COLING 2000. Holm, Scand. J.
    Statist. 6, 1979; Benjamini and Hochberg, J. R. Statist. Soc. B 57, 1995.
    """
    names = [metric] if isinstance(metric, str) else metric
    draws = DRAWS | draws
    if OUTCOME in (names or ()) and average == metrics.MACRO:
        what = f"{OUTCOME} is the share of all values right and has no mean over documents"
        raise DataBroken(what, remedy=f"average={metrics.POOLED!r}, or another metric")
    systems = common(evaluations).evaluations
    rows = [values_compared(systems, by, reference, **draws)] if OUTCOME in (names or ()) else []
    scores = None if names is None else [name for name in names if name != OUTCOME]
    if scores == [] and rows:
        return rows[0]
    _check_columns(systems, by)

    def tested(systems: Sequence[Evaluation]) -> list[dict[str, Any]]:
        return _tested(score_rows(systems, by, average), scores, reference, draws)

    found = tested(systems)
    # Scoring anew under the other rules takes most of the time: only where a rule has a say.
    by_rule = under_other_rules(evaluations) if any(row["settings"].read for row in found) else []
    with TemporaryDirectory(prefix="formlab-") as home:
        elsewhere = []
        for n, rule in enumerate(by_rule):
            saved = [_once(each, Path(home, f"{n}-{at}"), workers) for at, each in enumerate(rule)]
            elsewhere.append(tested(common(saved).evaluations))
    read = pl.col("settings").struct.field("read").is_not_null()
    options = {"has_rule": read, "level": draws["level"]}
    rows.append(compared(found, COMPARISON, by_other_rules=elsewhere, **options))
    return pl.concat(rows)


def values_compared(
    systems: Sequence[Evaluation],
    by: Sequence[str] = (),
    reference: str | None = None,
    **draws: Any,
) -> pl.DataFrame:
    """`compare` of the values right by systems of one `common(…)`."""
    _check_columns(systems, by)
    options = DRAWS | draws
    settings = Settings(rules="right", **settings_of_tests(**options))
    tested = [value_tests(*pair, by, options) for pair in evaluation_pairs(systems, reference)]
    # A pair on which the other reading rules have no say is the same under each of them.
    rows, *elsewhere = (
        [
            row | {"settings": settings, "average": metrics.POOLED}
            for rules in tested
            for row in rules[min(number, len(rules) - 1)]
        ]
        for number in range(max(map(len, tested), default=1))
    )
    return compared(rows, COMPARISON, by_other_rules=elsewhere, level=options["level"])


def _check_columns(evaluations: Sequence[Evaluation], by: Sequence[str]) -> None:
    """Every column is the same whichever system is looked at; a user's own are."""
    users = dict.fromkeys(name for each in evaluations for name in each.own)
    bands = [name for name in BANDS if name not in OF_SYSTEM]
    known = dict.fromkeys([*OF_GOLD, *DOCUMENTS, "position", *bands, *users])
    for column in by:
        if column not in known:
            raise UnknownName.of("column of the gold to compare by", column, known)


def _once(evaluation: Evaluation, folder: Path, workers: int | str) -> Evaluation:
    """The evaluation, of several parts saved in `folder`: each is scored once, not when read."""
    several = len(list(itertools.islice(evaluation.parts(), 2))) > 1
    return Evaluation.load(evaluation.save(folder, workers=workers)) if several else evaluation


def under_other_rules(evaluations: Sequence[Evaluation]) -> list[list[Evaluation]]:
    """The same evaluations under each other reading rule; none where no rule has a say.

    Nor are there any where one evaluation does not hold what was scored.
    """
    named = common(evaluations).evaluations
    if not any(part.cases["readings"].count() for each in named for part in each.parts()):
        return []
    # Scored is all that an evaluation holds, not only what it has in common with the others.
    whole = [
        each.changed(system=other.system) for each, other in zip(evaluations, named, strict=True)
    ]
    rules = others(named[0].settings.get("reader", READER))
    again = [[read_again(each, rule) for each in whole] for rule in rules]
    return [] if any(None in row for row in again) else again


def _tested(
    rows: Mapping[str, Mapping[Key, Row]],
    names: Sequence[str] | None,
    reference: str | None,
    options: Mapping[str, Any],
) -> list[dict[str, Any]]:
    """The test of every pair of systems by every metric and slice."""
    pairs = [pair for ab in system_pairs(rows, reference) for pair in score_pairs(rows, ab, names)]
    known = {pair.labels["metric"] for pair in pairs}
    for name in names or ():
        if name not in known:
            metrics.refuse_mean(name)
            scored = dict.fromkeys(key[0] for each in rows.values() for key in each)
            raise UnknownName.of("metric scored for all systems", name, scored)
    made = settings_of_tests(**options)
    tested = paired_differences(pairs, **options)
    return [row | {"settings": dataclasses.replace(row["settings"], **made)} for row in tested]


def settings_of_tests(
    *, resamples: int, permutations: int, level: float, power: float, seed: int
) -> dict[str, str]:
    """What of the settings says how differences were tested."""
    return {
        "interval": f"bootstrap,documents,paired,n={resamples},level={level:g},seed={seed}",
        "test": f"swap,documents,n={permutations},power={power:g}",
    }


def system_pairs(systems: Iterable[str], reference: str | None) -> list[tuple[str, str]]:
    """All pairs of systems in their order, or those of `reference` with every other.

    Examples
    --------
    >>> system_pairs(["ocr", "rules", "chat"], "rules")
    [('rules', 'ocr'), ('rules', 'chat')]
    """
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
    by_name = {each.system: each for each in evaluations}
    return [(by_name[a], by_name[b]) for a, b in system_pairs(by_name, reference)]


def score_rows(
    evaluations: Sequence[Evaluation], by: Sequence[str], average: str | None = None
) -> dict[str, dict[Key, Row]]:
    """By system, then metric, average and slice, the tallies of each document."""
    rows = {
        each.system: {
            tuple(row.labels[name] for name in ROW): row
            for row in document_sums(each, by, average=average)
        }
        for each in evaluations
    }
    # One slice that holds everything would only be tested once more.
    slices = {key[3:] for system in rows.values() for key in system}
    count = Counter(column for column, _ in slices)
    single = {(column, value) for column, value in slices if column in by and count[column] == 1}
    return {
        system: {key: row for key, row in own.items() if key[3:] not in single}
        for system, own in rows.items()
    }


def score_pairs(
    rows: Mapping[str, Mapping[Key, Row]], systems: tuple[str, str], names: Sequence[str] | None
) -> Iterable[Pair]:
    """Two systems by each score that either has: the tallies of both, as a pair to test."""
    first, second = (rows[name] for name in systems)
    keys = dict.fromkeys([*first, *second])
    names = list(dict.fromkeys(key[0] for key in keys) if names is None else names)
    keys = {k: (names.index(k[0]), k[1] == metrics.MACRO) for k in keys if k[0] in names}
    # All slices of a metric stand together.
    for key in sorted(keys, key=keys.get):
        both = first.get(key), second.get(key)
        scored = [row for row in both if row]
        base = scored[0]
        # A system without a case in the slice (of claims that only the other makes) adds nothing.
        parts = [row.tally if row else np.zeros(base.tally.shape) for row in both]
        labels = [row.labels for row in scored]
        up = metrics.get(base.labels["metric"]).direction == "up"
        known = {n: labels[0][n] for n in ("benchmark", "split", "task", "mode", *ROW)}
        known |= dict(zip(("system_a", "system_b"), systems, strict=True))
        known |= {n: max(x[n] for x in labels) for n in ("n_docs", "n_cases", "n_undefined")}
        known["settings"] = _together([label["settings"] for label in labels])
        yield Pair(*parts, base.score, up, known)


def _together(several: Sequence[Settings]) -> Settings:
    """The settings of both systems; where they differ, each after the other."""
    rows = [dataclasses.asdict(settings) for settings in several]
    values = {name: dict.fromkeys(row[name] or "none" for row in rows) for name in rows[0]}
    joined = {name: " / ".join(texts) for name, texts in values.items() if len(texts) > 1}
    return dataclasses.replace(several[0], **joined)
