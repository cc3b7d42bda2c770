"""The header of a report: an answer, numbers, significant findings and the coverage of each run."""

import dataclasses
import math
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

import polars as pl

from formlab.analysis.finding import OUTCOME, Finding, counted, word
from formlab.analysis.overview import failures, runs
from formlab.charts.escaping import clean
from formlab.charts.html import Shown, cell, number
from formlab.charts.words import sentences, span
from formlab.folders import Evaluation

# How many of each: more do not fit a window.
_CARDS, _FINDINGS, _NAMED = 4, 5, 3
Row = Mapping[str, Any]


class Card(NamedTuple):
    """One number and what it means: `note` says of how many, or between which bounds."""

    label: str
    value: str | float | None
    note: str = ""


@dataclasses.dataclass(frozen=True)
class Cards(Shown):
    """Number cards under one sentence; the header of a report with findings and runs below.

    The first `Cards` of a notebook stands for its report in the index. A sentence that is the first
    of `findings`, as from `first_screen`, is not said again; many `runs` are folded away.

    >>> print(Cards([Card("Exact", 0.5, "n = 8")], finding="Half the fields are right."))
    Half the fields are right.
    Exact: 0.500 (n = 8)
    """

    kind: ClassVar[str] = "cards"
    cards: Sequence[Card]
    finding: str = ""
    findings: Sequence[Row] = ()
    runs: Sequence[str] = ()

    @property
    def data(self) -> dict[str, Any]:
        """What the templates take, the values of cards as text."""
        return vars(self) | {"cards": [c._asdict() | {"value": cell(c.value)} for c in self.cards]}


def score_cards(rows: pl.DataFrame, titles: Mapping[str, str], names: Sequence[str] = ()) -> Cards:
    """A card for each row of these metrics that has a value, with its interval and counts.

    Cards stand in the order of `titles`; rows of metrics without a title are left out. `names` are
    columns whose value tells apart the cards of one metric.

    >>> row = {"system": "ocr", "metric": "cer", "value": 0.25, "ci_low": 0.2, "ci_high": 0.3,
    ...     "n_docs": 9, "n_cases": 80}
    >>> print(score_cards(pl.DataFrame([row]), {"cer": "CER"}))
    CER: 0.250 (95 % interval 0.200 to 0.300, n = 80 in 9 documents)
    """
    rows = rows.filter(pl.col("metric").is_in(list(titles)), pl.col("value").is_finite())
    rows = rows.sort(pl.col("metric").cast(pl.Enum(list(titles))), maintain_order=True)
    cards = []
    for row in rows.iter_rows(named=True):
        values = ", ".join(clean(row[name], limit=60) for name in names if row[name])
        label = titles[row["metric"]] + f" of {values}" * bool(values)
        cards.append(Card(label, row["value"], span(row)))
    return Cards(cards)


def first_screen(
    results: Sequence[Evaluation],
    findings: Sequence[Finding] = (),
    *,
    cards: Cards | Sequence[Card] | None = None,
    sentence: str = "",
) -> Cards:
    """The header of a report, which also stands for it in the index.

    The `sentence` is the first finding that holds, if left out; if none does, what the first one
    says, or how many values are right. Up to five findings that hold follow, each with its effect,
    95 % interval and n, a link to its cases (``#finding=N``: N counts `findings` from 1, held or
    not, as `gallery.errors` does) and what to try; then what was run and how much was answered. At
    most four `cards` are shown: the share of values right in each of four evaluations, if left out.

    >>> print(first_screen([]))
    Nothing was scored.
    """
    counts = runs(results).to_dicts()
    # What all evaluations have in common is not named again and again.
    several = len({(row["benchmark"], row["split"]) for row in counts}) > 1
    named = ["system", *["benchmark"] * several] * (len(counts) > 1)
    held = [(place, finding) for place, finding in enumerate(findings, 1) if finding.holds]
    shown = [_finding(finding, place, named) for place, finding in held[:_FINDINGS]]
    scored = [(row, of) for row in counts if (of := _scored(row))]
    texts = [": ".join(filter(None, [_name(row, named), of[1]])) for row, of in scored]
    claims = [row["claim"] for row in shown] or [one.claim for one in findings if scored]
    sentence = sentence or [*claims, "; ".join(texts[:_NAMED])][0] or "Nothing was scored"
    if cards is None and len(scored) <= _CARDS:
        cards = [Card(_name(row, named or ["system"]), *of) for row, of in scored]
    made = cards.cards if isinstance(cards, Cards) else cards or []
    lines = [_run(row, one) for row, one in zip(counts, results, strict=True)]
    return Cards(list(made)[:_CARDS], sentences(sentence), shown, lines)


