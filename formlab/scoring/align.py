"""Gold beside prediction: which fields belong together, and the table of cases.

FORMCRAFT does not say how it pairs the fields that a model names itself. `match` pairs each at most
once: first those of equal path (case and white space aside). Of the rest those that are most alike
in all, from the similarity `LEAST` on: 3/4 the similarity of the labels and 1/4 that of the groups'
paths (1 - normalised Levenshtein distance); where both have a box, the mean of that and the boxes'
intersection over union, 0 on different pages. At last, of what is left, fields of equal value, if
no other of their side has it, and no word of the name is that of another field left: names are
judged at L2.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial

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
# The least similarity of a pair that `match` makes, and how `settings` name its pairing.
LEAST = 0.5
PAIRING = f"match=path,label+box>={LEAST:g},else-equal-value"
# A shorter value, or the state of a box, is equal by chance.
_LEAST_VALUE = 3
# A label is a few words; comparing more of a hostile one only costs time.
_LONGEST_LABEL, _TAIL = 200, 800
# Cells of one document's matrix of similarities (64 MB): what a model in a loop lists after these
# is paired by its path alone.
_LARGEST = 8_000_000
_NOT_WORD, _NUMBER = re.compile(r"[\W_]+"), re.compile(r"#\d+\Z")
_alike = partial(process.cdist, scorer=Levenshtein.normalized_similarity, dtype=np.float64)
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
    sides = gold.with_row_index("row"), pred.with_row_index("other")
    pairs = pl.DataFrame(schema=_PAIRS)
    for stage in (_same_path, partial(_most_alike, least=least), _same_value):
        anti = {"how": "anti", "maintain_order": "left"}
        left = (side.join(pairs, on=side.columns[0], **anti) for side in sides)
        pairs = pl.concat([pairs, stage(*left)])
    both = sides[0].select("row", "doc_id", "path").join(pairs, on="row", maintain_order="left")
    both = both.join(sides[1].select("other", pred_path="path"), on="other", maintain_order="left")
    return both.select("doc_id", "path", "pred_path", "match")


def _with_plain(fields: pl.DataFrame, column: str, function: Callable[[str], str]) -> pl.DataFrame:
    values = fields[column].fill_null("").map_elements(function, return_dtype=pl.String)
    return fields.with_columns(plain=values)


def _plain(value: str) -> str:
    return text.normalise(value, text.LADDER_STEPS)


def _plain_path(path: str) -> str:
    return _plain(path[-_TAIL:]).replace(" /", "/").replace("/ ", "/")


def _same_path(gold: pl.DataFrame, pred: pl.DataFrame) -> pl.DataFrame:
    """The fields of equal paths; where several have one, each by its turn."""
    sides = (_with_plain(side, "path", _plain_path) for side in (gold, pred))
    turn = pl.int_range(pl.len()).over("doc_id", "plain")
    gold, pred = (side.with_columns(turn=turn) for side in sides)
    return gold.join(pred, on=["doc_id", "plain", "turn"]).select("row", "other", match=1.0)


def _most_alike(gold: pl.DataFrame, pred: pl.DataFrame, *, least: float) -> pl.DataFrame:
    """The fields whose labels, groups and boxes are most alike in all."""
    rows, claims = [], pred.partition_by("doc_id", as_dict=True)
    for key, fields in gold.partition_by("doc_id", as_dict=True).items():
        if key not in claims:
            continue
        frames = fields, claims[key].head(_LARGEST // fields.height)
        paths = [[_plain_path(path).rpartition("/") for path in of["path"]] for of in frames]
        # A number behind a label tells equal ones apart.
        labels = ([_NUMBER.sub("", path[2])[:_LONGEST_LABEL] for path in side] for side in paths)
        groups = ([path[0][-_LONGEST_LABEL:] for path in side] for side in paths)
        alike = _with_boxes(0.75 * _alike(*labels) + 0.25 * _alike(*groups), *frames)
        names = fields["row"], frames[1]["other"]
        rows += [(names[0][i], names[1][j], alike[i, j]) for i, j in assign(alike, least=least)]
    return pl.DataFrame(rows, schema=_PAIRS, orient="row")


def _same_value(gold: pl.DataFrame, pred: pl.DataFrame) -> pl.DataFrame:
    """The fields whose value no other of their side has."""
    key, rows = ["doc_id", "plain"], []
    labels = dict(gold.group_by("doc_id").agg("path").iter_rows())
    sides = (_with_plain(side, "value", _plain) for side in (gold, pred))
    gold, pred = (side.filter(pl.len().over(key) == 1) for side in sides)
    for row in gold.join(pred, on=key, suffix="_pred").iter_rows(named=True):
        if len(row["plain"]) >= _LEAST_VALUE and text.checked(row["plain"]) is None:
            name = _words(row["path_pred"])
            words = {path: _words(path.rpartition("/")[2]) for path in labels[row["doc_id"]]}
            # The share of a gold label's words that stand in the predicted name.
            shares = {path: len(of & name) / max(len(of), 1) for path, of in words.items()}
            if shares[row["path"]] >= max(shares.values()):
                rows.append((row["row"], row["other"], 1.0))
    return pl.DataFrame(rows, schema=_PAIRS, orient="row")


def _words(name: str) -> set[str]:
    return set(_NOT_WORD.split(_plain(name[-_TAIL:]))) - {""}


def _with_boxes(alike: np.ndarray, gold: pl.DataFrame, pred: pl.DataFrame) -> np.ndarray:
    """The similarities; where both sides have a box, the mean of these and the boxes' overlap."""
    boxes = [frame.select(pl.col(BOX).cast(pl.Float64)).to_numpy() for frame in (gold, pred)]
    if any(np.isnan(of).any(axis=1).all() for of in boxes):
        return alike
    first, second = boxes[0][:, None], boxes[1][None]
    low, high = np.maximum(first, second)[..., :2], np.minimum(first, second)[..., 2:]
    inside = np.clip(high - low, 0, None).prod(-1)
    areas = [np.clip(of[:, 2:] - of[:, :2], 0, None).prod(-1) for of in boxes]
    union = np.add.outer(*areas) - inside
    overlap = np.divide(inside, union, out=np.zeros_like(inside), where=union > 0)
    pages = (frame["page"].cast(pl.Int64).fill_null(1).to_numpy() for frame in (gold, pred))
    overlap *= np.equal.outer(*pages)
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


