"""Who fills in any page by its elements: from the answers (`Oracle`), or from a text (`Rules`)."""

import dataclasses
import random
from pathlib import Path

import numpy as np
import pytest
import yaml
from PIL import Image, ImageDraw

from formlab_arena.actions import Click, Fill, Press, Select, Type, Upload, Wait
from formlab_arena.episode import RunSettings
from formlab_arena.form_url import fill_url
from formlab_arena.instruction_text import InstructionText
from formlab_arena.labelled_lines import labelled_values
from formlab_arena.matching import assigned, closest, pair
from formlab_arena.notation import parse
from formlab_arena.observation import Element, Observation
from formlab_arena.oracle import Oracle
from formlab_arena.page_fields import fields_of, native, same
from formlab_arena.rules_agent import Rules
from formlab_arena.rules_by_tree import RulesByTree, content_for
from formlab_arena.screen import Screen, ScreenField, TextLine, arrange
from formlab_arena.value_patterns import as_asked, in_control
from tests.arena.web.hosting import FOREIGN_RIGHT, FOREIGN_TEXT, hosting, page_of


def element(name, kind="text", field=None, **more):
    known = {"value": "", "checked": None, "options": (), "option": None, "id": name} | more
    own = "" if kind in ("button", "submit", "reset") else name.lower()
    field = own if field is None else field
    role = known.pop("role", "button" if not own else "")
    return Element(field, kind=kind, box=(0, 0, 80, 40), name=name, role=role, **known)


def ticks(field, label, *names, kind="radio"):
    return [
        element(name, kind, field, option=name, checked=False, label=label, id=f"{field}-{name}")
        for name in names
    ]


class Page:
    """A page without a browser: it shows what is set, and by each button the next of its views."""

    def __init__(self, *views, files=()):
        self.elements, self.views, self.files = list(views[0]), iter(views[1:]), files
        self.filled, self.pressed = {}, []

    def set(self, id, **changes):
        self.elements = [
            dataclasses.replace(e, **changes) if e.id == id else e for e in self.elements
        ]
        self.filled |= {e.id: e.value if e.checked is None else e.checked for e in self.elements}

    def take(self, action):
        match action:
            case Fill(id, text):
                self.set(id, value=text)
            case Select(id, texts) | Upload(id, texts):
                self.set(id, value=", ".join(texts))
            case Click(element=id):
                clicked = next(e for e in self.elements if e.id == id)
                if clicked.checked is None:
                    self.pressed.append(clicked.name)
                    view = next(self.views, None)
                    self.elements = self.elements if view is None else list(view)
                    return
                for other in self.elements:
                    if clicked.kind == "radio" and other.field == clicked.field:
                        self.set(other.id, checked=False)
                self.set(id, checked=clicked.kind == "radio" or not clicked.checked)

    def play(self, agent, text):
        """Until the agent is done: what was filled in, and the buttons that were pressed."""
        for step in range(1, 40):
            size, elements = (1280, 800), tuple(self.elements)
            actions = agent.act(Observation(step, None, size, text, self.files, elements))
            if not actions:
                return self.filled, self.pressed
            for action in actions:
                self.take(action)
        raise AssertionError("it does not end")


def both(answers, *views, files=()):
    """What each agent fills in and presses on the same page."""
    text = "\n".join(f"{name}: {value}" for name, value in answers.items())
    gold = {
        name: {"yes": True, "no": False}.get(value, value.split("; ") if "; " in value else value)
        for name, value in answers.items()
    }
    agents = (Oracle(gold), RulesByTree())
    one, other = (Page(*views, files=files).play(agent, text) for agent in agents)
    assert one == other
    return one


SEND = element("Send", "submit")


