"""What a report says first: one sentence, its numbers, the findings that hold, what was run."""

from __future__ import annotations

import dataclasses
import html
import math
from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from formlab.analysis.comparability import of_gold
from formlab.analysis.finding import KEYS, Finding, in_fields
from formlab.analysis.overview import failures, runs
from formlab.charts._output import bundle, clean, number
from formlab.charts._words import sentences
from formlab.charts.show import Card, Cards, card_boxes
from formlab.charts.waterfall import SUMMARY, boxes, lines, waterfall
from formlab.folders import Evaluation
from formlab.tables import LEVELS

# How many of each: more do not fit a window.
_CARDS, _FINDINGS, _RUNS, _NAMED = 4, 5, 3, 3
_FAILED = "answers that could not be used"
# What a sentence may begin with besides the name of a system or a number.
_FIRST_WORDS = {
    "The", "One", "Another", "All", "No", "Of", "For", "Where", "Most", "Often", "In",
}  # fmt: skip


def first_screen(
    results: Evaluation | Sequence[Evaluation],
    findings: Finding | Sequence[Finding] = (),
    *,
    cards: Cards | Sequence[Card] | None = None,
    sentence: str = "",
) -> FirstScreen:
    """What a report says first; it also stands for the report in the index.

    The sentence is the first finding that holds; if none does, that nothing was shown. Up to five
    findings that hold follow, each with its effect, 95 % interval and n, a small picture of these,
    a link to its wrong cases (``#finding=N``: N counts `findings` from 1, held or not, as
    `gallery.errors` does) and what to try; then what was run and how much of it was answered.
    A small waterfall shows what fixing each stage would gain (`what_if`), a row leads to its cases;
    those of all evaluations but the first fold away.

    Parameters
    ----------
    results
        The evaluations that the report is of.
    findings
        Of `analysis.findings`, `kinds` or `tell_apart`, over these evaluations.
    cards
        At most four are shown; the share of values right in each evaluation, if left out.
    sentence
        Takes the place of the first finding, which then joins the others.

    Examples
    --------
    >>> print(first_screen([]))
    Nothing was scored.
    """
    results = [results] if isinstance(results, Evaluation) else list(results)
    findings = [findings] if isinstance(findings, Finding) else list(findings)
    counts = runs(results).to_dicts()
    named = _differing(counts)
    shown = [
        _Row(finding, place, _wrong(finding, results), _name(vars(finding), named))
        for place, finding in enumerate(findings, 1)
        if finding.holds
    ][:_FINDINGS]
    lead = bool(shown) and not sentence
    if lead:
        sentence = shown[0].alone
    elif not sentence:
        sentence = _nothing(counts, findings)
    made = cards.cards if isinstance(cards, Cards) else _cards(counts) if cards is None else cards
    ran = [_run(row, one) for row, one in zip(counts, results, strict=True)]
    gains = [
        waterfall(one, _name(row, named or ("system",)), whose=len(results) > 1)
        for row, one in zip(counts, results, strict=True)
    ]
    falls = [gain for gain in gains if gain]
    return FirstScreen(sentences(sentence), [*made][:_CARDS], shown, ran, lead=lead, gains=falls)


def _differing(counts: Sequence[Mapping[str, Any]]) -> Sequence[str]:
    """What tells the evaluations apart: what all have in common is not named again and again."""
    if len(counts) < 2:
        return ()
    corpora = {(row["benchmark"], row["split"]) for row in counts}
    return ("system",) if len(corpora) == 1 else ("system", "benchmark")


def _name(row: Mapping[str, Any], named: Sequence[str] = ("system", "benchmark")) -> str:
    # The sentences about kinds and systems begin with the system.
    of = {"system": row["system"], "benchmark": f"{row['benchmark']}:{row['split']}"}
    if row.get("about") in ("kinds", "systems"):
        of.pop("system")
    return " on ".join(of[name] for name in named if of.get(name))


def _nothing(counts: Sequence[Mapping[str, Any]], findings: Sequence[Finding]) -> str:
    """The sentence where no finding holds: the first one's own, or the counts."""
    values, right = (sum(row[name] for row in counts) for name in ("values", "right"))
    if not values and all(row["page_cer"] is None for row in counts):
        return "Nothing was scored"
    if findings:
        return findings[0].claim
    if not values:
        pages = sum(row["documents"] for row in counts)
        return f"No finding stands out in the {pages:,} documents that were read"
    if right == values:
        return f"All {values:,} values are right"
    wrong, are = values - right, "is" if values - right == 1 else "are"
    return f"{wrong:,} of {values:,} values {are} not right, and no finding stands out"


