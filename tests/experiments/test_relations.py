"""Relations between fields: found in a corpus, computed again, and values written like others."""

from collections import Counter

import formlab
from formlab_experiments import relations_of
from formlab_experiments.redrawn import Templates
from tests.made_relations import form


def test_relations_of_a_form_are_those_that_can_be_computed():
    corpus = Templates([form()], seed=1).corpus
    found = {each.item: each for each in relations_of(corpus)}
    assert {item: each.relation for item, each in found.items()} == {
        "/consistency/c1": "sum", "/consistency/c2": "date", "/consistency/c3": "copy",
        "/vqa/q1": "product",
    }  # fmt: skip
    total = found["/consistency/c1"]
    assert total.paths == ["/Bill/Parts", "/Bill/Work", "/Bill/Total"]
    # 2.50 and 18.00.
    assert total.implied({"/Bill/Parts": "2.50", "/Bill/Work": "18.00"}) == "20.50"
    assert found["/consistency/c2"].implied({"/Drawn": "25 Dec 2019"}) == "04 Jan 2020"
    assert found["/vqa/q1"].dependent is None


def test_sample_has_relations_of_every_sort_on_fourteen_pages():
    relations = relations_of(formlab.load("formcraft"))
    assert len({each.page_of for each in relations}) == 14
    checks = Counter(each.relation for each in relations if each.dependent)
    assert checks == {"product": 11, "sum": 9, "date": 5, "column": 4, "copy": 3, "duration": 1}
