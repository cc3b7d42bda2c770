import pytest

from formlab_arena.actions import Click, Fill, Select, Upload
from formlab_arena.episode import RunSettings
from formlab_arena.form_url import fill_url
from formlab_arena.instruction_text import InstructionText
from formlab_arena.observation import Element, Observation
from formlab_arena.page_fields import fields_of
from formlab_arena.rules_by_tree import RulesByTree, content_for
from tests.arena import test_oracle
from tests.arena.foreign import RIGHT, TEXT, foreign_page
from tests.arena.web import hosting


def element(name, kind="text", field=None, **more):
    known = {"value": "", "checked": None, "options": (), "option": None, "id": name} | more
    own = "" if kind in ("button", "canvas") else name.lower()
    field = own if field is None else field
    role = known.pop("role", "button" if kind == "button" else "")
    return Element(field, kind=kind, box=(0, 0, 80, 40), name=name, role=role, **known)


def ticks(field, label, *names, kind="radio"):
    return [
        element(name, kind, field, option=name, checked=False, label=label, id=f"{field}-{name}")
        for name in names
    ]


class Page(test_oracle.Page):
    """A page each of whose buttons shows the next of its views."""

    def __init__(self, *views, files=()):
        super().__init__(*views[0])
        self.views, self.files, self.pressed = iter(views[1:]), files, []

    def take(self, actions):
        for action in actions:
            used = self.by_id(getattr(action, "element", ""))
            super().take([action])
            if type(action) is Click and used and used.kind == "button":
                self.pressed.append(used.name)
                view = next(self.views, None)
                self.elements = self.elements if view is None else list(view)


def fill(page, text, looks=40):
    agent = RulesByTree()
    for step in range(1, looks):
        shown = Observation(step, None, (1280, 800), text, page.files, tuple(page.elements))
        actions = agent.act(shown)
        if not actions:
            return {e.id: e.checked if e.checked is not None else e.value for e in page.elements}
        page.take(actions)
    raise AssertionError("it does not end")


SEND = element("Send", "button")


def test_controls_of_every_kind_take_their_values():
    form = [
        element("Name *", required=True), element("Born", "date"), element("Plan", "textarea"),
        element("Country", "select", options=("Choose", "Norway", "Sweden")),
        element("Days", "select", options=("Mon", "Tue", "Wed"), many=True),
        element("Fee", "number"), element("CV", "file"), element("News", "checkbox", checked=False),
        *ticks("food", "Food", "Rice", "Soup"),
        *ticks("extras", "Extras", "Tea", "Milk, cold", "Jam", kind="checkbox"),
        element("Unknown"), element("Terms", "checkbox", checked=False, required=True), SEND,
    ]  # fmt: skip
    text = (
        "**Name:** Ada Berg\n**Born:** 5 March 1990\n**Country:** norway\n**Days:** Mon and Wed\n"
        "**Fee:** $1,250\n**CV:** cv.pdf\n**News:** no\n**Food:** soup\n"
        "**Extras:** Milk, cold; jam\n**Plan:** One.\n  Two."
    )
    page = Page(form, None, files=("cv.pdf", "other.pdf"))
    filled = fill(page, text)
    assert page.pressed == ["Send"]
    assert filled == {
        "Name *": "Ada Berg", "Born": "1990-03-05", "Plan": "One.\nTwo.", "Country": "Norway",
        "Days": "Mon, Wed", "Fee": "1250", "CV": "cv.pdf", "News": False, "food-Rice": False,
        "food-Soup": True, "extras-Tea": False, "extras-Milk, cold": True, "extras-Jam": True,
        "Unknown": "", "Terms": True, "Send": "",
    }  # fmt: skip


def test_wizard_is_gone_through_and_sent_once():
    pages = [
        [element("Name", group=(who,), id=f"{who}-name"), element("Back", "button"),
         element(button, "button")]
        for who, button in (("Owner", "Next"), ("Tenant", "Continue"), ("Agent", "Submit"))
    ]  # fmt: skip
    page = Page(*pages, [])
    fill(page, "Owner name: Ada\nTenant name: Bo\nAgent name: Cy")
    assert page.pressed == ["Next", "Continue", "Submit"]
    texts = [action.text for action in page.asked if isinstance(action, Fill)]
    assert texts == ["Ada", "Bo", "Cy"]


def test_form_that_is_empty_again_or_thanks_is_not_sent_again():
    form = [element("Name", required=True), SEND]
    for after in (form, [], [element("Submit another", "button")], [element("Search"), SEND]):
        page = Page(form, after)
        fill(page, "Name: Ada\nAge: 3")
        assert page.pressed == ["Send"]


AREA = (0, 0, 9, 9)
SAYS = InstructionText("Name: Ada\nPhone: 555 010 2231\nTown: Bern\nFiles: a.pdf, b.pdf\nAge: 3")


def named_fields(elements):
    return fields_of(elements).values()


def single(kind="text", name="Name", **more):
    known = {"value": "", "checked": None, "options": (), "id": "e1"} | more
    (field,) = named_fields([Element(name, None, kind=kind, box=AREA, name=name, **known)])
    return field


def todo(field, **more):
    (mention,) = SAYS.assign([field.names])
    content = content_for(field, SAYS, mention, **more)
    return [] if content is None or field.holds(content) else field.enter(content)


@pytest.mark.parametrize(
    ("field", "actions"),
    [
        (single(), [Fill("e1", "Ada")]),
        (single(value="ada"), []),
        (single(hint="read-only"), []),
        (single(name="Weight"), []),
        (single("tel", "Phone", hint="pattern [0-9]{3}-[0-9]{3}-[0-9]{4}"),
         [Fill("e1", "555-010-2231")]),
        (single("tel", "Phone", value="555-010-2231"), []),
        (single("tel", "Phone", value="555-010-2231", message="spaces only"),
         [Fill("e1", "555 010 2231")]),
        (single("text", "Town", options=("BERN", "Basel")), [Fill("e1", "BERN")]),
        (single("select", "Town", options=("Basel", "Bern")), [Select("e1", ("Bern",))]),
        (single("select", "Town", options=("Basel", "Bern"), value="Bern"), []),
        (single("combobox", "Town", role="combobox"), [Select("e1", ("Bern",))]),
        (single("file", "Files", many=True), [Upload("e1", ("a.pdf", "b.pdf"))]),
        (single("file", "Files"), [Upload("e1", ("a.pdf",))]),
        (single("file", "Files", value="a.pdf"), []),
        (single("checkbox", "Town", checked=False), [Click(element="e1")]),
        (single("checkbox", "Terms", checked=False, required=True), [Click(element="e1")]),
        (single("checkbox", "Terms", checked=False), []),
        (single("number", "Age"), [Fill("e1", "3")]),
    ],
)  # fmt: skip
def test_what_is_left_to_do_for_a_field(field, actions):
    assert todo(field, files=("a.pdf", "b.pdf")) == actions


@pytest.mark.browser
def test_form_that_is_not_ours_is_filled_in_by_its_elements(tmp_path):
    with hosting(foreign_page()) as server:
        result = fill_url(server.url, tmp_path, RunSettings("rules", observe="tree"), text=TEXT)
    assert result["status"] == "submitted"
    assert result["filled"] == RIGHT
    assert len(server.sent) == 1
