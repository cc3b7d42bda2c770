"""Which of day and month stands first in the dates of a document."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Literal

import polars as pl

from formlab.text.values import date_readings

Order = Literal["day", "month"]
ORDERS: tuple[Order, ...] = ("day", "month")
# Named in the settings of scores that compare dates.
DATE_RULE = "dates=document,else corpus"
# A corpus speaks for a document that shows no order if so many others show one, and such a share
# of them the same: one date in hundreds may be misprinted.
_ENOUGH, _SHARE = 3, 0.95
# Numbers between slashes or hyphens with all that is stuck to them, so that no code is cut up.
_IN_TEXT = r"[\w/.-]*\d[/-]\d{1,2}[/-]\d[\w/-]*"
# Most dates of a form show no order: year first, or two numbers that may both be the month.
_EITHER = "(?:0?[1-9]|1[0-2])"
_NO_ORDER = (
    rf"^(?:[0-9]{{4}}-[0-9]{{1,2}}-[0-9]{{1,2}}|{_EITHER}[-/]{_EITHER}[-/](?:[0-9]{{2}}){{1,2}})$"
)


def date_order(texts: Iterable[str]) -> Order | None:
    """The order of day and month in numeric dates; None if none shows it, or both are shown.

    >>> date_order(["31/12/2020", "05/06/2020"]), date_order(["31/1/20", "1/31/20"])
    ('day', None)
    """
    shown = {_shown(text) for text in texts} - {None}
    return shown.pop() if len(shown) == 1 else None


def date_orders(
    docs: pl.Series, values: pl.Series, corpus: Mapping[str, int] | None = None
) -> dict[str, Order]:
    """The order of day and month by document, from the dates in its values and texts.

    A document that shows none has that of the corpus where at least three others show one and 95 %
    of them the same; else it is left out, as is one that shows both. `values` are n texts or null,
    whole pages too; `corpus` has what all documents show (`orders_shown`), if these are only some.

    >>> docs = pl.Series(["a", "a", "b"])
    >>> date_orders(docs, pl.Series(["due 31/12/2020.", "05/06/2020", "05/06/2020"]))
    {'a': 'day'}
    """
    shown = _by_document(docs, values)
    orders = {doc: order for doc, order in shown.items() if order != "both"}
    corpus = Counter(shown.values()) if corpus is None else corpus
    total, usual = sum(corpus.values()), max(ORDERS, key=lambda order: corpus.get(order, 0))
    if total < _ENOUGH or corpus.get(usual, 0) < _SHARE * total:
        return orders
    return dict.fromkeys((doc for doc in docs.unique() if doc not in shown), usual) | orders


def orders_shown(docs: pl.Series, values: pl.Series) -> Counter[str]:
    """How many documents show an order of day and month in their dates: day, month or both.

    >>> orders_shown(pl.Series(["a", "a", "b"]), pl.Series(["31/12/2020", "5/6/2020", "5/6/2020"]))
    Counter({'day': 1})
    """
    return Counter(_by_document(docs, values).values())


def _by_document(docs: pl.Series, values: pl.Series) -> dict[str, str]:
    """The order of day and month that each document shows, if any, or both."""
    dates = pl.DataFrame({"doc": docs, "value": values.cast(pl.String)})
    dates = dates.filter(~pl.col("value").str.contains(_NO_ORDER))
    dates = dates.select("doc", pl.col("value").str.extract_all(_IN_TEXT)).explode("value")
    shown: dict[str, str] = {}
    for doc, value in dates.drop_nulls().unique(maintain_order=True).iter_rows():
        if order := _shown(value.strip("./-")):
            shown[doc] = order if shown.get(doc, order) == order else "both"
    return shown


# Forms repeat dates, and each is asked for before and while its batch is scored.
@lru_cache(maxsize=1 << 16)
def _shown(text: str) -> Order | None:
    month_first, day_first = date_readings(text)
    if bool(month_first) == bool(day_first):
        return None
    return "month" if month_first else "day"
