"""Whether evaluations can be compared, and what they have in common."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Callable, Sequence

import polars as pl

from formlab.errors import DataBroken
from formlab.folders import Evaluation
from formlab.tables import WHOLE_LEVELS

KEY = ("doc_id", "task", "path", "turn")
_SETTINGS = {"threshold": "threshold", "reading rule": "reader"}
_REMEDY = "formlab score with the same files, --split, --mode and --documents for each"


@dataclasses.dataclass(frozen=True)
class Common:
    """Evaluations cut to what all of them were scored on; `notes` counts what was left out."""

    evaluations: tuple[Evaluation, ...]
    notes: dict[str, int]


def common(evaluations: Sequence[Evaluation]) -> Common:
    """Each evaluation cut to what can be compared with the others.

    Tasks, metrics and fields that only some systems were scored on are left out and counted in
    `notes`. A document without an answer stays: it counts as nothing found. Systems of one name
    are numbered: ``ocr``, ``ocr (2)``.

    Raises `DataBroken` if there are fewer than two, or they differ in benchmark, split, mode,
    threshold, reading rule, documents or gold; the message names what differs.
    """
    if len(evaluations) < 2:
        remedy = "formlab compare EVAL_A EVAL_B"
        raise DataBroken("a comparison takes two evaluations or more", remedy=remedy)
    systems, notes = named(evaluations), Counter[str]()
    for other in systems[1:]:
        _check_alike(systems[0], other)
    systems = _shared_cases(systems, notes)
    for other in systems[1:]:
        _check_gold(systems[0], other)
    systems = _shared_metrics(systems, notes)
    return Common(tuple(systems), dict(notes))


def fields(evaluation: Evaluation) -> pl.DataFrame:
    """The cases of fields and questions, no whole pages or nodes of trees, with `turn`.

    `turn` counts cases at the same path of a document in the order of their gold, so that the same
    gold has the same key in every evaluation.
    """
    return _with_turns(evaluation.fields)


def of_gold() -> pl.Expr:
    """Whether a case is a value or question of the gold that was scored: what a share is taken of.

    What nobody asked for is counted by `spurious_rate` alone, so that the share of values right of
    a system is the same beside any other.
    """
    return pl.col("gold").is_not_null() & (pl.col("outcome") != "unscored")


def _with_turns(cases: pl.DataFrame) -> pl.DataFrame:
    claimed = pl.col("gold").is_null()
    place = ["doc_id", "task", "path", claimed]
    turn = pl.lit(1, pl.Int64)
    # Few cases, if any, share a place: ranks within places take long.
    if cases.select(*place[:3], claimed.alias("claimed")).is_duplicated().any():
        turn = pl.struct("gold", "gold_origin", "pred").rank("ordinal").cast(pl.Int64).over(*place)
    return cases.with_columns(turn=pl.when(claimed).then(-turn).otherwise(turn))


def named(evaluations: Sequence[Evaluation]) -> list[Evaluation]:
    """The evaluations with systems of one name numbered, in their cases and scores as well."""
    counts, systems = Counter[str](), []
    for evaluation in evaluations:
        counts[evaluation.system] += 1
        if (number := counts[evaluation.system]) > 1:
            name = f"{evaluation.system} ({number})"
            column = pl.lit(name).alias("system")
            tables = {
                table: lambda part, t=table, c=column: getattr(part, t).with_columns(c)
                for table in ("cases", "scores")
            }
            evaluation = evaluation.changed(tables, system=name)
        systems.append(evaluation)
    return systems


def scored_metrics(evaluation: Evaluation) -> set[str]:
    """The metrics of an evaluation's scores."""
    return set(evaluation.gathered(lambda part: part.scores.select("metric").unique())["metric"])


def digests(evaluation: Evaluation, read: Callable[[Evaluation], pl.DataFrame]) -> pl.DataFrame:
    """For each document how many rows `read` takes of its part, and the sum of their hashes.

    Documents of two evaluations that agree in both have the same rows, in whatever order; that
    others agree by chance has a probability of 1 in 2^64.
    """

    def summed(part: Evaluation) -> pl.DataFrame:
        rows = read(part)
        hashed = rows.select("doc_id", rows.hash_rows().alias("hash"))
        return hashed.group_by("doc_id").agg(pl.len(), pl.col("hash").sum())

    return evaluation.gathered(summed).sort("doc_id")


def _unlike(difference: str) -> DataBroken:
    return DataBroken(f"these evaluations cannot be compared: {difference}", remedy=_REMEDY)


def _check_alike(first: Evaluation, other: Evaluation) -> None:
    facts = []
    for evaluation in (first, other):
        settings = {name: evaluation.settings.get(key) for name, key in _SETTINGS.items()}
        origin = {name: getattr(evaluation, name) for name in ("benchmark", "split", "mode")}
        facts.append(origin | settings)
    texts = [
        f"{name} is {value} in {first.system}, {facts[1][name]} in {other.system}"
        for name, value in facts[0].items()
        if value != facts[1][name]
    ]
    names, others = set(first.document_names), set(other.document_names)
    for system, alone in ((first.system, names - others), (other.system, others - names)):
        if alone:
            texts.append(f"{len(alone)} documents are only in {system}, such as {min(alone)}")
    if texts:
        raise _unlike("; ".join(texts))


