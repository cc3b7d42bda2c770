"""The schemas of every table, the settings of a score, and frames of other libraries."""

import dataclasses
import functools
import gc
import inspect
import re
import sys
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from importlib import import_module
from itertools import chain
from pathlib import Path
from types import ModuleType
from typing import Any

import polars as pl
import polars.selectors as cs

from formlab import files, resources
from formlab.errors import TableBroken, UnknownName

_S = pl.String
_TABLE = tomllib.loads(Path(__file__).with_name("tables.toml").read_text("utf-8"))


@dataclasses.dataclass(frozen=True)
class Settings:
    """How a score was made, beside what its own columns say: the struct column `settings`.

    `rules` say how values are compared, `read` how fields are read from a page; `documents` which
    documents were scored and `labels` which corrections were applied, where not all or any were.
    `formlab` is the version; `average`, `interval` and `test` say how a summary was made.
    """

    rules: str | None = None
    read: str | None = None
    documents: str | None = None
    labels: str | None = None
    formlab: str | None = None
    average: str | None = None
    interval: str | None = None
    test: str | None = None

    def text(self) -> str:
        """The settings that are set, on one line."""
        values = ((prefix, getattr(self, name)) for name, prefix in _TABLE["settings"].items())
        return "|".join(f"{prefix}{value}" for prefix, value in values if value)


# Few distinct values stand in many rows, so they are kept as categories.
SETTINGS = pl.Struct({field.name: pl.Categorical for field in dataclasses.fields(Settings)})
_TYPES = {"int": pl.Int64, "number": pl.Float64, "flag": pl.Boolean, "texts": pl.List(_S)}
_TYPES |= {"numbers": pl.List(pl.Float64), "settings": SETTINGS}


def schema(columns: str) -> dict[str, Any]:
    """The dtypes of columns that are written as ``name`` (text) or ``name:type``."""
    pairs = [column.replace("!", "").partition(":") for column in columns.split()]
    return {name: _TYPES.get(kind, _S) for name, _, kind in pairs}


BOX = ("x0", "y0", "x1", "y1")
LADDER = ("exact", "normalised", "typed", "fuzzy")
SCHEMAS = {name: schema(columns) for name, columns in _TABLE["columns"].items()}
_REQUIRED = {name: re.findall(r"(\w+)!", columns) for name, columns in _TABLE["columns"].items()}
DOCUMENTS, RECORDS, RESPONSES, CASES, SCORES, SUMMARY, DECISIONS = SCHEMAS.values()
RESERVED = {column for schema in SCHEMAS.values() for column in schema}
DTYPES = {name: kind for columns in SCHEMAS.values() for name, kind in columns.items()}
del DTYPES["value"]  # A text in some tables, a number in others.
KEYS = {name: tuple(key.split()) for name, key in _TABLE["keys"].items()}
_WORDS = {column: tuple(words.split()) for column, words in _TABLE["words"].items()}
_, TASKS, STATUSES, OUTCOMES, DECIDED = _WORDS.values()
# Tables that may have columns of a user's own.
_OPEN = ("documents", "records", "cases")
# A status under which the answer still counts; every other one counts as nothing found.
USABLE = ("ok", "repaired")
LEVELS, FIELD_LEVELS, WHOLE_LEVELS = (tuple(v.split()) for v in _TABLE["levels"].values())
# Annotations of parameters that take one item in place of a list of it.
_LISTS = re.compile(r"Sequence\[str\b|(Mapping\[str, Evaluation\] \| )?\w+\[Evaluation\]")
_MODULE, _FRAMES = re.compile(r"\b\w+\."), re.compile(r"\b(pl|polars)\.")
_REFUSED = (TypeError, ValueError, OverflowError, pl.exceptions.PolarsError)


def own_columns(name: str, frame: pl.DataFrame) -> list[str]:
    """The columns of a table that are a user's own."""
    return [column for column in frame.columns if column not in SCHEMAS[name]]


