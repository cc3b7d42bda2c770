"""Pages by what their word errors are: bars and a table."""

from __future__ import annotations

from collections.abc import Sequence

import altair as alt
import polars as pl

from formlab.analysis.pages import worst_pages
from formlab.charts import theme
from formlab.charts._output import clean
from formlab.charts.show import Caption, Table
from formlab.metrics.page import ERRORS
from formlab.tables import USABLE, Evaluation

COLOURS = {
    "omitted": theme.OUTCOME_COLOURS["missing"],
    "inserted": theme.OUTCOME_COLOURS["spurious"],
    "substituted": theme.OUTCOME_COLOURS["mismatch"],
    "order": theme.SYSTEM_COLOURS[5],
}
_WORDS = {"order": "out of order"}
_NONE = "No text of whole pages was scored."


def page_error_bars(pages: pl.DataFrame) -> alt.Chart | Caption:
    """The word errors of each page per gold word, omitted, inserted, substituted, out of order.

    Parameters
    ----------
    pages
        As from `formlab.analysis.worst_pages`; drawn in its order.
    """
    shown = pages.filter(pl.col("wer").is_not_nan())
    if not shown.height:
        return Caption(_NONE, label="Note")
    titles = {name: _WORDS.get(name, name) for name in ERRORS}
    long = shown.unpivot(
        list(ERRORS), index=["doc_id", "words", "wer"], variable_name="error", value_name="rate"
    ).with_columns(
        pl.col("doc_id").map_elements(lambda name: clean(name, limit=60), return_dtype=pl.String),
        rank=pl.col("error").replace_strict(list(ERRORS), list(range(len(ERRORS)))),
        error=pl.col("error").replace(titles),
    )
    order = long["doc_id"].unique(maintain_order=True).to_list()
    colours = theme.scale({titles[name]: colour for name, colour in COLOURS.items()})
    rates = "; ".join(f"{name} {rate:.3f}" for name, rate in shown.select("doc_id", "wer").rows())
    key = alt.Legend(orient="top", columns=2)
    return (
        alt.Chart(long)
        .mark_bar()
        .encode(
            alt.X("rate:Q", title="word errors per word of the gold text", stack="zero"),
            alt.Y("doc_id:N", title=None, sort=order).axis(labelLimit=120),
            alt.Color("error:N", title="words", sort=list(titles.values()), legend=key).scale(
                colours
            ),
            alt.Order("rank:Q"),
            tooltip=[
                alt.Tooltip("doc_id:N", title="page"), alt.Tooltip("error:N", title="words"),
                alt.Tooltip("rate:Q", format=".3f"), alt.Tooltip("wer:Q", format=".3f"),
                alt.Tooltip("words:Q", title="gold words"),
            ],
        )
        .properties(
            width=theme.PHONE - 120, height=alt.Step(20),
            description=f"Word errors of pages: {rates}",
        )
    )  # fmt: skip


def page_table(pages: pl.DataFrame) -> Table | Caption:
    """The same in figures, with the fields of each page."""
    if not pages.height:
        return Caption(_NONE, label="Note")
    titles = {
        "doc_id": "page", "words": "gold words", "wer": "WER", "order": "out of order",
        "wrong": "fields wrong", "missed": "missed", "out_of_order": "fields out of order",
    }  # fmt: skip
    return Table(pages, titles=titles)


def page_caption(pages: pl.DataFrame, *, say: str, label: str = "Figure") -> Caption:
    """A caption that says how many pages are shown, and how many gold words they have."""
    if not pages.height:
        return Caption(f"{say} {_NONE}", label=label)
    words, many = int(pages["words"].sum() or 0), "s" * (pages.height != 1)
    return Caption(f"{say} {pages.height:,} page{many} with {words:,} gold words.", label=label)


def page_figures(pages: pl.DataFrame) -> list[Caption | alt.Chart | Table]:
    """Bars and table of the pages, each under its caption; a note where no page was scored."""
    if not pages.height:
        return [Caption(_NONE, label="Note")]
    say = "Word errors of pages, the highest word error rate first, by what became of the words."
    return [
        page_caption(pages, say=say),
        page_error_bars(pages),
        page_caption(pages, say="The same in figures, with the fields.", label="Table"),
        page_table(pages),
    ]


def each_page_figures(
    evaluations: Sequence[Evaluation], *, limit: int = 5
) -> list[Caption | alt.Chart]:
    """`page_error_bars` of every evaluation that has texts of pages, each under its caption.

    Parameters
    ----------
    evaluations
        As from `formlab.evaluate`.
    limit
        How many pages of each at the most.
    """
    figures: list[Caption | alt.Chart] = []
    for one in evaluations:
        pages = worst_pages(one, limit=limit)
        # Where no page has a usable text, its status says more than its errors.
        if pages["status"].is_in(USABLE).any():
            of = f"{clean(one.system, limit=80)} on {one.benchmark}:{one.split}"
            say = f"Word errors of pages, the highest word error rate first: {of}."
            figures += [page_caption(pages, say=say), page_error_bars(pages)]
    return figures or [Caption(_NONE, label="Note")]
