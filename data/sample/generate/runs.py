"""Writes what the baselines read on the samples: data/sample/runs, for who has no OCR engine."""

import shutil
import sys
from collections.abc import Collection, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from formlab import benchmarks, systems
from formlab.folders import Corpus, Predictions

TARGET = Path(__file__).parents[1] / "runs"
# What notebooks show when given nothing: benchmark, system, its changed settings.
RUNS = (
    ("fincriticaled", "ocr", {}),
    ("formcraft", "rules", {}),
    ("funsd", "ocr", {}),
    ("funsd", "ocr", {"scale": "2.0"}),
    ("vrdu", "rules", {}),
    ("vrdu", "template", {}),
    ("vrdu", "trained", {}),
)


def corpora() -> Iterator[tuple[Corpus, systems.System, dict]]:
    """Each split that notebooks open, with its system and the settings."""
    for name, system, changes in RUNS:
        reader = systems.get(system)
        splits = benchmarks.get(name).splits_in(benchmarks.SAMPLES / name)
        for split in splits if name == "vrdu" else [None]:
            # Nothing can be learnt for the split of all documents.
            if not (reader.learns and split.endswith("-pdfs")):
                yield benchmarks.load(name, split=split), reader, reader.settings(changes)


def read(
    corpus: Corpus, reader: systems.System, settings: dict, *, limit: int | None = None
) -> Predictions:
    """What the system reads now."""
    with TemporaryDirectory() as folder:
        return systems.run(corpus, reader, out=folder, settings=settings, limit=limit)


def main(chosen: Collection[str] = ()) -> None:
    """Read every sample anew, or those of the `chosen` benchmarks."""
    for folder in TARGET.glob("*"):
        if not chosen or folder.name.partition("-")[0] in chosen:
            shutil.rmtree(folder)
    for corpus, reader, settings in corpora():
        if chosen and corpus.benchmark not in chosen:
            continue
        predictions = read(corpus, reader, settings)
        predictions.save(TARGET / f"{corpus.benchmark}-{corpus.split}-{predictions.system}")


if __name__ == "__main__":
    main(sys.argv[1:])
