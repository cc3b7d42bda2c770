"""What the records of a whole corpus and of all its predictions are like: see `Whole`.

How documents are scored depends at a few places on all of them: whether words were read at all, or
only texts of pages were given. Batches are scored one by one, so these places ask `Whole`.
"""

from __future__ import annotations

import dataclasses
import operator
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from functools import reduce

import polars as pl

from formlab import text
from formlab.folders import Corpus, Predictions
from formlab.metrics.counts import was_prompted
from formlab.readers.values import pattern
from formlab.scoring import rules
from formlab.scoring._gold_words import Words
from formlab.tables import BOX, RECORDS

# The kinds of records that scoring tells apart; all others are as one.
_READ = ("word", "line")


@dataclasses.dataclass(frozen=True)
class Whole:
    """One record for each combination of columns that scoring tells apart.

    `gold` and `answers` are such records of either side: task, status, whether there are a path, a
    value and a box, and the kind of those that were read. Where values are judged by rules of their
    fields (`by_rules`), `fields` has the kind of each field, by the pattern of its path, and
    `declared` each field, kind and rule that was declared. `prompted` says whether a model was
    asked; `dates` counts the documents that show an order of day and month (`text.orders_shown`);
    `words` are those of the gold; `marks` are what single families of tasks note, see
    `formlab.scoring.tasks.MARKS`.
    """

    gold: pl.DataFrame
    answers: pl.DataFrame
    fields: dict[str, str | None] = dataclasses.field(default_factory=dict)
    declared: frozenset[rules.Declared] = frozenset()
    by_rules: bool = False
    prompted: bool = False
    marks: frozenset[str] = frozenset()
    words: Words | None = None
    dates: Mapping[str, int] = dataclasses.field(default_factory=dict)

    @classmethod
    def of(
        cls, corpus: Corpus, predictions: Predictions,
        marks: Iterable[Callable[[Corpus, Predictions], set[str]]] = (),
    ) -> Whole:  # fmt: skip
        """Those of a corpus and its predictions, with what the functions `marks` note of them.

        Examples
        --------
        >>> from formlab.readers import gold
        >>> kinds = Whole.of(*gold.pair([{"doc_id": "a", "x": "1"}], [{"doc_id": "a", "x": "1"}]))
        >>> kinds.answers.select("task", "status", "path", "value").rows()
        [('text', 'ok', '', '')]
        """
        fields, declared = {}, frozenset()
        ruled = rules.with_rules(corpus.records.filter(pl.col("task") == "text"))
        if rules.RULE in ruled.columns:
            rows = ruled.select("path", "kind", rules.RULE).unique().drop_nulls("path")
            known = [(pattern(path), kind, meta) for path, kind, meta in rows.iter_rows()]
            # Of several kinds at one place the first by name: no order of documents decides.
            for place, kind, _ in sorted(
                known, key=lambda row: (row[0], row[1] or "", row[2] or "")
            ):
                fields.setdefault(place, kind)
            declared = frozenset(row for row in known if row[2] is not None)
        return cls(
            representatives(corpus.records), representatives(predictions.records), fields, declared,
            rules.RULE in ruled.columns, was_prompted(predictions.responses),
            frozenset(mark for function in marks for mark in function(corpus, predictions)),
            Words.of(_values(corpus.records), _wrong(corpus.records, predictions.records)),
            text.orders_shown(corpus.records["doc_id"], corpus.records["value"]),
        )  # fmt: skip

    @classmethod
    def together(cls, several: Iterable[Whole]) -> Whole:
        """Those of all batches, in any order."""
        several = list(several)
        words = Words.together(kinds.words for kinds in several)
        dates = sum((Counter(kinds.dates) for kinds in several), Counter())
        return dataclasses.replace(reduce(_both, several), words=words, dates=dates)


def _values(records: pl.DataFrame) -> pl.DataFrame:
    fields = records.filter(pl.col("path").is_not_null(), pl.col("task") != "layout")
    return fields.select("doc_id", gold="value")


def _wrong(gold: pl.DataFrame, answers: pl.DataFrame) -> pl.DataFrame | None:
    """Gold and answer of the fields that may be wrong; null where answers are read from pages."""
    read = pl.col("path").is_null() & pl.col("value").is_not_null() | (pl.col("task") != "text")
    if answers.filter(read).height or gold.filter(pl.col("task") != "text").height:
        return None
    sides = [
        side.select("doc_id", "path", pl.col("value").alias(name)).drop_nulls("path")
        for side, name in ((gold, "gold"), (answers, "pred"))
    ]
    both = sides[1].join(sides[0], on=["doc_id", "path"], how="left")
    # Items of lists may be compared with any other.
    is_item = pl.col("path").str.contains(r"/[0-9]+(/|$)")
    lower = (pl.col(side).str.to_lowercase() for side in ("gold", "pred"))
    ascii_only = pl.all_horizontal(
        pl.col(side).str.len_bytes() == pl.col(side).str.len_chars() for side in ("gold", "pred")
    )
    # Where case alone differs, no word is asked for.
    same = (pl.col("gold") == pl.col("pred")) | (ascii_only & operator.eq(*lower))
    items = sides[0].filter(is_item).select("gold", pred=pl.lit(None, pl.String))
    unlike = both.filter(is_item | ~same.fill_null(False)).select("gold", "pred")
    return pl.concat([unlike, items])


def representatives(records: pl.DataFrame) -> pl.DataFrame:
    """A record for each combination of what scoring tells apart, in a fixed order.

    What is there and differs from record to record is the empty text, or 0 of a box.
    """
    boxed = pl.all_horizontal(pl.col(BOX).is_not_null())
    there = {
        name: pl.when(pl.col(name).is_not_null()).then(pl.lit("")) for name in ("path", "value")
    }
    read = pl.when(pl.col("kind").is_in(_READ)).then("kind").alias("kind")
    rows = records.select(
        "task", "status", read, *(value.alias(name) for name, value in there.items()),
        *(pl.when(boxed).then(pl.lit(0.0)).alias(side) for side in BOX),
    ).unique()  # fmt: skip
    absent = [name for name in RECORDS if name not in rows.columns]
    rows = rows.with_columns(pl.lit(None, RECORDS[name]).alias(name) for name in absent)
    return rows.select(list(RECORDS)).sort("task", "status", "kind", "path", "value", "x0")


def _both(one: Whole, other: Whole) -> Whole:
    fields = dict(other.fields)
    for place, kind in one.fields.items():
        fields[place] = min((kind, fields.get(place, kind)), key=lambda name: name or "")
    sides = (
        representatives(pl.concat([getattr(one, side), getattr(other, side)]))
        for side in ("gold", "answers")
    )
    return Whole(
        *sides, fields, one.declared | other.declared, one.by_rules or other.by_rules,
        one.prompted or other.prompted, one.marks | other.marks,
    )  # fmt: skip
