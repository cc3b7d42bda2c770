"""Gold beside prediction: which fields belong together, and the table of cases.

FORMCRAFT does not say how it pairs the fields that a model names itself. `match` pairs each at most
once: first those of equal path (case and white space aside). Of the rest those that are most alike
in all, from the similarity `LEAST` on: 3/4 the similarity of the labels and 1/4 that of the groups'
paths (1 - normalised Levenshtein distance); where both have a box, the mean of that and the boxes'
intersection over union, 0 on different pages. At last fields of equal value, if no other of their
side has it, and no word of the name is that of another field left: names are judged at L2.
"""

import re
from collections.abc import Mapping
from functools import lru_cache, partial

import numpy as np
import polars as pl
from rapidfuzz import process
from rapidfuzz.distance import Levenshtein

from formlab import tables, text
from formlab.metrics import assign
from formlab.scoring import rules
from formlab.scoring.causes import causes
from formlab.scoring.whole import Words
from formlab.tables import BOX, USABLE

# Columns of *records* under the names that *cases* has for the side they come from.
GOLD = {"value": "gold", "origin": "gold_origin", "status": "gold_status"}
PRED = {"path": "pred_path", "value": "pred", "page": "pred_page", "status": "pred_status"}
PRED |= {"origin": "pred_origin"} | {side: f"pred_{side}" for side in BOX}
# Which of day and month each document writes first.
Orders = Mapping[str, str]
# The least similarity of a pair that `match` makes, and how `settings` name its pairing.
LEAST = 0.5
PAIRING = f"match=path,label+box>={LEAST:g},else-equal-value"
# A shorter value, or the state of a box, is equal by chance.
_LEAST_VALUE = 3
# A label is a few words; comparing more of a hostile one only costs time.
_LONGEST_LABEL, _TAIL = 200, 800
# Cells of a document's similarities (64 MB); what a model in a loop adds is paired by path alone.
_LARGEST = 8_000_000
_WORD, _NUMBER = re.compile(r"[^\W_]+"), re.compile(r"#\d+\Z")
# A name or a value as it is compared; how alike each two of them are.
plain = lru_cache(1 << 16)(partial(text.normalise, steps=text.LADDER_STEPS))
likeness = partial(process.cdist, scorer=Levenshtein.normalized_similarity, dtype=np.float64)
# The places of a gold and of a predicted field, and their similarity.
_PAIRS = {"row": pl.UInt32, "other": pl.UInt32, "match": pl.Float64}


def match(gold: pl.DataFrame, pred: pl.DataFrame, *, least: float = LEAST) -> pl.DataFrame:
    """Pairs of gold and predicted fields of the same documents.

    `gold` and `pred` are records of fields: doc_id, path, value, page and the box. `least` is the
    least similarity of a pair, in [0, 1]. The columns are doc_id, path, pred_path and match (the
    similarity; 1 for equal paths and equal values), each path at most once a document.

    >>> none = {"value": "", "page": None, "x0": None, "y0": None, "x1": None, "y1": None}
    >>> gold = pl.DataFrame([{"doc_id": "1", "path": "/Owner/Full name"} | none])
    >>> pred = pl.DataFrame([{"doc_id": "1", "path": "/Owner/Name, full"} | none])
    >>> match(gold, pred, least=0.3).select("path", "pred_path").row(0)
    ('/Owner/Full name', '/Owner/Name, full')
    >>> match(gold, pred, least=0.9).height
    0
    """
    name = pl.col("path").str.tail(_TAIL).map_elements(plain, return_dtype=pl.String)
    name = name.str.replace_all(" /", "/", literal=True).str.replace_all("/ ", "/", literal=True)
    turn = pl.int_range(pl.len()).over("doc_id", "name")
    sides = gold.with_row_index("row"), pred.with_row_index("other")
    sides = [side.with_columns(name=name).with_columns(turn=turn) for side in sides]
    # Where several have one path, each by its turn.
    pairs = sides[0].join(sides[1], on=["doc_id", "name", "turn"])
    pairs = pairs.select("row", "other", match=1.0)
    for stage in (partial(_most_alike, least=least), _same_value):
        left = (side.join(pairs, on=side.columns[0], how="anti") for side in sides)
        pairs = pl.concat([pairs, stage(*left)])
    pairs = pairs.sort("row")
    both = gold.select("doc_id", "path")[pairs["row"]]
    return both.with_columns(pred_path=pred["path"][pairs["other"]], match=pairs["match"])


