"""Whether a system does better on one kind of field than on another: one sentence, as a finding."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl
from scipy import stats

from formlab import metrics
from formlab.analysis.finding import ALPHA, Finding, keys, origin, p_text, seen_text, word
from formlab.analysis.finding_pairs import (
    OUTCOME,
    KindPair,
    asked,
    compare_kinds,
    kind_tallies,
    ratios,
)
from formlab.analysis.paired_tests import adjusted_p
from formlab.analysis.summarise import sliced
from formlab.folders import Evaluation


def kinds(
    evaluation: Evaluation | Sequence[Evaluation],
    *,
    metric: str,
    by: str = "kind",
    min_docs: int = 5,
    unit: str = "",
    alpha: float = ALPHA,
) -> Finding:
    """Whether the system does better on one value of `by` than on another: one finding.

    Of the pairs that hold after Holm's adjustment over all pairs looked at, the one with the
    largest difference speaks. If none holds, the finding says so, and what would have been seen.

    Parameters
    ----------
    evaluation
        One; of several those that have the metric are looked at one by one, and the surest speaks.
    metric, by, min_docs, unit
        As for `compare_kinds`; the first metric of several that was scored, joined by spaces.

    Examples
    --------
    >>> from formlab import tables
    >>> empty = Evaluation(*(tables.table(n, []) for n in ("documents", "cases", "scores")),
    ...     "b", "s", "m")
    >>> kinds(empty, metric="outcome").claim
    'Nothing was scored by kind, so nothing can be told apart'
    """
    several = [evaluation] if isinstance(evaluation, Evaluation) else list(evaluation)
    looked = [(one, _scored(one, metric)) for one in several]
    tested = [
        (one, name, pair)
        for one, name in looked
        for pair in compare_kinds(one, metric=name, by=by, min_docs=min_docs, unit=unit)
    ]
    p = adjusted_p([pair.p for *_, pair in tested])
    count = int((~np.isnan(p)).sum())
    rows = [(*row, float(q)) for row, q in zip(tested, p, strict=True)]
    settings = (
        f"{metric}|by={by}|score test within documents,t|holm,n={count}|documents>={min_docs}"
        + (f"|unit={unit}" if unit else "")
    )
    if not rows:
        return _nothing(several, looked, by, settings, min_docs)
    if len({value for *_, pair, _ in rows for value in pair.values}) == 1:
        return _all_equal(rows, by, count, settings)
    # Of the pairs that hold, else of all, the one with the largest difference speaks.
    sure = [row for row in rows if _holds(row[2], row[3], alpha)]
    one, name, pair, adjusted = max(
        sure or rows, key=lambda row: (abs(row[2].difference), row[2].first)
    )
    return _finding(one, name, by, pair, adjusted, count, alpha, settings)


def _all_equal(
    rows: Sequence[tuple[Evaluation, str, KindPair, float]], by: str, count: int, settings: str
) -> Finding:
    one, metric, pair, _ = rows[0]
    claim = (
        f"{_title(metric)} is {pair.values[0]:.3f} for all {plural(by)} compared, so nothing can "
        "be told apart"
    )
    return Finding(
        claim, "kinds", holds=False, effect=0.0, n_docs=pair.n_docs, n_tested=count,
        metric=metric, settings=settings, **origin(one),
    )  # fmt: skip


def _scored(evaluation: Evaluation, metric: str) -> str:
    """The first of the metrics named that this evaluation has."""
    names = metric.split()
    have = set(evaluation.scores["metric"])
    return next((name for name in names if name == OUTCOME or name in have), names[0])


def _holds(pair: KindPair, adjusted: float, alpha: float) -> bool:
    # What the documents that hold both say must be what the table over all of them shows.
    gap = pair.values[1] - pair.values[0]
    return bool(adjusted <= alpha and gap * pair.difference > 0)


def _nothing(
    several: Sequence[Evaluation],
    looked: Sequence[tuple[Evaluation, str]],
    by: str,
    settings: str,
    min_docs: int,
) -> Finding:
    base = origin(several[0]) if several else {}
    sizes = [len(kind_tallies(one, name, by)) for one, name in looked]
    other = [name for one, name in looked if name in set(one.scores["metric"]) - ratios()]
    if other:
        title = _title(other[0])
        claim = f"{title[:1].upper()}{title[1:]} is not a ratio of counts, so no {word(by)} "
        claim += "was tested against another"
    elif not any(sizes):
        claim = f"Nothing was scored by {word(by)}, so nothing can be told apart"
    elif max(sizes) == 1:
        claim = f"There is one {word(by)} only, so nothing can be told apart"
    else:
        claim = f"Too few documents hold two {plural(by)} to tell them apart; {min_docs} are needed"
    return Finding(claim, "kinds", holds=False, settings=settings, **base)


def _finding(
    one: Evaluation, metric: str, by: str, pair: KindPair, adjusted: float, count: int,
    alpha: float, settings: str,
) -> Finding:  # fmt: skip
    up = metric == OUTCOME or metrics.get(metric).direction == "up"
    title = _title(metric)
    (good, high), (bad, low) = sorted(
        zip((pair.first, pair.second), pair.values, strict=True),
        key=lambda row: (row[1] != row[1], -row[1] if up else row[1]),
    )
    holds = _holds(pair, adjusted, alpha)
    edge = float(stats.t.ppf(0.975, pair.n_docs - 1)) * pair.error
    size, low_end = abs(pair.difference), abs(pair.difference) - edge
    span = f"{low_end:.3f} to {size + edge:.3f}".replace("-", "−")
    over = f"{pair.n_docs:,} documents that hold both"
    tested = p_text(adjusted) + (f", adjusted for {count:,} pairs" if count > 1 else "")
    if holds:
        claim = (
            f"{one.system} does better on {word(good)} than on {word(bad)}: {title} {high:.3f} "
            f"against {low:.3f} (difference within documents {size:.3f}, 95 % interval {span}, in "
            f"{over}; {tested})"
        )
    else:
        seen = _would_be_seen(pair, metric, alpha, count)
        claim = (
            f"No difference between {plural(by)} was shown for {one.system}: the largest within "
            f"documents, {title} {pair.values[0]:.3f} for {word(pair.first)} and "
            f"{pair.values[1]:.3f} for {word(pair.second)}, may be chance ({tested}; "
            f"{size:.2f} in the {over}{seen})"
        )
    behind = _behind(one, by, bad) if holds else None
    n_cases = behind.height if behind is not None else 0
    more = {"cases": keys(behind)} if behind is not None else {}
    # Rates over counts other than fields cannot be turned into a number of fields lost.
    at_least = max(low_end, 0.0) * n_cases if metric == OUTCOME else 0.0
    return Finding(
        claim, "kinds", holds=holds, effect=size, ci_low=low_end, ci_high=size + edge,
        at_least=at_least, n_docs=pair.n_docs, n_cases=n_cases, p=pair.p, p_adjusted=adjusted,
        n_tested=count, metric=metric, settings=settings, **origin(one), **more,
        what_to_try=f"Look at the fields of {word(by)} {word(bad)} beside their pages.",
    )  # fmt: skip


def _title(metric: str) -> str:
    return "share right" if metric == OUTCOME else metrics.title(metric)


def _would_be_seen(pair: KindPair, metric: str, alpha: float, count: int) -> str:
    """The difference that four in five such samples would show, at what Holm leaves to a pair."""
    least = pair.least(alpha / max(count, 1))
    top = 1.0 if metric == OUTCOME else metrics.get(metric).high
    if least >= (np.inf if top is None else top):
        return "; these documents are too few to show one"
    return seen_text(pair.difference, least, np.inf)


def _behind(evaluation: Evaluation, by: str, name: str) -> pl.DataFrame | None:
    cases = asked(evaluation)
    if by not in (*cases.columns, *evaluation.documents.columns, "position"):
        return cases.clear()
    values = sliced(cases, evaluation.documents, by).cast(pl.String).fill_null("none")
    return cases.filter(values == name)


def plural(by: str) -> str:
    """What a sentence calls several values of a column.

    Examples
    --------
    >>> plural("kind"), plural("entity"), plural("task")
    ('kinds of field', 'entities', 'tasks')
    """
    names = {"kind": "kinds of field", "entity": "entities", "complexity": "complexities"}
    return names.get(by, f"{word(by)}s")
