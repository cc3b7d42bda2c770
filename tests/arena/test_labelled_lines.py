import random

import pytest

from formlab_arena.labelled_lines import labelled_values

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


@pytest.mark.parametrize(
    "text", [":" * 9000, "a: " * 9000, "\0: \ud800", "| " * 9000, "Ab. " * 9000]
)
def test_hostile_lines_cost_no_crash(text):
    labelled_values(text, ["a", "(", "*" * 5000])
