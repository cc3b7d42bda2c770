import dataclasses

import polars as pl
import pytest

from formlab.analysis.comparability import common
from formlab.errors import DataBroken
from tests.analysis.made_pairs import made

ROWS = [("1", "/a", 1), ("1", "/b", 0), ("2", "/a", 1)]


def test_systems_of_one_name_are_told_apart():
    first, second = common([made("m", ROWS), made("m", ROWS)]).evaluations
    assert (first.system, second.system) == ("m", "m (2)")
    assert second.cases["system"].unique().to_list() == ["m (2)"]


M = made("m", ROWS)


@pytest.mark.parametrize(
    ("others", "message"),
    [
        ([made("n", ROWS, split="t")], "split is s in m, t in n"),
        ([made("n", ROWS, mode="official")], "mode is fixed in m, official in n"),
        ([made("n", ROWS, settings={"threshold": 0.9})], "threshold is 0.8 in m, 0.9 in n"),
        ([made("n", ROWS, benchmark="c")], "benchmark is b in m, c in n"),
        ([made("n", ROWS[:2])], "1 documents are only in m, such as 2"),
        ([made("n", ROWS, gold="y")], "gold of 3 cases differs .* first 1 /a: 'x' against 'y'"),
        (
            [made("n", [ROWS[0], ROWS[2]])],
            "gold of 1 cases differs .* 1 /b: 'x' against nothing",
        ),
        ([], "two evaluations or more"),
    ],
)
def test_what_differs_is_named(others, message):
    with pytest.raises(DataBroken, match=message):
        common([M, *others])


def test_what_one_system_was_not_scored_on_is_left_out_and_counted():
    more = ("2", "/mark", 1, {"task": "marking"})
    ground = common([made("m", [*ROWS, more]), made("n", ROWS)])
    assert ground.notes == {"fields of task marking, scored for m only": 1}
    heights = [(one.cases.height, one.scores.height) for one in ground.evaluations]
    assert heights == [(3, 3)] * 2
    blind = [ROWS[0], ("1", "/b", 0, {"outcome": "unscored"}), ROWS[2]]
    ground = common([M, made("n", blind)])
    assert ground.notes == {"fields that could not be scored for every system": 1}
    assert [one.scores["path"].to_list() for one in ground.evaluations] == [["/a", "/a"]] * 2
    extra = M.scores.with_columns(pl.lit("exact_accuracy").alias("metric"))
    first = dataclasses.replace(M, scores=pl.concat([M.scores, extra]))
    ground = common([first, made("n", ROWS)])
    assert ground.notes == {"metrics not scored for every system: exact_accuracy": 1}
    assert ground.evaluations[0].scores.height == 3


def test_several_golds_at_one_path_keep_their_places():
    twice = [("1", "/a", 1, {"gold": g, "gold_origin": g}) for g in ("p", "q")]
    assert common([made("m", twice), made("n", twice[::-1])]).notes == {}
