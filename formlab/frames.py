"""Frames of polars or of pandas: public functions take both, and return what the user chooses."""

from __future__ import annotations

import functools
import inspect
import itertools
import re
import sys
from collections.abc import Iterable, Mapping
from importlib import import_module
from types import ModuleType
from typing import Any

import polars as pl

from formlab.errors import TableBroken, UnknownName

LIBRARIES = ("polars", "pandas")
_PACKAGES = (
    "formlab",
    "formlab_arena",
    "formlab_baselines",
    "formlab_experiments",
    "formlab_review",
)
# Dtypes of formlab's columns by name, where the name has one dtype in all tables.
_DTYPES: dict[str, Any] = {}
# Annotations of parameters that take one item in place of a list of it.
_LISTS = re.compile(
    r"Sequence\[str\b|(Mapping\[str, Evaluation\] \| )?(Sequence|Iterable)\[Evaluation\]"
)
# Of tables of scores; undefined is NaN in these columns, and null in all others.
_MEASURED = ("value", "ci_low", "ci_high")


class Options:
    """What holds for all of formlab in this session.

    `frames` is the library of the frames that functions return: ``polars`` or ``pandas``; an
    argument `frames` decides for one call. Tables of an evaluation (`evaluation.cases`) stay
    polars and have `to_pandas()`.

    Raises
    ------
    UnknownName
        If there is no such option or library.

    Examples
    --------
    >>> import formlab
    >>> formlab.options.frames = "panda"
    Traceback (most recent call last):
    ...
    formlab.errors.UnknownName: unknown library of frames 'panda'. Try: 'pandas' (known: pandas, \
polars)
    """

    frames: str = "polars"

    def __setattr__(self, name: str, value: Any) -> None:
        if name != "frames":
            raise UnknownName.of("option", name, ["frames"])
        super().__setattr__(name, _library(value))

    def __repr__(self) -> str:
        return f"options(frames={self.frames!r})"


options = Options()


def know(schemas: Iterable[Mapping[str, Any]]) -> None:
    """Give columns from pandas the dtypes that these schemas agree on."""
    seen: dict[str, set[Any]] = {}
    for schema in schemas:
        for name, dtype in schema.items():
            seen.setdefault(name, set()).add(dtype)
    _DTYPES.update({name: dtypes.pop() for name, dtypes in seen.items() if len(dtypes) == 1})


def to_polars(value: Any) -> Any:
    """A pandas frame or series as polars, also inside a list, tuple or dict; all else unchanged.

    What is missing is null. Columns of formlab's tables get their dtypes back, and NaN where they
    are undefined; a named index is a column.

    Raises
    ------
    TableBroken
        If two columns have the same name, or a column holds values of several types.

    Examples
    --------
    >>> import pandas as pd
    >>> to_polars(pd.DataFrame({"doc_id": ["a"], "page": [2.0]})).row(0)
    ('a', 2)
    """
    if type(value) in (list, tuple):
        return type(value)(map(to_polars, value))
    if type(value) is dict:
        return {key: to_polars(item) for key, item in value.items()}
    if not _is_pandas(value):
        return value
    try:
        if value.ndim == 1:
            return pl.from_pandas(value)
        if any(name is not None and name not in value.columns for name in value.index.names):
            value = value.reset_index()
        frame = pl.from_pandas(value.rename(columns=str))
        frame = frame.with_columns(pl.col(n).cast(t) for n, t in _DTYPES.items() if n in frame)
    except (TypeError, ValueError, pl.exceptions.PolarsError) as error:
        # pyarrow's errors are TypeErrors and ValueErrors as well.
        what = f"this pandas frame cannot be read: {error}"
        raise TableBroken(what, remedy="one name and one type a column") from error
    scores = {"metric", "ci_low"} & set(frame.columns)
    undefined = [n for n in _MEASURED if scores and n in frame and frame[n].dtype.is_float()]
    return frame.with_columns(pl.col(undefined).fill_null(float("nan")))


def to_pandas(value: Any) -> Any:
    """A polars frame as pandas, also inside a list, tuple or dict; all else unchanged.

    Examples
    --------
    >>> to_pandas((pl.DataFrame({"n": [1]}), 2))[0]
       n
    0  1
    """
    if isinstance(value, pl.DataFrame):
        return value.to_pandas()
    if type(value) in (list, tuple):
        return type(value)(map(to_pandas, value))
    if type(value) is dict:
        return {key: to_pandas(item) for key, item in value.items()}
    return value


