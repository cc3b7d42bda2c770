import json
from collections import Counter

import pytest

from formlab.metrics.judge import by_substring, official, parse, performance, plain_text, settled
from formlab.metrics.places import Places
from formlab.text.flow import read

FACTS = [
    {"type": "Number", "value": "5", "hint": "page 5"},
    {"type": "Temporal", "value": "Q2 2023", "hint": "in Q2 2023"},
]


def entry(place, **said):
    fact = FACTS[place]
    base = {"type": fact["type"], "value": fact["value"], "context_hint": fact["hint"]}
    return base | {"found_in_prediction": False, "correct": False, "matched_text": ""} | said


def settle(entries, text, facts=FACTS):
    notes = Counter()
    verdicts = settled({"entity_diagnostics": entries}, facts, Places(read(text)), notes)
    return verdicts, {name: n for name, n in notes.items() if n}


def test_the_release_finds_a_value_inside_another_number_and_fixed_does_not():
    said = [entry(0), entry(1)]
    checked = official({"entity_diagnostics": said}, FACTS, "in 2015")
    assert (checked["found_entities"], checked["correct_entities"]) == (1, 1)
    assert [v.found for v in settle(said, "in 2015")[0]] == [False, False]


def test_counts_come_from_the_verdicts_and_not_from_the_judge():
    raw = {"total_entities": 99, "found_entities": 99, "entity_diagnostics": [entry(0), entry(1)]}
    checked = official(raw, FACTS, "nothing")
    counts = [checked[f"{w}_entities"] for w in ("total", "found", "correct", "not_found")]
    assert counts == [2, 0, 0, 2]
    assert raw["total_entities"] == 99


def test_a_fact_listed_twice_counts_once_and_is_noted():
    said = [entry(0, found_in_prediction=True, correct=True, matched_text="5"), entry(0), entry(1)]
    verdicts, notes = settle(said, "page 5")
    assert [v.correct for v in verdicts] == [True, False]
    assert notes == {"judge: facts listed twice": 1}


def test_a_skipped_fact_is_missing_and_an_invented_one_is_left_out():
    verdicts, notes = settle([{"type": "Number", "value": "77"}, "junk", entry(1)], "in Q2 2023")
    assert [v.found for v in verdicts] == [False, True]
    assert notes == {"judge: entries for no fact": 2, "judge: facts skipped": 1}


def test_a_judge_that_calls_correct_what_is_not_there_is_overruled():
    verdicts, notes = settle(
        [entry(0, correct=True, found_in_prediction=True), entry(1)], "no _figure"
    )
    assert not verdicts[0].correct
    assert notes["judge: called correct, not in the prediction"] == 1


@pytest.mark.parametrize("raw", [None, {}, {"entity_diagnostics": None}, {"entity_diagnostics": 5}])
def test_an_answer_without_verdicts_leaves_every_fact_missing(raw):
    assert [v.found for v in settled(raw, FACTS, Places(read("page 5")))] == [False, False]


def test_a_truncated_answer_keeps_what_was_said():
    whole = json.dumps({"entity_diagnostics": [entry(0, correct=True), entry(1)]})
    answer, status = parse(whole[: whole.index("Temporal")])
    assert status == "repaired"
    assert answer["entity_diagnostics"][0]["correct"] is True


@pytest.mark.parametrize("text", ["", "no", "[]", "\0", "{" * 3000, "null"])
def test_what_is_no_answer_is_bad_json(text):
    assert parse(text)[1] == "bad_json"


def test_rates_divide_by_found_and_are_0_where_nothing_is():
    figures = performance([official({"entity_diagnostics": []}, FACTS, "x")])
    assert set(figures.values()) == {0.0, 100.0}
    assert figures["missing_rate"] == 100.0


@pytest.mark.parametrize(
    ("html", "text"),
    [
        ("<td>10\\%</td><td>5</td>", "10% 5"),
        ("plain\n\n\n text", "plain\n text"),
        ("<script>x</script>a<!-- c -->b", "a b"),
    ],
)
def test_plain_text_is_what_the_release_sends(html, text):
    assert plain_text(html) == text


def test_5_megabytes_of_open_tags_are_read_in_linear_time():
    assert isinstance(plain_text("<!" * 2_500_000), str)


def test_without_a_judge_the_release_has_only_its_search():
    verdicts = by_substring(["Henry Schein", "5"], "by HenrySchein")
    assert [v.correct for v in verdicts] == [True, False]
