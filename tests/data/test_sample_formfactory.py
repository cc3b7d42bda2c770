"""The committed sample forms: that they load whole, and are what the arena makes."""

import json
from collections import Counter
from pathlib import Path

import pytest

import formlab_arena as arena
from data.sample.generate import formfactory as generator
from formlab.benchmarks import formfactory
from formlab.benchmarks.formfactory import forms

SAMPLE = Path(__file__).parents[2] / "data" / "sample" / "formfactory"


@pytest.fixture(scope="module")
def corpus():
    return formfactory.read("all", SAMPLE)


def test_six_forms_of_three_instances_each_load_without_a_flaw(corpus):
    assert corpus.flaws == {"forms without a gold file": 25 - 6}
    assert Counter(corpus.documents["template"]) == dict.fromkeys(generator.CODES, 3)
    assert corpus.documents.null_count().select("image", "context", "n_fields").row(0) == (0, 0, 0)
    for row in corpus.documents.iter_rows(named=True):
        assert all((SAMPLE / image).is_file() for image in json.loads(row["meta"])["images"])


def test_every_type_of_field_is_there_and_each_value_has_a_place_to_click(corpus):
    kinds = {field.type for form in arena.forms().values() for field in form.fields}
    assert set(corpus.records["kind"]) == kinds - {"multiple"} | {"choice"}
    for meta in corpus.records["meta"]:
        assert all(item["targets"] for item in json.loads(meta)["items"])


def test_every_control_of_the_forms_has_its_box(corpus):
    # Counted from the forms themselves: one an option of a group, else one a field.
    expected = Counter()
    for code in generator.CODES:
        for field in arena.form(code).fields:
            expected[code] += len(field.options) if field.type in ("radio", "multiple") else 1
    boxes = Counter()
    for file in SAMPLE.glob("labeled-images/*/*.txt"):
        boxes[file.stem[:3]] += len(file.read_text("utf-8").splitlines())
    assert boxes == expected


def test_values_texts_and_fields_are_what_the_generator_makes():
    assert (SAMPLE / "fields.csv").read_text("utf-8") == generator.fields()
    for code in generator.CODES:
        name = forms()[code].file
        assert json.loads((SAMPLE / "data1" / f"{name}.json").read_text("utf-8")) == (
            generator.gold(code)
        )
        assert (SAMPLE / "data2" / f"{name}.txt").read_text("utf-8") == generator.texts(code)
