"""The findings of all evaluations, ranked by how many gold values they surely concern."""

from __future__ import annotations

import contextlib
import dataclasses
import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import polars as pl

from formlab import tables
from formlab.analysis.comparability import common
from formlab.analysis.finding import (
    ALPHA,
    COUNTED,
    KEYS,
    LABEL,
    OUTCOME,
    READER,
    Finding,
    asked,
    has_pages,
    keys,
    origin,
    p_text,
    word,
)  # fmt: skip
from formlab.analysis.finding_kinds import kinds
from formlab.analysis.finding_systems import tell_apart
from formlab.analysis.flips import flips_of_common, matrix_of
from formlab.analysis.intervals import share
from formlab.analysis.slices import find_slices, slice_keys
from formlab.errors import DataBroken
from formlab.folders import Evaluation
from formlab.scoring.causes import IN_WORDS, advice
from formlab.tables import STATUSES, USABLE, settings_text

Draws = dict[str, Any]
# No more than so many findings of one of several evaluations, so that none hides the others.
_OF_ONE = 2
# Of one evaluation alone so many causes are findings, if each has this share of its errors.
_CAUSES, _OF_ERRORS = 3, 0.1
# The columns of flips that `flip_matrix` and `tell_apart` look at.
_OF_FLIPS = (
    *KEYS, "flip", *(f"{n}_{s}" for n in ("system", "right", "rights", "cause") for s in "ab"),
)  # fmt: skip
# What values are counted by.
_COUNTED = ("doc_id", "status", "cause", "outcome", "level")
# From this CER on a page counts as bad: as many edits as half of its characters.
_BAD_PAGE = 0.5
# Of fewer cases or documents than these a sentence counts them and does not say "often".
_OFTEN = 5, 3


def findings(
    evaluations: Sequence[Evaluation],
    *,
    most: int | None = 5,
    resamples: int = 1000,
    level: float = 0.95,
    alpha: float = ALPHA,
    seed: int = 0,
) -> list[Finding]:
    """What is most worth a look, over all evaluations; always the same for the same ones.

    Counted are answers that cannot be used, documents without any, the largest cause of error (of
    one evaluation alone the three largest, if each has a tenth of its errors) and pages of which
    half or more is wrong. Tested are slices against the rest (`find_slices`), kinds of field
    (`kinds`) and systems of one corpus (`tell_apart`); what no test supports is left out.
    Each kind of test adjusts over its own comparisons; of all together those are left out whose p
    is above `alpha` by the number of kinds of test, after Bonferroni.

    Parameters
    ----------
    most
        How many findings; None for all. Of one of several evaluations at most two.
    resamples, level, seed
        Of the percentile intervals, which draw documents.
    alpha
        The chance that any comparison is claimed where there is nothing.

    Returns
    -------
    list of Finding
        Those first that surely concern the most gold values (`at_least`).

    Examples
    --------
    >>> findings([])
    []
    """
    draws = {"resamples": resamples, "level": level, "seed": seed}
    families = list(_families(evaluations, alpha, draws))
    sure: dict[int | None, list[Finding]] = {}
    for number, family in families:
        for finding in family:
            # The p of a finding is the one of its sentence; the bar is Bonferroni's.
            if finding.holds and finding.p_adjusted <= alpha / len(families):
                sure.setdefault(number, []).append(finding)
    ranked = sure.get(None, [])
    each, causes = (_OF_ONE, 1) if len(evaluations) > 1 else (None, _CAUSES)
    for number, evaluation in enumerate(evaluations):
        own = [*_counts(evaluation, draws, causes), *sure.get(number, [])]
        ranked += sorted(own, key=_weight)[:each]
    # The cases behind a finding are read for those that are shown.
    return [
        dataclasses.replace(each, cases=each.cases.lazy().collect())
        for each in sorted(ranked, key=_weight)[:most]
    ]


def _weight(finding: Finding) -> tuple[Any, ...]:
    source = finding.benchmark, finding.split, finding.system, finding.about
    return -finding.at_least, -finding.n_cases, *source


