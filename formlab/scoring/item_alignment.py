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

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate, chain, count
from typing import Any

import numpy as np
import polars as pl
from rapidfuzz import process
from rapidfuzz.distance import Levenshtein

from formlab import text
from formlab.metrics import assign
from formlab.readers.types import rule_of
from formlab.readers.values import pattern
from formlab.scoring.align import plain, rungs
from formlab.scoring.bands import pattern as field_pattern
from formlab.scoring.rules import RULE, rights, with_rung
from formlab.tables import USABLE

LARGEST = 25_000_000
# As much as so many other pairs is a pair whose values may differ by their rule.
_INEXACT = 25
# Deeper than any form, shallower than Python's stack.
_TOO_DEEP = pl.col("path").str.count_matches("/") > 60
_ITEM = "/[0-9]+(/|$)"
_KEY = ["doc_id", "path"]
_FIELD = ["doc_id", "field"]
# A list whose items may stand in any order, or what is below each step of a field; under None the
# row of its own value.
_Tree = list["_Tree"] | dict[str | None, Any]


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
    is_item = pl.col("path").str.contains(_ITEM)
    if not any(side.select(is_item.any()).item() for side in (gold, claims)):
        return same_paths(gold, claims)
    # Values may agree by such a rule that share neither text nor value.
    rules = {meta: rule_of(meta) for meta in gold[RULE].unique()}.items()
    inexact = [n for n, of in rules if of.tolerance is not None or of.comparator == "fuzzy"]
    gold = with_rung(gold).with_columns(inexact=pl.col(RULE).is_in(inexact))
    # A field is of all items of its lists, and of a value alone where the other side has a list.
    field = field_pattern().str.replace(r"(/\*)+$", "")
    sides = [side.with_row_index("row").with_columns(field=field) for side in (gold, claims)]
    listed = pl.concat([side.filter(is_item).select(_FIELD) for side in sides])
    semi = {"how": "semi", "maintain_order": "left"}
    items = [side.filter(~_TOO_DEEP).join(listed, on=_FIELD, **semi) for side in sides]
    # Only of these documents the pairs of values are few enough to try.
    weight = pl.when("inexact").then(_INEXACT).otherwise(1).cast(pl.Int64).sum()
    both = items[0].group_by(_FIELD).agg(weight=weight)
    both = both.join(items[1].group_by(_FIELD).agg(claims=pl.len()), on=_FIELD)
    few = (pl.col("weight") * pl.col("claims")).max() <= LARGEST
    few = both.group_by("doc_id").agg(few=few).filter("few")
    items = [side.join(few, on="doc_id", **semi) for side in items]
    rest = [side.join(part, on="row", how="anti") for side, part in zip(sides, items, strict=True)]
    pairs = _Pairing(*items, threshold, orders or {}).pairs
    rows = pl.DataFrame(pairs, schema={"row": pl.UInt32, "other": pl.UInt32}, orient="row")
    named = items[0].select("row", *_KEY).join(rows, on="row")
    other = items[1].select(other="row", pred_path="path")
    return pl.concat([same_paths(*rest), named.join(other, on="other").select(*_KEY, "pred_path")])


def same_paths(gold: pl.DataFrame, claims: pl.DataFrame) -> pl.DataFrame:
    """The pairs of records that have the same path, as from `same_fields`."""
    shared = gold.select(_KEY).join(claims.select(_KEY), on=_KEY, how="semi", nulls_equal=True)
    return shared.with_columns(pred_path="path")


def placed(both: pl.DataFrame, known: Mapping[str, str | None]) -> pl.DataFrame:
    """Cases with the spurious values of lists at free places, and of the kinds of such values."""
    spurious = (pl.col("outcome") == "spurious").fill_null(False)
    claimed = both.filter(spurious)
    if not claimed.height:
        return both
    listed = pl.col("path").str.contains(_ITEM) & ~_TOO_DEEP
    # So may a value alone where the other side has a list.
    listed |= pl.col("path").is_not_null() & pl.struct(_KEY).is_duplicated()
    docs = claimed["doc_id"].unique().implode()
    rows = both.with_row_index("row").filter(pl.col("doc_id").is_in(docs), listed)
    moved: dict[int, str] = {}
    rows = rows.select("doc_id", "row", "path", "pred_path", spurious)
    for _, document in rows.group_by("doc_id", maintain_order=True):
        # The gold's place of each place of the answer, and those that are taken.
        used: set[str] = set()
        place_of: dict[str, str] = {}
        numbers: dict[str, Iterator[int]] = defaultdict(count)
        golds = document.filter(~pl.col("outcome"))
        for path, pred_path in golds.select("path", "pred_path").iter_rows():
            used.update(_starts(path))
            if pred_path is not None:
                place_of |= zip(_starts(pred_path), _starts(path), strict=False)
        taken = {*golds["path"]}
        for row, path in document.filter("outcome").select("row", "path").iter_rows():
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
            while place in taken:
                place = f"{path}/{next(numbers[path])}"
            taken.add(place)
            moved[row] = place
    kind = field_pattern().replace_strict(known, default=None, return_dtype=pl.String)
    kind = pl.when(spurious).then(pl.coalesce("kind", kind)).otherwise("kind")
    return both.with_columns(kind, path=both["path"].scatter([*moved], [*moved.values()]))


