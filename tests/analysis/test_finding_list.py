"""The findings of several evaluations: what is counted, what is tested, and in which order."""

import math

import numpy as np
import pytest

from formlab import analysis, tables
from tests.analysis.made_pairs import from_matrix, made
from tests.analysis.test_finding_systems import pages_alone, with_pages
from tests.analysis.test_overview import evaluation

FIELDS = [
    ("1", "a", "match", "ok", None),
    ("1", "a", "mismatch", "ok", "digit"),
    ("1", "b", "mismatch", "ok", "digit"),
    ("1", "b", "missing", "ok", "missed"),
    ("2", "a", "missing", "refused", "refused"),
    ("2", "b", "spurious", "ok", "spurious"),
    ("3", "a", "missing", "bad_json", "bad_json"),
    ("4", "a", "match", "ok", None),
]


def random(seed, *, docs=16, fields=9, name="m", cause=lambda right: None, low=0.3, high=0.9):
    """Fields of three kinds and two modalities; the fields of a document hang together."""
    draw = np.random.default_rng(seed)
    rows = []
    for doc in range(docs):
        ease = draw.uniform(low, high)
        for n in range(fields):
            right = int(draw.random() < ease)
            case = {"kind": "abc"[n % 3], "modality": "xy"[n % 2], "cause": cause(right)}
            rows.append((f"{doc:02}", f"/{n}", right, case))
    return made(name, rows)


def test_counts_say_how_many_values_and_documents():
    several = analysis.findings([evaluation(FIELDS)], most=None)
    found = {one.about: one for one in reversed(several)}
    # Document 3 has no usable answer; the refused value of document 2 stands beside a usable one.
    assert "documents" in found
    assert found["documents"].claim == (
        "1 of 4 documents has no usable answer, which loses 1 of 7 values"
    )
    assert found["cause"].claim == ("2 of 3 wrong fields, in 1 document: a digit was misread")
    assert (found["cause"].effect, found["cause"].n_cases) == (pytest.approx(2 / 7), 2)
    assert found["cause"].cases["path"].to_list() == ["/1", "/2"]


def test_answers_that_cannot_be_used_are_told_by_their_commonest_status():
    rows = [("1", "a", "match", "ok", None), ("1", "a", "missing", "refused", "refused")]
    said = [str(one) for one in analysis.findings([evaluation(rows)])]
    assert said == ["For 1 of 2 values the answer cannot be used (status “refused”: 1)"]


def test_what_was_not_given_is_no_answer_that_cannot_be_used():
    rows = [("1", "a", "match", "ok", None), ("1", "a", "missing", "missing", "missed")]
    assert [one.about for one in analysis.findings([evaluation(rows)])] == ["cause"]


@pytest.mark.parametrize("cause", ["reader", "label_error"])
def test_no_count_of_causes_rests_on_the_reading_rule_or_on_labels(cause):
    rows = [("1", "a", "match", "ok", None), ("1", "a", "mismatch", "ok", cause)]
    assert analysis.findings([evaluation(rows)]) == []


def test_causes_that_tie_are_not_called_the_largest():
    rows = [("1", "a", "mismatch", "ok", "digit"), ("1", "a", "mismatch", "ok", "case")]
    one, other = analysis.findings([evaluation(rows)])
    assert other.claim == "1 of 2 wrong fields, in 1 document: a digit was misread"
    assert one.claim == "1 of 2 wrong fields, in 1 document: only the case of letters differs"


def test_no_more_than_two_findings_of_one_evaluation_and_most_in_all():
    several = [evaluation(FIELDS, system=name) for name in "abc"]
    few = {"resamples": 50}
    assert len(analysis.findings(several, most=None, **few)) == 6
    assert len(analysis.findings(several, most=1, **few)) == 1
    assert analysis.findings(several, **few) == analysis.findings(several, **few)


def test_findings_stand_by_the_values_they_surely_concern():
    found = analysis.findings([random(0), evaluation(FIELDS)], most=None)
    assert [one.at_least for one in found] == sorted((o.at_least for o in found), reverse=True)
    for one in found:
        assert one.at_least <= one.n_cases + 1e-9
        assert math.isnan(one.ci_low) or one.ci_low <= one.effect <= one.ci_high


def test_planted_weak_kind_is_found_with_its_cases():
    draw = np.random.default_rng(0)
    rows = [
        (f"{doc:02}", f"/{n}", int(draw.random() < (0.2 if n % 3 == 1 else 0.9)),
         {"kind": "abc"[n % 3]})
        for doc in range(30) for n in range(9)
    ]  # fmt: skip
    found = {one.about: one for one in analysis.findings([made("m", rows)], most=None)}
    assert found["slice"].claim.startswith("Where kind is b, ")
    assert found["slice"].n_cases == 90
    assert set(found["slice"].cases["path"]) <= {"/1", "/4", "/7"}
    assert found["kinds"].claim.split(":")[0].endswith("than on b")


def test_systems_of_one_corpus_are_compared_and_others_are_not():
    draw = np.random.default_rng(0)
    good, bad = ((draw.random((20, 8)) < rate).astype(int) for rate in (0.9, 0.4))
    found = analysis.findings([from_matrix("m", good), from_matrix("n", bad)], most=None)
    (one,) = [one for one in found if one.about == "systems"]
    assert one.claim.startswith("m gets more fields right than n")
    assert one.system == "m, n"
    other = from_matrix("n", bad[:10])
    assert not [
        one for one in analysis.findings([from_matrix("m", good), other]) if one.about == "systems"
    ]


def test_pages_of_a_parser_have_findings_though_no_field_was_scored():
    values = [0.9] * 12 + [0.1] * 38
    one = pages_alone("parser", values)
    (found,) = analysis.findings([one])
    # Each page is one character against a hundred: less than half of its text.
    assert found.claim == (
        "12 of 50 pages have a CER of at least 0.5; the mean is 0.292; at least half of the text "
        "is missing from 12 of them"
    )
    cards = analysis.runs([one])
    assert cards["page_cer"].to_list() == [pytest.approx(0.292)]
    assert analysis.findings([pages_alone("parser", [0.1] * 9)]) == []


def test_bad_pages_concern_the_values_that_are_wrong_on_them_and_no_others():
    # Every page has a CER of 0.9, and of its ten values one is wrong, the same share on each.
    rows = [(f"{doc:02}", f"/{n}", int(n > 0), {}) for doc in range(6) for n in range(10)]
    one = with_pages(made("m", rows), [0.9] * 6)
    found = {each.about: each for each in analysis.findings([one], most=None)}
    assert found["pages"].at_least == pytest.approx(6)


@pytest.mark.complete
def test_without_a_difference_at_most_alpha_of_lists_claim_one():
    tested = ("slice", "kinds", "systems")
    claimed = 0
    for seed in range(50):
        pair = random(2 * seed), random(2 * seed + 1, name="n")
        found = analysis.findings(pair, most=None, resamples=50, seed=seed)
        claimed += any(one.about in tested for one in found)
    # At 5 % more than 10 of 50 have a chance of 1 in 10,000; without any adjustment 20 claim one.
    assert claimed <= 10


def test_nothing_and_one_document_are_no_error():
    assert analysis.findings([]) == []
    assert analysis.findings([evaluation([("1", "a", "match", "ok", None)])]) == []
    (lone,) = analysis.findings([evaluation([("1", "a", "missing", "missing", "missed")])])
    assert lone.about == "documents"
    assert math.isnan(lone.ci_low)
    empty = made("m", [], documents=["1"])
    assert analysis.findings([empty, empty]) == []
    assert tables.check("cases", empty.cases).height == 0