def _name(row: Row, named: Sequence[str] = ("system", "benchmark")) -> str:
    of = {"system": row["system"], "benchmark": f"{row['benchmark']}:{row['split']}"}
    return " on ".join(of[name] for name in named if of[name])


def _scored(row: Row) -> tuple[str, str] | None:
    """What an evaluation has right, as a number and in words; of texts alone the CER of pages."""
    if row["values"]:
        share = f"{100 * row['right'] / row['values']:.1f} %"
        return share, f"{row['right']:,} of {row['values']:,} values right"
    cer = row["page_cer"]
    return None if cer is None else (number(cer), f"mean CER of pages {number(cer)}")


def _run(row: Row, evaluation: Evaluation) -> str:
    """What was run and how much was answered; failures by the status of their answers."""
    line = f"{_name(row)}: {row['answered']:,} of {row['documents']:,} documents answered"
    line += f", {scored[1]}" if (scored := _scored(row)) else ""
    line += f", {row['spurious']:,} more predicted without gold" * (row["spurious"] > 0)
    if failed := failures(evaluation):
        texts = (f"{word(status)} in {counted(n, 'document')}" for status, n in failed.items())
        line += f"; answers that could not be used: {', '.join(texts)}"
    if gone := [*evaluation.unreadable]:
        files = ", ".join(gone[:_NAMED]) + ", …" * (len(gone) > _NAMED)
        line += f"; gold left out, unreadable: {len(gone):,} ({files})"
    return line


def _finding(finding: Finding, place: int, named: Sequence[str]) -> dict[str, Any]:
    """A finding as it is shown: its sentences, its effect in words and what to try."""
    # The sentences about several systems begin with one.
    where = _name(vars(finding) | {"system": "" if finding.systems else finding.system}, named)
    claim, effect = finding.claim, ""
    if not math.isnan(finding.effect):
        # All shares of a header are in percent, and their differences in points.
        share, points = finding.is_share, finding.metric in ("", OUTCOME)
        scale, digits = (100, 1) if share or points else (1, 3)
        numbers = finding.effect, finding.ci_low, finding.ci_high
        size, *ends = (number(scale * x, digits) + " %" * share for x in numbers)
        size += " points" * (points and not share)
        size = f"{size} {finding.measure}" if share else f"{finding.measure} {size}"
        interval = f", 95 % interval {' to '.join(ends)}" * (not math.isnan(finding.ci_low))
        n = counted(finding.n_docs, "document")
        n = f"{finding.n_cases:,} in {n}" if finding.about != "pages" and finding.n_cases else n
        # What the sentence says is not said twice.
        effect = f"{size.strip()}{interval}, " * ("interval" not in claim) + f"n = {n}"
    if where and not claim.startswith(f"{where} "):
        claim = f"{where}: {claim}"
    row = {"claim": sentences(claim), "effect": effect, "place": place}
    return row | {"linked": finding.cases.height > 0, "try": finding.what_to_try}


def right_of(system: str, cases: pl.DataFrame, by: str | None = None, *, of: str = "fields") -> str:
    """What a system has right, of all `cases` and of each part of them, the best part first.

    `cases` have `gold` and `outcome`; what has no gold, or is not scored, does not count, and of
    none there is no sentence. `by` is a column whose values are the parts, `of` what cases are
    called, in the plural.

    >>> rows = [("date", "1", "match"), ("date", "2", "match"), ("mark", "x", "missing")]
    >>> cases = pl.DataFrame(rows, ["kind", "gold", "outcome"], orient="row")
    >>> right_of("ocr", cases, "kind")
    'ocr has 2 of 3 fields right: date 2 of 2, mark 0 of 1'
    """
    cases = cases.drop_nulls("gold").filter(pl.col("outcome").ne_missing("unscored"))
    counts = {"right": (pl.col("outcome") == "match").sum().cast(int), "n": pl.len().cast(int)}
    right, n = cases.select(**counts).row(0)
    text = f"{clean(system, limit=60)} has {right:,} of {n:,} {of} right" * (n > 0)
    if by is None or cases[by].drop_nulls().n_unique() < 2:
        return text
    parts = cases.drop_nulls(by).group_by(by).agg(**counts)
    parts = parts.sort(-(pl.col("right") / pl.col("n")), -pl.col("right"), "n", by).iter_rows()
    named = [f"{clean(str(p), limit=60) or '–'} {right:,} of {n:,}" for p, right, n in parts]
    # Of many parts the two ends are named.
    named = named if len(named) <= 6 else [*named[:2], "…", *named[-2:]]
    return f"{text}: {', '.join(named)}"
