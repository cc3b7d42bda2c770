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
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from rapidfuzz import process
from rapidfuzz.distance import Levenshtein

from formlab import text
from formlab.metrics.assignment import assign
from formlab.readers.cells import pattern
from formlab.readers.types import rule_of
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
_normal = functools.lru_cache(1 << 16)(functools.partial(text.normalise, steps=text.LADDER_STEPS))


class _Gold(NamedTuple):
    """A gold value with all that says which answers agree with it."""

    gold: str
    kind: str | None
    accepted: tuple[str, ...]
    rule: str | None
    order: str | None


# Field and value of the rows of a document's gold, and of its answers.
_Right, _Given = dict[int, tuple[str, _Gold]], dict[int, tuple[str, str]]


def same_fields(
    gold: pl.DataFrame,
    claims: pl.DataFrame,
    *,
    threshold: float,
    orders: Mapping[str, str] | None = None,
) -> pl.DataFrame:
    """The pairs of records that are the same field: ``doc_id path pred_path``.

    The gold has the column `RULE`; `threshold` and `orders` are those of `align.judged`.

    >>> gold = pl.DataFrame({"doc_id": ["a", "a"], "path": ["/party/0", "/party/1"],
    ...     "value": ["Ada", "Bo"], "kind": "string", "rule": None, "accepted": None},
    ...     schema_overrides={"rule": pl.String, "accepted": pl.List(pl.String)})
    >>> claims = gold.with_columns(value=pl.Series(["bo", "Cy"]), status=pl.lit("ok"))
    >>> same_fields(gold, claims, threshold=0.8).select("path", "pred_path").sort("path").rows()
    [('/party/0', '/party/1'), ('/party/1', '/party/0')]
    """
    sides = [_fields(side) for side in (gold, claims)]
    lists = pl.concat([side.select("doc_id", path="list").drop_nulls() for side in sides]).unique()
    if lists.is_empty():
        return same_paths(gold, claims)
    # A value alone where the other side has a list is an item as well.
    alone = [side.join(lists, on=_KEY, how="semi")["row"].implode() for side in sides]
    items = [
        side.filter(pl.col("list").is_not_null() | pl.col("row").is_in(rows), ~_TOO_DEEP)
        for side, rows in zip(sides, alone, strict=True)
    ]
    # Only of these documents the pairs of values are few enough to try.
    inexact = pl.col(RULE).is_in([meta for meta in gold[RULE].unique() if _is_inexact(meta)])
    golds = items[0].group_by(_FIELD).agg(golds=pl.len(), inexact=inexact.sum())
    both = golds.join(items[1].group_by(_FIELD).agg(claims=pl.len()), on=_FIELD)
    golds, inexact, count = (pl.col(n).cast(pl.Int64) for n in ("golds", "inexact", "claims"))
    few = ((golds * count).max() <= LARGEST) & ((inexact * count).sum() <= COMPARED)
    few = both.group_by("doc_id").agg(few=few).filter("few")
    items = [side.join(few, on="doc_id", how="semi", maintain_order="left") for side in items]
    rest = [side.join(part, on="row", how="anti") for side, part in zip(sides, items, strict=True)]
    pairs = _assigned(*items, threshold, orders or {})
    rows = pl.DataFrame(pairs, schema={"row": pl.UInt32, "other": pl.UInt32}, orient="row")
    named = items[0].select("row", *_KEY).join(rows, on="row")
    other = items[1].select(other="row", pred_path="path")
    assigned = named.join(other, on="other").select(*_KEY, "pred_path")
    return pl.concat([same_paths(*rest), assigned])


def same_paths(gold: pl.DataFrame, claims: pl.DataFrame) -> pl.DataFrame:
    """The pairs of records that have the same path, as from `same_fields`."""
    shared = gold.select(_KEY).join(claims.select(_KEY), on=_KEY, how="semi", nulls_equal=True)
    return shared.with_columns(pred_path="path")


