"""A finding: one sentence with what supports it; and the sentences on comparisons."""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from formlab import metrics, tables
from formlab.folders import Evaluation
from formlab.scoring.across import OFFSET, OTHER_DOCUMENT
from formlab.scoring.causes import IN_WORDS
from formlab.stats.exchange import drawn_p
from formlab.stats.tests import ALPHA, DEPENDS, documents_needed

NAN = float("nan")
# The verdict on two systems of which every answer is the same.
SAME = "="
Row = Mapping[str, Any]
# The share of gold values right, where a metric is named.
OUTCOME = "outcome"
# The columns that identify a case.
KEYS = ("doc_id", "task", "path")
# What a sentence calls the cases of a level.
COUNTED = {"field": "fields", "fact": "facts"}
COUNTED |= dict.fromkeys(("question", "check", "contradiction"), "answers")
# Below so many cases or documents they are listed, and a sentence does not say "often".
FEW_CASES, FEW_DOCS = 5, 3
# No claim may rest on these alone: formlab's own reading rule, and labels that may be wrong.
READER, LABEL = "reader", "label_error"
FINDINGS = tables.schema(
    "benchmark split system about finding effect:number ci_low:number ci_high:number "
    "at_least:number n_cases:int n_docs:int p:number p_adjusted:number n_tested:int holds:flag "
    "what_to_try metric settings"
)


@dataclasses.dataclass(frozen=True)
class Finding:
    """One sentence about an evaluation, and what it rests on.

    Text that calls something better or worse exists only as a finding that `holds`: a test by
    documents supports it, adjusted for all comparisons looked at.

    `claim` is the sentence, without a full stop; `about` is ``status``, ``documents``, ``cause``,
    ``extra``, ``slice``, ``kinds``, ``pages`` or ``systems``. `effect` is a share of what `of`
    says, such as ``268 fields``, or a difference, with its 95 % interval over documents; plain
    counts have no p. `at_least` counts the gold values that it surely concerns, by the lower end of
    that interval; of pages the wrong values on them. `systems` are the names of two that are
    compared, `cases` the `KEYS` of the cases behind it.
    """

    claim: str
    about: str
    holds: bool = True
    benchmark: str = ""
    split: str = ""
    system: str = ""
    effect: float = NAN
    ci_low: float = NAN
    ci_high: float = NAN
    at_least: float = 0.0
    n_docs: int = 0
    n_cases: int = 0
    p: float = NAN
    p_adjusted: float = NAN
    n_tested: int = 0
    what_to_try: str = ""
    metric: str = ""
    of: str = ""
    settings: str = ""
    systems: tuple[str, ...] = ()
    cases: pl.DataFrame = dataclasses.field(
        default_factory=lambda: pl.DataFrame(schema=dict.fromkeys(KEYS, pl.String)),
        compare=False,
        repr=False,
    )

    def __str__(self) -> str:
        return self.claim

    @property
    def is_share(self) -> bool:
        """Whether the effect is a share, from 0 to 1; a difference otherwise."""
        return self.about in ("status", "documents", "cause", "pages")

    @property
    def numbers(self) -> tuple[float, float, float]:
        """Effect and interval; a difference as its size, as the sentence says who is ahead."""
        if self.effect < 0:
            return -self.effect, -self.ci_high, -self.ci_low
        return self.effect, self.ci_low, self.ci_high

    @property
    def measure(self) -> str:
        """What the effect is: a share of what, or a difference in what."""
        if not self.is_share:
            is_of_values = self.metric in ("", OUTCOME)
            return f"difference in {'share right' if is_of_values else metrics.title(self.metric)}"
        pages, values = self.about == "pages", self.metric == OUTCOME
        of = "all pages" * pages or self.of or "all values" * values
        return f"of {of}" if of else ""


def finding_table(findings: Sequence[Finding]) -> pl.DataFrame:
    """A row for each finding, in their order: the schema `FINDINGS`."""
    rows = [vars(finding) | {"finding": finding.claim} for finding in findings]
    return pl.DataFrame(rows, schema=FINDINGS)


def origin(evaluation: Evaluation) -> dict[str, str]:
    """The columns of a finding that name its evaluation."""
    return {name: getattr(evaluation, name) for name in ("benchmark", "split", "system")}


def keys(cases: pl.DataFrame) -> pl.DataFrame:
    """The keys of the cases behind a finding, in their order."""
    return cases.select(KEYS).sort(KEYS)


