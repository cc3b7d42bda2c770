"""Metrics of text against text: error rates, edit distance, BLEU, ROUGE.

None of them normalises: pass strings from `formlab.text.normalise`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from rapidfuzz import process
from rapidfuzz.distance import LCSseq, Levenshtein

from formlab.metrics import _bleu
from formlab.metrics._spec import SOME_CLAIM, SOME_GOLD, Metric, as_many
from formlab.metrics._words import (
    Numbers,
    alike_or_not,
    alphanumeric,
    chunks,
    lengths,
    ngrams_in_common,
    split,
    stemmed,
)


def _compared(golds: Sequence[Any], preds: Sequence[Any], scorer: Any) -> np.ndarray:
    as_many(golds, preds)
    return process.cpdist(golds, preds, scorer=scorer, dtype=np.int64, workers=1)


def _lengths(texts: Sequence[Any]) -> np.ndarray:
    return np.fromiter(map(len, texts), dtype=np.int64, count=len(texts))


def _pairs(hits: np.ndarray, totals: np.ndarray) -> np.ndarray:
    return np.stack([hits, totals], axis=1).astype(np.float64)


def _character_edits(golds: Sequence[str], preds: Sequence[str]) -> np.ndarray:
    return _pairs(_compared(golds, preds, Levenshtein.distance), _lengths(golds))


def _edits_of_longer(golds: Sequence[str], preds: Sequence[str]) -> np.ndarray:
    longer = np.maximum(_lengths(golds), _lengths(preds))
    return _pairs(_compared(golds, preds, Levenshtein.distance), longer)


def _word_edits(golds: Sequence[str], preds: Sequence[str]) -> np.ndarray:
    parts = np.zeros((len(golds), 2))
    alike, unlike = alike_or_not(golds, preds)
    parts[alike, 1] = lengths([golds[row] for row in alike], split)
    for rows, ours, theirs in chunks(golds, preds, split, unlike):
        parts[rows] = _pairs(_compared(ours, theirs, Levenshtein.distance), _lengths(ours))
    return parts


def _rouge(words: Any, common: Callable[..., np.ndarray]) -> Callable[..., np.ndarray]:
    """Tallies of ROUGE's F1: twice the words in `common`, and the words of both texts."""

    def tallies(golds: Sequence[str], preds: Sequence[str]) -> np.ndarray:
        parts = np.zeros((len(golds), 2))
        for rows, ours, theirs in chunks(golds, preds, words):
            parts[rows] = _pairs(2 * common(ours, theirs), _lengths(ours) + _lengths(theirs))
        return parts

    return tallies


def _same_words(ours: Numbers, theirs: Numbers) -> np.ndarray:
    return ngrams_in_common(ours, theirs)[:, 0]


def _same_words_in_order(ours: Numbers, theirs: Numbers) -> np.ndarray:
    return _compared(ours, theirs, LCSseq.similarity)


def _spurious(golds: Sequence[str], preds: Sequence[str]) -> np.ndarray:
    as_many(golds, preds)
    sides = [[value != "" and not value.isspace() for value in side] for side in (golds, preds)]
    in_gold, in_pred = np.array(sides, dtype=bool).reshape(2, -1)
    return _pairs(in_pred & ~in_gold, in_pred)


# The undefined case is the same for all: nothing on either side. An error rate is also undefined
# for an empty gold text, where jiwer gives the number of insertions: a scorer leaves those out of
# its sums, and what was read there is counted by `spurious_rate`.
cer = Metric(
    name="cer", title="character error rate (CER)", direction="down", high=None,
    unit="edits per code point of the gold text", source="Levenshtein 1966; counts as jiwer 4",
    tallies=_character_edits, need=SOME_GOLD,
    tasks=("text", "visual"),
)  # fmt: skip
# jiwer splits at spaces only, and so keeps a tab or line end within a word; any white space
# separates words here. On normalised texts the two are the same.
wer = Metric(
    name="wer", title="word error rate (WER)", direction="down", high=None,
    unit="edits per word of the gold text",
    source="Levenshtein 1966 over words; counts as jiwer 4", tallies=_word_edits, need=SOME_GOLD,
    tasks=("text", "visual"),
)  # fmt: skip
spurious_rate = Metric(
    name="spurious_rate", title="spurious values", direction="down",
    unit="values given where the gold has none, per value given", source="formlab",
    tallies=_spurious, units=("field",), need=SOME_CLAIM,
    tasks=("text", "marking", "visual", "cross"),
)  # fmt: skip
edit_distance = Metric(
    name="edit_distance", title="normalised edit distance", direction="down",
    unit="edits per code point of the longer text", tallies=_edits_of_longer,
    source="Levenshtein 1966 over the longer length",
    tasks=("text", "fact"),
)  # fmt: skip
bleu = Metric(
    name="bleu", title="BLEU", unit="geometric mean of n-gram precisions times brevity penalty",
    source="Papineni et al., ACL 2002; sacrebleu 2: 13a, smoothing exp",
    tallies=_bleu.statistics, score=_bleu.corpus_score, unit_score=_bleu.sentence_score,
    tasks=("text", "visual"),
    need=_bleu.FOUR_WORDS,
)  # fmt: skip
# FORMCRAFT's tables: its figures are as low as this mean, in which short fields count 0.
bleu_of_fields = Metric(
    name="bleu_of_fields", title="BLEU of fields", unit="mean over fields of BLEU-4, not smoothed",
    source="Papineni et al., ACL 2002; FORMCRAFT, section 4.2, Tables 1 and 3a",
    tallies=_bleu.of_fields, units=("field",), view="counts", need=SOME_GOLD,
    average="mean over fields",
)  # fmt: skip


def _rouge_metric(name: str, title: str, words: Any, common: Callable[..., np.ndarray]) -> Metric:
    return Metric(
        name=name, title=title, unit="F1 over words", tallies=_rouge(words, common),
        source="Lin, ACL workshop 2004; rouge-score 0.1.2", units=("page",),
        tasks=("text", "fact") if name.endswith("_stem") else ("text",),
    )  # fmt: skip


_IN_ORDER = _same_words_in_order
rouge1 = _rouge_metric("rouge1", "ROUGE-1 F1", alphanumeric, _same_words)
rouge1_stem = _rouge_metric("rouge1_stem", "ROUGE-1 F1 of stems", stemmed, _same_words)
# The names are the metrics' own.
rougeL = _rouge_metric("rougeL", "ROUGE-L F1", alphanumeric, _IN_ORDER)  # noqa: N816
rougeL_stem = _rouge_metric("rougeL_stem", "ROUGE-L F1 of stems", stemmed, _IN_ORDER)  # noqa: N816


def _of_markup(metric: Metric, name: str) -> Metric:
    """The same of HTML as it is written: tags, attributes and styles are text like any other."""
    source = "He et al., arXiv:2511.14998v1, section 4.1.1 and table 4"
    how = {"view": "markup", "tasks": ("fact",), "units": ("page",), "source": source}
    return replace(metric, name=name, title=f"{metric.title}, of HTML", **how)


rouge1_html = _of_markup(rouge1_stem, "rouge1_html")
rougeL_html = _of_markup(rougeL_stem, "rougeL_html")  # noqa: N816
edit_distance_html = _of_markup(edit_distance, "edit_distance_html")
