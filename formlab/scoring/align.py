"""Gold beside prediction: the table of cases."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from formlab import tables, text
from formlab.folders import Corpus, Predictions
from formlab.scoring import rules
from formlab.scoring._gold_words import Words
from formlab.scoring.causes import causes
from formlab.scoring.fields import READER, filled
from formlab.scoring.item_alignment import placed, same_fields, same_paths
from formlab.scoring.page_text import INSERTED, inserted, read_page_text, texts_only
from formlab.scoring.whole import Whole
from formlab.tables import BOX, USABLE

# Columns of *records* under the names that *cases* has for the side they come from.
GOLD = {"value": "gold", "origin": "gold_origin", "status": "gold_status"}
PRED = {"path": "pred_path", "value": "pred", "page": "pred_page", "status": "pred_status"}
PRED |= {"origin": "pred_origin"} | {side: f"pred_{side}" for side in BOX}


def cases(
    corpus: Corpus, predictions: Predictions, *, threshold: float, reader: str = READER,
    kinds: Whole | None = None,
) -> tuple[pl.DataFrame, dict[str, int]]:  # fmt: skip
    """One row per value that is in the gold, in the prediction or in both, and notes.

    Whole pages are the rows without a path. Every document of the corpus is there; so are predicted
    values that no gold asks for (`spurious`). Where the predictions give page text only, the fields
    are looked for in it (`page_text`), and what it has beyond the gold text is there too, as
    stretches at ``/inserted/<at>``. The notes count what could not be compared.
    """
    kinds = kinds or Whole.of(corpus, predictions)
    claims = predictions.records.filter(pl.col("task") == "text")
    gold = rules.with_rules(corpus.records.filter(pl.col("task") == "text"), kinds.by_rules)
    is_read = words_read(kinds)
    seen = words_of_pages(predictions.records)
    seen = seen if is_read else seen.clear()
    text_alone = texts_only(kinds.answers.filter(task="text"))
    notes: dict[str, int] = {}
    orders = text.date_orders(corpus.records["doc_id"], corpus.records["value"], kinds.dates)
    if rules.RULE in gold.columns:
        pairs = same_fields(gold, claims, threshold=threshold, orders=orders)
        both = placed(side_by_side(gold, claims, pairs), kinds.fields)
        is_null = rules.null_answers(both)
        notes["answers that say there is no value, taken for none"] = int(is_null.sum())
        both = _without_answers(both, is_null)
        notes["values that are none of their field's type, compared as text"] = rules.odd_values(
            both
        )
    else:
        both = side_by_side(gold, claims, same_paths(gold, claims))
    # A document-level row without a value gives only the status of the document.
    has_content = pl.col("path").is_not_null() | pl.col("pred").is_not_null()
    spurious = both.filter(pl.col("outcome") == "spurious", has_content)
    asked = both.filter(pl.col("outcome").is_null())
    unnamed = pl.col("path").is_not_null() & pl.col("pred_status").is_null()
    asked = filled(asked, seen, unnamed, reader=reader)
    if is_read:
        # A page was read, but where the field stands on it the gold does not say.
        blind = unnamed & pl.any_horizontal(pl.col(side).is_null() for side in BOX)
        asked = asked.with_columns(pl.when(blind).then(pl.lit("unscored")).alias("outcome"))
    joined = pl.concat([asked, spurious], how="diagonal_relaxed")
    if not is_read and text_alone:
        joined, notes = in_page_text(joined, gold, claims)
    elif not is_read and kinds.answers.filter(pl.col("path").is_not_null(), task="text").is_empty():
        fields = pl.col("path").is_not_null() & pl.col("gold").is_not_null()
        notes["gold fields not scored: no page has a usable text"] = joined.filter(fields).height
        joined = joined.filter(~fields)
    joined = with_status(joined, predictions.records)
    joined = _blank_fields_right(joined, predictions.records)
    answers = kinds.answers.filter(pl.col("status").is_in(USABLE))
    whole = answers.filter(pl.col("path").is_null(), pl.col("value").is_not_null(), task="text")
    if answers.height and not whole.height:
        # Who gives values alone was not asked for pages: that is no page read wrong.
        page = pl.col("path").is_null()
        asked_for = page & pl.col("gold_status").is_in(USABLE)
        notes["pages not scored: the predictions give no text of a page"] = joined.filter(
            asked_for
        ).height
        joined = joined.with_columns(
            pl.when(page).then(pl.lit("unscored")).otherwise("outcome").alias("outcome")
        )
    done = judged(
        joined, system=predictions.system, threshold=threshold, orders=orders, words=kinds.words
    )
    return in_order(done, joined), notes


def words_read(kinds: Whole) -> bool:
    """Whether a system read words, and the gold says of any field of text where it stands.

    Without that, fields are looked for in the text of their pages.
    """
    placed = kinds.gold.filter(pl.col("x0").is_not_null(), task="text")
    return placed.height > 0 and words_of_pages(kinds.answers).height > 0


def words_of_pages(records: pl.DataFrame) -> pl.DataFrame:
    """The words and lines that a system read on pages."""
    return records.filter(pl.col("task") == "layout", pl.col("kind").is_in(["word", "line"]))


def in_page_text(
    joined: pl.DataFrame, gold: pl.DataFrame, claims: pl.DataFrame
) -> tuple[pl.DataFrame, dict[str, int]]:
    """Fill in what stands for each field in the text of its page, and add what is inserted there.

    `joined` are gold records under the names of *cases*, without predictions of fields; `gold` and
    `claims` the records of both sides, those of pages among them.
    """
    whole = pl.col("path").is_null() & pl.col("status").is_in(USABLE)
    pages, golds = claims.filter(whole), gold.filter(whole)
    fields = gold.filter(pl.col("path").is_not_null(), pl.col("status").is_in(USABLE))
    read, notes = read_page_text(fields, golds, pages)
    # For a field that is blank nothing is looked for, and nothing stands there.
    blank = fields.filter(pl.col("value").str.strip_chars() == "").select("doc_id", "path")
    read = pl.concat([read, blank.with_columns(pred=pl.lit(""))], how="diagonal")
    source = pages.select("doc_id", read_status="status", read_origin="origin")
    both = joined.join(
        read.join(source, on="doc_id"), on=["doc_id", "path"], how="left", suffix="_read",
        maintain_order="left",
    )  # fmt: skip
    names = {"pred": "pred_read", "pred_status": "read_status", "pred_origin": "read_origin"}
    filled = both.with_columns(
        *(pl.coalesce(name, other).alias(name) for name, other in names.items()),
        pl.when(~pl.col("judged")).then(pl.lit("unscored")).alias("outcome"),
    )
    extra = _from_predictions(inserted(golds, pages), "spurious")
    left = filled.drop(*names.values(), "judged")
    return pl.concat([left, extra], how="diagonal_relaxed"), notes


def in_order(cases: pl.DataFrame, joined: pl.DataFrame) -> pl.DataFrame:
    """The cases with the cause ``wrong_order`` where a field read right stands out of order."""
    if "displaced" not in joined.columns:
        return cases
    displaced = joined["displaced"].fill_null(False)
    cause = pl.when(displaced & pl.col("cause").is_null()).then(pl.lit("wrong_order"))
    return cases.with_columns(cause.otherwise("cause").alias("cause"))


def unscored(predictions: pl.DataFrame, *, system: str) -> pl.DataFrame:
    """Cases of predicted values that there is nothing to compare with."""
    rows = _from_predictions(predictions.filter(pl.col("task") != "layout"), "unscored")
    return judged(rows, system=system, threshold=1.0)


def side_by_side(gold: pl.DataFrame, claims: pl.DataFrame, pairs: pl.DataFrame) -> pl.DataFrame:
    """Gold records beside their matches, then the predicted ones that match nothing.

    Columns have the names of *cases*; `pairs` are the `doc_id`, `path` and `pred_path` of records
    that belong together. The outcome of a claim without gold is ``spurious``.
    """
    left = gold.rename(GOLD).drop("system", "role", "meta", "confidence")
    key, other = ["doc_id", "path"], ["doc_id", "pred_path"]
    named = claims.rename(PRED)
    right = named.select("doc_id", "confidence", *PRED.values())
    right = right.join(pairs, on=other, how="inner", nulls_equal=True)
    both = left.join(right, on=key, how="left", nulls_equal=True, maintain_order="left")
    rest = claims.join(
        pairs.select("doc_id", path="pred_path"), on=key, how="anti", nulls_equal=True
    )
    return pl.concat([both, _from_predictions(rest, "spurious")], how="diagonal_relaxed")


def _from_predictions(claims: pl.DataFrame, outcome: str) -> pl.DataFrame:
    renamed = claims.rename(PRED).drop("role", "meta", "accepted", "system")
    return renamed.with_columns(pl.col("pred_path").alias("path"), pl.lit(outcome).alias("outcome"))


def _without_answers(both: pl.DataFrame, is_null: pl.Series) -> pl.DataFrame:
    """The cases as if no answer had been given where one says that there is no value."""
    # Where it stands is kept, so that it can be found.
    names = [name for name in (*PRED.values(), "confidence") if name != "pred_origin"]
    none = [pl.when(is_null).then(None).otherwise(name).alias(name) for name in names]
    spurious = (pl.col("outcome") == "spurious").fill_null(False)
    # Who says so has answered.
    none.append(pl.when(is_null).then(True).alias("has_answer"))
    return both.with_columns(none).filter(~(is_null & spurious))


def with_status(joined: pl.DataFrame, records: pl.DataFrame) -> pl.DataFrame:
    """The status of each case: its prediction's, else what became of its document."""
    whole = records.filter(pl.col("path").is_null(), ~pl.col("status").is_in(USABLE))
    whole = whole.select("doc_id", doc_status="status").unique("doc_id", keep="first")
    joined = joined.join(whole, on="doc_id", how="left", maintain_order="left")
    status = pl.coalesce("pred_status", "doc_status", pl.lit("missing"))
    return joined.with_columns(status.alias("status")).drop("doc_status")


