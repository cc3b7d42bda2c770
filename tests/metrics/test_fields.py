import random

from formlab.metrics.counts import field_tallies


def test_three_fields_wanted_and_two_given_by_hand():
    # Name is found (and read wrongly), the date is missed, a blank field is left blank, and one
    # field is made up: 1 of 2 given is asked for, 1 of 2 asked for is found.
    golds, preds = ["Ada", "1980", "", ""], ["Eda", " ", "", "made up"]
    sums = {name: rows.sum(axis=0).tolist() for name, rows in field_tallies(golds, preds).items()}
    assert sums == {"field_precision": [1, 2], "field_recall": [1, 2], "field_f1": [2, 4]}


def test_random_forms_agree_with_set_arithmetic():
    rng = random.Random(2)
    for _ in range(100):
        golds, preds = (rng.choices(["", "x", "y z"], k=6) for _ in "ab")
        wanted, given = ({n for n, v in enumerate(side) if v} for side in (golds, preds))
        tallies = {name: rows.sum(axis=0) for name, rows in field_tallies(golds, preds).items()}
        assert tallies["field_precision"].tolist() == [len(wanted & given), len(given)]
        assert tallies["field_recall"].tolist() == [len(wanted & given), len(wanted)]
        assert tallies["field_f1"].tolist() == [2 * len(wanted & given), len(wanted) + len(given)]