def placed(both: pl.DataFrame, known: Mapping[str, str | None]) -> pl.DataFrame:
    """Cases with the spurious values of lists at free places, and of the kinds of such values.

    `both` are gold records beside their matches, and claims of the outcome ``spurious``; `known`
    has the kind of each field, by the pattern of its path. At its own position a spurious item
    would share its path with a gold item that another item was assigned to.
    """
    spurious = (pl.col("outcome") == "spurious").fill_null(False)
    claimed = both.filter(spurious)
    if not claimed.height:
        return both
    kinds = {path: known.get(pattern(path)) for path in claimed["path"].drop_nulls().unique()}
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
    numbers: dict[str, Iterator[int]] = defaultdict(itertools.count)
    for path, pred_path in golds.iter_rows():
        used.update(_starts(path))
        if pred_path is not None:
            place_of |= zip(_starts(pred_path), _starts(path), strict=False)
    moved, golds_at = {}, set(golds["path"])
    for row, path in claims.iter_rows():
        place = ""
        for start in _starts(path):
            step = start.rpartition("/")[2]
            if start not in place_of:
                pointer = f"{place}/{step}"
                while step.isdecimal() and pointer in used:
                    pointer = f"{place}/{next(numbers[place])}"
                used.add(pointer)
                place_of[start] = pointer
            place = place_of[start]
        while place in golds_at:
            place = f"{path}/{next(numbers[path])}"
        golds_at.add(place)
        moved[row] = place
    return moved


def _starts(path: str) -> list[str]:
    """The pointers that a path begins with, itself the last of them."""
    return list(itertools.accumulate(f"/{step}" for step in path.split("/")[1:]))


def _fields(records: pl.DataFrame) -> pl.DataFrame:
    """Records with their row, the first list on their path, and their field.

    The field is the `pattern` of the path without places at its end.
    """
    paths = records["path"].drop_nulls().unique()
    fields = pl.Series([pattern(path) for path in paths], dtype=pl.String)
    field = pl.col("path").replace_strict(paths, fields, default=None).str.replace(r"(/\*)+$", "")
    first = pl.col("path").str.extract(_FIRST_ITEM)
    return records.with_row_index("row").with_columns(list=first, field=field)


def _is_inexact(meta: str | None) -> bool:
    """Whether values may agree by this rule that share neither text nor value."""
    return rule_of(meta).tolerance is not None or rule_of(meta).comparator == "fuzzy"


def _assigned(
    gold: pl.DataFrame, claims: pl.DataFrame, threshold: float, orders: Mapping[str, str]
) -> list[tuple[int, int]]:
    """The rows of both sides that belong together."""
    filled, usable = pl.col("value").str.strip_chars() != "", pl.col("status").is_in(USABLE)
    columns = ["doc_id", "row", "field", "value", "kind", "accepted", RULE]
    right: dict[str, _Right] = defaultdict(dict)
    for doc, row, field, value, kind, accepted, rule in gold.filter(filled)[columns].iter_rows():
        accepted = tuple(accepted or ())
        right[doc][row] = field, _Gold(value, kind, accepted, rule, orders.get(doc))
    given: dict[str, _Given] = defaultdict(dict)
    for doc, row, *answer in claims.filter(filled, usable)[columns[:4]].iter_rows():
        given[doc][row] = tuple(answer)
    agreeing = _agreeing(right, given, threshold)
    # The patterns of lists whose items keep their order.
    metas = [meta for meta in gold[RULE].unique() if rule_of(meta).ordered]
    paths = gold.filter(pl.col(RULE).is_in(metas))["path"].unique()
    starts = (start for path in paths for start in _starts(pattern(path)))
    ordered = {start.removesuffix("/*") for start in starts if start.endswith("/*")}
    lists: dict[str, set[str]] = defaultdict(set)
    trees, others = _trees(gold, lists), _trees(claims, lists)
    pairs: list[tuple[int, int]] = []
    for doc in trees:
        if doc in others:
            document = _Document(right[doc], given[doc], lists[doc], ordered, agreeing)
            pairs += document.pairs(trees[doc], others[doc])
    return pairs


