"""The settings of a model in one table."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

import msgspec

from formlab import files
from formlab.systems import setting_text


class Setting(NamedTuple):
    """A setting of a model: its default, its meaning, its choices if it is a word, and its type."""

    default: Any
    meaning: str
    choices: Sequence[str]
    kind: Any


def _setting(default: Any, meaning: str, choices: Sequence[str] = (), **bounds: Any) -> Setting:
    number = Annotated[type(default), msgspec.Meta(**bounds)] if bounds else Any
    return Setting(default, meaning, choices, Literal[tuple(choices)] if choices else number)


_TABLES = tomllib.loads(Path(__file__).with_name("settings.toml").read_text("utf-8"))
SETTINGS = {n: _setting(**row) for rows in _TABLES.values() for n, row in rows.items()}
# Those that shape an answer, which stand in the settings of a run, and how it is got.
SHAPING, RUNNING = ({n: SETTINGS[n].default for n in rows} for rows in _TABLES.values())


def check(settings: Mapping[str, Any]) -> None:
    """`DataBroken` with the name of a setting that is no number or word that makes sense.

    >>> check({"timeout": 0})
    Traceback (most recent call last):
    ...
    formlab.errors.DataBroken: Expected `float` > 0.0 (timeout). Try: timeout=120.0
    """
    for name, (default, *_, kind) in SETTINGS.items():
        remedy = f"{name}={setting_text(default)}"
        files.convert(settings.get(name, default), kind, where=name, remedy=remedy)