def _starts(path: str) -> list[str]:
    """The pointers that a path begins with, itself the last of them."""
    return list(accumulate(f"/{step}" for step in path.split("/")[1:]))


def _agreeing(
    gold: pl.DataFrame, claims: pl.DataFrame, threshold: float, orders: Mapping[str, str]
) -> pl.DataFrame:
    """The gold values, by row, and the answers `used` of their field that agree with them."""
    gold, how = gold.with_columns(parsed=pl.col("rung") == "typed"), [*_FIELD, "kind", "parsed"]
    said = claims.select(*_FIELD, text="value").unique()
    # Values that agree have a key in common: most pairs have none, and are not compared.
    sides = gold.select(*how, "row", text="texts").explode("text"), said
    sides = sides[0], sides[1].join(gold.select(how).unique(), on=_FIELD)
    texts = pl.concat(side.select("text", "kind", "parsed") for side in sides).unique()
    keys = [[*text.keys(*row[:2], parsed=row[2])] for row in texts.iter_rows()]
    keys = texts.with_columns(key=pl.Series(keys, dtype=pl.List(pl.Int64))).explode("key")
    same = {"on": ["text", "kind", "parsed"], "nulls_equal": True}
    sides = [side.join(keys, **same) for side in sides]
    near = sides[0].join(sides[1], on=[*how, "key"], nulls_equal=True, suffix=" said")
    near = near.select("row", used="text said")
    far = gold.filter("inexact").join(said, on=_FIELD).select("row", used="text")
    pairs = pl.concat([near, far]).unique()
    columns = (*_FIELD, "row", "kind", "accepted", RULE)
    pairs = pairs.join(gold.select(*columns, gold="value"), on="row")
    pairs = pairs.hstack(rungs(pairs, threshold=threshold, orders=orders))
    return pairs.filter(rights(pairs, orders))


