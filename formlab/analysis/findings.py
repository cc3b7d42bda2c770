"""What is most worth a look in evaluations: weaknesses that a test shows, and plain counts."""

import contextlib
import functools
import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import polars as pl

from formlab import systems
from formlab.analysis import finding
from formlab.analysis.comparability import common, of_gold
from formlab.analysis.compare import flips_of_common
from formlab.analysis.finding import ALPHA, KEYS, OUTCOME, Finding, counted, p_text, ranked
from formlab.analysis.slices import TEST, search_of, slice_rows
from formlab.analysis.summarise import interval_text
from formlab.analysis.verdicts import OVER_ALL, comparison_sentence, verdicts
from formlab.errors import DataBroken
from formlab.folders import Evaluation
from formlab.scoring.across import OFFSET, offset_text
from formlab.scoring.bands import pattern
from formlab.scoring.causes import IN_WORDS, advice
from formlab.stats.draws import share
from formlab.tables import STATUSES, USABLE, settings_text

# No more than so many findings of one of several evaluations, so that none hides the others.
_OF_ONE = 2
# So many causes of an evaluation are counted, if each has this share of its errors.
_CAUSES, _OF_ERRORS = 3, 0.1
_BAD_PAGE = 0.5  # From this CER on a page is bad: as many edits as half of its characters.
# The columns of a comparison that its finding has as well.
_ROW = ("benchmark", "split", "metric", "n_docs", "n_cases", "n_tested", "ci_low", "ci_high", "p")
_READABLE = pl.col("status").is_in([*USABLE, "missing"])  # What is no answer that cannot be used.


def findings(
    evaluations: Sequence[Evaluation], *, most: int | None = 5, alpha: float = ALPHA, **draws: Any
) -> list[Finding]:
    """What is most worth a look, over all evaluations; always the same for the same ones.

    Of each evaluation its weaknesses are told, one finding each (`find_slices`; documents that are
    mostly wrong are one as well), and of systems of one corpus who gets more right, over all and by
    kind. Answers that cannot be used, values that the gold does not have and bad pages are counted;
    the largest causes of error only where no test shows anything. What a test shows and what has no
    usable answer stands before counts of errors; of each, what concerns more values (`at_least`).

    `most`: how many findings, None for all; of one of several evaluations at most two. Who does
    better over all fields is told where `compare` says so, by its p. `alpha`: the chance that any
    other finding is claimed where there is nothing. Half of it is for kinds where systems are
    compared, an equal part of the rest for each evaluation, which adjusts its own tests after Holm.
    `draws` are as for `summarise`.
    """
    groups: dict[tuple[str, ...], list[Evaluation]] = {}
    for one in evaluations:
        groups.setdefault((one.benchmark, one.split, one.mode), []).append(one)
    compared, found = [], []
    for group in groups.values():
        # Other documents or gold, or one system alone: nothing to compare.
        with contextlib.suppress(DataBroken):
            compared.append(common(group).evaluations)
    swaps = {name: draws[name] for name in ("resamples", "seed") if name in draws}
    rest = alpha / 2 if compared else alpha
    for group in compared:
        shown = verdicts(group, **swaps).drop_nulls("better")
        for one, by in zip(tell_apart(group, shown), shown["slice_by"], strict=True):
            if not by or one.p_adjusted <= rest / len(compared):
                found.append(one)
    bar = rest / max(len(evaluations), 1)
    of_one = _OF_ONE if len(evaluations) > 1 else None
    for evaluation in evaluations:
        found += sorted(_Look(evaluation, draws, bar).findings(), key=_weight)[:of_one]
    return sorted(found, key=_weight)[:most]


def tell_apart(evaluations: Sequence[Evaluation], table: pl.DataFrame) -> list[Finding]:
    """The findings on every pair of systems: one for each verdict, of kinds those that hold.

    `evaluations`: as from `common(…).evaluations`; `table`: as from `verdicts` of them.
    """
    systems = {evaluation.system: evaluation for evaluation in evaluations}
    apart = set(table.filter(OVER_ALL).drop_nulls("better")["system_a", "system_b"].rows())
    wanted = [*KEYS, "kind", "right_a", "right_b", "cause_a", "cause_b"]
    flips = functools.cache(lambda *pair: flips_of_common(*map(systems.get, pair), columns=wanted))
    found = []
    for row in table.filter(OVER_ALL | pl.col("better").is_not_null()).to_dicts():
        pair, kind = (row["system_a"], row["system_b"]), row["slice_value"]
        numbers: dict[str, Any] = {name: row[name] for name in _ROW}
        claim = comparison_sentence(row)
        if kind is not None and pair not in apart:
            claim += "; no difference over all fields was shown"
        if row["metric"] == OUTCOME:
            cases = flips(*pair) if kind is None else flips(*pair).filter(kind=kind)
            claim += _cause_phrase(row, cases) if row["better"] else ""
            numbers["cases"] = finding.keys(cases.filter(pl.col("right_a") != pl.col("right_b")))
            numbers["at_least"] = max(0.0, row["ci_low"], -row["ci_high"]) * row["n_cases"]
            numbers["what_to_try"] = "Look at the fields that one of them alone gets right."
        ends = [row[name] for name in ("difference", "ci_low", "ci_high")]
        if row["better"] == row["system_b"]:
            # A difference is that of the better one, which the sentence names first.
            ends, pair = [-ends[0], -ends[2], -ends[1]], pair[::-1]
        numbers |= zip(("effect", "ci_low", "ci_high"), ends, strict=True)
        numbers |= {"p_adjusted": row["p_holm"], "systems": pair}
        numbers |= {"holds": row["better"] is not None, "system": ", ".join(pair)}
        found.append(Finding(claim, "systems", settings=settings_text(row), **numbers))
    return found