def _shared_cases(evaluations: list[Evaluation], notes: Counter[str]) -> list[Evaluation]:
    """Cases of tasks and fields that every system was scored on, whole pages apart from fields."""
    task, scored = ["task", "is_page"], pl.col("outcome") != "unscored"
    is_page = pl.col("path").is_null().alias("is_page")

    def counted(part: Evaluation) -> pl.DataFrame:
        rows = part.cases.group_by("task", is_page).agg(pl.len(), scored=scored.any())
        return rows.with_columns(system=pl.lit(part.system))

    counts = pl.concat(evaluation.gathered(counted) for evaluation in evaluations)
    counts = counts.group_by(*task, "system", maintain_order=True).agg(
        pl.col("len").sum(), pl.any("scored")
    )
    groups = counts.filter("scored").group_by(task).agg("system", pl.col("len").max())
    is_shared = pl.col("system").list.len() == len(evaluations)
    shared = groups.filter(is_shared).select(task)
    if not shared.height:
        raise _unlike("no task was scored for all of them")
    for name, whole, systems, count in groups.filter(~is_shared).sort(task).iter_rows():
        part = "whole pages" if whole else "fields"
        notes[f"{part} of task {name}, scored for {', '.join(systems)} only"] = count

    def shared_cases(part: Evaluation) -> pl.DataFrame:
        cases = _with_turns(part.cases).with_columns(is_page)
        return cases.join(shared, on=task, how="semi", maintain_order="left").drop("is_page")

    unscored = ~pl.col("level").is_in(WHOLE_LEVELS) & ~scored & pl.col("gold").is_not_null()
    blind = pl.concat(
        evaluation.gathered(lambda part: shared_cases(part).filter(unscored).select(KEY))
        for evaluation in evaluations
    ).unique()
    if blind.height:
        notes["fields that could not be scored for every system"] = blind.height

    def cases(part: Evaluation) -> pl.DataFrame:
        rows = shared_cases(part).join(blind, on=KEY, how="anti", maintain_order="left")
        return rows.drop("turn")

    def scores(part: Evaluation) -> pl.DataFrame:
        key, is_field = ["doc_id", "path"], ~pl.col("level").is_in(WHOLE_LEVELS)
        rest = cases(part).filter(is_field).select(key)
        gone = part.fields.select(key).join(rest, on=key, how="anti").unique()
        return part.scores.join(gone, on=key, how="anti", maintain_order="left")

    if groups.height == shared.height and not blind.height:
        return evaluations
    return [evaluation.changed({"cases": cases, "scores": scores}) for evaluation in evaluations]


def _gold(part: Evaluation) -> pl.DataFrame:
    accepted = pl.col("accepted").list.join("\x1f").fill_null("").alias("accepted")
    cases = part.cases.filter(pl.col("level") != "node", pl.col("gold").is_not_null())
    # Gold beside which a model gave two values is one gold.
    return _with_turns(cases).filter(turn=1).select(*KEY, "gold", accepted)


def _check_gold(first: Evaluation, other: Evaluation) -> None:
    """The gold of fields and pages is the same; nodes of trees follow from it."""
    sums = [set(digests(evaluation, _gold).rows()) for evaluation in (first, other)]
    if not (unlike := [doc_id for doc_id, *_ in sums[0] ^ sums[1]]):
        return
    golds = [
        evaluation.gathered(lambda part: _gold(part).filter(pl.col("doc_id").is_in(unlike)))
        for evaluation in (first, other)
    ]
    odd = golds[0].join(
        golds[1], on=KEY, how="full", coalesce=True, nulls_equal=True, suffix="_other"
    )
    same = (pl.col(name).eq_missing(pl.col(f"{name}_other")) for name in ("gold", "accepted"))
    odd = odd.filter(~pl.all_horizontal(same)).sort(KEY, nulls_last=True)
    for row in odd.head(1).iter_rows(named=True):
        texts = [row["gold"], row["gold_other"]]
        texts = ["nothing" if text is None else repr(text[:40]) for text in texts]
        place = f"{row['doc_id']} {row['path'] or '(whole page)'}"
        raise _unlike(
            f"the gold of {odd.height} cases differs between {first.system} and "
            f"{other.system}, first {place}: {' against '.join(texts)}"
        )


def _shared_metrics(evaluations: list[Evaluation], notes: Counter[str]) -> list[Evaluation]:
    """Scores by metrics that every system has."""
    key = ["metric", "level"]
    made = [
        set(evaluation.gathered(lambda part: part.scores.select(key).unique()).rows())
        for evaluation in evaluations
    ]
    shared = set.intersection(*made)
    if odd := sorted({metric for metric, _ in set.union(*made) - shared}):
        notes[f"metrics not scored for every system: {', '.join(odd)}"] = len(odd)
    rows = pl.DataFrame(sorted(shared), schema=dict.fromkeys(key, pl.String), orient="row")

    def scores(part: Evaluation) -> pl.DataFrame:
        return part.scores.join(rows, on=key, how="semi", maintain_order="left")

    return [
        evaluation if metrics == shared else evaluation.changed({"scores": scores})
        for evaluation, metrics in zip(evaluations, made, strict=True)
    ]
