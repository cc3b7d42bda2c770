import random

import pytest

from formlab_arena.labelled_lines import labelled_values, unmarked

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


def written(form):
    return form(PAIRS)


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
    for pair in PAIRS:
        assert pair in {(each.label, each.value) for each in read}


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


def test_value_goes_on_over_indented_lines_bullets_and_lines_without_a_label():
    text = (
        "Address: 1 Mill Lane\n  Corby\nSkills:\n- Python\n- SQL\n"
        "Plan: First part.\nSecond part.\n\nThird: part"
    )
    values = {each.label: each for each in labelled_values(text)}
    assert values["Address"].value == "1 Mill Lane\nCorby"
    assert values["Skills"].value == "Python\nSQL"
    # A line of its own ends a short value, but not a long one.
    assert values["Plan"].value == "First part."
    assert values["Plan"].whole == "First part.\nSecond part."


NOTE = "Field work; then sorting. Note: no permits needed."


@pytest.mark.parametrize(
    ("text", "known"),
    [
        (f"Name: Ada\nPlan: {NOTE}\nSeats: 4", ["Plan"]),
        (f"**Name:** Ada\n\n**Plan:** {NOTE}\n\n- **Seats**: 4", []),
        (f"Name: Ada. Born: 1990. Plan: {NOTE} Seats: 4.", ["1. Name *", "Born", "Plan", "Seats"]),
    ],
)
def test_words_before_a_colon_that_are_no_label_stay_in_the_value(text, known):
    values = {each.label: each.whole for each in labelled_values(text, known)}
    assert (values["Plan"], values["Seats"]) == (NOTE, "4")
    # What may be a label of another page begins a value in a paragraph.
    assert "Note" in {each.label for each in labelled_values(f"Name: Ada. Plan: {NOTE} Seats: 4.")}


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("ada@lund.example.co.uk.", "ada@lund.example.co.uk"),
        ("Ms.", "Ms"),
        ("No.", "No"),
        ("B.", "B"),
        ("+298 55 01 ext. 204.", "+298 55 01 ext. 204"),
        ("Dr. I. Berg.", "Dr. I. Berg"),
        ("Flat 4, 17 Mill Rd. 2, Leeds LS6 2AB.", "Flat 4, 17 Mill Rd. 2, Leeds LS6 2AB"),
        ("Lund Tools Inc.", "Lund Tools Inc."),
        ("Mill St.", "Mill St."),
        ("The hall is cold. Please heat it.", "The hall is cold. Please heat it."),
    ],
)
def test_stop_of_a_sentence_is_no_part_of_a_value(written, value):
    read = labelled_values(f"Age: 4. Fee, incl. extras: 5. A: {written} Extras: none.", ["Extras"])
    values = {each.label: (each.value, each.whole) for each in read}
    assert values["A"] == (value, value)


def test_label_within_a_longer_label_begins_no_value():
    values = labelled_values("Name: Ada\nFee, incl. extras: 5", ["Extras", "Fee, incl. extras"])
    assert [(each.label, each.value) for each in values] == [
        ("Name", "Ada"),
        ("Fee, incl. extras", "5"),
    ]


def test_heading_is_the_section_and_a_heading_alone_asks():
    values = labelled_values("## Owner\nName: Ada\n## Tenant\nName: Bo\n### Wishes\nA quiet room")
    assert [(each.section, each.value) for each in values[:2]] == [
        ("Owner", "Ada"),
        ("Tenant", "Bo"),
    ]
    assert (values[-1].label, values[-1].value) == ("Wishes", "A quiet room")


def test_ticked_items_of_a_task_list_are_answers():
    values = labelled_values("- [x] Newsletter\n- [ ] Terms")
    assert [(each.label, each.value) for each in values] == [("Newsletter", "yes"), ("Terms", "no")]


@pytest.mark.parametrize(
    ("marked", "plain"),
    [
        ("**a** *b* _c_ `d_e_` ~f", "a b c d_e_ ~f"),
        ("[site](https://a.example) <b@c.example>", "site b@c.example"),
        (r"\*not bold\* snake_case_name 5 * 3 * 2", "*not bold* snake_case_name 5 * 3 * 2"),
        ("*" * 9000, "*" * 9000),
    ],
)
def test_marks_of_markdown_go_and_other_stars_stay(marked, plain):
    assert unmarked(marked) == plain


@pytest.mark.parametrize(
    "text", [":" * 9000, "a: " * 9000, "\0: \ud800", "| " * 9000, "Ab. " * 9000]
)
def test_hostile_lines_cost_no_crash(text):
    labelled_values(text, ["a", "(", "*" * 5000])
