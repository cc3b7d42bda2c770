from pathlib import Path

import polars as pl
import pytest
import yaml

from formlab.benchmarks import SAMPLES
from formlab.errors import DataMissing
from formlab_arena import page_tasks, released, spec, texts, validate
from formlab_arena.instances import make, spoken
from formlab_arena.spec import FormField, FormPage, WebForm, form, forms
from formlab_arena.texts import lost, recover, task_set
from formlab_arena.validate import read

FACTORY = SAMPLES / "formfactory"


def entered(form, values):
    """The answers that the server reads when these values are sent."""
    sent = {
        name: value if isinstance(value, list) else ["true" if value is True else str(value)]
        for name, value in values.items()
        if value is not None and value is not False
    }
    return validate.read(form, sent, {})


def test_every_released_value_can_be_entered_and_comes_back_as_it_was(tmp_path, shared):
    tasks = released.task_set(shared / "data" / "formfactory", count=40)
    assert (len(tasks.instances), len(tasks.forms)) == (25 * 40, 25)
    for task in tasks.instances:
        assert entered(tasks.forms[task.code], task.values) == (task.values, {}), task.name
        assert task.kind == "released"
        # A browser makes one line of what it has no more lines for.
        lines = [f.name for f in tasks.forms[task.code].fields if f.type != "description"]
        assert not any("\n" in str(task.values[name]) for name in lines)
    # Every label of the release is a field, and each form can be written and read.
    grants = {field.label: field for field in tasks.forms["A12"].fields}
    assert grants["Gender"].options == ("Female", "Male")
    assert grants["Date of Birth"].type == "date"
    folder = tasks.write_forms(tmp_path)
    assert dict(spec.forms(folder)) == dict(tasks.forms)


def test_sample_in_the_released_layout_is_read_the_same_way(tmp_path):
    tasks = released.task_set(FACTORY, codes=["E12"], count=3)
    assert [task.name for task in tasks.instances] == ["E12-001", "E12-002", "E12-003"]
    first = tasks.instances[0]
    assert entered(tasks.forms["E12"], first.values) == (first.values, {})
    assert released.task_set(FACTORY, codes=["E12"]).digest == tasks.digest
    with pytest.raises(DataMissing, match="no form B12"):
        released.task_set(FACTORY, codes=["B12"])
    with pytest.raises(DataMissing, match="3 texts for form E12"):
        released.task_set(FACTORY, codes=["E12"], count=4)


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


def form_with(**field):
    return WebForm("Z1", "Tiny", "Test", {}, (FormPage("", (FormField("a", label="A", **field),)),))


def answer(texts, **field):
    answers, wrong = read(form_with(**field), {"a": texts}, {})
    return answers["a"] if not wrong else wrong["a"]


NO_NUMBERS = ("", "abc", "1e5", "nan", "inf", "٣", "1,000", "--1", "9" * 400)
NO_DATES = ("2027-02-29", "2027-13-01", "01/02/2027", "20270101", "2027-W01")


@pytest.mark.parametrize(
    ("texts", "field", "answered"),
    [
        (["12"], {"type": "number"}, 12),
        (["1.5"], {"type": "number"}, 1.5),
        (["11"], {"type": "number", "range": (1, 10)}, "A: a number from 1 to 10"),
        *(([text], {"type": "number"}, "A: ") for text in NO_NUMBERS),
        *(([text], {"type": "date"}, "YYYY-MM-DD") for text in NO_DATES),
        (["x", "y"], {"type": "string"}, "one answer only"),
        (["<b>"], {"type": "dropdown", "options": ("x",)}, "options listed"),
        (["x", "<b>"], {"type": "multiple", "options": ("x", "y")}, "options listed"),
        # Choices are in the order of the form.
        (["y", "x"], {"type": "multiple", "options": ("x", "y", "z")}, ["x", "y"]),
        ([], {"type": "checkbox"}, "must be ticked"),
    ],
)
def test_answer_is_taken_as_the_field_takes_it_or_refused(texts, field, answered):
    found = answer(texts, **field)
    assert answered in found if isinstance(answered, str) else found == answered


