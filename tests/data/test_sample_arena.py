from pathlib import Path

import polars as pl
import yaml

import formlab_arena
from data.sample.generate import arena
from formlab import analysis
from formlab.benchmarks import SAMPLES
from formlab.folders import Predictions
from formlab_arena import page_tasks
from formlab_arena.stages import STAGES

SAMPLE = Path(__file__).parents[2] / "data" / "sample" / "arena" / "instances.yaml"


def test_sample_is_what_the_generator_makes(tmp_path):
    arena.write(tmp_path)
    assert (tmp_path / SAMPLE.name).read_bytes() == SAMPLE.read_bytes()
    assert len(yaml.safe_load(SAMPLE.read_text("utf-8"))) == 6


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