def _most_alike(gold: pl.DataFrame, pred: pl.DataFrame, *, least: float) -> pl.DataFrame:
    """The fields whose labels, groups and boxes are most alike in all."""
    rows, claims = [], pred.partition_by("doc_id", as_dict=True)
    for key, fields in gold.partition_by("doc_id", as_dict=True).items():
        if key not in claims:
            continue
        frames = fields, claims[key].head(_LARGEST // fields.height)
        paths = [[name.rpartition("/") for name in of["name"]] for of in frames]
        # A number behind a label tells equal ones apart.
        labels = ([_NUMBER.sub("", path[2])[:_LONGEST_LABEL] for path in side] for side in paths)
        groups = ([path[0][-_LONGEST_LABEL:] for path in side] for side in paths)
        alike = _with_boxes(0.75 * likeness(*labels) + 0.25 * likeness(*groups), *frames)
        names = fields["row"], frames[1]["other"]
        rows += [(names[0][i], names[1][j], alike[i, j]) for i, j in assign(alike, least=least)]
    return pl.DataFrame(rows, schema=_PAIRS, orient="row")


def _same_value(gold: pl.DataFrame, pred: pl.DataFrame) -> pl.DataFrame:
    """The fields whose value no other of their side has."""
    key, rows = ["doc_id", "plain"], []
    names = dict(gold.group_by("doc_id").agg("name").iter_rows())
    value = pl.col("value").fill_null("").map_elements(plain, return_dtype=pl.String)
    sides = (side.with_columns(plain=value) for side in (gold, pred))
    gold, pred = (side.filter(pl.len().over(key) == 1) for side in sides)
    both = gold.join(pred, on=key, suffix="_pred").select("row", "other", *key, "name", "name_pred")
    for *pair, doc_id, value, name, said in both.iter_rows():
        if len(value) >= _LEAST_VALUE and text.checked(value) is None:
            shares = {label: _share(label, said) for label in names[doc_id]}
            if shares[name] == max(shares.values()):
                rows.append((*pair, 1.0))
    return pl.DataFrame(rows, schema=_PAIRS, orient="row")


def _share(path: str, name: str) -> float:
    """The share of the words of a path's label that stand in a predicted name."""
    words = {*_WORD.findall(path.rpartition("/")[2])}
    return len(words.intersection(_WORD.findall(name))) / max(len(words), 1)


def _with_boxes(alike: np.ndarray, gold: pl.DataFrame, pred: pl.DataFrame) -> np.ndarray:
    """The similarities; where both sides have a box, the mean of these and the boxes' overlap."""
    # A page is a third side of a box, as long as 1.
    page = pl.col("page").fill_null(1)
    corners = pl.col(BOX[:2]), page, pl.col(BOX[2:]), page.alias("next") + 1
    boxes = [of.select(*corners).cast(pl.Float64).to_numpy() for of in (gold, pred)]
    if any(np.isnan(of).any(axis=1).all() for of in boxes):
        return alike
    first, second = boxes[0][:, None], boxes[1][None]
    low, high = np.maximum(first, second)[..., :3], np.minimum(first, second)[..., 3:]
    inside = np.clip(high - low, 0, None).prod(-1)
    areas = (np.clip(of[:, 3:] - of[:, :3], 0, None).prod(-1) for of in boxes)
    union = np.add.outer(*areas) - inside
    overlap = np.divide(inside, union, out=np.zeros_like(inside), where=union > 0)
    return np.where(np.isnan(inside), alike, 0.5 * alike + 0.5 * overlap)


def unscored(predictions: pl.DataFrame, *, system: str) -> pl.DataFrame:
    """Cases of predicted values that there is nothing to compare with."""
    rows = from_predictions(predictions.filter(pl.col("task") != "layout"), "unscored")
    return judged(rows, system=system, threshold=1.0)


def numbered(cases: pl.DataFrame) -> pl.DataFrame:
    """The cases, each with a key of its own: what a model gave again ends in ``#2`` and so on."""
    key = list(tables.KEYS["cases"])
    # A path may end like that already.
    while cases.select(key).is_duplicated().any():
        number = pl.int_range(1, pl.len() + 1).over(key)
        path = pl.coalesce("pred_path", "path", pl.lit(""))
        again = pl.when(number > 1).then(pl.format("{}#{}", path, number)).otherwise("pred_path")
        cases = cases.with_columns(again.alias("pred_path"))
    return cases


def side_by_side(gold: pl.DataFrame, claims: pl.DataFrame, pairs: pl.DataFrame) -> pl.DataFrame:
    """Gold records beside their matches, then the predicted ones that match nothing."""
    left = gold.rename(GOLD).drop("system", "role", "meta", "confidence")
    right = claims.rename(PRED).select("doc_id", "confidence", *PRED.values())
    right = right.join(pairs, on=["doc_id", "pred_path"], how="inner", nulls_equal=True)
    key = {"on": ["doc_id", "path"], "nulls_equal": True}
    both = left.join(right, how="left", maintain_order="left", **key)
    rest = claims.join(pairs.select("doc_id", path="pred_path"), how="anti", **key)
    return pl.concat([both, from_predictions(rest, "spurious")], how="diagonal_relaxed")


def from_predictions(claims: pl.DataFrame, outcome: str) -> pl.DataFrame:
    """Predicted records under the names of *cases*, without any gold."""
    renamed = claims.rename(PRED).drop("role", "meta", "accepted", "system")
    return renamed.with_columns(path="pred_path", outcome=pl.lit(outcome))


def with_read(joined: pl.DataFrame, read: pl.DataFrame) -> pl.DataFrame:
    """The cases with what `read` says of their fields in the columns where they have nothing."""
    names = [n for n in read.columns if n in joined.columns and n not in ("doc_id", "path")]
    options = {"on": ["doc_id", "path"], "how": "left", "suffix": "_read", "maintain_order": "left"}
    filled = joined.join(read, **options)
    filled = filled.with_columns(pl.coalesce(name, f"{name}_read") for name in names)
    return filled.drop(f"{name}_read" for name in names)


def with_status(joined: pl.DataFrame, records: pl.DataFrame) -> pl.DataFrame:
    """The status of each case: its prediction's, else what became of its document."""
    whole = records.filter(pl.col("path").is_null(), ~pl.col("status").is_in(USABLE))
    whole = whole.select("doc_id", doc_status="status").unique("doc_id", keep="first")
    joined = joined.join(whole, on="doc_id", how="left", maintain_order="left")
    status = pl.coalesce("pred_status", "doc_status", pl.lit("missing"))
    return joined.with_columns(status.alias("status")).drop("doc_status")


def judged(
    joined: pl.DataFrame,
    *,
    system: str,
    threshold: float,
    orders: Orders | None = None,
    words: Words | None = None,
) -> pl.DataFrame:
    """Fill in the ladder, outcome and cause of rows that have gold, pred and status.

    `joined` has the columns of CASES as far as known; an `outcome` that is set is kept, and
    `gold_status`, if there, tells gold that cannot be scored. From the similarity `threshold` on
    the rung `fuzzy` holds. `orders` says which of day and month each document writes first, as
    from `text.date_orders`. `words` are those of the whole gold, see `causes`.
    With the column `rules.RULE`, the rules of values say which are right.
    """
    empty = pl.DataFrame(schema=tables.CASES | tables.schema("gold_status has_answer:flag"))
    joined = pl.concat([empty, joined], how="diagonal_relaxed").with_columns(system=pl.lit(system))
    level = pl.when(pl.col("path").is_null()).then(pl.lit("page")).otherwise(pl.lit("field"))
    unscored = pl.when(pl.col("gold_status") == "unscored").then("gold_status")
    joined = joined.with_columns(
        level=pl.coalesce("level", level),
        used=pl.when(pl.col("status").is_in(USABLE)).then("pred"),
        outcome=unscored.otherwise("outcome"),
    )
    joined = joined.with_columns(rungs(joined, threshold=threshold, orders=orders))
    joined = joined.with_columns(rules.right_centuries(joined))
    right = joined["normalised"]
    if rules.RULE in joined.columns:
        right = rules.rights(joined, orders or {})
    joined = joined.with_columns(by_rule=right & ~pl.col("typed"))
    blank = {n: pl.col(n).fill_null("").str.strip_chars() == "" for n in ("used", "gold")}
    outcome = pl.when(right).then(pl.lit("match")).when(blank["used"]).then(pl.lit("missing"))
    outcome = outcome.when(blank["gold"]).then(pl.lit("spurious")).otherwise(pl.lit("mismatch"))
    joined = joined.with_columns(outcome=pl.coalesce("outcome", outcome))
    joined = joined.with_columns(causes(joined, words=words))
    if joined["readings"].count():
        # Fields that one reading rule has right and another has not.
        is_right = pl.col("outcome") == "match"
        others = pl.lit(rights(joined.with_columns(right=is_right), threshold=threshold))
        odd = others.list.contains(~is_right) & (pl.col("outcome") != "unscored")
        joined = joined.with_columns(cause=pl.when(odd).then(pl.lit("reader")).otherwise("cause"))
    return joined.select(pl.col(name).cast(kind) for name, kind in tables.CASES.items())


def rungs(
    cases: pl.DataFrame, pred: str = "used", *, threshold: float, orders: Orders | None = None
) -> pl.DataFrame:
    """`text.ladders` of the columns ``gold``, `pred`, ``kind`` and ``accepted`` of cases."""
    equal = (cases["gold"] == cases[pred]).fill_null(False)
    odd = (cases["gold"] != cases[pred]).arg_true()
    rows = cases.select("gold", pred, "kind", "accepted", "doc_id")[odd].to_dict(as_series=False)
    *columns, docs = rows.values()
    found = text.ladders(*columns, threshold=threshold, orders=list(map((orders or {}).get, docs)))
    columns = (equal.cast(of.dtype).scatter(odd, of).alias(of.name) for of in found)
    return pl.DataFrame(columns).with_columns(pl.col("ambiguous") & ~pl.col("typed"))


def rights(cases: pl.DataFrame, *, threshold: float) -> pl.Series:
    """Whether each case is right as the other reading rules read it, in the order of `readings`."""
    columns = ("doc_id", "gold", "kind", "accepted", "pred", "right", "readings")
    read = cases.select(columns).with_row_index().explode("readings")
    # Rules mostly agree, and what they read alike is right or wrong alike.
    odd = read["readings"].ne_missing(read["pred"]).arg_true()
    others = rungs(read[odd], "readings", threshold=threshold)["normalised"]
    read = read.select("index", rights=read["right"].scatter(odd, others))
    lists = read.group_by("index", maintain_order=True).agg("rights")["rights"]
    return cases.select(pl.when(pl.col("readings").is_not_null()).then(lists)).to_series()