def _cards(counts: Sequence[Mapping[str, Any]]) -> list[Card]:
    """The share of values right in each evaluation; of texts alone the mean CER of pages."""
    made = []
    for row in counts:
        of = f": {_name(row, named)}" if (named := _differing(counts)) else ""
        if row["values"]:
            note = f"{row['right']:,} of {row['values']:,} values"
            made.append(Card(f"values right{of}", row["right"] / row["values"], note))
        elif row["page_cer"] is not None:
            made.append(Card(f"CER of pages{of}", row["page_cer"], "mean over pages"))
    return made


def _run(row: Mapping[str, Any], evaluation: Evaluation) -> str:
    """What was run and how much was answered; failures by the status of their answers."""
    line = f"{_name(row)}: {row['answered']:,} of {row['documents']:,} documents answered"
    if row["values"]:
        line += f", {_right(row, evaluation)}"
    elif row["page_cer"] is not None:
        line += f", mean CER of pages {number(row['page_cer'])}"
    failed = [
        f"{status.replace('_', ' ')} in {count:,} document{'s' * (count != 1)}"
        for status, count in failures(evaluation).items()
    ]
    line += f"; {_FAILED}: {', '.join(failed)}" if failed else ""
    if gone := [*evaluation.unreadable]:
        more = ", …" if len(gone) > _NAMED else ""
        line += f"; gold left out, unreadable: {len(gone):,} ({', '.join(gone[:_NAMED])}{more})"
    return line


def _right(row: Mapping[str, Any], evaluation: Evaluation) -> str:
    """How many values are right, by level where there are several, and what the gold has not."""
    text = f"{row['right']:,} of {row['values']:,} values right"
    counts = evaluation.gathered(_by_level).group_by("level").sum()
    counts = counts.sort(pl.col("level").replace_strict({n: i for i, n in enumerate(LEVELS)}))
    if counts.height > 1:
        levels = [
            f"{right:,} of {of:,} {name}{'es' if name == 'stretch' else 's'}"
            for name, right, of in counts.iter_rows()
        ]
        text += f" ({', '.join(levels)})"
    return text + (f", {row['spurious']:,} more predicted without gold" if row["spurious"] else "")


def _by_level(part: Evaluation) -> pl.DataFrame:
    asked = part.scan("cases").filter(in_fields(), of_gold())
    right = (pl.col("outcome") == "match").sum()
    return asked.group_by("level").agg(right=right, values=pl.len()).collect()


@dataclasses.dataclass(frozen=True)
class _Row:
    """One finding as it is shown: its place among all, its wrong cases, what it is of."""

    finding: Finding
    place: int
    wrong: int
    where: str

    @property
    def alone(self) -> str:
        """The sentence where nothing beside it says what it is of."""
        claim = self.finding.claim
        if not self.where or claim.startswith(f"{self.where} "):
            return claim
        # The name of a system keeps its letters.
        starts = claim.partition(" ")[0] in _FIRST_WORDS
        return f"{self.where}: {claim[:1].lower() + claim[1:] if starts else claim}"

    @property
    def numbers(self) -> tuple[float, float, float]:
        """Effect and interval; a difference as its size, as the sentence says who is ahead."""
        return self.finding.numbers

    @property
    def effect(self) -> str:
        """Effect, interval and n in words."""
        one, (value, low, high) = self.finding, self.numbers
        if math.isnan(value):
            return ""
        show = _percent if one.is_share else number
        text = [show(value), one.measure] if one.is_share else [one.measure, show(value)]
        docs = f"{one.n_docs:,} document{'s' * (one.n_docs != 1)}"
        of = docs if one.about == "pages" or not one.n_cases else f"{one.n_cases:,} in {docs}"
        span = "" if math.isnan(low) else f", 95 % interval {show(low)} to {show(high)}"
        return f"{' '.join(filter(None, text))}{span}, n = {of}"

    def payload(self, ends: Sequence[float]) -> dict[str, Any]:
        """The finding as ``words.js`` draws it, on an axis with these ends if no share."""
        one = self.finding
        value, low, high = (round(x, 6) if math.isfinite(x) else None for x in self.numbers)
        return {
            "claim": clean(sentences(one.claim), limit=600), "where": clean(self.where, limit=200),
            "effect": clean(self.effect, limit=300), "share": one.is_share, "value": value,
            "low": low, "high": high, "ends": [0, 1] if one.is_share else list(ends),
            # Of two systems a field is behind the finding because only one of them has it right.
            "behind": "flipped field" if one.about == "systems" else "wrong case",
            "place": self.place, "wrong": self.wrong, "try": clean(one.what_to_try, limit=400),
        }  # fmt: skip


def _percent(share: float) -> str:
    return f"{number(100 * share, 1)} %"


