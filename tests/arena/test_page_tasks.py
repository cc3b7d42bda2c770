from collections import Counter

import polars as pl
import pytest

from formlab import benchmarks
from formlab.errors import UnknownName
from formlab_arena import page_tasks, spec, validate


def entered(form, values):
    """The answers that the server reads when these values are sent."""
    sent = {
        name: ["true" if value is True else str(value)]
        for name, value in values.items()
        if value is not None and value is not False
    }
    return validate.read(form, sent, {})


def test_form_asks_for_what_is_written_on_the_page_and_for_nothing_drawn():
    tasks = page_tasks.task_set("formcraft", codes=["blood_report"])
    (task,) = tasks.instances
    form = tasks.forms[task.code]
    # Of twelve fields a table, a chart, a bar code, a stamp and a signature are left out.
    assert [(field.label, field.type) for field in form.fields] == [
        ("Name", "string"), ("Group", "string"), ("Drawn", "date"), ("By", "string"),
        ("Donor may", "string"), ("Reason", "string"), ("Next visit", "date"),
    ]  # fmt: skip
    assert list(task.values.values()) == [
        "Rufus Abara", "0 negative", "2022-11-08", "K. Lund", "wait",
        "ferritin low, eat red meat", "2023-05-17",
    ]  # fmt: skip
    # The text names no value, and the page is at hand.
    assert not any(value in task.text for value in task.values.values())
    assert [path.name for path in task.page.files] == ["blood_report.png"]
    assert (task.name, task.kind, form.name) == ("P0001-001", "pages", "blood_report")


@pytest.mark.parametrize(("benchmark", "split"), [("formcraft", None), ("vrdu", "MadeAds-pdfs")])
def test_every_gold_value_can_be_entered_and_comes_back_as_it_was(benchmark, split, tmp_path):
    tasks = page_tasks.task_set(benchmark, split=split)
    for task in tasks.instances:
        assert entered(tasks.forms[task.code], task.values) == (task.values, {}), task.name
        gold = [row["value"] or "" for row in task.page.gold.values()]
        for value, text in zip(task.values.values(), gold, strict=True):
            # A control may write a date or a number otherwise; nothing else is changed.
            assert value is None or not isinstance(value, str) or "-" in value or value in text
    assert dict(spec.forms(tasks.write_forms(tmp_path))) == dict(tasks.forms)
    first, again = (page_tasks.task_set(benchmark, split=split, limit=n) for n in (2, 3))
    assert [task.name for task in again.instances][:2] == [task.name for task in first.instances]
    assert first.digest == again.digest == tasks.digest


def test_controls_follow_the_kinds_of_values_and_line_items_are_numbered():
    tasks = page_tasks.task_set("vrdu", split="MadeAds-pdfs", limit=1)
    (task,) = tasks.instances
    kinds = {field.label: field.type for field in tasks.forms[task.code].fields}
    values = dict(zip(kinds, task.values.values(), strict=True))
    # 01/13/31 can only be read month first; $5,480.00 is entered as a number.
    assert (kinds["Flight from"], values["Flight from"]) == ("date", "2031-01-13")
    assert (kinds["Gross amount"], values["Gross amount"]) == ("number", 5480)
    assert values["Line item 2: Sub amount"] == 1425
    assert kinds["Contract num"] == "string"
    assert [len(page.fields) for page in tasks.forms[task.code].pages] == [12, 12, 1]
    ticks = page_tasks.task_set("formcraft", codes=["building_permit"])
    (permit,) = ticks.forms.values()
    asked = {field.label: field.type for field in permit.fields}
    assert (asked["Neighbours have been asked"], asked["Area, m2"]) == ("checkbox", "number")


def test_choice_is_a_list_only_where_the_benchmark_shows_several_of_its_options():
    # Each form of the sample has its own fields, so one option would be the answer.
    forms = page_tasks.task_set("formcraft").forms.values()
    assert not any(field.options for form in forms for field in form.fields)
    rows = [
        {"path": "/Sex", "value": value, "kind": "radio", "task": "marking", "subtype": None}
        for value in ("female", "male", "female")
    ]
    options = page_tasks._options(pl.DataFrame(rows, schema_overrides={"subtype": pl.String}))
    assert options == {"/Sex": ("female", "male")}
    field, value = page_tasks._control("f0", "Sex", rows[0], options["/Sex"], None)
    assert (field.type, field.options, value) == ("dropdown", ("female", "male"), "female")


def test_unknown_document_is_named():
    with pytest.raises(UnknownName, match="blood_report"):
        page_tasks.task_set("formcraft", codes=["blood_reprot"])
    assert len(benchmarks.load("formcraft").documents) == len(
        page_tasks.task_set("formcraft").forms
    )


def test_real_ad_buys_become_forms_whose_gold_can_be_entered(shared):
    root = shared / "data" / "vrdu"
    tasks = page_tasks.task_set("vrdu", root=root, split="DeepForm-pdfs", limit=24)
    fields = [field for form in tasks.forms.values() for field in form.fields]
    kinds = Counter((field.label, field.type) for field in fields)
    # Five labels a document, but for one amount that nobody entered.
    assert len(tasks.instances) == 24
    assert len(fields) == 119
    assert kinds["Flight from", "date"] == kinds["Flight to", "date"] == 24
    assert kinds["Gross amount", "number"] == 23
    for task in tasks.instances:
        assert entered(tasks.forms[task.code], task.values) == (task.values, {})
        assert task.page.files[0].is_file()
