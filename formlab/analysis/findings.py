"""What is most worth a look in evaluations: weaknesses that a test shows, and plain counts."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator, Sequence
from typing import Any

import polars as pl

from formlab import systems, tables
from formlab.analysis.comparability import common, of_gold
from formlab.analysis.finding import (
    ALPHA,
    COUNTED,
    KEYS,
    LABEL,
    OUTCOME,
    READER,
    Finding,
    has_pages,
    in_fields,
    keys,
    origin,
    p_text,
    word,
)
from formlab.analysis.slices import Search, Weakness, opened_values, slice_rows
from formlab.analysis.verdicts import tell_apart, verdicts
from formlab.errors import DataBroken
from formlab.folders import Evaluation
from formlab.scoring.across import OFFSET, OTHER_DOCUMENT, offset_text
from formlab.scoring.bands import pattern
from formlab.scoring.causes import IN_WORDS, advice
from formlab.stats.draws import share
from formlab.stats.exchange import drawn_p
from formlab.tables import STATUSES, USABLE, settings_text

Draws = dict[str, Any]
# No more than so many findings of one of several evaluations, so that none hides the others.
_OF_ONE = 2
# Of one evaluation alone so many causes are counted, if each has this share of its errors.
_CAUSES, _OF_ERRORS = 3, 0.1
# Below so many cases or documents they are listed, and a sentence does not say "often".
_FEW_CASES, _FEW_DOCS = 5, 3
# From this CER on a page counts as bad: as many edits as half of its characters.
_BAD_PAGE = 0.5


def findings(
    evaluations: Sequence[Evaluation],
    *,
    most: int | None = 5,
    alpha: float = ALPHA,
    resamples: int = 1000,
    level: float = 0.95,
    seed: int = 0,
) -> list[Finding]:
    """What is most worth a look, over all evaluations; always the same for the same ones.

    Of each evaluation its weaknesses are told, one finding each (`find_slices`; documents that are
    mostly wrong are one as well), and of systems of one corpus who gets more right, over all and on
    which kinds of field. Answers that cannot be used, values that the gold does not have and bad
    pages are counted; the largest causes of error only where no test shows anything. Those stand
    first that surely concern the most values (`at_least`).

    Parameters
    ----------
    most
        How many findings; None for all. Of one of several evaluations at most two.
    alpha
        The chance that any comparison is claimed where there is nothing. Half of it is for kinds
        of field where systems are compared; each evaluation and each comparison over all fields
        has an equal part of the rest, and adjusts its own tests after Holm.
    resamples, level, seed
        Of the percentile intervals, which draw documents.

    Examples
    --------
    >>> findings([])
    []
    """
    draws = {"resamples": resamples, "level": level, "seed": seed}
    groups: dict[tuple[str, ...], list[Evaluation]] = {}
    for one in evaluations:
        groups.setdefault((one.benchmark, one.split, one.mode), []).append(one)
    compared = []
    for group in groups.values():
        # Other documents or gold, or one system alone: nothing to compare.
        with contextlib.suppress(DataBroken):
            compared.append(common(group).evaluations)
    # Half of it is for kinds of field, where systems are compared: differences are small there.
    left = alpha / 2 if compared else alpha
    bar, bar_of_kinds = left / max(len(evaluations) + len(compared), 1), left / len(compared or "x")
    ranked = []
    for group in compared:
        swaps = {"resamples": draws["resamples"], "seed": draws["seed"]}
        shown = verdicts(group, **swaps).drop_nulls("better")
        for finding, by in zip(tell_apart(group, shown), shown["slice_by"], strict=True):
            if finding.p_adjusted <= (bar_of_kinds if by else bar):
                ranked.append(finding)
    several = len(evaluations) > 1
    for one in evaluations:
        look = _Look(one, draws, bar)
        found = sorted(look.findings(1 if several else _CAUSES), key=_weight)
        ranked += found[:_OF_ONE] if several else found
    return sorted(ranked, key=_weight)[:most]


def _weight(finding: Finding) -> tuple[Any, ...]:
    source = finding.benchmark, finding.split, finding.system, finding.about
    return -finding.at_least, -finding.n_cases, *source


class _Look:
    """What one evaluation shows."""

    def __init__(self, evaluation: Evaluation, draws: Draws, bar: float) -> None:
        self.evaluation, self.draws, self.bar = evaluation, draws, bar
        self.pages, self.base = has_pages(evaluation), origin(evaluation)
        name = evaluation.system.partition("(")[0]
        self.reads_images = systems.SYSTEMS[name].images if name in systems.SYSTEMS else self.pages

    def findings(self, causes: int) -> Iterator[Finding]:
        """What holds by test, and what is counted; causes alone only where no test holds."""
        cases = self.evaluation.gathered(_cases)
        gold = cases.filter(pl.col("asked"))
        yield from self._extra(cases)
        yield from self._pages(gold)
        if not gold.height:
            return
        yield from self._unusable(gold)
        found = list(self._weaknesses())
        yield from found or self._causes(gold, causes)

    def advice(self, name: str) -> str:
        return advice(name, pages=self.pages and self.reads_images)

    def _count(
        self, gold: pl.DataFrame, counted: pl.Expr, about: str, claim: str, what_to_try: str
    ) -> Finding:
        """A share of the gold's values that needs no test because it is a count."""
        numbers = share(gold, counted, **self.draws)
        interval = "ci=bootstrap,documents,n={resamples},level={level:g},seed={seed}"
        more = {
            "settings": f"share of gold values|{interval.format(**self.draws)}",
            "of": f"{gold.height:,} {_nouns(gold)}",
            "at_least": _or_0(numbers[1]) * gold.height,
        }
        return self._finding(claim, about, gold.filter(counted), what_to_try, numbers, **more)

    def _finding(
        self,
        claim: str,
        about: str,
        rows: pl.DataFrame,
        what_to_try: str,
        numbers: Sequence[float] = (),
        **more: Any,
    ) -> Finding:
        """A finding on some cases; `numbers` are its effect and the ends of its interval."""
        known = dict(zip(("effect", "ci_low", "ci_high"), numbers, strict=False)) | self.base
        known |= {"metric": OUTCOME, "n_cases": rows.height, "n_docs": rows["doc_id"].n_unique()}
        return Finding(claim, about, cases=keys(rows), what_to_try=what_to_try, **known | more)

    def _unusable(self, gold: pl.DataFrame) -> Iterator[Finding]:
        lost = gold.filter(~pl.col("answered"))
        if lost.height:
            docs, of = lost["doc_id"].n_unique(), gold["doc_id"].n_unique()
            claim = (
                f"{docs:,} of {of:,} documents {'has' if docs == 1 else 'have'} no usable answer, "
                f"which loses {lost.height:,} of {gold.height:,} values"
            )
            tip = self.advice("missing_document")
            yield self._count(gold, ~pl.col("answered"), "documents", claim, tip)
        unusable = pl.col("answered") & ~pl.col("status").is_in([*USABLE, "missing"])
        broken = gold.filter(unusable)
        if broken.height:
            status, count = _ranked(broken, "status").row(0)
            claim = (
                f"For {broken.height:,} of {gold.height:,} values the answer cannot be used "
                f"(status “{word(status)}”: {count:,})"
            )
            yield self._count(gold, unusable, "status", claim, self.advice(status))

    def _extra(self, cases: pl.DataFrame) -> Iterator[Finding]:
        """Values that the gold does not have: they lose nothing, and are as many errors."""
        extra = cases.filter(pl.col("outcome") == "spurious")
        if not extra.height:
            return
        docs, of = extra["doc_id"].n_unique(), self.evaluation.document_names.len()
        claim = (
            f"{self.evaluation.system} gives {_counted(extra.height, 'value')} that the gold does "
            f"not have, in {docs:,} of {of:,} documents"
        )
        claim += f": {_listed(extra)}" if _is_few(extra) else ""
        tip = self.advice("spurious")
        yield self._finding(claim, "extra", extra, tip, at_least=float(extra.height))

    def _pages(self, gold: pl.DataFrame) -> Iterator[Finding]:
        """Pages of which half or more is wrong, and how many of them are cut short."""
        pages = self.evaluation.gathered(_page_errors)
        bad = pages.filter(pl.col("value") >= _BAD_PAGE)
        if not bad.height:
            return
        whole = self.evaluation.gathered(_bad_pages)
        short = whole.filter("short")["doc_id"].n_unique()
        mean = math.fsum(pages["value"]) / pages.height
        claim = (
            f"{bad.height:,} of {pages.height:,} pages {'has' if bad.height == 1 else 'have'} a "
            f"CER of at least {_BAD_PAGE}; the mean is {mean:.3f}"
        )
        if short:
            claim += f"; at least half of the text is missing from {short:,} of them"
        numbers = share(pages, pl.col("value") >= _BAD_PAGE, **self.draws)
        surely = numbers[1] * pages.height
        if gold.height:
            # A page concerns the values wrong on it: its CER may be one of reading order alone.
            wrong = ~pl.col("right") & pl.col("doc_id").is_in(bad["doc_id"].implode())
            surely = share(gold, wrong, **self.draws)[1] * gold.height
        tip = "Look at these pages beside their text, the longest gap first."
        more = {"metric": "cer", "settings": settings_text(pages.row(0, named=True))}
        more |= {"n_docs": bad.height, "n_cases": bad.height, "at_least": _or_0(surely)}
        yield self._finding(claim, "pages", whole, tip, numbers, **more)

    def _weaknesses(self) -> Iterator[Finding]:
        """What is worse than the rest by test, each with its cause where that differs as well."""
        values, heads = opened_values(self.evaluation, answered=True)
        if not len(values.loss):
            return
        found = Search(values, heads, depth=2).weaknesses(self.bar)
        for weakness, row in zip(found, slice_rows(values, found, **self.draws), strict=True):
            inside = pl.Series(weakness.inside)
            wrong, rest = (
                values.table.filter(side, ~pl.col("right")) for side in (inside, ~inside)
            )
            cause = _cause_apart(wrong, rest)
            numbers = [-row[n] for n in ("difference", "difference_high", "difference_low")]
            more = {n: row[n] for n in ("n_cases", "n_docs")}
            more["at_least"] = max(_or_0(numbers[1]), 0.0) * row["n_cases"]
            beside = "pages" if self.pages else "gold"
            if not weakness.columns:
                about, where = "documents", "the answers to these documents"
                claim = _mostly_wrong(values.count, wrong, wrong.height + rest.height)
                errors = pl.concat([wrong.with_columns(here=True), rest.with_columns(here=False)])
                numbers = share(errors, pl.col("here"), **self.draws)
                more |= {"n_cases": wrong.height, "of": f"{errors.height:,} wrong values"}
            else:
                about, where = "slice", "the wrong values of this slice"
                claim = self._slice_claim(weakness, row, wrong)
            claim += self._cause_phrase(cause, wrong) if cause else ""
            tested = p_text(weakness.p_adjusted)
            claim += f" ({tested}, adjusted for {weakness.n_tested:,} tests)"
            tip = self.advice(cause) if cause else f"Look at {where} beside their {beside}."
            more |= {n: getattr(weakness, n) for n in ("p", "p_adjusted", "n_tested")}
            more["settings"] = f"exchanged within documents|holm<={self.bar:.3g}"
            yield self._finding(claim, about, wrong, tip, numbers, **more)

    def _slice_claim(self, weakness: Weakness, row: dict[str, Any], wrong: pl.DataFrame) -> str:
        single = len(weakness.columns) == 1
        if row["value"] == 0 and (wrong["outcome"] == "missing").all() and single:
            return (
                f"{self.evaluation.system} never gives a value where {weakness.name}: all "
                f"{row['n_cases']:,}, in {row['n_docs']:,} documents, are missing"
            )
        rates = f"{row['value']:.0%} of {row['n_cases']:,} values are right, {row['rest']:.0%}"
        if row["value"] == 0:
            rates = f"none of {row['n_cases']:,} values is right, {row['rest']:.0%}"
        return f"Where {weakness.name}, {rates.replace('%', ' %')} elsewhere"

    def _cause_phrase(self, cause: str, wrong: pl.DataFrame) -> str:
        of_cause = wrong.filter(cause=cause)
        of = f"{of_cause.height:,} of {wrong.height:,}"
        of = f"all {wrong.height:,}" if of_cause.height == wrong.height else of
        what = IN_WORDS[cause]
        if cause == OFFSET:
            what = self.evaluation.gathered(
                lambda part: part.scan("cases").join(of_cause.lazy(), on=KEYS, how="semi").collect()
            ).pipe(offset_text)
        return f"; in {of} errors {what}"

    def _causes(self, gold: pl.DataFrame, most: int) -> Iterator[Finding]:
        """The largest causes of error as counts: no test says that they are more than elsewhere."""
        # Unusable answers are findings by their status, and lost documents by themselves.
        elsewhere = [*(name for name in STATUSES if name != "missing"), READER, LABEL]
        readable = pl.col("status").is_in([*USABLE, "missing"]) & pl.col("answered")
        wrong = ~pl.col("right") & readable
        errors = gold.filter(wrong)
        causes = _ranked(errors.filter(~pl.col("cause").is_in(elsewhere)), "cause")
        tied = causes.filter(pl.col("count") == pl.col("count").max()).height > 1
        for place, (cause, count) in enumerate(causes.head(most).iter_rows()):
            if place and count < _OF_ERRORS * errors.height:
                break
            of_cause = wrong & pl.col("cause").eq_missing(pl.lit(cause))
            rows = gold.filter(of_cause)
            over = f"in {_counted(rows['doc_id'].n_unique(), 'document')}"
            what = IN_WORDS.get(cause, f"the cause is “{word(cause)}”")
            counted = f"{count:,} of {errors.height:,} wrong {_nouns(gold)}, {over}"
            claim = f"{'Often' if place or tied else 'Most often'} {what}: in {counted} (a count)"
            if _is_few(rows):
                claim = f"{counted}: {what} ({_listed(rows)})"
            elif count == errors.height:
                claim = f"In all {count:,} wrong {_nouns(gold)}, {over}, {what} (a count)"
            tip = self.advice(cause)
            if cause == "missed" and (never := _never_given(gold, count)):
                claim += f"; {self.evaluation.system} never gives {never}"
                tip = "Look whether the system knows these fields at all."
            yield self._count(gold, of_cause, "cause", claim, tip)


