"""Pair the fields of one's own forms: by their paths, and the items of lists with one another.

An item of a list has no name but its position, and is not wrong for standing at another.
So the items of a gold and a predicted list are assigned to each other such that the most values
agree, each by its own rule; of several such assignments that whose values are most alike. Lists
within items are assigned likewise, for each pair of items. What is left of the longer list is
`missing` or `spurious`. A list whose rule is ``ordered`` is paired by position, and so is a list
of more than `LARGEST` pairs of values, which nobody writes by hand.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
import polars as pl
import scipy

from formlab import own, text
from formlab.own.values import pattern
from formlab.scoring.rules import RULE, rights
from formlab.tables import USABLE

LARGEST = 1_000_000
# Deeper than any form, shallower than Python's stack.
_TOO_DEEP = pl.col("path").str.count_matches("/") > 60
_FIRST_ITEM = "^(.*?)/([0-9]+)(/.*)?$"
_KEY = ["doc_id", "path"]
# Pairs of items from which on they are compared as arrays.
_MANY = 400
# A field, the fields below each of its steps; under None the row of its own value.
_Tree = dict[str | None, Any]


class _Worth(NamedTuple):
    """What pairs of fields add to an assignment, by the rows of both sides; else nothing."""

    pairs: dict[tuple[int, int], float]
    table: scipy.sparse.csr_array

    @classmethod
    def of(cls, worth: pl.DataFrame, last: tuple[int, int]) -> _Worth:
        rows, columns, values = (worth[name] for name in worth.columns)
        shape = (last[0] + 1, last[1] + 1)
        table = scipy.sparse.csr_array(
            (values.to_numpy(), (rows.to_numpy(), columns.to_numpy())), shape=shape
        )
        pairs = zip(rows.to_list(), columns.to_list(), strict=True)
        return cls(dict(zip(pairs, values.to_list(), strict=True)), table)


def same_fields(
    gold: pl.DataFrame, claims: pl.DataFrame, *, threshold: float,
    orders: Mapping[str, str] | None = None,
) -> pl.DataFrame:  # fmt: skip
    """The pairs of records that are the same field: ``doc_id path pred_path``.

    Parameters
    ----------
    gold, claims
        Records, the gold with the column `RULE`.
    threshold, orders
        As for `align.judged`.

    Examples
    --------
    >>> gold = pl.DataFrame({"doc_id": ["a", "a"], "path": ["/party/0", "/party/1"],
    ...     "value": ["Ada", "Bo"], "kind": "string", "rule": None, "accepted": None},
    ...     schema_overrides={"rule": pl.String, "accepted": pl.List(pl.String)})
    >>> claims = gold.with_columns(value=pl.Series(["bo", "Cy"]), status=pl.lit("ok"))
    >>> same_fields(gold, claims, threshold=0.8).select("path", "pred_path").sort("path").rows()
    [('/party/0', '/party/1'), ('/party/1', '/party/0')]
    """
    sides = [_items(side) for side in (gold, claims)]
    listed = [side.filter(pl.col("list").is_not_null()) for side in sides]
    if not all(side.height for side in listed):
        return same_paths(gold, claims)
    ordered = {
        name for name, meta in listed[0].select("list", RULE).unique().iter_rows()
        if own.rule_of(meta).ordered
    }  # fmt: skip
    by_place = pl.col("list").is_null() | pl.col("list").is_in(sorted(ordered))
    by_place |= _TOO_DEEP
    pairs = [same_paths(*(side.filter(by_place) for side in sides))]
    left = [side.filter(~by_place) for side in listed]
    pairs.append(_equal_items(*left))
    left = [
        side.join(pairs[1], left_on=_KEY, right_on=["doc_id", name], how="anti")
        for side, name in zip(left, ("path", "pred_path"), strict=True)
    ]
    if not all(side.height for side in left):
        return pl.concat(pairs)
    left, sizes = _sizes(*left)
    few = [side.join(sizes.filter(pl.col("count") <= LARGEST), on="doc_id") for side in left]
    many = [side.join(few[0], on="doc_id", how="anti") for side in left]
    pairs.append(same_paths(*many))
    # Only so many pairs of values at a time are kept in memory.
    for number in few[0]["batch"].unique():
        batch = [side.filter(batch=number) for side in few]
        pairs.append(_assigned(*batch, _worth(*batch, threshold=threshold, orders=orders)))
    return pl.concat(pairs)


def same_paths(gold: pl.DataFrame, claims: pl.DataFrame) -> pl.DataFrame:
    """The pairs of records that have the same path, as from `same_fields`."""
    shared = gold.select(_KEY).join(claims.select(_KEY), on=_KEY, how="semi", nulls_equal=True)
    return shared.with_columns(pred_path="path")


def placed(both: pl.DataFrame, known: Mapping[str, str | None]) -> pl.DataFrame:
    """Cases with the spurious values of lists at free places, and of the kinds of such values.

    `both` are gold records beside their matches, and claims of the outcome ``spurious``, under the
    names of *cases*; `known` has the kind of each field, by the pattern of its path. At its own
    position a spurious item would share its path with a gold item that
    another item was assigned to.
    """
    spurious = (pl.col("outcome") == "spurious").fill_null(False)
    claimed = both.filter(spurious)
    if not claimed.height:
        return both
    paths = claimed["path"].drop_nulls().unique()
    kinds = {path: known.get(pattern(path)) for path in paths}
    kind = pl.col("path").replace_strict(kinds, default=None, return_dtype=pl.String)
    listed = pl.col("path").str.contains(_FIRST_ITEM) & ~_TOO_DEEP
    docs = claimed.filter(listed)["doc_id"].unique().implode()
    rows = both.with_row_index("row").filter(pl.col("doc_id").is_in(docs), listed)
    moved: dict[int, str] = {}
    for _, document in rows.group_by("doc_id", maintain_order=True):
        golds, claims = (document.filter(side) for side in (~spurious, spurious))
        moved |= _free_places(golds.select("path", "pred_path"), claims.select("row", "path"))
    index = pl.int_range(pl.len(), dtype=pl.UInt32)
    path = index.replace_strict(moved, default=pl.col("path"), return_dtype=pl.String)
    return both.with_columns(
        path.alias("path"), pl.when(spurious).then(pl.coalesce("kind", kind)).otherwise("kind")
    )


def _free_places(golds: pl.DataFrame, claims: pl.DataFrame) -> dict[int, str]:
    """The path of each spurious value of a document, by its row, among the gold's paths."""
    used: set[str] = set()
    place_of: dict[str, str] = {}
    numbers: dict[str, Iterator[int]] = {}
    for path, pred_path in golds.iter_rows():
        starts = _starts(path)
        used.update(starts)
        if pred_path is not None:
            place_of |= zip(_starts(pred_path), starts, strict=True)
    moved = {}
    for row, path in claims.iter_rows():
        here = ""
        for start in _starts(path):
            step = start.rpartition("/")[2]
            if start not in place_of:
                pointer = f"{here}/{step}"
                while step.isdecimal() and pointer in used:
                    pointer = f"{here}/{next(numbers.setdefault(here, itertools.count()))}"
                used.add(pointer)
                place_of[start] = pointer
            here = place_of[start]
        moved[row] = here
    return moved


