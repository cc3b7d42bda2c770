from typing import Any

import msgspec
import pytest

from formlab.errors import DataBroken
from formlab.structure import Whole, checked


class Word(msgspec.Struct):
    box: tuple[float, float, float, float]
    text: str = ""


class Form(msgspec.Struct):
    form: list[Word]
    id: Whole | None = None
    scores: dict[str, list[Whole]] = {}


BOX = [1, 2, 3, 4]


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ([], "an object expected, got a list of 0"),
        ({}, "form: a list expected, got nothing"),
        ({"form": [{"box": BOX}, {"box": None}]}, "form/1/box: four numbers expected, got null"),
        ({"form": [{"box": [1, 2, 3]}]}, "form/0/box: four numbers expected, got a list of 3"),
        ({"form": [{"box": [1, 2, 3, "4"]}]}, "form/0/box/3: a number expected, got the text '4'"),
        ({"form": [{"box": BOX, "text": 9}]}, "form/0/text: a text expected, got the number 9"),
        ({"form": [], "id": True}, "id: an integer or null expected, got true"),
        ({"form": [], "id": 10**5000}, "id: an integer or null expected, got a number of over"),
        ({"form": [], "scores": {"a": [], "b": [1, {}]}}, "scores/b/1: an integer expected, got"),
    ],
)
def test_the_error_names_the_place_what_belongs_there_and_what_stands_there(value, message):
    with pytest.raises(DataBroken) as caught:
        checked(value, Form, where="a.json")
    assert str(caught.value).startswith(message)
    assert "(a.json)" in str(caught.value)


def test_what_has_the_structure_comes_back_as_it_whatever_its_characters():
    form = checked({"form": [{"box": BOX, "text": "\ud800"}], "id": 1, "more": 2}, Form, where="x")
    assert form == Form([Word((1, 2, 3, 4), "\ud800")], 1)


def test_of_alternatives_the_one_that_fits_furthest_is_explained():
    kind = dict[str, list[Word] | str]
    with pytest.raises(DataBroken, match="a/0/box/0: a number expected, got null"):
        checked({"a": [{"box": [None, 1, 2, 3]}]}, kind, where="x")
    with pytest.raises(DataBroken, match="a: a list or a text expected, got the number 3"):
        checked({"a": 3}, kind, where="x")


def test_any_value_is_any():
    assert checked([1, {}], Any, where="x") == [1, {}]
