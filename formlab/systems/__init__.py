"""What makes predictions: one file each, one registry line each."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

from formlab.errors import DataBroken, UnknownName
from formlab.registry import Registry

__all__ = ["SYSTEMS", "System", "get", "run", "setting_text"]

_OCR = {"ocr": "formlab.systems.ocr:SYSTEM", "ocr_html": "formlab.systems.ocr:HTML"}
SYSTEMS = Registry("systems", _OCR)
CHAT = "chat:"
# One document row and the corpus root in, the rows of its records out.
Reader = Callable[[dict[str, Any], Path | None], list[dict[str, Any]]]
_SWITCH = {"on": True, "true": True, "off": False, "false": False}


def get(name: str) -> System:
    """The registered system of that name, or ``chat:MODEL``; `UnknownName` if there is none."""
    if name.startswith(CHAT):
        from formlab.systems import chat

        return chat.system(name)
    return SYSTEMS.find(name, f"{CHAT}MODEL")


def __getattr__(name: str) -> Any:
    if name != "run":
        raise AttributeError(f"module 'formlab.systems' has no attribute {name!r}")
    return import_module("formlab.systems.runs").run


@dataclass(frozen=True)
class System:
    """One entry of the registry.

    `start` takes the settings and the number of threads it may use and returns a `Reader`, once
    per process. If the system `learns`, it takes a corpus with gold as well, of as many documents
    as the setting `examples` says, drawn by the setting `seed`. `defaults` are the settings a user
    may change, with their types; the `versions` of libraries shape the result; `extra` is the
    optional part of formlab that it needs (`resources.need`). `work` is how it works on a corpus if
    not page by page, a class as `formlab.systems.runs.PageWork`.
    """

    name: str
    title: str
    start: Callable[..., Reader]
    defaults: dict[str, Any] = field(default_factory=dict)
    versions: tuple[str, ...] = ()
    images: bool = True
    extra: str = ""
    learns: bool = False
    work: Callable[..., Any] | None = None

    def settings(self, typed: dict[str, str]) -> dict[str, Any]:
        """The defaults with the user's changes as their types; `DataBroken` if one is of another.

        >>> system = System("s", "a system", start=None, defaults={"scale": 1.0, "angle": True})
        >>> system.settings({"scale": "2", "angle": "off"})
        {'scale': 2.0, 'angle': False}
        """
        values = dict(self.defaults)
        for name, text in typed.items():
            if name not in values:
                raise UnknownName.of(f"setting of {self.name}", name, values)
            kind = type(values[name])
            try:
                values[name] = _SWITCH[text.lower()] if kind is bool else kind(text)
            except (ValueError, KeyError) as error:
                expected = "on or off" if kind is bool else f"a {kind.__name__}"
                what = f"setting {name} of {self.name} is {expected}, not {text!r}"
                remedy = f"--set {name}={setting_text(values[name])}"
                raise DataBroken(what, remedy=remedy) from error
        return values

    def run_name(self, settings: dict[str, Any]) -> str:
        """The system's name, with settings that are not at their default: ``s(scale=2.0)``."""
        text = {n: setting_text(v) for n, v in settings.items() if v != self.defaults.get(n)}
        changed = ",".join(map("=".join, text.items()))
        return f"{self.name}({changed})" if changed else self.name


def above_zero(settings: dict[str, Any], *names: str) -> None:
    """`DataBroken` for the first of the settings `names` that is no finite number above 0."""
    for name in names:
        if not 0 < settings[name] < math.inf:
            what = f"setting {name} is a number above 0, not {settings[name]!r}"
            raise DataBroken(what, remedy=f"--set {name}=1")


def setting_text(value: Any) -> str:
    """A setting as a user types it, which `System.settings` reads: False is ``off``."""
    return ("off", "on")[value] if isinstance(value, bool) else str(value)
