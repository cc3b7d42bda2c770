"""Match extracted entities with gold entities.

An entity is one value (flat) or a line item of several components. All documents are matched at
once, as arrays: a loop over pairs of values is what makes this slow.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

import numpy as np
import polars as pl

from formlab.metrics._comparators import DEFAULT, MODES, Codes, Columns, Key, columns_of
from formlab.metrics.assignment import assign

# Of a frame of leaves: one row per value; the values of a line item share its number.
LEAVES = {
    "doc": pl.String, "item": pl.Int64, "name": pl.String, "component": pl.String,
    "value": pl.String, "accepted": pl.List(pl.String), "identity": pl.String,
    "order": pl.String,
}  # fmt: skip


class Matching(NamedTuple):
    """Which gold items found which predicted ones.

    `pairs` has the columns gold, pred (items) and credit, in (0, 1]; officially several gold
    items may share a prediction. `forgiven` are predicted items that count neither as right nor
    as wrong: officially those that equal a matched one.
    """

    pairs: pl.DataFrame
    forgiven: np.ndarray


class _Agreements(NamedTuple):
    """Comparable pairs of items that agree, in a document of the given number."""

    doc: np.ndarray
    gold: np.ndarray
    pred: np.ndarray
    credit: np.ndarray


def match_entities(
    gold: pl.DataFrame, pred: pl.DataFrame, matches: Mapping[str, str], *, mode: str
) -> Matching:
    """Match the entities of any number of documents.

    `gold` and `pred` are leaves with the columns of `LEAVES`. `component` is null for a flat
    entity; `accepted` (gold alone) are further right values of a flat one; `identity` (predictions
    alone) is what two equal predictions must have in common besides their values; `order`, if
    there, is which of day and month the document writes first, for mode ``fixed``. Items are
    numbered in the order in which they were given. `matches` has the comparator of each entity
    and component, by its published name.

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
    official = mode == "official"
    parts = list(_agreeing(_numbered(gold, pred), _ValueReader(matches, mode)))
    agreements = _Agreements(
        *(np.concatenate(column) for column in zip(_NOTHING, *parts, strict=True))
    )
    if not official:
        return Matching(_frame(*_assigned(parts)), np.empty(0, dtype=np.int64))
    golds, first = np.unique(agreements.gold), np.full(agreements.gold.max(initial=-1) + 1, -1)
    # The smallest of the numbers wins, being written last.
    order = np.argsort(-agreements.pred, kind="stable")
    first[agreements.gold[order]] = agreements.pred[order]
    pairs = _frame(golds, first[golds], np.ones(golds.size))
    return Matching(pairs, _equals(pred, agreements, first))


_NOTHING = _Agreements(*(np.empty(0, dtype=kind) for kind in (np.int64, np.int64, np.int64, float)))


def _frame(gold: np.ndarray, pred: np.ndarray, credit: np.ndarray) -> pl.DataFrame:
    return pl.DataFrame({"gold": gold, "pred": pred, "credit": credit}).cast(
        {"gold": pl.Int64, "pred": pl.Int64, "credit": pl.Float64}
    )


