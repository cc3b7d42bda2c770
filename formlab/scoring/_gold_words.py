"""The words of a corpus's gold: what it has elsewhere supports it, or contradicts it."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property

import polars as pl

from formlab.scoring._pairs import letters

# A value this short stands in other places by chance.
TELLING = 3
# A word of so many documents is a common one.
_COMMON = 5
# How many pairs of values are remembered.
_KEPT = 1 << 14
# White space as `str.split` has it; what may stand around a word.
_WORD = r"[^\s\x1c-\x1f]+"
_AROUND = ".,:;()[]*'\""


class Words:
    """The words of a corpus's gold, counted when they are first asked for.

    `values` are documents and gold values: doc_id, gold. Of several shards the counts are added.
    """

    def __init__(self, values: pl.DataFrame | None, counted: pl.DataFrame | None = None) -> None:
        self._values = values
        self._seen: dict[tuple[str, str], bool] = {}
        if counted is not None:
            self.table = counted

    @classmethod
    def together(cls, several: Iterable[Words]) -> Words:
        """The words of shards, each of other documents."""
        rows = pl.concat([words.table for words in several])
        rows = rows.group_by("is_folded", "word").agg(pl.all().sum())
        # Of figures, which grow with the documents, only the common ones tell anything.
        figure = pl.col("word").str.contains(r"^[0-9]+$") & (pl.col("documents") < _COMMON)
        rows = rows.filter(~(pl.col("is_folded") & figure))
        return cls(None, rows.sort("is_folded", "word"))

    def contradict_gold(self, gold: str, pred: str) -> bool:
        """Whether words of the gold stand nowhere else, and the answer's words for them do.

        Only words of three or more characters that are not all figures tell; the corpus's own
        spelling counts for the gold, any case for the answer.
        """
        if (gold, pred) not in self._seen:
            if len(self._seen) >= _KEPT:
                self._seen.clear()
            self._seen[gold, pred] = self._contradict(gold, pred)
        return self._seen[gold, pred]

    def _contradict(self, gold: str, pred: str) -> bool:
        ours, theirs = gold.split(), pred.split()
        if len(ours) != len(theirs):
            return False
        changed = [(a, b) for a, b in zip(ours, theirs, strict=True) if letters(a) != letters(b)]
        if not changed or len(changed) * 2 > len(ours) + 1:
            return False
        against = False
        for own, read in changed:
            if len(letters(own)) < TELLING or letters(own).isdigit():
                continue
            known, heard = self._known(own, ours.count(own), read), self.has(letters(read))
            if known and not heard:
                return False
            against = against or (heard and not known)
        return against

    def has(self, word: str) -> bool:
        """Whether the corpus's gold has `word`, as `tokens` gives it; figures are known."""
        return word.isdigit() or self._counts[2].get(word, 0) > 0

    def _known(self, word: str, here: int, other: str) -> bool:
        """Whether the gold has `word` more often than the `here` times of the field itself.

        A slip that one document repeats is none the less a slip beside a common word.
        """
        counts, written, folded = self._counts
        core = word.strip(_AROUND)
        repeated = counts.get(core, 0) > here and folded.get(letters(other), 0) < _COMMON
        return written.get(core, 0) > 1 or repeated

    @cached_property
    def table(self) -> pl.DataFrame:
        """How often each word stands there as written, and in how many documents, so and folded."""
        document = pl.col("doc_id").cast(pl.Categorical).to_physical()
        words = self._values.select(document, word=pl.col("gold").str.extract_all(_WORD))
        words = words.explode("word").drop_nulls().group_by("word", "doc_id").agg(count=pl.len())
        known = words.select(pl.col("word").unique())
        folded = pl.Series("folded", list(map(letters, known["word"])), dtype=pl.String)
        words = words.join(known.with_columns(folded), on="word")
        core, documents = pl.col("word").str.strip_chars(_AROUND), pl.col("doc_id").n_unique()
        written = words.group_by(core).agg(pl.col("count").sum(), documents=documents)
        folded = words.group_by(word="folded").agg(count=pl.lit(0), documents=documents)
        counts = pl.col("count", "documents").cast(pl.UInt32)
        return pl.concat(
            side.select("word", counts, is_folded=pl.lit(value))
            for side, value in ((written, False), (folded, True))
        )

    @cached_property
    def _counts(self) -> tuple[dict[str, int], dict[str, int], dict[str, int]]:
        folded = self.table.filter("is_folded").select("word", "documents")
        written = self.table.filter(~pl.col("is_folded"))
        tables = written.select("word", "count"), written.select("word", "documents"), folded
        return tuple(dict(zip(*table.get_columns(), strict=True)) for table in tables)