def test_field_that_does_not_apply_is_null_whatever_was_sent():
    sent = {"pets": ["No"], "animals": ["A cat."]}
    answers, wrong = read(form("B12"), sent, {})
    assert answers["animals"] is None
    assert "animals" not in wrong
    assert "animals" in read(form("B12"), {"pets": ["Yes"]}, {})[1]


def test_every_made_instance_passes_and_comes_back_as_it_was():
    for web_form in forms().values():
        for number in (1, 2, 3):
            values = make(web_form, number, seed=5).values
            files = {field.name for field in web_form.fields if field.type == "file"}
            given = {name: value for name, value in values.items() if value not in (None, False)}
            attached = {name: [value] for name, value in given.items() if name in files}
            sent = {
                name: value if isinstance(value, list) else [str(value)]
                for name, value in given.items()
                if name not in files
            }
            assert read(web_form, sent, attached) == (values, {})


SAMPLE = texts.benchmarks.SAMPLES / "arena" / "prose.yaml"


def one(value, text, phrase="", **field):
    tiny = WebForm("Z1", "Tiny", "Test", {}, (FormPage("", (FormField("a", label="A", **field),)),))
    return recover(tiny, {"a": value}, text, {"a": phrase})["a"]


@pytest.mark.parametrize(
    ("value", "text", "phrase", "field", "rule"),
    [
        ("Ada Berg", "I am Ada\nBERG.", "", {"type": "string"}, "exact"),
        ("Ada Berg", "I am Ada Bergman.", "Ada Bergman", {"type": "string"}, ""),
        ("2027-03-05", "on 5 March 2027", "", {"type": "date"}, "typed"),
        # Fifth of March or third of May: a text must not leave it open.
        ("2027-03-05", "on 05/03/2027", "", {"type": "date"}, ""),
        (12500, "12,500 dollars, not 500", "", {"type": "number"}, "typed"),
        (500, "12,500 dollars", "", {"type": "number"}, ""),
        (7, "for seven years", "for seven years", {"type": "number"}, "declared"),
        (True, "by all means", "by all means", {"type": "checkbox"}, "declared"),
        (True, "by all means", "of course", {"type": "checkbox"}, ""),
        ("scan.pdf", "see what I attached", "", {"type": "file", "accept": ("pdf",)}, "only file"),
    ],
)
def test_rule_by_which_a_value_is_recovered(value, text, phrase, field, rule):
    assert one(value, text, phrase, **field) == rule


def test_sample_has_a_text_of_a_human_kind_for_each_form_and_loses_no_value():
    entries = {entry["name"]: entry for entry in yaml.safe_load(SAMPLE.read_text("utf-8"))}
    tasks = task_set("prose")
    assert [each.code for each in tasks.instances] == list(forms())
    kinds = [each.kind for each in tasks.instances]
    assert set(kinds) == set(texts.KINDS)
    assert sum(kind in ("resume", "letter") for kind in kinds) >= 6
    assert [each.name for each in tasks.instances if each.document] == [
        "A11-001", "B14-001", "C13-001",
    ]  # fmt: skip
    for each in tasks.instances:
        evidence = entries[each.name].get("evidence", {})
        how = recover(form(each.code), each.values, each.text, evidence)
        assert lost(how) == [], each.name
        # No phrase is declared for what the text says as such.
        assert {name for name, rule in how.items() if rule == "declared"} == set(evidence)
        assert each.values == make(form(each.code), 1).values
        # The text says it, and not in the words of the form.
        assert not any(f"“{field.label}”" in each.text for field in form(each.code).fields)


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


def test_text_carries_every_value_and_the_seed_decides():
    for web_form in forms().values():
        for instance in (make(web_form, number) for number in range(1, 4)):
            for field in web_form.fields:
                value = instance.values[field.name]
                if isinstance(value, bool):
                    assert f"“{field.label}”" in instance.text
                elif value is not None:
                    assert spoken(field, value) in instance.text
    assert make(form("B11"), 1, seed=3) == make(form("B11"), 1, seed=3)
    assert make(form("B11"), 1, seed=3).values != make(form("B11"), 1, seed=4).values