def _blank_fields_right(joined: pl.DataFrame, records: pl.DataFrame) -> pl.DataFrame:
    """In an answered document, naming no value for a field left blank is right."""
    answered = records.filter(pl.col("status") != "missing")["doc_id"].unique()
    blank = (pl.col("gold").str.strip_chars() == "") & pl.col("path").is_not_null()
    blank &= (pl.col("status") == "missing") & pl.col("pred_status").is_null()
    blank &= pl.col("doc_id").is_in(answered.implode())
    return joined.with_columns(
        pl.when(blank).then(pl.lit("")).otherwise("pred").alias("pred"),
        pl.when(blank).then(pl.lit("ok")).otherwise("status").alias("status"),
    )


def judged(
    joined: pl.DataFrame, *, system: str, threshold: float,
    orders: Mapping[str, str] | None = None, words: Words | None = None,
) -> pl.DataFrame:  # fmt: skip
    """Fill in the ladder, outcome and cause of rows that have gold, pred and status.

    `joined` has the columns of CASES as far as known; an `outcome` that is set is kept, and
    `gold_status`, if there, tells gold that cannot be scored. From the similarity `threshold` on
    the rung `fuzzy` holds. `orders` says which of day and month each document writes first, as
    from `text.date_orders`. `words` are those of the whole gold, see `causes`.
    With the column `rules.RULE`, the rules of values say which are right.
    """
    texts = ("gold", "pred", "path", "kind", "status", "outcome", "gold_status")
    absent = [pl.lit(None, pl.String).alias(n) for n in texts if n not in joined.columns]
    if "accepted" not in joined.columns:
        absent.append(pl.lit(None, pl.List(pl.String)).alias("accepted"))
    joined = joined.with_columns(*absent, pl.lit(system).alias("system"))
    if "level" not in joined.columns:
        joined = joined.with_columns(_level().alias("level"))
    is_usable = pl.col("status").is_in(USABLE)
    pred = pl.when(is_usable).then(pl.col("pred")).otherwise(None)
    joined = joined.with_columns(pred.alias("used"))
    unscored = (pl.col("outcome") == "unscored") | (pl.col("gold_status") == "unscored")
    outcome = pl.when(unscored.fill_null(False)).then(pl.lit("unscored")).otherwise("outcome")
    joined = joined.with_columns(outcome.alias("outcome"))
    written = rules.orders_of(joined, orders)
    sides = (joined[name].to_list() for name in ("gold", "used", "kind", "accepted"))
    joined = joined.with_columns(text.ladders(*sides, threshold=threshold, orders=written))
    joined = joined.with_columns(rules.right_centuries(joined))
    right = pl.col("normalised").alias("right")
    if rules.RULE in joined.columns:
        right = rules.rights(joined, written)
        joined = joined.with_columns(by_rule=right & ~pl.col("typed"))
    joined = joined.with_columns(right).with_columns(_outcome().alias("outcome"))
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
    rule_verdicts = rights(
        joined.with_columns(right.alias("right")), "normalised", threshold=threshold
    )
    odd = pl.when(right).then(~rule_verdicts.list.all()).otherwise(rule_verdicts.list.any())
    odd &= pl.col("outcome") != "unscored"
    return joined.with_columns(
        pl.when(odd.fill_null(False)).then(pl.lit("reader")).otherwise("cause").alias("cause")
    )


def _level() -> pl.Expr:
    """The level of a case where its task's scorer sets none."""
    stretch = (pl.col("kind") == INSERTED).fill_null(False)
    return (
        pl.when(pl.col("path").is_null()).then(pl.lit("page"))
        .when(stretch).then(pl.lit("stretch")).otherwise(pl.lit("field"))
    )  # fmt: skip


def _outcome() -> pl.Expr:
    empty = pl.col("used").fill_null("").str.strip_chars() == ""
    nothing = pl.col("gold").fill_null("").str.strip_chars() == ""
    return (
        pl.when(pl.col("outcome").is_not_null()).then("outcome")
        .when("right").then(pl.lit("match"))
        .when(empty).then(pl.lit("missing"))
        .when(nothing).then(pl.lit("spurious"))
        .otherwise(pl.lit("mismatch"))
    )  # fmt: skip
