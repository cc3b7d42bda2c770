"""Extracted entities matched with the gold's; precision, recall and F1, micro and macro.

Values are compared by their type, by functions of two texts: `PUBLISHED` as VRDU's released
evaluator does, `FIXED` with dates of all notations and signed amounts. An entity is one value
(flat) or a line item of several components. By mode ``official`` a gold item takes the first
prediction that agrees in all components, given in the same order; a prediction may be taken again.
By ``fixed`` it is the assignment with the most credit, where two line items with g and p components
of which m agree earn 2m / (g + p).

The parts of a score are counts, added over documents: entities found, in the gold and predicted
(tp, gold, pred). Precision is tp / pred, recall tp / gold, F1 2 tp / (gold + pred). A macro average
is the mean over entities that some gold has. By published rules every entity counts, and undefined
scores become what the released evaluator makes of them: 0, or a recall of 1 where there was nothing
to find and something was predicted.
"""

import datetime
import operator
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping
from functools import lru_cache, partial
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from rapidfuzz.distance import Levenshtein

from formlab import text
from formlab.metrics import DECLARED, assign, ratio, shares
from formlab.tables import schema
from formlab.text.normalise import WORDS
from formlab.text.values import MONTHS, date_readings, days_of

# A frame of leaves has a row per value; those of a line item share its number, in the order given.
# `component` is null for a flat entity, `accepted` are further right values of a flat gold one,
# `identity` is what two equal predictions must share besides, `order` that of day and month.
LEAVES = schema("doc item:int name component value accepted:texts identity order")
# Published: addresses may differ in so many edits, prices by so much.
EDITS, CENT = 3, 0.01
_NOT_WORD, _NOT_DIGIT = re.compile("[^0-9a-zA-Z]"), re.compile("[^0-9]")
_NOT_PRICE, _NOT_DATE = re.compile("[^0-9.]"), re.compile(r"[^0-9a-zA-Z/\-,]")
# Dates as the published evaluator reads them, without white space and other signs.
_DATES = [re.compile(pattern, re.IGNORECASE) for pattern in WORDS["dates"]["published"]]
# The plainest amounts, which need no full parser.
_PLAIN = re.compile(r"\$? ?(?:[0-9]+|[1-9][0-9]{0,2}(?:,[0-9]{3})+)(?:\.[0-9]{1,2})?")
Day = datetime.date | None
# Items of gold and prediction that agree, and the credit for it.
_Pairs = dict[tuple[int, int], float]


def published_date(value: str) -> Day:
    """The date that the published evaluator reads in a value; a missing year is 1900."""
    bare = _NOT_DATE.sub("", value)
    for match in filter(None, (pattern.fullmatch(bare) for pattern in _DATES)):
        month = MONTHS.get(match["m"].lower(), match["m"])
        return next(iter(days_of(match["y"] or "1900", month, match["d"])), None)
    return None


@lru_cache(2**14)
def _swapped_date(value: str) -> tuple[int, frozenset[int]] | None:
    # Day and month may be swapped, so only which two numbers they are counts.
    day = published_date(value)
    return day and (day.year, frozenset((day.month, day.day)))


@lru_cache(2**14)
def _both_orders(value: str) -> tuple[Day, Day]:
    """The date that `value` is when read month first, and when read day first."""
    dates = date_readings(value)
    if dates != (None, None):
        return dates
    # A sign that the published evaluator overlooks around a date does not make its order known.
    bare = _NOT_DATE.sub("", _spaced(value))
    return _both_orders(bare) if bare != value else (published_date(value),) * 2


def _days(value: str, order: str | None) -> tuple[Day, Day] | None:
    """Both dates that a value may be; two values are the same only if both are."""
    month_first, day_first = _both_orders(value)
    days = (month_first or day_first, day_first or month_first)
    if order is not None:
        days = (days[order != "month"],) * 2
    return days if days[0] else None


@lru_cache(2**14)
def _price(value: str) -> float:
    try:
        return float(_NOT_PRICE.sub("", value))
    except ValueError:
        return float("nan")


