import pytest

from formlab.benchmarks.meta import meta_of, page_images


@pytest.mark.parametrize("row", [None, "", "[1]", {"meta": None}, {"meta": ""}, {}])
def test_a_row_without_an_object_in_meta_has_an_empty_one(row):
    assert meta_of(row) == {}


def test_the_images_of_a_document_are_those_its_meta_lists_else_its_own():
    assert page_images({"image": "a.png", "meta": '{"pages": ["a.png", "b.png"]}'})[1] == "b.png"
    assert page_images({"image": "a.png", "meta": '{"images": []}'}) == ["a.png"]
    assert page_images({"image": None, "meta": None}) == []
