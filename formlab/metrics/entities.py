"""Extracted entities matched with the gold's; precision, recall and F1, micro and macro.

Values are compared by their type, as published for VRDU or corrected: a comparator reads each text
as a key, and says of two keys whether they are the same. The parts of a score are counts, added
over documents: entities found, in the gold and predicted (tp, gold, pred). By published rules
undefined scores become what the released evaluator of VRDU makes of them: 0, or a recall of 1
where there was nothing to find.
"""

from __future__ import annotations

import datetime
import operator
import re
from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import cache, lru_cache, partial
from itertools import repeat
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from rapidfuzz.distance import Levenshtein

from formlab import text
from formlab.metrics.assignment import assign
from formlab.metrics.metric import OVER_ENTITIES, Metric
from formlab.text.values import MONTH_NAMES, date_readings, day_of

# Of a frame of leaves: one row per value; the values of a line item share its number.
LEAVES = {
    "doc": pl.String,
    "item": pl.Int64,
    "name": pl.String,
    "component": pl.String,
    "value": pl.String,
    "accepted": pl.List(pl.String),
    "identity": pl.String,
    "order": pl.String,
}
# Published: addresses may differ in so many edits, prices by so much.
EDITS, CENT = 3, 0.01
_NOT_WORD, _NOT_DIGIT = re.compile("[^0-9a-zA-Z]"), re.compile("[^0-9]")
_NOT_PRICE, _NOT_DATE = re.compile("[^0-9.]"), re.compile(r"[^0-9a-zA-Z/\-,]")
_LONG = [names.split()[0] for names in MONTH_NAMES]
_MONTHS = {name[:end]: n for n, name in enumerate(_LONG, start=1) for end in (3, None)}
_M, _D = "(?P<m>1[0-2]|0?[1-9])", "(?P<d>3[01]|[12][0-9]|0?[1-9])"
_Y, _YY = "(?P<y>[0-9]{4})", "(?P<y>[0-9]{2})"
# Dates as the published evaluator reads them, without white space and other signs.
_DATES = [
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        f"{_M}/{_D}(?:/(?P<y>[0-9]{{4}}|[0-9]{{2}}))?",
        f"{_M}-{_D}-(?P<y>[0-9]{{4}}|[0-9]{{2}})",
        f"{_Y}/{_M}/{_D}",
        f"(?P<m>{'|'.join(name[:3] for name in _LONG)}){_D}/{_YY}",
        f"(?P<m>{'|'.join(_LONG)}){_D},{_Y}",
    )
]
_PLAIN_DATE = re.compile(r"([0-9]{1,2})([/-])([0-9]{1,2})\2([0-9]{4}|[0-9]{2})")
# The plainest amounts, which need no parser.
_PLAIN = re.compile(r"\$? ?(?:[0-9]+|[1-9][0-9]{0,2}(?:,[0-9]{3})+)(?:\.[0-9]{1,2})?")
# What the strictest parser reads; a longer text is no date and no amount.
_LONGEST = 64
# Items of gold and prediction that agree, and what that earns.
_Pairs = list[tuple[int, int, float]]
Score = Callable[..., np.ndarray]


class Comparator(NamedTuple):
    """How values of one type are read, and when two of them are the same.

    `key` reads a value and which of day and month comes first, where that is known.
    """

    key: Callable[[str, str | None], Any]
    same: Callable[[Any, Any], bool] = operator.eq


def squeeze(value: str) -> str:
    """`value` with each run of white space as one space, none at the ends."""
    return " ".join(value.split())


def _near(gold: str, pred: str) -> bool:
    return Levenshtein.distance(gold, pred, score_cutoff=EDITS) <= EDITS


def _price(value: str, _order: str | None) -> float:
    try:
        return float(_NOT_PRICE.sub("", value))
    except ValueError:
        return float("nan")


