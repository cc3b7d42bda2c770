"""YAML files: no other types than JSON's and days, each key once, errors with their line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from formlab import files
from formlab.errors import DataBroken


def read(path: str | Path, *, remedy: str) -> Any:
    """The value of a file.

    Raises
    ------
    DataMissing, DataBroken
        If there is no such file, it cannot be read as YAML, or a mapping has a key twice: with the
        line and `remedy`.
    """
    return read_with_lines(path, remedy=remedy)[0]


def read_with_lines(path: str | Path, *, remedy: str) -> tuple[Any, yaml.Node | None]:
    """The value of a file, and its nodes, which know their lines; null if it is empty."""
    text = files.read_text(path)
    files.check_depth(text, str(path), 1)
    try:
        loader = yaml.SafeLoader(text)
        if (root := loader.get_single_node()) is None:
            return None, None
        _check_keys(root, path, remedy)
        return loader.construct_document(root), root
    # Tags such as !!bool before other words are followed without a look: all kinds of errors.
    except (
        yaml.YAMLError, ValueError, LookupError, AttributeError, TypeError, RecursionError,
    ) as error:  # fmt: skip
        mark, problem = (getattr(error, name, None) for name in ("problem_mark", "problem"))
        what = f"not YAML{f': {problem}' if problem else ''}"
        where = f"{path}:{mark.line + 1}" if mark else path
        raise DataBroken(what, where=where, remedy=remedy) from error


def _check_keys(root: yaml.Node, path: str | Path, remedy: str) -> None:
    """`DataBroken` if a mapping has a key twice: the reader of YAML takes the last one silently."""
    # An anchor may be in what it names.
    waiting, seen = [root], set()
    while waiting:
        node = waiting.pop()
        if isinstance(node, yaml.ScalarNode) or id(node) in seen:
            continue
        seen.add(id(node))
        if isinstance(node, yaml.SequenceNode):
            waiting += node.value
            continue
        known = set()
        for key, value in node.value:
            waiting += (key, value)
            if isinstance(key, yaml.ScalarNode):
                if (key.tag, key.value) in known:
                    where = f"{path}:{key.start_mark.line + 1}"
                    raise DataBroken(f"the key {key.value!r} twice", where=where, remedy=remedy)
                known.add((key.tag, key.value))
