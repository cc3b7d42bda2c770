"""Metrics of text against text: error rates, edit distance, BLEU, ROUGE.

None of them normalises: pass strings from `formlab.text.normalise`. BLEU is sacrebleu's by default.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache, partial
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
Texts = Sequence[str]
Words = Callable[[Texts], Iterable[list[str]]]


def _alphanumeric(texts: Texts) -> Iterator[list[str]]:
    """The words of ROUGE: runs of a to z and 0 to 9 in the lower-cased text."""
    return (_ALPHANUMERIC.findall(text.lower()) for text in texts)


def _stemmed(texts: Texts) -> Iterator[list[str]]:
    return (list(map(_stem, words)) for words in _alphanumeric(texts))


@lru_cache(maxsize=1 << 16)
def _stem(word: str) -> str:
    # With it comes all of nltk, which takes two seconds.
    from nltk.stem.porter import PorterStemmer

    # ROUGE leaves words of three letters and fewer alone.
    return PorterStemmer().stem(word) if len(word) > 3 else word


def _mteval(texts: Texts) -> Iterator[list[str]]:
    """The words of mteval-v13a, the default tokeniser of BLEU."""
    if any(map("".join(texts).__contains__, _PLAIN)):
        texts = list(map(str.rstrip, texts))
        for written, meant in _PLAIN.items():
            texts = [text.replace(written, meant) for text in texts]
    # All texts at once is ten times faster; a line end is no part of any text here.
    joined = " \n ".join(["", *texts, ""])
    for sign in _SIGNS:
        joined = joined.replace(sign, f" {sign} ")
    for pattern, spaced in _APART:
        joined = pattern.sub(spaced, joined)
    return map(str.split, joined.split("\n")[1:-1])


def character_edits(golds: Texts, preds: Texts, *, of_longer: bool = False) -> np.ndarray:
    """Edits, and code points of each gold text or of the longer one, shape (n, 2)."""
    edits = process.cpdist(golds, preds, scorer=Levenshtein.distance, dtype=np.int64, workers=1)
    sides = (golds, preds) if of_longer else (golds,)
    sizes = np.max([np.fromiter(map(len, side), dtype=np.int64) for side in sides], axis=0)
    return np.column_stack([edits, sizes]).astype(float)


def _compared(
    golds: Texts, preds: Texts, words: Words, compare: Callable[..., Any]
) -> tuple[np.ndarray, list[int], list[Any]]:
    """Numbers of words of each pair, shape (n, 2); which pairs differ, and their words compared."""
    odd = [row for row, gold in enumerate(golds) if gold != preds[row]]
    # No list of words is kept: so many of them would be walked by the garbage collector.
    pairs = zip(*(words([side[row] for row in odd]) for side in (golds, preds)), strict=True)
    counted = [(len(other), compare(ours, other)) for ours, other in pairs]
    sizes = np.repeat(np.fromiter(map(len, words(golds)), dtype=float)[:, None], 2, axis=1)
    sizes[odd, 1] = [size for size, _ in counted]
    return sizes, odd, [result for _, result in counted]


def edits_of_words(golds: Texts, preds: Texts) -> np.ndarray:
    """Edits and words of each gold text, shape (n, 2); any white space parts words."""
    sizes, odd, edits = _compared(golds, preds, partial(map, str.split), Levenshtein.distance)
    parts = sizes[:, :1] * [0, 1]
    parts[odd, 0] = edits
    return parts


def _rouge(golds: Texts, preds: Texts, *, words: Words, shared: Callable[..., int]) -> np.ndarray:
    """Twice the words that both have, and the words of both, shape (n, 2)."""
    sizes, odd, counts = _compared(golds, preds, words, shared)
    parts = sizes.sum(axis=1, keepdims=True) * [1, 1]
    parts[odd, 0] = np.multiply(counts, 2)
    return parts


def _shared(gold: Sequence[Any], pred: Sequence[Any]) -> int:
    """How many words or n-grams two texts share, with multiplicity."""
    ours, theirs = set(gold), set(pred)
    # What one side has once at most is shared once at most.
    is_once = len(ours) == len(gold) or len(theirs) == len(pred)
    return len(ours & theirs) if is_once else (Counter(gold) & Counter(pred)).total()


def _shared_ngrams(gold: list[str], pred: list[str]) -> list[int]:
    """How many n-grams of order 1 to 4 two texts share."""
    counts, sides = [_shared(gold, pred)], [gold, pred]
    while counts[-1] and len(counts) < _ORDERS:
        # An n-gram is one of the order below and the word behind it.
        pairs = zip(sides, (gold, pred), strict=True)
        sides = [list(zip(of, words[len(counts) :], strict=False)) for of, words in pairs]
        counts.append(_shared(*sides))
    return counts + [0] * (_ORDERS - len(counts))


def bleu_statistics(golds: Texts, preds: Texts) -> np.ndarray:
    """N-gram statistics in words of mteval-v13a: right and predicted of order 1 to 4, lengths."""
    sizes, odd, counts = _compared(golds, preds, _mteval, _shared_ngrams)
    # n words have n - 1 pairs of words, and so on.
    predicted = np.maximum(sizes[:, 1:] - np.arange(_ORDERS), 0)
    right = predicted.copy()
    right[odd] = np.reshape(counts, (-1, _ORDERS))
    return np.column_stack([right, predicted, sizes[:, ::-1]])


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


def bleu_of_fields(golds: Texts, preds: Texts) -> np.ndarray:
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
