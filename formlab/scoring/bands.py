"""Columns to slice by that follow from a case: what its gold says, its box, its place."""

from itertools import pairwise
from typing import NamedTuple

import polars as pl

from formlab.errors import UnknownName


class Band(NamedTuple):
    """Ranges of a number: `edges`, ascending, are the lower ends of all but the first."""

    title: str
    edges: tuple[float, ...]
    whole: bool = False
    lowest: str = "under {:g}"

    @property
    def labels(self) -> tuple[str, ...]:
        """The ranges in words; of `whole` numbers they are inclusive.

        >>> Band("fields", (5, 6, 10), whole=True).labels
        ('under 5', '5', '6–9', '10 and more')
        """
        pairs = ((low, high - self.whole) for low, high in pairwise(self.edges))
        inner = (f"{low:g}" if low == high else f"{low:g}–{high:g}" for low, high in pairs)
        return self.lowest.format(self.edges[0]), *inner, f"{self.edges[-1]:g} and more"

    def of(self, values: pl.Series) -> pl.Series:
        """The range of each number, as ordered categories; null where it is not known."""
        ranges = pl.Series(values.name, self.labels, dtype=pl.Enum(self.labels))
        known = values.cast(pl.Float64).fill_nan(None)
        places = pl.Series(self.edges, dtype=pl.Float64).search_sorted(known, "right")
        return ranges.gather(places.set(known.is_null(), None))


BANDS = {
    "length": Band("characters in the gold value", (1, 5, 10, 20, 40, 80), True, "empty"),
    "box_height": Band("height of the gold box, pixels", (12, 16, 20, 30)),
    "box_width": Band("width of the gold box, pixels", (40, 80, 160, 320)),
    "nesting": Band("how deep the field stands in its form", (2, 3, 4), True),
    "certainty": Band("the system's confidence", (0.6, 0.8, 0.9, 0.95, 0.99)),
    "magnitude": Band("size of the number in the gold", (1, 10, 100, 1_000, 10_000, 100_000)),
}
# The first step of a path that is a number of an item.
_ITEM = r"^/[^/]*[^/0-9][^/]*(?:/[^/]*)*?/([0-9]+)(?:/|$)"
_YEAR = r"(?:^|[^0-9])((?:1[5-9]|20)[0-9]{2})(?:[^0-9]|$)"
_TEXT, _KIND = pl.col("gold").str.strip_chars(), pl.col("kind")
_DAY = _TEXT.str.contains(r"^[0-9]{1,4}[-./ ][0-9]{1,2}[-./ ][0-9]{1,4}$")
_AMOUNT = _TEXT.str.contains(r"^[^\w]{0,4}[0-9][0-9.,' ]*[^\w]{0,4}$")
_UNITS = _TEXT.str.replace_all(r"[^0-9.,]", "").str.replace(r"[.,][0-9]{1,2}$", "")
_SIZE = _UNITS.str.replace_all("[.,]", "").str.extract("^([0-9]{1,300})$").cast(pl.Float64)
_IS_SIZE = (_KIND != "date").fill_null(True) & ~_DAY & (_AMOUNT | (_KIND == "number"))
_LETTERS = _TEXT.str.replace_all(r"[^\pL]", "")
_UPPER, _LOWER = _LETTERS.str.to_uppercase() == _LETTERS, _LETTERS.str.to_lowercase() == _LETTERS
_CASE = pl.when(_UPPER).then(pl.lit("all capitals")).when(_LOWER).then(pl.lit("no capitals"))
_CASE = _CASE.otherwise(pl.lit("some capitals"))


def _third(side: str, size: str, first: str, second: str, last: str) -> pl.Expr:
    """In which third of its page a field has its middle; null without a box or a size."""
    middle = (pl.col(f"{side}0") + pl.col(f"{side}1")) / 2
    low, high = pl.col(size) / 3, pl.col(size) * 2 / 3
    third = pl.when(middle < low).then(pl.lit(first)).when(middle < high).then(pl.lit(second))
    return third.when(middle >= high).then(pl.lit(last))


_THIRDS = {
    "vertical": _third("y", "height", "top", "middle", "bottom"),
    "horizontal": _third("x", "width", "left", "centre", "right"),
}
# All that follows from a case, numbers as they are.
DERIVED: dict[str, pl.Expr] = {
    "length": pl.col("gold").fill_null("").str.strip_chars().str.len_chars(),
    "box_height": pl.col("y1") - pl.col("y0"),
    "box_width": pl.col("x1") - pl.col("x0"),
    "nesting": pl.col("path").str.count_matches("/", literal=True),
    "certainty": pl.col("confidence"),
    "magnitude": pl.when(_IS_SIZE).then(_SIZE),
    "year": pl.when((_KIND == "date") | _DAY).then(_TEXT.str.extract(_YEAR).cast(pl.Int64)),
    "case": pl.when(_LETTERS.str.len_chars() > 1).then(_CASE),
    "index": pl.col("path").str.extract(_ITEM).cast(pl.Int64, strict=False) + 1,
    "position": pl.concat_str(_THIRDS.values(), separator=" "),
} | _THIRDS
_OWN = ("year", "case", "index")  # What a table's own column of the name may stand for.
_PAGE = ("width", "height")  # What is known of a page from its document alone.
# What is known of a value from its gold alone; numbers are sliced where they are cut best.
NUMBERS = ("length", "box_height", "box_width", "nesting", "year", "magnitude", "index")


def roots(column: str) -> tuple[str, ...]:
    """The columns of cases that a column to slice by follows from.

    >>> roots("length"), roots("vertical"), roots("kind")
    (('gold',), ('y0', 'y1'), ('kind',))
    """
    names = dict.fromkeys(DERIVED.get(column, pl.col(column)).meta.root_names())
    return tuple(name for name in names if name not in _PAGE)


def pattern(path: str = "path") -> pl.Expr:
    """The path of a field with its numbers left out: the same in all items of a list.

    >>> pl.DataFrame({"path": ["/items/3/net"]}).select(pattern())["path"].to_list()
    ['/items/*/net']
    """
    # Two numbers in a row need two turns.
    inner = pl.col(path).str.replace_all("/[0-9]+/", "/*/").str.replace_all("/[0-9]+/", "/*/")
    return inner.str.replace("/[0-9]+$", "/*")


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
    is_own = column in cases.columns and (column not in DERIVED or (column in _OWN and not as_is))
    values = pl.col(column) if is_own else DERIVED.get(column, pl.col(column))
    names = dict.fromkeys(values.meta.root_names())
    of_documents = [n for n in names if not is_own and (n in _PAGE or column not in DERIVED)]
    if not {*of_documents} <= {*documents.columns}:
        known = [*cases.columns, *documents.columns, *DERIVED]
        raise UnknownName.of("column to slice by", column, dict.fromkeys(known))
    if of_documents:
        rows = cases.select("doc_id", *(name for name in names if name not in of_documents))
        pages = documents.select("doc_id", *of_documents)
        cases = rows.join(pages, on="doc_id", how="left", maintain_order="left")
    series = cases.select(values.alias(column)).to_series()
    is_band = column in BANDS and not (as_is and column in NUMBERS)
    return BANDS[column].of(series) if is_band else series
