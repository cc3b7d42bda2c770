import numpy as np
import pytest

from formlab.metrics.relations import RELATION_METRICS, vqa_accuracy


@pytest.mark.parametrize(
    ("gold", "pred", "right"),
    [
        ("$105,452.00", "105452", 1),
        ("2022-07-01", "1 July 2022", 1),
        ("Tooth 24", "tooth  24", 1),
        ("41", "41.0", 1),
        ("41", "14", 0),
        ("yes", "", 0),
    ],
)
def test_an_answer_is_right_however_its_value_is_written(gold, pred, right):
    assert vqa_accuracy(gold, pred).parts == (right, 1)


def test_accuracy_of_several_is_right_answers_over_answers():
    entry = RELATION_METRICS["consistency_accuracy"]
    tallies = entry.tallies(["1", "2", "3", "4"], ["1", "2.0", "x", ""])
    assert float(entry.score(np.sum(tallies, axis=0))) == 0.5