def test_controls_of_every_kind_take_their_values():
    form = [
        element("Search", "submit"), element("Name *", required=True), element("Born", "date"),
        element("Country", "select", options=("Choose", "Norway", "Sweden")),
        element("Days", "select", options=("Mon", "Tue", "Wed"), many=True),
        element("Fee", "number"), element("CV", "file"), element("News", "checkbox", checked=True),
        *ticks("food", "Food", "Rice", "Soup"),
        *ticks("extras", "Extras", "Tea", "Milk, cold", "Jam", kind="checkbox"),
        element("Unknown"), element("Terms", "checkbox", checked=False, required=True),
        element("Reset", "reset"), element("Cancel", "button"), SEND,
        element("Subscribe to our newsletter", "button"),
    ]  # fmt: skip
    answers = {
        "Name": "Ada Berg", "Born": "5 March 1990", "Country": "norway", "Days": "Mon; Wed",
        "Fee": "1250", "CV": "cv.pdf", "News": "no", "Food": "soup", "Extras": "Milk, cold; Jam",
        "Terms": "yes",
    }  # fmt: skip
    filled, pressed = both(answers, form, None, files=("cv.pdf", "other.pdf"))
    assert pressed == ["Send"]
    assert {name: content for name, content in filled.items() if content != ""} == {
        "Name *": "Ada Berg", "Born": "1990-03-05", "Country": "Norway", "Days": "Mon, Wed",
        "Fee": "1250", "CV": "cv.pdf", "News": False, "food-Rice": False, "food-Soup": True,
        "extras-Tea": False, "extras-Milk, cold": True, "extras-Jam": True, "Terms": True,
    }  # fmt: skip


def test_wizard_is_gone_through_and_sent_once():
    pages = [
        [element(who, id=f"{who}-name"), element("Back", "button"), element(button, "button")]
        for who, button in (("Owner", "Next"), ("Tenant", "Continue"), ("Agent", "Submit"))
    ]
    filled, pressed = both({"Owner": "Ada", "Tenant": "Bo", "Agent": "Cy"}, *pages, [])
    assert pressed == ["Next", "Continue", "Submit"]
    assert [filled[f"{who}-name"] for who in ("Owner", "Tenant", "Agent")] == ["Ada", "Bo", "Cy"]


def test_form_that_is_empty_again_or_thanks_is_not_sent_again():
    form = [element("Name", required=True), SEND]
    for after in (form, [], [element("Submit another", "button")], [element("Search"), SEND]):
        assert both({"Name": "Ada"}, form, after)[1] == ["Send"]


SAYS = InstructionText("Name: Ada\nPhone: 555 010 2231\nTown: Bern\nFiles: a.pdf, b.pdf\nAge: 3")


def test_what_is_left_to_do_for_a_field():
    table = yaml.safe_load(Path(__file__).with_name("left_to_do.yml").read_text("utf-8"))
    for kind, name, more, *lines in table:
        seen = element(name, kind, name, **{"id": "e1", "role": ""} | more)
        (field,) = fields_of([seen]).values()
        (mention,) = SAYS.assign([field.names])
        content = content_for(field, SAYS, mention, files=("a.pdf", "b.pdf"))
        todo = [] if content is None or field.holds(content) else field.enter(content)
        assert todo == parse("\n".join(lines))[0], (kind, name, more)


# Two fields in a row, one beside its label, two rings and a box to tick, a button; where texts are,
# of which OCR took a ring into one.
BOXES = [(20, 50, 300, 86), (340, 50, 620, 86), (200, 110, 620, 200), (24, 310, 41, 327)]
LINES = {
    "First name": (20, 24, 110, 46), "Last name": (340, 24, 430, 46), "Ada": (30, 58, 60, 78),
    "Remarks": (110, 116, 190, 138), "Travel": (22, 214, 80, 234), "By rail": (50, 238, 110, 258),
    "By bus": (20, 268, 110, 288), "I agree": (50, 308, 110, 328), "Send": (55, 370, 105, 390),
}  # fmt: skip


def test_fields_have_the_nearest_label_and_what_is_in_them():
    image = Image.new("L", (640, 420), 255)
    pen = ImageDraw.Draw(image)
    for box in BOXES:
        pen.rectangle(box, outline=90)
    for y in (240, 270):
        pen.ellipse((24, y, 41, y + 17), outline=90)
    pen.ellipse((29, 275, 36, 282), fill=90)
    pen.rectangle((20, 360, 140, 400), fill=60)
    found = arrange(np.asarray(image), [TextLine(text, box) for text, box in LINES.items()]).fields
    assert [(f.labels[:1], f.text) for f in found] == [
        (("First name",), "Ada"), (("Last name",), ""), (("Remarks",), ""), ((), "Send"),
    ]  # fmt: skip
    assert found[0].box == pytest.approx((20, 50, 301, 87), abs=2)