def _numbered(gold: pl.DataFrame, pred: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Both sides without what cannot be compared; documents of either side as numbers."""
    pred = pred.filter(pl.col("name").is_in(gold["name"].unique().implode()))
    pred = pred.drop_nulls("value")
    docs = pl.concat([gold["doc"], pred["doc"]]).rank("dense").cast(pl.Int64)
    order = [] if "order" in gold.columns else [pl.lit(None, pl.String).alias("order")]
    return (
        gold.with_columns(docs.head(gold.height).alias("doc"), *order),
        pred.with_columns(docs.tail(pred.height).alias("doc"), *order),
    )


def _agreeing(
    sides: tuple[pl.DataFrame, pl.DataFrame], reader: _ValueReader
) -> Iterator[_Agreements]:
    flat = pl.col("component").is_null().alias("flat")
    golds, preds = (
        side.with_columns(flat).partition_by("name", "flat", as_dict=True) for side in sides
    )
    for (name, flat), gold in golds.items():
        pred = preds.get((name, flat))
        if pred is None:
            continue
        if flat:
            yield _flat(gold, pred, name, reader)
        else:
            yield _line_items(gold, pred, reader)


class _ValueReader:
    """Reads values under match functions, each value once: values repeat."""

    def __init__(self, matches: Mapping[str, str], mode: str) -> None:
        self.matches, self.known, self.mode = matches, MODES[mode], mode
        self.codes = Codes()
        self._seen: dict[str, dict[tuple[str | None, ...], Key]] = {}

    def same(
        self, name: str, gold: pl.DataFrame, pred: pl.DataFrame
    ) -> Callable[[np.ndarray, np.ndarray], np.ndarray]:
        """Tells of places in `gold` and in `pred` which pairs are the same."""
        function = self.matches.get(name, DEFAULT)
        function = function if function in self.known else DEFAULT
        match, seen = self.known[function], self._seen.setdefault(function, {})
        columns = ["value", "order"] if match.ordered else ["value"]
        both = pl.concat([gold.select(columns), pred.select(columns)])
        distinct = both.unique(maintain_order=True).with_row_index("place")
        keys = []
        for values in distinct.select(columns).iter_rows():
            key = seen.get(values)
            if key is None:
                key = seen[values] = match.key(values[0], self.codes, *values[1:])
            keys.append(key)
        numbers = both.join(
            distinct, on=columns, how="left", maintain_order="left", nulls_equal=True
        )
        golds, preds = np.split(numbers["place"].to_numpy(), [gold.height])
        table = columns_of(keys)
        return lambda ours, theirs: match.same(
            Columns(table, golds[ours]), Columns(table, preds[theirs]), self.codes
        )


def _flat(gold: pl.DataFrame, pred: pl.DataFrame, name: str, reader: _ValueReader) -> _Agreements:
    forms = gold.select(
        "doc", "item", "order",
        pl.concat_list("value", pl.col("accepted").fill_null([])).alias("value"),
    ).explode("value").drop_nulls("value")  # fmt: skip
    are_same = reader.same(name, forms, pred)
    ours, theirs = _crossed(forms["doc"].to_numpy(), pred["doc"].to_numpy())
    same = are_same(ours, theirs)
    ours, theirs = ours[same], theirs[same]
    table = pl.DataFrame(
        {
            "doc": forms["doc"].to_numpy()[ours],
            "gold": forms["item"].to_numpy()[ours],
            "pred": pred["item"].to_numpy()[theirs],
        }
    )
    # A prediction may agree with several surface forms of one entity.
    table = table.unique(maintain_order=True)
    return _Agreements(*(table[name].to_numpy() for name in table.columns), np.ones(table.height))


class _Items:
    """The line items of one side: their documents, sizes, components and values."""

    def __init__(self, leaves: pl.DataFrame) -> None:
        index = (pl.col("item").rank("dense") - 1).cast(pl.Int64).alias("place")
        self.leaves = leaves.with_columns(index)
        # With its length before it, no name can run into the next.
        component = pl.concat_str(pl.col("component").str.len_chars(), pl.lit(":"), "component")
        items = self.leaves.group_by("item").agg(
            pl.col("doc").first(), pl.len().alias("size"), component.str.join("").alias("order")
        )
        items = items.sort("item")
        self.item, self.doc, self.size = (items[n].to_numpy() for n in ("item", "doc", "size"))
        self.order = items["order"]

    def of(self, component: str) -> tuple[np.ndarray, pl.DataFrame]:
        """The values of one component, and where each item's value is among them; -1 for none."""
        values = self.leaves.filter(pl.col("component") == component).drop_nulls("value")
        places = np.full(self.item.size, -1)
        places[values["place"].to_numpy()] = np.arange(values.height)
        return places, values


def _line_items(gold: pl.DataFrame, pred: pl.DataFrame, reader: _ValueReader) -> _Agreements:
    official = reader.mode == "official"
    ours, theirs = _Items(gold), _Items(pred)
    groups = [ours.doc, theirs.doc]
    if official:
        # Only items with the same components in the same order are compared.
        orders = pl.concat([ours.order, theirs.order]).rank("dense").cast(pl.Int64).to_numpy()
        groups = [
            doc * (orders.max() + 1) + order
            for doc, order in zip(groups, np.split(orders, [ours.doc.size]), strict=True)
        ]
    i, j = _crossed(*groups)
    agreed = np.zeros(i.size)
    for component in gold["component"].unique(maintain_order=True):
        (mine, golds), (yours, preds) = ours.of(component), theirs.of(component)
        are_same = reader.same(component, golds, preds)
        both = np.flatnonzero((mine[i] >= 0) & (yours[j] >= 0))
        same = np.zeros(i.size, dtype=bool)
        same[both] = are_same(mine[i[both]], yours[j[both]])
        if official:
            # A component that differs is enough; the pair need not be looked at again.
            keep = same | (mine[i] < 0)
            i, j, agreed = i[keep], j[keep], agreed[keep]
        else:
            agreed += same
    credit = np.ones(i.size) if official else 2 * agreed / (ours.size[i] + theirs.size[j])
    keep = credit > 0
    return _Agreements(ours.doc[i[keep]], ours.item[i[keep]], theirs.item[j[keep]], credit[keep])


def _crossed(ours: np.ndarray, theirs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The places of all pairs whose numbers are equal.

    >>> [side.tolist() for side in _crossed(np.array([7, 8]), np.array([8, 9, 8]))]
    [[1, 1], [0, 2]]
    """
    order = np.argsort(theirs, kind="stable")
    ranked = theirs[order]
    begin, end = (np.searchsorted(ranked, ours, side=side) for side in ("left", "right"))
    count = end - begin
    i = np.repeat(np.arange(ours.size), count)
    step = np.arange(i.size) - np.repeat(np.cumsum(count) - count, count)
    return i, order[np.repeat(begin, count) + step]


def _equals(pred: pl.DataFrame, agreements: _Agreements, first: np.ndarray) -> np.ndarray:
    """Items that were not taken and equal a taken one in all they hold.

    Such an item agrees with the same gold, so only those that came second need to be compared.
    """
    taken = set(first.tolist())
    late = [
        (item, first[gold])
        for gold, item in zip(agreements.gold.tolist(), agreements.pred.tolist(), strict=True)
        if item not in taken
    ]
    if not late:
        return np.empty(0, dtype=np.int64)
    items = list({item for pair in late for item in pair})
    values: dict[int, list] = {item: [] for item in items}
    some = pred.filter(pl.col("item").is_in(items)).select("item", "component", "value", "identity")
    for item, *rest in some.iter_rows():
        values[item].append(rest)
    equal = {item for item, other in late if values[item] == values[other]}
    return np.array(sorted(equal), dtype=np.int64)


def _assigned(parts: list[_Agreements]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """One prediction a gold item at most, and the other way round, with the most credit in all."""
    chosen = [_NOTHING[1:]]
    for agreement in parts:
        order = np.argsort(agreement.doc, kind="stable")
        edges = np.flatnonzero(np.diff(agreement.doc[order])) + 1
        for rows in np.split(order, edges):
            gold, pred, credit = agreement.gold[rows], agreement.pred[rows], agreement.credit[rows]
            chosen.append((gold, pred, credit) if rows.size < 2 else _best(gold, pred, credit))
    gold, pred, credit = (np.concatenate(column) for column in zip(*chosen, strict=True))
    order = np.argsort(gold, kind="stable")
    return gold[order], pred[order], credit[order]


def _best(
    gold: np.ndarray, pred: np.ndarray, credit: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    golds, ours = np.unique(gold, return_inverse=True)
    preds, theirs = np.unique(pred, return_inverse=True)
    table = np.zeros((golds.size, preds.size))
    table[ours, theirs] = credit
    rows, columns = np.array(assign(table), dtype=np.int64).reshape(-1, 2).T
    return golds[rows], preds[columns], table[rows, columns]