class _Pairing:
    """The rows of both sides' items of lists, paired for the greatest worth in all."""

    def __init__(
        self, gold: pl.DataFrame, claims: pl.DataFrame, threshold: float, orders: Mapping[str, str]
    ) -> None:
        filled, usable = pl.col("value").str.strip_chars() != "", pl.col("status").is_in(USABLE)
        further = pl.col("accepted").fill_null(pl.lit([], pl.List(pl.String)))
        golds = gold.filter(filled).with_columns(texts=pl.concat_list("value", further))
        answers = claims.filter(filled, usable)
        agreeing = _agreeing(golds, answers, threshold, orders)
        # The texts of gold values and answers by their rows, and which answers agree with a value:
        # how alike these are to others' counts nothing.
        self.spelled = dict(golds.select("row", "texts").iter_rows())
        self.given = dict(answers.select("row", "value").iter_rows())
        self.agreeing: dict[int, dict[str, bool]] = defaultdict(dict)
        for row, used, value in agreeing.select("row", "used", "gold").iter_rows():
            self.agreeing[row][used] = used == value
        taken = agreeing.select(*_FIELD, value="used")
        self.taken = {*answers.join(taken, on=[*_FIELD, "value"], how="semi")["row"]}
        # The patterns of lists whose items keep their order.
        metas = [meta for meta in gold[RULE].unique() if rule_of(meta).ordered]
        starts = map(_starts, map(pattern, gold.filter(pl.col(RULE).is_in(metas))["path"].unique()))
        ordered = {start.removesuffix("/*") for start in chain(*starts) if start.endswith("/*")}
        counts = dict(golds.group_by("doc_id").len().iter_rows())
        lists: dict[str, set[str]] = defaultdict(set)
        trees = [_documents(side, lists) for side in (gold, claims)]
        self.pairs: list[tuple[int, int]] = []
        for doc_id in trees[0].keys() & trees[1].keys():
            # What agrees is worth more than all likeness of a document's values together.
            self.most = counts.get(doc_id, 0) + 1
            both = (_shaped(side[doc_id], lists[doc_id], ordered) for side in trees)
            self.pairs += self._paired(*both)

    def _paired(self, gold: _Tree, pred: _Tree) -> Iterator[tuple[int, int]]:
        """The rows of the gold and of the answers that belong together."""
        if isinstance(gold, list) and isinstance(pred, list):
            values = self._worths(gold, pred)
            # Of assignments that are equally good, that of the nearest items.
            values -= 1e-9 * np.abs(np.subtract.outer(*(np.arange(len(n)) for n in (gold, pred))))
            for row, column in assign(values, least=None):
                yield from self._paired(gold[row], pred[column])
        elif isinstance(gold, dict) and isinstance(pred, dict):
            for step in gold.keys() & pred.keys():
                pair = gold[step], pred[step]
                yield from [pair] if step is None else self._paired(*pair)

    def _worths(self, golds: Sequence[_Tree], preds: Sequence[_Tree]) -> np.ndarray:
        """What each pair of fields at a place adds to an assignment."""
        total = np.zeros((len(golds), len(preds)))
        # The fields of each side by what is in them: a list, or one step.
        steps: list[dict[Any, list]] = [defaultdict(list), defaultdict(list)]
        for side, nodes in zip(steps, (golds, preds), strict=True):
            for number, node in enumerate(nodes):
                for step, below in ({list: node} if isinstance(node, list) else node).items():
                    side[step].append((number, below))
        worths = {list: self._list_worths, None: self._values}
        for step in [step for step in steps[0] if step in steps[1]]:
            places, inner = zip(*(zip(*side[step], strict=True) for side in steps), strict=True)
            total[np.ix_(*places)] += worths.get(step, self._worths)(*inner)
        return total

    def _list_worths(self, golds: Sequence[list], preds: Sequence[list]) -> np.ndarray:
        """What each pair of lists adds, their items being assigned at best."""
        values = self._worths(*([*chain(*side)] for side in (golds, preds)))
        rows, columns = (np.cumsum([0, *map(len, side)]) for side in (golds, preds))
        total = np.zeros((len(golds), len(preds)))
        for row, column in np.ndindex(*total.shape):
            block = values[rows[row] : rows[row + 1], columns[column] : columns[column + 1]]
            total[row, column] = sum(block[pair] for pair in assign(block, least=None))
        return total

    def _values(self, golds: Sequence[int], preds: Sequence[int]) -> np.ndarray:
        """What each pair of rows adds: agreement, or how alike they are."""
        texts = [[*map(plain, self.spelled.get(row, [""]))] for row in golds]
        answers = [plain(self.given.get(row, "")) for row in preds]
        likeness = Levenshtein.normalized_similarity
        alike = process.cdist([*chain(*texts)], answers, scorer=likeness, dtype=np.float64)
        alike = np.maximum.reduceat(alike, np.cumsum([0, *map(len, texts[:-1])]), axis=0)
        # Nothing is like a blank value and, however alike, what agrees with another item's value is
        # no misreading of this one's.
        alike[[row not in self.spelled for row in golds]] = 0.0
        alike[:, [row in self.taken or row not in self.given for row in preds]] = 0.0
        places = defaultdict(list)
        for place, row in enumerate(preds):
            places[self.given.get(row)].append(place)
        for place, row in enumerate(golds):
            for value, is_same in self.agreeing.get(row, {}).items():
                alike[place, places.get(value, [])] = self.most + is_same
        return alike


def _documents(records: pl.DataFrame, lists: dict[str, set[str]]) -> dict[str, dict]:
    """What is below each step of each document; the places of lists are added to `lists`."""
    trees: dict[str, dict] = defaultdict(dict)
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


def _shaped(tree: dict, lists: set[str], ordered: set[str], place: str = "") -> _Tree:
    """The tree with its lists, and with lists where the other side has one."""
    steps = {step: below for step, below in tree.items() if step is not None}
    own = {None: tree[None]} if None in tree else {}
    is_list = place in lists and all(map(str.isdecimal, steps))
    if is_list and own:
        steps = {"0" if "0" not in steps else "00": own} | steps
    inner = {
        step: _shaped(below, lists, ordered, _below(place, step)) for step, below in steps.items()
    }
    if not is_list:
        return own | inner
    return inner if place in ordered else [*inner.values()]
