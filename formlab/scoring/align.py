"""Gold beside prediction: the table of cases."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import polars as pl

from formlab import tables, text
from formlab.scoring import rules
from formlab.scoring.causes import causes
from formlab.scoring.whole import Words
from formlab.tables import BOX, USABLE

# Columns of *records* under the names that *cases* has for the side they come from.
GOLD = {"value": "gold", "origin": "gold_origin", "status": "gold_status"}
PRED = {"path": "pred_path", "value": "pred", "page": "pred_page", "status": "pred_status"}
PRED |= {"origin": "pred_origin"} | {side: f"pred_{side}" for side in BOX}
# The kind of cases of text that no gold holds.
INSERTED = "inserted"


def unscored(predictions: pl.DataFrame, *, system: str) -> pl.DataFrame:
    """Cases of predicted values that there is nothing to compare with."""
    rows = from_predictions(predictions.filter(pl.col("task") != "layout"), "unscored")
    return judged(rows, system=system, threshold=1.0)


def side_by_side(gold: pl.DataFrame, claims: pl.DataFrame, pairs: pl.DataFrame) -> pl.DataFrame:
    """Gold records beside their matches, then the predicted ones that match nothing.

    Columns have the names of *cases*; `pairs` are the `doc_id`, `path` and `pred_path` of records
    that belong together. The outcome of a claim without gold is ``spurious``.
    """
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
    """The cases `where` it holds with the columns `names` of `read` where they have none.

    What else `read` has, by document and path, is added to all cases.
    """
    options = {"on": ["doc_id", "path"], "how": "left", "suffix": "_read", "maintain_order": "left"}
    both = joined.join(read, **options)
    read_too = {name: pl.when(where).then(f"{name}_read") for name in names}
    filled = both.with_columns(pl.coalesce(name, other) for name, other in read_too.items())
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
    dtypes = tables.CASES | {"gold_status": pl.String}
    texts = ("gold", "pred", "path", "kind", "status", "outcome", "gold_status", "accepted")
    absent = [pl.lit(None, dtypes[n]).alias(n) for n in texts if n not in joined.columns]
    joined = joined.with_columns(*absent, pl.lit(system).alias("system"))
    if "level" not in joined.columns:
        inserted = (pl.col("kind") == INSERTED).fill_null(False)
        level = pl.when(inserted).then(pl.lit("stretch")).otherwise(pl.lit("field"))
        page = pl.col("path").is_null()
        joined = joined.with_columns(level=pl.when(page).then(pl.lit("page")).otherwise(level))
    unscored = (pl.col("outcome") == "unscored") | (pl.col("gold_status") == "unscored")
    joined = joined.with_columns(
        used=pl.when(pl.col("status").is_in(USABLE)).then("pred"),
        outcome=pl.when(unscored.fill_null(False)).then(pl.lit("unscored")).otherwise("outcome"),
    )
    written = rules.orders_of(joined, orders)
    sides = (joined[name].to_list() for name in ("gold", "used", "kind", "accepted"))
    joined = joined.with_columns(text.ladders(*sides, threshold=threshold, orders=written))
    joined = joined.with_columns(rules.right_centuries(joined))
    right = joined["normalised"]
    if rules.RULE in joined.columns:
        right = rules.rights(joined, written)
        joined = joined.with_columns(by_rule=right & ~pl.col("typed"))
    blank = {n: pl.col(n).fill_null("").str.strip_chars() == "" for n in ("used", "gold")}
    outcome = pl.when(right).then(pl.lit("match")).when(blank["used"]).then(pl.lit("missing"))
    outcome = outcome.when(blank["gold"]).then(pl.lit("spurious")).otherwise(pl.lit("mismatch"))
    joined = joined.with_columns(outcome=pl.coalesce("outcome", outcome))
    joined = joined.with_columns(pl.Series("cause", causes(joined, words=words), dtype=pl.String))
    joined = _by_reader(joined, threshold)
    missing = [name for name in tables.CASES if name not in joined.columns]
    joined = joined.with_columns(pl.lit(None).alias(name) for name in missing)
    return joined.select(pl.col(name).cast(kind) for name, kind in tables.CASES.items())


def rights(cases: pl.DataFrame, rung: str, *, threshold: float) -> pl.Series:
    """Whether each case is right as the other reading rules read it, in the order of `readings`.

    `cases` has a column `right` too: whether the case is right as `pred` has it. A reading is right
    from the rung `rung` of the ladder on. Lists of booleans; null where nothing was read under a
    box.
    """
    read = cases.select("gold", "kind", "accepted", "pred", "right", "readings").with_row_index()
    read = read.explode("readings").filter(pl.col("readings").is_not_null())
    # Rules mostly agree, and what they read alike is right or wrong alike.
    odd = (read["readings"] != read["pred"]).fill_null(True)
    columns = (read.filter(odd)[n].to_list() for n in ("gold", "readings", "kind", "accepted"))
    right = read["right"].to_numpy(writable=True)
    right[odd.to_numpy()] = text.ladders(*columns, threshold=threshold)[rung].to_numpy()
    lists = read.select("index", pl.Series("rights", right, dtype=pl.Boolean))
    lists = lists.group_by("index", maintain_order=True).agg("rights")
    rows = cases.with_row_index().select("index")
    return rows.join(lists, on="index", how="left", maintain_order="left")["rights"]


def _by_reader(joined: pl.DataFrame, threshold: float) -> pl.DataFrame:
    """Fields that one reading rule has right and another has not get the cause ``reader``."""
    if "readings" not in joined.columns or joined["readings"].null_count() == joined.height:
        return joined
    right = pl.col("outcome") == "match"
    verdicts = rights(joined.with_columns(right=right), "normalised", threshold=threshold)
    odd = pl.when(right).then(~verdicts.list.all()).otherwise(verdicts.list.any())
    odd = (odd & (pl.col("outcome") != "unscored")).fill_null(False)
    return joined.with_columns(cause=pl.when(odd).then(pl.lit("reader")).otherwise("cause"))