def _cause_phrase(row: finding.Row, flipped: pl.DataFrame) -> str:
    """The cause of errors that the system shown to do worse has more often than the better one."""
    sides = "ab" if row["better"] == row["system_b"] else "ba"
    wrong = [flipped.filter(~pl.col(f"right_{of}")).select(cause=f"cause_{of}") for of in sides]
    if not (cause := finding.cause_apart(*wrong, clear=())):
        return ""
    counts = [f"{of.filter(cause=cause).height:,} of {of.height:,}" for of in wrong]
    worse, better = (row[f"system_{of}"] for of in sides)
    return f"; in {counts[0]} errors of {worse} {IN_WORDS[cause]}, of {better} in {counts[1]}"


def _weight(one: Finding) -> tuple[Any, ...]:
    # A count of errors tells nothing apart: it follows what tests show and what was not answered.
    is_count = math.isnan(one.p) and one.about not in ("documents", "status")
    source = one.benchmark, one.split, one.system, one.about
    return is_count, -one.at_least, -one.n_cases, *source


class _Look:
    """What one evaluation shows: claims on its cases, each with what it rests on."""

    def __init__(self, evaluation: Evaluation, draws: dict[str, Any], bar: float) -> None:
        self.evaluation, self.draws, self.bar = evaluation, draws, bar
        self.pages, self.system = finding.has_pages(evaluation), evaluation.system
        name = self.system.partition("(")[0]
        reads_images = systems.SYSTEMS[name].images if name in systems.SYSTEMS else self.pages
        self.cases = evaluation.gathered(_cases)
        self.gold = self.cases.filter("asked")
        typed = "click" in self.gold["task"]
        self.advice = functools.partial(advice, pages=self.pages and reads_images and not typed)
        nouns = {finding.COUNTED.get(level, "values") for level in self.gold["level"].unique()}
        self.nouns = nouns.pop() if len(nouns) == 1 else "values"

    def findings(self) -> Iterator[Finding]:
        """What holds by test, and what is counted; causes alone only where no test holds."""
        yield from self._extra()
        yield from self._bad_pages()
        if self.gold.height:
            yield from self._unusable()
            yield from [*self._weaknesses()] or self._causes()

    def _finding(self, claim: str, about: str, rows: pl.DataFrame, tip: str, **by: Any) -> Finding:
        """A finding on some cases; `numbers` are its effect and the ends of its interval."""
        facts = {"metric": OUTCOME, "what_to_try": tip, **finding.origin(self.evaluation)}
        facts |= {"n_cases": rows.height, "n_docs": _documents(rows), "cases": finding.keys(rows)}
        facts["at_least"] = float(rows.height)
        facts |= zip(("effect", "ci_low", "ci_high"), by.pop("numbers", ()), strict=False)
        return Finding(claim, about, **facts | by)

    def _count(self, part: pl.Expr, about: str, claim: str, tip: str) -> Finding:
        """A share of the gold's values that needs no test because it is a count."""
        numbers, of = share(self.gold, part, **self.draws), f"{self.gold.height:,} {self.nouns}"
        more = {"settings": f"share of gold values|ci={interval_text(**self.draws)}", "of": of}
        return self._finding(claim, about, self.gold.filter(part), tip, numbers=numbers, **more)

    def _unusable(self) -> Iterator[Finding]:
        lost, unusable = ~pl.col("answered"), pl.col("answered") & ~_READABLE
        gone, broken = self.gold.filter(lost), self.gold.filter(unusable)
        total = f"{self.gold.height:,} values"
        if docs := _documents(gone):
            have = "has" if docs == 1 else "have"
            claim = f"{docs:,} of {_documents(self.gold):,} documents {have} no usable answer"
            claim += f", which loses {gone.height:,} of {total}"
            yield self._count(lost, "documents", claim, self.advice("missing_document"))
        if broken.height:
            status, count = ranked(broken, "status").row(0)
            claim = f"For {broken.height:,} of {total} the answer cannot be used"
            claim += f" (status “{finding.word(status)}”: {count:,})"
            yield self._count(unusable, "status", claim, self.advice(status))

    def _extra(self) -> Iterator[Finding]:
        """Values that the gold does not have: they lose nothing, and are as many errors."""
        extra = self.cases.filter(pl.col("outcome") == "spurious")
        if extra.height:
            of = self.evaluation.document_names.len()
            claim = f"{self.system} gives {counted(extra.height, 'value')} that the gold does not"
            claim += f" have, in {_documents(extra):,} of {counted(of, 'document')}"
            claim += f": {_listed(extra)}" if _is_few(extra) else ""
            yield self._finding(claim, "extra", extra, self.advice("spurious"))

    def _bad_pages(self) -> Iterator[Finding]:
        """Pages of which half or more is wrong, and how many of them are cut short."""
        cases = self.evaluation.gathered(_pages)
        pages, is_bad = cases.unique("doc_id", maintain_order=True), pl.col("value") >= _BAD_PAGE
        if not (bad := pages.filter(is_bad)).height:
            return
        cases, have = cases.filter(is_bad).drop_nulls("short"), "has" if bad.height == 1 else "have"
        claim = f"{bad.height:,} of {pages.height:,} pages {have} a CER of at least {_BAD_PAGE}"
        claim += f"; the mean is {pages['value'].mean():.3f}"
        if short := _documents(cases.filter("short")):
            claim += f"; at least half of the text is missing from {short:,} of them"
        numbers, concerned = share(pages, is_bad, **self.draws), bad.height
        if self.gold.height:
            # A page concerns the values wrong on it: its CER may be one of reading order alone.
            wrong = ~pl.col("right") & pl.col("doc_id").is_in(bad["doc_id"].implode())
            concerned = self.gold.filter(wrong).height
            claim += f"; wrong {self.nouns} on {'it' if bad.height == 1 else 'them'}: {concerned:,}"
        tip = "Look at these pages beside their text, the longest gap first."
        more = {"metric": "cer", "settings": settings_text(pages.row(0, named=True))}
        more |= {"n_docs": bad.height, "n_cases": bad.height, "at_least": float(concerned)}
        yield self._finding(claim, "pages", cases, tip, numbers=numbers, **more)

    def _weaknesses(self) -> Iterator[Finding]:
        """What is worse than the rest by test, each with its cause where that differs as well."""
        search = search_of(self.evaluation, answered=True)
        found = search.weaknesses(self.bar)
        for weakness, row in zip(found, slice_rows(search, found, **self.draws), strict=True):
            inside = pl.Series("inside", weakness.inside)
            errors = search.table.with_columns(inside).filter(~pl.col("right"))
            wrong, rest = errors.filter("inside"), errors.filter(~pl.col("inside"))
            more = {name: row[name] for name in ("p", "p_adjusted", "n_tested", "n_docs")}
            more["settings"] = f"{TEST}|holm<={self.bar:.3g}"
            more["at_least"] = max(np.nan_to_num(-row["difference_high"] * row["n_cases"]), 0.0)
            if weakness.columns:
                about, values = "slice", "the wrong values of this slice"
                claim = self._slice_claim(weakness.name, row, wrong)
                ends = ("difference", "difference_high", "difference_low")
                more |= {"numbers": [-row[end] for end in ends], "n_cases": row["n_cases"]}
            else:
                about, values = "documents", "the answers to these documents"
                names, of = wrong["doc_id"].unique().sort(), f"{errors.height:,} wrong values"
                claim = f"{len(names):,} of {search.count:,} documents"
                claim += f" {'holds' if len(names) == 1 else 'hold'} {wrong.height:,} of {of}"
                claim += f" ({', '.join(names)})" if len(names) < finding.FEW_DOCS else ""
                more |= {"numbers": share(errors, pl.col("inside"), **self.draws), "of": of}
            tip = f"Look at {values} beside their {'pages' if self.pages else 'gold'}."
            if cause := finding.cause_apart(wrong, rest):
                of_cause, tip = wrong.filter(cause=cause), self.advice(cause)
                words = offset_text(of_cause) if cause == OFFSET else IN_WORDS[cause]
                count = "all" if of_cause.height == wrong.height else f"{of_cause.height:,} of"
                claim += f"; in {count} {wrong.height:,} errors {words}"
            claim += f" ({p_text(weakness.p_adjusted)}, adjusted for {weakness.n_tested:,} tests)"
            yield self._finding(claim, about, wrong, tip, **more)

    def _slice_claim(self, name: str, row: dict[str, Any], wrong: pl.DataFrame) -> str:
        count, rate = row["n_cases"], f"{100 * row['value']:.0f} % of {row['n_cases']:,} values are"
        if not row["value"]:
            rate = f"none of {count:,} values is"
            if len(row["slice_by"]) == 1 and (wrong["outcome"] == "missing").all():
                lost = f"all {count:,}, in {row['n_docs']:,} documents, are missing"
                return f"{self.system} never gives a value where {name}: {lost}"
        return f"Where {name}, {rate} right, {100 * row['rest']:.0f} % elsewhere"

    def _causes(self) -> Iterator[Finding]:
        """The largest causes of error as counts: no test says that they are more than elsewhere."""
        # Unusable answers are findings by their status, and lost documents by themselves.
        elsewhere = [*STATUSES, finding.READER, finding.LABEL]
        is_wrong = ~pl.col("right") & _READABLE & pl.col("answered")
        errors = self.gold.filter(is_wrong)
        causes = ranked(errors.filter(~pl.col("cause").is_in(elsewhere)), "cause")
        tied = causes["count"].head(2).n_unique() < causes.head(2).height
        others = self.gold.filter(~pl.col("right")).height - errors.height
        rest = f" of usable answers ({others:,} without one)" if others else ""
        for place, (cause, count) in enumerate(causes.head(_CAUSES).iter_rows()):
            if place and count < _OF_ERRORS * errors.height:
                break
            of_cause = is_wrong & pl.col("cause").eq_missing(pl.lit(cause))
            rows, tip = self.gold.filter(of_cause), self.advice(cause)
            over = f"wrong {self.nouns}{rest}, in {counted(_documents(rows), 'document')}"
            part = f"{count:,} of {errors.height:,} {over}"
            words = IN_WORDS.get(cause, f"the cause is “{finding.word(cause)}”")
            claim = f"{'Often' if place or tied else 'Most often'} {words}: in {part} (not tested)"
            if _is_few(rows):
                claim = f"{part}: {words} ({_listed(rows)})"
            elif count == errors.height:
                claim = f"In all {count:,} {over}, {words} (not tested)"
            if cause == "missed" and (never := _never_given(self.gold, count)):
                claim += f"; {self.system} never gives {never}"
                tip = "Look whether the system knows these fields at all."
            yield self._count(of_cause, "cause", claim, tip)


