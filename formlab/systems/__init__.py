"""What makes predictions: one file each, one registry line each."""

from __future__ import annotations

from formlab.errors import UnknownName
from formlab.systems import ocr
from formlab.systems._run import run, unfinished
from formlab.systems._spec import System

__all__ = ["SYSTEMS", "System", "get", "run", "unfinished"]

SYSTEMS: dict[str, System] = {
    "ocr": ocr.SYSTEM,
}


def get(name: str) -> System:
    """The registered system of that name; `UnknownName` if there is none."""
    if name not in SYSTEMS:
        raise UnknownName.of("system", name, SYSTEMS)
    return SYSTEMS[name]
