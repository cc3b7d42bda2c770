"""What the records of a whole corpus and of all its predictions are like: see `Whole`.

How documents are scored depends at a few places on all of them: whether words were read at all, or
only texts of pages were given. Batches are scored one by one, so these places ask `Whole`.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Iterable, Mapping
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


@dataclasses.dataclass(frozen=True)
class Whole:
    """What a corpus and its predictions are like.

    `gold` and `answers` are a record for each combination of what scoring tells apart: task,
    status, whether there are a path, a value and a box, and the kind of those that were read. Where
    values are judged by rules of their fields (`by_rules`), `fields` has the kind of each, by the
    pattern of its path, and `declared` each field, kind and rule that was declared. `prompted` says
    whether a model was asked, `dates` counts documents by their order of day and month; `words` are
    those of the gold, `marks` what families of tasks note (`formlab.scoring.tasks.MARKS`).
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
    def of(cls, corpus: Corpus, predictions: Predictions, marks: Iterable[Any] = ()) -> Whole:
        """Those of a corpus and its predictions, with what the functions `marks` note of them."""
        fields, declared = {}, frozenset()
        ruled = rules.with_rules(corpus.records.filter(pl.col("task") == "text"))
        if rules.RULE in ruled.columns:
            rows = ruled.select("path", "kind", rules.RULE).unique().drop_nulls("path")
            known = [(pattern(path), kind, meta) for path, kind, meta in rows.iter_rows()]
            # Of several kinds at one place the first by name: no order of documents decides.
            for place, kind, _ in sorted(known, key=lambda row: [text or "" for text in row]):
                fields.setdefault(place, kind)
            declared = frozenset(row for row in known if row[2] is not None)
        gold, answers = corpus.records, predictions.records
        valued = gold.filter(pl.col("path").is_not_null(), pl.col("task") != "layout")
        return cls(
            gold=representatives(gold),
            answers=representatives(answers),
            fields=fields,
            declared=declared,
            by_rules=rules.RULE in ruled.columns,
            prompted=was_prompted(predictions.responses),
            marks=frozenset(mark for note in marks for mark in note(corpus, predictions)),
            words=Words.of(valued.select("doc_id", gold="value"), _wrong(gold, answers)),
            dates=text.orders_shown(gold["doc_id"], gold["value"]),
        )

    @classmethod
    def together(cls, several: Iterable[Whole]) -> Whole:
        """Those of all batches, in any order."""
        several, fields = list(several), {}
        for place, kind in (pair for whole in several for pair in whole.fields.items()):
            fields[place] = min((kind, fields.get(place, kind)), key=lambda name: name or "")
        return cls(
            gold=representatives(pl.concat(whole.gold for whole in several)),
            answers=representatives(pl.concat(whole.answers for whole in several)),
            fields=fields,
            declared=frozenset().union(*(whole.declared for whole in several)),
            by_rules=any(whole.by_rules for whole in several),
            prompted=any(whole.prompted for whole in several),
            marks=frozenset().union(*(whole.marks for whole in several)),
            words=Words.together(whole.words for whole in several),
            dates=sum((Counter(whole.dates) for whole in several), Counter()),
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