def _mostly_wrong(count: int, wrong: pl.DataFrame, errors: int) -> str:
    names = wrong["doc_id"].unique().sort().to_list()
    holds = "holds" if len(names) == 1 else "hold"
    claim = (
        f"{len(names):,} of {count:,} documents {holds} {wrong.height:,} of {errors:,} wrong values"
    )
    return claim + (f" ({', '.join(names)})" if len(names) < _FEW_DOCS else "")


def _cases(part: Evaluation) -> pl.DataFrame:
    """The fields of a part: the gold's values that were scored, and those it does not have."""
    answered = pl.col("status").is_in(USABLE).any()
    documents = part.scan("cases").group_by("doc_id").agg(answered=answered)
    columns = [*KEYS, "level", "status", "cause", "outcome"]
    right = pl.col("outcome") == "match"
    fields = part.scan("cases").filter(in_fields()).select(*columns, right=right, asked=of_gold())
    return fields.join(documents, on="doc_id", how="left", maintain_order="left").collect()


def _page_errors(part: Evaluation) -> pl.DataFrame:
    """The CER of each page's text."""
    pages = part.scan("scores").filter(pl.col("metric") == "cer", pl.col("level") == "page")
    pages = tables.only(pages.collect(), metric="cer", level="page")
    return pages.filter(pl.col("value").is_not_nan()).unique("doc_id", maintain_order=True)


