"""What designed forms show of the planted system: its weaknesses, and nothing else."""

import polars as pl
import pytest

import formlab
from formlab.folders import Predictions
from formlab.tables import table
from formlab_experiments.design_analysis import design_effects, design_findings
from formlab_experiments.designs import design_plan
from tests.experiments.test_designs import made_gold
from tests.planted import planted

PLAN = {"fields": [5, 10, 20], "kinds": [1, 2, 4], "print": [6, 8, 12], "handwriting": [0, 1]}
EFFECT = ("term", "value", "difference")
WEAK = {"print 8", "print 12", "content date", "content total"}


def answered(corpus, system):
    """What a system answers, scored, without a run on disk."""
    read = system.start({}, 1)
    rows = [
        row | {"doc_id": document["doc_id"], "role": "prediction", "status": "ok",
               "benchmark": corpus.benchmark, "split": corpus.split, "system": system.name}
        for document in corpus.documents.to_dicts()
        for row in read(document, None)
    ]  # fmt: skip
    records = table("records", rows)
    responses = table("responses", [])
    predictions = Predictions(records=records, responses=responses, system=system.name)
    return formlab.evaluate(corpus, predictions)


@pytest.fixture(scope="module")
def evaluation():
    corpus = made_gold(design_plan(PLAN, replicates=2), 0)
    return answered(corpus, planted(corpus))


@pytest.fixture(scope="module")
def effect(evaluation):
    return design_effects(evaluation)


def test_what_is_planted_is_found_at_its_size_and_nothing_else(effect):
    shown = effect.filter(pl.col("p_adjusted").fill_nan(1) < 0.05)
    assert set(shown["term"] + " " + shown["value"]) == WEAK
    size = {f"{term} {value}": d for term, value, d in effect.select(EFFECT).iter_rows()}
    # Read are: of 6 contents 4 wholly, two thirds of dates, no totals; 97 of 100 of these.
    readable = 0.97 * (4 + 2 / 3) / 6
    # A third of the forms is too small for anything to be read.
    known = {"print 8": readable, "print 12": readable}
    known |= {"content date": -0.97 / 3 * 2 / 3, "content total": -0.97 * 2 / 3}
    assert {name: size[name] for name in known} == pytest.approx(known, abs=0.08)
    assert all(abs(size[name]) < 0.1 for name in ("kinds 4", "fields 20", "handwriting 1"))


def test_findings_say_what_holds_and_bring_the_wrong_values(evaluation, effect):
    findings = design_findings(evaluation, effect)
    assert findings[0].holds
    assert "more values are right than with print of 6 points" in findings[0].claim
    totals = next(f for f in findings if "With totals" in f.claim)
    assert totals.n_cases == totals.cases.height > 0
