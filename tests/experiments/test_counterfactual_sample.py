"""The sample of counterfactual copies: small, whole, and what `rules` reads there now."""

import polars as pl
import pytest

from data.sample.generate import experiments
from formlab.folders import Predictions
from formlab_experiments import follows, leaning_findings, open_counterfactual
from formlab_experiments.samples import COUNTERFACTUAL, SHOWN, counterfactual_pages


@pytest.fixture(scope="module")
def evaluation():
    return open_counterfactual()


def test_sample_is_small_and_names_no_folder_of_a_machine():
    files = [file for file in COUNTERFACTUAL.rglob("*") if file.is_file()]
    assert sum(file.stat().st_size for file in files) < 300_000
    manifests = [file.read_text() for file in files if file.suffix == ".json"]
    assert not any('"/' in text for text in manifests)


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


def test_rules_reads_now_what_it_read_then(tmp_path):
    pytest.importorskip("rapidocr")
    corpus = counterfactual_pages(tmp_path, ["lease"])
    now = experiments.counterfactual(corpus, limit=1).records
    then = Predictions.load(COUNTERFACTUAL / "run").records
    names = ["doc_id", "path", "value"]
    fields = pl.col("task") != "layout"
    same = then.filter(fields, pl.col("doc_id").is_in(now["doc_id"].unique().implode()))
    assert now.filter(fields).select(names).sort(names).equals(same.select(names).sort(names))
