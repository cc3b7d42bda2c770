"""Benchmarks, metrics, systems, readers and the rest by name, with the plug-ins of other people.

A plug-in is an entry point of an installed package (group ``formlab.metrics`` and so on), or is
registered by a decorator such as ``@formlab.metric("name")``: in a notebook's cell, or in a file
that the user names (``--plugin`` or the variable FORMLAB_PLUGINS). No other file is run. An
evaluation records the plug-ins that it needs; a recorded file is run again only if this user has
named it before and it has not changed since.
"""

from __future__ import annotations

import hashlib
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from functools import cache, partial
from importlib import import_module, metadata
from pathlib import Path
from pkgutil import resolve_name
from types import ModuleType, SimpleNamespace
from typing import Any, NamedTuple, TypedDict

from formlab.errors import DataBroken, FormlabError, NotAvailable, UnknownName

VARIABLE = "FORMLAB_PLUGINS"
# What is registered, and what a decorated function becomes: a class and the field it goes into.
KINDS: dict[str, tuple[str, str] | None] = {
    "benchmarks": ("formlab.benchmarks.spec:Benchmark", "read"),
    "metrics": ("formlab.metrics.metric:Metric", "tallies"),
    "systems": ("formlab.systems.system:System", "start"),
    "readers": ("formlab.readers:Reader", "read"),
    **dict.fromkeys(("agents", "charts", "notebooks", "commands", "samples")),
}


class Source(NamedTuple):
    """Where an entry comes from: ``formlab``, a ``package``, a ``file`` or a ``notebook``.

    `version` is that of a package, or the SHA-256 of a file.
    """

    kind: str
    name: str
    version: str = ""

    def __str__(self) -> str:
        is_package = self.kind == "package"
        return f"package {self.name} {self.version}" if is_package else self.name


class Entry(NamedTuple):
    """A name of one kind, where it comes from, and what imports its value."""

    kind: str
    name: str
    source: Source
    load: Callable[[], Any]


# An entry that an evaluation needs: its kind and name, and the fields of its `Source`.
Record = TypedDict("Record", dict.fromkeys(("plugin", "entry", *Source._fields), str))
# The plug-ins of this process: entries by kind, name and source, registries by kind, of files the
# SHA-256, what FORMLAB_PLUGINS named last, and the source that is run.
_STATE = SimpleNamespace(registered={}, registries={}, files={}, named="", loading=None)


class Registry(Mapping[str, Any]):
    """The entries of one kind, a key of `KINDS`, by name; a value is imported when asked for.

    Iterating gives formlab's own entries in their order and then every plug-in that can be
    imported. `builtin` has for each of formlab's own ``module:attribute``; the attribute is the
    value, or a mapping that has the value under that name.
    """

    def __init__(self, kind: str, builtin: Mapping[str, str]) -> None:
        self.kind, self.builtin = kind, builtin
        _STATE.registries[kind] = self

    def _entry(self, name: str) -> Entry:
        found = [entry for entry in entries(self.kind) if entry.name == name]
        if name in self.builtin:
            source = Source("formlab", "formlab")
            found.insert(0, Entry(self.kind, name, source, partial(self._builtin, name)))
        if len(found) > 1:
            sources = " and ".join(str(entry.source) for entry in found)
            what = f"two {self.kind} are called {name!r}: {sources}"
            raise DataBroken(what, remedy="rename one, or leave out its plug-in")
        if not found:
            raise KeyError(name)
        return found[0]

    def _builtin(self, name: str) -> Any:
        value = resolve_name(self.builtin[name])
        return value[name] if isinstance(value, Mapping) else value

    def __getitem__(self, name: str) -> Any:
        return self._entry(name).load()

    def __iter__(self) -> Iterator[str]:
        for name in self.names():
            if name in self.builtin or not isinstance(self.problem(name), NotAvailable):
                yield name

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __contains__(self, name: object) -> bool:
        return name in self.builtin or name in self.names()

    def names(self) -> list[str]:
        """Every name, also of plug-ins that cannot be used; nothing is imported."""
        return list(dict.fromkeys([*self.builtin, *sorted(e.name for e in entries(self.kind))]))

    def find(self, name: str, *more: str) -> Any:
        """The entry called `name`; `UnknownName` if there is none, which suggests `more` too.

        `DataBroken` if two plug-ins have the name, `NotAvailable` if its plug-in is not imported.
        """
        if name in self:
            return self[name]
        raise UnknownName.of(self.kind.removesuffix("s"), name, [*self, *more])

    def source(self, name: str) -> Source:
        """Where the entry called `name` comes from."""
        return self._entry(name).source

    def problem(self, name: str) -> FormlabError | None:
        """Why the entry called `name` cannot be used; None if it can."""
        try:
            self[name]
        except (NotAvailable, DataBroken) as error:
            return error
        return None


