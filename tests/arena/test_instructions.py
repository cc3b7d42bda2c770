import random

import pytest

from formlab_arena.labelled_lines import labelled_values
from formlab_arena.matching import assigned, closest, pair
from formlab_arena.page_fields import native, same
from formlab_arena.value_patterns import as_asked, in_control


@pytest.mark.parametrize(
    ("value", "hint", "written"),
    [
        ("3rd of May 1990", "DD/MM/YYYY", "03/05/1990"),
        ("May 3, 1990", "mm/dd/yyyy", "05/03/1990"),
        ("1990-05-03", "dd.mm.yy", "03.05.90"),
        ("1990/05/03", "TT.MM.JJJJ", "03.05.1990"),
        ("3 May 1990", "", "3 May 1990"),
        ("3 May 1990", "my summary", "3 May 1990"),
        ("soon", "DD/MM/YYYY", "soon"),
        ("31 February 2020", "YYYY-MM-DD", "31 February 2020"),
        ("555.010.2231", "pattern [0-9]{3}-[0-9]{3}-[0-9]{4}", "555-010-2231"),
        ("(555) 010-2231", r"pattern \(\d{3}\) \d{3}-\d{4}", "(555) 010-2231"),
        ("Ada", "pattern [A-Z]+", "Ada"),
    ],
)
def test_values_are_written_as_the_field_asks(value, hint, written):
    assert as_asked(value, hint) == written


@pytest.mark.parametrize(
    ("value", "kind", "written"),
    [
        ("5 March 2027", "date", "2027-03-05"),
        ("on Friday, 5th of March 2027", "date", "2027-03-05"),
        ("2024/12/05", "date", "2024-12-05"),
        ("soon", "date", None),
        ("2:05 pm", "time", "14:05"),
        ("12 a.m.", "time", "00:00"),
        ("at noon", "time", "12:00"),
        ("25:00", "time", None),
        ("March 2027", "month", "2027-03"),
        ("03/2027", "month", "2027-03"),
        ("week 9 of 2027", "week", "2027-W09"),
        ("5 March 2027", "week", "2027-W09"),
        ("5 March 2027 at 9:30", "datetime-local", "2027-03-05T09:30"),
        ("$1,334,000.50 a year", "number", "1334000.50"),
        ("minus", "number", None),
        ("Red", "color", "#ff0000"),
        ("reddish", "color", None),
        ("1 March", "text", "1 March"),
    ],
)
def test_values_take_the_form_of_their_control(value, kind, written):
    assert in_control(value, kind) == written


def test_order_of_day_and_month_is_that_of_the_text():
    assert in_control("05/06/2027", "date") == "2027-05-06"
    assert in_control("05/06/2027", "date", order="day") == "2027-06-05"


PAIRS = [
    ("Full name", "Ada Berg"),
    ("Web site", "https://ada.example/a_b_c?x=1:2"),
    ("Phone", "(555) 010-2231 x75507"),
    ("Opens at", "14:30"),
    ("Do you have any pets?", "No"),
    ("File", "my_own_file.pdf"),
    ("Subject", "Re: a note: read it"),
    ("Terms (short)", "2*3*4 - 5"),
]


@pytest.mark.parametrize(
    "form",
    [
        lambda pairs: "\n".join(f"{k}: {v}" for k, v in pairs),
        lambda pairs: "\n".join(f"- {k}: {v}" for k, v in pairs),
        lambda pairs: "\n".join(f"{n}. {k}: {v}" for n, (k, v) in enumerate(pairs)),
        lambda pairs: "# Data\n\n" + "\n\n".join(f"**{k}:** {v}" for k, v in pairs),
        lambda pairs: "\n".join(f"* __{k}__: `{v}`" for k, v in pairs),
        lambda pairs: (
            "| Label | Value |\n|:--|--|\n" + "\n".join(f"| **{k}** | {v} |" for k, v in pairs)
        ),
        lambda pairs: "\n".join(f"{k}\t{v}" for k, v in pairs),
        lambda pairs: "\n".join(f"{k} — {v}" for k, v in pairs),
        lambda pairs: "\n".join(f'"{k}": "{v}"' for k, v in pairs),
        lambda pairs: "\n".join(f"{k}:\n    {v}" for k, v in pairs),
        lambda pairs: "\r\n".join(f"> {k}: {v}." for k, v in pairs),
        lambda pairs: (
            "Please enter this.\n\n"
            + "\n".join(f"{k}: {v}" for k, v in pairs)
            + "\n\nMany thanks,\nAda"
        ),
        lambda pairs: "; ".join(f"{k}: {v}" for k, v in pairs),
        lambda pairs: "Here it is. " + " ".join(f"{k}: {v}." for k, v in pairs),
    ],
)
def test_labels_and_values_are_read_back_in_any_notation(form):
    read = labelled_values(form(PAIRS), [label for label, _ in PAIRS])
    assert set(PAIRS) <= {(each.label, each.value) for each in read}


