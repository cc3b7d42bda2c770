"""Scores of a judge, worked out by hand."""

import math
from collections import Counter

import pytest

from formlab.metrics.judge import ENTRIES, _figure, page_scores, released_form
from formlab.metrics.places import Places
from formlab.text.flow import read

FACTS = [
    {"type": "Number", "value": "5", "hint": "page 5"},
    {"type": "Number", "value": "(1,200)", "hint": "Costs"},
    {"type": "Temporal", "value": "Q2 2023", "hint": "in Q2 2023"},
]


def values(answer, text="page 5 in Q2 2023", mode="fixed"):
    notes = Counter()
    tallies, counts = page_scores(answer, FACTS, Places(read(text)), mode=mode, notes=notes)
    counts |= {"": tallies["judge_entity_accuracy"]}
    odd = {name.removeprefix("judge: "): n for name, n in notes.items() if n}
    return {name[6:]: hits / total for name, (hits, total) in tallies.items()}, counts, odd


def entry(place, correct):
    return {"number": place, "found_in_prediction": correct, "correct": correct}


def test_the_overall_score_is_twice_the_structure_and_five_times_the_share_of_right_facts():
    # The judge calls all three facts correct, but (1,200) is not on the page: 2 of 3 are.
    answer = {
        "structure_score": 1, "overall_score": 9.0, "total_entities": 3, "correct_entities": 2,
        ENTRIES: [entry(1, True), entry(2, True), entry(3, True)],
    }  # fmt: skip
    fixed, counts, _ = values(answer)
    assert counts == {"": (2, 3), "number": (1, 2), "temporal": (1, 1)}
    # 5 × 2/3 = 3.33, and 2 × 1 + 3.33 = 5.33.
    assert fixed["entity_score"] == pytest.approx(10 / 3)
    assert fixed["overall"] == pytest.approx(16 / 3)
    assert (fixed["structure"], fixed["overall_stated"]) == (1, 9.0)
    # Official takes the judge's own verdicts: 3 of 3, so 5.0 and 7.0. It counted 2 and said 9.0.
    official, counts, odd = values(answer, mode="official")
    assert odd == {
        "overall score that its own parts do not make": 1,
        "counts that its own verdicts do not make": 1,
    }
    assert (counts[""], counts["number"]) == ((3, 3), (2, 2))
    assert (official["entity_score"], official["overall"]) == (5.0, 7.0)


def test_counts_alone_give_the_scores_of_a_page_as_the_paper_rounds_them():
    # The paper's sample: 17 of 28 right is .61, the entity score 3.05, and 2 × 1 + 3.05 = 5.05.
    answer = {
        "structure_score": 1, "total_entities": 28, "total_entities_with_Number_type": 28,
        "total_entities_with_Date_type": 0, "correct_entities": 17,
        "correct_entities_with_Number_type": 17, "correct_entities_with_Date_type": 0,
        "entity_accuracy": 0.61, "entity_score": 3.05, "overall_score": 5.05,
    }  # fmt: skip
    scores, counts, odd = values(released_form(answer), mode="official")
    assert counts == {"": (17, 28), "number": (17, 28), "temporal": (0, 0)}
    assert [scores[name] for name in ("entity_score", "overall", "overall_stated")] == [
        3.05, 5.05, 5.05,
    ]  # fmt: skip
    assert odd == {}
    # Fixed counts over the three gold facts of this page, whatever the judge says there are.
    answer |= {"correct_entities_with_Currency_type": 1, "total_entities_with_Currency_type": 1}
    answer |= {"correct_entities_with_Monetary_Unit_type": 1}
    answer |= {"total_entities_with_Monetary_Unit_type": 1}
    assert values(released_form(answer))[1] == {
        "": (3, 3), "number": (2, 2), "temporal": (0, 1), "monetary_unit": (0, 0),
    }  # fmt: skip


def test_scores_out_of_range_and_pages_without_an_answer_are_undefined():
    answer = {"structure_score": 3, "overall_score": "fine", ENTRIES: [entry(1, True)]}
    scores, _, odd = values(answer, mode="official")
    assert math.isnan(scores["overall"])
    assert odd == {
        "structure_score that is no number from 0 to 2": 1,
        "overall_score that is no number from 0 to 10": 1,
    }
    assert all(math.isnan(value) for value in values({})[0].values())


@pytest.mark.parametrize(
    "answer",
    [
        [{"value": "5", "correct": True}, {"value": "Q2 2023", "correct": False}],
        {"facts": [{"fact": "5", "verdict": "Correct"}, {"fact": "Q2 2023", "verdict": "wrong"}]},
        {"page": {"verdicts": [{"number": 1, "match": "yes"}, {"number": 3, "match": "no"}]}},
        {"results": {"5": {"status": "exact"}, "Q2 2023": {"status": "altered"}}},
        {"results": {"5": "correct", "Q2 2023": "incorrect"}},
        {"correct": ["5"], "incorrect": ["Q2 2023"]},
        {ENTRIES: [{"entity": "5", "status": "match"}, {"entity": "Q2 2023", "status": "absent"}]},
        {"correct_facts": ["5"], "missing_facts": ["Q2 2023"]},
    ],
)
def test_verdicts_are_read_from_any_schema_that_names_facts(answer):
    counts = values(released_form(answer), mode="official")[1]
    assert counts == {"": (1, 3), "number": (1, 2), "temporal": (0, 1)}


@pytest.mark.parametrize(
    "answer", [None, 5, "x", {}, {"weather": "fine"}, [1], {"facts": [None, {"value": "5"}]}]
)
def test_an_answer_that_names_neither_facts_nor_figures_is_none(answer):
    assert released_form(answer) == {}


def test_figures_are_read_however_they_are_written_and_nothing_else():
    assert [_figure(value) for value in ("0.61", "61%", 2, True, "2/3", None, "9" * 30)] == [
        0.61, 0.61, 2.0, None, None, None, None,
    ]  # fmt: skip
