import numpy as np
import polars as pl
import pytest

from formlab import analysis, benchmarks, tables
from formlab.analysis.splits import mode_changes
from formlab.readers import read_predictions

from ..made_parts import cut
from ..made_splits import DAY, JAM, WHO, evaluations
from ..made_vrdu import one

TURNED = [["sum", one("6")], ["what", one("jam")]]
SPLIT = ("mixed", 10, 0)


def micro_f1(evaluation):
    rows = tables.only(evaluation.scores, metric="micro_f1", slice_by=None)
    hits, gold, predicted = np.array(rows["stats"].to_list())[:, :3].sum(axis=0)
    return 2 * hits / (gold + predicted)


@pytest.mark.parametrize("mode", ["official", "fixed"])
def test_both_modes_are_told_from_an_evaluation_in_either(tmp_path, mode):
    answers = [WHO, ["day", one("2020-01-22")], *TURNED]
    ones = evaluations(tmp_path, {SPLIT: answers}, mode=mode)
    found = analysis.both_modes(ones).filter(metric="micro_f1").row(0, named=True)
    # Official: who alone is right of 4 and of 3. Fixed: the date and the item in its own order
    # too: 2·3 / (4 + 3).
    assert found["official"] == pytest.approx(2 / 7)
    assert found["fixed"] == pytest.approx(6 / 7)
    assert found["difference"] == pytest.approx(4 / 7)
    assert found[mode] == pytest.approx(micro_f1(ones[0]))
    changes = analysis.changed_entities(ones)
    assert dict(changes.select("reason", "effect").rows()) == {
        "notation of a date": "worth more when fixed",
        "order, notation or partial credit of components": "worth more when fixed",
        "entity without gold averaged as 0": "counted in one mode only",
    }
    assert "what: jam; sum: 6" in changes["gold"].to_list()


def test_equal_and_shared_predictions_are_known_again(tmp_path):
    tags = [["tag", [one("x")]], ["tag", [one("x.")]], ["tag", [one("y")]]]
    elsewhere = ["tag", one("y", box=[0, 0.5, 0.5, 0.6, 0.6])]
    answers = [["tag", one("x")], ["tag", one("y")], ["tag", one("y")], elsewhere]
    ones = evaluations(tmp_path, {SPLIT: answers}, gold=tags)
    # One y equals the right one in place too and is forgiven, the other is wrong: 2·3 / (3 + 4).
    found = analysis.both_modes(ones).filter(metric="micro_f1").row(0, named=True)
    assert found["official"] == pytest.approx(micro_f1(ones[0]))
    changes = analysis.changed_entities(ones)["reason"]
    assert changes.filter(changes.str.starts_with("e") & changes.str.contains("counted")).len() == 1
    assert "one prediction, several golds" in changes.to_list()


def test_the_changes_are_those_of_the_files_on_the_golden_predictions(shared):
    root = shared / "golden" / "vrdu"
    predictions = root / "predictions"
    name = "DeepForm-unk_template-train_50-test_100-valid_30-SD_2"
    corpus = benchmarks.load("vrdu", root=root, split=name)
    given = read_predictions(predictions, corpus)
    wanted = len(list(mode_changes(corpus, given)))
    for mode in ("official", "fixed"):
        evaluation = analysis.evaluate(corpus, given, mode=mode)
        found = analysis.changed_entities([evaluation]).drop("corpus", "split")
        assert found.height == wanted
        both = analysis.both_modes([evaluation])
        compared = both.filter(metric="micro_f1")
        assert compared[mode].item() == pytest.approx(micro_f1(evaluation))
    # Of parts they are those of the whole.
    parts = cut(evaluation, 30)
    assert analysis.changed_entities([parts]).drop("corpus", "split").equals(found)
    assert analysis.both_modes([parts]).equals(both)


def test_nothing_changes_where_all_is_right_in_both(tmp_path):
    tags = [["who", [one("Ann Lee")]], ["tag", [one("x")]], ["day", [one("1/22/20")]]]
    items = [[["what", "sum"], [[one("jam"), one("6")]]]]
    answers = [WHO, ["tag", one("x")], DAY, *JAM]
    ones = evaluations(tmp_path, {SPLIT: answers}, gold=[*tags, *items])
    assert analysis.changed_entities(ones).is_empty()
    assert analysis.both_modes(ones)["difference"].to_list() == [0, 0]


def test_evaluation_of_another_benchmark_has_no_modes(evaluate):
    other = evaluate({"doc_id": "a", "text": "x"})
    assert analysis.both_modes([other]).is_empty()
    assert isinstance(analysis.changed_entities([other]), pl.DataFrame)