def table(name: str, rows: Iterable[Any] | Mapping[str, list[Any]], **same: Any) -> pl.DataFrame:
    """A table of the schema `name` from rows that may leave columns out, or from columns.

    A column that is left out is null, or the value that `same` has for it. A case that does not
    say its level is a field, or a whole page if it has no path. A column that the schema does not
    know, or a value of another type, is a `TableBroken`.
    """
    columns = rows if isinstance(rows, Mapping) else columns_of(rows := list(rows), same)
    if unknown := sorted(columns.keys() - SCHEMAS[name].keys()):
        remedy = "frame.with_columns for columns of your own" if name in _OPEN else None
        raise TableBroken(f"{name}: unknown columns {', '.join(unknown)}", remedy=remedy)
    height, series = len(next(iter(columns.values()), rows)), []
    for key, kind in SCHEMAS[name].items():
        made = _series(name, key, columns.get(key, [same.get(key)]), kind)
        series.append(made if key in columns else made.new_from_index(0, height))
    frame = pl.DataFrame(series)
    if name != "cases":
        return frame
    is_page = pl.col("path").is_null() & pl.col("pred_path").is_null()
    level = pl.when(is_page).then(pl.lit("page")).when(task="layout").then(pl.lit("node"))
    return frame.with_columns(pl.col("level").fill_null(level.otherwise(pl.lit("field"))))


def columns_of(rows: list[Any], same: Mapping[str, Any]) -> dict[str, list[Any]]:
    """Rows as columns; a row without one has what is the `same` for all, else null."""
    usual = {key: same.get(key) for key in dict.fromkeys(chain.from_iterable(rows))}
    return {key: [row.get(key, value) for row in rows] for key, value in usual.items()}


def _series(name: str, key: str, values: list[Any], kind: Any) -> pl.Series:
    if kind == SETTINGS:
        values = [vars(v) if isinstance(v, Settings) else v for v in values]
    try:
        with suppress(*_REFUSED):
            return pl.Series(key, values, kind, strict=True)
        # Texts may have half characters.
        return pl.Series(key, list(map(files.storable, values)), kind, strict=True)
    except _REFUSED as error:
        reason = str(error).partition("\n")[0][:200]
        raise TableBroken(f"{name}: column {key} is {kind}: {reason}") from error


@contextmanager
def uncollected() -> Iterator[None]:
    """Disable the cyclic garbage collector, as a context or a decorator."""
    # Rows are made by the hundred thousand, none in cycles: looking takes a quarter of the time.
    change = gc.enable if gc.isenabled() else gc.disable
    gc.disable()
    try:
        yield
    finally:
        change()


def only(frame: pl.DataFrame, **equal: object) -> pl.DataFrame:
    """The rows whose columns equal the given values; None asks for null."""
    return frame.filter(*(pl.col(key).eq_missing(pl.lit(value)) for key, value in equal.items()))


def settings_text(row: Mapping[str, Any]) -> str:
    """How a score was made, on one line, from its row: for captions and consoles."""
    corpus = ":".join(filter(None, (row.get("benchmark"), row.get("split"))))
    parts = [f"{name}={row[name]}" for name in ("level", "mode") if row.get(name)]
    settings = Settings(**(row["settings"] or {})).text()
    return "|".join(filter(None, [corpus, row.get("metric"), *parts, settings]))


def slice_name(row: Mapping[str, Any]) -> str:
    """The name of a row's slice for a reader; without one, `fields`, or `all` of another level.

    >>> slice_name({"level": "field", "slice_by": None, "slice_value": None})
    'fields'
    >>> slice_name({"slice_by": ["kind", "page"], "slice_value": ["answer", "2"]})
    'kind=answer & page=2'
    """
    by, value = row["slice_by"], row["slice_value"]
    if by is None:
        return "fields" if row["level"] in FIELD_LEVELS else "all"
    if isinstance(by, str):
        return f"{by}={value}"
    return " & ".join(f"{name}={word}" for name, word in zip(by, value, strict=True))


