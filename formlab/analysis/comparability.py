"""Whether evaluations can be compared, and what they have in common."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Callable, Sequence
from typing import NamedTuple

import polars as pl

from formlab.errors import DataBroken
from formlab.folders import Evaluation
from formlab.tables import WHOLE_LEVELS

KEY = ("doc_id", "task", "path", "turn")


class Common(NamedTuple):
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
    (first, *others), notes = named(evaluations), {}
    for other in others:
        _check_alike(first, other)
    first, *others = _shared_cases([first, *others], notes)
    for other in others:
        _check_gold(first, other)
    return Common(tuple(_shared_metrics([first, *others], notes)), notes)


def named(evaluations: Sequence[Evaluation]) -> list[Evaluation]:
    """The evaluations with systems of one name numbered, in their cases and scores as well."""
    counts, systems = Counter[str](), []
    for evaluation in evaluations:
        counts[evaluation.system] += 1
        if (number := counts[evaluation.system]) > 1:
            name = f"{evaluation.system} ({number})"
            tables = {
                table: lambda part, t=table, n=name: part.scan(t).with_columns(system=pl.lit(n))
                for table in ("cases", "scores")
            }
            evaluation = evaluation.changed(tables, system=name)
        systems.append(evaluation)
    return systems


def of_gold() -> pl.Expr:
    """Whether a case is a value or question of the gold that was scored: what a share is taken of.

    What nobody asked for is counted by `spurious_rate` alone, so that the share of values right of
    a system is the same beside any other.
    """
    return pl.col("gold").is_not_null() & (pl.col("outcome") != "unscored")


def with_turns(cases: pl.DataFrame) -> pl.DataFrame:
    """Cases with `turn`, which counts those at the same path in the order of their gold.

    So the same gold has the same `KEY` in every evaluation.
    """
    claimed = pl.col("gold").is_null()
    place = ["doc_id", "task", "path", claimed]
    turn = pl.lit(1, pl.Int64)
    # Few cases, if any, share a place: ranks within places take long.
    if cases.select(*place[:3], claimed.alias("claimed")).is_duplicated().any():
        turn = pl.struct("gold", "gold_origin", "pred").rank("ordinal").cast(pl.Int64).over(*place)
    return cases.with_columns(turn=pl.when(claimed).then(-turn).otherwise(turn))


def scored_metrics(evaluation: Evaluation) -> set[tuple[str, str]]:
    """The metrics of an evaluation's scores, each with a level that it is of."""
    pairs = evaluation.gathered(lambda of: of.select("metric", "level").unique(), "scores")
    return set(pairs.rows())


def same_rows(
    first: Evaluation, second: Evaluation, read: Callable[[Evaluation], pl.DataFrame]
) -> bool:
    """Whether `read` takes the same rows of the parts of two evaluations, in whatever order.

    Compared are the sums of their hashes, of which one in 2^64 agrees by chance.
    """

    def summed(part: Evaluation) -> pl.DataFrame:
        hashes = read(part).hash_rows()
        return hashes.to_frame("hash").select(pl.len().cast(pl.UInt64), pl.col("hash").sum())

    return first.gathered(summed).sum().equals(second.gathered(summed).sum())


def _unlike(difference: str) -> DataBroken:
    remedy = "formlab score with the same files, --split, --mode and --documents for each"
    return DataBroken(f"these evaluations cannot be compared: {difference}", remedy=remedy)


def _check_alike(*pair: Evaluation) -> None:
    texts, (first, second) = [], pair
    for name in ("benchmark", "split", "mode", "threshold", "reader"):
        values = [getattr(of, name, of.settings.get(name)) for of in pair]
        if values[0] != values[1]:
            title = "reading rule" if name == "reader" else name
            of = f"{values[0]} in {first.system}, {values[1]} in {second.system}"
            texts.append(f"{title} is {of}")
    for system, other in (pair, pair[::-1]):
        if alone := {*system.document_names} - {*other.document_names}:
            count = f"{len(alone)} documents are only in {system.system}"
            texts.append(f"{count}, such as {min(alone)}")
    if texts:
        raise _unlike("; ".join(texts))


