"""Evaluations from folders, or of the project's own samples: what a notebook shows by itself."""

import hashlib
import sys
from collections.abc import Mapping, Sequence
from importlib import metadata
from pathlib import Path
from types import ModuleType
from typing import Any

from formlab import benchmarks, files, resources, saving, systems
from formlab.analysis.comparability import named
from formlab.errors import DataBroken, DataMissing, NotAvailable, UnknownName
from formlab.folders import Evaluation, Predictions, is_hidden
from formlab.registry import Registry
from formlab.scoring.batches import partial_note
from formlab.scoring.evaluate import evaluate
from formlab.show import plain

# Plug-ins that open the sample of a benchmark: of corpus, system and settings an `Evaluation`.
SAMPLES = Registry("samples", {})
# What reads each sample without a key, and without knowing the answers.
BASELINES = {"funsd": "ocr", "formcraft": "rules", "vrdu": "rules", "fincriticaled": "ocr"}
BASELINES |= {"formfactory": "rules"}
RUNS = benchmarks.SAMPLES / "runs"
_REMEDY = "a folder that formlab score wrote with --out, or one around such folders"


def open_evaluation(
    folder: str | Path = "", *, benchmark: str = "funsd", system: str = "ocr"
) -> Evaluation:
    """The evaluation saved in `folder`; without one, `system` over the sample of `benchmark`.

    What the baselines read and filled in on the samples comes with formlab. All else is done once
    and kept in the user's cache folder, or in FORMLAB_CACHE; forms are filled in with a browser.

    Raises `DataMissing` or `DataBroken` if the folder holds no evaluation, as written by ``formlab
    score … --out``; `NotAvailable` if the system needs an extra or a Chromium that is not there.
    """
    if not str(folder):
        return _of_sample(benchmark, system)
    evaluation = Evaluation.load(folder)
    if sentence := partial_note(evaluation.documents.height, evaluation.settings, evaluation.notes):
        where = plain(f"{evaluation.system} on {evaluation.benchmark}:{evaluation.split}")
        print(f"{where}: {sentence}", file=sys.stderr)
    return evaluation


def open_evaluations(
    folder: str | Path = "", *, benchmark: str = "vrdu", system: str = "rules"
) -> list[Evaluation]:
    """The evaluations of several splits, from a folder that has one for each, or of the sample.

    `DataMissing` if there is none, `DataBroken` if they differ in more than their split.
    """
    if not str(folder):
        splits = benchmarks.get(benchmark).splits_in(benchmarks.SAMPLES / benchmark)
        shipped = [split for split in splits if _shipped(benchmark, split, system).is_dir()]
        return [_of_sample(benchmark, system, split) for split in shipped or splits]
    evaluations = [open_evaluation(path) for path in saved(folder)]
    for name in ("benchmark", "system", "mode", "root"):
        if len(values := sorted({str(getattr(split, name)) for split in evaluations})) > 1:
            difference = f"evaluations that differ in their {name}: {', '.join(values)}"
            raise DataBroken(difference, where=folder, remedy="a folder for each of them")
    return evaluations


def saved(folder: str | Path) -> list[Path]:
    """A folder and those below it, if they hold an evaluation; `DataMissing` if none does."""
    home, found = files.folder(folder, remedy=_REMEDY).resolve(), []
    for file in sorted(home.rglob("manifest.json")):
        content = {} if is_hidden(file, home) else files.read_json(file)
        if isinstance(content, dict) and content.get("kind") == Evaluation.__name__:
            found.append(file.parent)
    if not found:
        raise DataMissing("no evaluation here or in its folders", where=folder, remedy=_REMEDY)
    return found


def open_compared(
    folders: Sequence[str | Path] = (),
    *,
    benchmark: str = "funsd",
    system: str | Sequence[str] = "ocr",
    changes: Sequence[Mapping[str, Any]] = ({}, {"scale": 2.0}),
) -> list[Evaluation]:
    """The evaluations saved in `folders`; without any, several readings of a sample.

    `system` is one, read at each setting of `changes` (what is not at its default); or several; or
    none, for all whose reading of the sample comes with formlab, the baseline first.
    """
    if folders:
        return [open_evaluation(folder) for folder in folders]
    if isinstance(system, str):
        return [_of_sample(benchmark, system, None, change) for change in changes]
    start = _shipped(benchmark, benchmarks.load(benchmark).split, "").name
    shipped = (run.name.removeprefix(start) for run in RUNS.glob(f"{start}*"))
    names = system or sorted(shipped, key=lambda name: (name != BASELINES.get(benchmark), name))
    return [_of_sample(benchmark, name) for name in names]


