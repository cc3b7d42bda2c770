"""The project's own samples, read by a real system: what a notebook shows when given nothing."""

from __future__ import annotations

import hashlib
import os
from importlib import metadata
from pathlib import Path

from formlab import benchmarks, systems
from formlab.analysis.evaluate import evaluate
from formlab.errors import DataBroken, DataMissing
from formlab.tables import Evaluation


def open_evaluation(
    folder: str | Path = "", *, benchmark: str = "funsd", system: str = "ocr"
) -> Evaluation:
    """The evaluation saved in `folder`; without one, `system` over the sample of `benchmark`.

    The sample is read once and kept in the user's cache folder, or in FORMLAB_CACHE.

    Parameters
    ----------
    folder
        As written by ``formlab score … --out``; empty for the sample.

    Raises
    ------
    DataMissing, DataBroken
        If the folder holds no evaluation.
    """
    if str(folder):
        return Evaluation.load(folder)
    return _of_sample(benchmark, system, None)


def open_evaluations(
    folder: str | Path = "", *, benchmark: str = "vrdu", system: str = "rules"
) -> list[Evaluation]:
    """The evaluations of several splits; without a folder, `system` over all of the sample's.

    Parameters
    ----------
    folder
        That of one evaluation, or of a folder for each split, as ``formlab score … --out``
        writes them; empty for the sample.
    benchmark, system
        As for `open_evaluation`.

    Raises
    ------
    DataMissing, DataBroken
        If there is none, or they are not of one benchmark, system, mode and root.
    """
    if not str(folder):
        splits = benchmarks.get(benchmark).splits_in(benchmarks.SAMPLES / benchmark)
        return [_of_sample(benchmark, system, split) for split in splits]
    folder = Path(folder)
    if (folder / "manifest.json").is_file():
        return [Evaluation.load(folder)]
    found = [Evaluation.load(file.parent) for file in sorted(folder.glob("*/manifest.json"))]
    if not found:
        remedy = "the folder that formlab score wrote with --out"
        raise DataMissing("no evaluation here or in its folders", where=folder, remedy=remedy)
    for name in ("benchmark", "system", "mode", "root"):
        values = sorted({str(getattr(one, name)) for one in found})
        if len(values) > 1:
            what = f"evaluations that differ in their {name}: {', '.join(values)}"
            raise DataBroken(what, where=folder, remedy="a folder for each of them")
    return found


def _of_sample(benchmark: str, system: str, split: str | None) -> Evaluation:
    corpus = benchmarks.load(benchmark, split=split)
    reader = systems.get(system)
    out = cache() / "runs" / f"{benchmark}-{corpus.split}-{system}-{_state(reader)}"
    # Two notebooks that run side by side may ask for the same sample.
    return evaluate(corpus, systems.run(corpus, reader, out=out, wait=True))


def _state(reader: systems.System) -> str:
    """A short name for how the system reads now: its code, its settings, its libraries."""
    digest = hashlib.sha256(repr((reader.defaults, reader.versions)).encode())
    for name in reader.versions:
        digest.update(metadata.version(name).encode())
    for file in sorted(Path(systems.__file__).parent.rglob("*.py")):
        digest.update(file.read_bytes())
    return digest.hexdigest()[:12]


def cache() -> Path:
    """The folder for what can be made again: FORMLAB_CACHE, else formlab's in the user's cache."""
    given = os.environ.get("FORMLAB_CACHE")
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(given) if given else Path(base) / "formlab"
