import pytest
import yaml

from formlab_arena import texts
from formlab_arena.instances import make
from formlab_arena.spec import FormField, FormPage, WebForm, form, forms
from formlab_arena.texts import lost, recover, task_set

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
