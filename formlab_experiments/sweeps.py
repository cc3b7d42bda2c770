"""Sweeps: a system's own settings, tried on the same pages, and what each does to the answers."""

from collections.abc import Mapping, Sequence
from itertools import product
from pathlib import Path

from formlab import files, systems
from formlab.errors import DataBroken
from formlab.folders import Corpus, Evaluation
from formlab.systems import System
from formlab_experiments.designs import balanced
from formlab_experiments.reading import EVALS, read_and_score

EXPERIMENT = "experiment.json"
Plan = list[dict[str, str]]


def settings_plan(
    levels: Mapping[str, Sequence[str]], *, one_at_a_time: bool = False, runs: int | None = None
) -> list[dict[str, str]]:
    """The settings of each run of a sweep.

    Parameters
    ----------
    levels
        The values of each setting, as a user types them; the first is what others are compared
        with.
    one_at_a_time
        Change one setting at a time and leave the others at their first value. That needs few runs
        and tells nothing about settings that depend on each other.
    runs
        How many combinations are run, if not all: those in which the values of each setting, and of
        each pair of settings, are as equally frequent as they can be. Effects of single settings
        keep apart; interactions may not, and are NaN then.

    Returns
    -------
    list of dict
        The run with all first values, then the others.

    Raises
    ------
    DataBroken
        If there are fewer combinations than `runs`, or both ways of having fewer are asked for.

    Examples
    --------
    >>> settings_plan({"scale": ["1", "2"], "angle": ["on", "off"]})[-1]
    {'scale': '2', 'angle': 'off'}
    >>> len(settings_plan({"scale": ["1", "2"], "angle": ["on", "off"]}, one_at_a_time=True))
    3
    """
    every = [dict(zip(levels, values, strict=True)) for values in product(*levels.values())]
    if runs is not None:
        if one_at_a_time or not 0 < runs <= len(every):
            what = f"{runs} runs of {len(every)} combinations"
            raise DataBroken(what, remedy=f"from 1 to {len(every)}, or one at a time instead")
        return _fraction(levels, runs)
    changed = [sum(run[name] != values[0] for name, values in levels.items()) for run in every]
    return [run for run, n in zip(every, changed, strict=True) if n < 2 or not one_at_a_time]


def _fraction(levels: Mapping[str, Sequence[str]], runs: int) -> Plan:
    cells = list(product(*(range(len(values)) for values in levels.values())))
    chosen = [cells[place] for place in balanced(levels, cells, runs, seed=0)]
    # Which value is called which does not matter: the first run gets all first values.
    names = [
        {0: first, first: 0} | {n: n for n in range(len(values)) if n not in (0, first)}
        for first, values in zip(chosen[0], levels.values(), strict=True)
    ]
    places = sorted(tuple(name[n] for name, n in zip(names, c, strict=True)) for c in chosen)
    return [
        {name: values[n] for n, (name, values) in zip(place, levels.items(), strict=True)}
        for place in places
    ]


def sweep(
    corpus: Corpus,
    system: str | System,
    settings: Mapping[str, Sequence[str]],
    *,
    out: str | Path,
    one_at_a_time: bool = False,
    runs: int | None = None,
    workers: int | str = 1,
    limit: int | None = None,
) -> list[Evaluation]:
    """Run a system with each combination of settings on the same pages, and score every run.

    The same call again reads no finished page again; more values add the runs that they need.

    Parameters
    ----------
    corpus
        The pages.
    system
        What reads them, or its name.
    settings
        The values of each setting, as for `settings_plan`. Settings not named are at their default.
    out
        The folder of the experiment, with a run and an evaluation for each combination.
    one_at_a_time, runs
        As for `settings_plan`.
    workers, limit
        As for `read_and_score`.

    Returns
    -------
    list of Evaluation
        In the order of the plan, each with its settings as own columns of its documents.

    Raises
    ------
    UnknownName, DataBroken
        If a setting is not known or a value is not one of its type, or is there twice; and as
        `read_and_score`.

    Examples
    --------
    >>> import formlab, tempfile
    >>> blind = System("blind", "reads nothing", lambda *_: lambda *_: [], {"angle": True})
    >>> with tempfile.TemporaryDirectory() as out:
    ...     runs = sweep(formlab.load("funsd"), blind, {"angle": ["on", "off"]}, out=out, limit=2)
    >>> [run.system for run in runs]
    ['blind', 'blind(angle=off)']
    """
    system = systems.get(system) if isinstance(system, str) else system
    levels = {
        name: [systems.setting_text(system.settings({name: text})[name]) for text in texts]
        for name, texts in settings.items()
    }
    for name, texts in levels.items():
        if len(set(texts)) < max(len(texts), 2):
            remedy = f"--set {name}=VALUE,VALUE with values that differ"
            raise DataBroken(f"{name}={','.join(texts)} is nothing to compare", remedy=remedy)
    plan = settings_plan(levels, one_at_a_time=one_at_a_time, runs=runs)
    names = []
    for run in plan:
        evaluation = read_and_score(
            corpus, system, out=out, settings=system.settings(run), workers=workers,
            limit=limit,
        )  # fmt: skip
        names.append(evaluation.system)
    head = {
        "kind": "settings", "benchmark": corpus.benchmark, "split": corpus.split,
        "system": system.name, "levels": levels, "runs": names, "formlab": files.version(),
    }  # fmt: skip
    files.write_json(Path(out) / EXPERIMENT, head)
    return open_sweep(out)


def open_sweep(folder: str | Path) -> list[Evaluation]:
    """The evaluations of a sweep, in the order of its plan.

    Parameters
    ----------
    folder
        As written by `sweep`.

    Raises
    ------
    DataMissing, DataBroken
        If it holds no sweep.
    """
    head = files.read_json(Path(folder) / EXPERIMENT)
    if head.get("kind") != "settings":
        remedy = "the folder OUT of formlab sweep"
        raise DataBroken(f"an experiment of kind {head.get('kind')}", where=folder, remedy=remedy)
    return [Evaluation.load(Path(folder) / EVALS / name.replace("/", "-")) for name in head["runs"]]
