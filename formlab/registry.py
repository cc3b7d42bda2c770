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
from dataclasses import asdict, dataclass
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
    "benchmarks": ("formlab.benchmarks._spec:Benchmark", "read"),
    "metrics": ("formlab.metrics.metric:Metric", "tallies"),
    "systems": ("formlab.systems._spec:System", "start"),
    "readers": ("formlab.readers.rows:Reader", "read"),
    **dict.fromkeys(("agents", "charts", "notebooks", "commands", "samples")),
}


@dataclass(frozen=True)
class Source:
    """Where an entry comes from: ``formlab``, a ``package``, a ``file`` or a ``notebook``.

    `version` is that of a package, or the SHA-256 of a file.
    """

    kind: str
    name: str
    version: str = ""

    def __str__(self) -> str:
        if self.kind == "package":
            return f"package {self.name} {self.version}".rstrip()
        if self.kind == "notebook":
            return "this notebook" if self.name == "__main__" else f"module {self.name}"
        return self.name

    @property
    def remedy(self) -> str:
        """How a user has it again."""
        file = f"--plugin FILE.py (or {VARIABLE}) with that file, if you trust it"
        ways = {"package": f"pip install {self.name}=={self.version}", "file": file}
        return ways.get(self.kind, "register it again first, or keep it in a file, with --plugin")


OWN = Source("formlab", "formlab")


class Entry(NamedTuple):
    """A name of one kind, where it comes from, and what imports its value."""

    kind: str
    name: str
    source: Source
    load: Callable[[], Any]


class Record(TypedDict):
    """An entry that an evaluation needs: its kind and name, and the fields of its `Source`."""

    plugin: str
    entry: str
    kind: str
    name: str
    version: str


# The plug-ins of this process: entries by kind, name and source, registries by kind, of files the
# SHA-256 or why they cannot be run, what FORMLAB_PLUGINS named last, and the source that is run.
_STATE = SimpleNamespace(registered={}, registries={}, files={}, broken={}, named="", loading=None)


class Registry(Mapping[str, Any]):
    """The entries of one kind, a key of `KINDS`, by name; a value is imported when asked for.

    Iterating gives formlab's own entries in their order and then every plug-in that can be
    imported. `loaded` holds the values so far.

    `builtin` has for each of formlab's own names ``module:attribute``, or that and a help line; the
    attribute is the value, or a mapping that has the value under that name. `help_lines` are those
    of formlab's add-ons.
    """

    def __init__(
        self, kind: str, builtin: Mapping[str, Any], help_lines: Mapping[str, str] | None = None
    ) -> None:
        self.kind, self.loaded = kind, {}
        self.builtin = {n: e if isinstance(e, str) else e[0] for n, e in builtin.items()}
        lines = {n: e[1] for n, e in builtin.items() if not isinstance(e, str)}
        self.help_lines = lines | dict(help_lines or {})
        _STATE.registries[kind] = self

    def __getitem__(self, name: str) -> Any:
        if name in self.loaded:
            return self.loaded[name]
        entry = self._entry(name)
        # What others register may be registered anew.
        return self.loaded.setdefault(name, entry.load()) if entry.source == OWN else entry.load()

    def __iter__(self) -> Iterator[str]:
        for name in self.names():
            if name in self.builtin or not isinstance(self.problem(name), NotAvailable):
                yield name

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __contains__(self, name: object) -> bool:
        return name in self.builtin or name in self.loaded or name in self.plugins()

    def names(self) -> list[str]:
        """Every name, also of plug-ins that cannot be used; nothing is imported."""
        return list(dict.fromkeys([*self.builtin, *self.loaded, *sorted(self.plugins())]))

    def find(self, name: str, *more: str) -> Any:
        """The entry called `name`; `UnknownName` if there is none, which suggests `more` too.

        `DataBroken` if two plug-ins have the name, `NotAvailable` if its plug-in is not imported.
        """
        if name in self:
            return self[name]
        error = UnknownName.of(self.kind.removesuffix("s"), name, [*self, *more])
        broken = [f"{row['source']}: {row['problem']}" for row in problems(self.kind)]
        raise UnknownName(error.what, remedy="; ".join([str(error.remedy), *broken]))

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

    def help(self, name: str) -> str:
        """The line that is registered, for which nothing is imported, or the docstring's first."""
        if name in self.help_lines and self.source(name).name == "formlab":
            return self.help_lines[name]
        if problem := self.problem(name):
            return str(problem)
        return (getattr(self[name], "help", None) or self[name].__doc__ or "").partition("\n")[0]

    def plugins(self) -> dict[str, list[Entry]]:
        """The plug-ins by name: entry points, then what files and notebooks register."""
        load_named()
        entries: dict[str, list[Entry]] = {}
        for entry in (*_packages(), *_STATE.registered.values()):
            if entry.kind == self.kind:
                entries.setdefault(entry.name, []).append(entry)
        return entries

    def _own(self, name: str) -> Any:
        value = resolve_name(self.builtin[name])
        return value[name] if isinstance(value, Mapping) else value

    def _entry(self, name: str) -> Entry:
        entries = self.plugins().get(name, [])
        if name in self.builtin:
            entries = [Entry(self.kind, name, OWN, partial(self._own, name)), *entries]
        if not entries:
            raise KeyError(name)
        if len(entries) == 1:
            return entries[0]
        # A package whose entry point names what its own decorator registers is one plug-in, and
        # one that cannot be imported is in nobody's way.
        values: dict[int, Entry] = {}
        for entry in entries:
            with suppress(NotAvailable):
                values.setdefault(id(entry.load()), entry)
        if len(values) > 1:
            what = f"two {self.kind} are called {name!r}: {_sources(values.values())}"
            raise DataBroken(what, remedy="rename one, or leave out its plug-in")
        return next(iter(values.values()), entries[0])


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
    source = _STATE.loading or Source("notebook", _caller())
    if KINDS[kind]:
        entry_class, main = resolve_name(KINDS[kind][0]), KINDS[kind][1]
        if not isinstance(value, entry_class):
            value = entry_class(name=name, **{main: value}, **fields)
    _STATE.registered[kind, name, source.name] = Entry(kind, name, source, lambda: value)
    if kind in _STATE.registries:  # Where both are, its use is an error now.
        _STATE.registries[kind].loaded.pop(name, None)
    return value