def door(room: dict[str, Any], names: Iterable[str]) -> None:
    """Let the functions of a room, its `globals()`, take and return frames of either library.

    They also take one name or evaluation for a list of it, and name a column that a frame does
    not have.
    """
    functions = {name: room[name] for name in names if inspect.isfunction(room.get(name))}
    room.update({name: either(function) for name, function in functions.items()})


class Room(ModuleType):
    """A room that imports each of its names when it is first asked for, and opens its `door`.

    `HOMES` has its names, with spaces between them, by the module of formlab that they are in.
    """

    def __getattr__(self, name: str) -> Any:
        for home, names in self.HOMES.items():
            if name in names.split():
                setattr(self, name, either(getattr(import_module(f"formlab.{home}"), name)))
                return getattr(self, name)
        what = f"module {self.__name__!r} has no attribute {name!r}"
        raise AttributeError(what, name=name, obj=self)

    def __setattr__(self, name: str, value: Any) -> None:
        # Importing a module that is called like its function must not hide the function.
        if not (isinstance(value, ModuleType) and name in self.__all__):
            super().__setattr__(name, value)

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self.__all__]


@functools.cache
def either(function: Any) -> Any:
    """The function for frames of either library; what is no function of frames, unchanged."""
    if not inspect.isfunction(function):
        return function
    signature = inspect.signature(function)
    parameters = list(signature.parameters.values())
    returns = "pl.DataFrame" in str(signature.return_annotation)
    takes = any("pl." in str(parameter.annotation) for parameter in parameters)
    lists = {p.name for p in parameters if _LISTS.match(str(p.annotation))}
    if not returns and not takes and not lists:
        return function

    positional = [p.name for p in parameters if p.kind is p.POSITIONAL_OR_KEYWORD]

    def listed(name: str, value: Any) -> Any:
        # A text is a sequence as well, of its letters; the name of a column is meant.
        several = value is None or (isinstance(value, Iterable) and not isinstance(value, str))
        return value if name not in lists or several else (value,)

    @functools.wraps(function)
    def called(*values: Any, **named: Any) -> Any:
        library = named.pop("frames", None) if returns else None
        # Code of formlab itself works on polars, whatever the user has chosen.
        caller = str(sys._getframe(1).f_globals.get("__name__")).partition(".")[0]
        library = _library(library or ("polars" if caller in _PACKAGES else options.frames))
        values = (*map(listed, positional, values), *values[len(positional) :])
        named = {name: listed(name, value) for name, value in named.items()}
        if takes:
            values, named = to_polars(values), to_polars(named)
        try:
            result = function(*values, **named)
        except pl.exceptions.ColumnNotFoundError as error:
            if not (known := _columns((*values, *named.values()))):
                raise
            name = re.search(r"[\"'](.+?)[\"']", str(error))
            raise UnknownName.of("column", name[1] if name else error, known) from error
        return to_pandas(result) if returns and library == "pandas" else result

    if returns:
        choice = inspect.Parameter(
            "frames", inspect.Parameter.KEYWORD_ONLY, default=None, annotation="str | None"
        )
        last = parameters and parameters[-1].kind is inspect.Parameter.VAR_KEYWORD
        position = len(parameters) - bool(last)
        parameters.insert(position, choice)
        called.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
        note = 'polars.DataFrame (pandas by `frames="pandas"` or `formlab.options.frames`)\n'
        called.__doc__ = (function.__doc__ or "").replace("polars.DataFrame\n", note, 1)
    return called


def _columns(values: Iterable[Any]) -> list[str]:
    """The columns of all frames among the values of a call, each once."""
    columns = (value.columns for value in values if isinstance(value, pl.DataFrame))
    return list(dict.fromkeys(itertools.chain.from_iterable(columns)))


def _library(name: str) -> str:
    if name not in LIBRARIES:
        raise UnknownName.of("library of frames", name, LIBRARIES)
    return name


def _is_pandas(value: Any) -> bool:
    # Imported by whoever has such a frame; formlab itself does not need it.
    pandas = sys.modules.get("pandas")
    return pandas is not None and isinstance(value, pandas.DataFrame | pandas.Series)
