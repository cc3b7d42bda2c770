"""A finding: one sentence with what supports it, and the words of sentences."""

import dataclasses
import functools
from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from formlab import metrics, tables
from formlab.folders import Evaluation
from formlab.scoring.across import OFFSET, OTHER_DOCUMENT
from formlab.scoring.causes import IN_WORDS
from formlab.stats.tests import ALPHA, drawn_p

NAN = float("nan")
Row = Mapping[str, Any]
# The share of gold values right, where a metric is named.
OUTCOME = "outcome"
# The columns that identify a case.
KEYS = ("doc_id", "task", "path")
_NO_CASES = functools.partial(pl.DataFrame, schema=dict.fromkeys(KEYS, pl.String))
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
    ``extra``, ``slice``, ``pages`` or ``systems``. `effect` is a share of what `of` says, such as
    ``268 fields``, or a difference, with its 95 % interval over documents; plain counts have no p.
    `at_least` counts the values that it surely concerns: of a test by the interval's lower end, of
    pages the wrong ones on them. `systems` are two that are compared, `cases` the `KEYS` behind.
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
    cases: pl.DataFrame = dataclasses.field(default_factory=_NO_CASES, compare=False, repr=False)

    def __str__(self) -> str:
        return self.claim

    @property
    def is_share(self) -> bool:
        """Whether the effect is a share, from 0 to 1; a difference otherwise."""
        return self.about in ("status", "documents", "cause", "pages")

    @property
    def measure(self) -> str:
        """What the effect is: a share of what, or a difference in what."""
        if not self.is_share:
            is_of_values = self.metric in ("", OUTCOME)
            return f"difference in {'share right' if is_of_values else metrics.title(self.metric)}"
        values = "all pages" if self.about == "pages" else "all values" * (self.metric == OUTCOME)
        return f"of {of}" if (of := self.of or values) else ""


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
    return rows[name].drop_nulls().value_counts().sort("count", name, descending=[True, False])


def cause_apart(
    wrong: pl.DataFrame, rest: pl.DataFrame, *, clear: Sequence[str] = (OTHER_DOCUMENT, OFFSET)
) -> str | None:
    """The commonest cause of some errors if it is `clear`, or rarer among the other errors."""
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
