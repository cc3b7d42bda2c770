"""What makes predictions: one file each, one registry line each."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from formlab.errors import NotAvailable
from formlab.registry import Registry
from formlab.systems.system import System, setting_text

__all__ = ["SKIPPED", "SYSTEMS", "System", "get", "run", "setting_text", "unfinished"]

SYSTEMS = Registry(
    "systems", {"ocr": "formlab.systems.ocr:SYSTEM", "ocr_html": "formlab.systems.ocr:HTML"}
)
# A model behind an OpenAI-compatible endpoint: `formlab.systems.chat`.
CHAT = "chat:"
# Systems that an add-on brings, for the error where it is absent.
ADD_ONS = dict.fromkeys(("rules", "template", "trained"), "formlab_baselines")
_HOME = ("SKIPPED", "run", "unfinished")


def get(name: str) -> System:
    """The registered system of that name, or ``chat:MODEL``.

    Raises
    ------
    UnknownName
        If there is none of that name.
    NotAvailable
        If it belongs to an add-on that is not installed.
    """
    if name.startswith(CHAT):
        from formlab.systems import chat

        return chat.system(name)
    if name in ADD_ONS and name not in SYSTEMS:
        what = f"system {name!r} is not installed (the add-on {ADD_ONS[name]})"
        raise NotAvailable(what, remedy="install formlab again, with its add-ons")
    return SYSTEMS.find(name, f"{CHAT}MODEL")


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'formlab.systems' has no attribute {name!r}")
    return getattr(import_module("formlab.systems.runs"), name)
