"""Screenshots of a form one by one, so that a case is looked at on its own."""

import dataclasses

import polars as pl

from formlab.benchmarks.corpus import meta_of
from formlab.folders import Evaluation
from formlab.tables import BOX


def by_screen(evaluation: Evaluation) -> Evaluation:
    """The evaluation with each screenshot of a form as a document, its cases on it; to look at.

    A case stands on the screen of its click, else on that of its field; a box of another screen
    is left out, and one that is on no screen leaves the case on the first. Forms of one image
    stay as they are. The scores are not parted and stay with the whole forms.

    Parameters
    ----------
    evaluation
        Of forms whose `documents.meta` lists their `images`.
    """
    return evaluation.mapped(_parted)


def _parted(evaluation: Evaluation) -> Evaluation:
    rows = evaluation.documents.to_dicts()
    lists = {row["doc_id"]: meta_of(row).get("images") or [] for row in rows}
    images = {doc_id: names for doc_id, names in lists.items() if len(names) > 1}
    screens = [
        row | {"doc_id": f"{row['doc_id']} screen {number}", "image": image}
        for row in rows
        for number, image in enumerate(images.get(row["doc_id"], []), start=1)
    ]
    added = pl.DataFrame(screens, schema=evaluation.documents.schema)
    many = pl.col("doc_id").is_in(list(images))
    counts = pl.col("doc_id").replace_strict(
        {doc_id: len(names) for doc_id, names in images.items()}, default=1, return_dtype=pl.Int64
    )
    clicked = pl.when(pl.col("pred_x0").is_not_null()).then("pred_page")
    screen = pl.coalesce(clicked, "page", pl.lit(1))
    screen = pl.when(screen.is_between(1, counts)).then(screen).otherwise(1)
    cases, here = evaluation.cases.with_columns(on=screen), pl.col("on")
    gold, pred = pl.col("page") == here, pl.col("pred_page").fill_null(here) == here
    cases = cases.with_columns(
        *(pl.when(~many | gold).then(side).alias(side) for side in BOX),
        *(pl.when(~many | pred).then(f"pred_{side}").alias(f"pred_{side}") for side in BOX),
        pl.when(many).then(pl.format("{} screen {}", "doc_id", here)).otherwise("doc_id")
        .alias("doc_id"),
        # Each screen is an image of its own: its only page.
        *(pl.when(~many).then(name).alias(name) for name in ("page", "pred_page")),
    ).drop("on")  # fmt: skip
    documents = pl.concat([evaluation.documents, added])
    return dataclasses.replace(evaluation, documents=documents, cases=cases)