def ranked(rows: pl.DataFrame, name: str) -> pl.DataFrame:
    """The values of a column and how many cases have each, the commonest first."""
    counts = rows[name].drop_nulls().value_counts()
    return counts.sort("count", name, descending=[True, False])


def cause_apart(
    wrong: pl.DataFrame, rest: pl.DataFrame, *, clear: Sequence[str] = (OTHER_DOCUMENT, OFFSET)
) -> str | None:
    """The commonest cause of some errors, if its share is larger than among the other errors.

    `clear` causes, which are told from many cases together, need no comparison.
    """
    causes = ranked(wrong, "cause")
    if not causes.height or causes["count"][0] < FEW_CASES:
        return None
    cause, count = causes.row(0)
    all_of_cause = count + rest.filter(cause=cause).height
    p = drawn_p(count, wrong.height, all_of_cause, wrong.height + rest.height)
    return cause if cause in clear or (p <= ALPHA and cause in IN_WORDS) else None


def in_fields() -> pl.Expr:
    """Whether a case stands at a path of a form, as those of `Evaluation.fields`."""
    return ~pl.col("level").is_in(tables.WHOLE_LEVELS)


def has_pages(*evaluations: Evaluation) -> bool:
    """Whether there is an image of any page to look at."""
    parts = (part for evaluation in evaluations for part in evaluation.parts())
    return any(part.documents["image"].count() for part in parts)


def cases_at(evaluation: Evaluation, places: Sequence[int], *where: pl.Expr) -> pl.DataFrame:
    """Of the cases `where` all is true those at some places, from 0, in the order of `places`."""
    wanted = pl.DataFrame({"_place": places}, schema={"_place": pl.UInt32})
    cases = evaluation.scan("cases").filter(*where).with_row_index("_place")
    found = cases.join(wanted.lazy(), on="_place", how="semi").collect(engine="streaming")
    return wanted.join(found, on="_place", maintain_order="left").drop("_place")


def word(name: str) -> str:
    """What a sentence calls a cause, a status or a column."""
    return name.replace("_", " ")


def counted(count: int, noun: str) -> str:
    """How many of something: ``1 document``, ``2 documents``."""
    return f"{count:,} {noun}{'s' * (count != 1)}"


def p_text(p: float) -> str:
    """p as text."""
    return "p < 0.0001" if p < 0.0001 else f"p = {p:.2g}"


def points(share: float) -> str:
    """A difference of shares with its sign, in percentage points."""
    return f"{100 * share:+.1f}".replace("-", "−")


def is_up(metric: str) -> bool:
    """Whether more of a metric is better."""
    return metric == OUTCOME or metrics.get(metric).direction == "up"


def verdict_sentence(table: pl.DataFrame, ranked: pl.DataFrame) -> str:
    """The one sentence of a comparison: who is better, on what and by how much, or that none is.

    Of two systems it names the kinds on which one is shown to do better. `table` and `ranked` are
    from `verdicts` and `ranks` of the same evaluations.
    """
    if not table.height:
        return "Neither a field nor a whole document was scored for both systems."
    over_all = table.filter(pl.col("slice_by").is_null())
    rows, *others = (of.to_dicts() for of in over_all.partition_by("metric", maintain_order=True))
    if all(row["verdict"] == SAME for row in rows):
        systems = dict.fromkeys(row[name] for row in rows for name in ("system_a", "system_b"))
        return f"{_identical([*systems], rows[0])}."
    if len(rows) > 1:
        names = ranked["system"].to_list()
        return ". ".join(_best_of_several(of, names) for of in (rows, *others)) + "."
    first, *pages = map(comparison_sentence, itertools.chain(rows, *others))
    kinds = significant_kinds(table)
    kinds = [f"On {word(row['slice_value'])}: {comparison_sentence(row)}" for row in kinds]
    return ". ".join([first, *kinds, *pages]) + "."


def significant_kinds(table: pl.DataFrame, most: int = 3) -> list[dict[str, Any]]:
    """The rows of kinds on which a difference is shown, the largest first.

    Kinds are tested beside all fields together, which may hide what one of them loses.
    """
    rows = tables.only(table, slice_by="kind").drop_nulls("better")
    return rows.sort(pl.col("difference").abs(), descending=True).head(most).to_dicts()


