"""Writes what the baselines read on the samples, for who has no OCR engine and no browser.

Run from the project's root: ``python -m data.sample.generate.runs [BENCHMARK …]``; all of them if
none is named. Of `formcraft` it also writes data/sample/arena/pages: the forms that the agent
`rules` filled in from its pages, without the screenshots. `formfactory` is data/sample/arena/runs:
the forms that agents filled in from texts, with the screenshots in few colours.
"""

import dataclasses
import json
import shutil
import sys
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from PIL import Image

from formlab import benchmarks, systems
from formlab.folders import Corpus, Predictions
from formlab_arena.evaluation import read_run, system_name
from formlab_arena.page_tasks import task_set
from formlab_arena.run import RunSettings, fill
from formlab_arena.samples import PLAYED, tasks_of

TARGET = Path(__file__).parents[1] / "runs"
PAGES = Path(__file__).parents[1] / "arena" / "pages"
# The agents that notebooks show when given nothing, and the colours of their screenshots.
PLAYERS = (
    RunSettings("oracle"), RunSettings("rules"), RunSettings("rules", texts="prose"),
    RunSettings("rules", texts="prose", ruler=True),
)  # fmt: skip
COLOURS = 16
# What notebooks show when given nothing: benchmark, system, its changed settings.
RUNS = (
    ("fincriticaled", "ocr", {}),
    ("fincriticaled", "ocr", {"scale": "0.5"}),
    ("fincriticaled", "ocr", {"scale": "0.3"}),
    ("fincriticaled", "ocr_html", {}),
    ("formcraft", "ocr", {}),
    ("formcraft", "rules", {}),
    ("formcraft", "rules", {"zoom": "2.0"}),
    ("funsd", "ocr", {}),
    ("funsd", "ocr", {"scale": "2.0"}),
    ("funsd", "ocr", {"angle": "on"}),
    ("funsd", "ocr", {"scale": "2.0", "angle": "on"}),
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


def read(corpus: Corpus, reader: systems.System, settings: dict, **options: Any) -> Predictions:
    """What the system reads now; the cache's key is the page and the engine."""
    with TemporaryDirectory() as folder:
        return systems.run(corpus, reader, out=folder, settings=settings, **options)


def play(out: Path, settings: RunSettings, *codes: str) -> None:
    """Let an agent fill in these forms of the sample now, or all."""
    tasks = tasks_of(benchmarks.load("formfactory"), settings)
    chosen = tuple(each for each in tasks.instances if not codes or each.code in codes)
    fill(out, settings, tasks=dataclasses.replace(tasks, instances=chosen), workers=2)


def keep(run: Path, target: Path) -> None:
    """Copy what is shown and scored of a run: its results, its logs, and small screenshots."""
    target.mkdir(parents=True)
    for name in ("run.json", "episodes.jsonl"):
        shutil.copyfile(run / name, target / name)
    for log in sorted(run.glob("*/events.jsonl")):
        folder = target / log.parent.name
        folder.mkdir()
        for name in ("task.txt", "values.json"):
            shutil.copyfile(log.parent / name, folder / name)
        events = [json.loads(line) for line in log.read_text("utf-8").splitlines()]
        for event, key in product(events, ("see", "image")):
            if event.get(key):
                event[key] = str(Path(event[key]).with_suffix(".webp"))
        lines = "".join(json.dumps(event) + "\n" for event in events)
        (folder / log.name).write_text(lines, encoding="utf-8")
        for image in log.parent.glob("*.png"):
            with Image.open(image) as shot:
                few = shot.convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE).convert("RGB")
            few.save(folder / f"{image.stem}.webp", lossless=True)


def main(names: list[str]) -> None:
    """Read the samples of these benchmarks anew, or every sample."""
    if not names or "formcraft" in names:
        with TemporaryDirectory() as folder:
            settings, tasks = RunSettings("rules", texts="pages"), task_set("formcraft")
            fill(Path(folder), settings, tasks=tasks, workers=2)
            corpus, predictions = read_run(Path(folder))
        target = PAGES / predictions.settings["system"]
        dataclasses.replace(corpus, root=None).save(target / "corpus")
        predictions.save(target / "predictions")
    if not names or "formfactory" in names:
        shutil.rmtree(PLAYED, ignore_errors=True)
        for settings in PLAYERS:
            with TemporaryDirectory() as folder:
                play(Path(folder), settings)
                keep(Path(folder), PLAYED / system_name(settings.as_json()))
    for folder in TARGET.glob("*"):
        if not names or folder.name.partition("-")[0] in names:
            shutil.rmtree(folder)
    for corpus, reader, settings in corpora():
        if names and corpus.benchmark not in names:
            continue
        predictions = read(corpus, reader, settings)
        predictions.save(TARGET / f"{corpus.benchmark}-{corpus.split}-{predictions.system}")


if __name__ == "__main__":
    main(sys.argv[1:])
