"""Metrics of text against text: error rates, edit distance, BLEU, ROUGE.

None of them normalises: pass strings from `formlab.text.normalise`. BLEU is sacrebleu's by default.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache, partial
from typing import Any

import numpy as np
from rapidfuzz import process
from rapidfuzz.distance import LCSseq, Levenshtein

from formlab.metrics.metric import as_many

# Texts whose words are held at once.
_MANY = 256
_ORDERS = 4
_ALPHANUMERIC = re.compile("[a-z0-9]+")
_ENTITIES = (("&quot;", '"'), ("&amp;", "&"), ("&lt;", "<"), ("&gt;", ">"))
# What mteval-v13a sets apart: signs, a period or comma beside no digit, a dash after a digit.
_SIGNS = frozenset('!"#$%&()*+:;<=>?@[\\]^_`{|}~/')
_SET_APART = (
    (re.compile(r"([^0-9])([.,])"), r"\1 \2 "),
    (re.compile(r"([.,])([^0-9])"), r" \1 \2"),
    (re.compile(r"([0-9])(-)"), r"\1 \2 "),
)
Words = Callable[[Sequence[str]], Iterable[list[str]]]


def _alphanumeric(texts: Sequence[str]) -> Iterator[list[str]]:
    """The words of ROUGE: runs of a to z and 0 to 9 in the lower-cased text."""
    return (_ALPHANUMERIC.findall(text.lower()) for text in texts)


def _stemmed(texts: Sequence[str]) -> Iterator[list[str]]:
    return (list(map(_stem, words)) for words in _alphanumeric(texts))


@lru_cache(maxsize=1 << 16)
def _stem(word: str) -> str:
    # With it comes all of nltk, which takes two seconds.
    from nltk.stem.porter import PorterStemmer

    # ROUGE leaves words of three letters and fewer alone.
    return PorterStemmer().stem(word) if len(word) > 3 else word


def _mteval(texts: Sequence[str]) -> Iterator[list[str]]:
    """The words of mteval-v13a, the default tokeniser of BLEU."""
    # All texts at once is faster; a line end is no part of any text here.
    joined = " \n ".join(["", *texts, ""])
    if joined.count("\n") > len(texts) + 1 or "&" in joined or "<skipped>" in joined:
        joined = " \n ".join(["", *map(_mteval_clean, texts), ""])
    for sign in _SIGNS.intersection(joined):
        joined = joined.replace(sign, f" {sign} ")
    for pattern, apart in _SET_APART:
        joined = pattern.sub(apart, joined)
    return map(str.split, joined.split("\n")[1:-1])


def _mteval_clean(text: str) -> str:
    text = text.rstrip().replace("<skipped>", "").replace("-\n", "").replace("\n", " ")
    for entity, char in _ENTITIES if "&" in text else ():
        text = text.replace(entity, char)
    return text


def _in_words(
    golds: Sequence[str], preds: Sequence[str], words: Words
) -> Iterator[tuple[slice, list[list[str]], list[list[str]]]]:
    """The words of both texts of some pairs at a time, so that memory does not grow."""
    as_many(golds, preds)
    for start in range(0, len(golds), _MANY):
        rows = slice(start, start + _MANY)
        texts = list(dict.fromkeys((*golds[rows], *preds[rows])))
        known = dict(zip(texts, words(texts), strict=True))
        yield rows, *([known[text] for text in side[rows]] for side in (golds, preds))


def _compared(golds: Sequence[Any], preds: Sequence[Any], scorer: Any) -> np.ndarray:
    as_many(golds, preds)
    return process.cpdist(golds, preds, scorer=scorer, dtype=np.int64, workers=1)


def _lengths(texts: Sequence[Any]) -> np.ndarray:
    return np.fromiter(map(len, texts), dtype=np.int64, count=len(texts))


def _pairs(hits: np.ndarray, totals: np.ndarray) -> np.ndarray:
    return np.stack([hits, totals], axis=1).astype(np.float64)


def character_edits(golds: Sequence[str], preds: Sequence[str]) -> np.ndarray:
    """Edits and code points of each gold text, shape (n, 2); of words where texts are lists."""
    return _pairs(_compared(golds, preds, Levenshtein.distance), _lengths(golds))


def edits_of_longer(golds: Sequence[str], preds: Sequence[str]) -> np.ndarray:
    """Edits and code points of the longer text of each pair, shape (n, 2)."""
    longer = np.maximum(_lengths(golds), _lengths(preds))
    return _pairs(_compared(golds, preds, Levenshtein.distance), longer)


def _shared(gold: Sequence[Any], pred: Sequence[Any]) -> int:
    """How many words or n-grams two texts share, with multiplicity."""
    left: dict[Any, int] = {}
    # Of a few words a Counter takes three times as long.
    for gram in gold:
        left[gram] = left.get(gram, 0) + 1
    shared = 0
    for gram in pred:
        if left.get(gram):
            left[gram] -= 1
            shared += 1
    return shared


def _shared_words(ours: list[list[str]], theirs: list[list[str]]) -> np.ndarray:
    """ROUGE-1: twice the words that both have, and the words of both."""
    shared = np.fromiter(map(_shared, ours, theirs), dtype=np.int64, count=len(ours))
    return _pairs(2 * shared, _lengths(ours) + _lengths(theirs))


def _in_order(ours: list[list[str]], theirs: list[list[str]]) -> np.ndarray:
    """ROUGE-L: twice the words that both have in one order, and the words of both."""
    shared = _compared(ours, theirs, LCSseq.similarity)
    return _pairs(2 * shared, _lengths(ours) + _lengths(theirs))


def _of_words(words: Words, counted: Callable[..., np.ndarray]) -> Callable[..., np.ndarray]:
    """Tallies, shape (n, 2), that are counted in the words of both texts."""

    def tallies(golds: Sequence[str], preds: Sequence[str]) -> np.ndarray:
        parts = np.zeros((len(golds), 2))
        for rows, ours, theirs in _in_words(golds, preds, words):
            parts[rows] = counted(ours, theirs)
        return parts

    return tallies


def bleu_statistics(golds: Sequence[str], preds: Sequence[str]) -> np.ndarray:
    """N-gram statistics in words of mteval-v13a: right and predicted of order 1 to 4, lengths."""
    # Of each pair n-grams right and predicted, words predicted, words of the gold text.
    parts = np.zeros((len(golds), 2 * _ORDERS + 2))
    for rows, ours, theirs in _in_words(golds, preds, _mteval):
        parts[rows, -2], parts[rows, -1] = _lengths(theirs), _lengths(ours)
        parts[rows, :_ORDERS] = np.maximum(parts[rows, -1:] - np.arange(_ORDERS), 0)
        for row, (gold, pred) in enumerate(zip(ours, theirs, strict=True), start=rows.start):
            # Texts that are the same have one list of words.
            if gold is not pred:
                parts[row, :_ORDERS] = _right_ngrams(gold, pred)
    parts[:, _ORDERS:-2] = np.maximum(parts[:, -2:-1] - np.arange(_ORDERS), 0)
    return parts


def _right_ngrams(gold: list[str], pred: list[str]) -> list[int]:
    right, ours, theirs = [0] * _ORDERS, gold, pred
    for order in range(_ORDERS):
        right[order] = _shared(ours, theirs)
        if not right[order]:
            # Without shared n-grams there are no longer ones.
            break
        # An n-gram is the one without its last word, and that word.
        ours = list(zip(ours, gold[order + 1 :], strict=False))
        theirs = list(zip(theirs, pred[order + 1 :], strict=False))
    return right


def corpus_bleu(parts: np.ndarray, *, effective: bool = False) -> np.ndarray:
    """BLEU of summed statistics, in [0, 1]: sacrebleu's `corpus_bleu` over 100.

    If `effective`, as of one pair alone, orders longer than the prediction do not count.
    """
    parts = np.asarray(parts, dtype=float)
    right, predicted = parts[..., :_ORDERS], parts[..., _ORDERS : 2 * _ORDERS]
    pred_words, gold_words = parts[..., -2], parts[..., -1]
    counted = np.logical_and.accumulate(predicted > 0, axis=-1)
    none = counted & (right == 0)
    # Smoothing "exp": the k-th order without a hit counts as 1 / 2^k of one.
    hits = np.where(none, np.ldexp(1.0, -np.cumsum(none, axis=-1)), right)
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.where(counted, np.log(hits / predicted), 0.0).sum(axis=-1)
        mean = logs / (counted.sum(axis=-1) if effective else _ORDERS)
        value = np.exp(np.minimum(0.0, 1.0 - gold_words / pred_words) + mean)
    defined = right.any(axis=-1) & (counted.all(axis=-1) | effective)
    return np.where((pred_words == 0) & (gold_words == 0), np.nan, np.where(defined, value, 0.0))


sentence_bleu = partial(corpus_bleu, effective=True)


def bleu_of_fields(golds: Sequence[str], preds: Sequence[str]) -> np.ndarray:
    """BLEU-4 of each field without smoothing and 1; 0 and 0 where the gold is empty."""
    parts = bleu_statistics(golds, preds)
    # Without a 4-gram in common it is 0, so a field of fewer than four words has no other.
    whole = parts[:, :_ORDERS].all(axis=1)
    scores = np.where(whole, np.nan_to_num(corpus_bleu(parts)), 0.0)
    return np.stack([scores, parts[:, -1] > 0], axis=1)


# Any white space parts words.
edits_of_words = _of_words(partial(map, str.split), character_edits)
rouge_1, rouge_l = _of_words(_alphanumeric, _shared_words), _of_words(_alphanumeric, _in_order)
rouge_1_stems, rouge_l_stems = _of_words(_stemmed, _shared_words), _of_words(_stemmed, _in_order)