def comparison_sentence(row: Row) -> str:
    """The verdict on two systems, a row of `verdicts`, as one sentence without a full stop."""
    a, b, better, said = row["system_a"], row["system_b"], row["better"], _phrases(row)
    if row["verdict"] == SAME:
        return _identical([a, b], row)
    tested = f"{said['over']} (difference {said['size']}; {said['p']}{detectable_text(row)})"
    first, second = said["value_a"], said["value_b"]
    if better is None:
        rule = ", and which of them is ahead depends on the rule by which words go to fields"
        rule *= row.get("rules") == DEPENDS
        shown = f"No difference in {said['aspect']} was shown between {a} and {b}"
        return f"{shown}: {first} and {second} {tested}{rule}"
    if better == b:
        a, b, first, second = b, a, second, first
    return f"{a} {said['does']} than {b}: {first} against {second} {tested}"


def _best_of_several(rows: Sequence[Row], names: Sequence[str]) -> str:
    """The first system, from best to worst, that is shown to beat any, and whom it beats."""
    winners = [name for name in names if any(row["better"] == name for row in rows)]
    if not winners:
        most = max(rows, key=lambda row: np.nan_to_num(row["least_difference"]))
        aspect = _phrases(most)["aspect"]
        return f"No difference in {aspect} was shown among {_list(names)}{detectable_text(most)}"
    best, wins = winners[0], {}
    for row in rows:
        if row["better"] == best:
            wins[row["system_b"] if row["system_a"] == best else row["system_a"]] = row
    least = min(wins, key=lambda name: abs(wins[name]["difference"]))
    said = _phrases(wins[least])
    which = f"least ahead of {least}: " if len(wins) > 1 else ""
    details = f"{which}by {said['size']}; {said['counts']}, {said['p']}"
    rest = [name for name in names if name not in (best, *wins)]
    ends = f"; no difference from {_list(rest)} was shown" if rest else ""
    return f"{best} {said['does']} than {_list([*wins])} ({details}){ends}"


def detectable_text(row: Row) -> str:
    """The end of a sentence that says which difference would have been seen, if it was larger.

    With fewer than the documents that `n_tested` tests need, that nothing can be shown.
    """
    least, needed = row["least_difference"], documents_needed(ALPHA / max(row["n_tested"], 1))
    if row["n_docs"] < needed:
        documents = counted(row["n_docs"], "document")
        return f"; {documents}: nothing can be shown, {needed} are needed"
    if not abs(row["difference"]) < least < 1 or least < 0.005:
        return ""
    size = f"{100 * least:.2g} points" if row["metric"] == OUTCOME else f"{least:.2f}"
    return f"; a difference of about {size} would have been seen"


def _identical(systems: Sequence[str], row: Row) -> str:
    counts = _phrases(row)["counts"]
    return f"{_list(systems)} are identical: every answer is the same ({counts})"


def _phrases(row: Row) -> dict[str, str]:
    """The parts of a sentence on a comparison: its numbers, and what the better system does."""
    is_share, documents = row["metric"] == OUTCOME, counted(row["n_docs"], "document")

    def text(value: float, unit: str = "", sign: str = "") -> str:
        value_text = f"{100 * value:{sign}.1f}{unit}" if is_share else f"{value:{sign}.3f}"
        return value_text.replace("-", "−")

    # A difference has no sign where the sentence says who is ahead.
    sign, turn = ("+", 1) if row["better"] is None else ("", math.copysign(1, row["difference"]))
    size = text(turn * row["difference"], " points", sign)
    if not math.isnan(row["ci_low"]):
        ends = sorted(turn * row[end] for end in ("ci_low", "ci_high"))
        size += f", 95 % interval {' to '.join(text(end, sign=sign) for end in ends)}"
    p = p_text(row["p_holm"]) + f", adjusted for {row['n_tested']} tests" * (row["n_tested"] > 1)
    said = {f"value_{of}": text(row[f"value_{of}"], " %") for of in "ab"} | {"size": size}
    said["p"] = "a single document cannot be tested" if math.isnan(row["p_holm"]) else p
    if is_share:
        kind = f"{word(row['slice_value'])} values" if row["slice_value"] else "fields"
        counts = f"{row['n_cases']:,} fields in {documents}"
        said |= {"does": f"gets more {kind} right", "aspect": "fields right"}
        return said | {"counts": counts, "over": f"of {counts} are right"}
    aspect = f"{metrics.title(row['metric'])} of whole documents"
    said |= {"does": f"has the {'higher' if is_up(row['metric']) else 'lower'} {aspect}"}
    return said | {"aspect": aspect, "counts": documents, "over": f"over {documents}"}


def _list(names: Sequence[str]) -> str:
    """Names as a sentence lists them."""
    *first, last = names or [""]
    return f"{', '.join(first)} and {last}" if first else last
