"""Where a system is worse than elsewhere: one row a weakness, each the slice that explains it."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import polars as pl

from formlab import tables
from formlab.analysis.comparability import of_gold
from formlab.analysis.finding import KEYS, LABEL, OUTCOME, READER, fields_of, origin
from formlab.analysis.summarise import interval_text
from formlab.analysis.weaknesses import AT_LEAST, UNDER, Search, Weakness, is_inside
from formlab.errors import UnknownName
from formlab.folders import Evaluation
from formlab.metrics import ratio
from formlab.scoring.bands import of_values
from formlab.stats.draws import by_document, intervals
from formlab.tables import USABLE, Settings

_THIRD = "the value stands in the {} third of the page"
# How a sentence says that a column has a value, or a number is at least so much, or less.
_PHRASES = {
    ("case", ""): "the value has {}",
    ("field", ""): "the field is {}",
    ("vertical", ""): _THIRD,
    ("horizontal", ""): _THIRD,
    ("year", AT_LEAST): "the year is {} or later",
    ("year", UNDER): "the year is before {}",
    ("magnitude", AT_LEAST): "the amount is {} or more",
    ("magnitude", UNDER): "the amount is under {}",
    ("length", AT_LEAST): "the value has {} characters or more",
    ("length", UNDER): "the value has fewer than {} characters",
    ("index", AT_LEAST): "the number of the item is {} or more",
    ("index", UNDER): "the number of the item is under {}",
}
# Columns that say which field a value is of; others are looked at within each of their values too.
HEADS = ("field", "subtype", "kind")
# What is known of a value without looking at how it was read.
COLUMNS = (*HEADS, "task", "modality", "scope", "reference", "complexity", "modal")
COLUMNS += ("template", "domain", "page", "position")
# What follows from its gold and its box.
_OF_GOLD = ("nesting", "vertical", "horizontal", "length", "box_height", "box_width")
_OF_GOLD += ("year", "magnitude", "case", "index")
SLICES = tables.schema(
    "benchmark split system metric slice_by:texts slice_value:texts value:number ci_low:number "
    "ci_high:number rest:number difference:number difference_low:number difference_high:number "
    "p:number p_adjusted:number excess:number n_docs:int n_cases:int n_tested:int mode "
    "settings:settings"
)
# What a sentence on a slice is made of.
_TOLD = ("kind", "gold", "pred", "cause", "outcome")
# Columns that follow from the error: searching them would be circular.
_AFTERWARDS = ("outcome", "cause", "similarity", "status", "exact", "normalised", "typed", "fuzzy")


def slice_name(weakness: Weakness) -> str:
    """A slice as a sentence has it: ``kind is date and the year is 2016 or later``."""
    phrases = []
    for column, value in zip(weakness.columns, weakness.values, strict=True):
        start = next((start for start in (AT_LEAST, UNDER) if value.startswith(start)), "")
        plain = f"{column.replace('_', ' ')} is {start}{{}}"
        phrases.append(_PHRASES.get((column, start), plain).format(value.removeprefix(start)))
    return " and ".join(phrases)


def slice_rows(search: Search, found: Sequence[Weakness], **draws: Any) -> Iterator[dict[str, Any]]:
    """Weaknesses with their shares, that of the values in none of them, and the difference."""
    elsewhere = ~np.logical_or.reduce([weakness.inside for weakness in found] or [[False]])
    for weakness in found:
        inside, right = weakness.inside, 1 - search.loss
        columns = [of for at in (inside, elsewhere) for of in (right * at, at)]
        table, scores = by_document(search.document, columns, search.count), (_inside, _apart)
        value, difference = (float(score(table.sum(axis=0))) for score in scores)
        ends = intervals([(table, score) for score in scores], **draws)
        yield {
            "slice_by": weakness.columns,
            "slice_value": weakness.values,
            "value": value,
            "rest": value - difference,
            "difference": difference,
            **dict(zip(("ci_low", "ci_high"), ends[0], strict=True)),
            **dict(zip(("difference_low", "difference_high"), ends[1], strict=True)),
            "excess": abs(difference) * inside.sum(),
            "n_cases": int(inside.sum()),
            "n_docs": len(np.unique(search.document[inside])),
            **{name: getattr(weakness, name) for name in ("p", "p_adjusted", "n_tested")},
        }


def _inside(sums: np.ndarray) -> np.ndarray:
    return ratio(sums[..., :2])


def _apart(sums: np.ndarray) -> np.ndarray:
    return ratio(sums[..., :2]) - ratio(sums[..., 2:])


def find_slices(
    evaluations: Evaluation | Sequence[Evaluation],
    *,
    columns: Sequence[str] | None = None,
    max_columns: int = 2,
    min_docs: int = 3,
    min_cases: int = 5,
    alpha: float = 0.05,
    resamples: int = 1000,
    level: float = 0.95,
    seed: int = 0,
) -> pl.DataFrame:
    """The slices of values on which a system is worse than elsewhere, one for each weakness.

    Every conjunction of at most `max_columns` values is tested against the rest by
    `stats.exchange`. Of those that hold the one that explains most is taken, its values are taken
    away, and the rest is tested again. Values whose verdict depends on the reading rule are left
    out, as are documents that are mostly wrong, and a slice must hold as well without labels that
    may be wrong.

    Returns a row for each slice of each evaluation, ranked by `excess`, how many values are lost by
    not being as good as the rest; `rest` is the share of the values that are in no weakness. A
    number is cut at its own values: ``at least 26``. A slice was picked for looking bad: expect its
    difference to be smaller on new documents.

    `columns`: of *cases* or *documents*, bands, or what follows from the gold (``year``, ``index``
    …); if left out all of these and a user's own, each within every kind and field as well. Columns
    that follow from the error, such as ``cause``, are refused. `min_docs`, `min_cases`: the least
    support of a slice; `alpha`: the chance that any slice is named where all values are alike,
    after Holm; `resamples`, `level`, `seed`: of the percentile intervals.

    Raises `UnknownName` if a column is not known or not allowed.
    """
    if refused := [name for name in columns or () if name in _AFTERWARDS]:
        allowed = [name for name in columns or () if name not in _AFTERWARDS]
        raise UnknownName.of("column to search slices in", refused[0], allowed or COLUMNS)
    draws = {"resamples": resamples, "level": level, "seed": seed}
    settings = Settings(
        rules=f"columns<={max_columns}|docs>={min_docs}|cases>={min_cases}",
        interval=interval_text(**draws),
        test=f"exchanged within documents,holm<={alpha:g}",
    )
    base = {"metric": OUTCOME, "settings": dataclasses.asdict(settings)}
    rows = []
    for one in [evaluations] if isinstance(evaluations, Evaluation) else evaluations:
        search = search_of(one, columns, max_columns, min_docs, min_cases)
        found = slice_rows(search, search.weaknesses(alpha), **draws)
        labels = base | origin(one) | {"mode": one.mode}
        rows += [row | labels for row in found if row["slice_by"]]
    names = (pl.col(name).list.join(" & ") for name in ("slice_by", "slice_value"))
    return pl.DataFrame(rows, schema=SLICES).sort(-pl.col("excess"), *names)


def search_of(
    evaluation: Evaluation,
    columns: Sequence[str] | None = None,
    *support: int,
    answered: bool = False,
) -> Search:
    """The `Search` by some columns, or by all and within every kind and field.

    With `answered` only in values of documents that have a usable answer.
    """
    names = [*COLUMNS, *_OF_GOLD, *evaluation.own] if columns is None else list(columns)
    sure, right = pl.col("cause").ne_missing(LABEL), pl.col("outcome") == "match"
    pieces = []
    for part in evaluation.parts():
        cases = _of_gold(part)
        if answered:
            usable = part.scan("cases").filter(pl.col("status").is_in(USABLE))
            documents = usable.select("doc_id").collect()["doc_id"].implode()
            readable = pl.col("status").is_in([*USABLE, "missing"])
            cases = cases.filter(readable, pl.col("doc_id").is_in(documents))
        table = cases.select(*KEYS, *_TOLD, right=right, sure=sure)
        pieces.append((table, *(_column(cases, part, name) for name in names)))
    table, *values = (pl.concat(piece) for piece in zip(*pieces, strict=True))
    heads = HEADS if columns is None else ()
    return Search(table, dict(zip(names, values, strict=True)), heads, *support)


def _column(cases: pl.DataFrame, part: Evaluation, name: str) -> pl.Series:
    values = of_values(cases, part.documents, name)
    return values if values.dtype.is_numeric() else values.cast(pl.String)


def _of_gold(part: Evaluation) -> pl.DataFrame:
    return fields_of(part, None, of_gold(), pl.col("cause").ne_missing(READER))


def slice_cases(
    evaluation: Evaluation, found: dict[str, Any], *, wrong: bool = True
) -> pl.DataFrame:
    """The cases of a slice, a row of `find_slices` of this evaluation, or only the wrong ones."""

    def chosen(part: Evaluation) -> pl.DataFrame:
        cases = _of_gold(part)
        for name, value in zip(found["slice_by"], found["slice_value"], strict=True):
            cases = cases.filter(is_inside(_column(cases, part, name), value))
        return cases.filter(pl.col("outcome") != "match") if wrong else cases

    return evaluation.gathered(chosen)
