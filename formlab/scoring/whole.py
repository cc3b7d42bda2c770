"""What the records of a whole corpus and of all its predictions are like: see `Whole`.

How documents are scored depends at a few places on all of them: whether words were read at all, or
only texts of pages were given. Batches are scored one by one, so these places ask `Whole`.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Iterable, Mapping
from functools import cached_property

import polars as pl
from rapidfuzz.distance import Levenshtein

from formlab import benchmarks, tables, text
from formlab.folders import Corpus, Predictions
from formlab.readers.values import pattern
from formlab.scoring import rules
from formlab.scoring._pairs import letters
from formlab.scoring.tasks import MARKS, families
from formlab.tables import BOX

# The kinds of records that scoring tells apart; all others are as one.
_READ = ("word", "line")
# A value this short stands in other places by chance.
TELLING = 3
# From this likeness on, in [0, 1], a word may be the slip of another.
_SLIP = 0.5
# A word of so many documents is a common one.
_COMMON = 5
# White space as `str.split` has it; what may stand around a word.
_WORD = r"[^\s\x1c-\x1f]+"
_AROUND = ".,:;()[]*'\""
_CORE = pl.col("word").str.strip_chars(_AROUND)


@dataclasses.dataclass(frozen=True, eq=False)
class Whole:
    """What a corpus and its predictions are like; of values judged by rules also their `rules`."""

    # A record for each combination of what scoring tells apart: task, status, the kind of words
    # that were read, whether there are a path, a value and a box.
    gold: pl.DataFrame
    answers: pl.DataFrame
    words: Words
    # Each pattern of a path with its kinds and declared rules, where values are judged by them.
    rules: frozenset[tuple[str | None, ...]] | None
    # Whether a model was asked, what families of tasks note (`formlab.scoring.tasks.MARKS`), and
    # how many documents show which order of day and month.
    prompted: bool
    marks: frozenset[str]
    dates: Mapping[str, int]

    @classmethod
    def of(cls, corpus: Corpus, predictions: Predictions) -> Whole:
        """Those of a corpus and its predictions."""
        gold, answers = corpus.records, by_corpus(corpus, predictions)[0]
        matched = dataclasses.replace(predictions, records=answers)
        ruled, declared = rules.with_rules(gold.filter(pl.col("task") == "text")), None
        if rules.RULE in ruled.columns:
            rows = ruled.select("path", "kind", rules.RULE).unique().drop_nulls("path").rows()
            declared = frozenset((pattern(path), *rule) for path, *rule in rows)
        tasks = (task for task in benchmarks.get(corpus.benchmark).tasks if task in MARKS)
        marks = (family.marks(corpus, matched) for family in families(tasks).values())
        return cls(
            gold=_told_apart([gold]),
            answers=_told_apart([answers]),
            words=Words.of(gold.filter(pl.col("task") != "layout"), _wrong(gold, answers)),
            rules=declared,
            prompted=predictions.responses["request"].count() > 0,
            marks=frozenset().union(*marks),
            dates=text.orders_shown(gold["doc_id"], gold["value"]),
        )

    @classmethod
    def together(cls, several: Iterable[Whole]) -> Whole:
        """Those of all batches, in any order."""
        several = list(several)
        declared = [whole.rules for whole in several if whole.rules is not None]
        return cls(
            gold=_told_apart([whole.gold for whole in several]),
            answers=_told_apart([whole.answers for whole in several]),
            words=Words.together([whole.words for whole in several]),
            rules=frozenset().union(*declared) if declared else None,
            prompted=any(whole.prompted for whole in several),
            marks=frozenset().union(*(whole.marks for whole in several)),
            dates=sum((Counter(whole.dates) for whole in several), Counter()),
        )

    @property
    def by_rules(self) -> bool:
        """Whether values are judged by rules of their fields."""
        return self.rules is not None

    @cached_property
    def fields(self) -> dict[str, str | None]:
        """The kind of each field by the pattern of its path; of several the first by name."""
        rows = {(kind or "", path, kind) for path, kind, _ in self.rules or ()}
        return {path: kind for _, path, kind in sorted(rows, reverse=True)}

    @cached_property
    def declared(self) -> frozenset[rules.Declared]:
        """Each field, kind and rule that was declared."""
        return frozenset(row for row in self.rules or () if row[2] is not None)


def _told_apart(several: list[pl.DataFrame]) -> pl.DataFrame:
    """A record for each combination: what is there is the empty text, or 0 of a box."""
    texts = [pl.when(pl.col(n).is_not_null()).then(pl.lit("")).alias(n) for n in ("path", "value")]
    is_boxed = pl.all_horizontal(pl.col(BOX).is_not_null())
    boxes = [pl.when(is_boxed).then(0.0).alias(name) for name in BOX]
    read = pl.when(pl.col("kind").is_in(_READ)).then("kind").alias("kind")
    told = [f.select("task", "status", read, *texts, *boxes).unique() for f in several]
    rows = pl.concat(told).unique().sort(pl.all(), nulls_last=True)
    return tables.table("records", rows.to_dict(as_series=False))


def _wrong(gold: pl.DataFrame, answers: pl.DataFrame) -> pl.DataFrame | None:
    """Gold and answer of the fields that may be wrong; null where answers are read from pages."""
    read = pl.col("path").is_null() & pl.col("value").is_not_null() | (pl.col("task") != "text")
    if answers.filter(read).height or gold.filter(pl.col("task") != "text").height:
        return None
    key = ["doc_id", "path"]
    preds, golds = (side.drop_nulls("path").select(*key, "value") for side in (answers, gold))
    both = preds.rename({"value": "pred"}).join(golds, on=key, how="left")
    # Items of lists may be compared with any other.
    is_item = pl.col("path").str.contains(r"/[0-9]+(/|$)")
    unlike = both.filter(is_item | pl.col("value").ne_missing("pred"))
    return pl.concat([unlike.select("value", "pred"), golds.filter(is_item)], how="diagonal")


def folded(values: pl.Series) -> pl.Series:
    """`letters` of each value."""
    plain = values.str.to_lowercase().str.replace_all("[^0-9a-z]+", "")
    others = (values.str.len_bytes() != values.str.len_chars()).fill_null(False).arg_true()
    if not others.len():
        return plain
    return plain.scatter(others, list(map(letters, values.gather(others))))


class Words:
    """The words of a corpus's gold, of which causes of wrong fields ask for those `asked` alone.

    `table` has how often each `word` stands there as written and in how many documents, and, where
    `is_folded`, without case and marks.
    """

    def __init__(self, table: pl.DataFrame, asked: pl.DataFrame | None) -> None:
        self.table, self.asked = table, asked

    @classmethod
    def of(cls, gold: pl.DataFrame, wrong: pl.DataFrame | None = None) -> Words:
        """The words of gold records; `wrong` is as from `_wrong`."""
        document = pl.col("doc_id").cast(pl.Categorical).to_physical()
        words = gold.drop_nulls("path").select(
            document, word=pl.col("value").str.extract_all(_WORD)
        )
        words = words.explode("word").drop_nulls().group_by("word", "doc_id").agg(count=pl.len())
        known = words.select(pl.col("word").unique())
        words = words.join(known.with_columns(folded=folded(known["word"])), on="word")
        documents = pl.col("doc_id").n_unique()
        written = words.group_by(_CORE).agg(pl.col("count").sum(), documents=documents)
        plain = words.group_by(word="folded").agg(count=pl.lit(0), documents=documents)
        counts = pl.col("count", "documents").cast(pl.UInt32)
        table = _both(*(side.select("word", counts) for side in (written, plain)))
        if wrong is None:
            return cls(table, None)
        golds, preds = (
            wrong.select(word=pl.col(name).unique().str.extract_all(_WORD)).explode("word")
            for name in ("value", "pred")
        )
        asked = golds.select(_CORE), preds.select(folded(preds["word"]))
        return cls(table, _both(*(side.drop_nulls().unique() for side in asked)))

    @classmethod
    def together(cls, several: list[Words]) -> Words:
        """The words of batches of other documents: those alone that any of them asks for."""
        tables, key = [words.table for words in several], ["is_folded", "word"]
        asked = [words.asked for words in several if words.asked is not None]
        # Most identifiers, which grow with the documents, are in no wrong field.
        if len(asked) == len(several):
            every = pl.concat(asked).unique()
            tables = [table.join(every, on=key, how="semi") for table in tables]
        rows = pl.concat(tables).group_by(key).agg(pl.all().sum())
        # Of figures only the common ones tell anything; a word of the gold itself is there once.
        figure = pl.col("word").str.contains(r"^[0-9]+$") & (pl.col("documents") < _COMMON)
        rare = pl.when("is_folded").then(figure).otherwise(pl.col("count") < 2)
        return cls(rows.filter(~rare).sort(key), None)

    def contradict_gold(self, gold: str, pred: str) -> bool:
        """Whether words of the gold stand nowhere else, and the answer's words for them do."""
        # The corpus's own spelling counts for the gold, any case for the answer.
        golds, preds, against = gold.split(), pred.split(), False
        pairs = zip(golds, preds, strict=False)
        changed = [(own, read) for own, read in pairs if letters(own) != letters(read)]
        if len(golds) != len(preds) or len(changed) * 2 > len(golds) + 1:
            return False
        for own, read in changed:
            if len(letters(own)) < TELLING or letters(own).isdigit():
                continue
            if Levenshtein.normalized_similarity(letters(own), letters(read)) < _SLIP:
                # Another value is no sign that the gold is misspelt.
                return False
            known, heard = self._known(own, golds.count(own), read), self.has(letters(read))
            if known and not heard:
                return False
            # Figures are known by chance: 88-15 for B8-15 says nothing of the gold.
            against |= heard and not known and not letters(read).isdigit()
        return against

    def has(self, word: str) -> bool:
        """Whether the corpus's gold has `word`, as `tokens` gives it; figures are known."""
        return word.isdigit() or self._counts[2].get(word, 0) > 0

    def _known(self, word: str, here: int, other: str) -> bool:
        """Whether the gold has `word` more often than the `here` times of the field itself."""
        # A slip that one document repeats is none the less a slip beside a common word.
        counts, written, plain = self._counts
        core = word.strip(_AROUND)
        repeated = counts.get(core, 0) > here and plain.get(letters(other), 0) < _COMMON
        return written.get(core, 0) > 1 or repeated

    @cached_property
    def _counts(self) -> tuple[dict[str, int], dict[str, int], dict[str, int]]:
        plain, written = (self.table.filter(is_folded=value) for value in (True, False))
        columns = (written, "count"), (written, "documents"), (plain, "documents")
        return tuple(dict(table.select("word", name).iter_rows()) for table, name in columns)


def _both(written: pl.DataFrame, plain: pl.DataFrame) -> pl.DataFrame:
    return pl.concat(
        [written.with_columns(is_folded=pl.lit(False)), plain.with_columns(is_folded=pl.lit(True))]
    )


def by_corpus(corpus: Corpus, predictions: Predictions) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The predicted records for documents of the corpus, and those for others."""
    known = pl.col("doc_id").is_in(corpus.documents["doc_id"].to_list())
    known &= pl.col("split") == corpus.split
    records = predictions.records
    is_known = records.select(known).to_series()
    # Where all are known, no copy is made.
    return (records if is_known.all() else records.filter(is_known)), records.filter(~is_known)
