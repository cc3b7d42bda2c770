"""Scores of text: whole pages and fields, as error rates and on the strictness ladder."""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from formlab import files, metrics, tables, text
from formlab.metrics import Metric
from formlab.scoring.align import cases
from formlab.scoring.fields import READER, described
from formlab.scoring.page_text import INSERTED, texts_only
from formlab.scoring.page_text import RULES as IN_TEXT
from formlab.scoring.tasks._cases import score_rows
from formlab.scoring.tasks._spec import Scored
from formlab.tables import Corpus, Predictions

NORM = ("nfc", "space", "lower")


def score(
    corpus: Corpus,
    predictions: Predictions,
    *,
    mode: str,
    threshold: float,
    reader: str = READER,
) -> Scored:
    """Pages (unit `page`, slice ``all``) and fields (unit `field`) by every text metric.

    Text is compared as NFC, with white space collapsed and trimmed, in lower case. A missing or
    unusable prediction is the empty text. Text inserted in a page counts in its page's scores; it
    is no field.
    """
    table, notes = cases(corpus, predictions, threshold=threshold, reader=reader)
    read = predictions.records.filter(pl.col("task") == "layout").height > 0
    claims = predictions.records.filter(pl.col("task") == "text")
    rules = described(reader) if read else IN_TEXT if texts_only(claims) else None
    scored = table.filter(
        pl.col("outcome") != "unscored", pl.col("kind").ne_missing(pl.lit(INSERTED))
    )
    page = pl.col("path").is_null()
    scores = [tables.table("scores", [])]
    for unit, part in (("page", scored.filter(page)), ("field", scored.filter(~page))):
        how = rules if unit == "field" else None
        settings = _Settings(corpus, unit=unit, mode=mode, threshold=threshold, read=how)
        scores += _scores(part, unit, settings) if part.height else []
    return Scored(table, pl.concat(scores), notes)


class _Settings:
    """Writes the settings string of each metric."""

    def __init__(
        self, corpus: Corpus, *, unit: str, mode: str, threshold: float, read: str | None
    ) -> None:
        self.head = f"{corpus.benchmark}:{corpus.split}"
        self.unit, self.mode, self.threshold, self.read = unit, mode, threshold, read

    def __call__(self, metric: Metric) -> str:
        norm = f"norm={','.join(NORM)}"
        how = norm if metric.view == "text" else f"fuzzy>={self.threshold:g}|{text.DATE_RULE}"
        need = metric.needs(self.unit)
        parts = [self.head, metric.name, f"unit={self.unit}", how, need and need.said]
        parts += [self.read, f"mode={self.mode}"]
        return "|".join([*filter(None, parts), f"formlab={files.version()}"])


def _scores(part: pl.DataFrame, unit: str, settings: _Settings) -> Iterator[pl.DataFrame]:
    used = pl.when(pl.col("status").is_in(tables.USABLE)).then("pred").fill_null("")
    golds = [text.normalise(value, NORM) for value in part["gold"].fill_null("")]
    preds = [text.normalise(value, NORM) for value in part.select(used).to_series()]
    for metric in metrics.METRICS.values():
        if unit not in metric.units or metric.view == "counts":
            continue
        if metric.view == "text":
            tallies = metric.tallies(golds, preds)
        else:
            tallies = metric.tallies(part[metric.view].to_list())
        yield score_rows(
            part, metric, tallies, unit=unit, settings=settings(metric),
            slices="all" if unit == "page" else None,
        )  # fmt: skip