def _caller() -> str:
    """The module whose code registers something: the first frame outside of this one."""
    frame = sys._getframe(1)
    while frame.f_back and frame.f_globals is globals():
        frame = frame.f_back
    return str(frame.f_globals.get("__name__", "__main__"))


def load(path: str | Path) -> ModuleType:
    """Run the plug-in file at `path`, which registers its entries; worker processes do so too.

    A file that has changed is run again and replaces what it registered. One that is not there
    (`DataMissing`) or cannot be run (`NotAvailable`) is listed by `problems` too.
    """
    path = os.path.realpath(path)  # Not Path.resolve(), which raises on links in a circle.
    try:
        module = _run_file(path)
    except FormlabError as error:
        unload(path)
        _STATE.broken[path] = error.what
        raise
    # Processes that start from this one find it there, whatever folder they work in.
    os.environ[VARIABLE] = os.pathsep.join(dict.fromkeys([*named(), path]))
    return module


def _run_file(path: str) -> ModuleType:
    from formlab import files

    code = files.read_bytes(path)
    source = Source("file", path, hashlib.sha256(code).hexdigest())
    name = f"formlab_plugin_{Path(path).stem}_{hashlib.sha256(path.encode()).hexdigest()[:8]}"
    if _STATE.files.get(path) == source.version:
        return sys.modules[name]
    unload(path)
    sys.modules[name] = module = ModuleType(name)
    module.__file__ = path
    # The very bytes that were hashed, and no bytecode is left beside the file.
    _run(source, lambda: exec(compile(code, path, "exec"), vars(module)))  # noqa: S102
    _STATE.files[path] = source.version
    with suppress(NotAvailable):
        # Without a folder to write to, a later session has to name the file again.
        files.write_text(_note(source.version), path)
    return module


def _note(version: str) -> Path:
    """The file that says where the user keeps the plug-in file of this SHA-256."""
    from formlab import files

    return files.cache_folder() / "plugins" / version


def trusted_file(version: str) -> str | None:
    """The file of this SHA-256 which the user has named before, wherever it is kept now."""
    from formlab import files

    with suppress(FormlabError):
        path = files.read_text(_note(version)) if re.fullmatch("[0-9a-f]{64}", version) else ""
        return path if path and files.sha256(path) == version else None
    return None


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


