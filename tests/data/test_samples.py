import filecmp
import json
from pathlib import Path

import polars as pl
import pytest
import yaml
from PIL import Image

import formlab_arena
from data.sample.generate import arena, fincriticaled, formfactory
from data.sample.generate.command import TEMPLATES
from formlab import analysis
from formlab.benchmarks.formfactory import forms
from formlab.folders import Predictions
from formlab_arena import page_tasks
from formlab_arena.stages import STAGES
from formlab_experiments.forms import formcraft
from formlab_experiments.forms.content import load_all
from formlab_experiments.forms.template import draw

SAMPLE = Path(__file__).parents[2] / "data" / "sample" / "arena" / "instances.yaml"


def test_sample_is_what_the_generator_makes(tmp_path):
    arena.write(tmp_path)
    assert (tmp_path / SAMPLE.name).read_bytes() == SAMPLE.read_bytes()
    assert len(yaml.safe_load(SAMPLE.read_text("utf-8"))) == 6


SAMPLES = Path(__file__).parents[2] / "data" / "sample"


def size(file):
    with Image.open(file.parents[1] / "images" / f"{file.stem}.png") as image:
        return image.size


@pytest.mark.complete
def test_funsd(remade):
    again, annotations = remade("funsd"), sorted(SAMPLES.glob("funsd/*/annotations/*.json"))
    assert len(annotations) == 12
    for file in annotations:
        drawn = again / file.relative_to(SAMPLES / "funsd")
        assert drawn.read_bytes() == file.read_bytes(), file.name
        assert size(drawn) == size(file)


def test_formcraft():
    templates = load_all("formcraft", formcraft.Form)
    assert len(templates) == 16
    for form in templates:
        committed = SAMPLES / "formcraft" / "test" / "forms" / f"{form.name}.json"
        page = draw(form, formcraft.SEED)
        assert formcraft.annotation(form, page) == json.loads(committed.read_text("utf-8"))


@pytest.mark.complete
def test_vrdu(remade):
    pytest.importorskip("reportlab")
    again, sample = remade("vrdu"), SAMPLES / "vrdu"
    files = [file.relative_to(sample) for file in sample.rglob("*") if file.is_file()]
    files.remove(Path("README.md"))
    same, other, odd = filecmp.cmpfiles(sample, again, files, shallow=False)
    assert (len(same), other, odd) == (len(files), [], [])


def test_text_of_fincriticaled():
    pages = load_all(TEMPLATES / "fincriticaled", fincriticaled.Document)
    assert len(pages) == 10
    for number, page in enumerate(pages):
        committed = (SAMPLES / "fincriticaled" / f"gold_{number}.txt").read_text("utf-8")
        assert fincriticaled.markup(page, number, fincriticaled.SEED) == committed


@pytest.mark.browser
@pytest.mark.complete
def test_files_of_fincriticaled(remade):
    again = remade("fincriticaled")
    for file in sorted((SAMPLES / "fincriticaled").glob("*.*")):
        assert (again / file.name).read_bytes() == file.read_bytes(), file.name


def test_values_texts_and_fields_of_formfactory():
    sample = SAMPLES / "formfactory"
    assert (sample / "fields.csv").read_text("utf-8") == formfactory.fields()
    for code in formfactory.CODES:
        name = forms()[code].file
        gold = json.loads((sample / "data1" / f"{name}.json").read_text("utf-8"))
        assert gold == formfactory.gold(code)
        assert (sample / "data2" / f"{name}.txt").read_text("utf-8") == formfactory.texts(code)


def test_forms_filled_in_from_the_samples_pages_are_of_the_pages_of_today():
    folder = SAMPLES / "arena" / "pages" / "rules"
    remade = "make them again: python -m data.sample.generate.runs formcraft"
    tasks = page_tasks.task_set("formcraft")
    shipped = Predictions.load(folder / "predictions")
    assert shipped.settings["tasks"] == tasks.digest, remade
    evaluation = analysis.open_evaluation(benchmark="formfactory", system="rules(texts=pages)")
    asked = evaluation.cases.filter(pl.col("gold").is_not_null(), pl.col("task") == "click")
    assert asked.height == sum(len(task.values) for task in tasks.instances)
    assert (evaluation.system, evaluation.root) == ("rules(texts=pages)", None)
    lost = formlab_arena.loss_stages(evaluation)
    # Nothing right is traced, and every wrong value has one stage.
    assert lost.select("doc_id", "path").is_duplicated().sum() == 0
    assert lost.height == formlab_arena.propagation(evaluation).height > 0
    assert set(lost["stage"]) <= set(STAGES)
    assert lost["cause"].null_count() == 0
