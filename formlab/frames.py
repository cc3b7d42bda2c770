"""Frames of any library at the door: functions take them, and return what the user chooses."""

from __future__ import annotations

import functools
import inspect
import re
import sys
from collections.abc import Iterable
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import Any

import polars as pl
import polars.selectors as cs

from formlab.errors import NotAvailable, TableBroken, UnknownName

# Dtypes of columns by name, from `tables`.
DTYPES: dict[str, Any] = {}

# Annotations of parameters that take one item in place of a list of it.
_LISTS = re.compile(r"Sequence\[str\b|(Mapping\[str, Evaluation\] \| )?\w+\[Evaluation\]")


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
        if value == "pandas" and find_spec("pandas") is None:
            raise NotAvailable("pandas is not installed", remedy="pip install 'formlab[pandas]'")
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
    parameters = signature.parameters.values()
    lists = {p.name for p in parameters if _LISTS.match(str(p.annotation))}
    if not lists and "pl." not in str(signature):
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
