"""Every sentence against its own table: random tables in, each number and name looked up again.

Values tie, are undefined or all right; there are one document or many.
"""

import dataclasses
import math
import re

import numpy as np
import polars as pl
import pytest

from formlab import analysis
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


def compares(text):
    """Whether a sentence compares; what is at least so much compares nothing."""
    return COMPARES.search(text.replace("at least", ""))


def numbers(text):
    return {number.strip() for number in NUMBER.findall(text)}


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
    assert finding.p <= finding.p_adjusted <= 0.05
    assert finding.n_tested > 0
    assert 0 < finding.ci_low <= finding.effect <= finding.ci_high


@pytest.mark.parametrize("seed", SEEDS)
def test_sentence_about_systems_is_what_the_fields_show(seed):
    draw = np.random.default_rng(seed)
    first = random_evaluation(draw)
    shift = draw.choice([0.0, 0.0, 0.5])
    flip = pl.Series(draw.random(first.cases.height) < shift)
    cases = first.cases.with_columns(system=pl.lit("owl"))
    right = {"outcome": pl.lit("match"), "pred": "gold"}
    said = {name: pl.when(flip).then(to).otherwise(name) for name, to in right.items()}
    second = dataclasses.replace(first, system="owl", cases=cases.with_columns(**said))
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
            assert re.search(words, finding.claim).groups() == finding.systems
            better, worse = finding.systems
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
    # Values tie, are undefined, all 0, or random.
    moods = [math.nan] * 7, [0.0] * 7, draw.integers(0, 3, 7) * 0.75, draw.random(7) * 1.5
    several.append(pages_alone("parser", [float(value) for value in moods[draw.integers(0, 4)]]))
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
            # Answers that cannot be used are findings of their own.
            left_out = pl.col("cause").is_in(["reader", "refused"]).fill_null(False)
            mine = evaluation.cases.filter(~left_out, kind=kind[1])
            share = (mine["outcome"] == "match").mean()
            assert f"{share:.0%} of {mine.height:,}".replace("%", " %") in finding.claim
        if finding.about == "pages":
            cer = several[2].scores["value"].drop_nans()
            assert f"{(cer >= 0.5).sum()} of {cer.len()} pages" in finding.claim
            assert f"the mean is {cer.mean():.3f}" in finding.claim
