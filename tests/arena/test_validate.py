import pytest

from formlab_arena.instances import make
from formlab_arena.spec import FormField, FormPage, WebForm, form, forms
from formlab_arena.validate import read


def form_with(**field):
    return WebForm("Z1", "Tiny", "Test", {}, (FormPage("", (FormField("a", label="A", **field),)),))


def answer(texts, **field):
    answers, wrong = read(form_with(**field), {"a": texts}, {})
    return answers["a"] if not wrong else wrong["a"]


@pytest.mark.parametrize("text", ["", "abc", "1e5", "nan", "inf", "٣", "1,000", "--1", "9" * 400])
def test_number_that_is_none_is_refused(text):
    assert isinstance(answer([text], type="number"), str)


@pytest.mark.parametrize("text", ["2027-02-29", "2027-13-01", "01/02/2027", "20270101", "2027-W01"])
def test_date_that_is_none_is_refused(text):
    assert "YYYY-MM-DD" in answer([text], type="date")


@pytest.mark.parametrize(
    ("texts", "field", "says"),
    [
        (["x", "y"], {"type": "string"}, "one answer only"),
        (["<b>"], {"type": "dropdown", "options": ("x",)}, "options listed"),
        (["x", "<b>"], {"type": "multiple", "options": ("x", "y")}, "options listed"),
        ([], {"type": "checkbox"}, "must be ticked"),
    ],
)
def test_answer_that_the_field_does_not_take_is_refused(texts, field, says):
    assert says in answer(texts, **field)


def test_field_that_does_not_apply_is_null_whatever_was_sent():
    sent = {"pets": ["No"], "animals": ["A cat."]}
    answers, wrong = read(form("B12"), sent, {})
    assert answers["animals"] is None
    assert "animals" not in wrong
    assert "animals" in read(form("B12"), {"pets": ["Yes"]}, {})[1]


def test_every_made_instance_passes_and_comes_back_as_it_was():
    for spec in forms().values():
        for number in (1, 2, 3):
            values = make(spec, number, seed=5).values
            sent, attached = {}, {}
            for field in spec.fields:
                value = values[field.name]
                if value is None or value is False:
                    continue
                if field.type == "file":
                    attached[field.name] = [value]
                else:
                    sent[field.name] = value if isinstance(value, list) else [str(value)]
            assert read(spec, sent, attached) == (values, {})
