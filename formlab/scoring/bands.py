"""Columns to slice by that follow from a case: what its gold says, its box, its place."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import polars as pl

from formlab.errors import UnknownName
from formlab.tables import BOX


class Band(NamedTuple):
    """A number of a case, cut into ranges: `edges` are the lower ends of all but the first."""

    title: str
    expr: pl.Expr
    edges: Sequence[float]
    labels: tuple[str, ...]


def band(title: str, expr: pl.Expr, edges: Sequence[float], *, whole: bool) -> Band:
    """Bin a number at ascending `edges`; bins of `whole` numbers are labelled inclusively.

    >>> band("fields", pl.col("n_fields"), (5, 6, 10), whole=True).labels
    ('under 5', '5', '6–9', '10 and more')
    """
    pairs = ((low, high - whole) for low, high in pairwise(edges))
    inner = (f"{low:g}" if low == high else f"{low:g}–{high:g}" for low, high in pairs)
    labels = (f"under {edges[0]:g}", *inner, f"{edges[-1]:g} and more")
    return Band(title, expr, edges, labels)


# The first step of a path that is a number of an item, and all of them.
_ITEM, _STEPS = r"^/[^/]*[^/0-9][^/]*(?:/[^/]*)*?/([0-9]+)(?:/|$)", r"/[0-9]+(/|$)"
_YEAR = r"(?:^|[^0-9])((?:1[5-9]|20)[0-9]{2})(?:[^0-9]|$)"
_TEXT, _KIND = pl.col("gold").str.strip_chars(), pl.col("kind")
_DAY = _TEXT.str.contains(r"^[0-9]{1,4}[-./ ][0-9]{1,2}[-./ ][0-9]{1,4}$")
_AMOUNT = _TEXT.str.contains(r"^[^\w]{0,4}[0-9][0-9.,' ]*[^\w]{0,4}$")
_UNITS = _TEXT.str.replace_all(r"[^0-9.,]", "").str.replace(r"[.,][0-9]{1,2}$", "")
_SIZE = _UNITS.str.replace_all("[.,]", "").str.extract("^([0-9]{1,300})$").cast(pl.Float64)
_IS_SIZE = (_KIND != "date").fill_null(True) & ~_DAY & (_AMOUNT | (_KIND == "number"))
_LETTERS = _TEXT.str.replace_all(r"[^\pL]", "")
_CASE = (
    pl.when(_LETTERS.str.to_uppercase() == _LETTERS)
    .then(pl.lit("all capitals"))
    .when(_LETTERS.str.to_lowercase() == _LETTERS)
    .then(pl.lit("no capitals"))
    .otherwise(pl.lit("some capitals"))
)
# What is known of a value from its gold alone; numbers are sliced where they are cut best.
OF_VALUES: dict[str, pl.Expr] = {
    "length": pl.col("gold").fill_null("").str.strip_chars().str.len_chars(),
    "box_height": pl.col("y1") - pl.col("y0"),
    "box_width": pl.col("x1") - pl.col("x0"),
    "nesting": pl.col("path").str.count_matches("/", literal=True),
    "year": pl.when((_KIND == "date") | _DAY).then(_TEXT.str.extract(_YEAR).cast(pl.Int64)),
    "magnitude": pl.when(_IS_SIZE).then(_SIZE),
    "case": pl.when(_LETTERS.str.len_chars() > 1).then(_CASE),
    "index": pl.col("path").str.extract(_ITEM).cast(pl.Int64, strict=False) + 1,
}
_RANGES = {
    "length": ("characters in the gold value", (1, 5, 10, 20, 40, 80)),
    "box_height": ("height of the gold box, pixels", (12, 16, 20, 30)),
    "box_width": ("width of the gold box, pixels", (40, 80, 160, 320)),
    "nesting": ("how deep the field stands in its form", (2, 3, 4)),
    "certainty": ("the system's confidence", (0.6, 0.8, 0.9, 0.95, 0.99)),
    "magnitude": ("size of the number in the gold", (1, 10, 100, 1_000, 10_000, 100_000)),
}
_WHOLE = ("length", "nesting")
BANDS: dict[str, Band] = {
    name: band(title, OF_VALUES.get(name, pl.col("confidence")), edges, whole=name in _WHOLE)
    for name, (title, edges) in _RANGES.items()
}
BANDS["length"] = BANDS["length"]._replace(labels=("empty", *BANDS["length"].labels[1:]))
# In which third of its page a field has its middle; null without a box or a size.
_THIRDS = {
    "vertical": ("y", "height", "top", "middle", "bottom"),
    "horizontal": ("x", "width", "left", "centre", "right"),
}
_PLACES = {
    name: pl.when((middle := (pl.col(f"{side}0") + pl.col(f"{side}1")) / 2) < pl.col(size) / 3)
    .then(pl.lit(first))
    .when(middle < pl.col(size) * 2 / 3)
    .then(pl.lit(second))
    .when(middle.is_not_null() & pl.col(size).is_not_null())
    .then(pl.lit(last))
    for name, (side, size, first, second, last) in _THIRDS.items()
}
_PLACES = {"position": pl.concat_str(_PLACES.values(), separator=" ")} | _PLACES
# All that follows from a case.
DERIVED = tuple(dict.fromkeys([*BANDS, *OF_VALUES, *_PLACES]))
NUMBERS = ("length", "box_height", "box_width", "nesting", "year", "magnitude", "index")


def roots(column: str) -> tuple[str, ...]:
    """The columns of cases that a column to slice by follows from.

    >>> roots("length"), roots("vertical"), roots("kind")
    (('gold',), ('x0', 'y0', 'x1', 'y1'), ('kind',))
    """
    if column not in DERIVED or column in _PLACES:
        return BOX if column in _PLACES else (column,)
    values = OF_VALUES[column] if column in OF_VALUES else BANDS[column].expr
    return tuple(dict.fromkeys(values.meta.root_names()))


def pattern(path: str = "path") -> pl.Expr:
    """The path of a field with its numbers left out: the same in all items of a list.

    >>> pl.DataFrame({"path": ["/items/3/net"]}).select(pattern())["path"].to_list()
    ['/items/*/net']
    """
    # Two numbers in a row need two turns.
    return pl.col(path).str.replace_all(_STEPS, "/*$1").str.replace_all(_STEPS, "/*$1")


def cut(frame: pl.DataFrame, band: Band) -> pl.Series:
    """The band of each row, as ordered categories; null where the number is not known."""
    known = band.expr.cast(pl.Float64).fill_nan(None)
    number = pl.sum_horizontal((known >= edge).cast(pl.Int32) for edge in band.edges)
    number = pl.when(known.is_not_null()).then(number)
    labels, dtype = dict(enumerate(band.labels)), pl.Enum(band.labels)
    label = number.replace_strict(labels, default=None, return_dtype=dtype)
    return frame.select(band=label).to_series()


def sliced(
    cases: pl.DataFrame, documents: pl.DataFrame, column: str, *, as_is: bool = False
) -> pl.Series:
    """The value of `column` for each case: its own, its document's, or one of `DERIVED`.

    `as_is` has numbers as they are, and where there is no field, the pattern of its path.
    `UnknownName` if there is no such column.

    >>> cases = pl.DataFrame({"kind": ["date", "number"], "gold": ["3 May 2016", "10,480.50"]})
    >>> [sliced(cases, pl.DataFrame(), name).to_list() for name in ("year", "magnitude")]
    [[2016, None], [None, '10000–100000']]
    """
    if as_is and column == "field":
        return cases.select(field=pl.coalesce(sliced(cases, documents, column), pattern()))["field"]
    if column in BANDS and not (as_is and column in OF_VALUES):
        return cut(cases, BANDS[column]).alias(column)
    if column in OF_VALUES and (as_is or column not in cases.columns):
        return cases.select(OF_VALUES[column].alias(column)).to_series()
    if column in cases.columns and column not in _PLACES:
        return cases[column]
    needed = ("width", "height") if column in _PLACES else (column,)
    if {*needed} <= {*documents.columns}:
        rows = cases.select("doc_id", *(BOX if column in _PLACES else ()))
        own = documents.select("doc_id", *needed)
        rows = rows.join(own, on="doc_id", how="left", maintain_order="left")
        return rows.select(_PLACES.get(column, pl.col(column)).alias(column)).to_series()
    known = [*cases.columns, *documents.columns, *DERIVED]
    raise UnknownName.of("column to slice by", column, dict.fromkeys(known))
