import json
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

import formlab_arena
from data.sample.generate import fincriticaled
from formlab import analysis
from formlab.folders import Predictions
from formlab_arena import page_tasks
from formlab_arena.stages import STAGES
from formlab_experiments.forms import formcraft
from formlab_experiments.forms.content import load_all
from formlab_experiments.forms.template import draw

SAMPLES = Path(__file__).parents[2] / "data" / "sample"
# What each generator writes; scans and PDFs may differ in a byte where fonts do.
MADE = {
    "arena": "arena/instances.yaml", "formcraft": "formcraft/test/forms/*.json",
    "formfactory": "formfactory/*/*.*", "funsd": "funsd/*/annotations/*.json",
    "fincriticaled": "fincriticaled/*.*", "vrdu": "vrdu/**/*.*",
}  # fmt: skip


@pytest.mark.browser
@pytest.mark.complete
@pytest.mark.parametrize("name", MADE)
def test_a_sample_is_what_its_generator_makes(name, tmp_path):
    pytest.importorskip("reportlab")
    command = [sys.executable, "-m", "data.sample.generate", name, "--out", tmp_path]
    done = subprocess.run(command, cwd=SAMPLES.parents[1], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    made = [f for f in SAMPLES.glob(MADE[name]) if f.is_file() and f.name != "README.md"]
    assert made
    for file in made:
        again = tmp_path / file.relative_to(SAMPLES / MADE[name].partition("/")[0])
        assert again.read_bytes() == file.read_bytes(), file


def test_templates_texts_and_values_make_the_samples_of_today():
    for form in load_all("formcraft", formcraft.Form):
        committed = SAMPLES / "formcraft" / "test" / "forms" / f"{form.name}.json"
        made = formcraft.annotation(form, draw(form, formcraft.SEED))
        assert made == json.loads(committed.read_text("utf-8")), form.name
    for number, page in enumerate(
        load_all(fincriticaled.TEMPLATES / "fincriticaled", fincriticaled.Document)
    ):
        committed = (SAMPLES / "fincriticaled" / f"gold_{number}.txt").read_text("utf-8")
        assert fincriticaled.markup(page, number, fincriticaled.SEED) == committed, number


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