def _bad_pages(part: Evaluation) -> pl.DataFrame:
    """The whole cases of pages of which half or more is wrong, and whether half of it is absent."""
    bad = _page_errors(part).filter(pl.col("value") >= _BAD_PAGE)["doc_id"]
    whole = part.scan("cases").filter(pl.col("path").is_null(), pl.col("gold").is_not_null())
    length = pl.col("pred").str.len_chars().fill_null(0)
    short = (length <= pl.col("gold").str.len_chars() / 2).alias("short")
    return whole.filter(pl.col("doc_id").is_in(bad.implode())).select(*KEYS, short).collect()


def _ranked(rows: pl.DataFrame, name: str) -> pl.DataFrame:
    """The values of a column and how many cases have each, the commonest first."""
    ranked = rows.drop_nulls(name).group_by(name).agg(count=pl.len())
    return ranked.sort("count", name, descending=[True, False])


def _cause_apart(wrong: pl.DataFrame, rest: pl.DataFrame) -> str | None:
    """The commonest cause of some errors, if its share is larger than among the other errors."""
    ranked = _ranked(wrong, "cause")
    if not ranked.height or ranked["count"][0] < _FEW_CASES:
        return None
    cause, count = ranked.row(0)
    if cause in (OTHER_DOCUMENT, OFFSET):
        return cause  # What is told from many cases together needs no comparison.
    other = rest.filter(cause=cause).height
    p = drawn_p(count, wrong.height, count + other, wrong.height + rest.height)
    return cause if p <= ALPHA and cause in IN_WORDS else None