def _families(
    evaluations: Sequence[Evaluation], alpha: float, draws: Draws
) -> Iterator[tuple[int | None, list[Finding]]]:
    """What was tested together, with the number of the evaluation; None for several."""
    corpora: dict[tuple[str, ...], list[Evaluation]] = {}
    for number, evaluation in enumerate(evaluations):
        key = evaluation.benchmark, evaluation.split, evaluation.mode
        corpora.setdefault(key, []).append(evaluation)
        if not any(asked(part, ["doc_id"]).height for part in evaluation.parts()):
            continue
        yield number, _slices(evaluation, alpha, draws)
        finding = kinds(evaluation, metric=OUTCOME, alpha=alpha)
        if finding.n_tested:
            yield number, [finding]
    for group in corpora.values():
        # Other documents or gold, or one system alone: nothing to compare.
        with contextlib.suppress(DataBroken):
            yield None, _systems(common(group).evaluations, alpha, draws)


def _systems(shared: Sequence[Evaluation], alpha: float, draws: Draws) -> list[Finding]:
    # As many swaps as for `compare`, so that one comparison has one p.
    swaps = {"resamples": draws["resamples"], "seed": draws["seed"]}
    tables = (
        (flips_of_common(first, second, columns=_OF_FLIPS), first.documents)
        for first, second in itertools.combinations(shared, 2)
    )
    return tell_apart(shared, matrix_of(tables, **swaps), alpha=alpha, **swaps)


def _slices(evaluation: Evaluation, alpha: float, draws: Draws) -> list[Finding]:
    """Weak slices as findings; each is worse than the rest by its test."""
    slices = find_slices(evaluation, alpha=alpha, max_columns=2, **draws)
    return [_slice(evaluation, row) for row in slices.to_dicts()]


def _slice(evaluation: Evaluation, row: dict[str, Any]) -> Finding:
    rates = (
        f"{row['value']:.0%} of {row['n_cases']:,} values are right, {row['rest']:.0%} elsewhere"
    )
    tested = f"{p_text(row['p_adjusted'])}, adjusted for {row['n_tested']:,} slices"
    named = zip(row["slice_by"], row["slice_value"], strict=True)
    name = " and ".join(f"{word(by)} is {value}" for by, value in named)
    low, high = -row["difference_high"], -row["difference_low"]
    beside = "pages" if has_pages(evaluation) else "gold"
    return Finding(
        f"Where {name}, {rates.replace('%', ' %')} ({tested})", "slice",
        effect=-row["difference"], ci_low=low, ci_high=high,
        at_least=max(low, 0.0) * row["n_cases"], n_docs=row["n_docs"], n_cases=row["n_cases"],
        p=row["p"], p_adjusted=row["p_adjusted"], n_tested=row["n_tested"], metric=OUTCOME,
        settings=settings_text(row), cases=_later(lambda: slice_keys(evaluation, row)),
        what_to_try=f"Look at the wrong fields of this slice beside their {beside}.",
        **origin(evaluation),
    )  # fmt: skip


def _later(cases: Callable[[], pl.DataFrame]) -> Any:
    """Keys of cases that are looked up when the finding is shown."""
    return pl.defer(lambda: keys(cases()), schema=dict.fromkeys(KEYS, pl.String))


def _counts(evaluation: Evaluation, draws: Draws, causes: int) -> Iterator[Finding]:
    """What needs no test because it is a count."""
    counts = evaluation.gathered(_counted)
    if counts.height:
        yield from _of_answers(evaluation, counts, draws)
        yield from _of_causes(evaluation, counts, draws, causes)
    yield from _of_pages(evaluation, counts, draws)


def _counted(part: Evaluation) -> pl.DataFrame:
    """How many of the gold's values of each document have which status, outcome and cause."""
    answered = pl.col("status").is_in(USABLE).any()
    documents = part.scan("cases").group_by("doc_id").agg(answered=answered).collect()
    counts = asked(part, _COUNTED).group_by(_COUNTED).agg(cases=pl.len().cast(pl.Int64))
    return counts.join(documents, on="doc_id", how="left")