def on_screens(text, *screens):
    """What the agent does at each look at a screen of fields: label, content, kind and where."""
    shown = iter([
        Screen((TextLine("Camp", (0, 0, 50, 15)),), tuple(
            ScreenField((100, at, 400, at + 30), content, (label,), kind)
            for label, content, kind, at in fields
        ), ())
        for fields in screens
    ])  # fmt: skip
    agent = Rules(lambda _: next(shown))
    looks = range(1, len(screens) + 1)
    return [agent.act(Observation(look, None, (1280, 800), text, ())) for look in looks]


def test_parts_of_dates_and_times_are_typed_as_keys_in_the_order_shown():
    fields = [
        ("Day", "mm/dd/yyyy", "date", 0), ("Tag", "dd/mm/yyyy", "date", 50),
        ("Hour", "--:-- --", "time", 100), ("Month", "--------- ----", "month", 150),
        ("Start", "mm/dd/yyyy, --:-- --", "datetime-local", 200),
    ]  # fmt: skip
    text = "Day: 5 March 2027\nTag: 2027-03-05\nHour: 9.30 pm\nMonth: May 2027\n"
    [done] = on_screens(f"{text}Start: 2027-03-05 09:30", fields)
    keys = [action.key for action in done if isinstance(action, Press)]
    assert "".join(keys) == (
        "03/05/2027" "05/03/2027" "0930P" "MayArrowRight2027" "03/05/2027ArrowRight0930A"
    )  # fmt: skip
    assert not any(isinstance(action, Type) for action in done)


def test_a_screen_that_is_empty_after_the_form_was_sent_is_not_sent_again():
    empty, full = ([("Name", name, "", 100), ("", "Send", "button", 700)] for name in ("", "Ada"))
    assert on_screens("Name: Ada.", empty, full, empty, empty)[2:] == [[Wait(0.7)], []]


@pytest.mark.browser
@pytest.mark.parametrize("observe", ["pixels", "tree"])
def test_form_that_is_not_ours_is_filled_in_from_its_screenshots_or_elements(tmp_path, observe):
    with hosting(page_of("foreign")) as server:
        settings = RunSettings("rules", observe=observe)
        result = fill_url(server.url, tmp_path, settings, text=FOREIGN_TEXT)
    assert (result["status"], result["filled"]) == ("submitted", FOREIGN_RIGHT)
    assert result["left_at"].endswith("/thanks")
    assert len(server.sent) == 1


VALUES = yaml.safe_load(Path(__file__).with_name("values.yml").read_text("utf-8"))


def option_meant(value, options):
    at = closest(value, options)
    return None if at is None else options[at]


@pytest.mark.parametrize(
    ("table", "function"),
    [
        ("written as the field asks", as_asked),
        ("in the form of a control", in_control),
        ("options by what they mean", option_meant),
        ("as the control takes it", native),
    ],
)
def test_values_of_the_table_are_written_so(table, function):
    for *given, written in VALUES[table]:
        assert function(*given) == written, given


def test_order_of_day_and_month_is_that_of_the_text():
    assert in_control("05/06/2027", "date") == "2027-05-06"
    assert in_control("05/06/2027", "date", order="day") == "2027-06-05"


def test_labels_and_values_are_read_back_in_any_notation():
    pairs = [tuple(pair) for pair in VALUES["labelled"]]
    for line, between, before, after in VALUES["notations"]:
        lines = [line.format(n=n, k=k, v=v) for n, (k, v) in enumerate(pairs)]
        text = before + between.join(lines) + after
        read = labelled_values(text, [label for label, _ in pairs])
        assert set(pairs) <= {(each.label, each.value) for each in read}, line


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


def test_equal_texts_differ_in_case_spaces_and_marks_only():
    assert same(" Ada  Berg", "ada berg")
    assert not same("", "-")
    assert same("", " ")
