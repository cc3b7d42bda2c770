import pytest

from formlab_arena.instances import PER_FORM, make, spoken
from formlab_arena.spec import form, forms


@pytest.mark.parametrize("code", forms())
def test_text_carries_every_value(code):
    for number in range(1, 6):
        instance = make(form(code), number)
        for field in form(code).fields:
            value = instance.values[field.name]
            if isinstance(value, bool):
                assert f"“{field.label}”" in instance.text
            elif value is not None:
                assert spoken(field, value) in instance.text


def test_fifty_instances_of_a_form_differ():
    made = [make(form("E12"), number) for number in range(1, PER_FORM + 1)]
    assert len({instance.text for instance in made}) == PER_FORM
    assert len({instance.name for instance in made}) == PER_FORM


def test_seed_decides():
    assert make(form("B11"), 1, seed=3) == make(form("B11"), 1, seed=3)
    assert make(form("B11"), 1, seed=3).values != make(form("B11"), 1, seed=4).values


def test_optional_and_conditional_fields_are_empty_in_some_instances_and_filled_in_others():
    animals = {make(form("B12"), n).values["animals"] is None for n in range(1, 20)}
    middle = {make(form("E11"), n).values["middle"] is None for n in range(1, 20)}
    assert animals == middle == {True, False}


def test_files_of_a_task_are_those_its_values_name():
    instance = make(form("A14"), 7)
    assert list(instance.files) == [instance.values["manuscript"]] == ["A14-007-manuscript.pdf"]