def _number(counts: pl.DataFrame) -> int:
    return int(counts["cases"].sum())


def _of_answers(evaluation: Evaluation, counts: pl.DataFrame, draws: Draws) -> Iterator[Finding]:
    no_answer = ~pl.col("answered")
    if (lost := counts.filter(no_answer)).height:
        docs, of = lost["doc_id"].n_unique(), counts["doc_id"].n_unique()
        yield _count(
            evaluation, counts, no_answer, "documents", draws,
            f"{docs:,} of {of:,} documents {'has' if docs == 1 else 'have'} "
            f"no usable answer, which loses {_number(lost):,} of {_number(counts):,} values",
            advice("missing_document", pages=has_pages(evaluation)),
        )  # fmt: skip
    # A value that is not in the answer is missing; the answer itself could be used.
    unusable = ~no_answer & ~pl.col("status").is_in([*USABLE, "missing"])
    if (broken := counts.filter(unusable)).height:
        status = _commonest(broken, "status")
        count = _number(broken.filter(pl.col("status") == status))
        yield _count(
            evaluation, counts, unusable, "status", draws,
            f"For {_number(broken):,} of {_number(counts):,} values the answer cannot be used "
            f"(status “{word(status)}”: {count:,})",
            advice(status, pages=has_pages(evaluation)),
        )  # fmt: skip


def _ranked(counts: pl.DataFrame, name: str) -> pl.DataFrame:
    """The values of a column and how many cases have each, the commonest first."""
    ranked = counts.drop_nulls(name).group_by(name).agg(count=pl.col("cases").sum())
    return ranked.sort("count", name, descending=[True, False])


def _commonest(counts: pl.DataFrame, name: str) -> str:
    return str(_ranked(counts, name)[name].first() or "")


def _of_causes(
    evaluation: Evaluation, counts: pl.DataFrame, draws: Draws, most: int
) -> Iterator[Finding]:
    """The largest causes of error: counts of errors, no comparison of systems or kinds."""
    # Unusable answers are findings by their status, and lost documents by themselves.
    elsewhere = [*(name for name in STATUSES if name != "missing"), READER, LABEL]
    readable = pl.col("status").is_in([*USABLE, "missing"]) & pl.col("answered")
    wrong = (pl.col("outcome") != "match") & readable
    errors = _number(counts.filter(wrong))
    named = pl.col("cause").is_not_null() & ~pl.col("cause").is_in(elsewhere)
    causes = _ranked(counts.filter(wrong, named), "cause")
    tied = causes.filter(pl.col("count") == pl.col("count").max()).height > 1
    for place, (cause, count) in enumerate(causes.head(most).iter_rows()):
        if place and count < _OF_ERRORS * errors:
            break
        of_cause = wrong & pl.col("cause").eq_missing(pl.lit(cause))
        docs = counts.filter(of_cause)["doc_id"].n_unique()
        over = f"{docs:,} document{'s' * (docs > 1)}"
        what = IN_WORDS.get(cause, f"the cause is “{word(cause)}”")
        counted = f"in {count:,} of {errors:,} wrong {_nouns(counts)}, in {over}"
        # The second may stand first, if more values surely have it.
        lead = "Often" if place or tied else "Most often"
        claim = f"{lead} {what}: {counted}"
        if count < _OFTEN[0] or docs < _OFTEN[1]:
            claim = f"{count:,} of {errors:,} wrong {_nouns(counts)}, in {over}: {what}"
        if count == errors:
            claim = f"In all {errors:,} wrong {_nouns(counts)}, in {over}, {what}"
        what_to_try = advice(cause, pages=has_pages(evaluation))
        yield _count(evaluation, counts, of_cause, "cause", draws, claim, what_to_try)


def _nouns(counts: pl.DataFrame) -> str:
    """What a sentence calls these cases, if one word fits all their levels."""
    nouns = {COUNTED.get(level, "values") for level in counts["level"].unique()}
    return nouns.pop() if len(nouns) == 1 else "values"


