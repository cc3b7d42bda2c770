"""A report in short: number cards of some metrics, under one sentence with the same figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import polars as pl

from formlab.charts._output import clean, number
from formlab.charts._words import cards, sentences
from formlab.charts.show import Card, Cards

_LIMIT = 60
# The other figures stand on the cards alone.
_SAID = 3


def score_cards(
    rows: pl.DataFrame,
    titles: Mapping[str, str],
    *claims: object,
    names: Sequence[str] = (),
    more: Sequence[Card] = (),
) -> Cards:
    """A card for each row of these metrics that has a value, in the order of `titles`.

    `rows` are of a summary; those of metrics without a title are left out. `claims` are what more
    is said above the cards, such as a `Finding`; `names` are columns whose value tells apart the
    cards of one metric.

    Examples
    --------
    >>> row = {"system": "ocr", "metric": "cer", "value": 0.25, "ci_low": 0.2, "ci_high": 0.3,
    ...     "n_docs": 9, "n_cases": 80}
    >>> print(score_cards(pl.DataFrame([row]), {"cer": "CER"}, "Few forms."))
    ocr: CER 0.250. Few forms.
    CER: 0.250 (95 % interval 0.200 to 0.300, n = 80 in 9 documents)
    """
    places = {metric: place for place, metric in enumerate(titles)}
    shown = rows.filter(pl.col("metric").is_in(list(titles)), pl.col("value").is_finite())
    shown = shown.sort(pl.col("metric").replace_strict(places), maintain_order=True)
    labels = [
        " of ".join(
            filter(
                None,
                [
                    titles[row["metric"]],
                    ", ".join(clean(row[name], limit=_LIMIT) for name in names if row[name]),
                ],
            )
        )
        for row in shown.iter_rows(named=True)
    ]
    values = [
        f"{label} {number(value)}" for label, value in zip(labels, shown["value"], strict=True)
    ]
    said = "Nothing was scored"
    if shown.height:
        said = f"{clean(shown['system'][0], limit=_LIMIT)}: {'; '.join(values[:_SAID])}"
    shown = shown.with_columns(pl.Series("label", labels, dtype=pl.String))
    return cards(shown, finding=sentences(said, *claims), more=more)
