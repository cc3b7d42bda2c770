import re
from pathlib import Path

import polars as pl
import pytest

from formlab.errors import DataBroken
from formlab_arena import spec
from formlab_arena.spec import forms

PUBLISHED = Path(__file__).parents[2] / "data" / "published" / "formfactory_table1.csv"
# The column of the paper's Table 1 for each type; plain text has none.
COLUMNS = {
    "date": "date", "radio": "binary_choice", "dropdown": "dropdown",
    "description": "description", "file": "file_upload", "multiple": "multiple_choice",
    "checkbox": "checkbox", "number": "number",
}  # fmt: skip
BARE = """\
code: Z1
name: Tiny
domain: Test
style: {layout: stacked, font: sans, colour: "#112233"}
pages:
  - fields:
"""


def write(tmp_path, *fields, head=BARE):
    path = tmp_path / "Z1.yaml"
    path.write_text(head + "".join(f"      - {field}\n" for field in fields))
    return path


def test_forms_have_the_names_counts_and_types_of_the_paper():
    published = pl.read_csv(PUBLISHED, infer_schema=False).head(25).rows_by_key("form", named=True)
    assert len(forms()) == len(published) == 25
    for web_form in forms().values():
        (row,) = published[web_form.name]
        assert len(web_form.fields) == int(row["fields"]), web_form.name
        ticked = {kind for kind, column in COLUMNS.items() if row[column] == "yes"}
        assert {field.type for field in web_form.fields} == ticked | {"string"}, web_form.name
        assert (len(web_form.pages) > 1) == (row["multiple_pages"] == "yes"), web_form.name


def test_forms_have_279_fields_in_eight_domains():
    assert sum(len(web_form.fields) for web_form in forms().values()) == 279
    assert len({web_form.domain for web_form in forms().values()}) == 8
    assert len({web_form.style["layout"] for web_form in forms().values()}) == 4
    assert len({web_form.style["colour"] for web_form in forms().values()}) == 25


@pytest.mark.parametrize(
    ("field", "says"),
    [
        ("{name: A, type: string, label: L, any: [x]}", "lower-case"),
        ("{name: a, type: colour, label: L}", "none of"),
        ("{name: a, type: dropdown, label: L}", "options belong"),
        ("{name: a, type: string, label: L}", "needs one of"),
        ("{name: a, type: string, label: L, make: firs\u00e9t}", "'make' is one of first, middle"),
        ("{name: a, type: date, label: L, between: [1950-01-01, x]}", "'between' is two dates"),
        ("{name: a, type: date, label: L, between: [1950-01-01]}", "'between' is two dates"),
        ("{name: a, type: checkbox, label: L, required: no way}", "'required' is true or false"),
        ("{name: a, type: file, label: L}", "needs accept"),
        ("{name: a, type: string, label: L, any: [x], when: {b: c}}", "'when' must name"),
        ("{name: a, label: L}", "type"),
        ("{name: a, type: string, label: L, size: 4}", "size"),
        ("{name: a, type: [}", r"Z1\.yaml:7"),
    ],
)
def test_broken_form_is_named(tmp_path, field, says):
    with pytest.raises(DataBroken, match=says):
        spec.load(write(tmp_path, field))


def test_colour_that_would_leave_its_rule_is_refused(tmp_path):
    head = BARE.replace("#112233", "#112233; } body { display: none")
    with pytest.raises(DataBroken, match=re.escape("is not like #1a2b3c")):
        spec.load(write(tmp_path, "{name: a, type: string, label: L, any: [x]}", head=head))