def _documents(rows: pl.DataFrame) -> int:
    return rows["doc_id"].n_unique()


def _cases(part: Evaluation) -> pl.DataFrame:
    """The fields of a part: the gold's values that were scored, and those it does not have."""
    answered = pl.col("status").is_in(USABLE).any().over("doc_id")
    columns = *KEYS, "level", "status", "cause", "outcome"
    cases = part.scan("cases").with_columns(answered=answered).filter(finding.in_fields())
    right = pl.col("outcome") == "match"
    return cases.select(*columns, "answered", right=right, asked=of_gold()).collect()


def _pages(part: Evaluation) -> pl.DataFrame:
    """The CER of each page's text beside its cases, and whether half of the text is absent."""
    is_page = pl.col("metric") == "cer", pl.col("level") == "page", pl.col("value").is_not_nan()
    pages = part.scan("scores").filter(*is_page).drop("task", "path", "status")
    length = pl.col("pred").str.len_chars().fill_null(0)
    short = (length <= pl.col("gold").str.len_chars() / 2).alias("short")
    cases = part.scan("cases").filter(pl.col("path").is_null(), pl.col("gold").is_not_null())
    pages, cases = pages.unique("doc_id", maintain_order=True), cases.select(*KEYS, short)
    return pages.join(cases, on="doc_id", how="left", maintain_order="left_right").collect()


def _never_given(gold: pl.DataFrame, missed: int) -> str:
    """The fields that are missing wherever they were asked for, if these are most of the missed."""
    missing, docs = (pl.col("outcome") == "missing").all(), pl.col("doc_id").n_unique()
    never = gold.group_by(field=pattern()).agg(missing=missing, docs=docs, count=pl.len())
    never = never.filter("missing", pl.col("docs") >= finding.FEW_DOCS).sort("field")
    if 2 * never["count"].sum() <= missed:
        return ""
    more = f" and {counted(never.height - 2, 'more field')}" if never.height > 2 else ""
    return ", ".join(never["field"].head(2)) + more


def _is_few(rows: pl.DataFrame) -> bool:
    return rows.height < finding.FEW_CASES or _documents(rows) < finding.FEW_DOCS


def _listed(rows: pl.DataFrame) -> str:
    names = [f"{doc} {path or ''}".strip() for doc, _, path in finding.keys(rows).iter_rows()]
    return ", ".join(names[: finding.FEW_CASES]) + ", …" * (len(names) > finding.FEW_CASES)
