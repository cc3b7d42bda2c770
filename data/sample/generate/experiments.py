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

from formlab import files, systems
from formlab.folders import Corpus, Predictions
from formlab.tables import BOX
from formlab_experiments import designs, samples

TARGET = Path(__file__).parents[1] / "experiments"


def stress(corpus: Corpus, *, limit: int | None = None) -> Predictions:
    """What the OCR engine reads now on the degraded pages of the sample."""
    return _read(corpus, samples.STRESS_SETTINGS, limit=limit)


def _read(corpus: Corpus, changes: dict[str, Any], *, limit: int | None = None) -> Predictions:
    reader = systems.get("ocr")
    settings = reader.defaults | changes
    with TemporaryDirectory() as folder:
        read = systems.run(corpus, reader, out=folder, settings=settings, name="ocr", limit=limit)
    return words_of(read)


def words_of(read: Predictions) -> Predictions:
    """What fields are read from: words, with their places to a tenth of a pixel."""
    words = read.records.filter(pl.col("kind").is_in(["word", "page"]))
    words = words.with_columns(pl.col(BOX).round(1), pl.col("confidence").round(2))
    return dataclasses.replace(read, records=words)


def design(folder: str, *, names: list[str] | None = None) -> tuple[Corpus, Predictions]:
    """The designed forms of the sample with their gold, and what the OCR engine reads on them now.

    With `names`, of these forms only.
    """
    corpus = designs.design(samples.DESIGN, out=folder, **samples.DESIGN_OPTIONS)
    if names is not None:
        corpus = dataclasses.replace(
            corpus,
            documents=corpus.documents.filter(pl.col("doc_id").is_in(names)),
            records=corpus.records.filter(pl.col("doc_id").is_in(names)),
        )
    return corpus, _read(corpus, samples.DESIGN_SETTINGS)


def counterfactual(corpus: Corpus, *, limit: int | None = None) -> Predictions:
    """What `rules` reads now on the copies of the sample with a changed value."""
    reader = systems.get("rules")
    settings = reader.defaults | {"angle": False}
    with TemporaryDirectory() as folder:
        return systems.run(corpus, reader, out=folder, settings=settings, name="rules", limit=limit)


def main(names: list[str]) -> None:
    """Read the pages of these experiments anew, or of all."""
    if not names or "stress" in names:
        with TemporaryDirectory() as folder:
            predictions = stress(samples.stress_pages(folder))
        shutil.rmtree(TARGET / "stress", ignore_errors=True)
        predictions.save(TARGET / "stress")
    if not names or "design" in names:
        shutil.rmtree(TARGET / "design", ignore_errors=True)
        with TemporaryDirectory() as folder:
            corpus, predictions = design(folder)
            for name in (designs.EXPERIMENT, designs.PLAN):
                files.write_text(TARGET / "design" / name, (Path(folder) / name).read_text("utf-8"))
        # Pictures are drawn again where they are shown.
        dataclasses.replace(corpus, root=None).save(TARGET / "design" / designs.CORPUS)
        predictions.save(TARGET / "design" / "run")
    if not names or "counterfactual" in names:
        with TemporaryDirectory() as folder:
            corpus = samples.counterfactual_pages(folder)
            predictions = counterfactual(corpus)
        shutil.rmtree(TARGET / "counterfactual", ignore_errors=True)
        dataclasses.replace(corpus, root=None).save(TARGET / "counterfactual" / "corpus")
        predictions.save(TARGET / "counterfactual" / "run")


if __name__ == "__main__":
    main(sys.argv[1:])
