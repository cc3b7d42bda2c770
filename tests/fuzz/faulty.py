"""Readers with every fault that the bench looks for."""

import ctypes
import os
from pathlib import Path

from formlab.errors import DataBroken
from tests.fuzz.verdicts import Found, Target

DOCS = ("ada", "bob")


def _make(folder: Path) -> None:
    for name in DOCS:
        (folder / f"{name}.txt").write_text(f"{name}\n" * 20)


def _is_whole(folder: Path) -> bool:
    whole = all((folder / f"{n}.txt").is_file() for n in DOCS)
    return whole and all((folder / f"{n}.txt").read_bytes() == f"{n}\n".encode() * 20 for n in DOCS)


def _target(name: str, fault) -> Target:
    def read(folder: Path) -> Found:
        return Found(frozenset(DOCS)) if _is_whole(folder) else fault(folder)

    return Target(name, _make, read, home="{}.txt")


def _crash(_: Path) -> Found:
    raise KeyError("x")


def _vague(_: Path) -> Found:
    raise DataBroken("something is wrong")


def _clear(folder: Path) -> Found:
    raise DataBroken("no text", where=folder / "ada.txt")


def _hang(_: Path) -> Found:
    # In compiled code that no signal of Python's reaches.
    ctypes.PyDLL(None).sleep(60)
    return Found()


_FAULTS = {
    "crashed": _crash, "vague": _vague, "hung": _hang, "dead": lambda _: os.abort(),
    "dropped": lambda _: Found(), "held": _clear,
    "counted": lambda _: Found(counted={"files unreadable": 1}),
}  # fmt: skip
TARGETS = {name: _target(name, fault) for name, fault in _FAULTS.items()}