def test_any_values_on_lines_are_read_back_exactly():
    dice = random.Random(16)
    letters = "abc XYZ 019 .,;!?-+/()]{}<>@#$%&=^~éßÅ中’ :'"
    for _ in range(300):
        pairs = []
        for n in range(dice.randint(2, 12)):
            drawn = "".join(dice.choice(letters) for _ in range(dice.randint(1, 60)))
            # Several spaces divide cells; a mark at the end of all values is no part of any.
            pairs.append((f"Label {n}", f"v_{n} {' '.join(drawn.split())} {n % 2}w"))
        read = labelled_values("\n".join(f"{k}: {v}" for k, v in pairs))
        first = {each.place: each for each in reversed(read)}
        assert [(each.label, each.value) for _, each in sorted(first.items())] == pairs


@pytest.mark.parametrize(
    "text", [":" * 9000, "a: " * 9000, "\0: \ud800", "| " * 9000, "Ab. " * 9000]
)
def test_hostile_lines_cost_no_crash(text):
    labelled_values(text, ["a", "(", "*" * 5000])


def test_pairs_are_one_to_one_whatever_the_text():
    dice = random.Random(0)
    for _ in range(300):
        label = lambda: "".join(dice.choices("ab A1-_İ名", k=dice.randint(0, 6)))  # noqa: E731
        keys = list(dict.fromkeys(label() for _ in range(5)))
        labels = [label() for _ in range(5)]
        pairs = pair(keys, {str(n): (text,) for n, text in enumerate(labels)})
        assert len(set(pairs.values())) == len(pairs)
        assert all(labels[int(pairs[key])] == key for key in keys if key in labels)


def values_for(text, *labels, used=()):
    pairs = assigned([[label] for label in labels], labelled_values(text), used=used)
    return [pair and pair.value for pair in pairs]


def test_best_assignment_is_of_all_fields_together():
    text = "Company Name: Lund\nContact Name: Bo\nName: Ada\nE-mail: a@b.example"
    assert values_for(text, "Name", "Contact name", "Company name") == ["Ada", "Bo", "Lund"]
    assert values_for(text, "Contact e-mail", "Email *") == [None, "a@b.example"]


@pytest.mark.parametrize(
    ("value", "options", "chosen"),
    [
        ("No", ["Please select", "Norway", "Yes", "No", "NO"], "No"),
        (False, ["Yes", "No, thanks"], "No, thanks"),
        ("true", ["No", "Yes"], "Yes"),
        ("urgent", ["Urgent - System Down", "Normal"], "Urgent - System Down"),
        ("Urgent-System Down", ["Urgent - System Down", "Normal"], "Urgent - System Down"),
        ("UK", ["United States", "United Kingdom"], "United Kingdom"),
        ("12", ["1-10", "11-50", "51+"], "11-50"),
        ("5", ["1", "5", "50"], "5"),
        ("Enginering", ["Sales", "Engineering"], "Engineering"),
        ("the second one", ["First", "Third"], None),
        ("Select", ["Select…", "Other"], None),
        ("", ["", "a"], None),
    ],
)
def test_option_is_found_by_what_it_means(value, options, chosen):
    at = closest(value, options)
    assert (None if at is None else options[at]) == chosen


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
