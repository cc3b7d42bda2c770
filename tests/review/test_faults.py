import pytest

from formlab_review.faults import faults

FIELDS = {
    "/Order/Copies": {"value": "40", "kind": "number"},
    "/Order/Price": {"value": "1.25", "kind": "money"},
    "/Order/Total": {"value": "50.00", "kind": "money"},
    "/Note": {"value": "Leave it at the porter's lodge", "kind": "string"},
    "/Empty": {"value": "", "kind": "string"},
}
RELATION = {
    "scope": "intra-group", "reference": "constraint", "complexity": "compound",
    "modal": "single-modality", "rationale": "It follows.",
}  # fmt: skip
NAMES = {"n": "/Order/Copies", "p": "/Order/Price"}
QUESTION = RELATION | {
    "id": "d1", "question": "What do two thirds of it cost?", "answers": ["50"], "options": [],
    "fields": ["/Order/Copies", "/Order/Price"], "kind": "money",
}  # fmt: skip
CHECK = RELATION | {
    "id": "d1", "source": "/Order/Copies", "dependent": "/Order/Total", "expected": "50",
    "confidence": 0.9, "determined": True,
}  # fmt: skip


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        # 50 is part of the total that stands on the form.
        ({}, None),
        ({"answers": ["Tuesday"]}, "no formula says how"),
        ({"answers": ["33.33"], "derivation": {"formula": "n * p * 2 / 3", "fields": NAMES}}, None),
        ({"answers": ["33"], "derivation": {"formula": "n * p / 2", "fields": NAMES}}, "gives 25"),
        ({"answers": ["33"], "derivation": {"formula": "n", "fields": {"n": "/Note"}}}, "needs a"),
        ({"answers": ["33"], "derivation": {"formula": "n +", "fields": NAMES}}, "worked out"),
        ({"answers": ["yes"]}, None),
        ({"answers": ["the porter's lodge"], "fields": ["/Note"]}, None),
        ({"answers": ["40"], "fields": ["/Order/Copies"]}, "only asks what one field says"),
        ({"answers": ["a"], "options": ["A", "b"]}, None),
        ({"answers": ["a; b"], "options": ["A", "b"]}, None),
        ({"answers": ["c"], "options": ["A", "b"]}, "none of the options"),
        ({"answers": []}, "no answer"),
        ({"answers": [" "]}, "no answer"),
        ({"question": " "}, "no question"),
        ({"fields": []}, "no field is named"),
        ({"fields": ["/Order/Copies", "/Order/Colour"]}, "no field at /Order/Colour"),
        ({"scope": "nearby"}, "scope 'nearby' is none of"),
        ({"rationale": ""}, "no reason"),
    ],
)  # fmt: skip
def test_a_question_is_held_against_the_annotation(change, fault):
    reasons = faults("vqa", QUESTION | change, FIELDS)
    assert (len(reasons), fault in reasons[0]) == (1, True) if fault else reasons == ()


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ({}, None),
        ({"expected": "$50.00"}, None),  # The same amount.
        ({"expected": "51"}, "the annotation of /Order/Total says '50.00'"),
        ({"dependent": "/Empty", "expected": "anything"}, None),
        ({"determined": False}, "a mere constraint"),
        ({"dependent": "/Order/Copies"}, "one field"),
        ({"expected": ""}, "no value is expected"),
        ({"confidence": 1.5}, "from 0 to 1"),
        ({"confidence": "sure"}, "from 0 to 1"),
        ({"source": "/Empty"}, "/Empty is empty"),
        ({"source": "/Nowhere"}, "no field at /Nowhere"),
    ],
)
def test_a_check_is_held_against_the_annotation(change, fault):
    reasons = faults("consistency", CHECK | change, FIELDS)
    assert (len(reasons), fault in reasons[0]) == (1, True) if fault else reasons == ()
