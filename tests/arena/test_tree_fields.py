import dataclasses

import pytest

from formlab_arena.actions import Click, Fill, Select, Upload
from formlab_arena.instruction_text import InstructionText
from formlab_arena.observation import Element
from formlab_arena.page_fields import fields_of
from formlab_arena.tree_fields import content_for

BOX = (0, 0, 9, 9)
TEXT = InstructionText("Name: Ada\nPhone: 555 010 2231\nTown: Bern\nFiles: a.pdf, b.pdf\nAge: 3")


def named_fields(elements):
    return fields_of(elements).values()


def single(kind="text", name="Name", **more):
    known = {"value": "", "checked": None, "options": (), "id": "e1"} | more
    (field,) = named_fields([Element(name, None, kind=kind, box=BOX, name=name, **known)])
    return field


def todo(field, **more):
    (mention,) = TEXT.assign([field.names])
    content = content_for(field, TEXT, mention, **more)
    return [] if content is None or field.holds(content) else field.enter(content)


def test_ticks_of_a_choice_are_one_question_and_buttons_are_none():
    ticks = [
        Element("food", option, "radio", "", False, (), BOX, id=option, label="Food")
        for option in ("Rice", "Soup")
    ]
    button = Element("_next", None, "button", "", None, (), BOX, role="button")
    off = dataclasses.replace(single().elements[0], disabled=True)
    (food,) = named_fields([*ticks, button, off])
    assert food.label == "Food"
    assert food.is_empty
    assert not food.is_tick


def test_label_comes_from_hint_or_name_of_the_field_where_there_is_none():
    bare = Element("first_name", None, "text", "", None, (), BOX, hint="Your name; pattern x")
    (field,) = named_fields([bare])
    assert field.names == ["Your name", "first name"]


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


def test_list_that_has_no_such_option_is_opened_at_the_second_try():
    assert single("combobox", "Town", role="combobox").enter(("Bern",), again=True) == [
        Click(element="e1")
    ]
