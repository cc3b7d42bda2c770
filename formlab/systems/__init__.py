"""What makes predictions: one file each, one registry line each."""

from __future__ import annotations

from formlab.errors import UnknownName
from formlab.systems import baseline, chat, ocr
from formlab.systems._run import run, unfinished
from formlab.systems._runs import SKIPPED
from formlab.systems._spec import System

__all__ = ["SKIPPED", "SYSTEMS", "System", "get", "run", "unfinished"]

SYSTEMS: dict[str, System] = {
    "ocr": ocr.SYSTEM,
    "rules": baseline.SYSTEM,
}


def get(name: str) -> System:
    """The registered system of that name, or ``chat:MODEL``; else `UnknownName`."""
    if name.startswith(chat.PREFIX):
        return chat.system(name)
    if name not in SYSTEMS:
        raise UnknownName.of("system", name, [*SYSTEMS, f"{chat.PREFIX}MODEL"])
    return SYSTEMS[name]