def open_all(folders: Sequence[str | Path] = ()) -> list[Evaluation]:
    """The evaluations saved in `folders`; without any, every sample read by its `BASELINES`.

    FORMCRAFT's forms are opened as every system read them that comes with formlab. A sample that
    cannot be opened here, for want of an add-on or a browser, is left out, and stderr says so.
    """
    if folders:
        return [open_evaluation(folder) for folder in folders]
    evaluations = []
    for benchmark, system in BASELINES.items():
        try:
            names = () if benchmark == "formcraft" else (system,)
            evaluations += open_compared(benchmark=benchmark, system=names)
        except NotAvailable as error:
            print(f"note: the sample of {benchmark} is left out: {error}", file=sys.stderr)
    return evaluations


def of_system(evaluations: Sequence[Evaluation], system: str = "") -> Evaluation:
    """The evaluation of `system`; the first one, without a name. `UnknownName` if there is none."""
    by_name = {evaluation.system: evaluation for evaluation in named(evaluations)}
    if system and system not in by_name:
        raise UnknownName.of("system", system, by_name)
    return by_name[system or next(iter(by_name))]


def _of_sample(
    benchmark: str, system: str, split: str | None = None, change: Mapping[str, Any] = {}
) -> Evaluation:
    corpus = benchmarks.load(benchmark, split=split)
    if benchmark in SAMPLES:
        import yaml

        name, _, texts = system.rstrip(")").partition("(")
        settings = yaml.safe_load(f"{{{texts.replace('=', ': ')}}}")
        return SAMPLES[benchmark](corpus, name, settings | dict(change))
    if "click" in benchmarks.get(benchmark).tasks:
        absent = "nothing is installed that fills in forms (the add-on formlab_arena)"
        raise NotAvailable(f"the sample of {benchmark} cannot be opened: {absent}")
    # What comes with formlab as read needs neither the system nor its engine.
    if not change and (folder := _shipped(benchmark, corpus.split, system)).is_dir():
        return evaluate(corpus, Predictions.load(folder))
    reader = systems.get(system)
    settings = reader.settings({key: str(value) for key, value in change.items()})
    name = reader.run_name(settings)
    if (folder := _shipped(benchmark, corpus.split, name)).is_dir():
        shipped = Predictions.load(folder)
        if settings.items() <= shipped.settings.items():
            return evaluate(corpus, shipped)
    if reader.extra:
        resources.need(reader.extra)
    out = saving.run_folder(f"{benchmark}-{corpus.split}-{name}-{state_of(reader)}")
    # Two notebooks that run side by side may ask for the same sample.
    read = systems.run(corpus, reader, out=out, settings=settings, name=name, wait=True)
    return evaluate(corpus, read)


def _shipped(benchmark: str, split: str, name: str) -> Path:
    """Where a reading of the sample comes with formlab, if it does."""
    return RUNS / f"{benchmark}-{split}-{name}"


def state_of(
    reader: systems.System, *, folders: Sequence[ModuleType] = (systems,), more: str = ""
) -> str:
    """A short name for how the system reads now: its code, its settings, its libraries."""
    libraries = [(name, metadata.version(name)) for name in reader.versions]
    digest = hashlib.sha256(repr((reader.defaults, reader.versions, libraries, more)).encode())
    package = sys.modules.get(reader.start.__module__.rpartition(".")[0], systems)
    for folder in dict.fromkeys((*folders, package)):
        # Code, and the prompts, forms and pages beside it.
        for file in sorted(Path(str(folder.__file__)).parent.rglob("*")):
            if file.is_file() and file.suffix != ".pyc":
                digest.update(file.read_bytes())
    return digest.hexdigest()[:12]
