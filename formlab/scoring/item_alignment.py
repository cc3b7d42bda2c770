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

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate, chain, count
from typing import Any

import numpy as np
import polars as pl

from formlab import text
from formlab.metrics import assign
from formlab.readers.types import rule_of
from formlab.readers.values import pattern
from formlab.scoring.align import Orders, likeness, plain, rungs
from formlab.scoring.bands import pattern as field_pattern
from formlab.scoring.rules import RULE, rights, with_rung
from formlab.tables import USABLE

LARGEST = 25_000_000
# As much as so many other pairs is a pair whose values may differ by their rule.
_INEXACT = 25
# Deeper than any form, shallower than Python's stack.
_TOO_DEEP = pl.col("path").str.count_matches("/") > 60
_ITEM, _ITEMS = "/[0-9]+(/|$)", re.compile(r"/\*(?=/|$)")
_KEY = ["doc_id", "path"]
_FIELD = ["doc_id", "field"]
# What is below each step of a field: under None the row of its own value, under `list` its items.
_Tree = dict[Any, Any]


def same_fields(
    gold: pl.DataFrame, claims: pl.DataFrame, *, threshold: float, orders: Orders | None = None
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
    items = [side.filter(~_TOO_DEEP).join(listed, on=_FIELD, how="semi") for side in sides]
    # Of a document with very many pairs of values not all can be tried.
    said = items[1].group_by(_FIELD).agg(pairs=pl.len().cast(pl.Int64))
    tried = pl.col("pairs") * pl.when("inexact").then(_INEXACT).otherwise(1)
    many = items[0].join(said, on=_FIELD).filter(tried.sum().over(_FIELD) > LARGEST)
    items = [side.join(many, on="doc_id", how="anti", maintain_order="left") for side in items]
    rest = [side.join(part, on="row", how="anti") for side, part in zip(sides, items, strict=True)]
    pairs = _Pairing(*items, threshold, orders or {}).pairs
    rows = pl.DataFrame(pairs, schema={"row": pl.UInt32, "other": pl.UInt32}, orient="row")
    both = gold.select(_KEY)[rows["row"]].with_columns(pred_path=claims["path"][rows["other"]])
    return pl.concat([same_paths(*rest), both])


def same_paths(gold: pl.DataFrame, claims: pl.DataFrame) -> pl.DataFrame:
    """The pairs of records that have the same path, as from `same_fields`."""
    shared = gold.select(_KEY).join(claims.select(_KEY), on=_KEY, how="semi", nulls_equal=True)
    return shared.with_columns(pred_path="path")


def placed(both: pl.DataFrame, known: Mapping[str, str | None]) -> pl.DataFrame:
    """Cases with the spurious values of lists at free places, and of the kinds of such values."""
    spurious = (pl.col("outcome") == "spurious").fill_null(False)
    listed = pl.col("path").str.contains(_ITEM) & ~_TOO_DEEP
    # So may a value alone where the other side has a list.
    listed |= pl.col("path").is_not_null() & pl.struct(_KEY).is_duplicated()
    rows = both.with_row_index("row").filter(listed, spurious.any().over("doc_id"))
    # Places of all documents at once, each below the number of its document.
    below = [pl.format("{}{}", pl.col("doc_id").rank("dense"), n) for n in ("path", "pred_path")]
    rows = rows.select("row", spurious, path=below[0], pred_path=below[1])
    # The gold's place of each place of the answer, and those that are taken; gold stands first.
    moved: dict[int, str] = {}
    used, taken, place_of = set[str](), set[str](), dict[str, str]()
    numbers: dict[str, Iterator[int]] = defaultdict(count)
    for row, is_spurious, path, pred_path in rows.iter_rows():
        if not is_spurious:
            taken.add(path)
            used.update(_starts(path))
            place_of |= zip(_starts(pred_path or ""), _starts(path), strict=False)
            continue
        place, *starts = _starts(path)
        for start in starts:
            if start not in place_of:
                step = start.rpartition("/")[2]
                pointer = f"{place}/{step}"
                while step.isdecimal() and pointer in used:
                    pointer = f"{place}/{next(numbers[place])}"
                used.add(pointer)
                place_of[start] = pointer
            place = place_of[start]
        while place in taken:
            place = f"{path}/{next(numbers[path])}"
        taken.add(place)
        moved[row] = place[place.index("/") :]
    kind = field_pattern().replace_strict(known, default=None, return_dtype=pl.String)
    kind = pl.when(spurious).then(pl.coalesce("kind", kind)).otherwise("kind")
    return both.with_columns(kind, path=both["path"].scatter([*moved], [*moved.values()]))


def _starts(path: str) -> list[str]:
    """The pointers that a path begins with, itself the last of them."""
    return list(accumulate(path.split("/"), "{}/{}".format))


def _agreeing(
    gold: pl.DataFrame, claims: pl.DataFrame, threshold: float, orders: Orders
) -> pl.DataFrame:
    """The gold values, by row, and the answers `used` of their field that agree with them."""
    gold, how = gold.with_columns(parsed=pl.col("rung") == "typed"), [*_FIELD, "kind", "parsed"]
    said = claims.select(*_FIELD, "value").unique()
    asked = gold.select(*how, "row", value="texts").explode("value")
    both = pl.concat([asked, said.join(gold.select(how).unique(), on=_FIELD)], how="diagonal")
    # Values that agree have a key in common: most pairs have none, and are not compared.
    rows = enumerate(both.select("value", "kind", "parsed").iter_rows())
    keys = [(n, key) for n, of in rows for key in text.keys(*of[:2], parsed=of[2])]
    keys = pl.DataFrame(keys, {"at": pl.UInt32, "key": pl.Int64}, orient="row")
    both = both[keys["at"]].with_columns(keys["key"])
    sides = both.drop_nulls("row"), both.filter(pl.col("row").is_null())
    near = sides[0].join(sides[1], on=[*_FIELD, "key"], suffix="_said")
    far = gold.filter("inexact").join(said, on=_FIELD, suffix="_said")
    pairs = pl.concat(side.select("row", used="value_said") for side in (near, far)).unique()
    pairs = pairs.join(gold.rename({"value": "gold"}), on="row")
    pairs = pairs.hstack(rungs(pairs, threshold=threshold, orders=orders))
    return pairs.filter(rights(pairs, orders))


class _Pairing:
    """The rows of both sides' items of lists, paired for the greatest worth in all."""

    def __init__(
        self, gold: pl.DataFrame, claims: pl.DataFrame, threshold: float, orders: Orders
    ) -> None:
        filled, usable = pl.col("value").str.strip_chars() != "", pl.col("status").is_in(USABLE)
        further = pl.col("accepted").fill_null(pl.lit([], pl.List(pl.String)))
        # What agrees is worth more than all likeness of a document's values together.
        most = pl.len().over("doc_id") + 1
        golds = gold.filter(filled).with_columns(texts=pl.concat_list("value", further), most=most)
        answers = claims.filter(filled, usable)
        agreeing = _agreeing(golds, answers, threshold, orders)
        # The texts of gold values and answers by their rows, and what the answers that agree with a
        # value are worth: how alike these are to others' counts nothing.
        self.spelled = dict(golds.select("row", "texts").iter_rows())
        self.given = dict(answers.select("row", "value").iter_rows())
        self.agreeing: dict[int, dict[str, int]] = defaultdict(dict)
        worth = pl.col("most") + (pl.col("used") == pl.col("gold"))
        for row, used, of in agreeing.select("row", "used", worth).iter_rows():
            self.agreeing[row][used] = of
        taken = agreeing.select(*_FIELD, value="used")
        self.taken = {*answers.join(taken, on=[*_FIELD, "value"], how="semi")["row"]}
        # The patterns of lists whose items keep their order.
        metas = [meta for meta in gold[RULE].unique() if rule_of(meta).ordered]
        paths = gold.filter(pl.col(RULE).is_in(metas)).select(field_pattern().unique())["path"]
        ordered = {path[: item.start()] for path in paths for item in _ITEMS.finditer(path)}
        lists: dict[str, set[str]] = defaultdict(set)
        trees = [_documents(side, lists) for side in (gold, claims)]
        self.pairs: list[tuple[int, int]] = []
        for doc_id in trees[0].keys() & trees[1].keys():
            both = (_shaped(side[doc_id], lists[doc_id], ordered) for side in trees)
            self.pairs += self._paired(*both)

    def _paired(self, gold: _Tree, pred: _Tree) -> Iterator[tuple[int, int]]:
        """The rows of the gold and of the answers that belong together."""
        for step in gold.keys() & pred.keys():
            golds, preds = gold[step], pred[step]
            if step is None:
                yield golds, preds
            elif step is list:
                worths = self._worths(golds, preds)
                # Of assignments that are equally good, that of the nearest items.
                worths -= 1e-9 * abs(np.subtract.outer(*map(np.arange, worths.shape)))
                for row, column in assign(worths, least=None):
                    yield from self._paired(golds[row], preds[column])
            else:
                yield from self._paired(golds, preds)

    def _worths(self, golds: Sequence[_Tree], preds: Sequence[_Tree]) -> np.ndarray:
        """What each pair of fields at a place adds to an assignment."""
        total = np.zeros((len(golds), len(preds)))
        # The fields of each side by the steps in them.
        steps: list[dict[Any, list]] = [defaultdict(list), defaultdict(list)]
        for side, nodes in zip(steps, (golds, preds), strict=True):
            for number, node in enumerate(nodes):
                for step, below in node.items():
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
        texts = [self.spelled.get(row, [""]) for row in golds]
        answers = [self.given.get(row, "") for row in preds]
        alike = _alike([*chain(*texts)], answers)
        alike = np.maximum.reduceat(alike, np.cumsum([0, *map(len, texts[:-1])]), axis=0)
        # Nothing is like a blank value; what agrees with another item's is no misreading of this.
        alike[[row not in self.spelled for row in golds]] = 0.0
        alike[:, [row in self.taken or row not in self.given for row in preds]] = 0.0
        places = defaultdict(list)
        for place, answer in enumerate(answers):
            places[answer].append(place)
        for place, row in enumerate(golds):
            for value, worth in self.agreeing.get(row, {}).items():
                alike[place, places.get(value, [])] = worth
        return alike


def _alike(golds: Sequence[str], preds: Sequence[str]) -> np.ndarray:
    """How alike each two texts are, as they are compared."""
    return likeness([*map(plain, golds)], [*map(plain, preds)])


def _documents(records: pl.DataFrame, lists: dict[str, set[str]]) -> dict[str, dict]:
    """What is below each step of each document; the places of lists are added to `lists`."""
    trees: dict[str, dict] = defaultdict(dict)
    for doc_id, path, row in records.select(*_KEY, "row").iter_rows():
        node, place = trees[doc_id], ""
        for step in path.split("/")[1:]:
            if step in ("0", "1"):
                lists[doc_id].add(place)
            node, place = node.setdefault(step, {}), pattern(f"{place}/{step}")
        node.setdefault(None, row)
    return trees


def _shaped(tree: _Tree, lists: set[str], ordered: set[str], place: str = "") -> _Tree:
    """The tree with its lists, and with lists where the other side has one."""
    is_list = place in lists and all(map(str.isdecimal, tree.keys() - {None}))
    if is_list and None in tree:
        tree = {"0" if "0" not in tree else "00": {None: tree.pop(None)}} | tree
    for step in tree.keys() - {None}:
        tree[step] = _shaped(tree[step], lists, ordered, pattern(f"{place}/{step}"))
    return {list: [*tree.values()]} if is_list and place not in ordered else tree
