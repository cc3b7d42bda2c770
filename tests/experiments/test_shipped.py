import polars as pl
import pytest

import formlab
from formlab.folders import Corpus
from formlab_experiments import (
    design_plan,
    designs,
    follows,
    leaning_findings,
    open_counterfactual,
    samples,
)
from formlab_experiments.samples import SHOWN, counterfactual_pages


@pytest.mark.complete
def test_designed_forms_of_the_sample_are_drawn_as_shipped(tmp_path):
    home = samples.SAMPLES / "design"
    plan = design_plan(samples.DESIGN, **samples.DESIGN_OPTIONS)
    assert plan["doc_id"].to_list() == designs._plan_in(home)["doc_id"].to_list()
    # A small form in each hand.
    names = ["f5-k1-p12-h0-r1", "f5-k2-p12-h1-r1"]
    names = [name for name in names if name in set(plan["doc_id"])] or plan["doc_id"][:1].to_list()
    designs.draw_rows(home, tmp_path, names)
    shipped = Corpus.load(home / "corpus")
    now = formlab.load("funsd", root=tmp_path, split="test")
    gold = shipped.records.filter(pl.col("doc_id").is_in(names)).drop("content")
    assert now.records.equals(gold.select(now.records.columns))


@pytest.fixture(scope="module")
def evaluation():
    return open_counterfactual()


@pytest.mark.complete
def test_copies_that_are_drawn_again_are_those_of_the_sample(evaluation, tmp_path):
    drawn = counterfactual_pages(tmp_path, SHOWN[:1]).documents
    sample = evaluation.documents.filter(page_of=SHOWN[0])
    names = ["doc_id", "page_of", "item", "change", "evidence", "ink", "prior"]
    assert drawn.select(names).equals(sample.select(names))
    images = evaluation.documents.drop_nulls("image")["image"]
    assert len(images) == 10
    assert all((evaluation.root / image).is_file() for image in images)


def test_rules_copies_the_ink_even_where_it_is_asked_what_must_stand_there(evaluation):
    answers = follows(evaluation)
    assert answers["page_of"].n_unique() == 14
    control = answers.filter(change="consistent", asked="field")["follows"].to_list()
    assert control.count("both") == 9
    claims = [each for each in leaning_findings(answers) if each.holds]
    assert len(claims) == 2
    assert all("in 9 of 10 answers, against 0" in each.claim for each in claims)
    assert all("follows the ink where evidence, ink and prior differ" in c.claim for c in claims)