def _shared_cases(systems: list[Evaluation], notes: dict[str, int]) -> list[Evaluation]:
    """Cases of tasks and fields that every system was scored on, whole pages apart from fields."""
    group, is_page = ["task", "is_page"], pl.col("path").is_null().alias("is_page")
    scored, is_whole = pl.col("outcome") != "unscored", pl.col("level").is_in(WHOLE_LEVELS)
    counts = (
        system.scan("cases")
        .group_by("task", is_page)
        .agg(pl.len(), scored=scored.sum(), system=pl.lit(system.system))
        .collect()
        for system in systems
    )
    groups = pl.concat(counts).filter(pl.col("scored") > 0).group_by(group)
    groups = groups.agg("system", pl.max("len"))
    is_shared = pl.col("system").list.len() == len(systems)
    shared = groups.filter(is_shared).select(group)
    if not shared.height:
        raise _unlike("no task was scored for all of them")
    for task, of_pages, names, count in groups.filter(~is_shared).sort(group).iter_rows():
        part = "whole pages" if of_pages else "fields"
        notes[f"{part} of task {task}, scored for {', '.join(names)} only"] = count

    unscored = ~is_whole & ~scored & pl.col("gold").is_not_null()
    blind = pl.concat(
        system.gathered(lambda part: with_turns(part.cases).filter(unscored).select(*KEY, is_page))
        for system in systems
    )
    blind = blind.unique().join(shared, on=group, how="semi")
    if blind.height:
        notes["fields that could not be scored for every system"] = blind.height

    def cut(part: Evaluation) -> Evaluation:
        cases, place = with_turns(part.cases).with_columns(is_page), ["doc_id", "path"]
        cases = cases.join(shared, on=group, how="semi", maintain_order="left")
        cases = cases.join(blind, on=KEY, how="anti", maintain_order="left")
        left = cases.filter(~is_whole)
        gone = part.fields.join(left, on=place, how="anti").select(place).unique()
        scores = part.scores.join(gone, on=place, how="anti", maintain_order="left")
        return dataclasses.replace(part, cases=cases.drop("turn", "is_page"), scores=scores)

    return [system.mapped(cut) for system in systems] if notes else systems


def _gold(part: Evaluation) -> pl.DataFrame:
    accepted = pl.col("accepted").list.join("\x1f").fill_null("")
    cases = part.cases.filter(pl.col("level") != "node", pl.col("gold").is_not_null())
    # Gold beside which a model gave two values is one gold.
    return with_turns(cases).filter(turn=1).select(*KEY, "gold", accepted)


def _check_gold(*pair: Evaluation) -> None:
    """The gold of fields and pages is the same; nodes of trees follow from it."""
    if same_rows(*pair, _gold):
        return
    first, second = (system.gathered(_gold) for system in pair)
    odd = first.join(second, on=KEY, how="full", coalesce=True, nulls_equal=True, suffix="_other")
    same = (pl.col(name).eq_missing(pl.col(f"{name}_other")) for name in ("gold", "accepted"))
    odd = odd.filter(~pl.all_horizontal(same)).sort(KEY, nulls_last=True)
    doc, path, *texts = odd.select("doc_id", "path", "gold", "gold_other").row(0)
    texts = ["nothing" if text is None else repr(text[:40]) for text in texts]
    raise _unlike(
        f"the gold of {odd.height} cases differs between {pair[0].system} and {pair[1].system}, "
        f"first {doc} {path or '(whole page)'}: {' against '.join(texts)}"
    )


def _shared_metrics(systems: list[Evaluation], notes: dict[str, int]) -> list[Evaluation]:
    key, scored = ["metric", "level"], [scored_metrics(system) for system in systems]
    shared = set.intersection(*scored)
    if not (odd := sorted({metric for metric, _ in set.union(*scored) - shared})):
        return systems
    notes[f"metrics not scored for every system: {', '.join(odd)}"] = len(odd)
    rows = pl.LazyFrame(sorted(shared), schema=key, orient="row")

    def scores(part: Evaluation) -> pl.LazyFrame:
        return part.scan("scores").join(rows, on=key, how="semi", maintain_order="left")

    return [system.changed({"scores": scores}) for system in systems]
