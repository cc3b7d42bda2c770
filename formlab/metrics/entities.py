"""Extracted entities matched with the gold's; precision, recall and F1, micro and macro.

The parts of a score are counts, added over documents: entities found, in the gold and predicted
(tp, gold, pred). By published rules undefined scores become what the released evaluator of VRDU
makes of them: 0, or a recall of 1 where there was nothing to find.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Mapping
from functools import cache, partial
from typing import NamedTuple

import numpy as np
import polars as pl

from formlab.metrics._comparators import Comparator, comparators, same_values
from formlab.metrics.assignment import assign
from formlab.metrics.metric import OVER_ENTITIES, Metric

__all__ = ["LEAVES", "METRICS", "Matching", "f1_of", "match_entities", "mean_of", "precision_of"]
__all__ += ["recall_of", "same_values"]

Score = Callable[..., np.ndarray]
SOURCE = "VRDU, Wang et al., KDD 2023, section 4.3"
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
_READ = ("item", "name", "component", "value", "order")
# Items of gold and prediction that agree, and what that earns.
_Pairs = list[tuple[int, int, float]]
_Compared = Callable[[str], Comparator]


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
    compared, official = cache(comparators(matches, mode)), mode == "official"
    # Only of the gold may several values be right.
    claims = _by_document(pred.drop_nulls("value").drop("accepted", strict=False))
    pairs: _Pairs = []
    late: list[tuple[int, int]] = []
    for doc, values in _by_document(gold).items():
        preds = _grouped(claims.get(doc, []), compared)
        for name, ours in _grouped(values, compared).items():
            agreeing = _agreeing(ours, preds.get(name, []), compared, official=official)
            found = _first(agreeing) if official else _best(agreeing)
            pairs += found
            first, taken = {g: p for g, p, _ in found}, {p for _, p, _ in found}
            late += [(p, first[g]) for g, p, _ in agreeing if official and p not in taken]
    schema = {"gold": pl.Int64, "pred": pl.Int64, "credit": pl.Float64}
    return Matching(pl.DataFrame(sorted(pairs), schema, orient="row"), _equal(pred, late))


def _by_document(leaves: pl.DataFrame) -> dict[str, list[tuple]]:
    """The values of each document: item, name, component, value, order, further right values."""
    accepted, nothing = {}, [None] * leaves.height
    if "accepted" in leaves.columns:
        several = leaves.filter(pl.col("accepted").list.len() > 0)
        accepted = dict(several.select("item", "accepted").iter_rows())
    columns = [leaves[n].to_list() if n in leaves.columns else nothing for n in _READ]
    columns.append([accepted.get(number, ()) for number in columns[0]] if accepted else nothing)
    found: dict[str, list[tuple]] = {}
    for doc, *row in zip(leaves["doc"], *columns, strict=True):
        found.setdefault(doc, []).append(tuple(row))
    return found


def _grouped(rows: list[tuple], compared: _Compared) -> dict[tuple[str, bool], list[_Item]]:
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
    ours: list[_Item], theirs: list[_Item], compared: _Compared, *, official: bool
) -> _Pairs:
    """The pairs of items of which so many parts agree that they earn something."""
    counts: Counter[tuple[int, int]] = Counter()
    for name in dict.fromkeys(name for item in ours for name in item.keys) if theirs else ():
        (_, same, places), found = compared(name), defaultdict[Hashable, list[int]](list)
        for there, pred in enumerate(theirs):
            for place in places(pred.keys[name]) if name in pred.keys else ():
                found[place].append(there)
        for here, gold in enumerate(ours):
            if name in gold.keys:
                key = gold.keys[name]
                near = {there for place in places(key) for there in found.get(place, ())}
                counts.update((here, j) for j in near if same(key, theirs[j].keys[name]))
    pairs: dict[tuple[int, int], float] = {}
    for (here, there), agreed in counts.items():
        gold, pred = ours[here], theirs[there]
        credit = 2 * agreed / (len(gold.parts) + len(pred.parts))
        if not official:
            pairs[gold.number, pred.number] = credit
        elif agreed == len(gold.keys) and gold.parts == pred.parts:
            pairs[gold.number, pred.number] = 1.0
    return [(*pair, credit) for pair, credit in pairs.items()]


def _first(agreeing: _Pairs) -> _Pairs:
    """The first prediction of each gold item."""
    first: dict[int, int] = {}
    for gold, pred, _ in agreeing:
        first[gold] = min(pred, first.get(gold, pred))
    return [(gold, pred, 1.0) for gold, pred in first.items()]


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


def _over(hits: np.ndarray, total: np.ndarray, otherwise: np.ndarray) -> np.ndarray:
    return np.divide(hits, total, out=np.array(otherwise, dtype=float), where=total != 0)


def precision_of(parts: np.ndarray, *, published: bool = False) -> np.ndarray:
    """tp / pred, from tp, gold and pred; nothing predicted: NaN, by published rules 0.

    Examples
    --------
    >>> precision_of(np.array([[3.0, 6, 4], [0, 2, 0]])).tolist()
    [0.75, nan]
    >>> float(precision_of(np.array([0.0, 2, 0]), published=True))
    0.0
    """
    right, _, pred = np.moveaxis(parts, -1, 0)
    return _over(right, pred, np.full(pred.shape, 0.0 if published else np.nan))


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
    nothing = (pred > 0).astype(float) if published else np.full(pred.shape, np.nan)
    return _over(right, gold, nothing)


def f1_of(parts: np.ndarray, *, published: bool = False) -> np.ndarray:
    """2 tp / (gold + pred), the harmonic mean of both; NaN (published: 0) where all are 0.

    Examples
    --------
    >>> f1_of(np.array([[3.0, 6, 4], [0, 0, 0]])).tolist()
    [0.6, nan]
    """
    right, gold, pred = np.moveaxis(parts, -1, 0)
    return _over(2 * right, gold + pred, np.full(pred.shape, 0.0 if published else np.nan))


def mean_of(score: Score, *, published: bool = False) -> Score:
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
        return _over(total, used.sum(axis=-1), np.full(total.shape, np.nan))

    return mean


_SCORES = {"precision": precision_of, "recall": recall_of, "f1": f1_of}
_TITLES = {"precision": "precision", "recall": "recall", "f1": "F1"}


def _metric(prefix: str, name: str) -> Metric:
    score, macro = _SCORES[name], prefix == "macro_"
    published = mean_of(score, published=True) if macro else partial(score, published=True)
    return Metric(
        name=prefix + name, title=prefix.replace("_", " ") + _TITLES[name], source=SOURCE,
        unit="mean over entity names" if macro else "entities", view="counts",
        score=mean_of(score) if macro else score, published_score=published,
        units=("document",), average=OVER_ENTITIES if macro else "pooled",
    )  # fmt: skip


METRICS = {
    prefix + name: _metric(prefix, name) for prefix in ("", "micro_", "macro_") for name in _SCORES
}
