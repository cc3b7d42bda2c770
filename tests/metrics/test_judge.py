"""A judge's answers: read, checked, verified, and the scores of a page worked out by hand."""

import json
import math
from collections import Counter

import pytest

from formlab.metrics.judge import (
    ENTRIES,
    by_substring,
    official,
    page_scores,
    parse,
    plain_text,
    settled,
)
from formlab.metrics.places import Places
from formlab.text.markup import read

FACTS = [
    {"type": "Number", "value": "5", "hint": "page 5"},
    {"type": "Number", "value": "(1,200)", "hint": "Costs"},
    {"type": "Temporal", "value": "Q2 2023", "hint": "in Q2 2023"},
]


def entry(place, *, correct=False, **more):
    flags = {"found_in_prediction": correct, "correct": correct, "matched_text": ""}
    return {"type": FACTS[place]["type"], "value": FACTS[place]["value"]} | flags | more


def settle(entries, text):
    notes = Counter()
    verdicts = settled({ENTRIES: entries}, FACTS, Places(read(text)), notes)
    letters = "".join("c" if v.correct else "f" if v.found else "-" for v in verdicts)
    return letters, {name.removeprefix("judge: "): n for name, n in notes.items() if n}


@pytest.mark.parametrize(
    ("entries", "text", "letters", "notes"),
    [
        ([entry(0), entry(1), entry(2)], "in 2015", "---", {}),
        ([entry(0, correct=True), entry(0), entry(1), entry(2)], "5", "c--",
         {"facts listed twice": 1}),
        ([{"type": "Number", "value": "77"}, {"number": 3}], "in Q2 2023", "--f",
         {"entries for no fact": 1, "facts skipped": 2}),
        ([entry(0, correct=True), entry(1), entry(2)], "no figure", "f--",
         {"called correct, not in the prediction": 1}),
        (None, "page 5", "---", {"facts skipped": 3}),
        (5, "page 5", "---", {"facts skipped": 3}),
    ],
)  # fmt: skip
def test_each_fact_has_one_verdict_that_the_page_confirms(entries, text, letters, notes):
    assert settle(entries, text) == (letters, notes)


def test_the_release_finds_a_value_inside_another_number_and_recounts():
    raw = {"total_entities": 99, ENTRIES: [entry(0), entry(1), entry(2)]}
    checked = official(raw, FACTS, "in 2015")
    counts = [checked[f"{word}_entities"] for word in ("total", "found", "correct", "not_found")]
    assert counts == [3, 1, 1, 2]
    assert raw["total_entities"] == 99
    verdicts = by_substring(["Henry Schein", "5"], "by HenrySchein")
    assert [v.correct for v in verdicts] == [True, False]


def test_a_truncated_answer_keeps_its_beginning():
    text = json.dumps({ENTRIES: [entry(0, correct=True), entry(2)]})
    answer, status = parse(text[: text.index("Temporal")])
    assert (status, answer[ENTRIES][0]["correct"]) == ("repaired", True)


@pytest.mark.parametrize("text", ["", "no", "[]", "\0", "{" * 3000, "null", '{"weather": "fine"}'])
def test_a_text_without_verdicts_or_figures_is_bad_json(text):
    assert parse(text)[1] == "bad_json"


@pytest.mark.parametrize(
    ("html", "text"),
    [
        ("<td>10\\%</td><td>5</td>", "10% 5"),
        ("plain\n\n\n text", "plain\n text"),
        ("<script>x</script>a<!-- c -->b", "a b"),
    ],
)
def test_plain_text_is_that_of_the_release(html, text):
    assert plain_text(html) == text


def test_5_megabytes_of_open_tags_are_read_in_linear_time():
    assert isinstance(plain_text("<!" * 2_500_000), str)


def values(answer, text="page 5 in Q2 2023", mode="fixed"):
    notes = Counter()
    tallies = page_scores(answer, FACTS, Places(read(text)), mode=mode, notes=notes)
    counts = {kind: of for (name, kind), of in tallies.items() if name == "judge_entity_accuracy"}
    odd = {name.removeprefix("judge: "): n for name, n in notes.items() if n}
    rates = {name[6:]: hits / total for (name, kind), (hits, total) in tallies.items() if not kind}
    return rates, counts, odd


def test_the_overall_score_is_twice_the_structure_and_five_times_the_share_of_right_facts():
    # The judge calls all three facts correct, but (1,200) is not on the page: 2 of 3 are.
    entries = [entry(place, correct=True, number=place + 1) for place in range(3)]
    answer = {"structure_score": 1, "overall_score": 9.0, ENTRIES: entries}
    answer |= {"total_entities": 3, "correct_entities": 2}
    fixed, counts, _ = values(answer)
    assert counts == {"": (2, 3), "number": (1, 2), "temporal": (1, 1)}
    # 5 × 2/3 = 3.33, and 2 × 1 + 3.33 = 5.33.
    assert fixed["entity_score"] == pytest.approx(10 / 3)
    assert fixed["overall"] == pytest.approx(16 / 3)
    assert (fixed["structure"], fixed["overall_stated"]) == (1, 9.0)
    # Official takes the judge's own verdicts: 3 of 3, so 5.0 and 7.0. It counted 2 and said 9.0.
    released, counts, odd = values(answer, mode="official")
    assert odd == {}
    assert (counts[""], counts["number"]) == ((3, 3), (2, 2))
    assert (released["entity_score"], released["overall"]) == (5.0, 7.0)


def test_counts_alone_give_the_scores_of_a_page_as_the_paper_rounds_them():
    # The paper's sample: 17 of 28 right is .61, the entity score 3.05, and 2 × 1 + 3.05 = 5.05.
    answer = {
        "structure_score": 1, "total_entities": 28, "total_entities_with_Number_type": 28,
        "total_entities_with_Date_type": 0, "correct_entities": "17",
        "correct_entities_with_Number_type": 17, "correct_entities_with_Date_type": 0,
        "entity_accuracy": 0.61, "entity_score": 3.05, "overall_score": 5.05,
    }  # fmt: skip
    scores, counts, odd = values(answer, mode="official")
    assert counts == {"": (17, 28), "number": (17, 28), "temporal": (0, 0)}
    names = ("entity_score", "overall", "overall_stated")
    assert [scores[name] for name in names] == [3.05, 5.05, 5.05]
    assert odd == {}
    # Fixed counts over the three gold facts of this page, whatever the judge says there are.
    assert values(answer)[1] == {"": (3, 3), "number": (2, 2), "temporal": (0, 1)}


def test_scores_out_of_range_and_pages_without_an_answer_are_undefined():
    answer = {"structure_score": 3, "overall_score": "fine", ENTRIES: [entry(0, correct=True)]}
    scores, _, odd = values(answer, mode="official")
    assert math.isnan(scores["overall"])
    assert odd == {
        "structure_score that is no number from 0 to 2": 1,
        "overall_score that is no number from 0 to 10": 1,
    }
    assert all(math.isnan(value) for value in values({})[0].values())
