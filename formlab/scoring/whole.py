"""What the scoring of a batch must know of all documents, such as whether words were read."""

from __future__ import annotations

import dataclasses
from collections import ChainMap
from collections.abc import Mapping, Sequence
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
# The columns of gold that tell anything of the whole.
_TOLD = ("doc_id", "benchmark", "task", "path", "kind", "value", "status", "meta", *BOX)
# Words as written, and without case and marks.
Sides = tuple[pl.DataFrame, pl.DataFrame]


@dataclasses.dataclass(frozen=True, eq=False)
class Whole:
    """What a corpus and its predictions are like; of values judged by rules also their `rules`."""

    # A record for each combination of what scoring tells apart, see `_told_apart`.
    gold: pl.DataFrame
    answers: pl.DataFrame
    words: Words
    # Each pattern of a path with its kinds and declared rules, where values are judged by them.
    rules: frozenset[tuple[str | None, ...]] | None
    prompted: bool  # Whether a model was asked.
    marks: frozenset[str]  # What families of tasks note, of `formlab.scoring.tasks.MARKS`.
    dates: Mapping[str, str]  # The order of day and month that documents show.

    @classmethod
    def of(cls, corpus: Corpus, predictions: Predictions) -> Whole:
        """Those of a corpus and its predictions."""
        gold = corpus.scan("records").select(_TOLD).collect()
        answers = by_corpus(corpus, predictions)[0]
        matched = dataclasses.replace(predictions, records=answers)
        ruled, declared = rules.with_rules(gold.filter(pl.col("task") == "text")), None
        if rules.RULE in ruled.columns:
            rows = ruled.select("path", "kind", rules.RULE).unique().drop_nulls("path").rows()
            declared = frozenset((pattern(path), *rule) for path, *rule in rows)
        tasks = (task for task in benchmarks.get(corpus.benchmark).tasks if task in MARKS)
        marks = (family.marks(corpus, matched) for family in families(tasks).values())
        return cls(
            gold=_told_apart(gold),
            answers=_told_apart(answers),
            words=Words.of(gold.filter(pl.col("task") != "layout"), _asked(gold, answers)),
            rules=declared,
            prompted=predictions.responses["request"].count() > 0,
            marks=frozenset().union(*marks),
            dates=text.orders_shown(gold["doc_id"], gold["value"]),
        )

    @classmethod
    def together(cls, several: Sequence[Whole]) -> Whole:
        """Those of all batches, in any order."""
        declared = [whole.rules for whole in several if whole.rules is not None]
        return cls(
            gold=_told_apart(pl.concat(whole.gold for whole in several)),
            answers=_told_apart(pl.concat(whole.answers for whole in several)),
            words=Words.together([whole.words for whole in several]),
            rules=frozenset().union(*declared) if declared else None,
            prompted=any(whole.prompted for whole in several),
            marks=frozenset().union(*(whole.marks for whole in several)),
            dates=dict(ChainMap(*(whole.dates for whole in several))),
        )

    @cached_property
    def fields(self) -> dict[str, str | None]:
        """The kind of each field by the pattern of its path; of several the first by name."""
        rows = {(kind or "", path, kind) for path, kind, _ in self.rules or ()}
        return {path: kind for _, path, kind in sorted(rows, reverse=True)}


def _told_apart(records: pl.DataFrame) -> pl.DataFrame:
    """A record for each combination: what is there is the empty text, or 0 of a box."""
    texts = [pl.when(pl.col(n).is_not_null()).then(pl.lit("")).alias(n) for n in ("path", "value")]
    is_boxed = pl.all_horizontal(pl.col(BOX).is_not_null())
    boxes = [pl.when(is_boxed).then(0.0).alias(name) for name in BOX]
    read = pl.when(pl.col("kind").is_in(_READ)).then("kind").alias("kind")
    # Hashes of what tells records apart are compared much faster than records.
    is_there = pl.col("path", "value").is_not_null()
    alike = records.select("task", "status", read, is_there, is_boxed).hash_rows()
    rows = records[alike.arg_unique()].select("task", "status", read, *texts, *boxes)
    return tables.table("records", rows.sort("*", nulls_last=True).to_dict(as_series=False))


def _asked(gold: pl.DataFrame, answers: pl.DataFrame) -> Sides | None:
    """The words that causes of wrong fields ask for; null, any, of fields read from pages."""
    is_text, is_page = pl.col("task") == "text", pl.col("path").is_null()
    is_field = is_text & ~(is_page & pl.col("value").is_not_null())
    if not (gold.select(is_text.all()).item() and answers.select(is_field.all()).item()):
        return None
    key = pl.col("doc_id").hash() ^ pl.col("path").hash(1) ^ pl.col("value").hash(2)
    sides = [of.select("path", "value", key=key).drop_nulls("path") for of in (gold, answers)]
    # Items of lists may be compared with any other.
    is_item, words = pl.col("path").str.contains(r"/[0-9]+(/|$)"), []
    for side, other in (sides, sides[::-1]):
        unlike = side.filter(is_item | ~pl.col("key").is_in(other["key"].implode()))
        unlike = unlike.select(word=pl.col("value").unique().str.extract_all(_WORD))
        words.append(unlike.explode("word").drop_nulls())
    return words[0].select(_CORE.unique()), words[1].select(folded(words[1]["word"]).unique())


