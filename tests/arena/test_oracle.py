import dataclasses

from formlab_arena.actions import (
    Click,
    Fill,
    Select,
    Upload,
    Wait,
)
from formlab_arena.observation import Element, Observation
from formlab_arena.oracle import Oracle


def element(id, kind="text", *, field=None, label="", option=None, value="", checked=None, **more):
    field = id if field is None else field
    return Element(field, option, kind, value, checked, more.pop("options", ()), (0, 0, 9, 9),
                   id=id, name=label, **more)  # fmt: skip


def button(id, label, kind="submit"):
    return element(id, kind, field="", label=label)


class Page:
    """A page without a browser: what it shows after actions is what they set."""

    def __init__(self, *elements, address="http://a/"):
        self.elements, self.address, self.asked = list(elements), address, []

    def seen(self, **more):
        return Observation(1, None, (1280, 800), "", (), tuple(self.elements),
                           address=self.address, **more)  # fmt: skip

    def set(self, id, **changes):
        self.elements = [
            dataclasses.replace(e, **changes) if e.id == id else e for e in self.elements
        ]

    def take(self, actions):
        self.asked += actions
        for action in actions:
            match action:
                case Fill(id, text):
                    self.set(id, value=text)
                case Select(id, options):
                    self.set(id, value=", ".join(options))
                case Upload(id, names):
                    self.set(id, value=", ".join(names))
                case Click(element=id) if (mark := self.by_id(id)) and mark.checked is not None:
                    for other in self.elements if mark.kind == "radio" else ():
                        if other.field == mark.field:
                            self.set(other.id, checked=False)
                    self.set(id, checked=mark.kind == "radio" or not mark.checked)

    def by_id(self, id):
        return next((e for e in self.elements if e.id == id), None)

    def play(self, oracle, looks=30):
        """What was asked for until the oracle was done."""
        for _ in range(looks):
            if not (actions := oracle.act(self.seen())):
                return self.asked
            self.take(actions)
        raise AssertionError(f"not done after {looks} looks: {self.asked[-5:]}")


def test_any_page_is_filled_in_by_labels_and_sent():
    page = Page(
        button("s", "Search"), element("e1", field="q7", label="Full name *"),
        element("e2", "date", field="dob", label="Date of birth"),
        element("e3", "select", field="land", label="Country", options=("Choose", "Norway")),
        element("e4", "radio", field="food", option="v", label="Vegetarian", checked=False),
        element("e5", "radio", field="food", option="a", label="Everything", checked=True),
        element("e6", "checkbox", field="day", option="mo", label="Monday", checked=False),
        element("e7", "checkbox", field="day", option="tu", label="Tuesday", checked=True),
        element("e8", "checkbox", field="ok", label="I accept the rules", checked=False),
        element("e9", "file", field="cv", label="Your CV"),
        button("r", "Reset", "reset"), button("b", "Cancel", "button"), button("g", "Go"),
        button("n", "Subscribe to our newsletter", "button"),
    )  # fmt: skip
    asked = page.play(Oracle({
        "Full name": "Ada Berg", "date of birth": "5 July 1987", "Country": "norway",
        "Food": "Vegetarian", "day": ["Monday"], "I accept the rules": True, "CV": "ada.pdf",
    }))  # fmt: skip
    assert asked[:2] == [Fill("e1", "Ada Berg"), Fill("e2", "1987-07-05")]
    assert asked[2:9] == [
        Select("e3", ("Norway",)), Click(element="e4"), Click(element="e6"), Click(element="e7"),
        Click(element="e8"), Upload("e9", ("ada.pdf",)), Click(element="g"),
    ]  # fmt: skip
    assert asked[9:] == [Wait(1.5)]


def test_wizard_is_turned_until_its_answers_are_used_up_and_then_sent():
    class Wizard(Page):
        def take(self, actions):
            super().take(actions)
            if Click(element="n") in actions:
                self.elements = [element("e2", label="Phone"), button("s", "Send")]
                self.elements += [button("p", "Back", "button")]
            if Click(element="s") in actions:
                self.elements, self.address = [button("o", "Send another")], "http://a/thanks"

    page = Wizard(element("e1", label="Name"), button("n", "Next", "button"), button("x", "Save"))
    asked = page.play(Oracle({"Name": "Ada", "Phone": "1"}))
    assert asked == [
        Fill("e1", "Ada"), Click(element="n"), Fill("e2", "1"), Click(element="s"),
    ]  # fmt: skip


def test_form_that_is_empty_again_was_sent_and_is_not_sent_twice():
    class Emptied(Page):
        def take(self, actions):
            super().take(actions)
            if Click(element="g") in actions:
                self.set("e1", value="", message="Please fill in this field")

    page = Emptied(element("e1", label="Name"), button("g", "Send"))
    assert page.play(Oracle({"Name": "Ada"})) == [
        Fill("e1", "Ada"), Click(element="g"), Wait(1.5),
    ]  # fmt: skip