def _starts(path: str) -> list[str]:
    """The pointers that a path begins with, itself the last of them."""
    return list(itertools.accumulate(f"/{step}" for step in path.split("/")[1:]))


def _items(records: pl.DataFrame) -> pl.DataFrame:
    """Records with the first list on their path, the place in it, and the path below that."""
    path = pl.col("path")
    return records.with_columns(
        path.str.extract(_FIRST_ITEM, group).alias(name)
        for group, name in enumerate(("list", "place", "below"), start=1)
    ).with_columns(pl.col("below").fill_null("")).with_row_index("row")  # fmt: skip


def _equal_items(gold: pl.DataFrame, claims: pl.DataFrame) -> pl.DataFrame:
    """The pairs of fields in items that are wholly equal: nothing can agree with more.

    That holds where only equal values agree, so not where values need only be near, or several are
    right. Years and other names made of digits are no places in a list.
    """
    lists = ["doc_id", "list"]
    near = {
        meta for meta in gold[RULE].unique()
        if (rule := own.rule_of(meta)).tolerance is not None or rule.comparator == "fuzzy"
    }  # fmt: skip
    inexact = pl.col(RULE).is_in([meta for meta in near if meta])
    inexact |= pl.col("accepted").list.len().fill_null(0) > 0
    inexact = gold.filter(inexact.fill_null(False)).select(lists).unique()
    places = pl.concat([side.select(*lists, "place") for side in (gold, claims)])
    starts = places.filter(pl.col("place").is_in(["0", "1"])).select(lists).unique()
    items = []
    for side in (gold, claims):
        side = side.join(starts, on=lists, how="semi").join(inexact, on=lists, how="anti")
        content = pl.struct("below", "value").sort_by("below")
        item = side.group_by(*lists, "place", maintain_order=True).agg(content.alias("content"))
        again = pl.int_range(pl.len()).over(*lists, "content")
        items.append(item.with_columns(again.alias("again")))
    same = items[0].join(items[1], on=[*lists, "content", "again"], suffix="_pred")
    golds = gold.join(same.select(*lists, "place", "place_pred"), on=[*lists, "place"])
    path = pl.format("{}/{}{}", "list", "place_pred", "below")
    return golds.select(*_KEY, path.alias("pred_path"))


