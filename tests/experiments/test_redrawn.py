"""Forms drawn again with other values: what was not changed is the same to the pixel."""

import pytest
from PIL import ImageChops

from formlab_experiments.redrawn import Templates
from tests.made_relations import form

PATHS = ["/Bill/Total", "/Bill/Work"]


@pytest.fixture(scope="module")
def pages():
    return Templates([form()], seed=1)


def drawn(pages, values, legible=PATHS):
    page = pages.page("bill", values, legible)
    fields = {row["path"]: row for row in page.fields}
    return page.images()[0], fields


@pytest.mark.parametrize("value", ["87.00", "", "1287.00"])
def test_nothing_but_the_value_is_changed(pages, value):
    before, old = drawn(pages, {})
    after, new = drawn(pages, {"/Bill/Total": value})
    x0, y0, x1, y1 = ImageChops.difference(before, after).getbbox()
    places = [row["/Bill/Total"] for row in (old, new)]
    # The scan is blurred and turned.
    assert min(place["x0"] for place in places) - 3 <= x0
    assert min(place["y0"] for place in places) - 3 <= y0
    assert max(place["x1"] for place in places) + 3 >= x1
    assert max(place["y1"] for place in places) + 3 >= y1
    assert new.pop("/Bill/Total")["value"] == value
    # The group of the field ends where its fields do.
    same = {path: row for path, row in new.items() if path != "/Bill"}
    assert same == {path: old[path] for path in same}