def with_read(
    joined: pl.DataFrame, read: pl.DataFrame, names: Sequence[str], where: pl.Expr | bool = True
) -> pl.DataFrame:
    """The cases `where` it holds with the columns `names` of `read` where they have none."""
    options = {"on": ["doc_id", "path"], "how": "left", "suffix": "_read", "maintain_order": "left"}
    values = {name: pl.coalesce(name, pl.when(where).then(f"{name}_read")) for name in names}
    filled = joined.join(read, **options).with_columns(**values)
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
    orders: Mapping[str, str] | None = None,
    words: Words | None = None,
) -> pl.DataFrame:
    """Fill in the ladder, outcome and cause of rows that have gold, pred and status.

    `joined` has the columns of CASES as far as known; an `outcome` that is set is kept, and
    `gold_status`, if there, tells gold that cannot be scored. From the similarity `threshold` on
    the rung `fuzzy` holds. `orders` says which of day and month each document writes first, as
    from `text.date_orders`. `words` are those of the whole gold, see `causes`.
    With the column `rules.RULE`, the rules of values say which are right.
    """
    columns = tables.CASES | {"gold_status": pl.String, "has_answer": pl.Boolean}
    absent = {name: pl.lit(None, columns[name]) for name in columns.keys() - {*joined.columns}}
    joined = joined.with_columns(**absent | {"system": pl.lit(system)})
    level = pl.when(pl.col("path").is_null()).then(pl.lit("page")).otherwise(pl.lit("field"))
    unscored = (pl.col("outcome") == "unscored") | (pl.col("gold_status") == "unscored")
    joined = joined.with_columns(
        level=pl.coalesce("level", level),
        used=pl.when(pl.col("status").is_in(USABLE)).then("pred"),
        outcome=pl.when(unscored.fill_null(False)).then(pl.lit("unscored")).otherwise("outcome"),
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
        others = rights(joined.with_columns(right=is_right), "normalised", threshold=threshold)
        odd = pl.when(is_right).then(~others.list.all()).otherwise(others.list.any())
        odd = (odd & (pl.col("outcome") != "unscored")).fill_null(False)
        joined = joined.with_columns(cause=pl.when(odd).then(pl.lit("reader")).otherwise("cause"))
    return joined.select(pl.col(name).cast(kind) for name, kind in tables.CASES.items())


def rungs(
    cases: pl.DataFrame,
    gold: str = "gold",
    pred: str = "used",
    *,
    threshold: float,
    orders: Mapping[str, str] | None = None,
) -> pl.DataFrame:
    """`text.ladders` of the columns `gold`, `pred`, ``kind`` and ``accepted`` of cases."""
    columns = (cases[name].to_list() for name in (gold, pred, "kind", "accepted"))
    written = orders and [*map(orders.get, cases["doc_id"])]
    return text.ladders(*columns, threshold=threshold, orders=written or None)


def rights(cases: pl.DataFrame, rung: str, *, threshold: float) -> pl.Series:
    """Whether each case is right as the other reading rules read it, in the order of `readings`."""
    read = cases.select("gold", "kind", "accepted", "pred", "right", "readings").with_row_index()
    read = read.explode("readings").drop_nulls("readings")
    # Rules mostly agree, and what they read alike is right or wrong alike.
    odd = (read["readings"] != read["pred"]).fill_null(True).arg_true()
    others = rungs(read[odd], pred="readings", threshold=threshold)[rung]
    lists = read.select("index", rights=read["right"].scatter(odd, others))
    lists = lists.group_by("index", maintain_order=True).agg("rights")
    rows = cases.with_row_index().select("index")
    return rows.join(lists, on="index", how="left", maintain_order="left")["rights"]