def _sizes(
    gold: pl.DataFrame, claims: pl.DataFrame
) -> tuple[tuple[pl.DataFrame, pl.DataFrame], pl.DataFrame]:
    """Both sides with the `pattern` of each path; how many pairs a document has, and its batch."""
    named = pl.concat([gold["path"], claims["path"]]).unique()
    pattern_of = pl.col("path").replace_strict(
        named, named.map_elements(pattern, return_dtype=pl.String)
    )
    gold, claims = (side.with_columns(pattern=pattern_of) for side in (gold, claims))
    on = ["doc_id", "pattern"]
    counts = [side.group_by(on).agg(pl.len().alias("count")) for side in (gold, claims)]
    both = counts[0].join(counts[1], on=on).with_columns(pl.col("count").cast(pl.Int64))
    pairs = pl.col("count") * pl.col("count_right")
    sizes = both.group_by("doc_id").agg(pairs.sum().alias("count")).sort("doc_id")
    kept = pl.when(pl.col("count") <= LARGEST).then("count").otherwise(0)
    return (gold, claims), sizes.with_columns(batch=kept.cum_sum() // LARGEST)


def _worth(
    gold: pl.DataFrame, claims: pl.DataFrame, *, threshold: float, orders: Mapping[str, str] | None
) -> _Worth:
    """What each pair of fields adds to an assignment; agreement outweighs all similarity."""
    on = ["doc_id", "pattern"]
    filled = pl.col("value").str.strip_chars() != ""
    answers = claims.filter(pl.col("status").is_in(USABLE) & filled)
    golds = gold.filter(filled).select(*on, "row", "kind", "accepted", RULE, gold="value")
    both = golds.join(answers.select(*on, "row", used="value"), on=on, suffix="_pred")
    order = pl.col("doc_id").replace_strict(orders or {}, default=None, return_dtype=pl.String)
    spelled = pl.col("accepted").list.join("\n").alias("spelled")
    both = both.with_columns(order.alias("order"), spelled)
    # Values repeat: each two of them are compared once.
    alike = ["gold", "used", "kind", "spelled", RULE, "order"]
    distinct = both.unique(alike, maintain_order=True)
    written = distinct["order"].to_list()
    sides = [distinct[name].to_list() for name in ("gold", "used", "kind", "accepted")]
    rungs = text.ladders(*sides, threshold=threshold, orders=written)
    agree = rights(distinct.hstack(rungs), written).alias("agree")
    judged = distinct.select(alike).hstack([agree, rungs["similarity"]])
    both = both.join(judged, on=alike, how="left", nulls_equal=True, maintain_order="left")
    most = gold.group_by("doc_id").agg(most=pl.len() + 1)
    both = both.join(most, on="doc_id", how="left", maintain_order="left")
    worth = both.select("row", "row_pred", pl.col("most") * pl.col("agree") + pl.col("similarity"))
    return _Worth.of(worth, (gold["row"].max(), claims["row"].max()))


def _assigned(gold: pl.DataFrame, claims: pl.DataFrame, worth: _Worth) -> pl.DataFrame:
    trees = [_trees(side) for side in (gold, claims)]
    rows = [
        pair
        for doc_id, tree in trees[0].items() if doc_id in trees[1]
        for pair in _paired(tree, trees[1][doc_id], worth)[1]
    ]  # fmt: skip
    numbers = pl.DataFrame(rows, schema={"row": pl.UInt32, "row_pred": pl.UInt32}, orient="row")
    named = gold.select("row", *_KEY).join(numbers, on="row")
    theirs = claims.select(row_pred="row", pred_path="path")
    return named.join(theirs, on="row_pred").select(*_KEY, "pred_path")


def _trees(records: pl.DataFrame) -> dict[str, _Tree]:
    """The fields of each document, as a tree of their rows."""
    trees: dict[str, _Tree] = {}
    for doc_id, path, row in records.select(*_KEY, "row").iter_rows():
        node = trees.setdefault(doc_id, {})
        for step in path.split("/")[1:]:
            node = node.setdefault(step, {})
        node.setdefault(None, row)
    return trees


def _paired(gold: _Tree, pred: _Tree, worth: _Worth) -> tuple[float, list[tuple[int, int]]]:
    """The pairs of rows of two fields with the greatest worth in all, and that worth."""
    here = (gold.get(None), pred.get(None))
    pairs = [] if None in here else [(worth.pairs.get(here, 0.0), [here])]
    steps, others = ([step for step in side if step is not None] for side in (gold, pred))
    if steps and others and _is_list({*steps, *others}):
        sides = [gold[step] for step in steps], [pred[step] for step in others]
        if len(steps) * len(others) > _MANY and all(map(_is_flat, itertools.chain(*sides))):
            values = _flat_worth(*sides, worth)
        else:
            table = [[_paired(a, b, worth)[0] for b in sides[1]] for a in sides[0]]
            values = np.array(table, dtype=float)
        # Of assignments that are equally good, that of the nearest items.
        values -= 1e-9 * np.abs(np.subtract.outer(np.arange(len(steps)), np.arange(len(others))))
        rows, columns = scipy.optimize.linear_sum_assignment(values, maximize=True)
        chosen = zip(rows, columns, strict=True)
        pairs += [_paired(sides[0][row], sides[1][column], worth) for row, column in chosen]
    else:
        pairs += [_paired(gold[step], pred[step], worth) for step in steps if step in pred]
    return sum(value for value, _ in pairs), [pair for _, matches in pairs for pair in matches]


def _is_list(places: set[str]) -> bool:
    """Whether the steps below a field number its items; years, for one, are names."""
    return bool(places & {"0", "1"}) and all(step.isdecimal() for step in places)


def _is_flat(item: _Tree) -> bool:
    return all(step is None or list(below) == [None] for step, below in item.items())


def _flat_worth(golds: list[_Tree], preds: list[_Tree], worth: _Worth) -> np.ndarray:
    """What each pair of items is worth, of items without lists or objects in them."""
    values = np.zeros((len(golds), len(preds)))
    for step in {step for item in golds for step in item}:
        places, rows = zip(*(
            ([n for n, item in enumerate(side) if step in item],
             [item[step] if step is None else item[step][None] for item in side if step in item])
            for side in (golds, preds)
        ), strict=True)  # fmt: skip
        values[np.ix_(*places)] += worth.table[rows[0]][:, rows[1]].toarray()
    return values
