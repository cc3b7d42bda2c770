"""Evaluations of one corpus in time order: scores per run, and what changed from run to run."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from formlab import files, metrics, tables
from formlab.analysis.comparability import common, scored_metrics
from formlab.analysis.compare import compare, values_compared
from formlab.analysis.finding import OUTCOME
from formlab.analysis.overview import MEASURES
from formlab.analysis.summarise import summarise
from formlab.analysis.verdicts import identical, shown_kinds, values_right
from formlab.errors import DataBroken, DataMissing, UnknownName
from formlab.folders import Evaluation, is_hidden
from formlab.stats.tests import ALPHA, adjusted_p, documents_needed, holds

BETTER, WORSE, NOT_SHOWN = "better", "worse", "not shown"
SAME, INCOMPARABLE = "identical", "not comparable"
_TEST = ("difference", "difference_low", "difference_high", "p", "p_adjusted", "least_difference")
# A kind of values on which a difference was shown.
KIND = pl.Struct(
    {"kind": pl.String}
    | dict.fromkeys(("difference", "ci_low", "ci_high", "p", "p_holm"), pl.Float64)
    | dict.fromkeys(("n_docs", "n_cases"), pl.Int64)
)
HISTORY: dict[str, Any] = {
    **dict.fromkeys(("corpus", "run", "at", "system", "metric", "average", "level"), pl.String),
    **dict.fromkeys(("value", "ci_low", "ci_high"), pl.Float64),
    "verdict": pl.String,
    **dict.fromkeys(_TEST, pl.Float64),
    **dict.fromkeys(("fixed", "broken"), pl.Int64),
    "kinds": pl.List(KIND),
    **dict.fromkeys(("changed", "note"), pl.String),
    **dict.fromkeys(("n_docs", "n_cases"), pl.Int64),
}
# The share of values right comes first, and is not tested twice.
_HEADLINES = {(m.metric, m.of) for m in MEASURES if m.metric != "normalised_accuracy"}
_UNSCORED = {"verdict": INCOMPARABLE, "note": "the run before was not scored by it"}


def open_history(folders: str | Path | Sequence[str | Path]) -> dict[str, Evaluation]:
    """Every evaluation in one or more folders and in the folders below them, oldest first.

    They are named by their path within the folder that all are in; the order is that of
    `Evaluation.made`: when ``formlab score`` first saved it, whatever copying did to the files
    since. Equal times stand in the order of their names.

    Raises `DataMissing` if there is no such folder, or no evaluation in it; `DataBroken` if one is
    damaged, or of an older format.
    """
    remedy = "a folder with folders that formlab score wrote with --out"
    roots = [folders] if isinstance(folders, str | Path) else folders
    opened: dict[Path, Evaluation] = {}
    for root in roots:
        home = files.folder(root, remedy=remedy).resolve()
        for file in sorted(home.rglob("manifest.json")):
            content = {} if is_hidden(file, home) else files.read_json(file)
            if isinstance(content, dict) and content.get("kind") == Evaluation.__name__:
                opened[file.parent] = Evaluation.load(file.parent)
    if not opened:
        where = ", ".join(map(str, roots)) or None
        raise DataMissing("no evaluation here or in its folders", where=where, remedy=remedy)
    home = os.path.commonpath([path.parent for path in opened])
    named = {path.relative_to(home).as_posix(): each for path, each in opened.items()}
    return dict(sorted(named.items(), key=lambda item: (item[1].made.get("at", ""), item[0])))


def corpora(evaluations: Mapping[str, Evaluation]) -> dict[str, dict[str, Evaluation]]:
    """The evaluations of each corpus, in their order: benchmark, split, mode and documents agree.

    Examples
    --------
    >>> from formlab import analysis
    >>> ocr, larger = analysis.open_compared()
    >>> {name: list(runs) for name, runs in corpora({"monday": ocr, "tuesday": larger}).items()}
    {'funsd:test': ['monday', 'tuesday']}
    """
    groups: dict[tuple[Any, ...], dict[str, Evaluation]] = {}
    for name, each in evaluations.items():
        key = each.benchmark, each.split, each.mode, frozenset(each.documents["doc_id"])
        groups.setdefault(key, {})[name] = each
    named: dict[str, dict[str, Evaluation]] = {}
    for (benchmark, split, mode, documents), runs in groups.items():
        name = f"{benchmark}:{split}" + (f", {mode}" if mode != "fixed" else "")
        name = name if name not in named else f"{name}, {len(documents):,} documents"
        while name in named:
            name += " of others"
        named[name] = runs
    return named


def one_corpus(evaluations: Mapping[str, Evaluation], name: str = "") -> dict[str, Evaluation]:
    """The runs of one of the `corpora`; of that of the newest run, without a name.

    Raises `UnknownName` if there is no such corpus.
    """
    groups = corpora(evaluations)
    newest = next(reversed(evaluations))
    chosen = name or next(corpus for corpus, runs in groups.items() if newest in runs)
    if chosen not in groups:
        raise UnknownName.of("corpus", chosen, groups)
    return groups[chosen]


def history(
    evaluations: Mapping[str, Evaluation] | Sequence[Evaluation],
    *,
    metric: Sequence[str] = (),
    average: str = metrics.POOLED,
    resamples: int = 1000,
    permutations: int = 9999,
    seed: int = 0,
) -> pl.DataFrame:
    """The scores of each run with intervals, and what changed since the run before.

    Returns a row for each run and metric, the schema HISTORY. Those of ``outcome``, the share of
    gold values right, stand first and alone have `fixed` and `broken`, the values that are right in
    one of two neighbouring runs, and `kinds`: up to three on which a difference was shown, a family
    of tests of their own. `difference` is by how much this run is better than the one before, over
    what both were scored on. `verdict` is ``better`` or ``worse`` where a difference was shown as
    by `compare`, else ``not shown``; ``identical`` where every answer is the same; ``not
    comparable`` with the reason in `note`; null for a first run. The last run was looked at first:
    its p is that of `compare`; of each metric all earlier runs are adjusted together after Holm.
    `changed` names the settings and versions that differ from the run before.

    Raises `DataMissing` if there is no evaluation; `UnknownName` if a metric is not registered.

    Parameters
    ----------
    evaluations
        In time order, by name or in a list, whose runs are numbered. Those of several corpora
        are grouped (`corpora`) and never compared.
    metric
        Metrics beside the share of fields right; the headline of each level if left out.
    average, resamples, permutations, seed
        As for `compare`.

    Examples
    --------
    >>> from formlab import analysis
    >>> few = {"resamples": 99, "permutations": 99}
    >>> runs = history(analysis.open_compared(), metric=["cer"], **few)
    >>> runs.filter(metric="outcome").select("run", "verdict", "fixed", "broken").rows()
    [('run 1', None, None, None), ('run 2', 'not shown', 15, 21)]
    """
    if not isinstance(evaluations, Mapping):
        evaluations = {f"run {number}": each for number, each in enumerate(evaluations, start=1)}
    if not evaluations:
        raise DataMissing("there is no evaluation", remedy="formlab score … --out FOLDER")
    for name in metric:
        metrics.get(name)
    draws = {"resamples": resamples, "permutations": permutations, "seed": seed}
    rows = []
    for corpus, runs in corpora(evaluations).items():
        tested = [
            row | {"corpus": corpus, "run": name}
            for name, (before, run) in zip(runs, _neighbours(list(runs.values())), strict=True)
            for row in _rows(before, run, metric, average, draws)
        ]
        rows += _judged(tested, last=list(runs)[-1])
    return pl.DataFrame([{n: row.get(n) for n in HISTORY} for row in rows], schema=HISTORY)


def _neighbours(runs: list[Evaluation]) -> Iterator[tuple[Evaluation | None, Evaluation]]:
    """Each run with the one before it."""
    return zip([None, *runs], runs, strict=False)


def _rows(
    before: Evaluation | None,
    run: Evaluation,
    chosen: Sequence[str],
    average: str,
    draws: dict[str, int],
) -> Iterator[dict[str, Any]]:
    """The scores of one run, with the tests against the run before."""
    options = {"resamples": draws["resamples"], "seed": draws["seed"]}
    summary = summarise(run, average=average, **options)
    scores = [values_right(run, **options), *tables.only(summary, slice_by=None).to_dicts()]
    scores = [
        row
        for row in scores
        if row
        and (
            row["metric"] in (OUTCOME, *chosen)
            or (not chosen and (row["metric"], row["level"]) in _HEADLINES)
        )
    ]
    more, tested = {"at": run.made.get("at"), "system": run.system}, {}
    if before is not None:
        more |= {"changed": _changes(before, run)} | _UNSCORED
        try:
            names = dict.fromkeys(row["metric"] for row in scores)
            tested = _tested(*common([run, before]).evaluations, list(names), average, draws)
        except DataBroken as error:
            more["note"] = error.what
    for row in scores:
        yield row | more | tested.get((row["metric"], row["level"]), {})


def _tested(
    run: Evaluation, before: Evaluation, names: Sequence[str], average: str, draws: dict[str, int]
) -> dict[tuple[str, str], dict[str, Any]]:
    """By metric and level the difference from the run before, with its test."""
    of_values = values_compared([run, before], ["kind"], **draws)
    rows = of_values.head(1).to_dicts()
    scored = scored_metrics(run)
    if shared := [name for name in names if name != OUTCOME and name in scored]:
        table = compare([run, before], metric=shared, average=average, **draws)
        rows += tables.only(table, slice_by=None).to_dicts()
    verdict = SAME if identical(run, before) else None
    tests = {}
    for row in rows:
        test = {n: row[n] for n in ("difference", "p", "least_difference", "rules")}
        test |= {"difference_low": row["ci_low"], "difference_high": row["ci_high"]}
        test |= {"verdict": verdict, "note": None}
        if row["metric"] == OUTCOME:
            kinds = [{"kind": kind["slice_value"], **kind} for kind in shown_kinds(of_values)]
            test |= {"fixed": row["only_a"], "broken": row["only_b"], "kinds": kinds}
        tests[row["metric"], row["level"]] = test
    return tests


def _judged(rows: list[dict[str, Any]], *, last: str) -> list[dict[str, Any]]:
    """The rows with adjusted p and their verdicts."""
    families: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for row in rows:
        if "p" in row:
            key = row["metric"], row["level"], row["run"] == last
            families.setdefault(key, []).append(row)
    for family in families.values():
        for row, p in zip(family, adjusted_p([row["p"] for row in family]), strict=True):
            row["p_adjusted"] = float(p)
            if row["n_docs"] < documents_needed(ALPHA / len(family)):
                row["least_difference"] = float("nan")
            shown = holds(float(p), row["difference_low"], row["difference_high"], row["rules"])
            verdict = (BETTER if row["difference"] > 0 else WORSE) if shown else NOT_SHOWN
            row["verdict"] = row["verdict"] or verdict
    return rows


def _changes(before: Evaluation, run: Evaluation) -> str | None:
    """The settings and versions that differ, as ``scale 1.0 → 2.0``."""
    old, new = map(_settings, (before, run))
    texts = [
        f"{name} {old.get(name, 'none')} → {new.get(name, 'none')}"
        for name in dict.fromkeys([*old, *new])
        if old.get(name) != new.get(name)
    ]
    return "; ".join(texts) or None


def _settings(run: Evaluation) -> dict[str, str]:
    settings = dict(run.settings)
    inner = settings.pop("system", None)
    # The settings that are not at their default stand in a system's name as well.
    settings = {"system": run.system.partition("(")[0], **settings, **dict(inner or {})}
    settings |= {"formlab": run.made["formlab"]} if "formlab" in run.made else {}
    return {name: str(value) for name, value in settings.items()}