def readable(frame: pl.DataFrame) -> pl.DataFrame:
    """A table for a reader: with the name of its `slice`, and with settings as text."""
    rows, texts = frame.to_dicts(), {}
    if "slice_by" in frame.columns:
        texts["slice"] = [slice_name(row) for row in rows]
    if frame.schema.get("settings") == SETTINGS:
        rows = [row | {"level": row.get("score_level", row.get("level"))} for row in rows]
        texts["settings"] = [settings_text(row) for row in rows]
    return frame.with_columns(pl.Series(name, values, _S) for name, values in texts.items())


def check(name: str, frame: pl.DataFrame) -> pl.DataFrame:
    """`frame` itself, if it follows the schema `name`; else a `TableBroken` with every mismatch.

    Checked: columns, dtypes, columns that may not be null, allowed words, unique keys, and
    that `system` is null exactly for gold. Documents, records and cases may have further columns
    under names that no table of formlab has.
    """
    schema, own, is_gold = SCHEMAS[name], own_columns(name, frame), pl.col("role") == "gold"
    right = {key for key, kind in schema.items() if frame.schema.get(key) == kind}
    columns = {
        "missing columns": [key for key in schema if key not in frame.columns],
        "unknown columns": [] if name in _OPEN else own,
        "own columns with names of other tables' columns": [key for key in own if key in RESERVED],
    }
    wrong = [f"{what}: {', '.join(names)}" for what, names in columns.items() if names]
    odd = sorted(schema.keys() & frame.schema.keys() - right)
    wrong += [f"column {key} is {frame.schema[key]}, should be {schema[key]}" for key in odd]
    for key in _REQUIRED[name]:
        if key in right and (count := frame[key].null_count()):
            wrong.append(f"column {key} is null in {count} rows")
    for key, words in _WORDS.items():
        if key in right and (unknown := {*frame[key].drop_nulls().unique()}.difference(words)):
            wrong.append(f"column {key} has unknown values: {', '.join(sorted(unknown)[:5])}")
    is_odd = is_gold != pl.col("system").is_null()
    if right.issuperset(("role", "system")) and (count := frame.filter(is_odd).height):
        wrong.append(f"system must be null exactly where role is gold: {count} rows are not so")
    if (key := KEYS.get(name)) and right.issuperset(key):
        # What a model gives twice is kept, and scored.
        rows = (frame.filter(is_gold) if name == "records" else frame).select(key)
        # Rows of different hashes are different, and quickly counted.
        may_be = rows.hash_rows().n_unique() < rows.height
        if may_be and (twice := rows.filter(rows.is_duplicated())).height:
            first = ", ".join(f"{name}={value}" for name, value in twice.row(0, named=True).items())
            wrong.append(f"{twice.height} rows share a key, first: {first}")
    if wrong:
        raise TableBroken("\n  - ".join([f"table {name!r} does not follow its schema:", *wrong]))
    return frame


class Options:
    """What holds for all of formlab in this session.

    `frames` is the library of the frames that functions return, ``polars`` or ``pandas``. Tables
    of an evaluation (`evaluation.cases`) stay polars and have `to_pandas()`.
    """

    frames: str = "polars"

    def __setattr__(self, name: str, value: Any) -> None:
        values = ["frames = 'polars'", "frames = 'pandas'"]
        if (assignment := f"{name} = {value!r}") not in values:
            raise UnknownName.of("option", assignment, values)
        if value == "pandas":
            resources.need("pandas")
        super().__setattr__(name, value)


options = Options()


