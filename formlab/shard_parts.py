"""What an evaluation in shards is put together from, and the files of its folder."""

from __future__ import annotations

import dataclasses
import hashlib
import os
import shutil
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import polars as pl

from formlab import files, swap, tables
from formlab.errors import TableBroken
from formlab.folder import table as read_table

# Evaluations are those of `folders`, which stands on this module.
Evaluation = Any
# An evaluation, or what opens one.
Shard = Any
# In the folder of an evaluation: those of its shards; in that of a shard: its tallies.
SHARDS, TALLIES = "shards", "tallies"


def begun(folder: Path) -> Path:
    """Where the shards of a new evaluation are written, in `folder`, which stays as it is.

    What a killed process has left there stays; else the shards of the old evaluation are there.
    """
    new = folder / swap.UNFINISHED
    if new.is_dir() or not (folder / SHARDS).is_dir():
        return files.make_folder(new)
    # Where a file cannot be linked, such as a link to itself, all shards are written anew.
    with suppress(shutil.Error), swap.together(folder) as part:
        # Whatever changes is written beside and renamed: the files of the old one stay.
        shutil.copytree(
            folder / SHARDS, part / new.name / SHARDS, copy_function=_linked,
            ignore=shutil.ignore_patterns("*.part"),
        )  # fmt: skip
    return files.make_folder(new)


def _linked(source: str, target: str) -> None:
    try:
        os.link(source, target)
    except OSError:  # Not every file system has links.
        shutil.copy2(source, target)


def table(folder: Path, name: str, sha256: str) -> pl.DataFrame:
    """A table as it was saved; checked when it was written, now only its columns are."""
    frame = read_table(folder, name, sha256)
    if wrong := tables.mismatches(name, frame.clear()):
        raise TableBroken(tables.report(name, wrong), where=folder / f"{name}.parquet")
    return frame


def made_now() -> dict[str, str]:
    """When, and by which version, an evaluation is saved first."""
    now = datetime.now(UTC).isoformat(timespec="milliseconds")
    return {"at": now, "formlab": files.version()}


def digest(codes: Iterable[str]) -> str:
    """One hash of the hashes of several files."""
    return hashlib.sha256("\n".join(codes).encode()).hexdigest()


def manifest(shards: Sequence[Mapping[str, Any]], values: Mapping[str, Any]) -> dict[str, Any]:
    """The manifest of an evaluation from those of its shards; `values` are its own fields."""
    whole = dict(shards[0]) | {"made": made_now()} | values
    for name in ("shard", TALLIES):
        whole.pop(name, None)
    whole["root"] = None if whole.get("root") is None else str(whole["root"])
    records = [record for shard in shards for record in shard["plugins"]]
    whole["plugins"] = [r for n, r in enumerate(records) if r not in records[:n]]
    whole["tables"] = {
        name: {
            "rows": sum(shard["tables"][name]["rows"] for shard in shards),
            "sha256": digest(shard["tables"][name]["sha256"] for shard in shards),
        }
        for name in shards[0]["tables"]
    }
    whole["parts"] = {
        name: digest(shard["parts"][name] for shard in shards)
        for name in shards[0]["parts"]
        if all(name in shard["parts"] for shard in shards)
    }
    return whole


def opened_shard(shard: Shard) -> Evaluation:
    """The evaluation itself, of one or of what opens it."""
    return shard() if callable(shard) else shard


def changed(
    shard: Shard,
    tables: Mapping[str, Callable[[Evaluation], pl.DataFrame]],
    values: Mapping[str, Any],
) -> Evaluation:
    """A shard with other tables and fields, see `Evaluation.changed`."""
    return opened_shard(shard).changed(tables, **values)


def through(function: Callable[[Evaluation], Evaluation], shard: Shard) -> Evaluation:
    """What `function` makes of a shard."""
    return function(opened_shard(shard))


def together(shards: Sequence[Shard], name: str) -> Any:
    """A table of all shards, or their corpora or predictions as one; null where one has none."""
    members = [getattr(opened_shard(shard), name) for shard in shards]
    if isinstance(members[0], pl.DataFrame):
        return pl.concat(members, how="diagonal")
    if None in members:
        return None
    first = members[0]
    joined = {
        table: pl.concat([getattr(member, table) for member in members], how="diagonal")
        for table in first.TABLES
    }
    counts = {
        field: dict(sum((Counter(getattr(member, field)) for member in members), Counter()))
        for field in ("flaws", "notes")
        if hasattr(first, field)
    }
    named = {
        field: {name: text for member in members for name, text in getattr(member, field).items()}
        for field in ("sources", "unreadable")
        if hasattr(first, field)
    }
    return dataclasses.replace(first, **joined, **counts, **named)