def _agreeing(
    right: Mapping[str, _Right], given: Mapping[str, _Given], threshold: float
) -> dict[_Gold, set[str]]:
    """The answers that agree with each gold value, of those in its field of its document."""
    keys = functools.cache(text.keys)
    pairs: dict[tuple[_Gold, str], None] = {}
    for doc, golds in right.items():
        answers = defaultdict(set)
        for field, value in given[doc].values():
            answers[field].add(value)
        asked = defaultdict(set)
        for field, gold in golds.values():
            asked[field, gold.kind, is_parsed(rule_of(gold.rule), gold.kind)].add(gold)
        for (field, kind, parsed), values in asked.items():
            # Values that agree have a key in common: most pairs have none, and are not compared.
            by_key = defaultdict(list)
            for value in answers[field]:
                for key in keys(value, kind, parsed=parsed):
                    by_key[key].append(value)
            for gold in values:
                found = set(answers[field]) if _is_inexact(gold.rule) else set()
                for value in (gold.gold, *gold.accepted):
                    found.update(*(by_key.get(k, ()) for k in keys(value, kind, parsed=parsed)))
                pairs |= dict.fromkeys((gold, value) for value in found)
    listed = list(pairs)
    schema = dict.fromkeys((*_Gold._fields, "used"), pl.String) | {"accepted": pl.List(pl.String)}
    table = pl.DataFrame([(*gold, value) for gold, value in listed], schema=schema, orient="row")
    sides = [table[name].to_list() for name in ("gold", "used", "kind", "accepted", "order")]
    rungs = text.ladders(*sides[:4], threshold=threshold, orders=sides[4])
    agreeing: dict[_Gold, set[str]] = defaultdict(set)
    for row in rights(table.hstack(rungs), sides[4]).arg_true():
        agreeing[listed[row][0]].add(listed[row][1])
    return agreeing


def _trees(records: pl.DataFrame, lists: dict[str, set[str]]) -> dict[str, _Tree]:
    """The fields of each document, as a tree of their rows; the places of lists are noted."""
    trees: dict[str, _Tree] = defaultdict(dict)
    for doc_id, path, row in records.select(*_KEY, "row").iter_rows():
        node, place = trees[doc_id], ""
        for step in path.split("/")[1:]:
            if step in ("0", "1"):
                lists[doc_id].add(place)
            node, place = node.setdefault(step, {}), _below(place, step)
        node.setdefault(None, row)
    return trees


def _below(place: str, step: str) -> str:
    return f"{place}/*" if step.isdecimal() else f"{place}/{step}"


