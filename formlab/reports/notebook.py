"""Read a notebook file: its cells, its parameters, the evaluations that it is made for."""

from __future__ import annotations

import ast
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from formlab import files
from formlab.errors import DataBroken, UnknownName

# Read as plain JSON: nbformat takes seconds to import, and a build with nothing to do has none.
_FORMAT = 4


class Purpose(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which evaluations a notebook is made for, from its metadata under ``formlab``.

    With neither `benchmarks` nor `tasks` it is made for all; of the benchmarks in `without` it is
    built only if it is named. `together` is ``corpus`` where the evaluations of one benchmark,
    split, mode and root belong in one report, if there are at `least` so many. A notebook that
    comes `last` links to the other reports; one `on_request` is made of evaluations only if it is
    named. `addon` is the package that registers it and without which it is not built.
    """

    benchmarks: tuple[str, ...] = ()
    tasks: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
    together: str = ""
    least: int = 1
    last: bool = False
    on_request: bool = False
    addon: str = ""

    def fits(self, benchmark: str, tasks: frozenset[str]) -> bool:
        """Whether an evaluation of `benchmark` with cases of `tasks` is one of them."""
        everything = not self.benchmarks and not self.tasks
        named = everything or benchmark in self.benchmarks or bool(tasks & set(self.tasks))
        return named and benchmark not in self.without


def load(notebook: str | Path) -> dict[str, Any]:
    """The JSON of a notebook file."""
    value = files.read_json(notebook)
    if not isinstance(value, dict) or not isinstance(value.get("cells", []), list):
        raise DataBroken("not a notebook", where=notebook)
    if value.get("nbformat") != _FORMAT or "cells" not in value:
        what = f"not a notebook in format {_FORMAT}"
        raise DataBroken(what, where=notebook, remedy="save it in JupyterLab")
    return value


def parameters_of(notebook: Mapping[str, Any], path: str | Path = "") -> dict[str, str]:
    """Name and default, as source, of each literal in the cell tagged ``parameters``.

    Read with `ast`: papermill's own inspection is line by line and misses annotations such as
    ``str | None`` and values that hold an equals sign. `DataBroken` names `path` and line of a
    cell that is not Python.
    """
    defaults: dict[str, str] = {}
    for cell in notebook["cells"]:
        tags = cell.get("metadata", {}).get("tags", [])
        if cell.get("cell_type") != "code" or "parameters" not in tags:
            continue
        try:
            statements = ast.parse("".join(cell["source"])).body
        except SyntaxError as error:
            what = f"the parameters cell is not Python: {error.msg}"
            raise DataBroken(what, where=f"{path}:{error.lineno}") from error
        for node in statements:
            targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", 0)]
            value = getattr(node, "value", None)
            for target in targets:
                if isinstance(target, ast.Name) and value is not None:
                    defaults[target.id] = ast.unparse(value)
    return defaults


def check(path: str | Path, parameters: Mapping[str, Any], known: Mapping[str, str]) -> None:
    """Raise `UnknownName` if the notebook has no parameter of one of these names."""
    for name in parameters:
        if name not in known:
            error = UnknownName.of("parameter", name, known)
            raise UnknownName(error.what, where=path, remedy=error.remedy)


def purpose(path: str | Path, notebook: Mapping[str, Any]) -> Purpose:
    """What the notebook's metadata says it is made for."""
    remedy = "in its metadata 'formlab' benchmarks, tasks, without: lists; together, addon: texts; "
    remedy += "least: a number; last, on_request: true or false"
    content = notebook.get("metadata", {}).get("formlab", {})
    return files.convert(content, Purpose, where=path, remedy=remedy)


def seen_from(notebook: str | Path, folder: str | Path) -> str:
    """The path of `folder` for the notebook's kernel, which works in the notebook's own folder.

    It is relative: an absolute path would tell a stranger who opens the report how the maker's
    disk is laid out.
    """
    return os.path.relpath(folder, Path(notebook).parent)
