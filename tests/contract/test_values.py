"""The contract on values: notations of one value, types of fields, words for no value."""

from pathlib import Path

import polars as pl

import formlab

PAIRS = pl.read_csv(Path(__file__).parent / "data" / "values.csv", infer_schema=False)


def outcomes(golds, answers, types=None):
    names = list(types or ["due"] * len(golds))
    sides = (enumerate(zip(names, values, strict=True)) for values in (golds, answers))
    gold, given = ([{"doc_id": f"{n:02}", name: value} for n, (name, value) in s] for s in sides)
    cases = formlab.evaluate(gold, given, types=types).cases.drop_nulls("path")
    return cases.sort("doc_id").select("outcome", "cause")


def test_v01_a_value_is_right_in_any_notation_and_another_value_is_wrong():
    types = {f"v{n}": kind for n, kind in enumerate(PAIRS["type"])}
    right = outcomes(PAIRS["gold"], PAIRS["answer"], types)["outcome"] == "match"
    assert PAIRS.filter(right != (PAIRS["verdict"] == "right")).is_empty()


def test_v02_a_field_is_what_four_of_five_values_are_and_no_answer_is_none():
    days = ["2021-03-01", "2021-03-02", "2021-03-03", "2021-03-04", "tbd", "N/A", ""]
    others = [f"{n} March 2021" for n in (1, 2, 3, 4)] + ["TBD", "n/a", "none"]
    # Four of five are dates, which is enough; three of four are not. N/A is set aside.
    assert outcomes(days, others)["outcome"].to_list() == ["match"] * 7
    assert outcomes(days[1:], others[1:])["outcome"].to_list() == ["mismatch"] * 3 + ["match"] * 3
    # The gold's own word is a text; another, or a value, was missed.
    found = outcomes(["9 May", "nil"], ["N/A", "N/A"])
    assert found.rows() == [("missing", "missed")] * 2
