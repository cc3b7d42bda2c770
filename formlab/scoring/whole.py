"""What the records of a whole corpus and of all its predictions are like: see `Whole`.

How documents are scored depends at a few places on all of them: whether words were read at all, or
only texts of pages were given. Batches are scored one by one, so these places ask `Whole`.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Any

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
_RULES = dict.fromkeys(("path", "kind", rules.RULE), pl.String)


@dataclasses.dataclass(frozen=True)
class Whole:
    """What a corpus and its predictions are like.

    `gold` and `answers` are a record for each combination of what scoring tells apart: task,
    status, whether there are a path, a value and a box, and the kind of those that were read. Where
    values are judged by rules of their fields, `by_rules`, a table, has each pattern of a path with
    its kinds and declared rules, else it is null. `prompted` says whether a model was asked,
    `dates` counts documents by their order of day and month; `words` are those of the gold, `marks`
    what families of tasks note (`formlab.scoring.tasks.MARKS`).
    """

    gold: pl.DataFrame
    answers: pl.DataFrame
    rules: pl.DataFrame | None = None
    prompted: bool = False
    marks: frozenset[str] = frozenset()
    words: Words | None = None
    dates: Mapping[str, int] = dataclasses.field(default_factory=dict)

    @classmethod
    def of(cls, corpus: Corpus, predictions: Predictions, marks: Iterable[Any] = ()) -> Whole:
        """Those of a corpus and its predictions, with what the functions `marks` note of them."""
        ruled = rules.with_rules(corpus.records.filter(pl.col("task") == "text"))
        known = None
        if rules.RULE in ruled.columns:
            rows = ruled.select(list(_RULES)).unique().drop_nulls("path").rows()
            rows = {(pattern(path), *said) for path, *said in rows}
            known = pl.DataFrame(sorted(rows, key=str), _RULES, orient="row")
        gold, answers = corpus.records, predictions.records
        valued = gold.filter(pl.col("path").is_not_null(), pl.col("task") != "layout")
        return cls(
            gold=representatives(gold),
            answers=representatives(answers),
            rules=known,
            prompted=was_prompted(predictions.responses),
            marks=frozenset(mark for note in marks for mark in note(corpus, predictions)),
            words=Words.of(valued.select("doc_id", gold="value"), _wrong(gold, answers)),
            dates=text.orders_shown(gold["doc_id"], gold["value"]),
        )

    @classmethod
    def together(cls, several: Iterable[Whole]) -> Whole:
        """Those of all batches, in any order."""
        several = list(several)
        known = [whole.rules for whole in several if whole.rules is not None]
        return cls(
            gold=representatives(pl.concat(whole.gold for whole in several)),
            answers=representatives(pl.concat(whole.answers for whole in several)),
            rules=pl.concat(known).unique() if known else None,
            prompted=any(whole.prompted for whole in several),
            marks=frozenset().union(*(whole.marks for whole in several)),
            words=Words.together(whole.words for whole in several),
            dates=sum((Counter(whole.dates) for whole in several), Counter()),
        )

    @property
    def by_rules(self) -> bool:
        """Whether values are judged by rules of their fields."""
        return self.rules is not None

    @cached_property
    def fields(self) -> dict[str, str | None]:
        """The kind of each field by the pattern of its path; of several the first by name."""
        rows = [] if self.rules is None else self.rules.select("path", "kind").rows()
        return dict(sorted(rows, key=lambda row: row[1] or "", reverse=True))

    @cached_property
    def declared(self) -> frozenset[rules.Declared]:
        """Each field, kind and rule that was declared."""
        return (
            frozenset()
            if self.rules is None
            else frozenset(self.rules.drop_nulls(rules.RULE).rows())
        )


def _wrong(gold: pl.DataFrame, answers: pl.DataFrame) -> pl.DataFrame | None:
    """Gold and answer of the fields that may be wrong; null where answers are read from pages."""
    read = pl.col("path").is_null() & pl.col("value").is_not_null() | (pl.col("task") != "text")
    if answers.filter(read).height or gold.filter(pl.col("task") != "text").height:
        return None
    golds, preds = (
        side.drop_nulls("path").select("doc_id", "path", pl.col("value").alias(name))
        for side, name in ((gold, "gold"), (answers, "pred"))
    )
    # Items of lists may be compared with any other.
    is_item = pl.col("path").str.contains(r"/[0-9]+(/|$)")
    is_unlike = is_item | pl.col("gold").ne_missing("pred")
    unlike = preds.join(golds, on=["doc_id", "path"], how="left").filter(is_unlike)
    items = golds.filter(is_item).select("gold", pred=pl.lit(None, pl.String))
    return pl.concat([unlike.select("gold", "pred"), items])


def representatives(records: pl.DataFrame) -> pl.DataFrame:
    """A record for each combination of what scoring tells apart, in a fixed order.

    What is there and differs from record to record is the empty text, or 0 of a box.
    """
    boxed = pl.all_horizontal(pl.col(BOX).is_not_null())
    there = {n: pl.when(pl.col(n).is_not_null()).then(pl.lit("")) for n in ("path", "value")}
    read = pl.when(pl.col("kind").is_in(_READ)).then("kind").alias("kind")
    sides = dict.fromkeys(BOX, pl.when(boxed).then(pl.lit(0.0)))
    rows = records.select("task", "status", read, **there, **sides).unique()
    absent = [name for name in RECORDS if name not in rows.columns]
    rows = rows.with_columns(pl.lit(None, RECORDS[name]).alias(name) for name in absent)
    return rows.select(list(RECORDS)).sort("task", "status", "kind", "path", "value", "x0")
