import pytest

from formlab_experiments import (
    follows,
    leaning_findings,
    open_counterfactual,
)
from formlab_experiments.samples import SHOWN, counterfactual_pages


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
    assert control.count("both") == 10
    claims = [each for each in leaning_findings(answers) if each.holds]
    assert len(claims) == 2
    assert all("in 10 of 10 answers, against 0" in each.claim for each in claims)
    assert all("follows the ink where evidence, ink and prior differ" in c.claim for c in claims)
