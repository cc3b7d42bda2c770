"""The strictness ladder: how strictly a prediction still counts as right."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
import polars as pl
from rapidfuzz import process
from rapidfuzz.distance import Levenshtein

from formlab.text.normalise import LADDER_STEPS, normalise
from formlab.text.typed import address, checked, choices, date_readings, money, number

# Pairs judged at once: bounds what is held beside the caller's own strings.
_CHUNK = 16_384
_DIGIT = re.compile("[0-9]")
# 007 and 7 are one number and two codes; without a stated kind a code is assumed.
_CODE = re.compile(r"0[0-9]+")


class Ladder(NamedTuple):
    """The four rungs for one pair, each implied by the one before, and the edit similarity."""

    exact: bool
    normalised: bool
    typed: bool
    fuzzy: bool
    similarity: float


def _same_number(gold: str, pred: str) -> bool:
    value = number(gold)
    return value is not None and value == number(pred)


def _same_money(gold: str, pred: str) -> bool:
    one, other = money(gold), money(pred)
    if one is None or other is None or one.amount != other.amount:
        return False
    # A form often prints the currency in its label, so a value may leave it out.
    return one.currency == other.currency or None in (one.currency, other.currency)


def _same_date(gold: str, pred: str) -> bool:
    ours, theirs = date_readings(gold), date_readings(pred)
    if _ambiguous(ours) and _ambiguous(theirs):
        # Both written day and month in numbers: 1/2/22 and 2/1/22 share no reading.
        return ours == theirs
    return bool((set(ours) & set(theirs)) - {None})


def _ambiguous(readings: tuple[object, object]) -> bool:
    return None not in readings and readings[0] != readings[1]


def _same_choices(gold: str, pred: str) -> bool:
    if (box := checked(gold)) is not None and (other := checked(pred)) is not None:
        return box == other
    options = choices(gold)
    return options is not None and options == choices(pred)


def _same_address(gold: str, pred: str) -> bool:
    words = address(gold)
    return words is not None and words == address(pred)


def _same_guess(gold: str, pred: str) -> bool:
    if not (_DIGIT.search(gold) and _DIGIT.search(pred)):
        return False
    if _CODE.fullmatch(gold.strip()) or _CODE.fullmatch(pred.strip()):
        return False
    return any(same(gold, pred) for same in (_same_number, _same_money, _same_date))


_SAME: dict[str, Callable[[str, str], bool]] = {
    "number": _same_number,
    "money": _same_money,
    "date": _same_date,
    "choice": _same_choices,
    "checkbox": _same_choices,
    "radio": _same_choices,
    "dropdown": _same_choices,
    "address": _same_address,
}


def ladder(
    gold: str,
    pred: str,
    *,
    kind: str | None = None,
    accepted: Sequence[str] = (),
    threshold: float = 0.8,
) -> Ladder:
    """The rungs on which `pred` counts as `gold`, or as any of the `accepted` values.

    Parameters
    ----------
    gold, pred
        The annotated and the predicted value, as written.
    kind
        The field's type. For number, money, date, choice, checkbox, radio, dropdown and address
        `typed` compares the parsed values (`formlab.text.typed`). For any other kind and None
        it holds when both are fully a number, an amount or a date, with a digit, and the same.
    accepted
        Further right values; each rung, and the similarity, takes the best over all.
    threshold
        The least similarity that is `fuzzy`, in [0, 1].

    Returns
    -------
    Ladder
        `exact` (same code points) implies `normalised` (NFC, white space, case, dashes, quotes)
        implies `typed` implies `fuzzy`. `similarity` is 1 - Levenshtein distance over the longer
        length, of the normalised texts, in [0, 1]; two empty texts have 1.

    Examples
    --------
    >>> ladder("Jul 1, 2022", "2022-07-01", kind="date")
    Ladder(exact=False, normalised=False, typed=True, fuzzy=True, similarity=0.09090909090909094)
    >>> ladder("O’Brien", "o'brien").normalised, ladder("1,234", "1234.00").typed
    (True, True)
    """
    golds = [gold, *accepted]
    rungs, similarity = _judge(golds, [pred] * len(golds), [kind] * len(golds), threshold)
    return Ladder(*(bool(rung) for rung in rungs.any(axis=0)), float(similarity.max()))


def ladders(
    golds: Sequence[str | None],
    preds: Sequence[str | None],
    kinds: Sequence[str | None] | None = None,
    accepted: Sequence[Sequence[str] | None] | None = None,
    *,
    threshold: float = 0.8,
) -> pl.DataFrame:
    """`ladder` of many pairs at once.

    Parameters
    ----------
    golds, preds
        n values each. Where either is None nothing was compared: no rung holds, similarity is 0.
    kinds, accepted
        n kinds and n lists of further values, or None for none at all.
    threshold
        As for `ladder`.

    Returns
    -------
    polars.DataFrame
        n rows; the columns of `Ladder`.

    Raises
    ------
    ValueError
        If the sequences differ in length, or `threshold` is outside [0, 1].

    Examples
    --------
    >>> ladders(["a", "1.0"], ["A", "2.0"], threshold=0.6).rows()
    [(False, True, True, True, 1.0), (False, False, False, True, 0.6666666666666667)]
    """
    n = len(golds)
    kinds = [None] * n if kinds is None else kinds
    accepted = [()] * n if accepted is None else accepted
    if not len(preds) == len(kinds) == len(accepted) == n:
        raise ValueError(
            f"{n} golds, {len(preds)} preds, {len(kinds)} kinds and {len(accepted)} accepted "
            "must be as many"
        )
    rungs, similarity = np.zeros((n, 4), dtype=bool), np.zeros(n)
    for rows, *pairs in _candidates(golds, preds, kinds, accepted):
        held, close = _judge(*pairs, threshold)
        np.logical_or.at(rungs, rows, held)
        np.maximum.at(similarity, rows, close)
    columns = dict(zip(Ladder._fields, [*rungs.T, similarity], strict=True))
    return pl.DataFrame(columns)


def _candidates(
    golds: Sequence[str | None],
    preds: Sequence[str | None],
    kinds: Sequence[str | None],
    accepted: Sequence[Sequence[str] | None],
) -> Iterator[tuple[list[int], list[str], list[str], list[str | None]]]:
    """Row, right value, prediction and kind of each comparison, a chunk at a time."""
    chunk: tuple[list, ...] = ([], [], [], [])
    for row, (gold, pred, kind, more) in enumerate(zip(golds, preds, kinds, accepted, strict=True)):
        if gold is None or pred is None:
            continue
        for right in (gold,) if not more else (gold, *more):
            for column, item in zip(chunk, (row, right, pred, kind), strict=True):
                column.append(item)
        if len(chunk[0]) >= _CHUNK:
            yield chunk
            chunk = ([], [], [], [])
    if chunk[0]:
        yield chunk


def _judge(
    golds: list[str], preds: list[str], kinds: list[str | None], threshold: float
) -> tuple[np.ndarray, np.ndarray]:
    """Rungs, shape (n, 4), and similarity, shape (n,), of n comparisons."""
    if not 0 <= threshold <= 1:
        raise ValueError(f"threshold must lie in [0, 1], it is {threshold}")
    normal = {text: normalise(text, LADDER_STEPS) for text in {*golds, *preds}}
    ours, theirs = [normal[text] for text in golds], [normal[text] for text in preds]
    rungs = np.empty((len(golds), 4), dtype=bool)
    rungs[:, 0] = [gold == pred for gold, pred in zip(golds, preds, strict=True)]
    rungs[:, 1] = [one == other for one, other in zip(ours, theirs, strict=True)]
    rungs[:, 2] = rungs[:, 1]
    for row in np.flatnonzero(~rungs[:, 1]).tolist():
        rungs[row, 2] = _SAME.get(kinds[row], _same_guess)(golds[row], preds[row])
    similarity = process.cpdist(
        ours, theirs, scorer=Levenshtein.normalized_similarity, dtype=np.float64, workers=1
    )
    rungs[:, 3] = rungs[:, 2] | (similarity >= threshold)
    return rungs, similarity
