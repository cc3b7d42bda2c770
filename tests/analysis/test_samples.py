import dataclasses

import pytest

from formlab import analysis
from formlab.errors import DataBroken, DataMissing

from ..made_splits import WHO, evaluations


@pytest.fixture
def ones(tmp_path):
    return evaluations(tmp_path, {("mixed", 10, 0): [WHO], ("mixed", 10, 1): [WHO]})


def test_a_folder_for_each_split_gives_all_in_order(ones, tmp_path):
    for one in reversed(ones):
        one.save(tmp_path / "evals" / one.split)
    (tmp_path / "evals" / "notes").mkdir()
    found = analysis.open_evaluations(tmp_path / "evals")
    assert [one.split for one in found] == [one.split for one in ones]
    assert found[0].scores.equals(ones[0].scores)


def test_the_folder_of_one_evaluation_gives_that_one(ones, tmp_path):
    folder = ones[0].save(tmp_path / "one")
    assert [one.split for one in analysis.open_evaluations(folder)] == [ones[0].split]


def test_a_folder_without_any_is_named(tmp_path):
    with pytest.raises(DataMissing, match="no evaluation here"):
        analysis.open_evaluations(tmp_path)


def test_evaluations_that_do_not_belong_together_are_refused(ones, tmp_path):
    ones[0].save(tmp_path / "evals" / "a")
    dataclasses.replace(ones[1], mode="fixed").save(tmp_path / "evals" / "b")
    with pytest.raises(DataBroken, match="differ in their mode: fixed, official"):
        analysis.open_evaluations(tmp_path / "evals")
