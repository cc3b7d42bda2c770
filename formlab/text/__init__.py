"""Pure text functions: normalisers, typed parsers, and the strictness ladder.

The ladder tells whether two values match exactly, normalised, as parsed, or nearly. Which of day
and month stands first in a date, its document says (`date_orders`).
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import chain
from typing import Any, Literal, NamedTuple

import polars as pl
from rapidfuzz.distance import Levenshtein

from formlab.text import values as parsers
from formlab.text.normalise import LADDER_STEPS, STEPS, address, as_text, normalise
from formlab.text.values import Money, checked, choices, date, is_null_word, money, number

__all__ = [
    "DATE_RULE", "LADDER_STEPS", "Money", "address", "as_text", "checked", "choices", "date",
    "date_order", "date_orders", "is_null_word", "keys", "ladder", "ladders", "money", "normalise",
    "number", "orders_shown",
]  # fmt: skip
Order = Literal["day", "month"]
# Named in the settings of scores that compare dates.
DATE_RULE = "dates=document,else corpus"
_DIGIT = re.compile("[0-9]")
# 007 and 7 are one number and two codes; without a stated kind a code is assumed.
_CODE = re.compile(r"0[0-9]+")
# Forms repeat values and dates; causes, rules and rungs read the same ones, one after the other.
_remembered = lru_cache(maxsize=1 << 16)


def _amount(text: str) -> Money | None:
    """A number or an amount; per cent stands for a currency, since no amount has it."""
    value = number(text)
    return money(text) if value is None else Money(value, "%" if "%" in text else None)


def _share(first: Iterable[Any], second: Iterable[Any]) -> bool:
    return not set(first).isdisjoint(second)


def _choice(text: str) -> tuple[bool | frozenset[str], ...]:
    """The state of a box, and the options that it names: of the same choices one is the same."""
    return tuple(part for part in (checked(text), choices(text)) if part is not None)


# How values of a kind are read.
_READERS = {"number": _amount, "money": money, "date": parsers.possible_dates, "address": address}
_READERS |= dict.fromkeys(("choice", "checkbox", "radio", "dropdown"), _choice)


@_remembered
def read_as(kind: str, text: str) -> Any:
    """What a text is as a value of a kind; None if it is none."""
    return _READERS[kind](text) or None


def _is_same(kind: str, first: Any, second: Any, order: str | None) -> bool:
    if isinstance(first, Money):
        # A form often prints the currency in its label, so a value may leave it out.
        codes = [money.currency.split("/") for money in (first, second) if money.currency]
        return first.amount == second.amount and (len(codes) < 2 or _share(*codes))
    if kind != "date":
        return first == second if kind == "address" else _share(first, second)
    if order == "either":
        return _share(chain(*first), chain(*second))
    # 1/2/22 may be two dates: without an order only what may be the same two is surely equal.
    return all(
        _share(first[at] or first[1 - at], second[at] or second[1 - at])
        for at in {"month": (0,), "day": (1,)}.get(order, (0, 1))
    )


def _kinds_of(kind: str | None, *texts: str) -> Sequence[str]:
    """As what texts are read: if their kind says nothing, as amounts and dates, but for codes."""
    if kind in _READERS:
        return (kind,)
    is_value = all(_DIGIT.search(text) and not _CODE.fullmatch(text.strip()) for text in texts)
    return ("number", "date") if is_value else ()


def _same_value(gold: str, pred: str, kind: str | None, order: str | None) -> bool:
    for name in _kinds_of(kind, gold, pred):
        first = read_as(name, gold)
        if first and (second := read_as(name, pred)) and _is_same(name, first, second, order):
            return True
    return False


class Ladder(NamedTuple):
    """The four rungs for one pair, each implied by the one before, and the edit similarity."""

    exact: bool
    normalised: bool
    typed: bool
    fuzzy: bool
    similarity: float


def ladder(
    gold: str,
    pred: str,
    *,
    kind: str | None = None,
    accepted: Sequence[str] = (),
    threshold: float = 0.8,
    order: str | None = None,
) -> Ladder:
    """The rungs on which `pred` counts as `gold`, or as any of the `accepted` values.

    `exact` (same code points) implies `normalised` (NFC, white space, case, dashes, quotes) implies
    `typed` implies `fuzzy` (a similarity of `threshold` or more). `similarity` is 1 - Levenshtein
    distance over the longer length, of the normalised texts, in [0, 1]; two empty texts have 1.
    Each rung, and the similarity, is the best over all right values.

    With the `kind` number, money, date, choice, checkbox, radio, dropdown or address `typed`
    compares the parsed values (`formlab.text.values`). With any other it holds when both are fully
    a number, an amount or a date, with a digit, and the same. `order`: which comes first in a date
    of numbers alone, ``day`` or ``month``. If left out, 05/06/2020 is equal only to a date that
    leaves the same choice; ``either`` lets both readings count.

    >>> ladder("Jul 1, 2022", "2022-07-01", kind="date")
    Ladder(exact=False, normalised=False, typed=True, fuzzy=True, similarity=0.09090909090909094)
    >>> ladder("O’Brien", "o'brien").normalised, ladder("1,234", "1234.00").typed
    (True, True)
    >>> [ladder("2020-05-07", "07/05/2020", order=order).typed for order in (None, "day", "month")]
    [False, True, False]
    """
    row = ladders([gold], [pred], [kind], [accepted], threshold=threshold, orders=[order]).row(0)
    return Ladder(*row[:-1])


def ladders(
    golds: Sequence[str | None],
    preds: Sequence[str | None],
    kinds: Sequence[str | None] | None = None,
    accepted: Sequence[Sequence[str] | None] | None = None,
    *,
    threshold: float = 0.8,
    orders: Sequence[str | None] | None = None,
) -> pl.DataFrame:
    """`ladder` of n pairs at once: n golds, preds, kinds, accepted, orders (null: none at all).

    The data frame has n rows with the columns of `Ladder`, and `ambiguous`: whether a pair is the
    same date only if day and month are read in the other order. Where a gold or a pred is null
    nothing was compared: no rung holds, and the similarity is 0. `ValueError` if the sequences
    differ in length, or `threshold` is outside [0, 1].

    >>> ladders(["a", "1.0"], ["A", "2.0"], threshold=0.6).rows()
    [(False, True, True, True, 1.0, False), (False, False, False, True, 0.6666666666666667, False)]
    """
    if not 0 <= threshold <= 1:
        raise ValueError(f"threshold must lie in [0, 1], it is {threshold}")
    told = ([None] * len(golds) if c is None else c for c in (kinds, orders, accepted))
    rows = []
    for gold, pred, kind, order, others in zip(golds, preds, *told, strict=True):
        # What is equal as it is needs no reading.
        equal = gold is not None and gold == pred
        rungs = (equal, equal, equal, equal, float(equal), False)
        for right in () if equal or None in (gold, pred) else (gold, *(others or ())):
            rungs = tuple(map(max, rungs, _rungs(right, pred, kind, order, threshold)))
        rows.append(rungs)
    schema = dict.fromkeys((*Ladder._fields, "ambiguous"), pl.Boolean) | {"similarity": pl.Float64}
    table = pl.DataFrame(rows, schema, orient="row")
    return table.with_columns(pl.col("ambiguous") & ~pl.col("typed"))


@_remembered
def _rungs(gold: str, pred: str, kind: str | None, order: str | None, threshold: float) -> tuple:
    """The `Ladder` of two texts that differ, and whether they are one date in the other order."""
    normal = [normalise(text, LADDER_STEPS[:-1]) for text in (gold, pred)]
    # Shorter by the spaces of its units, a text would be less like another.
    same = len({STEPS[LADDER_STEPS[-1]](text) for text in normal}) == 1
    typed = same or _same_value(gold, pred, kind, order)
    close = 1.0 if same else Levenshtein.normalized_similarity(*normal)
    may_be_date = not typed and (kind == "date" or kind not in _READERS)
    is_swapped = may_be_date and _same_value(gold, pred, "date", "either")
    return gold == pred, same, typed, typed or close >= threshold, close, is_swapped


@_remembered
def keys(value: str, kind: str | None = None, *, parsed: bool = True) -> set[int]:
    """Numbers of which any two texts that hold on the rung `normalised` share one.

    With `parsed` any two that hold on `typed` do, whatever the order of day and month.

    >>> bool(keys("1 May 2020", "date") & keys("05/01/2020", "date"))
    True
    """
    parts: list[Any] = [normalise(value, LADDER_STEPS)]
    for name in _kinds_of(kind, value) if parsed else ():
        found = read_as(name, value) or ()
        found = chain(*found) if name == "date" else found
        # The currency of an amount may be left out.
        parts += found[:1] if isinstance(found, Money) else found
    return set(map(hash, parts))


# A corpus speaks for a document without an order if so many others show one, such a share the same.
_ENOUGH, _SHARE = 3, 0.95
# Numbers between slashes or hyphens with all that is stuck to them, so that no code is cut up.
_IN_TEXT = r"[\w/.-]*\d[/-]\d{1,2}[/-]\d[\w/-]*"
_YEAR = "^([0-9]{1,2}[/-][0-9]{1,2}[/-])(?:19|20)?[0-9]{2}$"
# Most dates of a form show no order: year first, or two numbers that may both be the month.
_NO_ORDER = r"^[0-9]{4}-[0-9]+-[0-9]+$|^(?:(?:0?[1-9]|1[0-2])[-/]){2}(?:[0-9]{2}){1,2}$"


def date_order(texts: Iterable[str]) -> Order | None:
    """The order of day and month in numeric dates; None if none shows it, or both are shown.

    >>> date_order(["31/12/2020", "05/06/2020"]), date_order(["31/1/20", "1/31/20"])
    ('day', None)
    """
    shown = {_shown(text) for text in texts} - {None}
    return shown.pop() if len(shown) == 1 else None


def date_orders(docs: Iterable[str], shown: Mapping[str, str]) -> dict[str, Order]:
    """The order of day and month in some documents, from what those of a corpus have `shown`.

    A document that shows none has that of the corpus where at least three others show one and 95 %
    of them the same; else it is left out, as is one that shows both.

    >>> date_orders(["a", "b"], {"a": "day"}), date_orders(["e"], dict.fromkeys("abc", "day"))
    ({'a': 'day'}, {'e': 'day'})
    """
    counts = Counter(shown.values())
    usual = max(("day", "month"), key=counts.__getitem__)
    is_usual = counts.total() >= _ENOUGH and counts[usual] >= _SHARE * counts.total()
    orders = {doc: shown.get(doc, usual if is_usual else "both") for doc in docs}
    return {doc: order for doc, order in orders.items() if order != "both"}


def orders_shown(docs: pl.Series, values: pl.Series) -> dict[str, str]:
    """The order of day and month that documents show in their dates: day, month or both.

    `values` are n texts or null, whole pages too, of the documents `docs`.

    >>> docs = pl.Series(["a", "a", "b"])
    >>> orders_shown(docs, pl.Series(["due 31/12/2020.", "05/06/2020", "05/06/2020"]))
    {'a': 'day'}
    """
    dates = pl.DataFrame({"doc": docs, "value": values.cast(pl.String)})
    text = pl.col("value").str
    dates = dates.filter(text.contains("[/-]"), ~text.contains(_NO_ORDER))
    dates = dates.select("doc", text.extract_all(_IN_TEXT)).explode("value")
    # But for 29 February, the year says nothing: few texts are left to be read.
    in_2000 = pl.when(text.contains("29")).then("value").otherwise(text.replace(_YEAR, "${1}2000"))
    dates = dates.drop_nulls().select("doc", in_2000).unique(maintain_order=True)
    shown: dict[str, str] = {}
    for doc, value in dates.iter_rows():
        if order := _shown(value.strip("./-")):
            shown[doc] = order if shown.get(doc, order) == order else "both"
    return shown


@_remembered
def _shown(text: str) -> Order | None:
    readings = tuple(map(bool, parsers.date_readings(text)))
    return {(True, False): "month", (False, True): "day"}.get(readings)