def _of_pages(evaluation: Evaluation, counts: pl.DataFrame, draws: Draws) -> Iterator[Finding]:
    """Pages of which half or more is wrong, and how many of them are cut short."""
    pages = evaluation.gathered(_pages)
    bad = pages.filter(pl.col("value") >= _BAD_PAGE)
    if not bad.height:
        return
    whole = evaluation.gathered(_bad_pages)
    short = whole.filter("short")["doc_id"].n_unique()
    many = f"{bad.height:,} of {pages.height:,} pages {'has' if bad.height == 1 else 'have'}"
    mean = math.fsum(pages["value"]) / pages.height
    claim = f"{many} a CER of at least {_BAD_PAGE}; the mean is {mean:.3f}"
    if short:
        claim += f"; at least half of the text is missing from {short:,} of them"
    part, low, high = share(pages, pl.col("value") >= _BAD_PAGE, **draws)
    # A page concerns the values that are wrong on it, as its CER may be one of reading order alone;
    # where no values were scored it counts itself.
    surely = low * pages.height
    if counts.height:
        wrong = (pl.col("outcome") != "match") & pl.col("doc_id").is_in(bad["doc_id"].implode())
        surely = _share(counts, wrong, draws)[1] * _number(counts)
    yield Finding(
        claim, "pages", effect=part, ci_low=low, ci_high=high,
        at_least=0.0 if surely != surely else surely, n_docs=bad.height, n_cases=bad.height,
        metric="cer", settings=settings_text(pages.row(0, named=True)),
        cases=keys(whole), **origin(evaluation),
        what_to_try="Look at these pages beside their text, the longest gap first.",
    )  # fmt: skip


def _pages(part: Evaluation) -> pl.DataFrame:
    """The CER of each page's text."""
    pages = part.scan("scores").filter(pl.col("metric") == "cer", pl.col("level") == "page")
    pages = tables.only(pages.collect(), metric="cer", level="page")
    return pages.filter(pl.col("value").is_not_nan()).unique("doc_id", maintain_order=True)


def _bad_pages(part: Evaluation) -> pl.DataFrame:
    """The whole cases of pages of which half or more is wrong, and whether half of it is absent."""
    bad = _pages(part).filter(pl.col("value") >= _BAD_PAGE)["doc_id"]
    whole = part.scan("cases").filter(pl.col("path").is_null(), pl.col("gold").is_not_null())
    length = pl.col("pred").str.len_chars().fill_null(0)
    short = (length <= pl.col("gold").str.len_chars() / 2).alias("short")
    return whole.filter(pl.col("doc_id").is_in(bad.implode())).select(*KEYS, short).collect()


def _share(counts: pl.DataFrame, counted: pl.Expr, draws: Draws) -> tuple[float, float, float]:
    """The share of the values that are `counted`, and its interval."""
    part = pl.when(counted).then("cases").otherwise(0)
    return share(counts, part, pl.col("cases"), **draws)


def _count(
    evaluation: Evaluation, counts: pl.DataFrame, counted: pl.Expr, about: str,
    draws: Draws, claim: str, what_to_try: str,
) -> Finding:  # fmt: skip
    rows = counts.filter(counted)
    part, low, high = _share(counts, counted, draws)
    return Finding(
        claim, about, effect=part, ci_low=low, ci_high=high,
        at_least=0.0 if low != low else low * _number(counts), n_docs=rows["doc_id"].n_unique(),
        n_cases=_number(rows), what_to_try=what_to_try, metric=OUTCOME,
        cases=_later(lambda: evaluation.gathered(partial(_keys_counted, counted=counted))),
        of=f"{_number(counts):,} {_nouns(counts)}",
        settings=f"share of gold values|ci=bootstrap,documents,n={draws['resamples']},"
        f"level={draws['level']:g},seed={draws['seed']}", **origin(evaluation),
    )  # fmt: skip


def _keys_counted(part: Evaluation, counted: pl.Expr) -> pl.DataFrame:
    documents = _counted(part).select("doc_id", "answered").unique()
    cases = asked(part, [*KEYS, *_COUNTED])
    return cases.join(documents, on="doc_id").filter(counted).select(KEYS)
