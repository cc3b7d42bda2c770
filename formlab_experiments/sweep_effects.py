"""What each setting of a sweep does to the answers, with the fields behind it."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations, product
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from formlab import systems
from formlab.analysis.finding import ALPHA, OUTCOME, Finding, keys, origin, p_text, points
from formlab.errors import DataBroken
from formlab.folders import Evaluation
from formlab_experiments.effects import TIMES, effects, judged_fields
from formlab_experiments.sweeps import Plan

# What a field is called in every run: the turn is for paths that stand in the gold repeatedly.
KEY = ("doc_id", "task", "level", "path", "turn")
GAINED, LOST = "gained", "lost"


def swept_settings(evaluations: Sequence[Evaluation]) -> dict[str, list[str]]:
    """The settings in which runs of one system differ, with their values in order of the runs.

    Parameters
    ----------
    evaluations
        As from `sweep` or `open_sweep`, or any of one system on the same documents.

    Returns
    -------
    dict
        By setting its values, as a user types them.

    Examples
    --------
    >>> from formlab import analysis
    >>> swept_settings(analysis.open_compared([], changes=[{}, {"scale": 2.0}]))
    {'scale': ['1.0', '2.0']}
    """
    runs = [_settings(evaluation) for evaluation in evaluations]
    values = {name: list(dict.fromkeys(run.get(name, "") for run in runs)) for name in runs[0]}
    return {name: texts for name, texts in values.items() if len(texts) > 1}


def _settings(evaluation: Evaluation) -> dict[str, str]:
    return {n: systems.setting_text(v) for n, v in evaluation.predictions.settings.items()}


def swept_fields(evaluations: Sequence[Evaluation]) -> pl.DataFrame:
    """Every field with gold as each run read it, with the settings of the run.

    Parameters
    ----------
    evaluations
        As for `swept_settings`.

    Returns
    -------
    polars.DataFrame
        As from `judged_fields`; `turn`, which counts equal paths of a document; `run`, the number
        of the run from 0; and a column for each setting that was swept, as a user types it.
    """
    names = swept_settings(evaluations)
    tables = []
    for number, evaluation in enumerate(evaluations):
        columns = {name: pl.lit(_settings(evaluation).get(name, "")) for name in names}
        fields = judged_fields(evaluation)
        turn = pl.int_range(pl.len()).over(*KEY[:-1])
        tables.append(fields.with_columns(**columns, turn=turn, run=pl.lit(number, pl.Int64)))
    return pl.concat(tables, how="diagonal_relaxed")


def setting_effects(evaluations: Sequence[Evaluation], *, level: float = 0.95) -> pl.DataFrame:
    """What each setting does to the share of fields that are right, on the same pages.

    Parameters
    ----------
    evaluations
        As for `swept_settings`; the first has the settings that the others are compared with.
    level
        Of the intervals, in (0, 1).

    Returns
    -------
    polars.DataFrame
        The rows of `effects` (unit: pages) with `setting`, term and value as in ``angle=off``, and
        `gained` and `lost`: the fields that are right more often or less often than with the first
        value, all other settings the same; of two settings, than each by itself lets expect.
        They are null where no two runs differ in this setting alone. Interactions are there if the
        runs have all combinations of two settings.

    Raises
    ------
    DataBroken
        If the runs differ in no setting.
    """
    levels = _levels(evaluations)
    fields = swept_fields(evaluations)
    plan = _plan(fields, levels)
    pairs = any(
        len({(run[a], run[b]) for run in plan}) == len(levels[a]) * len(levels[b])
        for a, b in combinations(levels, 2)
    )
    table = effects(fields, levels, interactions=pairs, level=level)
    named = [_setting(*row) for row in table.select("term", "value").rows()]
    table = table.insert_column(0, pl.Series("setting", named))
    counts = (
        changed_fields(evaluations)
        .group_by("setting")
        .agg(
            (pl.col("change") == change).sum().cast(pl.Int64).alias(change)
            for change in (GAINED, LOST)
        )
    )
    paired = [
        _setting(TIMES.join(names), TIMES.join(values))
        for names, values in _contrasts(levels)
        if _pairs(plan, levels, dict(zip(names, values, strict=True)))
    ]
    return table.join(counts, on="setting", how="left", maintain_order="left").with_columns(
        pl.when(pl.col("setting").is_in(paired)).then(pl.col(change).fill_null(0))
        for change in (GAINED, LOST)
    )


def _levels(evaluations: Sequence[Evaluation]) -> dict[str, list[str]]:
    if levels := swept_settings(evaluations):
        return levels
    names = ", ".join(evaluation.system for evaluation in evaluations)
    raise DataBroken(f"the runs differ in no setting: {names}", remedy="formlab sweep")


def _plan(fields: pl.DataFrame, levels: Mapping[str, Sequence[str]]) -> Plan:
    """The settings of each run, by the number of the run."""
    return fields.group_by("run").agg(pl.col(*levels).first()).sort("run").drop("run").to_dicts()


def changed_fields(evaluations: Sequence[Evaluation]) -> pl.DataFrame:
    """The fields behind the effects of settings: which are gained and lost, and in which runs.

    Parameters
    ----------
    evaluations
        As for `swept_settings`.

    Returns
    -------
    polars.DataFrame
        `setting` as in `setting_effects`; the key of the field (`doc_id`, `task`, `level`,
        `path`, `turn`); `change`, ``gained`` or ``lost``; `run_a` and `run_b`, the runs without and
        with the value in which the change is largest, the first of equal ones.
    """
    levels, fields = _levels(evaluations), swept_fields(evaluations)
    plan = _plan(fields, levels)
    wide = fields.with_columns(pl.col("right").cast(pl.Float64)).pivot(
        "run", index=KEY, values="right", sort_columns=False
    )
    rights = wide.select(map(str, range(len(plan)))).to_numpy().astype(float)
    numbers = {"run_a": pl.Int64, "run_b": pl.Int64}
    schema = {"setting": pl.String, **wide.select(KEY).schema, "change": pl.String, **numbers}
    parts = [pl.DataFrame(schema=schema)]
    for names, values in _contrasts(levels):
        found = _pairs(plan, levels, dict(zip(names, values, strict=True)))
        if not found:
            continue
        differences = rights @ np.stack([pair.weights for pair in found], axis=1)
        total = np.nansum(differences, axis=1)
        rows = np.flatnonzero(total)
        best = np.argmax(np.nan_to_num(differences[rows]) * np.sign(total[rows])[:, None], axis=1)
        parts.append(
            wide[rows].select(
                *KEY,
                setting=pl.lit(_setting(TIMES.join(names), TIMES.join(values))),
                change=pl.Series(np.where(total[rows] > 0, GAINED, LOST)),
                run_a=pl.Series(np.array([pair.first for pair in found])[best]),
                run_b=pl.Series(np.array([pair.changed for pair in found])[best]),
            )
        )  # fmt: skip
    return pl.concat(part.select(*schema) for part in parts)


def _contrasts(
    levels: Mapping[str, Sequence[str]],
) -> Iterator[tuple[tuple[str, ...], tuple[str, ...]]]:
    """Each setting and each pair with their values, none of them the first."""
    for names in [*combinations(levels, 1), *combinations(levels, 2)]:
        yield from ((names, values) for values in product(*(levels[n][1:] for n in names)))


class _Pair(NamedTuple):
    """Two runs and the weights of all runs in a contrast, the settings beside it all the same."""

    first: int
    changed: int
    weights: np.ndarray


def _pairs(plan: Plan, levels: Mapping[str, Sequence[str]], chosen: dict[str, str]) -> list[_Pair]:
    """The contrasts of these values with the first, for each value of the other settings."""
    numbers = {tuple(run.values()): number for number, run in enumerate(plan)}
    pairs = []
    for run in plan:
        if any(run[name] != value for name, value in chosen.items()):
            continue
        # With each of the chosen settings at its first value or not: their signs alternate.
        corners = [
            (run | {name: levels[name][0] for name in some}, (-1) ** count)
            for count in range(len(chosen) + 1)
            for some in combinations(chosen, count)
        ]
        places = [numbers.get(tuple(corner.values())) for corner, _ in corners]
        if None not in places:
            weights = np.zeros(len(plan))
            np.add.at(weights, places, [sign for _, sign in corners])
            pairs.append(_Pair(places[-1], places[0], weights))
    return pairs


def settings_findings(
    evaluations: Sequence[Evaluation], table: pl.DataFrame, *, alpha: float = ALPHA
) -> list[Finding]:
    """What a sweep shows, a sentence for each value of each setting and each interaction.

    Parameters
    ----------
    evaluations
        As for `swept_settings`.
    table
        As from `setting_effects`.
    alpha
        A finding holds if its p, adjusted for all rows, is at most this.

    Returns
    -------
    list of Finding
        Those that hold stand first, larger effects before smaller; the fields behind each are those
        of `changed_fields`.
    """
    firsts = {name: values[0] for name, values in _levels(evaluations).items()}
    behind = changed_fields(evaluations)
    tested = table.filter(pl.col("p").is_not_nan())
    systems_of = ", ".join(evaluation.system for evaluation in evaluations)
    findings = []
    for row in tested.sort(pl.col("difference").abs(), descending=True).to_dicts():
        cases = behind.filter(setting=row["setting"])
        holds = row["p_adjusted"] <= alpha
        findings.append(Finding(
            _claim(row, firsts, holds=holds, count=tested.height), "systems", holds=holds,
            effect=row["difference"], ci_low=row["ci_low"], ci_high=row["ci_high"], p=row["p"],
            p_adjusted=row["p_adjusted"], n_tested=tested.height, n_docs=row["n_units"],
            n_cases=cases.height, metric=OUTCOME, cases=keys(cases),
            **origin(evaluations[0]) | {"system": systems_of},
        ))  # fmt: skip
    return sorted(findings, key=lambda finding: not finding.holds)


def _claim(row: dict[str, Any], firsts: dict[str, str], *, holds: bool, count: int) -> str:
    what, name = row["setting"], row["term"]
    is_pair = name not in firsts
    first = "the two by themselves let expect" if is_pair else f"{name}={firsts[name]}"
    edges = f"{points(row['ci_low'])} to {points(row['ci_high'])}"
    tests = f"{p_text(row['p_adjusted'])}, adjusted for {count} test{'s' * (count > 1)}"
    fields = f"{row['n_units']:,} pages"
    if row[GAINED] is not None:
        fields = f"{row[GAINED]:,} fields gained, {row[LOST]:,} lost on {fields}"
    effect = f"{points(row['difference'])} points, 95 % interval {edges}; {fields}; {tests}"
    if not holds:
        return f"No difference was shown between {what} and {first} ({effect})"
    more = "more" if row["difference"] > 0 else "fewer"
    with_first = first if is_pair else f"with {first}"
    return f"With {what}, {more} fields are right than {with_first} ({effect})"


def _setting(term: str, value: str) -> str:
    """A row of `effects` as one types its settings."""
    pairs = zip(term.split(TIMES), value.split(TIMES), strict=True)
    return " with ".join(f"{name}={text}" for name, text in pairs)
