"""The words of a corpus's gold: what it has elsewhere supports it, or contradicts it."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property

import polars as pl
from rapidfuzz.distance import Levenshtein

from formlab.scoring._pairs import letters

# A value this short stands in other places by chance.
TELLING = 3
# From this likeness on, in [0, 1], a word may be the slip of another.
_SLIP = 0.5
# A word of so many documents is a common one.
_COMMON = 5
# White space as `str.split` has it; what may stand around a word.
_WORD = r"[^\s\x1c-\x1f]+"
_AROUND = ".,:;()[]*'\""


def folded(values: pl.Series) -> pl.Series:
    """`letters` of each value."""
    plain = values.str.to_lowercase().str.replace_all("[^0-9a-z]+", "")
    others = (values.str.len_bytes() != values.str.len_chars()).fill_null(False).arg_true()
    if not others.len():
        return plain
    return plain.scatter(others, list(map(letters, values.gather(others))))


class Words:
    """The words of a corpus's gold.

    `table` has how often each `word` stands there as written and in how many documents, and, where
    `is_folded`, without case and marks. Causes of wrong fields ask for the words `asked` alone.
    """

    def __init__(self, table: pl.DataFrame, asked: pl.DataFrame | None = None) -> None:
        self.table, self.asked = table, asked

    @classmethod
    def of(cls, values: pl.DataFrame, wrong: pl.DataFrame | None = None) -> Words:
        """The words of the gold `values`: doc_id, gold.

        `wrong` are gold and answer (null or not) of all fields that may be wrong: gold, pred.
        """
        document = pl.col("doc_id").cast(pl.Categorical).to_physical()
        words = values.select(document, word=pl.col("gold").str.extract_all(_WORD))
        words = words.explode("word").drop_nulls().group_by("word", "doc_id").agg(count=pl.len())
        known = words.select(pl.col("word").unique())
        words = words.join(known.with_columns(folded=folded(known["word"])), on="word")
        core, documents = pl.col("word").str.strip_chars(_AROUND), pl.col("doc_id").n_unique()
        written = words.group_by(core).agg(pl.col("count").sum(), documents=documents)
        plain = words.group_by(word="folded").agg(count=pl.lit(0), documents=documents)
        counts = pl.col("count", "documents").cast(pl.UInt32)
        table = _both(written.select("word", counts), plain.select("word", counts))
        if wrong is None:
            return cls(table)
        gold, pred = (
            wrong[name].unique().str.extract_all(_WORD).explode() for name in wrong.columns
        )
        asked = gold.str.strip_chars(_AROUND), folded(pred)
        return cls(table, _both(*(words.drop_nulls().unique().to_frame("word") for words in asked)))

    @classmethod
    def together(cls, several: Iterable[Words]) -> Words:
        """The words of batches of other documents: those alone that any of them asks for."""
        tables, asked = zip(*((words.table, words.asked) for words in several), strict=True)
        key = ["is_folded", "word"]
        # Most identifiers, which grow with the documents, are in no wrong field.
        if all(words is not None for words in asked):
            every = pl.concat(asked).unique()
            tables = [table.join(every, on=key, how="semi") for table in tables]
        rows = pl.concat(tables).group_by(key).agg(pl.all().sum())
        # Of figures only the common ones tell anything; a word of the gold itself is there once.
        figure = pl.col("word").str.contains(r"^[0-9]+$") & (pl.col("documents") < _COMMON)
        rare = pl.when("is_folded").then(figure).otherwise(pl.col("count") < 2)
        return cls(rows.filter(~rare).sort(key))

    def contradict_gold(self, gold: str, pred: str) -> bool:
        """Whether words of the gold stand nowhere else, and the answer's words for them do.

        Only words of three or more characters that are not all figures tell; the corpus's own
        spelling counts for the gold, any case for the answer.
        """
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
            against |= heard and not known
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
