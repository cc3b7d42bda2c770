"""Items of lists are paired for the most agreeing values; a cause says what was done to a value."""

import random

import polars as pl

import formlab


def cases(golds, answers, **options):
    found = formlab.evaluate(golds, answers, **options).cases
    return found.filter(pl.col("path").is_not_null())


def matching(golds, answers, **options):
    """How many values match in each document."""
    right = (pl.col("outcome") == "match").sum()
    return dict(cases(golds, answers, **options).group_by("doc_id").agg(right).rows())


def test_i01_items_beside_equal_ones_are_paired_by_what_agrees():
    rows = [{key: f"{key}{number}" for key in "abcdefgh"} for number in range(6)]
    # Items 0 and 1 are whole; of the others, in another order, two of eight values are wrong.
    changed = [row | {"a": "other", "b": "none"} for row in rows[:1:-1]]
    assert matching({"a": {"items": rows}}, {"a": {"items": rows[:2] + changed}}) == {"a": 16 + 24}


def test_i02_long_list_in_another_order_loses_only_what_is_wrong():
    rows = [{"no": f"n{n}", "name": f"x{n * 7}", "unit": "kg"} for n in range(700)]
    answers = [row | {"name": "?"} for row in random.Random(0).sample(rows, 700)]
    assert matching({"a": {"rows": rows}}, {"a": {"rows": answers}}) == {"a": 2 * 700}


def test_i03_lists_in_items_are_paired_too_and_a_value_alone_is_a_list_of_one():
    gold = {"teams": [{"name": "r", "people": ["Ada", "Bo"]}, {"name": "s", "people": "Cy"}]}
    answer = {"teams": [{"name": "s", "people": ["Di", "Cy"]}, {"name": "q", "people": ["Bo"]}]}
    # Team s with its name and Cy; team r, read as q, with Bo.
    assert matching({"a": gold}, {"a": answer}) == {"a": 3}
    fields = cases({"a": gold}, {"a": answer | {"taxes": ["1"]}})["field"]
    assert {*fields} == {"/teams/*/name", "/teams/*/people/*", "/teams/*/people", "/taxes/*"}
    # Teams in their order, people in any: three people, no name.
    types = {"teams/0/name": {"type": "string", "ordered": True}}
    answer = {"teams": [{"name": "s", "people": ["Bo", "Ada"]}, {"name": "r", "people": "Cy"}]}
    assert matching({"a": gold}, {"a": answer}, types=types) == {"a": 3}


def test_i04_pairing_in_a_document_does_not_depend_on_other_documents():
    listed, single = ({"x": ["alpha", "beta"]}, 2), ({"x": "alpha"}, 1)
    for other in ({"y": "1"}, {"x": "mu"}, {"x": {"1": ["mu"]}}, {"x": ["mu", "nu"]}):
        for gold, right in (listed, single):
            answers = {"a": {"x": ["beta", "alpha"]}, "b": other}
            assert matching({"a": gold, "b": other}, answers)["a"] == right, other
        paths = cases({"a": listed[0], "b": other}, answers).filter(doc_id="a")["path"]
        assert paths.sort().to_list() == ["/x/0", "/x/1"], other


def test_i05_values_exchanged_between_rows_are_from_the_wrong_row():
    pairs = [("$1", "$2"), ("Ada", "Ada Berg"), ("1250", "12.50"), ("$5", "€5"), ("Oxder", "Order")]
    for first, second in [("2016-01-13", "2016-01-18"), ("2012-09-04", "2012-04-09"), *pairs]:
        # With one other value that is right, pairs by place and crosswise agree in as many.
        one, other = {"due": "2016-01-13", "value": first}, {"due": "2016-01-18", "value": second}
        answer = [one | {"value": second}, other | {"value": first}]
        expected = {"/rows/0/value": "wrong_row", "/rows/1/value": "wrong_row"}
        found = cases({"a": {"rows": [one, other]}}, {"a": {"rows": answer}})
        assert dict(found.drop_nulls("cause").select("path", "cause").rows()) == expected


def test_i06_digit_is_one_or_two_changed_digits_and_another_value_is_not_misread():
    digits = [("2012-09-04", "2012-09-05"), ("1,250.00", "1,275.00"), ("1,250", "1251")]
    crossed = [("2012-09-04", "2012-04-09"), ("4 Sep 2012", "9 April 2012")]
    others = [("4 March 2011", "1 May 1950"), ("2012-09-04", "1987-11-23"), ("88.20", "1.00")]
    others += [("$1,250.00", "$987.10"), ("Berlin", "Potsdam")]
    misread = {"digit", "characters", "lookalike", "merged", "clipped", "label_error"}
    for gold, answer in digits + crossed + others:
        # The answer stands in other documents: that is no sign that the gold is misspelt.
        golds = {"a": {"x": gold}, "b": {"y": answer}, "c": {"y": answer}}
        (cause,) = cases(golds, golds | {"a": {"x": answer}})["cause"].drop_nulls()
        expected = {"digit"} if (gold, answer) in digits else {"date_order"}
        assert (cause in expected) == ((gold, answer) not in others), (gold, answer)
        assert cause not in misread - expected, (gold, answer)
    codes = {f"f{n}": {f"c{i}": f"{n}{i}ABC{137 * n}" for i in range(6)} for n in range(9)}
    days, late = ({f"f{n}": {"d": f"2024-05-{2 * n + x}"} for n in range(9)} for x in (10, 11))
    pairs = {"other_document": (codes, codes | {"f2": codes["f3"]}), "offset": (days, late)}
    assert all({*cases(*pair)["cause"].drop_nulls()} == {name} for name, pair in pairs.items())
