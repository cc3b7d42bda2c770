"""Metrics of text against text: error rates, edit distance, BLEU, ROUGE.

None of them normalises: pass strings from `formlab.text.normalise`. BLEU is sacrebleu's by default.
"""

import operator
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache, partial
from typing import Any

import numpy as np
from rapidfuzz import process
from rapidfuzz.distance import LCSseq, Levenshtein

# Texts whose words are held at once.
_MANY = 256
_ORDERS = 4
_ALPHANUMERIC = re.compile("[a-z0-9]+")
_ENTITIES = (("&quot;", '"'), ("&amp;", "&"), ("&lt;", "<"), ("&gt;", ">"))
# What mteval-v13a sets apart: signs, a period or comma beside no digit, a dash after a digit. Of
# two such signs the first may be the one that is no digit; then it is part of a match.
_SIGNS = '!"#$%&()*+:;<=>?@[\\]^_`{|}~/'
_AFTER, _BEFORE = re.compile(r"([.,])(?<=[^0-9].)([.,]?)"), re.compile("([.,])(?=[^0-9])")
_DASH = re.compile("-(?<=[0-9]-)")
Words = Callable[[Sequence[str]], Iterable[Sequence[Any]]]


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
    for start in range(0, len(texts), _MANY):
        some = texts[start : start + _MANY]
        # Many texts at once is faster; a line end is no part of any text here.
        joined = " \n ".join(["", *some, ""])
        if joined.count("\n") > len(some) + 1 or "&" in joined or "<skipped>" in joined:
            joined = " \n ".join(["", *map(_mteval_clean, some), ""])
        for sign in _SIGNS:
            joined = joined.replace(sign, f" {sign} ")
        pieces = _AFTER.split(joined)
        pieces[1::3] = [f" {sign} " for sign in pieces[1::3]]
        pieces = _BEFORE.split("".join(pieces))
        pieces[1::2] = [f" {sign} " for sign in pieces[1::2]]
        yield from map(str.split, _DASH.sub(" - ", "".join(pieces)).split("\n")[1:-1])


def _mteval_clean(text: str) -> str:
    text = text.rstrip().replace("<skipped>", "").replace("-\n", "").replace("\n", " ")
    for entity, char in _ENTITIES if "&" in text else ():
        text = text.replace(entity, char)
    return text


def _counted(
    golds: Sequence[str],
    preds: Sequence[str],
    words: Words,
    shared: Callable[[list, list], Any],
    orders: int = 1,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """How many words both texts of each pair share, shape (n, orders), and how many each has.

    Most texts are read perfectly: of those the words are counted, and only of others compared.
    """
    differ = np.fromiter(map(operator.ne, golds, preds), dtype=bool, count=len(golds))
    same, rest = np.flatnonzero(~differ), np.flatnonzero(differ).tolist()
    sizes = np.zeros((2, len(golds)), dtype=np.int64)
    sizes[:, same] = _lengths(words([golds[row] for row in same.tolist()]))
    # n words have n - 1 pairs of words, and so on.
    both = np.maximum(sizes[0][:, None] - np.arange(orders), 0)
    # Some at a time, so that memory does not grow.
    for rows in (rest[start : start + _MANY] for start in range(0, len(rest), _MANY)):
        ours, theirs = (list(words([side[row] for row in rows])) for side in (golds, preds))
        sizes[:, rows] = _lengths(ours), _lengths(theirs)
        both[rows] = np.reshape(shared(ours, theirs), (-1, orders))
    return both, *sizes


def _lengths(texts: Iterable[Sequence[Any]]) -> np.ndarray:
    return np.fromiter(map(len, texts), dtype=np.int64)


def _compared(golds: Sequence[Any], preds: Sequence[Any], scorer: Any) -> np.ndarray:
    return process.cpdist(golds, preds, scorer=scorer, dtype=np.int64, workers=1)


_alike, _in_order = (partial(_compared, scorer=of.similarity) for of in (Levenshtein, LCSseq))


def character_edits(
    golds: Sequence[str], preds: Sequence[str], *, of_longer: bool = False
) -> np.ndarray:
    """Edits, and code points of each gold text or of the longer one, shape (n, 2)."""
    edits = _compared(golds, preds, Levenshtein.distance)
    sizes = _lengths(golds)
    sizes = np.maximum(sizes, _lengths(preds)) if of_longer else sizes
    return np.column_stack([edits, sizes]).astype(float)


def edits_of_words(golds: Sequence[str], preds: Sequence[str]) -> np.ndarray:
    """Edits and words of each gold text, shape (n, 2); any white space parts words."""
    both, ours, theirs = _counted(golds, preds, partial(map, str.split), _alike)
    return np.column_stack([np.maximum(ours, theirs) - both[:, 0], ours]).astype(float)


def _rouge(
    golds: Sequence[str], preds: Sequence[str], *, words: Words, shared: Callable[..., Any]
) -> np.ndarray:
    """Twice the words that both have, and the words of both, shape (n, 2)."""
    both, ours, theirs = _counted(golds, preds, words, shared)
    return np.column_stack([2 * both[:, 0], ours + theirs]).astype(float)


def _shared(gold: Iterable[Any], pred: Iterable[Any]) -> int:
    """How many words or n-grams two texts share, with multiplicity."""
    return (Counter(gold) & Counter(pred)).total()


def bleu_statistics(golds: Sequence[str], preds: Sequence[str]) -> np.ndarray:
    """N-gram statistics in words of mteval-v13a: right and predicted of order 1 to 4, lengths."""
    # Of each pair n-grams right and predicted, words predicted, words of the gold text.
    right, ours, theirs = _counted(golds, preds, _mteval, _right_ngrams, _ORDERS)
    predicted = np.maximum(theirs[:, None] - np.arange(_ORDERS), 0)
    return np.column_stack([right, predicted, theirs, ours]).astype(float)


def _right_ngrams(golds: list[list[str]], preds: list[list[str]]) -> list[list[int]]:
    def grams(words: list[str], order: int) -> Iterator[tuple[str, ...]]:
        return zip(*(words[start:] for start in range(order)), strict=False)

    return [
        [_shared(grams(gold, order), grams(pred, order)) for order in range(1, _ORDERS + 1)]
        for gold, pred in zip(golds, preds, strict=True)
    ]


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
    for shared in (lambda *sides: [*map(_shared, *sides)], _in_order)
)
