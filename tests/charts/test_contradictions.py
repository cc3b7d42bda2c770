"""Every sentence against its own table: random tables in, each number and name looked up again.

Values tie, are undefined, all 0 or all 1; there are no rows, one document, or very many.
"""

import dataclasses
import math
import re

import numpy as np
import polars as pl
import pytest

from formlab import analysis, charts, tables
from formlab.analysis import Finding
from tests.analysis.made_pairs import made, pages_alone
from tests.seeds import seeds

SEEDS = seeds(60)
# Words that compare: only a finding that holds may say them.
COMPARES = re.compile(
    r"\b(best|better|worst|worse|weak(er|est)|strong(er|est)|most|more|fewer|least|less|leads?|"
    r"hard(er|est)|eas(ier|iest)|superior|outperforms)\b"
)
NUMBER = re.compile(r"[+−]?\d[\d,]*(?:\.\d+)?(?: ?%)?")
NAMES = ("ant", "bee", "cat", "dog", "elk")
# What sentences say of themselves: the level of intervals and the number of a cell's axes.
FIXED = {"95 %", "1", "0", "5", "0.0001"}


def compares(text):
    """Whether a sentence compares; what is at least so much compares nothing."""
    return COMPARES.search(text.replace("at least", ""))


def values(draw, count, scale=1.0):
    """Values in one of several moods: undefined, all the same, tied, random."""
    mood = draw.integers(0, 6)
    if mood < 2:
        return [float("nan") if mood == 0 else float(draw.integers(0, 2)) * scale] * count
    if mood == 2:
        return [float(x) * scale for x in draw.integers(0, 3, count) / 2]
    return [float("nan") if draw.random() < 0.15 else float(x) * scale for x in draw.random(count)]


def counts(draw):
    docs = int(draw.choice([1, 2, 7, 40, 100_000]))
    return {"n_docs": docs, "n_cases": docs * int(draw.integers(1, 30))}


def ends(draw, value):
    if draw.random() < 0.2 or value != value:
        return {"ci_low": float("nan"), "ci_high": float("nan")}
    return {"ci_low": value - float(draw.random()), "ci_high": value + float(draw.random())}


def shown(value):
    """Every way in which a sentence may write a number."""
    if value is None or value != value:
        return set()
    forms = {f"{value:,.{d}f}".replace("-", "−") for d in (0, 1, 2, 3)}
    forms |= {f"{value:+,.{d}f}".replace("-", "−") for d in (2, 3)}
    forms |= {form.removeprefix("+") for form in forms}
    # What rounds to 0 is written with and without a sign.
    forms |= {form.removeprefix("−") for form in forms if not re.search("[1-9]", form)}
    forms |= {f"{value:.0%}", f"{value:.1%}".replace("%", " %"), f"{value:.2g}", f"{value:.3g}"}
    return forms


def numbers(text):
    return {number.strip() for number in NUMBER.findall(text)}


def check(text, *frames, more=()):
    """Each number of the sentence is one of its tables, and nothing in it compares."""
    known = FIXED | set(map(str, more))
    for values in (frame[name] for frame in frames for name in frame.columns):
        if values.dtype.is_numeric():
            known |= {form for value in values for form in shown(value)}
    assert numbers(text) <= known, (text, numbers(text) - known)
    assert not compares(text), text
    assert "nan" not in text.split()


def random_evaluation(draw, name="fox"):
    docs = int(draw.choice([1, 4, 9, 25]))
    gaps = draw.random(3) * draw.choice([0, 0.6])
    causes = ("digit", "case", "reader", "label_error")
    sure = draw.random() < 0.1
    rows = []
    for doc in range(docs):
        ease = draw.uniform(0.2, 1.0)
        for n in range(int(draw.integers(1, 12))):
            right = sure or draw.random() < ease - gaps[n % 3]
            cause = None if right else str(draw.choice(causes))
            kind = NAMES[n % 3] if draw.random() > 0.05 else None
            case = {"kind": kind, "cause": cause}
            if not right and draw.random() < 0.2:
                case |= {"status": "refused", "cause": "refused", "outcome": "missing"}
            rows.append((f"{doc:02}", f"/{n}", int(right), case))
    return made(name, rows)


