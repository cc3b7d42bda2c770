"""Whether evaluations can be compared, and what they have in common."""

import dataclasses
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

import polars as pl

from formlab.errors import DataBroken
from formlab.folders import Evaluation
from formlab.stats.sums import SLICE
from formlab.tables import WHOLE_LEVELS

KEY = ("doc_id", "task", "path", "turn")
ROW = ("metric", "average", *SLICE)


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

    def renamed(part: Evaluation, table: str, name: str) -> pl.LazyFrame:
        return part.scan(table).with_columns(system=pl.lit(name))

    for evaluation in evaluations:
        counts[evaluation.system] += 1
        if (number := counts[evaluation.system]) > 1:
            name = f"{evaluation.system} ({number})"
            changes = {of: partial(renamed, table=of, name=name) for of in ("cases", "scores")}
            evaluation = evaluation.changed(changes, system=name)
        systems.append(evaluation)
    return systems


def of_gold() -> pl.Expr:
    """Whether a case is a value or question of the gold that was scored: what a share is taken of.

    What nobody asked for is counted by `spurious_rate` alone, so that the share of values right of
    a system is the same beside any other.
    """
    return pl.col("gold").is_not_null() & (pl.col("outcome") != "unscored")


def with_turns(cases: pl.DataFrame) -> pl.DataFrame:
    """Cases with `turn`, which counts those at one path by their gold: one gold has one `KEY`."""
    claimed, turn = pl.col("gold").is_null(), pl.lit(1, pl.Int64)
    place = ["doc_id", "task", "path", claimed.alias("claimed")]
    # Few cases, if any, share a place: ranks within places take long.
    if cases.select(place).is_duplicated().any():
        turn = pl.struct("gold", "gold_origin", "pred").rank("ordinal").cast(pl.Int64).over(place)
    return cases.with_columns(turn=pl.when(claimed).then(-turn).otherwise(turn))


def scored_metrics(evaluation: Evaluation) -> set[tuple[str, str]]:
    """The metrics of an evaluation's scores, each with a level that it is of."""
    pairs = evaluation.gathered(lambda of: of.select("metric", "level").unique(), "scores")
    return set(pairs.rows())


def same_rows(first: Evaluation, second: Evaluation, read: Callable[..., pl.DataFrame]) -> bool:
    """Whether `read` takes the same rows of the parts of two evaluations, in whatever order."""

    # Sums of hashes, of which one in 2^64 agrees by chance.
    def summed(part: Evaluation) -> pl.DataFrame:
        hashes = read(part).hash_rows()
        return hashes.to_frame("hash").select(pl.len().cast(pl.UInt64), pl.col("hash").sum())

    return first.gathered(summed).sum().equals(second.gathered(summed).sum())


def _unlike(difference: str) -> DataBroken:
    remedy = "formlab score with the same files, --split, --mode and --documents for each"
    return DataBroken(f"these evaluations cannot be compared: {difference}", remedy=remedy)


def _check_alike(*pair: Evaluation) -> None:
    texts, titles = [], {"reader": "reading rule"}
    for name in ("benchmark", "split", "mode", "threshold", "reader"):
        values = [getattr(of, name, of.settings.get(name)) for of in pair]
        if values[0] != values[1]:
            both = ", ".join(f"{v} in {of.system}" for v, of in zip(values, pair, strict=True))
            texts.append(f"{titles.get(name, name)} is {both}")
    for one, other in (pair, pair[::-1]):
        if alone := {*one.document_names} - {*other.document_names}:
            texts.append(f"{len(alone)} documents are only in {one.system}, such as {min(alone)}")
    if texts:
        raise _unlike("; ".join(texts))


def _shared_cases(systems: list[Evaluation], notes: dict[str, int]) -> list[Evaluation]:
    """Cases of tasks and fields that every system was scored on, whole pages apart from fields."""
    group, is_page = ["task", "is_page"], pl.col("path").is_null().alias("is_page")
    scored, is_whole = pl.col("outcome") != "unscored", pl.col("level").is_in(WHOLE_LEVELS)
    cases = ((one.scan("cases"), pl.lit(one.system)) for one in systems)
    rows = pl.concat(of.select("task", is_page, scored, system=system) for of, system in cases)
    counts = rows.group_by(*group, "system", maintain_order=True).agg(pl.len(), pl.any("outcome"))
    groups = counts.filter("outcome").group_by(group).agg("system", pl.max("len")).collect()
    is_shared = pl.col("system").list.len() == len(systems)
    shared = groups.filter(is_shared).select(group)
    if not shared.height:
        raise _unlike("no task was scored for all of them")
    for task, of_pages, names, count in groups.filter(~is_shared).sort(group).iter_rows():
        part = "whole pages" if of_pages else "fields"
        notes[f"{part} of task {task}, scored for {', '.join(names)} only"] = count

    unscored = ~is_whole & ~scored & pl.col("gold").is_not_null()

    parts = (part for system in systems for part in system.parts())
    keys = (with_turns(part.cases).filter(unscored).select(*KEY, is_page) for part in parts)
    blind = pl.concat(keys, how="diagonal_relaxed").unique()
    if (blind := blind.join(shared, on=group, how="semi")).height:
        notes["fields that could not be scored for every system"] = blind.height

    def cut(part: Evaluation) -> Evaluation:
        cases, place = with_turns(part.cases).with_columns(is_page), ["doc_id", "path"]
        cases = cases.join(shared, on=group, how="semi", maintain_order="left")
        cases = cases.join(blind, on=KEY, how="anti", maintain_order="left")
        gone = part.fields.join(cases.filter(~is_whole), on=place, how="anti").select(place)
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
    first, both = f"{doc} {path or '(whole page)'}", " and ".join(of.system for of in pair)
    texts = f"between {both}, first {first}: {' against '.join(texts)}"
    raise _unlike(f"the gold of {odd.height} cases differs {texts}")


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
