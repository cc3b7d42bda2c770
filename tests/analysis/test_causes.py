import random

import polars as pl
import pytest

from formlab import tables
from formlab.analysis.causes import CAUSES, Fields, cause, causes, looks


@pytest.mark.parametrize(
    ("gold", "pred", "expected"),
    [
        ("Fax:", "Fax", "format_only"),
        ("(1,200)", "1,200", "sign_or_bracket"),
        ("12.50", "1250", "scale_or_decimal"),
        ("1,200", "1,201", "digit"),
        ("AB-12", "AB-17", "digit"),
        ("01/02/2020", "01/03/2020", "date_shift"),
        ("Jul 1, 2022", "Jul 2, 2022", "date_shift"),
        ("Ada Berg", "Ada", "incomplete"),
        ("Ada", "Ada Berg", "extra_text"),
        ("modern", "modem", "ocr_confusion"),
        ("Ada", "Bert Voss", "substitution"),
    ],
)
def test_cause_of_a_pair(gold, pred, expected):
    assert cause(gold, pred, typed=False) == expected


def test_same_typed_value_differs_in_format_only():
    assert cause("2022-07-01", "Jul 1, 2022", typed=True) == "format_only"


def test_value_of_another_field_and_of_another_row_are_told_apart():
    fields = Fields.of(
        [("/items/0/price", "3.00"), ("/items/1/price", "7.50"), ("/name", "Ada Berg")]
    )
    where = {"path": "/items/0/price", "fields": fields}
    assert cause("three", "7.50", typed=False, **where) == "wrong_row"
    assert cause("three", "Ada Berg", typed=False, **where) == "wrong_field"


def test_looks_makes_look_alikes_one_and_leaves_others_apart():
    assert looks("0Ol1") == looks("oO|I")
    assert looks("cat") != looks("dog")


def test_every_pair_has_one_known_cause_whatever_it_holds():
    generator = random.Random(0)
    alphabet = "aB0O1lI5S$-.,()/ é\u202e\x00<>"
    for _ in range(3000):
        gold, pred = ("".join(generator.choices(alphabet, k=generator.randint(1, 9))) for _ in "gp")
        assert cause(gold, pred, typed=generator.random() < 0.2) in CAUSES


def case(**changes):
    base = {
        "benchmark": "b", "split": "s", "doc_id": "1", "system": "m", "task": "text", "path": "/a",
        "gold": "x", "pred": "y", "status": "ok", "outcome": "mismatch", "exact": False,
        "typed": False,
    }  # fmt: skip
    return base | changes


def test_what_became_of_the_answer_goes_before_what_it_says():
    cases = tables.table(
        "cases",
        [
            case(status="bad_json", outcome="missing", path="/1"),
            case(status="missing", outcome="missing", path="/2"),
            case(outcome="spurious", path="/3"),
            case(outcome="unscored", path="/4"),
            case(exact=True, outcome="match", path="/5"),
            case(path=None),
        ],
    )
    assert causes(cases) == ["bad_json", "missing", "spurious", None, None, None]


def test_field_whose_value_reads_like_another_documents_is_no_wrong_field():
    cases = tables.table(
        "cases",
        [
            case(pred="seven"),
            case(doc_id="2", gold="seven", pred="seven", exact=True, outcome="match"),
        ],
    )
    assert causes(cases)[0] == "substitution"
    assert isinstance(cases, pl.DataFrame)
