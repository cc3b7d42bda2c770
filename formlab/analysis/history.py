"""Evaluations of one corpus in time order: scores per run, and what changed from run to run."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from formlab import files, metrics, tables
from formlab.analysis.comparability import common
from formlab.analysis.compare import DEPENDS, compare
from formlab.analysis.finding import ALPHA, OUTCOME
from formlab.analysis.finding_systems import surest_p
from formlab.analysis.flips import flip_matrix, flips
from formlab.analysis.intervals import by_document, drawn_sums, percentiles
from formlab.analysis.levels import MEASURES
from formlab.analysis.paired_tests import adjusted_p
from formlab.analysis.summarise import summarise
from formlab.analysis.verdicts import identical
from formlab.errors import DataBroken, DataMissing
from formlab.folders import Evaluation
from formlab.metrics import ratio

NAN = float("nan")
BETTER, WORSE, NOT_SHOWN = "better", "worse", "not shown"
SAME, INCOMPARABLE = "identical", "not comparable"
HISTORY: dict[str, Any] = {
    "corpus": pl.String, "run": pl.String, "at": pl.String, "system": pl.String,
    "metric": pl.String, "level": pl.String, "value": pl.Float64, "ci_low": pl.Float64,
    "ci_high": pl.Float64, "verdict": pl.String, "difference": pl.Float64,
    "difference_low": pl.Float64, "difference_high": pl.Float64, "p": pl.Float64,
    "p_adjusted": pl.Float64, "least_difference": pl.Float64, "fixed": pl.Int64,
    "broken": pl.Int64, "fixed_kinds": pl.String, "broken_kinds": pl.String,
    "changed": pl.String, "note": pl.String, "n_docs": pl.Int64, "n_cases": pl.Int64,
}  # fmt: skip
_KINDS = 3
# The share of values right comes first, and is not tested twice.
_HEADLINES = {(m.metric, m.of) for m in MEASURES if m.metric != "normalised_accuracy"}
Draws = dict[str, int]


def open_history(folders: str | Path | Sequence[str | Path]) -> dict[str, Evaluation]:
    """Every evaluation in one or more folders and in the folders below them, oldest first.

    Returns
    -------
    dict
        By the path within the folder that all are in. The order is that of `Evaluation.made`: when
        ``formlab score`` first saved it, whatever copying did to the files since. For evaluations
        without such a time it is when their manifest was last written. Equal times stand in the
        order of their names.

    Raises
    ------
    DataMissing
        If there is no such folder, or no evaluation in it.
    DataBroken
        If one is damaged, or of an older format.
    """
    remedy = "a folder with folders that formlab score wrote with --out"
    roots = [folders] if isinstance(folders, str | Path) else folders
    opened: dict[Path, Evaluation] = {}
    for root in roots:
        for file in sorted(files.folder(root, remedy=remedy).resolve().rglob("manifest.json")):
            content = files.read_json(file)
            if isinstance(content, dict) and content.get("kind") == Evaluation.__name__:
                opened[file.parent] = _dated(Evaluation.load(file.parent), file, content)
    if not opened:
        where = ", ".join(map(str, roots)) or None
        raise DataMissing("no evaluation here or in its folders", where=where, remedy=remedy)
    home = os.path.commonpath([path.parent for path in opened])
    named = {path.relative_to(home).as_posix(): each for path, each in opened.items()}
    return dict(sorted(named.items(), key=lambda item: (item[1].made["at"], item[0])))


def _dated(evaluation: Evaluation, manifest: Path, content: Mapping[str, Any]) -> Evaluation:
    """With a time, if it was saved before there was one."""
    if evaluation.made.get("at"):
        return evaluation
    at = datetime.fromtimestamp(manifest.stat().st_mtime, UTC).isoformat(timespec="milliseconds")
    return dataclasses.replace(evaluation, made={"at": at, "formlab": str(content.get("formlab"))})


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


def history(
    evaluations: Mapping[str, Evaluation] | Sequence[Evaluation],
    *,
    metric: Sequence[str] = (),
    resamples: int = 1000,
    permutations: int = 9999,
    seed: int = 0,
) -> pl.DataFrame:
    """The scores of each run with intervals, and what changed since the run before.

    Parameters
    ----------
    evaluations
        In time order, by name or in a list, whose runs are numbered. Those of several corpora
        are grouped (`corpora`) and never compared.
    metric
        Metrics beside the share of fields right; the headline of each level if left out.
    resamples, permutations, seed
        As for `compare`.

    Returns
    -------
    polars.DataFrame
        A row for each run and metric, the schema HISTORY. `metric` ``outcome`` is the share of
        gold values right, in [0, 1]; its rows stand first and alone have `fixed` and `broken`,
        the gold values that are right in one of two neighbouring runs, with the kinds that most
        are of. `difference` is this run less the one before, over what both were scored on, with
        a 95 % interval. `verdict` is ``better`` or ``worse`` where `p_adjusted` is at most 0.05,
        the interval is clear of 0 and no reading rule says otherwise; ``not shown`` where none of
        it is; ``identical`` where every answer is the same; ``not comparable`` with the reason in
        `note`; null for a first run. The last run was looked at first: it is adjusted after Holm
        over its metrics, all earlier runs over theirs together. `changed` names the settings and
        versions that differ from the run before.

    Raises
    ------
    DataMissing
        If there is no evaluation.
    UnknownName
        If a metric is not registered.

    Examples
    --------
    >>> from formlab import analysis
    >>> few = {"resamples": 99, "permutations": 99}
    >>> runs = history(analysis.open_compared(), metric=["cer"], **few)
    >>> runs.filter(metric="outcome").select("run", "verdict", "fixed", "broken").rows()
    [('run 1', None, None, None), ('run 2', 'not shown', 17, 21)]
    """
    if not isinstance(evaluations, Mapping):
        evaluations = {f"run {number}": each for number, each in enumerate(evaluations, start=1)}
    if not evaluations:
        raise DataMissing("there is no evaluation", remedy="formlab score … --out FOLDER")
    for name in metric:
        metrics.get(metrics.plain(name))
    draws = {"resamples": resamples, "permutations": permutations, "seed": seed}
    rows = []
    for corpus, runs in corpora(evaluations).items():
        own = [
            row | {"corpus": corpus, "run": name}
            for name, (before, each) in zip(runs, _neighbours(list(runs.values())), strict=True)
            for row in _rows(before, each, metric, draws)
        ]
        rows += _judged(own, last=list(runs)[-1])
    return pl.DataFrame([{n: row.get(n) for n in HISTORY} for row in rows], schema=HISTORY)


def _neighbours(runs: list[Evaluation]) -> Iterator[tuple[Evaluation | None, Evaluation]]:
    """Each run with the one before it."""
    return zip([None, *runs], runs, strict=False)


def _rows(
    before: Evaluation | None, each: Evaluation, chosen: Sequence[str], draws: Draws
) -> Iterator[dict[str, Any]]:
    """The scores of one run, with the tests against the run before."""
    scores, tested, more = list(_scores(each, chosen, draws)), {}, {}
    if before is not None:
        more["changed"] = _changes(before, each)
        try:
            tested = _tested(before, each, scores, draws)
        except DataBroken as error:
            more |= {"verdict": INCOMPARABLE, "note": error.what}
    for row in scores:
        test = tested.get((row["metric"], row["level"]), {})
        if before is not None and not test and "verdict" not in more:
            test = {"verdict": INCOMPARABLE, "note": "the run before was not scored by it"}
        yield row | more | test | {"at": each.made.get("at"), "system": each.system}


def _scores(each: Evaluation, chosen: Sequence[str], draws: Draws) -> Iterator[dict[str, Any]]:
    """The share of gold values right and the metrics of one run, each with its interval."""
    cases = _of_gold(each).fields
    if cases.height:
        codes = {doc: number for number, doc in enumerate(each.documents["doc_id"])}
        number = cases["doc_id"].replace_strict(codes, return_dtype=pl.Int64).to_numpy()
        right = (cases["outcome"] == "match").cast(pl.Float64).to_numpy()
        parts = by_document(number, [right, np.ones(len(right))], len(codes))
        low = high = NAN
        if draws["resamples"] and len(codes) > 1:
            drawn = drawn_sums(parts, resamples=draws["resamples"], seed=draws["seed"])
            low, high = percentiles(ratio(drawn), 0.95)
        yield {
            "metric": OUTCOME, "level": "field", "value": float(right.mean()), "ci_low": low,
            "ci_high": high, "n_docs": cases["doc_id"].n_unique(), "n_cases": cases.height,
        }  # fmt: skip
    summary = summarise(each, resamples=draws["resamples"], seed=draws["seed"])
    for row in tables.only(summary, slice_by=None).to_dicts():
        if row["metric"] in chosen or (not chosen and (row["metric"], row["level"]) in _HEADLINES):
            yield {name: row[name] for name in HISTORY if name in row}


def _of_gold(each: Evaluation) -> Evaluation:
    """Without what no gold asks for, so that runs are over the same fields."""
    cases = each.cases.filter(
        pl.col("level").is_in(tables.WHOLE_LEVELS)
        | (pl.col("gold").is_not_null() & (pl.col("outcome") != "unscored"))
    )
    return dataclasses.replace(each, cases=cases)


def _tested(
    before: Evaluation, each: Evaluation, scores: Sequence[Mapping[str, Any]], draws: Draws
) -> dict[tuple[str, str], dict[str, Any]]:
    """The difference of each score from that of the run before, with its test."""
    pair = common([before, each]).evaluations
    same = identical(*pair)
    tests = {}
    fields = flips(*map(_of_gold, pair))
    if fields.height:
        row = flip_matrix(fields, pair[0].documents, **draws).to_dicts()[0]
        p, _ = surest_p(*map(_of_gold, pair), row, draws)
        counts = {"fixed": row["only_b"], "broken": row["only_a"]}
        kinds = {
            f"{name}_kinds": _kinds(fields.filter(flip=flip))
            for name, flip in (("fixed", "only b"), ("broken", "only a"))
        }
        tests[OUTCOME, "field"] = _test(row | {"p": p}, same=same) | counts | kinds
    scored = set(pair[0].scores["metric"])
    names = dict.fromkeys(row["metric"] for row in scores)
    if names := [name for name in names if metrics.plain(name) in scored]:
        for row in tables.only(_compared(pair, names, draws), slice_by=None).to_dicts():
            tests[row["metric"], row["level"]] = _test(row, same=same)
    return tests


def _compared(pair: Sequence[Evaluation], names: Sequence[str], draws: Draws) -> pl.DataFrame:
    """As by `compare`; under other reading rules only where a difference is shown by one."""
    # Scoring again takes longer than all else, and without what was scored there is nothing to.
    once = [dataclasses.replace(each, corpus=None, predictions=None) for each in pair]
    table = compare(once, metric=names, **draws)
    return compare(pair, metric=names, **draws) if table["better"].count() else table


def _test(row: Mapping[str, Any], *, same: bool) -> dict[str, Any]:
    kept = {name: row[name] for name in ("difference", "p", "least_difference")}
    ends = {"difference_low": row["ci_low"], "difference_high": row["ci_high"]}
    return kept | ends | {"verdict": SAME if same else None, "rules": row["rules"]}


def _kinds(rows: pl.DataFrame) -> str | None:
    """The kinds that most of the fields are of, with counts."""
    counts = (
        rows["kind"].drop_nulls().value_counts().sort(["count", "kind"], descending=[True, False])
    )
    return ", ".join(f"{kind} {count}" for kind, count in counts.head(_KINDS).iter_rows()) or None


def _judged(rows: list[dict[str, Any]], *, last: str) -> list[dict[str, Any]]:
    """The rows with adjusted p and their verdicts."""
    for newest in (True, False):
        family = [row for row in rows if (row["run"] == last) == newest and "p" in row]
        for row, p in zip(family, adjusted_p([row["p"] for row in family]), strict=True):
            row["p_adjusted"] = float(p)
            row["verdict"] = row["verdict"] or _verdict(row)
    return rows


def _verdict(row: Mapping[str, Any]) -> str:
    clear = row["difference_low"] > 0 or row["difference_high"] < 0
    if not (row["p_adjusted"] <= ALPHA and clear and row["rules"] != DEPENDS):
        return NOT_SHOWN
    name = row["metric"]
    up = name == OUTCOME or metrics.get(metrics.plain(name)).direction == "up"
    return BETTER if (row["difference"] > 0) == up else WORSE


def _changes(before: Evaluation, each: Evaluation) -> str | None:
    """The settings and versions that differ, as ``scale 1.0 → 2.0``."""
    old, new = ({"system": run.system, **_flat(run)} for run in (before, each))
    texts = [
        f"{name} {old.get(name, 'none')} → {new.get(name, 'none')}"
        for name in dict.fromkeys([*old, *new])
        if old.get(name) != new.get(name)
    ]
    return "; ".join(texts) or None


def _flat(run: Evaluation) -> dict[str, str]:
    own = dict(run.settings)
    inner = own.pop("system", None)
    versions = {"formlab": run.made["formlab"]} if "formlab" in run.made else {}
    return {n: str(v) for n, v in (own | dict(inner or {}) | versions).items()}