def unload(source: str | Path) -> None:
    """Forget what a file, by its path, or a module, by its name, has registered."""
    for known in (_STATE.files, _STATE.broken):
        known.pop(str(source), None)
    for key in [key for key in _STATE.registered if key[-1] == str(source)]:
        del _STATE.registered[key]


def load_named() -> None:
    """Run the files that FORMLAB_PLUGINS names; what is wrong with one stands in `problems`."""
    if os.environ.get(VARIABLE, "") == _STATE.named or _STATE.loading:
        return
    paths = named()
    _STATE.named = os.environ[VARIABLE] = os.pathsep.join(paths)
    for file in paths:
        with suppress(FormlabError):
            load(file)


def named() -> list[str]:
    """The files that FORMLAB_PLUGINS names."""
    paths = os.environ.get(VARIABLE, "").split(os.pathsep)
    return list(dict.fromkeys(os.path.realpath(path) for path in paths if path))


def plugins(*kinds: str) -> list[dict[str, str]]:
    """Each plug-in (of `kinds`, if any): kind, name, source, and problem if it cannot be used."""
    rows = [
        (kind, name, _sources(entries), str(view(kind).problem(name) or ""))
        for kind in kinds or KINDS
        for name, entries in sorted(view(kind).plugins().items())
    ]
    rows += [("file", Path(path).stem, path, why) for path, why in _STATE.broken.items()]
    return [dict(zip(("kind", "name", "source", "problem"), row, strict=True)) for row in rows]


def problems(*kinds: str) -> list[dict[str, str]]:
    """The rows of `plugins` that cannot be used."""
    return [row for row in plugins(*kinds) if row["problem"]]


def versions() -> dict[str, str]:
    """The plug-ins in use, with the version of each package and the SHA-256 of each file."""
    load_named()
    sources = [entry.source for entry in (*_packages(), *_STATE.registered.values())]
    return {str(source): source.version for source in sources if source.kind != "notebook"}


def needed(names: Mapping[str, Iterable[str]]) -> list[Record]:
    """A record for each name, by kind, that a plug-in provides; `restore` reads them.

    The add-ons come with formlab: their entries need no record.
    """
    return [
        Record(plugin=kind, entry=name, **asdict(source))
        for kind, mentioned in names.items()
        for name in dict.fromkeys(mentioned)
        if name in view(kind)
        if (source := view(kind).source(name)).name != "formlab"
    ]


def restore(records: object, *, where: object) -> None:
    """Make sure that every plug-in of `records`, as `needed` made them, is there.

    `NotAvailable` if one is neither there nor in a file that the user has named before and that is
    as it was; `DataBroken` if `records`, which may come from anybody's file, are no such records.
    """
    from formlab import files

    for record in files.convert(records or [], list[Record], where=f"plug-ins of {where}"):
        registry, name = view(record["plugin"]), record["entry"]
        recorded = Source(record["kind"], record["name"], record["version"])
        what = f"{record['plugin'].removesuffix('s')} {name!r}"
        if name not in registry and (path := trusted_file(recorded.version)):
            load(path)
        if name not in registry:
            what = f"{what} of {recorded} is needed, as it was then"
            raise NotAvailable(what, where=where, remedy=recorded.remedy)
        source = registry.source(name)
        if source != recorded and (source.kind, source.name) == (recorded.kind, recorded.name):
            print(f"note: {where}: {what} has changed since: {source}", file=sys.stderr)


@cache
def _packages() -> list[Entry]:
    """The entry points of installed packages; their metadata is read once."""
    points = metadata.entry_points()
    found = [(kind, point) for kind in KINDS for point in points.select(group=f"formlab.{kind}")]
    # Each look at a package's name reads its metadata anew.
    packages = {point.dist for _, point in found}
    sources = {each: Source("package", each.name, each.version) for each in packages}
    return [
        Entry(kind, point.name, sources[point.dist], partial(_run, sources[point.dist], point.load))
        for kind, point in found
    ]


def _sources(entries: Iterable[Entry]) -> str:
    return " and ".join(str(entry.source) for entry in entries)
