"""Pair the fields of one's own forms: by their paths, and the items of lists with one another.

An item of a list has no name but its position, and is not wrong for standing at another.
So the items of a gold and a predicted list are assigned to each other such that the most values
agree, each by its own rule; of several such assignments that whose other values are most alike,
and of these that of the nearest items. A value that agrees with another item's is no misreading of
this one's: however alike the two are, that counts nothing. Lists within items are assigned
likewise, for each pair of items; a value where the other side has a list is a list of one. What is
left of the longer list is `missing` or `spurious`. A list whose rule is ``ordered`` is paired by
position, and so are the lists of a document that holds more than `LARGEST` pairs of values of one
field, which nobody writes by hand. Nothing here depends on other documents.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from rapidfuzz import process
from rapidfuzz.distance import Levenshtein

from formlab import text
from formlab.metrics.assignment import assign
from formlab.readers.types import rule_of
from formlab.readers.values import pattern
from formlab.scoring.rules import RULE, is_parsed, rights
from formlab.tables import USABLE

LARGEST = 25_000_000
# As many pairs of one document's values with a tolerance are compared at most.
COMPARED = 1_000_000
# Deeper than any form, shallower than Python's stack.
_TOO_DEEP = pl.col("path").str.count_matches("/") > 60
_FIRST_ITEM = "^(.*?)/([0-9]+)(/.*)?$"
_KEY = ["doc_id", "path"]
# A document, and a field in it, whether its values stand in lists or alone.
_FIELD = ["doc_id", "field"]
# The fields below each step of a field; under None the row of its own value.
_Tree = dict[str | None, Any]


def same_fields(
    gold: pl.DataFrame,
    claims: pl.DataFrame,
    *,
    threshold: float,
    orders: Mapping[str, str] | None = None,
) -> pl.DataFrame:
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
    sides = [_fields(side) for side in (gold, claims)]
    metas = gold[RULE].unique()
    near = metas.filter(pl.Series([_inexact(meta) for meta in metas], dtype=pl.Boolean))
    sides[0] = sides[0].with_columns(inexact=pl.col(RULE).is_in(near.implode()).fill_null(False))
    lists = pl.concat([side.select("doc_id", path="list").drop_nulls() for side in sides]).unique()
    if lists.is_empty():
        return same_paths(gold, claims)
    # A value alone where the other side has a list is an item as well.
    alone = [side.join(lists, on=_KEY, how="semi")["row"].implode() for side in sides]
    items = [
        side.filter(pl.col("list").is_not_null() | pl.col("row").is_in(rows), ~_TOO_DEEP)
        for side, rows in zip(sides, alone, strict=True)
    ]
    few = _few_pairs(*items)
    items = [side.join(few, on="doc_id", how="semi", maintain_order="left") for side in items]
    rest = [side.join(part, on="row", how="anti") for side, part in zip(sides, items, strict=True)]
    return pl.concat([same_paths(*rest), _assigned(*items, _ordered(gold), threshold, orders)])


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
    # So may a value alone where the other side has a list.
    listed |= pl.col("path").is_not_null() & pl.struct(_KEY).is_duplicated()
    docs = claimed["doc_id"].unique().implode()
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
            place_of |= zip(_starts(pred_path), starts, strict=False)
    moved, golds_at = {}, set(golds["path"])
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
        while here in golds_at:
            here = f"{path}/{next(numbers.setdefault(path, itertools.count()))}"
        golds_at.add(here)
        moved[row] = here
    return moved


def _starts(path: str) -> list[str]:
    """The pointers that a path begins with, itself the last of them."""
    return list(itertools.accumulate(f"/{step}" for step in path.split("/")[1:]))


def _fields(records: pl.DataFrame) -> pl.DataFrame:
    """Records with their row, the first list on their path, and their field.

    The field is the `pattern` of the path without places at its end.
    """
    paths = records["path"].drop_nulls().unique()
    field = [pattern(path) for path in paths]
    path = pl.col("path")
    return records.with_row_index("row").with_columns(
        path.str.extract(_FIRST_ITEM).alias("list"),
        path.replace_strict(paths, pl.Series(field, dtype=pl.String), default=None)
        .str.replace(r"(/\*)+$", "")
        .alias("field"),
    )


def _ordered(gold: pl.DataFrame) -> set[str]:
    """The patterns of lists whose items keep their order."""
    metas = [meta for meta in gold[RULE].unique() if rule_of(meta).ordered]
    paths = gold.filter(pl.col(RULE).is_in(metas))["path"].drop_nulls().unique()
    starts = {start for path in paths for start in _starts(pattern(path))}
    return {start.removesuffix("/*") for start in starts if start.endswith("/*")}


def _inexact(meta: str | None) -> bool:
    """Whether values may agree by this rule that share neither text nor value."""
    rule = rule_of(meta)
    return rule.tolerance is not None or rule.comparator == "fuzzy"


def _few_pairs(gold: pl.DataFrame, claims: pl.DataFrame) -> pl.DataFrame:
    """The documents whose pairs of values are few enough to try."""
    golds = gold.group_by(_FIELD).agg(pl.len().alias("count"), pl.col("inexact").sum())
    both = golds.join(claims.group_by(_FIELD).agg(pl.len().alias("claims")), on=_FIELD)
    both = both.with_columns(pl.col("count", "inexact", "claims").cast(pl.Int64))
    pairs = (pl.col("count") * pl.col("claims")).max() <= LARGEST
    near = (pl.col("inexact") * pl.col("claims")).sum() <= COMPARED
    return both.group_by("doc_id").agg(few=pairs & near).filter("few")


# A gold value with all that says which answers agree with it: its kind, the accepted values, its
# rule, and the order of day and month in its document.
_Gold = tuple[str, str | None, str | None, str | None, str | None]
_GOLD = ["gold", "kind", "spelled", RULE, "order"]


def _assigned(
    gold: pl.DataFrame,
    claims: pl.DataFrame,
    ordered: set[str],
    threshold: float,
    orders: Mapping[str, str] | None,
) -> pl.DataFrame:
    filled = pl.col("value").str.strip_chars() != ""
    order = pl.col("doc_id").replace_strict(orders or {}, default=None, return_dtype=pl.String)
    golds = gold.filter(filled).select(
        "row",
        *_FIELD,
        "kind",
        "accepted",
        RULE,
        "inexact",
        order.alias("order"),
        gold="value",
        spelled=pl.col("accepted").list.join("\n"),
    )
    answers = claims.filter(filled, pl.col("status").is_in(USABLE))
    answers = answers.select("row", *_FIELD, used="value")
    agreeing = _agreeing(golds, answers, threshold)
    normal = functools.cache(functools.partial(text.normalise, steps=text.LADDER_STEPS))
    columns = ["row", "field", "accepted", *_GOLD]
    right = {
        row: _Right(field, tuple(key), tuple(map(normal, (key[0], *(accepted or ())))))
        for row, field, accepted, *key in golds.select(columns).iter_rows()
    }
    given = {
        row: _Given(field, used, normal(used))
        for row, field, used in answers.select("row", "field", "used").iter_rows()
    }
    trees, others = _trees(gold), _trees(claims)
    rows = [
        pair
        for doc_id, tree in trees.items()
        if doc_id in others
        for pair in _Document(tree, others[doc_id], right, given, agreeing, ordered).pairs()
    ]
    numbers = pl.DataFrame(rows, schema={"row": pl.UInt32, "row_pred": pl.UInt32}, orient="row")
    named = gold.select("row", *_KEY).join(numbers, on="row")
    theirs = claims.select(row_pred="row", pred_path="path")
    return named.join(theirs, on="row_pred").select(*_KEY, "pred_path")


def _agreeing(
    golds: pl.DataFrame, answers: pl.DataFrame, threshold: float
) -> dict[_Gold, set[str]]:
    """The answers that agree with each gold value, of those in its field of its document."""
    golds, answers = golds.unique([*_FIELD, *_GOLD]), answers.drop("row").unique()
    kinds = golds.select(RULE, "kind").unique()
    parsed = [is_parsed(rule_of(meta), kind) for meta, kind in kinds.iter_rows()]
    kinds = kinds.with_columns(parsed=pl.Series(parsed, dtype=pl.Boolean))
    golds = golds.join(kinds, on=[RULE, "kind"], nulls_equal=True)
    # Values that agree have a key in common: most pairs have none, and are not compared.
    right = pl.concat_list("gold", pl.col("accepted").fill_null([]))
    named = _keyed(golds.with_columns(right=right).explode("right"), "right")
    read_as = golds.select(*_FIELD, "kind", "parsed").unique()
    keyed = _keyed(answers.join(read_as, on=_FIELD), "used")
    on, columns = [*_FIELD, "kind", "parsed", "key"], [*_GOLD, "accepted", "used"]
    pairs = named.join(keyed, on=on, nulls_equal=True).select(columns)
    near = golds.filter("inexact").join(answers, on=_FIELD).select(columns)
    pairs = pl.concat([pairs, near]).unique([*_GOLD, "used"])
    orders = pairs["order"].to_list()
    sides = [pairs[name].to_list() for name in ("gold", "used", "kind", "accepted")]
    rungs = text.ladders(*sides, threshold=threshold, orders=orders)
    agreeing: dict[_Gold, set[str]] = {}
    right_pairs = pairs.filter(rights(pairs.hstack(rungs), orders)).select(*_GOLD, "used")
    for *gold, used in right_pairs.iter_rows():
        agreeing.setdefault(tuple(gold), set()).add(used)
    return agreeing


def _keyed(values: pl.DataFrame, column: str) -> pl.DataFrame:
    """Values beside each `key` of theirs, see `text.keys`."""
    read_as = [column, "kind", "parsed"]
    known = values.select(read_as).unique()
    keys = [text.keys(value, kind, parsed=parsed) for value, kind, parsed in known.iter_rows()]
    counts, flat = list(map(len, keys)), itertools.chain.from_iterable(keys)
    places = pl.Series(np.repeat(np.arange(len(keys)), counts))
    known = known.select(pl.all().gather(places)).with_columns(key=pl.Series(flat, dtype=pl.Int64))
    return values.join(known, on=read_as, nulls_equal=True)


def _trees(records: pl.DataFrame) -> dict[str, _Tree]:
    """The fields of each document, as a tree of their rows."""
    trees: dict[str, _Tree] = {}
    for doc_id, path, row in records.select(*_KEY, "row").iter_rows():
        node = trees.setdefault(doc_id, {})
        for step in path.split("/")[1:]:
            node = node.setdefault(step, {})
        node.setdefault(None, row)
    return trees


def _below(place: str, step: str) -> str:
    return f"{place}/*" if step.isdecimal() else f"{place}/{step}"


class _Right(NamedTuple):
    """The field of a row of the gold, what tells who agrees with it, and its right values."""

    field: str
    gold: _Gold
    normal: tuple[str, ...]


class _Given(NamedTuple):
    """The field of a row of the answers, and its value as given and normalised."""

    field: str
    value: str
    normal: str


class _Document:
    """The fields of a document on both sides, paired for the greatest worth in all.

    `right` and `given` have the values of rows of the gold and of the answers; a row that is not
    there has no value to compare.
    """

    def __init__(
        self, gold: _Tree, pred: _Tree, right: Mapping[int, _Right],
        given: Mapping[int, _Given], agreeing: Mapping[_Gold, set[str]], ordered: set[str],
    ) -> None:  # fmt: skip
        self._gold, self._pred, self._right, self._given = gold, pred, right, given
        self._agreeing, self._ordered = agreeing, ordered
        self._lists: set[str] = set()
        rows, _ = (list(self._rows(side, "")) for side in (gold, pred))
        golds = [right[row] for row in rows if row in right]
        # Agreement outweighs all likeness.
        self._most = len(golds) + 1
        self._others = {
            (field, value) for field, key, _ in golds for value in agreeing.get(key, ())
        }

    def pairs(self) -> list[tuple[int, int]]:
        """The rows of the gold and of the answers that belong together."""
        return list(self._pairs(self._gold, self._pred, ""))

    def _rows(self, node: _Tree, place: str) -> Iterator[int]:
        """The rows of a field and of all below it; the places of lists are noted."""
        if "0" in node or "1" in node:
            self._lists.add(place)
        for step, below in node.items():
            if step is None:
                yield below
            else:
                yield from self._rows(below, _below(place, step))

    def _read(self, node: _Tree, place: str) -> tuple[bool, _Tree]:
        """Whether the items of a field may stand in any order, and what is in it.

        Where the document has a list, a value alone is a list of one. Years and other names made
        of digits are no places.
        """
        steps = {step: below for step, below in node.items() if step is not None}
        if place not in self._lists or not all(map(str.isdecimal, steps)):
            return False, node
        if None in node:
            alone = "0" if "0" not in steps else "00"
            steps = {alone: {None: node[None]}} | steps
        return place not in self._ordered, steps

    def _pairs(self, gold: _Tree, pred: _Tree, place: str) -> Iterator[tuple[int, int]]:
        (is_list, golds), (is_list_too, preds) = (self._read(n, place) for n in (gold, pred))
        if is_list != is_list_too:
            return
        if not is_list:
            for step in golds.keys() & preds.keys():
                if step is None:
                    yield golds[None], preds[None]
                else:
                    yield from self._pairs(golds[step], preds[step], _below(place, step))
            return
        sides = list(golds.values()), list(preds.values())
        values = self._worths(*sides, f"{place}/*")
        # Of assignments that are equally good, that of the nearest items.
        values -= 1e-9 * np.abs(np.subtract.outer(*(np.arange(len(side)) for side in sides)))
        for row, column in assign(values, least=None):
            yield from self._pairs(sides[0][row], sides[1][column], f"{place}/*")

    def _worths(self, golds: list[_Tree], preds: list[_Tree], place: str) -> np.ndarray:
        """What each pair of fields at a place adds to an assignment."""
        total = np.zeros((len(golds), len(preds)))
        read = [[self._read(node, place) for node in side] for side in (golds, preds)]
        listed = [[n for n, (is_list, _) in enumerate(side) if is_list] for side in read]
        if all(listed):
            sides = ([side[n][1] for n in some] for side, some in zip(read, listed, strict=True))
            total[np.ix_(*listed)] = self._list_worths(*sides, f"{place}/*")
        nodes = [
            [(n, node) for n, (is_list, node) in enumerate(side) if not is_list] for side in read
        ]
        for step in dict.fromkeys(step for _, node in nodes[0] for step in node):
            some = [[(n, node[step]) for n, node in side if step in node] for side in nodes]
            if all(some):
                places, inner = ([[pair[n] for pair in side] for side in some] for n in (0, 1))
                worths = (
                    self._values(*inner)
                    if step is None
                    else self._worths(*inner, _below(place, step))
                )
                total[np.ix_(*places)] += worths
        return total

    def _list_worths(self, golds: list[_Tree], preds: list[_Tree], place: str) -> np.ndarray:
        """What each pair of lists adds, their items being assigned at best."""
        items = ([item for node in side for item in node.values()] for side in (golds, preds))
        values = self._worths(*items, place)
        if values.shape == (len(golds), len(preds)):
            return values
        rows, columns = (np.cumsum([0, *map(len, side)]) for side in (golds, preds))
        total = np.zeros((len(golds), len(preds)))
        for row, column in np.ndindex(*total.shape):
            block = values[rows[row] : rows[row + 1], columns[column] : columns[column + 1]]
            best = assign(block, least=None) if 1 not in block.shape else ()
            total[row, column] = sum(block[pair] for pair in best) if best else block.max()
        return total

    def _values(self, golds: list[int], preds: list[int]) -> np.ndarray:
        """What each pair of rows adds: agreement, or how alike they are."""
        total = np.zeros((len(golds), len(preds)))
        rows = [place for place, row in enumerate(golds) if row in self._right]
        columns = [place for place, row in enumerate(preds) if row in self._given]
        if not rows or not columns:
            return total
        # Values repeat: each two of them are compared once.
        right, right_codes = _coded(self._right[golds[place]] for place in rows)
        given, given_codes = _coded(self._given[preds[place]] for place in columns)
        alike = process.cdist(
            [value for gold in right for value in gold.normal], [answer.normal for answer in given],
            scorer=Levenshtein.normalized_similarity, dtype=np.float64,
        )  # fmt: skip
        starts = np.cumsum([0, *(len(gold.normal) for gold in right[:-1])])
        alike = np.maximum.reduceat(alike, starts, axis=0)
        # However alike, what agrees with another item's value is no misreading of this one's.
        alike[:, [(answer.field, answer.value) in self._others for answer in given]] = 0.0
        places = {answer.value: place for place, answer in enumerate(given)}
        for row, gold in enumerate(right):
            for value in self._agreeing.get(gold.gold, ()):
                if value in places:
                    alike[row, places[value]] = self._most + (value == gold.gold[0])
        total[np.ix_(rows, columns)] = alike[np.ix_(right_codes, given_codes)]
        return total


def _coded(values: Iterable[Any]) -> tuple[list[Any], list[int]]:
    """The different values, and the place among them of each."""
    places: dict[Any, int] = {}
    codes = [places.setdefault(value, len(places)) for value in values]
    return list(places), codes
