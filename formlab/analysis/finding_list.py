"""The findings of all evaluations, ranked by how many gold values they surely concern."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import polars as pl

from formlab import tables
from formlab.analysis.comparability import common
from formlab.analysis.finding import (
    ALPHA,
    LABEL,
    NAN,
    READER,
    Finding,
    keys,
    origin,
    p_text,
    word,
)  # fmt: skip
from formlab.analysis.finding_kinds import kinds
from formlab.analysis.finding_pairs import OUTCOME, asked
from formlab.analysis.finding_systems import tell_apart
from formlab.analysis.flips import MATRIX, flip_matrix, flips
from formlab.analysis.intervals import by_document, drawn_sums, percentiles
from formlab.analysis.slices import find_slices, slice_cases
from formlab.errors import DataBroken
from formlab.folders import Evaluation
from formlab.scoring.causes import WHAT_TO_TRY
from formlab.tables import STATUSES, USABLE, settings_text

# No more than so many findings of one evaluation, so that none hides the others.
_OF_ONE = 2
# From this CER on a page is told of: as many edits as half of its characters.
_BAD_PAGE = 0.5
# Swaps of documents for the tests between systems; thousands more move p by a hundredth.
_SWAPS = 1999


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

    Counted are answers that cannot be used, documents without any, the largest cause of error and
    pages of which half or more is wrong. Tested are slices against the rest (`find_slices`), kinds
    of field (`kinds`) and systems of one corpus (`tell_apart`); what no test supports is left out.
    Each kind of test adjusts over its own comparisons, and all together after Bonferroni.

    Parameters
    ----------
    most
        How many findings; None for all. Of one evaluation at most two.
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
    options = {"resamples": resamples, "level": level, "seed": seed}
    families = list(_families(evaluations, alpha, options))
    sure: dict[int | None, list[Finding]] = {}
    for place, family in families:
        for one in family:
            p = min(1.0, one.p_adjusted * len(families))
            if one.holds and p <= alpha:
                sure.setdefault(place, []).append(dataclasses.replace(one, p_adjusted=p))
    ranked = sure.get(None, [])
    for place, each in enumerate(evaluations):
        mine = [*_counts(each, options), *sure.get(place, [])]
        ranked += sorted(mine, key=_weight)[:_OF_ONE]
    return sorted(ranked, key=_weight)[:most]


def _weight(one: Finding) -> tuple[Any, ...]:
    return -one.at_least, -one.n_cases, one.benchmark, one.split, one.system, one.about


def _families(
    evaluations: Sequence[Evaluation], alpha: float, options: dict[str, Any]
) -> Iterator[tuple[int | None, list[Finding]]]:
    """What was tested together, with the place of the evaluation; None for several."""
    for place, one in enumerate(evaluations):
        if not asked(one).height:
            continue
        yield place, _slices(one, alpha, options)
        found = kinds(one, metric=OUTCOME, alpha=alpha)
        if found.n_tested:
            yield place, [found]
    for group in _corpora(evaluations):
        try:
            ground = common(group).evaluations
        except DataBroken:
            # Other documents or gold: nothing to compare.
            continue
        yield None, _systems(ground, alpha, options)


def _corpora(evaluations: Sequence[Evaluation]) -> list[list[Evaluation]]:
    groups: dict[tuple[Any, ...], list[Evaluation]] = {}
    for one in evaluations:
        groups.setdefault((one.benchmark, one.split, one.mode), []).append(one)
    return [group for group in groups.values() if len(group) > 1]


def _systems(ground: Sequence[Evaluation], alpha: float, options: dict[str, Any]) -> list[Finding]:
    swaps = {"resamples": options["resamples"], "permutations": _SWAPS, "seed": options["seed"]}
    found = [pl.DataFrame(schema=MATRIX)]
    for first, second in itertools.combinations(ground, 2):
        table = flips(first, second)
        if table.height:
            found.append(flip_matrix(table, first.documents, **swaps).select(found[0].columns))
    return tell_apart(ground, pl.concat(found), alpha=alpha, **swaps)


def _slices(one: Evaluation, alpha: float, options: dict[str, Any]) -> list[Finding]:
    """Weak slices as findings; each is worse than the rest by its test."""
    found = find_slices(one, alpha=alpha, max_columns=2, **options)
    return [_slice(one, row) for row in found.to_dicts()]


def _slice(one: Evaluation, row: dict[str, Any]) -> Finding:
    share = f"{row['value']:.0%} of {row['n_cases']:,} values right, {row['rest']:.0%} elsewhere"
    tested = f"{p_text(row['p_adjusted'])}, adjusted for {row['n_tested']:,} slices"
    named = zip(row["slice_by"], row["slice_value"], strict=True)
    name = " and ".join(f"{by} {value}" for by, value in named).replace("_", " ")
    low, high = -row["difference_high"], -row["difference_low"]
    return Finding(
        f"{name}: {share.replace('%', ' %')} ({tested})", "slice",
        effect=-row["difference"], ci_low=low, ci_high=high,
        at_least=max(low, 0.0) * row["n_cases"], n_docs=row["n_docs"], n_cases=row["n_cases"],
        p=row["p"], p_adjusted=row["p_adjusted"], n_tested=row["n_tested"], metric=OUTCOME,
        settings=settings_text(row), cases=keys(slice_cases(one, row)), **origin(one),
        what_to_try="Look at the wrong fields of this slice beside their pages.",
    )  # fmt: skip


def _counts(one: Evaluation, options: dict[str, Any]) -> Iterator[Finding]:
    """What needs no test because it is a count."""
    cases = asked(one)
    if cases.height:
        yield from _of_answers(one, cases, options)
        yield from _of_causes(one, cases, options)
    yield from _of_pages(one, cases, options)


def _of_answers(one: Evaluation, cases: pl.DataFrame, options: dict[str, Any]) -> Iterator[Finding]:
    lost = _lost(one)
    part = cases.filter(lost)
    if part.height:
        docs = part["doc_id"].n_unique()
        yield _count(
            one, cases, lost, "documents", options,
            f"{docs:,} of {cases['doc_id'].n_unique():,} documents have no usable answer, and "
            f"with them {part.height:,} of {cases.height:,} values are lost",
            WHAT_TO_TRY.get("missing_document") or WHAT_TO_TRY.get(_first(part["status"]), ""),
        )  # fmt: skip
    # A value that was not given is not found; its answer could be used.
    broken = ~lost & ~pl.col("status").is_in([*USABLE, "missing"])
    part = cases.filter(broken)
    if part.height:
        status = _first(part["status"])
        count = part.filter(pl.col("status") == status).height
        yield _count(
            one, cases, broken, "status", options,
            f"{part.height:,} of {cases.height:,} values stand in answers that cannot be used "
            f"(status {word(status)}: {count:,})",
            WHAT_TO_TRY.get(status, ""),
        )  # fmt: skip


def _lost(one: Evaluation) -> pl.Expr:
    """Whether a document has no usable answer at all."""
    usable = one.cases.filter(pl.col("status").is_in(USABLE))["doc_id"].unique()
    return ~pl.col("doc_id").is_in(usable.implode())


def _first(values: pl.Series) -> str:
    counts = values.drop_nulls().value_counts().sort("count", values.name, descending=[True, False])
    return str(counts[values.name].first() or "")


def _of_causes(one: Evaluation, cases: pl.DataFrame, options: dict[str, Any]) -> Iterator[Finding]:
    """The largest cause of error: a count of errors, no comparison of systems or kinds."""
    # What could not be used is told by its status, and what was lost by its document.
    told = [*(name for name in STATUSES if name != "missing"), READER, LABEL]
    usable = pl.col("status").is_in([*USABLE, "missing"]) & ~_lost(one)
    wrong = (pl.col("outcome") != "match") & usable
    errors = cases.filter(wrong)
    named = errors.filter(pl.col("cause").is_not_null(), ~pl.col("cause").is_in(told))
    if not named.height:
        return
    first = _first(named["cause"])
    held = wrong & (pl.col("cause") == first)
    part = cases.filter(held.fill_null(False))
    tied = named["cause"].value_counts().filter(pl.col("count") == part.height).height > 1
    lead = "One of the largest causes" if tied else "The largest cause"
    docs = part["doc_id"].n_unique()
    over = f"in {docs:,} document{'s' if docs > 1 else ''}"
    claim = f"{lead} of error is {word(first)}: {part.height:,} of {errors.height:,} errors, {over}"
    if part.height == errors.height:
        claim = f"{word(first).capitalize()} is the cause of all {errors.height:,} errors, {over}"
    what = WHAT_TO_TRY.get(first, "")
    yield _count(one, cases, held.fill_null(False), "cause", options, claim, what)


def _of_pages(one: Evaluation, cases: pl.DataFrame, options: dict[str, Any]) -> Iterator[Finding]:
    """Pages of which half or more is wrong, and how many of them are cut short."""
    pages = tables.only(one.scores, metric="cer", level="page")
    pages = pages.filter(pl.col("value").is_not_nan()).unique("doc_id", maintain_order=True)
    bad = pages.filter(pl.col("value") >= _BAD_PAGE)
    if not bad.height:
        return
    whole = one.cases.filter(pl.col("path").is_null(), pl.col("gold").is_not_null())
    whole = whole.join(bad, on="doc_id", how="semi")
    length = pl.col("pred").str.len_chars().fill_null(0)
    short = whole.filter(length <= pl.col("gold").str.len_chars() / 2)["doc_id"].n_unique()
    many = f"{bad.height:,} of {pages.height:,} pages"
    claim = f"{many} have a CER of at least {_BAD_PAGE}; the mean is {pages['value'].mean():.3f}"
    if short:
        claim += f"; at least half of the text is missing from {short:,} of them"
    held = (pages["value"] >= _BAD_PAGE).to_numpy()
    share, low, high = _interval(pages["doc_id"], held, options)
    # A page concerns the values that are wrong on it, as its CER may be one of reading order alone;
    # where no values were scored it counts itself.
    surely = low * pages.height
    if cases.height:
        wrong = (pl.col("outcome") != "match") & pl.col("doc_id").is_in(bad["doc_id"].implode())
        marks = cases.select(wrong).to_series().to_numpy()
        surely = _interval(cases["doc_id"], marks, options)[1] * cases.height
    yield Finding(
        claim, "pages", effect=share, ci_low=low, ci_high=high,
        at_least=0.0 if surely != surely else surely, n_docs=bad.height, n_cases=bad.height,
        metric="cer", settings=settings_text(pages.row(0, named=True)),
        cases=keys(whole), **origin(one),
        what_to_try="Look at these pages beside their text, the longest gap first.",
    )  # fmt: skip


def _count(
    one: Evaluation, cases: pl.DataFrame, held: pl.Expr, about: str, options: dict[str, Any],
    claim: str, what: str,
) -> Finding:  # fmt: skip
    part = cases.filter(held)
    marks = cases.select(held).to_series().to_numpy()
    share, low, high = _interval(cases["doc_id"], marks, options)
    return Finding(
        claim, about, effect=share, ci_low=low, ci_high=high,
        at_least=0.0 if low != low else low * cases.height, n_docs=part["doc_id"].n_unique(),
        n_cases=part.height, what_to_try=what, metric=OUTCOME, cases=keys(part), **origin(one),
        settings=f"share of gold values|ci=bootstrap,documents,n={options['resamples']},"
        f"level={options['level']:g},seed={options['seed']}",
    )  # fmt: skip


def _interval(
    docs: pl.Series, held: np.ndarray, options: dict[str, Any]
) -> tuple[float, float, float]:
    """A share and its percentile interval over documents."""
    names, place = np.unique(docs.to_numpy(), return_inverse=True)
    share = float(held.mean())
    if len(names) < 2 or not options["resamples"]:
        return share, NAN, NAN
    parts = by_document(place, [held, np.ones(len(place))], len(names))
    summed = drawn_sums(parts, resamples=options["resamples"], seed=options["seed"])
    return share, *percentiles(summed[:, 0] / summed[:, 1], options["level"])
