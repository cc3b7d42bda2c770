import pickle

import pytest

from formlab.analysis import rereading
from formlab.analysis.compare import compare, under_other_rules
from formlab.errors import DataMissing
from formlab.folders import Evaluation
from tests.made_shards import cut


@pytest.fixture
def stored(readers_of_pages, tmp_path):
    """Two systems saved in shards of two documents."""
    pair = zip(readers_of_pages[::2], ("a", "b"), strict=True)
    return [Evaluation.load(cut(one, 2).save(tmp_path / name)) for one, name in pair]


def test_comparison_is_the_same_whoever_scores_under_the_other_rules(readers_of_pages, stored):
    pair, how = readers_of_pages[::2], {"resamples": 20, "permutations": 99}
    whole = compare(pair, **how)
    assert set(whole["rules"].drop_nulls()) == {"depends", "same"}
    assert compare(stored, **how).equals(whole)
    assert compare(stored, **how, workers=2).equals(whole)
    # What is in memory goes to a process as it is.
    for here, there in zip(
        under_other_rules(pair), under_other_rules(pair, apart=True), strict=True
    ):
        for one, other in zip(here, pickle.loads(pickle.dumps(there)), strict=True):
            assert one.cases.equals(other.cases)


def test_shards_are_scored_once_and_lie_on_disk_as_long_as_they_are_needed(stored, monkeypatch):
    lazy = [each for rule in under_other_rules(stored) for each in rule]
    with rereading.scored(lazy, ["kind"], workers=1) as made:
        for one, other in zip(lazy, made, strict=True):
            assert (one.system, one.settings) == (other.system, other.settings)
            assert one.cases.equals(other.cases)
            assert one.scores.equals(other.scores)
            assert all(shard.kept_tallies is not None for shard in other.shards())
        monkeypatch.setattr("formlab.scoring.evaluate.score_shard", None)
        assert sum(shard.cases.height for each in made for shard in each.shards()) > 0
    with pytest.raises(DataMissing):
        next(made[0].shards())
