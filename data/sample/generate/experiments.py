"""Writes what a system reads on the pages of the experiments' samples, for who has no OCR engine.

Run from the project's root: ``python -m data.sample.generate.experiments [NAME …]``; all of them if
none is named. The pages themselves are drawn again from their seed wherever they are shown.
"""

import dataclasses
import shutil
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import polars as pl

from data.sample.generate.runs import read
from formlab import files, systems
from formlab.folders import Corpus, Predictions
from formlab.tables import BOX
from formlab_experiments import designs, samples

TARGET = Path(__file__).parents[1] / "experiments"


def words_of(corpus: Corpus, changes: dict[str, Any]) -> Predictions:
    """What the OCR engine reads now: words, with their places to a tenth of a pixel."""
    reader = systems.get("ocr")
    found = read(corpus, reader, reader.defaults | changes, name="ocr")
    words = found.records.filter(pl.col("kind").is_in(["word", "page"]))
    words = words.with_columns(pl.col(BOX).round(1), pl.col("confidence").round(2))
    return dataclasses.replace(found, records=words)


def stress(home: Path, folder: str) -> None:
    """The degraded pages of the sample, by the OCR engine."""
    words_of(samples.stress_pages(folder), samples.STRESS_SETTINGS).save(home)


def design(home: Path, folder: str) -> None:
    """The designed forms of the sample with their gold, by the OCR engine."""
    corpus = designs.design(samples.DESIGN, out=folder, **samples.DESIGN_OPTIONS)
    predictions = words_of(corpus, samples.DESIGN_SETTINGS)
    for name in (designs.EXPERIMENT, designs.PLAN):
        files.write_text(home / name, (Path(folder) / name).read_text("utf-8"))
    # Pictures are drawn again where they are shown.
    dataclasses.replace(corpus, root=None).save(home / designs.CORPUS)
    predictions.save(home / "run")


def counterfactual(home: Path, folder: str) -> None:
    """The copies of the sample with a changed value, by `rules`."""
    corpus, reader = samples.counterfactual_pages(folder), systems.get("rules")
    predictions = read(corpus, reader, reader.defaults | {"angle": False}, name="rules")
    dataclasses.replace(corpus, root=None).save(home / "corpus")
    predictions.save(home / "run")


if __name__ == "__main__":
    for make in (stress, design, counterfactual):
        if not sys.argv[1:] or make.__name__ in sys.argv[1:]:
            shutil.rmtree(TARGET / make.__name__, ignore_errors=True)
            with TemporaryDirectory() as folder:
                make(TARGET / make.__name__, folder)
