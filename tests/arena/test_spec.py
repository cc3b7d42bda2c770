from pathlib import Path

import polars as pl

from formlab_arena.spec import forms

PUBLISHED = Path(__file__).parents[2] / "data" / "published" / "formfactory_table1.csv"
# The column of the paper's Table 1 for each type; plain text has none.
COLUMNS = {
    "date": "date", "radio": "binary_choice", "dropdown": "dropdown",
    "description": "description", "file": "file_upload", "multiple": "multiple_choice",
    "checkbox": "checkbox", "number": "number",
}  # fmt: skip


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
