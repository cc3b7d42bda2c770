"""The contract on values: notations of one value, types of fields, words for no value."""

from pathlib import Path

import polars as pl

import formlab

PAIRS = pl.read_csv(Path(__file__).parent / "data" / "values.csv", infer_schema=False)

# Documents with another date, and the answers for the year 48: 1948, or 2048.
BORN = [("a", "2017-05-03"), ("b", "2017-05-03"), ("c", "2040-01-01"), ("d", "none")]
YEARS = {"a": ["1948-08-30"], "b": ["2048-08-30"], "c": ["2048-08-30"], "d": ["2048-08-30"]}
FORM = {
    "2017-05-03": "2017-05-03T10:30:00Z",
    "3 May 2017 14:05": "2017-05-03T14:05:00",
    "14:05:00": "2:05 PM",
    "Rp.20.000": "20.000",
    "Yes": "true",
    "12.50": "N/A",
}


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


def test_v03_other_dates_of_a_document_say_in_which_century_a_year_of_two_digits_is():
    gold = [{"doc_id": doc, "born": "8/30/48", "day": day} for doc, day in BORN]
    given = [{"doc_id": doc, "born": year, "day": day} for doc, day in BORN for year in YEARS[doc]]
    types = {"born": "date", "day": "date"}
    cases = formlab.evaluate(gold, given, types=types).cases.filter(pl.col("path") == "/born")
    assert cases.sort("doc_id")["outcome"].to_list() == ["match", "mismatch", "match", "match"]


def test_v04_what_differs_in_notation_alone_has_a_cause_of_form():
    # Each answer stands elsewhere in the gold, which is no evidence for it here.
    found = outcomes([*FORM, *FORM.values()], [*FORM.values(), *FORM.values()])
    causes = ["date_format", "date_format", "date_format", "unit", "notation", "missed"]
    assert found["cause"][: len(FORM)].to_list() == causes


def test_v05_an_answer_nested_too_deep_is_bad_json_and_the_others_count():
    deep = '{"due": ' * 70 + '"1"' + "}" * 70
    frame = pl.DataFrame({"doc_id": ["a", "b"], "output": [deep, '{"due": "2"}']})
    found = formlab.evaluate({"a": {"due": "1"}, "b": {"due": "2"}}, frame).fields.sort("doc_id")
    assert found.select("outcome", "cause").rows() == [("missing", "bad_json"), ("match", None)]