@dataclass
class _Document:
    """The fields of a document on both sides, paired for the greatest worth in all.

    `right` and `given` have field and value of rows of the gold and of the answers; a row that is
    not there has no value to compare. `lists` are the places of lists.
    """

    right: _Right
    given: _Given
    lists: set[str]
    ordered: set[str]
    agreeing: Mapping[_Gold, set[str]]

    def __post_init__(self) -> None:
        golds = self.right.values()
        self.others = {(f, value) for f, gold in golds for value in self.agreeing.get(gold, ())}

    def _read(self, node: _Tree, place: str) -> tuple[bool, _Tree]:
        """Whether the items of a field may stand in any order, and what is in it.

        Where the document has a list, a value alone is a list of one. Years and other names made
        of digits are no places.
        """
        steps = {step: below for step, below in node.items() if step is not None}
        if place not in self.lists or not all(map(str.isdecimal, steps)):
            return False, node
        if None in node:
            alone = "0" if "0" not in steps else "00"
            steps = {alone: {None: node[None]}} | steps
        return place not in self.ordered, steps

    def pairs(self, gold: _Tree, pred: _Tree, place: str = "") -> Iterator[tuple[int, int]]:
        """The rows of the gold and of the answers that belong together."""
        (is_list, golds), (is_list_too, preds) = (self._read(n, place) for n in (gold, pred))
        if is_list != is_list_too:
            return
        if not is_list:
            for step in golds.keys() & preds.keys():
                if step is None:
                    yield golds[None], preds[None]
                else:
                    yield from self.pairs(golds[step], preds[step], _below(place, step))
            return
        sides = list(golds.values()), list(preds.values())
        values = self._worths(*sides, f"{place}/*")
        # Of assignments that are equally good, that of the nearest items.
        values -= 1e-9 * np.abs(np.subtract.outer(*(np.arange(len(side)) for side in sides)))
        for row, column in assign(values, least=None):
            yield from self.pairs(sides[0][row], sides[1][column], f"{place}/*")

    def _worths(self, golds: list[_Tree], preds: list[_Tree], place: str) -> np.ndarray:
        """What each pair of fields at a place adds to an assignment."""
        total = np.zeros((len(golds), len(preds)))
        # The fields of each side by what is in them: a list, or one step.
        steps: list[dict[Any, list]] = [defaultdict(list), defaultdict(list)]
        for side, nodes in zip(steps, (golds, preds), strict=True):
            for number, node in enumerate(nodes):
                is_list, inner = self._read(node, place)
                for step, below in [("*", inner)] if is_list else inner.items():
                    side[is_list, step].append((number, below))
        for is_list, step in [key for key in steps[0] if key in steps[1]]:
            pairs = [zip(*side[is_list, step], strict=True) for side in steps]
            places, inner = zip(*pairs, strict=True)
            if is_list:
                worths = self._list_worths(*inner, f"{place}/*")
            elif step is None:
                worths = self._values(*inner)
            else:
                worths = self._worths(*inner, _below(place, step))
            total[np.ix_(*places)] += worths
        return total

    def _list_worths(self, golds: list[_Tree], preds: list[_Tree], place: str) -> np.ndarray:
        """What each pair of lists adds, their items being assigned at best."""
        items = ([item for node in side for item in node.values()] for side in (golds, preds))
        values = self._worths(*items, place)
        rows, columns = (np.cumsum([0, *map(len, side)]) for side in (golds, preds))
        total = np.zeros((len(golds), len(preds)))
        for row, column in np.ndindex(*total.shape):
            block = values[rows[row] : rows[row + 1], columns[column] : columns[column + 1]]
            total[row, column] = sum(block[pair] for pair in assign(block, least=None))
        return total

    def _values(self, golds: list[int], preds: list[int]) -> np.ndarray:
        """What each pair of rows adds: agreement, or how alike they are."""
        total = np.zeros((len(golds), len(preds)))
        rows = [place for place, row in enumerate(golds) if row in self.right]
        columns = [place for place, row in enumerate(preds) if row in self.given]
        if not rows or not columns:
            return total
        golds = [self.right[golds[place]][1] for place in rows]
        given = [self.given[preds[place]] for place in columns]
        spelled = [[_normal(value) for value in (gold.gold, *gold.accepted)] for gold in golds]
        texts = list(itertools.chain(*spelled)), [_normal(value) for _, value in given]
        likeness = Levenshtein.normalized_similarity
        alike = process.cdist(*texts, scorer=likeness, dtype=np.float64)
        starts = np.cumsum([0, *map(len, spelled[:-1])])
        alike = np.maximum.reduceat(alike, starts, axis=0)
        # However alike, what agrees with another item's value is no misreading of this one's.
        alike[:, [answer in self.others for answer in given]] = 0.0
        places = defaultdict(list)
        for place, (_, value) in enumerate(given):
            places[value].append(place)
        for row, gold in enumerate(golds):
            # Agreement outweighs all likeness.
            for value in self.agreeing.get(gold, ()):
                alike[row, places.get(value, [])] = 1 + len(self.right) + (value == gold.gold)
        total[np.ix_(rows, columns)] = alike
        return total
