"""Which of day and month a document writes first, read from the dates that leave no choice."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

import polars as pl

from formlab.text.typed import date_readings

Order = Literal["day", "month"]
# Said in the settings of what is compared as dates.
RULE = "dates=document,else corpus"
# A corpus speaks for a document that shows no order if so many others show the same.
_ENOUGH = 3
# Numbers between slashes or hyphens with all that is stuck to them, so that no code is cut up.
_NUMERIC = r"[\w/.-]*\d[/-]\d{1,2}[/-]\d[\w/-]*"


def date_order(texts: Iterable[str]) -> Order | None:
    """The order of day and month in numeric dates; None if none shows it, or both are shown.

    Examples
    --------
    >>> date_order(["31/12/2020", "05/06/2020"]), date_order(["12/31/2020"])
    ('day', 'month')
    >>> date_order(["05/06/2020", "2020-12-31", "31 Dec 2020"]), date_order(["31/1/20", "1/31/20"])
    (None, None)
    """
    shown = {_shown(text) for text in texts} - {None}
    return shown.pop() if len(shown) == 1 else None


def date_orders(docs: pl.Series, values: pl.Series) -> dict[str, Order]:
    """The order of day and month by document, from the dates in its values and texts.

    A document that shows none has that of the corpus where at least three others show one and
    all that do agree; else it is not in the answer, as one that shows both is not.

    Parameters
    ----------
    docs, values
        n names of documents and texts, null or not: gold values, or whole pages.

    Examples
    --------
    >>> docs = pl.Series(["a", "a", "b"])
    >>> date_orders(docs, pl.Series(["due 31/12/2020.", "05/06/2020", "05/06/2020"]))
    {'a': 'day'}
    """
    dates = pl.DataFrame({"doc": docs, "value": values.cast(pl.String)}).select(
        "doc", pl.col("value").str.extract_all(_NUMERIC)
    )
    dates = dates.explode("value").drop_nulls().unique(maintain_order=True)
    found: dict[str, set[Order]] = {}
    for doc, value in dates.iter_rows():
        if shown := _shown(value.strip("./-")):
            found.setdefault(doc, set()).add(shown)
    everywhere = set().union(*found.values())
    if len(found) >= _ENOUGH and len(everywhere) == 1:
        return dict.fromkeys(docs.unique().to_list(), everywhere.pop())
    return {doc: next(iter(orders)) for doc, orders in found.items() if len(orders) == 1}


def _shown(text: str) -> Order | None:
    month_first, day_first = date_readings(text)
    if (month_first is None) == (day_first is None):
        return None
    return "day" if month_first is None else "month"
