"""What designed forms show of the planted system: its weaknesses, and nothing else."""

import polars as pl
import pytest

import formlab
from formlab.folders import Predictions
from formlab.tables import table
from formlab_experiments.design_analysis import (
    design_effects,
    design_findings,
)  # fmt: skip
from formlab_experiments.designs import design_plan
from tests.experiments.test_designs import made_gold
from tests.planted import planted
from tests.seeds import ALL

SEEDS, MOST = (10, 3) if ALL else (4, 2)
PLAN = {"fields": [5, 10, 20], "kinds": [1, 2, 4], "print": [6, 8, 12], "handwriting": [0, 1]}
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
def tables():
    """A plan, its contents and the system's misses anew for each seed."""
    results = []
    for seed in range(SEEDS):
        corpus = made_gold(design_plan(PLAN, replicates=2, seed=seed), seed)
        evaluation = answered(corpus, planted(corpus, seed=seed))
        results.append((evaluation, design_effects(evaluation)))
    return results


def found(effect):
    rows = effect.filter(pl.col("p_adjusted").fill_nan(1) < 0.05)
    return set((rows["term"] + " " + rows["value"]).to_list())


def test_what_is_planted_is_found_every_time(tables):
    for _, effect in tables:
        assert found(effect) >= WEAK


def test_nothing_else_is_found_at_the_stated_level(tables):
    others = [found(effect) - WEAK for _, effect in tables]
    # At 5 % more than 3 of 10 experiments, or 2 of 4, have a chance of 1 in 1,000.
    assert sum(map(bool, others)) <= MOST, others


def test_effects_have_the_size_that_was_planted(tables):
    every = pl.concat(effect for _, effect in tables).filter(pl.col("difference").is_not_nan())
    means = every.group_by("term", "value").agg(pl.col("difference").mean())
    size = {f"{term} {value}": mean for term, value, mean in means.rows()}
    # Read are: of 6 contents 4 wholly, two thirds of dates, no totals; 97 of 100 of these.
    readable = 0.97 * (4 + 2 / 3) / 6
    assert size["print 8"] == pytest.approx(readable, abs=0.03)
    assert size["print 12"] == pytest.approx(readable, abs=0.03)
    # A third of the forms is too small for anything to be read.
    assert size["content date"] == pytest.approx(-0.97 / 3 * 2 / 3, abs=0.04)
    assert size["content total"] == pytest.approx(-0.97 * 2 / 3, abs=0.04)
    assert all(abs(size[name]) < 0.05 for name in ("kinds 4", "fields 20", "handwriting 1"))


def test_findings_say_what_holds_and_bring_the_wrong_values(tables):
    evaluation, effect = tables[0]
    findings = design_findings(evaluation, effect)
    first = findings[0]
    assert first.holds
    assert "more values are right than with print of 6 points" in first.claim
    totals = next(f for f in findings if "With totals" in f.claim)
    assert totals.n_cases == totals.cases.height > 0