def view(kind: str) -> Registry:
    """The registry of a kind; that of an add-on which is absent has plug-ins alone."""
    if kind not in _STATE.registries and KINDS.get(kind):
        import_module(f"formlab.{kind}")
    registry = _STATE.registries.get(kind)  # Whether it has entries is not asked: that loads them.
    return Registry(kind, {}) if registry is None else registry


def register(kind: str, name: str, value: Any = None, **fields: Any) -> Any:
    """Register `value` under `name`, or, without a value, what the decorator stands above.

    A function becomes a `Benchmark`, `Metric`, `System` or `Reader` with the other `fields`. Two
    of one name are an error that names both when it is used; a cell or a file that is run again
    replaces what it registered.

    >>> @register("charts", "empty chart")
    ... def empty(frame):
    ...     return None
    >>> empty.__name__
    'empty'
    """
    if kind not in KINDS:
        raise UnknownName.of("kind of plug-in", kind, KINDS)
    if value is None:
        return lambda function: register(kind, name, function, **fields)
    caller = sys._getframe(1)
    while caller.f_back and caller.f_globals is globals():
        caller = caller.f_back
    source = _STATE.loading or Source("notebook", str(caller.f_globals.get("__name__")))
    if KINDS[kind]:
        entry_class, field = resolve_name(KINDS[kind][0]), KINDS[kind][1]
        if not isinstance(value, entry_class):
            value = entry_class(name=name, **{field: value}, **fields)
    _STATE.registered[kind, name, source.name] = Entry(kind, name, source, lambda: value)
    return value


def load(path: str | Path) -> ModuleType:
    """Run the plug-in file at `path`, which registers its entries; worker processes do so too.

    A file that has changed is run again and replaces what it registered. `DataMissing` if it is not
    there, `NotAvailable` if it cannot be run.
    """
    from formlab import files

    path = os.path.realpath(path)  # Not Path.resolve(), which raises on links in a circle.
    name = f"formlab_plugin_{Path(path).stem}_{hashlib.sha256(path.encode()).hexdigest()[:8]}"
    try:
        code = files.read_bytes(path)
        source = Source("file", path, hashlib.sha256(code).hexdigest())
        if _STATE.files.get(path) != source.version:
            unload(path)
            sys.modules[name] = module = ModuleType(name)
            module.__file__ = path
            # The very bytes that were hashed, and no bytecode is left beside the file.
            _run(source, lambda: exec(compile(code, path, "exec"), vars(module)))  # noqa: S102
    except FormlabError:
        unload(path)
        raise
    _STATE.files[path] = source.version
    with suppress(NotAvailable):
        # Without a folder to write to, a later session has to name the file again.
        files.write_text(files.cache_folder() / "plugins" / source.version, path)
    # Processes that start from this one find it there, whatever folder they work in.
    os.environ[VARIABLE] = os.pathsep.join(dict.fromkeys([*named(), path]))
    return sys.modules[name]


def unload(source: str | Path) -> None:
    """Forget what a file, by its path, or a module, by its name, has registered."""
    _STATE.files.pop(str(source), None)
    for key in [key for key in _STATE.registered if key[-1] == str(source)]:
        del _STATE.registered[key]


def _run(source: Source, code: Callable[[], Any]) -> Any:
    """The value of other people's code; what it registers is of that source."""
    before, _STATE.loading = _STATE.loading, source
    try:
        return code()
    except (Exception, SystemExit) as error:
        reason = f"{type(error).__name__}: {str(error).strip().partition(chr(10))[0]}"
        what = f"plug-in cannot be loaded: {reason.removesuffix(': ')}"
        raise NotAvailable(what, where=source, remedy="mend it, or do without") from error
    finally:
        _STATE.loading = before


