import pytest

from formlab_arena.page_fields import native, same


@pytest.mark.parametrize(
    ("kind", "hint", "value", "text"),
    [
        ("date", "", "March 5, 2027", "2027-03-05"), ("date", "", "soon", "soon"),
        ("datetime-local", "", "2027-07-12T09:30", "2027-07-12T09:30"),
        ("datetime-local", "", "12 July 2027, 9:30 pm", "2027-07-12T21:30"),
        ("time", "", "12:05 am", "00:05"), ("time", "", "16:45", "16:45"),
        ("month", "", "August 2027", "2027-08"), ("month", "", "2027-08", "2027-08"),
        ("week", "", "2027-W28", "2027-W28"), ("number", "", "1,250,000", "1250000"),
        ("text", "", "1,250,000", "1,250,000"), ("text", "DD/MM/YYYY", "05/07/1987", "05/07/1987"),
        ("text", "mm/dd/yyyy", "5 July 1987", "07/05/1987"), ("text", "", True, "Yes"),
        ("text", "", ["Tea", "Jam"], "Tea, Jam"),
    ],
)  # fmt: skip
def test_answer_is_written_as_the_control_takes_it(kind, hint, value, text):
    assert native(kind, hint, value) == text


def test_equal_texts_differ_in_case_spaces_and_marks_only():
    assert same(" Ada  Berg", "ada berg")
    assert not same("", "-")
    assert same("", " ")