def _signed_price(value: str, order: str | None) -> float:
    amount = None if _PLAIN.fullmatch(value) else text.money(value)
    return _price(value, order) if amount is None else float(amount.amount)


def _close(gold: float, pred: float) -> bool:
    # Two amounts too large for a float have no difference; they are not the same.
    return abs(gold - pred) <= CENT


def published_date(value: str) -> datetime.date | None:
    """The date that the published evaluator reads in `value`; a missing year is 1900.

    Examples
    --------
    >>> [str(published_date(v)) for v in ("07/01/22", "Jul 1/22", "July 01, 2022", "2022-07-01")]
    ['2022-07-01', '2022-07-01', '2022-07-01', 'None']
    """
    if len(value) > 10 * _LONGEST:
        # White space and signs do not count, so a long text may still hold a date and no more.
        value = squeeze(value)
    kept = _NOT_DATE.sub("", value)
    match = next(filter(None, (pattern.fullmatch(kept) for pattern in _DATES)), None)
    if match is None:
        return None
    return day_of(match["y"] or "1900", _MONTHS.get(match["m"].lower(), match["m"]), match["d"])


def _published_days(value: str, _order: str | None) -> tuple[Hashable, str]:
    day = published_date(value)
    # Day and month may be swapped, so only which two numbers they are counts.
    days = day and (day.year, frozenset((day.month, day.day)))
    return days, _NOT_WORD.sub("", value)


@lru_cache(2**17)
def _both_orders(value: str) -> tuple[datetime.date | None, datetime.date | None]:
    """The date that `value` is when read month first, and when read day first."""
    # Most dates look like this, and the full parser is slow.
    if match := _PLAIN_DATE.fullmatch(value):
        first, _, second, year = match.groups()
        return day_of(year, first, second), day_of(year, second, first)
    dates = date_readings(value)
    if dates != (None, None):
        return dates
    # What the published evaluator overlooks around a date does not make its order known.
    bare = _NOT_DATE.sub("", squeeze(value))
    return _both_orders(bare) if bare != value else (published_date(value),) * 2


def _days(value: str, order: str | None) -> tuple[Hashable, str]:
    # Values repeat; a text of any length is not kept.
    reading = _both_orders if len(value) < _LONGEST else _both_orders.__wrapped__
    month_first, day_first = reading(value)
    days = (month_first or day_first, day_first or month_first)
    if order is not None:
        days = (days[order != "month"],) * 2
    # What may be two dates is the same only as what may be the same two.
    return (days if days[0] else None), _NOT_WORD.sub("", value)


def _same_day(gold: tuple[Hashable, str], pred: tuple[Hashable, str]) -> bool:
    are_dates = gold[0] is not None and pred[0] is not None
    return gold[0] == pred[0] if are_dates else gold[1] == pred[1]


DEFAULT = "DefaultMatch"
PUBLISHED = {
    "DateMatch": Comparator(_published_days, _same_day),
    "PriceMatch": Comparator(_price, _close),
    "AddressMatch": Comparator(lambda value, _: squeeze(value), _near),
    "NumericalStringMatch": Comparator(lambda value, _: _NOT_DIGIT.sub("", value)),
    "NameMatch": Comparator(lambda value, _: "".join(value.split())),
    "GeneralStringMatch": Comparator(lambda value, _: _NOT_WORD.sub("", value)),
    DEFAULT: Comparator(lambda value, _: squeeze(value)),
}
FIXED = PUBLISHED | {
    "DateMatch": Comparator(_days, _same_day),
    "PriceMatch": Comparator(_signed_price, _close),
}


def _comparators(matches: Mapping[str, str], mode: str) -> Callable[[str], Comparator]:
    """The comparator of a name; where none is known, texts are compared, white space aside."""
    known = FIXED if mode == "fixed" else PUBLISHED
    return cache(lambda name: known.get(matches.get(name, DEFAULT), known[DEFAULT]))