@lru_cache(2**14)
def _signed_price(value: str) -> float:
    amount = None if _PLAIN.fullmatch(value) else text.money(value)
    return _price(value) if amount is None else float(amount.amount)


@lru_cache(2**14)
def _spaced(value: str) -> str:
    return " ".join(value.split())


class Compare(NamedTuple):
    """When two values are the same: what is `read` in each, and which of these agree.

    `read` takes a value and which of day and month comes first, null where unknown.
    """

    read: Callable[[str, str | None], Any]
    same: Callable[[Any, Any], bool] = operator.eq

    def __call__(self, gold: str, pred: str, order: str | None = None) -> bool:
        """Whether the two values are the same."""
        return self.same(self.read(gold, order), self.read(pred, order))


def _same_date(gold: tuple[Any, str], pred: tuple[Any, str]) -> bool:
    """Equality of dates; of values of which one is none, that of letters and digits."""
    return gold[0] == pred[0] if gold[0] and pred[0] else gold[1] == pred[1]


def _close(gold: float, pred: float) -> bool:
    # Two amounts too large for a float have no difference; they are not the same.
    return abs(gold - pred) <= CENT


_words = partial(_NOT_WORD.sub, "")
PUBLISHED: dict[str, Compare] = {
    "DateMatch": Compare(lambda value, _: (_swapped_date(value), _words(value)), _same_date),
    "PriceMatch": Compare(lambda value, _: _price(value), _close),
    "AddressMatch": Compare(
        lambda value, _: _spaced(value),
        lambda gold, pred: Levenshtein.distance(gold, pred, score_cutoff=EDITS) <= EDITS,
    ),
    "NumericalStringMatch": Compare(lambda value, _: _NOT_DIGIT.sub("", value)),
    "NameMatch": Compare(lambda value, _: "".join(value.split())),
    "GeneralStringMatch": Compare(lambda value, _: _words(value)),
    "DefaultMatch": Compare(lambda value, _: _spaced(value)),
}
FIXED = PUBLISHED | {
    "DateMatch": Compare(lambda value, order: (_days(value, order), _words(value)), _same_date),
    "PriceMatch": Compare(lambda value, _: _signed_price(value), _close),
}


def comparator(function: str | None, mode: str) -> Compare:
    """The function of a name in VRDU's `meta.json`; of an unknown one, that of texts."""
    comparators = FIXED if mode == "fixed" else PUBLISHED
    return comparators.get(function, comparators["DefaultMatch"])


class Matching(NamedTuple):
    """Which gold items found which predicted ones, with credit, and what counts as neither."""

    # Columns gold, pred (items), credit in (0, 1]; officially gold items may share a prediction.
    pairs: pl.DataFrame
    # Officially predicted items that equal a matched one.
    forgiven: np.ndarray


class _Item(NamedTuple):
    """An entity, or one of the accepted forms of it: its parts, and the value of each."""

    number: int
    order: str | None
    parts: list[str]
    values: dict[str, str]
    identities: list[str | None]


def match_entities(
    gold: pl.DataFrame, pred: pl.DataFrame, matches: Mapping[str, str], *, mode: str
) -> Matching:
    """Match the entities of any number of documents, in frames of leaves (`LEAVES`)."""
    # Only of the gold may several values be right.
    claims = _grouped(pred.drop_nulls("value").with_columns(accepted=None))
    pairs: list[tuple[int, int, float]] = []
    forgiven: set[int] = set()
    for group, items in _grouped(gold).items():
        agreeing = _agreeing(items, claims[group], matches, mode)
        if mode == "official":
            # The first prediction of each gold item; what comes too late and equals it is forgiven.
            first = dict(sorted(agreeing, reverse=True))
            # Of equal predictions all but their numbers and orders is the same.
            held = {item.number: item[2:] for item in claims[group]}
            taken = {*first.values()}
            late = [(g, p) for g, p in agreeing if p not in taken]
            forgiven |= {p for g, p in late if held[p] == held[first[g]]}
            pairs += ((*pair, 1.0) for pair in first.items())
        else:
            pairs += _best(agreeing)
    frame = pl.DataFrame(sorted(pairs), schema("gold:int pred:int credit:number"), orient="row")
    return Matching(frame, np.array(sorted(forgiven), dtype=np.int64))


