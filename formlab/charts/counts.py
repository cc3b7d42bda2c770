"""What is right, counted: the sentence with which a report answers its title."""

from __future__ import annotations

import polars as pl

from formlab.charts.harmless import clean

# Of more parts the two ends are named.
_PARTS, _END = 6, 2


def right_of(system: str, cases: pl.DataFrame, by: str | None = None, *, of: str = "fields") -> str:
    """What a system has right, of all `cases` and of each part of them, the best part first.

    `cases` have `gold` and `outcome`; what has no gold, or is not scored, does not count, and of
    none there is no sentence. `by` is a column whose values are the parts, `of` what cases are
    called, in the plural.

    >>> rows = [("date", "1", "match"), ("date", "2", "match"), ("mark", "x", "missing")]
    >>> cases = pl.DataFrame(rows, ["kind", "gold", "outcome"], orient="row")
    >>> right_of("ocr", cases, "kind")
    'ocr has 2 of 3 fields right: date 2 of 2, mark 0 of 1'
    """
    cases = cases.drop_nulls("gold").filter(pl.col("outcome").ne_missing("unscored"))
    right = (pl.col("outcome") == "match").sum()
    whole = cases.select(right=right, n=pl.len()).row(0)
    text = f"{clean(system, limit=60)} has {whole[0]:,} of {whole[1]:,} {of} right" * (whole[1] > 0)
    if by is None or cases[by].drop_nulls().n_unique() < 2:
        return text
    parts = cases.drop_nulls(by).group_by(by).agg(right=right, n=pl.len())
    order = pl.col("right") / pl.col("n"), pl.col("n") - pl.col("right"), "n", by
    parts = parts.sort(*order, descending=[True, False, True, False]).rows()
    named = [f"{clean(str(p), limit=60) or '–'} {right:,} of {n:,}" for p, right, n in parts]
    if len(named) > _PARTS:
        named[_END:-_END] = ["…"]
    return f"{text}: {', '.join(named)}"