def same_values(
    function: str,
    golds: Sequence[str],
    preds: Sequence[str],
    *,
    mode: str = "official",
    order: str | None = None,
) -> np.ndarray:
    """Which of n pairs of values are the same, shape (n,).

    `function` is a name as in VRDU's `meta.json`; an unknown one compares texts, white space
    aside. Mode ``fixed`` reads dates of all notations and keeps signs; `order` is then which of
    day and month comes first: if left out, 07/01/22 is the same only as what leaves that choice.

    Examples
    --------
    >>> golds, preds = ["$ 1,200.50", "(5.00)"], ["1200.50", "5.00"]
    >>> same_values("PriceMatch", golds, preds).tolist()
    [True, True]
    >>> same_values("PriceMatch", golds, preds, mode="fixed").tolist()
    [True, False]
    >>> days = (["07/01/22"], ["1 July 2022"])
    >>> [same_values("DateMatch", *days, mode="fixed", order=o).item() for o in (None, "month")]
    [False, True]
    """
    values = _comparators({"": function}, mode)("")
    keys = ([values.key(value, order) for value in side] for side in (golds, preds))
    return np.array([values.same(*pair) for pair in zip(*keys, strict=True)], dtype=bool)


class Matching(NamedTuple):
    """Which gold items found which predicted ones.

    `pairs` has the columns gold, pred (items) and credit, in (0, 1]; officially several gold
    items may share a prediction. `forgiven` are predicted items that count neither as right nor
    as wrong: officially those that equal a matched one.
    """

    pairs: pl.DataFrame
    forgiven: np.ndarray


class _Item(NamedTuple):
    """An entity, or one of the accepted forms of it: its parts, and what each reads as."""

    number: int
    parts: list[str]
    keys: dict[str, Hashable]


def match_entities(
    gold: pl.DataFrame, pred: pl.DataFrame, matches: Mapping[str, str], *, mode: str
) -> Matching:
    """Match the entities of any number of documents.

    An entity is one value (flat) or a line item of several components. `gold` and `pred` are
    leaves with the columns of `LEAVES`. `component` is null for a flat entity; `accepted` (gold
    alone) are further right values of a flat one; `identity` (predictions alone) is what two equal
    predictions must have in common besides their values; `order`, if there, is which of day and
    month the document writes first, for mode ``fixed``. Items are numbered in the order in which
    they were given. `matches` has the comparator of each entity and component, by its published
    name.

    By mode ``official`` a gold item takes the first prediction that agrees in all components,
    given in the same order; a prediction may be taken again. By ``fixed`` it is the assignment
    with the most credit, where two line items with g and p components of which m agree earn
    2m / (g + p).

    Examples
    --------
    >>> leaf = {"doc": "a", "item": 0, "name": "sum", "component": None}
    >>> gold = pl.DataFrame([leaf | {"value": "$5", "accepted": []}], schema_overrides=LEAVES)
    >>> pred = pl.DataFrame([leaf | {"value": "5.00", "identity": ""}], schema_overrides=LEAVES)
    >>> match_entities(gold, pred, {"sum": "PriceMatch"}, mode="official").pairs.rows()
    [(0, 0, 1.0)]
    """
    compared, official = _comparators(matches, mode), mode == "official"
    # Only of the gold may several values be right.
    claims = _by_document(pred.drop_nulls("value").drop("accepted", strict=False))
    pairs: _Pairs = []
    late: list[tuple[int, int]] = []
    for doc, values in _by_document(gold).items():
        preds = _grouped(claims.get(doc, []), compared)
        for name, items in _grouped(values, compared).items():
            agreeing = _agreeing(items, preds.get(name, []), compared, official=official)
            found = _first(agreeing) if official else _best(agreeing)
            pairs += found
            first, taken = {g: p for g, p, _ in found}, {p for _, p, _ in found}
            late += [(p, first[g]) for g, p, _ in agreeing if official and p not in taken]
    schema = {"gold": pl.Int64, "pred": pl.Int64, "credit": pl.Float64}
    return Matching(pl.DataFrame(sorted(pairs), schema, orient="row"), _equal(pred, late))


