"""Evaluations of one corpus in time order: scores per run, and what changed from run to run."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from formlab import metrics, tables
from formlab.analysis.comparability import common, scored_metrics
from formlab.analysis.compare import COMPARISON, compare, values_compared
from formlab.analysis.finding import OUTCOME
from formlab.analysis.overview import MEASURES
from formlab.analysis.samples import saved
from formlab.analysis.summarise import summarise
from formlab.analysis.verdicts import identical, significant_kinds, values_right
from formlab.errors import DataBroken, DataMissing
from formlab.folders import Evaluation
from formlab.stats.tests import compared

BETTER, WORSE, NOT_SHOWN = "better", "worse", "not shown"
SAME, INCOMPARABLE = "identical", "not comparable"
# A kind of values on which a difference was shown.
KIND = tables.schema("kind difference:number ci_low:number ci_high:number p:number p_holm:number")
KIND = pl.Struct(KIND | tables.schema("n_docs:int n_cases:int"))
# The columns of a comparison in a history, by their names there.
_OF_TEST = {"difference": "difference", "difference_low": "ci_low", "difference_high": "ci_high"}
_OF_TEST |= {"p": "p", "p_adjusted": "p_holm", "least_difference": "least_difference"}
_OF_TEST |= {"fixed": "only_a", "broken": "only_b"}
HISTORY: dict[str, Any] = tables.schema("corpus run at system metric average level value:number")
HISTORY |= tables.schema("ci_low:number ci_high:number verdict")
HISTORY |= {name: COMPARISON[of] for name, of in _OF_TEST.items()}
HISTORY |= {"kinds": pl.List(KIND), **tables.schema("changed note n_docs:int n_cases:int")}
# The share of values right comes first, and is not tested twice.
_HEADLINES = {(m.metric, m.of) for m in MEASURES if m.metric != "normalised_accuracy"}
Rows = list[dict[str, Any]]


def open_history(folders: str | Path | Sequence[str | Path]) -> dict[str, Evaluation]:
    """Every evaluation in each of some folders and in the folders below it, oldest first.

    They are named by their path within the folder that all are in. Their time is that at which
    ``formlab score`` first saved them; equal times stand in the order of their names.

    Raises `DataMissing` if there is no such folder, or no evaluation in it; `DataBroken` if one is
    damaged, or of an older format.
    """
    roots = [folders] if isinstance(folders, str | Path) else folders
    opened = {path: Evaluation.load(path) for root in roots for path in saved(root)}
    home = os.path.commonpath([path.parent for path in opened])
    runs = ((path.relative_to(home).as_posix(), run) for path, run in opened.items())
    return dict(sorted(runs, key=lambda item: (item[1].made.get("at", ""), item[0])))


def corpora(evaluations: Mapping[str, Evaluation]) -> dict[str, dict[str, Evaluation]]:
    """The evaluations of each corpus, in their order, by its name.

    Those of one corpus agree in benchmark, split, mode and documents.
    """
    named: dict[str, dict[str, Evaluation]] = {}
    names: dict[tuple[Any, ...], str] = {}
    for run_name, run in evaluations.items():
        documents = frozenset(run.document_names)
        key = run.benchmark, run.split, run.mode, documents
        if key not in names:
            name = f"{run.benchmark}:{run.split}" + f", {run.mode}" * (run.mode != "fixed")
            name += f", {len(documents):,} documents" * (name in named)
            while name in named:
                name += " of others"
            names[key] = name
        named.setdefault(names[key], {})[run_name] = run
    return named


def history(
    evaluations: Mapping[str, Evaluation] | Sequence[Evaluation],
    *,
    metric: Sequence[str] = (),
    average: str = metrics.POOLED,
    **draws: int,
) -> pl.DataFrame:
    """The scores of each run with intervals, and what changed since the run before.

    Returns a row for each run and metric, the schema HISTORY. Those of ``outcome``, the share of
    gold values right, stand first and alone have `fixed` and `broken`, the values that are right in
    one of two neighbouring runs, and `kinds`: up to three on which a difference was shown.
    `difference` is by how much this run is better than the one before. `verdict` is ``better``,
    ``worse`` or ``not shown`` as by `compare`; ``identical`` where every answer is the same; ``not
    comparable`` with the reason in `note`; null for a first run. p of the last run is that of
    `compare`; of each metric all earlier runs are adjusted together after Holm. `changed` names the
    settings and versions that differ from the run before.

    Raises `DataMissing` if there is no evaluation; `UnknownName` if a metric is not registered.

    `evaluations`: in time order, by name, or numbered in a list; those of several `corpora` are
    never compared. `metric`: beside the share of fields right; the headline of each level if left
    out. `average`, `draws`: as for `compare`.
    """
    if not isinstance(evaluations, Mapping):
        evaluations = {f"run {number}": run for number, run in enumerate(evaluations, start=1)}
    if not evaluations:
        raise DataMissing("there is no evaluation", remedy="formlab score … --out FOLDER")
    for name in metric:
        metrics.get(name)
    options = {name: draws[name] for name in ("resamples", "seed") if name in draws}
    rows: Rows = []
    for corpus, runs in corpora(evaluations).items():
        before, earlier, last = [None, *runs.values()], [], []
        for (name, run), previous in zip(runs.items(), before, strict=False):
            earlier += last
            last = [*filter(None, [values_right(run, **options)])]
            scores = tables.only(summarise(run, by=(), average=average, **options), slice_by=None)
            for row in scores.to_dicts():
                of = row["metric"], row["level"]
                last += [row] if (of[0] in metric if metric else of in _HEADLINES) else []
            labels = {"corpus": corpus, "run": name, "at": run.made.get("at"), "system": run.system}
            if previous is not None:
                labels["changed"] = _changes(previous, run)
                _compare(last, run, previous, average, **draws)
            last = [row | labels for row in last]
        rows += _judged(earlier) + _judged(last)
    return pl.DataFrame(rows, schema=HISTORY)


def _compare(rows: Rows, run: Evaluation, before: Evaluation, average: str, **draws: int) -> None:
    """Add to rows of a run their tests against the run before, or why there are none."""
    try:
        pair = common([run, before]).evaluations
    except DataBroken as error:
        for row in rows:
            row |= {"verdict": INCOMPARABLE, "note": error.what}
        return
    values, same = values_compared(pair, ["kind"], **draws), identical(*pair)
    kinds = [{"kind": kind["slice_value"], **kind} for kind in significant_kinds(values)]
    tests = values.head(1).to_dicts()
    if names := {row["metric"] for row in rows} & {name for name, _ in scored_metrics(pair[0])}:
        table = compare(pair, metric=sorted(names), average=average, **draws)
        tests += tables.only(table, slice_by=None).to_dicts()
    by_score = {(test["metric"], test["level"]): test for test in tests}
    for row in rows:
        row |= {"verdict": INCOMPARABLE, "note": "the run before was not scored by it"}
        if test := by_score.get((row["metric"], row["level"])):
            row |= {"test": test, "note": None, "verdict": SAME if same else None}
            row["kinds"] = kinds if row["metric"] == OUTCOME else None


def _judged(rows: Rows) -> Rows:
    """Rows with verdicts, their p adjusted together."""
    # The p of `compare` is adjusted once more, for the other runs.
    tested = [row for row in rows if "test" in row]
    tests = pl.DataFrame([row["test"] for row in tested], schema=COMPARISON)
    tests = compared(tests.with_columns(surest="p_holm"))
    for row, test in zip(tested, tests.iter_rows(named=True), strict=True):
        ahead = {test["system_a"]: BETTER, test["system_b"]: WORSE}
        row["verdict"] = row["verdict"] or ahead.get(test["better"], NOT_SHOWN)
        row |= {name: test[of] for name, of in _OF_TEST.items()}
    return rows


def _changes(before: Evaluation, run: Evaluation) -> str | None:
    """The settings and versions that differ, as ``scale 1.0 → 2.0``."""
    both = []
    for of in (before, run):
        # The settings that are not at their default stand in a system's name as well.
        settings = of.settings | {"system": of.system.partition("(")[0]}
        settings |= of.settings.get("system") or {}
        both.append(settings | {"formlab": of.made.get("formlab", "none")})
    names = dict.fromkeys(["system", *both[0], *both[1]])
    pairs = ((name, *(str(settings.get(name, "none")) for settings in both)) for name in names)
    return "; ".join(f"{name} {old} → {new}" for name, old, new in pairs if old != new) or None