def folded(values: pl.Series) -> pl.Series:
    """`letters` of each value."""
    plain = values.str.to_lowercase().str.replace_all("[^0-9a-z]+", "")
    others = (values.str.len_bytes() != values.str.len_chars()).fill_null(False).arg_true()
    return plain.scatter(others, [*map(letters, values.gather(others))]) if others.len() else plain


class Words:
    """The words of a corpus's gold, of which causes of wrong fields ask for those `asked` alone."""

    # In how many documents each `word` stands there, and as written also how often.
    def __init__(self, tables: Sides, asked: Sides | None = None) -> None:
        self.tables, self.asked = tables, asked

    @classmethod
    def of(cls, gold: pl.DataFrame, asked: Sides | None = None) -> Words:
        """The words of gold records."""
        document, split = pl.col("doc_id").hash(), pl.col("value").str.extract_all(_WORD)
        words = gold.drop_nulls("path").select(document, word=split).explode("word")
        words = words.drop_nulls().group_by("word").agg("doc_id")
        words = words.with_columns(_CORE, plain=folded(words["word"])).explode("doc_id")
        count, documents = pl.len().cast(pl.UInt32), pl.col("doc_id").n_unique().cast(pl.UInt32)
        written = words.group_by("word").agg(count=count, documents=documents)
        return cls((written, words.group_by(word="plain").agg(documents=documents)), asked)

    @classmethod
    def together(cls, several: list[Words]) -> Words:
        """The words of batches of other documents: those alone that any of them asks for."""
        sides = list(map(pl.concat, zip(*(words.tables for words in several), strict=True)))
        asked = [words.asked for words in several if words.asked is not None]
        # Most identifiers, which grow with the documents, are in no wrong field.
        if len(asked) == len(several):
            pairs = zip(sides, map(pl.concat, zip(*asked, strict=True)), strict=True)
            sides = [side.join(wanted, on="word", how="semi") for side, wanted in pairs]
        written, plain = (side.group_by("word").agg(pl.all().sum()) for side in sides)
        # Of figures only the common ones tell anything; a word of the gold itself is there once.
        figure = pl.col("word").str.contains(r"^[0-9]+$") & (pl.col("documents") < _COMMON)
        return cls((written.filter(pl.col("count") > 1), plain.filter(~figure)))

    def contradict_gold(self, gold: str, pred: str) -> bool:
        """Whether words of the gold stand nowhere else, and the answer's words for them do."""
        # The corpus's own spelling counts for the gold, any case for the answer.
        golds, preds, against = gold.split(), pred.split(), False
        pairs = zip(golds, preds, strict=False)
        changed = [(own, read) for own, read in pairs if letters(own) != letters(read)]
        if len(golds) != len(preds) or len(changed) * 2 > len(golds) + 1:
            return False
        for own, read in changed:
            if len(letters(own)) < TELLING or any(map(str.isdigit, letters(own))):
                continue
            if Levenshtein.normalized_similarity(letters(own), letters(read)) < _SLIP:
                # Another value is no sign that the gold is misspelt.
                return False
            counts, written, plain = self._counts
            core, heard = own.strip(_AROUND), self.has(letters(read))
            # A slip that one document repeats is none the less a slip beside a common word.
            is_repeated = counts.get(core, 0) > golds.count(own)
            is_repeated &= plain.get(letters(read), 0) < _COMMON
            known = written.get(core, 0) > 1 or is_repeated
            if known and not heard:
                return False
            # Figures are known by chance: 88-15 for B8-15 says nothing of the gold.
            against |= heard and not known and not letters(read).isdigit()
        return against

    def has(self, word: str) -> bool:
        """Whether the corpus's gold has `word`, as `tokens` gives it; figures are known."""
        return word.isdigit() or self._counts[2].get(word, 0) > 0

    @cached_property
    def _counts(self) -> tuple[dict[str, int], dict[str, int], dict[str, int]]:
        written, plain = self.tables
        columns = (written, "count"), (written, "documents"), (plain, "documents")
        return tuple(dict(table.select("word", name).iter_rows()) for table, name in columns)


def by_corpus(corpus: Corpus, predictions: Predictions) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The predicted records for documents of the corpus, and those for others."""
    known = pl.col("doc_id").is_in(corpus.documents["doc_id"].implode())
    known = predictions.records.select(known & (pl.col("split") == corpus.split)).to_series()
    return predictions.records.filter(known), predictions.records.filter(~known)