def to_polars(value: Any) -> Any:
    """A frame or series of any library as polars, also inside a list, tuple or dict; else as it is.

    What is missing is null, and undefined scores are NaN. A named index is a column. `TableBroken`
    if two columns have the same name, or a column holds values of several types.
    """
    if type(value) in (list, tuple):
        return type(value)(map(to_polars, value))
    if type(value) is dict:
        return {key: to_polars(item) for key, item in value.items()}
    if isinstance(value, pl.DataFrame | pl.Series) or not hasattr(value, "shape"):
        return value
    import narwhals as nw

    try:
        frame = nw.from_native(value, pass_through=True, allow_series=True)
        if not isinstance(frame, nw.DataFrame):
            return frame.to_polars() if isinstance(frame, nw.Series) else value
        names = getattr(nw.maybe_get_index(frame), "names", ())
        if any(name is not None and name not in frame.columns for name in names):
            frame = nw.from_native(value.reset_index())
        frame = frame.rename({name: str(name) for name in frame.columns}).to_polars()
        frame = frame.with_columns(pl.col(n).cast(t) for n, t in DTYPES.items() if n in frame)
    except (TypeError, ValueError, nw.exceptions.NarwhalsError, pl.exceptions.PolarsError) as error:
        what = f"this frame cannot be read: {error}"
        raise TableBroken(what, remedy="one name and one type a column") from error
    if not {"metric", "ci_low"}.intersection(frame.columns):
        return frame
    undefined = cs.by_name("value", "ci_low", "ci_high", require_all=False) & cs.float()
    return frame.with_columns(undefined.fill_null(float("nan")))


@functools.cache
def either(function: Any) -> Any:
    """The function for frames of any library, and for one name or evaluation in place of a list."""
    if not inspect.isfunction(function):
        return function
    signature = inspect.signature(function)
    # Annotations are types or, in some modules, texts.
    texts = {p.name: _MODULE.sub("", str(p.annotation)) for p in signature.parameters.values()}
    lists = {name for name, text in texts.items() if _LISTS.match(text)}
    if not lists and not _FRAMES.search(str(signature)):
        return function

    @functools.wraps(function)
    def converted(*values: Any, **named: Any) -> Any:
        given = signature.bind(*values, **named)
        for name, value in given.arguments.items():
            # A text is a sequence as well, of its letters; the name of a column is meant.
            is_list = value is None or (isinstance(value, Iterable) and not isinstance(value, str))
            value = value if name not in lists or is_list else (value,)
            given.arguments[name] = to_polars(value)
        try:
            result = function(*given.args, **given.kwargs)
        except pl.exceptions.ColumnNotFoundError as error:
            frames = [v for v in given.arguments.values() if isinstance(v, pl.DataFrame)]
            name = re.search(r"[\"'](.+?)[\"']", str(error))
            if not frames or not name:
                raise
            columns = {column for frame in frames for column in frame.columns}
            raise UnknownName.of("column", name[1], columns) from error
        # Code of formlab itself works on polars, whatever the user has chosen.
        caller = str(sys._getframe(1).f_globals.get("__name__"))
        is_wanted = options.frames == "pandas" and not re.match(r"formlab(_\w+)?(\.|$)", caller)
        return result.to_pandas() if is_wanted and isinstance(result, pl.DataFrame) else result

    return converted


def door(room: dict[str, Any], names: Iterable[str]) -> None:
    """Let the functions of a room, its `globals()`, take and return frames of any library."""
    room.update({name: either(room[name]) for name in names if name in room})


class Room(ModuleType):
    """A room whose names, in `HOMES` by module, are imported and made `either` when asked for."""

    def __getattr__(self, name: str) -> Any:
        for home, names in self.HOMES.items():
            if name in names.split():
                setattr(self, name, either(getattr(import_module(f"formlab.{home}"), name)))
                return getattr(self, name)
        raise AttributeError(f"{self.__name__} has no attribute {name!r}", name=name, obj=self)

    def __setattr__(self, name: str, value: Any) -> None:
        # Importing a module that is called like its function must not hide the function.
        if not (isinstance(value, ModuleType) and name in self.__all__):
            super().__setattr__(name, value)

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self.__all__]


door(globals(), ("check", "only", "own_columns", "readable"))