def supported(finding: Finding):
    assert finding.holds
    assert finding.p_adjusted <= 0.05
    assert finding.p_adjusted >= finding.p
    assert finding.n_tested > 0
    assert finding.ci_low > 0 or finding.ci_high < 0


@pytest.mark.parametrize("seed", SEEDS)
def test_sentence_about_systems_is_what_the_fields_show(seed):
    draw = np.random.default_rng(seed)
    first = random_evaluation(draw)
    shift = draw.choice([0.0, 0.0, 0.5])
    flip = pl.Series(draw.random(first.cases.height) < shift)
    cases = first.cases.with_columns(pl.lit("owl").alias("system"))
    outcome = pl.when(flip).then(pl.lit("match")).otherwise("outcome").alias("outcome")
    second = dataclasses.replace(first, system="owl", cases=cases.with_columns(outcome))
    ground = analysis.common([first, second]).evaluations
    table = analysis.verdicts(ground, resamples=200, permutations=499)
    findings = analysis.tell_apart(ground, table)
    counted = table.filter(pl.col("slice_by").is_null()).row(0, named=True)
    for finding in findings:
        if finding.metric != "outcome":
            continue
        alone = {"fox": counted["only_a"], "owl": counted["only_b"]}
        if finding.holds:
            supported(finding)
            words = r"(\w+) gets more (?:\w+ values|fields) right than (\w+)"
            better, worse = re.search(words, finding.claim).groups()
            if " fields right" in finding.claim.removeprefix(f"{better} gets more"):
                assert alone[better] > alone[worse]
                assert f"{counted['n_cases']:,} fields" in finding.claim
        else:
            assert not compares(finding.claim), finding.claim
            assert sum(alone.values()) or "identical" in finding.claim or "and" in finding.claim


@pytest.mark.parametrize("seed", SEEDS)
def test_sentences_over_all_evaluations_are_counts_or_hold(seed):
    draw = np.random.default_rng(seed)
    several = [random_evaluation(draw), random_evaluation(draw, "owl")]
    several.append(pages_alone("parser", values(draw, 7, 1.5)))
    for finding in analysis.findings(several, most=None, resamples=100, seed=seed):
        if compares(finding.claim) or finding.about in ("slice", "kinds", "systems"):
            supported(finding)
        (evaluation,) = [e for e in several if e.system == finding.system] or [None]
        if finding.about in ("status", "cause", "documents"):
            assert {f"{finding.n_cases:,}", f"{finding.n_docs:,}"} & numbers(finding.claim)
            keys = ["doc_id", "path"]
            behind = evaluation.cases.join(finding.cases, on=keys, how="semi")
            assert behind.height == finding.n_cases == finding.cases.height
            assert (behind["outcome"] != "match").all()
            if math.isnan(finding.p):
                assert not behind["cause"].is_in(["reader", "label_error"]).any()
        kind = re.match(r"Where kind is (\w+), \d", finding.claim)
        if finding.about == "slice" and kind:
            name = kind[1]
            mine = evaluation.cases.filter(
                pl.col("kind") == name, pl.col("cause").ne_missing("reader")
            )
            share = (mine["outcome"] == "match").mean()
            assert f"{share:.0%} of {mine.height:,}".replace("%", " %") in finding.claim
        if finding.about == "pages":
            cer = several[2].scores["value"].drop_nans()
            assert f"{(cer >= 0.5).sum()} of {cer.len()} pages" in finding.claim
            assert f"the mean is {cer.mean():.3f}" in finding.claim


@pytest.mark.parametrize("seed", SEEDS)
def test_cards_of_a_summary(seed):
    draw = np.random.default_rng(seed)
    metrics = ("click_accuracy", "value_found_accuracy", "form_completed")
    rows = tables.table("summary", [
        {
            "benchmark": "b", "split": "s", "system": "fox", "metric": metric, "level": "field",
            "value": value, "n_missing": 0, "n_undefined": 0, "settings": tables.Settings(),
        } | counts(draw) | ends(draw, value)
        for metric, value in zip(metrics, values(draw, 3), strict=True) if draw.random() > 1 / 6
    ])  # fmt: skip
    check(str(charts.score_cards(rows, dict(zip(metrics, "abc", strict=True)))), rows)
