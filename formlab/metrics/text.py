"""Metrics of text against text: error rates, edit distance, BLEU, ROUGE.

None of them normalises: pass strings from `formlab.text.normalise`. BLEU is sacrebleu's by default.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache, partial
from itertools import takewhile
from typing import Any

import numpy as np
from rapidfuzz import process
from rapidfuzz.distance import LCSseq, Levenshtein

_ORDERS = 4
_ALPHANUMERIC = re.compile("[a-z0-9]+")
# What mteval-v13a takes for something else, in this order, and what it sets apart: signs, a period
# or comma beside no digit, a dash after a digit. Of two such signs the first may be the one that is
# no digit; then it is part of a match.
_PLAIN = {"<skipped>": "", "-\n": "", "\n": " "}
_PLAIN |= {"&quot;": '"', "&amp;": "&", "&lt;": "<", "&gt;": ">"}
_SIGNS = '!"#$%&()*+:;<=>?@[\\]^_`{|}~/'
_APART = (
    (re.compile(r"([.,])(?<=[^0-9].)([.,]?)"), r" \1 \2"),
    (re.compile("([.,])(?=[^0-9])"), r" \1 "),
    (re.compile("-(?<=[0-9]-)"), " - "),
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
    # All texts at once is ten times faster; a line end is no part of any text here.
    joined = " \n ".join(["", *map(_plain, texts), ""])
    for sign in _SIGNS:
        joined = joined.replace(sign, f" {sign} ")
    for pattern, spaced in _APART:
        joined = pattern.sub(spaced, joined)
    return map(str.split, joined.split("\n")[1:-1])


def _plain(text: str) -> str:
    text = text.rstrip()
    for written, meant in _PLAIN.items():
        text = text.replace(written, meant)
    return text


def character_edits(
    golds: Sequence[str], preds: Sequence[str], *, of_longer: bool = False
) -> np.ndarray:
    """Edits, and code points of each gold text or of the longer one, shape (n, 2)."""
    edits = process.cpdist(golds, preds, scorer=Levenshtein.distance, dtype=np.int64, workers=1)
    sides = (golds, preds) if of_longer else (golds,)
    sizes = np.max([np.fromiter(map(len, side), dtype=np.int64) for side in sides], axis=0)
    return np.column_stack([edits, sizes]).astype(float)


def _taken_apart(
    golds: Sequence[str], preds: Sequence[str], words: Words
) -> Iterator[tuple[list[str], list[str]]]:
    """The words of both texts of each pair; those of equal texts, as most are, are one list."""
    others = iter(words([pred for gold, pred in zip(golds, preds, strict=True) if gold != pred]))
    for gold, pred, ours in zip(golds, preds, words(golds), strict=True):
        yield ours, ours if gold == pred else next(others)


def edits_of_words(golds: Sequence[str], preds: Sequence[str]) -> np.ndarray:
    """Edits and words of each gold text, shape (n, 2); any white space parts words."""
    pairs = _taken_apart(golds, preds, partial(map, str.split))
    rows = [
        (gold is not pred and Levenshtein.distance(gold, pred), len(gold)) for gold, pred in pairs
    ]
    return np.array(rows, dtype=float).reshape(-1, 2)


def _rouge(
    golds: Sequence[str], preds: Sequence[str], *, words: Words, shared: Callable[..., int]
) -> np.ndarray:
    """Twice the words that both have, and the words of both, shape (n, 2)."""
    pairs = _taken_apart(golds, preds, words)
    rows = [(2 * shared(gold, pred), len(gold) + len(pred)) for gold, pred in pairs]
    return np.array(rows, dtype=float).reshape(-1, 2)


def _shared(gold: Iterable[Any], pred: Iterable[Any]) -> int:
    """How many words or n-grams two texts share, with multiplicity."""
    return (Counter(gold) & Counter(pred)).total()


def _ngrams(words: list[str], order: int) -> Iterator[tuple[str, ...]]:
    return zip(*(words[start:] for start in range(order)), strict=False)


def bleu_statistics(golds: Sequence[str], preds: Sequence[str]) -> np.ndarray:
    """N-gram statistics in words of mteval-v13a: right and predicted of order 1 to 4, lengths."""
    pairs = list(_taken_apart(golds, preds, _mteval))
    sizes = np.array([(len(pred), len(gold)) for gold, pred in pairs], dtype=float).reshape(-1, 2)
    # n words have n - 1 pairs of words, and so on.
    predicted = np.maximum(sizes[:, :1] - np.arange(_ORDERS), 0)
    right = predicted.copy()
    for row, (gold, pred) in enumerate(pairs):
        if gold is not pred:
            orders = range(1, _ORDERS + 1)
            both = (_shared(_ngrams(gold, order), _ngrams(pred, order)) for order in orders)
            # Without a word in common there is no pair of words in common.
            right[row] = [*takewhile(bool, both), *[0] * _ORDERS][:_ORDERS]
    return np.column_stack([right, predicted, sizes])


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


edits_of_longer = partial(character_edits, of_longer=True)
# ROUGE-1 counts words in any order, ROUGE-L those in one.
rouge_1, rouge_l, rouge_1_stems, rouge_l_stems = (
    partial(_rouge, words=words, shared=shared)
    for words in (_alphanumeric, _stemmed)
    for shared in (_shared, LCSseq.similarity)
)
