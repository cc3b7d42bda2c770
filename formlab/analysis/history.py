"""Evaluations of one corpus in time order: scores per run, and what changed from run to run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from formlab import metrics, tables
from formlab.analysis.comparability import common, scored_metrics
from formlab.analysis.compare import compare, values_compared
from formlab.analysis.finding import OUTCOME, Finding, by_text, keys, p_text, seen_text
from formlab.analysis.flips import flips, flips_of_common
from formlab.analysis.history_folders import corpora
from formlab.analysis.levels import MEASURES
from formlab.analysis.summarise import summarise
from formlab.analysis.verdicts import identical, shown_kinds, values_right
from formlab.errors import DataBroken, DataMissing
from formlab.folders import Evaluation
from formlab.stats.tests import ALPHA, adjusted_p, documents_needed, holds

NAN = float("nan")
BETTER, WORSE, NOT_SHOWN = "better", "worse", "not shown"
SAME, INCOMPARABLE = "identical", "not comparable"
# A kind of values on which a difference was shown.
_OF_KIND = ("difference", "ci_low", "ci_high", "p", "p_holm")
KIND = pl.Struct(
    {"kind": pl.String, **dict.fromkeys(_OF_KIND, pl.Float64)}
    | dict.fromkeys(("n_docs", "n_cases"), pl.Int64)
)
HISTORY: dict[str, Any] = {
    "corpus": pl.String, "run": pl.String, "at": pl.String, "system": pl.String,
    "metric": pl.String, "level": pl.String, "value": pl.Float64, "ci_low": pl.Float64,
    "ci_high": pl.Float64, "verdict": pl.String, "difference": pl.Float64,
    "difference_low": pl.Float64, "difference_high": pl.Float64, "p": pl.Float64,
    "p_adjusted": pl.Float64, "least_difference": pl.Float64, "fixed": pl.Int64,
    "broken": pl.Int64, "fixed_kinds": pl.String, "broken_kinds": pl.String,
    "kinds": pl.List(KIND), "changed": pl.String, "note": pl.String, "n_docs": pl.Int64,
    "n_cases": pl.Int64,
}  # fmt: skip
_KINDS = 3
# The share of values right comes first, and is not tested twice.
_HEADLINES = {(m.metric, m.of) for m in MEASURES if m.metric != "normalised_accuracy"}
_LOOK = "Look at the fields that broke."
Draws = dict[str, int]


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
        A row for each run and metric, the schema HISTORY. `metric` ``outcome`` is the share of gold
        values right, in [0, 1]; its rows stand first and alone have `fixed` and `broken`, the gold
        values that are right in one of two neighbouring runs, with the kinds that most are of, and
        `kinds`: up to three on which a difference was shown, tested as a family of their own beside
        all values. `difference` is by how much this run is better than the one before, over what
        both were scored on, with a 95 % interval. `verdict` is ``better`` or ``worse`` where
        `p_adjusted` is at most 0.05, the interval is clear of 0 and no reading rule says otherwise;
        ``not shown`` where none of it is; ``identical`` where every answer is the same; ``not
        comparable`` with the reason in `note`; null for a first run. The last run was looked at
        first: its p is that of `compare`; of each metric all earlier runs are adjusted together
        after Holm. `changed` names the settings and versions that differ from the run before.

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
    [('run 1', None, None, None), ('run 2', 'not shown', 15, 21)]
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
    if share := values_right(each, resamples=draws["resamples"], seed=draws["seed"]):
        yield share
    summary = summarise(each, resamples=draws["resamples"], seed=draws["seed"])
    for row in tables.only(summary, slice_by=None).to_dicts():
        if row["metric"] in chosen or (not chosen and (row["metric"], row["level"]) in _HEADLINES):
            yield {name: row[name] for name in HISTORY if name in row}


def _tested(
    before: Evaluation, each: Evaluation, scores: Sequence[Mapping[str, Any]], draws: Draws
) -> dict[tuple[str, str], dict[str, Any]]:
    """The difference of each score from that of the run before, with its test."""
    pair = common([each, before]).evaluations
    same = identical(*pair)
    tests = {}
    matrix = values_compared(pair, ["kind"], **draws)
    if matrix.height:
        fields = flips_of_common(*pair, columns=["kind", "flip"])
        row = matrix.row(0, named=True)
        counts = {"fixed": row["only_a"], "broken": row["only_b"]}
        kinds = {
            f"{name}_kinds": _kinds(fields.filter(flip=flip))
            for name, flip in (("fixed", "only a"), ("broken", "only b"))
        }
        kinds["kinds"] = [{"kind": of["slice_value"], **of} for of in shown_kinds(matrix)]
        tests[OUTCOME, "field"] = _test(row, same=same) | counts | kinds
    scored = scored_metrics(pair[0])
    names = dict.fromkeys(row["metric"] for row in scores)
    if names := [name for name in names if metrics.plain(name) in scored]:
        for row in tables.only(_compared(pair, names, draws), slice_by=None).to_dicts():
            tests[row["metric"], row["level"]] = _test(row, same=same)
    return tests


def _compared(pair: Sequence[Evaluation], names: Sequence[str], draws: Draws) -> pl.DataFrame:
    """As by `compare`; under other reading rules only where a difference is shown by one."""
    # Scoring again takes longer than all else, and without what was scored there is nothing to.
    once = [each.changed(corpus=None, predictions=None) for each in pair]
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
    families: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for row in rows:
        if "p" in row:
            key = row["metric"], row["level"], row["run"] == last
            families.setdefault(key, []).append(row)
    for family in families.values():
        for row, p in zip(family, adjusted_p([row["p"] for row in family]), strict=True):
            row["p_adjusted"] = float(p)
            if row["n_docs"] < documents_needed(ALPHA / len(family)):
                row["least_difference"] = NAN
            row["verdict"] = row["verdict"] or _verdict(row)
    return rows


def _verdict(row: Mapping[str, Any]) -> str:
    ends = row["difference_low"], row["difference_high"]
    if not holds(row["p_adjusted"], *ends, row["rules"]):
        return NOT_SHOWN
    return BETTER if row["difference"] > 0 else WORSE


def _changes(before: Evaluation, each: Evaluation) -> str | None:
    """The settings and versions that differ, as ``scale 1.0 → 2.0``."""
    # The settings that are not at their default stand in a system's name as well.
    old, new = ({"system": run.system.partition("(")[0], **_flat(run)} for run in (before, each))
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


def last_findings(evaluations: Mapping[str, Evaluation], table: pl.DataFrame) -> list[Finding]:
    """What the last run of one corpus changed, as findings that hold.

    Parameters
    ----------
    evaluations
        The runs of one corpus, two or more, as from `one_corpus`.
    table
        As from `history` of them.

    Returns
    -------
    list of Finding
        One for each metric that is better or worse, the share of values right first and kinds on
        which another difference was shown after it; none where nothing was shown.
    """
    if len(evaluations) < 2:
        return []
    before, last = list(evaluations.values())[-2:]
    rows = tables.only(table, run=list(evaluations)[-1])
    names = {"benchmark": last.benchmark, "split": last.split}
    names |= {"system": f"{before.system}, {last.system}"}
    found = []
    for row in rows.to_dicts():
        ends = {"ci_low": row["difference_low"], "ci_high": row["difference_high"]}
        tests = [(row["verdict"], f"in {_what(row)}", row | ends, row["p_adjusted"], None)]
        for kind in row["kinds"] or ():
            verdict = BETTER if kind["difference"] > 0 else WORSE
            tests.append((verdict, f"on {kind['kind']}", kind, kind["p_holm"], kind["kind"]))
        for verdict, of, test, p, kind in tests:
            if verdict not in (BETTER, WORSE):
                continue
            more: dict[str, Any] = {}
            if row["metric"] == OUTCOME:
                cases = flips(last, before).filter(pl.col("right_a") != pl.col("right_b"))
                cases = cases if kind is None else cases.filter(kind=kind)
                lost = row["broken"] if kind is None else verdict == WORSE
                more = {"cases": keys(cases), "what_to_try": _LOOK if lost else ""}
            more |= {name: test[name] for name in ("ci_low", "ci_high", "n_docs", "n_cases", "p")}
            claim = f"The last run is {verdict} than the one before {of}"
            found.append(Finding(
                claim, "systems", effect=test["difference"], p_adjusted=p, metric=row["metric"],
                **names, **more,
            ))  # fmt: skip
    return found


def last_sentence(table: pl.DataFrame) -> str:
    """Whether the last run is better, worse, or not shown to differ from the one before.

    `table` is from `history`, of one corpus.
    """
    runs = table["run"].unique(maintain_order=True).to_list()
    if len(runs) < 2:
        return f"There is one run, {runs[0]}: nothing to compare it with yet."
    rows = tables.only(table, run=runs[-1]).to_dicts()
    row, (before, last) = rows[0], runs[-2:]
    if row["verdict"] == INCOMPARABLE:
        return f"The last run ({last}) cannot be compared with {before}: {row['note']}."
    if row["verdict"] == SAME:
        return f"The last run ({last}) is identical to {before}: every answer is the same."
    say = f"better than {before}" if row["verdict"] == BETTER else f"worse than {before}"
    if row["verdict"] == NOT_SHOWN:
        say = f"not shown to differ from {before}"
    also = [
        f"it is {each['verdict']} in {_what(each)}"
        for each in rows[1:]
        if each["verdict"] in (BETTER, WORSE) and each["verdict"] != row["verdict"]
    ]
    kinds = [_on_kind(kind) for kind in row["kinds"] or ()]
    shown = [f"shown on {' and '.join(kinds)}"] if kinds else []
    overall = " overall" if kinds else ""
    ends = "; ".join(["", *shown, *also])
    return f"The last run ({last}) is {say} in {_what(row)}{overall}: {_by(row)}{ends}."


def _on_kind(kind: Mapping[str, Any]) -> str:
    return f"{kind['kind']}: {by_text(kind | {'metric': OUTCOME})}, {p_text(kind['p_holm'])}"


def _what(row: Mapping[str, Any]) -> str:
    if row["metric"] == OUTCOME:
        return "values right"
    return f"{metrics.title(row['metric'])} of {row['level']}s"


def _by(row: Mapping[str, Any]) -> str:
    counted = row["fixed"] is not None
    change = row | {"ci_low": row["difference_low"], "ci_high": row["difference_high"]}
    documents = f"{row['n_docs']:,} document{'s' * (row['n_docs'] != 1)}"
    texts = [by_text(change), f"{row['n_cases']:,} values in {documents}" if counted else documents]
    if not np.isnan(row["p_adjusted"]):
        texts.append(p_text(row["p_adjusted"]))
    if counted:
        texts.append(f"{row['fixed']:,} fixed and {row['broken']:,} broken")
    say = ", ".join(texts)
    if row["verdict"] != NOT_SHOWN:
        return say
    share = row["metric"] == OUTCOME
    least = row["least_difference"]
    return say + seen_text(row["difference"], least, share=share, n_docs=row["n_docs"])