def _by_document(leaves: pl.DataFrame) -> dict[str, list[tuple]]:
    """The values of each document: item, name, component, value, order, further right values."""
    columns = (
        leaves[name].to_list() if name in leaves.columns else repeat(None)
        for name in ("item", "name", "component", "value", "order", "accepted")
    )
    found: dict[str, list[tuple]] = {}
    for doc, *row in zip(leaves["doc"].to_list(), *columns, strict=False):
        found.setdefault(doc, []).append(row)
    return found


def _grouped(
    rows: list[tuple], compared: Callable[[str], Comparator]
) -> dict[tuple[str, bool], list[_Item]]:
    """The items of each name in a document, flat ones apart; of a flat one each of its forms."""
    groups: dict[tuple[str, bool], list[_Item]] = {}
    items: dict[int, _Item] = {}
    for number, name, part, value, order, accepted in rows:
        group = groups.setdefault((name, part is None), [])
        key = compared(name if part is None else part).key
        if part is None:
            forms = [form for form in (value, *(accepted or ())) if form is not None]
            group += [_Item(number, [name], {name: key(form, order)}) for form in forms]
            continue
        if number not in items:
            group.append(items.setdefault(number, _Item(number, [], {})))
        items[number].parts.append(part)
        # A part without a value is there, and is not compared.
        if value is not None:
            items[number].keys[part] = key(value, order)
    return groups


def _agreeing(
    golds: list[_Item],
    preds: list[_Item],
    compared: Callable[[str], Comparator],
    *,
    official: bool,
) -> _Pairs:
    """The pairs of items of which so many parts agree that they earn something."""
    counts: dict[tuple[int, int], int] = {}
    for name in dict.fromkeys(name for item in golds for name in item.keys):
        same = compared(name).same
        others = [(n, item.keys[name]) for n, item in enumerate(preds) if name in item.keys]
        for number, item in enumerate(golds):
            if name in item.keys:
                key = item.keys[name]
                for other, pred_key in others:
                    if same(key, pred_key):
                        counts[number, other] = counts.get((number, other), 0) + 1
    pairs: dict[tuple[int, int], float] = {}
    for (number, other), agreed in counts.items():
        gold, pred = golds[number], preds[other]
        if not official:
            pairs[gold.number, pred.number] = 2 * agreed / (len(gold.parts) + len(pred.parts))
        elif agreed == len(gold.keys) and gold.parts == pred.parts:
            pairs[gold.number, pred.number] = 1.0
    return [(*pair, credit) for pair, credit in pairs.items()]


def _first(agreeing: _Pairs) -> _Pairs:
    """The first prediction of each gold item."""
    first = {gold: (gold, pred, 1.0) for gold, pred, _ in sorted(agreeing, reverse=True)}
    return list(first.values())


def _best(agreeing: _Pairs) -> _Pairs:
    """One prediction a gold item at most, and the other way round, with the most credit in all."""
    if len(agreeing) < 2:
        return agreeing
    golds, preds = (sorted({pair[side] for pair in agreeing}) for side in (0, 1))
    table = np.zeros((len(golds), len(preds)))
    for gold, pred, credit in agreeing:
        table[golds.index(gold), preds.index(pred)] = credit
    return [(golds[i], preds[j], table[i, j].item()) for i, j in assign(table)]


def _equal(pred: pl.DataFrame, late: list[tuple[int, int]]) -> np.ndarray:
    """Items that came too late for a gold item and equal the one that it took in all they hold."""
    if not late:
        return np.empty(0, dtype=np.int64)
    items = {item for pair in late for item in pair}
    held: dict[int, list] = {item: [] for item in items}
    some = pred.filter(pl.col("item").is_in(items))
    for item, *rest in some.select("item", "component", "value", "identity").iter_rows():
        held[item].append(rest)
    equal = {item for item, taken in late if held[item] == held[taken]}
    return np.array(sorted(equal), dtype=np.int64)


