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


def test_numbers_keep_their_kind_and_range():
    assert answer(["12"], type="number") == 12
    assert answer(["1.5"], type="number") == 1.5
    assert answer(["11"], type="number", range=(1, 10)) == "A: a number from 1 to 10"


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


def test_multiple_is_in_the_order_of_the_form_and_an_unticked_wish_is_false():
    assert answer(["y", "x"], type="multiple", options=("x", "y", "z")) == ["x", "y"]
    assert answer([], type="checkbox", required=False) is False


def test_file_needs_its_ending_and_is_no_text():
    attach = form_with(type="file", accept=("pdf",))
    assert read(attach, {}, {"a": ["x.PDF"]}) == ({"a": "x.PDF"}, {})
    assert ".pdf" in read(attach, {}, {"a": ["x.exe"]})[1]["a"]
    assert "one answer only" in read(attach, {}, {"a": ["x.pdf", "y.pdf"]})[1]["a"]
    assert "at most 255" in read(attach, {}, {"a": ["x" * 252 + ".pdf"]})[1]["a"]
    assert "not a file" in read(form_with(type="string"), {}, {"a": ["x.pdf"]})[1]["a"]
    assert "not a text" in read(attach, {"a": ["x.pdf"]}, {})[1]["a"]
    assert "attached" in read(attach, {}, {})[1]["a"]


def test_field_that_does_not_apply_is_null_whatever_was_sent():
    sent = {"pets": ["No"], "animals": ["A cat."]}
    answers, wrong = read(form("B12"), sent, {})
    assert answers["animals"] is None
    assert "animals" not in wrong
    assert "animals" in read(form("B12"), {"pets": ["Yes"]}, {})[1]


def test_name_the_form_does_not_have_is_refused():
    assert "no field of this form" in read(form("E12"), {"_proto": ["1"]}, {})[1]["_proto"]


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
