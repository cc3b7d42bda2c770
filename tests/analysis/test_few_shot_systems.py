import polars as pl
import pytest

from formlab import analysis, tables

from ..made_splits import DAY, JAM, TEA, WHO, evaluations

ANSWERS = {("mixed", 10, 0): [WHO, DAY, *TEA, *JAM], ("mixed", 10, 1): [WHO, DAY, *TEA]}


@pytest.fixture
def systems(tmp_path):
    first = evaluations(tmp_path / "first", ANSWERS)
    second = evaluations(tmp_path / "second", {key: [WHO] for key in ANSWERS})
    return analysis.few_shot_systems([*first, *second])


def test_a_second_evaluation_of_a_split_is_of_a_system_with_a_number(systems):
    assert {name: len(splits) for name, splits in systems.items()} == {"demo": 2, "demo (2)": 2}
    assert {split.system for split in systems["demo (2)"]} == {"demo (2)"}


def test_scores_are_means_over_splits_and_the_best_of_a_cell_is_marked(systems):
    table = analysis.few_shot_side_by_side(systems, resamples=50, permutations=50)
    cell = {"corpus": "Made", "task": "mixed", "train_size": 10, "n_splits": 2}
    micro = tables.only(table, metric="micro_f1", **cell)
    # All 4 entities, then 3 of them: (1 + 6/7) / 2; one of 4 entities: 2 / (4 + 1).
    values = dict(micro.select("system", "value").rows())
    assert values == pytest.approx({"demo": (1 + 6 / 7) / 2, "demo (2)": 0.4})
    assert micro.filter(system="demo")["mark"].item() == "best"
    curves = pl.concat([analysis.few_shot(splits, resamples=0) for splits in systems.values()])
    on = ["corpus", "task", "train_size", "system", "metric"]
    pairs = table.join(curves.filter(part="all entities"), on=on, suffix="_curve")
    assert pairs.height == table.height == 4
    assert pairs["value"].to_list() == pytest.approx(pairs["value_curve"].to_list())


def test_systems_with_other_splits_are_not_tested_against_each_other(systems):
    fewer = systems | {"demo (2)": systems["demo (2)"][:1]}
    table = analysis.few_shot_side_by_side(fewer, resamples=50, permutations=50)
    assert table.select("mark", "p").null_count().row(0) == (4, 4)
    assert sorted(table["n_splits"].unique()) == [1, 2]