def _over(hits: np.ndarray, total: np.ndarray, otherwise: np.ndarray | float) -> np.ndarray:
    out = np.broadcast_to(np.asarray(otherwise, dtype=float), np.shape(total)).copy()
    return np.divide(hits, total, out=out, where=total != 0)


def precision_of(parts: np.ndarray, *, published: bool = False) -> np.ndarray:
    """tp / pred, from tp, gold and pred; nothing predicted: NaN, by published rules 0.

    Examples
    --------
    >>> precision_of(np.array([[3.0, 6, 4], [0, 2, 0]])).tolist()
    [0.75, nan]
    """
    right, _, pred = np.moveaxis(parts, -1, 0)
    return _over(right, pred, 0.0 if published else np.nan)


def recall_of(parts: np.ndarray, *, published: bool = False) -> np.ndarray:
    """tp / gold, as `precision_of`; nothing in the gold: by published rules 1 if any predicted.

    Examples
    --------
    >>> recall_of(np.array([[3.0, 6, 4], [0, 0, 2]])).tolist()
    [0.5, nan]
    >>> float(recall_of(np.array([0.0, 0, 2]), published=True))
    1.0
    """
    right, gold, pred = np.moveaxis(parts, -1, 0)
    return _over(right, gold, pred > 0 if published else np.nan)


def f1_of(parts: np.ndarray, *, published: bool = False) -> np.ndarray:
    """2 tp / (gold + pred), the harmonic mean of both; NaN (published: 0) where all are 0.

    Examples
    --------
    >>> f1_of(np.array([[3.0, 6, 4], [0, 0, 0]])).tolist()
    [0.6, nan]
    """
    right, gold, pred = np.moveaxis(parts, -1, 0)
    return _over(2 * right, gold + pred, 0.0 if published else np.nan)


def mean_of(
    score: Callable[..., np.ndarray], *, published: bool = False
) -> Callable[..., np.ndarray]:
    """The mean of `score` over entities, from parts of shape (…, 3 E).

    The parts are tp, gold and pred of each of E entities. By published rules every entity counts;
    else one that no gold has, and an undefined score, is left out of the mean.

    Examples
    --------
    >>> parts = np.array([1.0, 2, 2, 0, 0, 0])
    >>> [float(mean_of(f1_of, published=rules)(parts)) for rules in (False, True)]
    [0.5, 0.25]
    """

    def mean(parts: np.ndarray) -> np.ndarray:
        counts = parts.reshape(*parts.shape[:-1], -1, 3)
        values = score(counts, published=published)
        used = ~np.isnan(values) & ((counts[..., 1] > 0) | published)
        total = np.where(used, values, 0.0).sum(axis=-1)
        return _over(total, used.sum(axis=-1), np.nan)

    return mean


_SCORES = {"precision": precision_of, "recall": recall_of, "f1": f1_of}
SOURCE = "VRDU, Wang et al., KDD 2023, section 4.3"


def _metric(prefix: str, name: str) -> Metric:
    score, macro = _SCORES[name], prefix == "macro_"
    published = mean_of(score, published=True) if macro else partial(score, published=True)
    return Metric(
        name=prefix + name,
        title=(prefix + name).replace("_", " ").replace("f1", "F1"),
        source=SOURCE,
        unit="mean over entity names" if macro else "entities",
        view="counts",
        score=mean_of(score) if macro else score,
        published_score=published,
        units=("document",),
        average=OVER_ENTITIES if macro else "pooled",
    )


METRICS = {
    prefix + name: _metric(prefix, name) for prefix in ("", "micro_", "macro_") for name in _SCORES
}
