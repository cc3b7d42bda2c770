from collections import Counter

import pytest

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
