"""The plug-ins there are, which of them an evaluation or a run needs, and how to find them again.

A recorded file is run again only if this user has named it before and it has not changed since:
opening an evaluation that somebody sent never runs their code.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from typing import Any

from formlab import known_files
from formlab.errors import NotAvailable
from formlab.registry import KINDS, VARIABLE, load, load_named, problems, view


def plugins() -> list[dict[str, str]]:
    """A row for each plug-in: kind, name, source, and the reason if it cannot be used."""
    broken = {(p.kind, p.name): p for p in problems()}
    rows = [
        {"kind": kind, "name": name, "source": " and ".join(str(e.source) for e in entries)}
        for kind in KINDS
        for name, entries in sorted(view(kind).plugins().items())
    ]
    for row in rows:
        problem = broken.pop((row["kind"], row["name"]), None)
        row["problem"] = problem.reason if problem else ""
    files = [
        {"kind": "file", "name": p.name, "source": p.source, "problem": p.reason}
        for p in broken.values()
    ]
    return rows + files


def versions() -> dict[str, str]:
    """The plug-ins in use, with the version of each package and the SHA-256 of each file."""
    load_named()
    entries = [e for kind in KINDS for es in view(kind).plugins().values() for e in es]
    return {str(e.source): e.source.version for e in entries if e.source.kind != "notebook"}


def source_of(kind: str, name: str) -> str | None:
    """The kind of source that an entry comes from; None if there is no such entry."""
    entries = view(kind)
    return entries.source(name).kind if name in entries else None


def needed(names: Mapping[str, Iterable[str]]) -> list[dict[str, str]]:
    """A record for each name, by kind, that a plug-in provides; `restore` reads them.

    The add-ons come with formlab: their entries need no record.
    """
    records = []
    for kind, mentioned in names.items():
        entries = view(kind)
        for name in dict.fromkeys(mentioned):
            if name not in entries.builtin and name in entries:
                source = entries.source(name)
                if source.name != "formlab":
                    records.append({"plugin": kind, "entry": name, **asdict(source)})
    return records


def restore(records: Any, *, where: object) -> None:
    """Make sure that every plug-in of `records`, as `needed` made them, is there.

    Raises
    ------
    NotAvailable
        If a plug-in is not there, is not known to the user, or has changed.
    """
    for record in records if isinstance(records, list) else ():
        if not isinstance(record, Mapping):
            continue
        fields = ("plugin", "entry", "kind", "name", "version")
        kind, name, origin_kind, origin, version = (str(record.get(field)) for field in fields)
        if kind not in KINDS:
            continue
        entries, noun = view(kind), kind.removesuffix("s")
        if name in entries:
            now = entries.source(name)
            if (now.kind, now.name) == (origin_kind, origin) and now.version != version:
                what = f"{noun} {name!r} has changed since: {now}"
                print(f"note: {where}: {what}", file=sys.stderr)
            continue
        if origin_kind == "file":
            # Where this user keeps it now, which may be another place or another computer.
            for file, sha in known_files.known().items():
                if sha == version == known_files.sha256(file):
                    load(file)
            if name in entries:
                continue
            now = known_files.sha256(origin)
            state = "has changed since" if now else "is not there"
            state = "has never been used here" if now == version else state
            what = f"{noun} {name!r} is needed, and its plug-in {origin} {state}"
            remedy = f"--plugin FILE.py (or {VARIABLE}) with that file, if you trust it"
        elif origin_kind == "package":
            what = f"{noun} {name!r} of package {origin} {version} is needed"
            remedy = f"pip install {origin}=={version}"
        else:
            what = f"{noun} {name!r} is needed, which was registered in a notebook or program"
            remedy = "register it again first, or keep it in a file and name that with --plugin"
        raise NotAvailable(what, where=where, remedy=remedy)