def _never_given(gold: pl.DataFrame, missed: int) -> str:
    """The fields that are missing wherever they were asked for, if these are most of the missed."""
    missing, docs = (pl.col("outcome") == "missing").all(), pl.col("doc_id").n_unique()
    never = gold.group_by(field=pattern()).agg(missing=missing, docs=docs, count=pl.len())
    never = never.filter("missing", pl.col("docs") >= _FEW_DOCS).sort("field")
    if 2 * never["count"].sum() <= missed:
        return ""
    more = f" and {_counted(never.height - 2, 'more field')}" if never.height > 2 else ""
    return ", ".join(never["field"].head(2)) + more


def _or_0(value: float) -> float:
    return 0.0 if math.isnan(value) else value


def _counted(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'s' * (count != 1)}"


def _nouns(rows: pl.DataFrame) -> str:
    """What a sentence calls these cases, if one word fits all their levels."""
    nouns = {COUNTED.get(level, "values") for level in rows["level"].unique()}
    return nouns.pop() if len(nouns) == 1 else "values"


def _is_few(rows: pl.DataFrame) -> bool:
    return rows.height < _FEW_CASES or rows["doc_id"].n_unique() < _FEW_DOCS


def _listed(rows: pl.DataFrame) -> str:
    """The first few cases, by document and path."""
    names = [f"{doc} {path or ''}".strip() for doc, _, path in keys(rows).iter_rows()]
    return ", ".join(names[:_FEW_CASES]) + ", …" * (len(names) > _FEW_CASES)
