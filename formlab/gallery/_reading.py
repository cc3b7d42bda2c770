"""What a gallery reads of evaluations: the cases shown, and the documents that these are of."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from typing import Any

import polars as pl

from formlab.analysis.finding import cases_at
from formlab.folders import Evaluation
from formlab.gallery._slices import KEY, drawn

NO_ERROR = ("match", "unscored")


def sampled(
    evaluation: Evaluation, most: int | None, *, right: bool
) -> tuple[list[pl.DataFrame], int, int, list[list[Any]]]:
    """The cases of an evaluation to show, how many there are and were scored, and of each cause."""
    scored = pl.col("outcome") != "unscored"
    shown = pl.lit(True) if right else ~pl.col("outcome").is_in(NO_ERROR)
    asked = evaluation.gathered(
        lambda each: each.scan("cases").filter(scored).select(pl.len()).collect()
    )
    columns = [*KEY, "outcome", "cause"]
    every = evaluation.gathered(
        lambda each: each.scan("cases").filter(shown).select(columns).collect()
    )
    places, counts = drawn(every, most)
    cases = cases_at(evaluation, places.to_list(), shown)
    return [cases], every.height, int(asked["len"].sum()), counts


def about(evaluations: Sequence[Evaluation], documents: pl.Series) -> Iterator[Evaluation]:
    """The parts that have some of the documents, without all others."""
    known = pl.col("doc_id").is_in(documents.implode())
    for each in evaluations:
        for part in each.parts():
            if part.documents["doc_id"].is_in(documents.implode()).any():
                tables = {n: functools.partial(_rows, table=n, known=known) for n in part.TABLES}
                yield part.changed(tables)


def _rows(part: Evaluation, table: str, known: pl.Expr) -> pl.DataFrame:
    return part.scan(table).filter(known).collect()


def gold_of(evaluations: Sequence[Evaluation]) -> pl.DataFrame | None:
    """The gold records of their documents, once each; null where no corpus was kept."""
    parts, seen = [], dict[tuple[str, str], set[str]]()
    for each in evaluations:
        # Evaluations of one corpus have the same gold.
        known = seen.setdefault((each.benchmark, each.split), set())
        if each.corpus and (new := set(each.documents["doc_id"]) - known):
            known |= new
            parts.append(each.corpus.records.filter(pl.col("doc_id").is_in(list(new))))
    return pl.concat(parts, how="diagonal_relaxed") if parts else None
