"""Writes what the baselines read on the samples: data/sample/runs, for who has no OCR engine."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from formlab import benchmarks, systems
from formlab.folders import Corpus, Predictions

TARGET = Path(__file__).parents[1] / "runs"
# What notebooks show when given nothing: benchmark, system, its changed settings.
RUNS = (
    ("fincriticaled", "ocr", {}),
    ("fincriticaled", "ocr", {"scale": "0.5"}),
    ("fincriticaled", "ocr", {"scale": "0.3"}),
    ("fincriticaled", "ocr_html", {}),
    ("formcraft", "rules", {}),
    ("funsd", "ocr", {}),
    ("funsd", "ocr", {"scale": "2.0"}),
    ("vrdu", "rules", {}),
)


def corpora() -> Iterator[tuple[Corpus, systems.System, dict]]:
    """Each split that notebooks open, with its system and the settings."""
    for name, system, changes in RUNS:
        reader = systems.get(system)
        splits = benchmarks.get(name).splits_in(benchmarks.SAMPLES / name)
        for split in splits if name == "vrdu" else [None]:
            yield benchmarks.load(name, split=split), reader, reader.settings(changes)


def read(
    corpus: Corpus, reader: systems.System, settings: dict, *, limit: int | None = None
) -> Predictions:
    """What the system reads now."""
    with TemporaryDirectory() as folder:
        return systems.run(corpus, reader, out=folder, settings=settings, limit=limit)


def main() -> None:
    """Read every sample anew."""
    shutil.rmtree(TARGET, ignore_errors=True)
    for corpus, reader, settings in corpora():
        predictions = read(corpus, reader, settings)
        predictions.save(TARGET / f"{corpus.benchmark}-{corpus.split}-{predictions.system}")


if __name__ == "__main__":
    main()