def _wrong(finding: Finding, results: Sequence[Evaluation]) -> int:
    """How many of the cases behind a finding are wrong, each counted once over its systems."""
    behind, of = finding.cases, finding.system
    rows = [
        part.scan("cases").filter(~pl.col("outcome").is_in(["match", "unscored"]))
        .join(behind.lazy(), on=KEYS, how="semi", nulls_equal=True)
        # What the gold does not have is known by its place in the answer.
        .select("doc_id", "task", pl.coalesce("path", "pred_path")).collect()
        for one in results
        if (one.benchmark, one.split) == (finding.benchmark, finding.split)
        and (of == one.system or f", {one.system}, " in f", {of}, ")
        for part in one.parts()
    ]  # fmt: skip
    return pl.concat(rows).n_unique() if rows and behind.height else 0


@dataclasses.dataclass(frozen=True)
class FirstScreen:
    """The first screen of a report; made by `first_screen`."""

    sentence: str
    cards: Sequence[Card]
    rows: Sequence[_Row]
    runs: Sequence[str]
    lead: bool = False
    gains: Sequence[Mapping[str, Any]] = ()

    def __str__(self) -> str:
        text = [self.sentence, *str(Cards(self.cards)).splitlines()]
        for row in self.rows:
            text.append(f"- {sentences(row.alone, row.effect)}")
        text += [line for gain in self.gains for line in lines(gain)]
        return "\n".join(clean(line, limit=2_000) for line in (*text, *self.runs) if line)

    @property
    def payload(self) -> dict[str, Any]:
        """What ``words.js`` draws."""
        shown = [row.payload(self._ends) for row in self.rows]
        for place, row in enumerate(shown):
            # The same advice is given once.
            if any(row["try"] == earlier["try"] for earlier in shown[:place]):
                row["try"] = ""
        return {
            "sentence": clean(self.sentence, limit=600),
            "lead": self.lead,
            "cards": [card.shown for card in self.cards],
            "findings": shown,
            "gains": {"title": f"{SUMMARY}, in points", "figures": list(self.gains)},
            "runs": [clean(text, limit=600) for text in self.runs],
            # More evaluations than so many fold away.
            "open": len(self.runs) <= _RUNS,
            "ran": self._ran,
        }

    @property
    def _ran(self) -> str:
        """What stands over the runs where they fold away."""
        failed = sum(_FAILED in run for run in self.runs)
        text = f"{len(self.runs):,} evaluations: what was run, and how much was answered"
        return f"{text}; answers of {failed:,} could not be used" if failed else text

    @property
    def _ends(self) -> tuple[float, float]:
        """The ends of the axis that all differences share, to the next tenth."""
        known = [
            x
            for row in self.rows
            for x in row.numbers
            if not row.finding.is_share and math.isfinite(x)
        ]
        low, high = min([0.0, *known]), max([0.0, *known])
        return math.floor(low * 10) / 10, math.ceil(high * 10) / 10

    def _repr_mimebundle_(self, **_: object) -> dict[str, Any]:
        payload = self.payload
        items = "".join(
            f"<li><b>{html.escape(row['claim'])}</b> {html.escape(row['where'])}"
            f"{_track(row)}<div>{html.escape(row['effect'])}</div>"
            f"<small>{html.escape(row['try'])}</small></li>"
            for row in payload["findings"]
        )
        ran = "".join(f"<small><div>{html.escape(text)}</div></small>" for text in payload["runs"])
        page = (
            f'<p style="font-size:18px"><b>{html.escape(payload["sentence"])}</b></p>'
            f"{card_boxes(payload['cards'])}<ol>{items}</ol>"
            f"{''.join(map(boxes, self.gains))}{ran}"
        )
        return bundle("first", payload, str(self), page)


def _track(row: dict[str, Any]) -> str:
    """A point with its interval on a line, as boxes that JupyterLab shows."""
    low, high = row["ends"]
    if row["value"] is None or high <= low:
        return ""
    place = [
        None if x is None else 100 * (min(max(x, low), high) - low) / (high - low)
        for x in (row["low"], row["value"], row["high"])
    ]
    span = ""
    if place[0] is not None:
        span = (
            f'<div style="position:absolute;top:7px;height:2px;background:#0072B2;'
            f'left:{place[0]:.1f}%;width:{place[2] - place[0]:.1f}%"></div>'
        )
    return (
        '<div style="position:relative;width:220px;height:16px;border-bottom:1px solid #8885">'
        f'{span}<div style="position:absolute;top:4px;width:8px;height:8px;border-radius:4px;'
        f'background:#0072B2;left:calc({place[1]:.1f}% - 4px)"></div></div>'
    )