def _grouped(leaves: pl.DataFrame) -> dict[tuple[str, str, bool], list[_Item]]:
    """The items of each document and name, flat ones apart; of a flat one each of its forms."""
    rows = leaves.select(*LEAVES)
    groups = defaultdict[tuple[str, str, bool], list[_Item]](list)
    items: dict[int, _Item] = {}
    # A row at a time: as a list, all of them would be looked through for cycles.
    for doc, number, name, part, value, accepted, identity, order in rows.iter_rows():
        if part is None:
            for form in (value, *(accepted or ())):
                if form is not None:
                    item = _Item(number, order, [name], {name: form}, [identity])
                    groups[doc, name, True].append(item)
            continue
        if (item := items.get(number)) is None:
            item = items[number] = _Item(number, order, [], {}, [])
            groups[doc, name, False].append(item)
        item.parts.append(part)
        item.identities.append(identity)
        # A part without a value is there, and is not compared.
        if value is not None:
            item.values[part] = value
    return groups


def _agreeing(
    golds: list[_Item], preds: list[_Item], matches: Mapping[str, str], mode: str
) -> _Pairs:
    """The pairs of items of which so many parts agree that they earn something."""
    agreed: Counter[tuple[int, int]] = Counter()
    for name in dict.fromkeys(name for item in golds for name in item.values):
        read, same = comparator(matches.get(name), mode)
        # All items of a document have one order of day and month.
        ours, theirs = (
            [
                (place, read(item.values[name], golds[0].order))
                for place, item in enumerate(side)
                if name in item.values
            ]
            for side in (golds, preds)
        )
        agreed.update(
            (at, place) for at, gold in ours for place, pred in theirs if same(gold, pred)
        )
    pairs: _Pairs = {}
    for (at, place), count in agreed.items():
        gold, pred = golds[at], preds[place]
        if mode != "official":
            pairs[gold.number, pred.number] = 2 * count / (len(gold.parts) + len(pred.parts))
        elif count == len(gold.values) and gold.parts == pred.parts:
            pairs[gold.number, pred.number] = 1.0
    return pairs


def _best(agreeing: _Pairs) -> list[tuple[int, int, float]]:
    """One prediction a gold item at most, and the other way round, with the most credit in all."""
    if len(agreeing) < 2:
        return [(*pair, credit) for pair, credit in agreeing.items()]
    golds, preds = (sorted({pair[side] for pair in agreeing}) for side in (0, 1))
    table = np.zeros((len(golds), len(preds)))
    for (gold, pred), credit in agreeing.items():
        table[golds.index(gold), preds.index(pred)] = credit
    return [(golds[i], preds[j], table[i, j].item()) for i, j in assign(table)]


# How often each score counts what is right, in the gold and predicted: so much above, by so much.
_PARTS = {"precision": (1, 0, 1), "recall": (1, 1, 0), "f1": (2, 1, 1)}


def entity_score(name: str, parts: np.ndarray, *, published: bool = False) -> np.ndarray:
    """A score of counts tp, gold and pred, of shape (…, 3 E): the mean over E entities, or one."""
    average, _, kind = name.rpartition("_")
    right, gold, pred = np.moveaxis(parts.reshape(*parts.shape[:-1], -1, 3), -1, 0)
    hits, of_gold, of_pred = _PARTS[kind]
    scores = ratio(np.stack([hits * right, of_gold * gold + of_pred * pred], -1))
    if published:
        scores = np.where(np.isnan(scores), (pred > 0) & (kind == "recall"), scores)
    elif average == "macro":
        scores = np.where(gold > 0, scores, np.nan)
    return ratio(shares(scores).sum(axis=-2))


# Of an entity, and the micro and macro averages.
_NAMES = [name for name, entry in DECLARED.items() if entry["family"] == "entities"]
SCORES = {name: partial(entity_score, name) for name in _NAMES}
PUBLISHED_SCORES = {name: partial(entity_score, name, published=True) for name in _NAMES}
