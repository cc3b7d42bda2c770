"""Values of one's own forms are right by the rule of their type, or the one declared."""

import polars as pl
import pytest

import formlab
from formlab.readers import gold as own
from formlab.scoring import rules


def judged(gold, answer, stated):
    """Outcome and cause of one value under the declared rule; other fields make a document."""
    sides = [[{"doc_id": "a", "entry": value, "other": "same"}] for value in (gold, answer)]
    types = {"entry": stated} if stated else None
    cases = formlab.evaluate(*sides, types=types).fields
    return cases.filter(path="/entry").select("outcome", "cause").row(0)


# The declared rule, both values, and what is said of them: the outcome, and the cause with it.
@pytest.mark.parametrize(
    ("stated", "gold", "answer", "said"),
    [
        # Types alone: strings as text, all else as parsed.
        ("string", "Ada", "ADA ", "match"),
        ("string", "9.00", "9", "mismatch"),
        ("number", "9.00", "9", "match"),
        ("money", "$1,200.00", "1200", "match"),
        ("money", "$5", "€5", "mismatch"),
        ("date", "2022-07-01", "Jul 1, 2022", "match"),
        ("boolean", "yes", "☑", "match"),
        ("choice", "A; B", "B; A", "match"),
        ("address", "5 Main Street", "5 Main St", "mismatch"),
        # Comparators.
        ({"comparator": "exact"}, "Ada", "ada", "mismatch case"),
        ({"comparator": "exact"}, "Ada", "Ada", "match"),
        ({"type": "number", "comparator": "text"}, "9.00", "9", "mismatch"),
        ({"type": "address", "comparator": "typed"}, "5 Main Street", "5 Main St", "match"),
        # Right by the rule alone is neither an error nor the same value written otherwise.
        ({"comparator": "fuzzy"}, "Main Street", "Main Streat", "match None"),
        ({"comparator": "fuzzy"}, "Main Street", "Side Road", "mismatch"),
        # Tolerances, absolute and relative: 0.01 is within 0.01, and 1% of 200 is 2.
        ({"type": "number", "tolerance": 0.01}, "10.00", "10.01", "match None"),
        ({"type": "number", "tolerance": 0.01}, "10.00", "10.011", "mismatch"),
        ({"tolerance": 0.01}, "10.00", "10.01", "match"),
        ({"type": "money", "tolerance": "1%"}, "$200", "202.00", "match"),
        ({"type": "money", "tolerance": "1%"}, "$200", "$202.01", "mismatch"),
        ({"type": "money", "tolerance": "1%"}, "-200", "-198", "match"),
        ({"type": "money", "tolerance": 5}, "$5", "€5", "mismatch"),
        ({"type": "number", "tolerance": 1}, "10", "ten", "mismatch"),
        ({"type": "number", "tolerance": 0}, "10", "10.0", "match"),
        ({"type": "date", "tolerance": 2}, "2022-07-01", "July 3, 2022", "match"),
        ({"type": "date", "tolerance": 2}, "2022-07-01", "July 4, 2022", "mismatch"),
        # Nothing says which is the month, and 5 July is not within two days.
        ({"type": "date", "tolerance": 2}, "2022-05-06", "05/07/2022", "mismatch"),
        ({"type": "number", "tolerance": 5, "comparator": "exact"}, "10", "11", "mismatch"),
        # Inferred types are rules as well.
        (None, "9.00", "9", "match number_format"),
        (None, "2022-07-01", "Jul 1, 2022", "match date_format"),
        # Wrong by the rule alone: what differs is how it is written.
        ({"type": "date", "comparator": "text"}, "2022-07-01", "Jul 1, 2022",
         "mismatch date_format"),
    ],
)  # fmt: skip
def test_rule_decides_what_is_right_and_its_cause(stated, gold, answer, said):
    found = list(map(str, judged(gold, answer, stated)))
    assert found[: len(said.split())] == said.split()


def test_any_of_several_accepted_values_may_be_near():
    gold = [{"doc_id": "a", "path": "n", "value": "10", "accepted": "20|30"}]
    types = {"n": {"type": "number", "tolerance": 1}}
    for value, outcome in (("29", "match"), ("25", "mismatch")):
        answers = [{"doc_id": "a", "n": value}]
        assert formlab.evaluate(gold, answers, types=types).fields["outcome"][0] == outcome


def test_settings_tell_rules_apart_and_say_nothing_of_weights_that_are_usual():
    gold, answers = [{"doc_id": "a", "n": "10"}], [{"doc_id": "a", "n": "11"}]

    def named(types):
        scores = formlab.evaluate(gold, answers, types=types).scores.filter(metric="match_f1")
        return scores["settings"].struct.field("rules")[0]

    plain, near, wide = (named(types) for types in (
        None, {"n": {"type": "number", "tolerance": 1}}, {"n": {"type": "number", "tolerance": 2}},
    ))  # fmt: skip
    assert plain.startswith("match=comparators by type|fuzzy>=0.8")
    assert len({plain, near, wide}) == 3
    assert named({"n": "number"}) == plain


def test_spurious_value_weighs_what_its_field_does():
    gold = [{"doc_id": "a", "total": "1", "n": ["1"]}]
    types = {"n/0": {"type": "number", "weight": 4}}
    answers = [{"doc_id": "a", "total": "1", "n": ["1", "2"]}]
    scores = formlab.evaluate(gold, answers, types=types).scores.filter(metric="match_weighted")
    # Right: total on both sides, and /n/0 four times on both; /n/1 is given too often.
    assert scores.select(pl.col("hits", "total").sum()).row(0) == (10, 14)
    plain = formlab.evaluate(gold, answers).scores
    assert "match_weighted" not in plain["metric"]


def test_other_benchmarks_have_no_rules():
    corpus = own.corpus([{"doc_id": "a", "n": "10"}])
    records = corpus.records.with_columns(benchmark=pl.lit("funsd"))
    assert rules.RULE not in rules.with_rules(records).columns
    for meta, declared in (('{"tolerance": 1.0}', True), ('{"required": false}', False)):
        stated = rules.with_rules(records.with_columns(meta=pl.lit(meta)))
        assert (rules.RULE in stated.columns) == declared