def named() -> list[str]:
    """The files that FORMLAB_PLUGINS names."""
    paths = os.environ.get(VARIABLE, "").split(os.pathsep)
    return list(dict.fromkeys(os.path.realpath(path) for path in paths if path))


def entries(*kinds: str) -> list[Entry]:
    """The plug-ins (of `kinds`, if any): of packages, then what files and notebooks register.

    Files that FORMLAB_PLUGINS has come to name are run; what is wrong with one stderr says.
    """
    if os.environ.get(VARIABLE, "") != _STATE.named and not _STATE.loading:
        paths = named()
        _STATE.named = os.environ[VARIABLE] = os.pathsep.join(paths)
        for file in paths:
            try:
                load(file)
            except FormlabError as error:
                print(f"note: {error}", file=sys.stderr)
    # An entry point that names what its package's decorator registers is one plug-in.
    found = {(*entry[:2], entry.source.name): entry for entry in _packages()} | _STATE.registered
    return [entry for entry in found.values() if entry.kind in kinds or not kinds]


@cache
def _packages() -> list[Entry]:
    """The entry points of installed packages; their metadata is read once."""
    points, found, sources = metadata.entry_points(), [], {}
    for kind in KINDS:
        for point in points.select(group=f"formlab.{kind}"):
            # Each look at a package's name reads its metadata anew.
            if (package := point.dist) not in sources:
                sources[package] = Source("package", package.name, package.version)
            run = partial(_run, sources[package], point.load)
            found.append(Entry(kind, point.name, sources[package], run))
    return found


def plugins(*kinds: str) -> list[dict[str, str]]:
    """Each plug-in (of `kinds`, if any): kind, name, source, and problem if it cannot be used."""
    found = sorted((kind, name, str(source)) for kind, name, source, _ in entries(*kinds))
    rows = [{"kind": kind, "name": name, "source": source} for kind, name, source in found]
    return [row | {"problem": str(view(row["kind"]).problem(row["name"]) or "")} for row in rows]


def versions() -> dict[str, str]:
    """The plug-ins in use, with the version of each package and the SHA-256 of each file."""
    sources = [entry.source for entry in entries()]
    return {str(source): source.version for source in sources if source.kind != "notebook"}


def needed(names: Mapping[str, Iterable[str]]) -> list[Record]:
    """A record for each name, by kind, that a plug-in provides; `restore` reads them.

    The add-ons come with formlab: their entries need no record.
    """
    return [
        Record(plugin=kind, entry=name, **source._asdict())
        for kind, mentioned in names.items()
        for name in dict.fromkeys(mentioned)
        if name in view(kind)
        if (source := view(kind).source(name)).name != "formlab"
    ]


def trusted_file(version: str) -> str | None:
    """The file of this SHA-256 which the user has named before, wherever it is kept now."""
    from formlab import files

    with suppress(FormlabError):
        if re.fullmatch("[0-9a-f]{64}", version):
            path = files.read_text(files.cache_folder() / "plugins" / version)
            return path if path and files.sha256(path) == version else None
    return None


def restore(records: object, *, where: object) -> None:
    """Make sure that every plug-in of `records`, as `needed` made them, is there.

    `NotAvailable` if one is neither there nor in a file that the user has named before and that is
    as it was; `DataBroken` if `records`, which may come from anybody's file, are no such records.
    """
    from formlab import files

    for record in files.convert(records or [], list[Record], where=f"plug-ins of {where}"):
        registry, name = view(record["plugin"]), record["entry"]
        recorded = Source(record["kind"], record["name"], record["version"])
        if name not in registry and (path := trusted_file(recorded.version)):
            load(path)
        if name not in registry:
            remedy = f"--plugin FILE.py (or {VARIABLE}) with that file, if you trust it"
            if recorded.kind == "package":
                remedy = f"pip install {recorded.name}=={recorded.version}"
            what = f"{record['plugin'].removesuffix('s')} {name!r} of {recorded} is needed"
            raise NotAvailable(f"{what}, as it was then", where=where, remedy=remedy)
