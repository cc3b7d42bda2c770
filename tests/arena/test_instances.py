import pytest

from formlab_arena.instances import make, spoken
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


def test_seed_decides():
    assert make(form("B11"), 1, seed=3) == make(form("B11"), 1, seed=3)
    assert make(form("B11"), 1, seed=3).values != make(form("B11"), 1, seed=4).values
