"""Registries: benchmarks, metrics, systems, readers, agents and the rest by name.

A `Registry` holds formlab's own entries as ``module:attribute``, imported when first used, and
the plug-ins of other people. A plug-in is an entry point of an installed package (group
``formlab.metrics`` and so on), or it is registered by a file that the user names (``--plugin`` or
the environment variable FORMLAB_PLUGINS) or by a cell of a notebook, with a decorator such as
``@formlab.metric("name")``.

Only files that the user names are run; `formlab.plugin_records` says which plug-ins an evaluation
needs, and finds them again.
"""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module, metadata
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any, Literal, NamedTuple

from formlab import known_files
from formlab.errors import DataBroken, DataMissing, NotAvailable, UnknownName

VARIABLE = "FORMLAB_PLUGINS"
# What is registered, and what a decorated function becomes: a class and the field it goes into.
KINDS: dict[str, tuple[str, str] | None] = {
    "benchmarks": ("formlab.benchmarks._spec:Benchmark", "read"),
    "metrics": ("formlab.metrics._spec:Metric", "tallies"),
    "systems": ("formlab.systems._spec:System", "start"),
    "readers": ("formlab.readers.rows:Reader", "read"),
    **dict.fromkeys(("agents", "charts", "notebooks", "commands", "samples")),
}


@dataclass(frozen=True)
class Source:
    """Where an entry comes from: formlab, an installed package, a file, or a notebook.

    `version` is the version of a package or the SHA-256 of a file.
    """

    kind: Literal["formlab", "package", "file", "notebook"]
    name: str
    version: str = ""

    def __str__(self) -> str:
        if self.kind == "package":
            return f"package {self.name} {self.version}".rstrip()
        if self.kind == "notebook":
            return "this notebook" if self.name == "__main__" else f"module {self.name}"
        return self.name


class Entry(NamedTuple):
    """A name, where it comes from, and what imports its value."""

    name: str
    source: Source
    load: Callable[[], Any]


class Problem(NamedTuple):
    """A plug-in that cannot be used, and why; `kind` is empty for a whole file."""

    kind: str
    name: str
    source: str
    reason: str


OWN = Source("formlab", "formlab")


@dataclass
class _Plugins:
    """The plug-ins of this process."""

    registered: dict[str, dict[tuple[Source, str], Entry]] = field(default_factory=dict)
    registries: dict[str, Registry] = field(default_factory=dict)
    # The SHA-256 of each file that was run, or why it could not be.
    files: dict[Path, str | Problem] = field(default_factory=dict)
    named: str = ""
    loading: Source | None = None


_STATE = _Plugins()


class Registry(Mapping[str, Any]):
    """The entries of one kind by name; a value is imported when it is asked for.

    Iterating gives formlab's own entries in their order and then every plug-in that can be
    imported. `loaded` holds the values so far.

    Parameters
    ----------
    kind
        A key of `KINDS`; the entry points are those of the group ``formlab.<kind>``.
    builtin
        For each of formlab's own names ``module:attribute``; the attribute is the value, or a
        mapping that has the value under that name.

    Examples
    --------
    >>> numbers = Registry("numbers", {"pi": "math:pi"})
    >>> numbers["pi"], "tau" in numbers
    (3.141592653589793, False)
    """

    def __init__(self, kind: str, builtin: Mapping[str, str]) -> None:
        self.kind = kind
        self.builtin = dict(builtin)
        self.loaded: dict[str, Any] = {}
        _STATE.registries[kind] = self

    def __getitem__(self, name: str) -> Any:
        if name not in self.loaded:
            self.loaded[name] = self._entry(name).load()
        return self.loaded[name]

    def __iter__(self) -> Iterator[str]:
        names = dict.fromkeys([*self.builtin, *self.loaded, *sorted(self.plugins())])
        return (name for name in names if name in self.builtin or not self.reason(name))

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __contains__(self, name: object) -> bool:
        return name in self.builtin or name in self.loaded or name in self.plugins()

    def find(self, name: str, *more: str) -> Any:
        """The entry called `name`; `more` are names to suggest beside those that are registered.

        An `UnknownName` says that there is none, `DataBroken` that two plug-ins have the name,
        and `NotAvailable` that its plug-in cannot be imported.
        """
        if name not in self:
            error = UnknownName.of(self.kind.removesuffix("s"), name, [*self, *more])
            broken = [f"{p.source}: {p.reason}" for p in problems(self.kind)]
            if broken:
                remedy = f"{error.remedy}; plug-ins that cannot be loaded: {'; '.join(broken)}"
                raise UnknownName(error.what, remedy=remedy)
            raise error
        return self[name]

    def source(self, name: str) -> Source:
        """Where the entry called `name` comes from."""
        return self._entry(name).source

    def reason(self, name: str) -> str:
        """Why the entry called `name` cannot be used; empty if it can."""
        if name in self.loaded:
            return ""
        try:
            entries = self._entries(name)
            if len(entries) == 1:
                self.loaded[name] = entries[0].load()
        except NotAvailable as error:
            return str(error)
        return ""

    def problems(self) -> list[Problem]:
        """The plug-ins of this kind that cannot be used, and why."""
        broken = []
        for name in self.plugins():
            try:
                source, reason = str(self.source(name)), self.reason(name)
            except DataBroken as error:
                source, reason = "", str(error)
            if reason:
                broken.append(Problem(self.kind, name, source, reason))
        return broken

    def plugins(self) -> dict[str, list[Entry]]:
        """The plug-ins by name: entry points, then what files and notebooks register."""
        load_named()
        entries: dict[str, list[Entry]] = {}
        registered = _STATE.registered.get(self.kind, {}).values()
        for entry in (*_packages().get(self.kind, ()), *registered):
            entries.setdefault(entry.name, []).append(entry)
        return entries

    def _entries(self, name: str) -> list[Entry]:
        entries = list(self.plugins().get(name, ()))
        if name in self.builtin:
            entries.insert(0, Entry(name, OWN, lambda: _imported(self.builtin[name], name)))
        if len(entries) < 2:
            return entries
        # A package whose entry point names what its own decorator registers is one plug-in, and
        # one that cannot be imported is in nobody's way.
        several: list[tuple[Entry, Any]] = []
        for entry in entries:
            with suppress(NotAvailable):
                value = entry.load()
                if all(value is not other for _, other in several):
                    several.append((entry, value))
        return [entry for entry, _ in several] or entries[:1]

    def _entry(self, name: str) -> Entry:
        entries = self._entries(name)
        if not entries:
            raise KeyError(name)
        if len(entries) > 1:
            sources = " and ".join(str(entry.source) for entry in entries)
            remedy = "rename one, or leave out its plug-in"
            raise DataBroken(f"two {self.kind} are called {name!r}: {sources}", remedy=remedy)
        return entries[0]


def register(kind: str, name: str, value: Any = None, **fields: Any) -> Any:
    """Register `value` under `name`, or, without a value, what the decorator stands above.

    For benchmarks, metrics, systems and readers a function will do: it becomes `Benchmark.read`,
    `Metric.tallies`, `System.start` or `Reader.read`, and `fields` are the other fields of that
    entry. Two of one name are an error that names both when
    it is used; a cell or a file that is run again replaces what it registered.

    Examples
    --------
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
    if declared := KINDS[kind]:
        target, main = declared
        entry_class = _imported(target)
        if not isinstance(value, entry_class):
            value = entry_class(name=name, **{main: value}, **fields)
    source = _STATE.loading or Source("notebook", _caller())
    _STATE.registered.setdefault(kind, {})[source, name] = Entry(name, source, lambda: value)
    _forget(kind, name)
    return value


def load(path: str | Path) -> ModuleType:
    """Run the plug-in file at `path`, which registers its entries; worker processes do so too.

    A file that has changed is run again and replaces what it registered. One that is not there
    (`DataMissing`) or cannot be run (`NotAvailable`) is noted in `problems` too.
    """
    # Not Path.resolve() and is_file(): they raise on links in a circle and on endless names.
    path = Path(os.path.realpath(path))
    if not os.path.isfile(path):
        problem = DataMissing("no such plug-in", where=path, remedy="check --plugin")
        _STATE.files[path] = Problem("", path.stem, str(path), str(problem))
        raise problem
    code = path.read_bytes()
    source = Source("file", str(path), hashlib.sha256(code).hexdigest())
    name = f"formlab_plugin_{path.stem}_{hashlib.sha256(str(path).encode()).hexdigest()[:8]}"
    if _STATE.files.get(path) == source.version:
        return sys.modules[name]
    _unload(path)
    loader = known_files.FileLoader(path, code)
    module = module_from_spec(spec_from_file_location(name, path, loader=loader))
    sys.modules[name] = module
    try:
        with _loading(source):
            loader.exec_module(module)
    except (Exception, SystemExit) as error:
        del sys.modules[name]
        _unload(path)
        _STATE.files[path] = Problem("", path.stem, str(path), _why(error))
        what = f"plug-in cannot be loaded: {_why(error)}"
        raise NotAvailable(what, where=path, remedy="mend the file") from error
    _STATE.files[path] = source.version
    known_files.remember(source.name, source.version)
    # Processes that start from this one find it there, whatever folder they work in.
    os.environ[VARIABLE] = os.pathsep.join(dict.fromkeys([*named(), str(path)]))
    return module


def load_named() -> None:
    """Run the files that FORMLAB_PLUGINS names; what is wrong with one stands in `problems`."""
    if os.environ.get(VARIABLE, "") == _STATE.named or _STATE.loading:
        return
    files = named()
    os.environ[VARIABLE] = _STATE.named = os.pathsep.join(files)
    for file in files:
        with suppress(DataMissing, NotAvailable):
            load(file)


def problems(*kinds: str) -> list[Problem]:
    """Every plug-in that cannot be used: files, then entries of `kinds`, of all if none."""
    load_named()
    broken = [state for state in _STATE.files.values() if isinstance(state, Problem)]
    return broken + [p for kind in kinds or KINDS for p in view(kind).problems()]


def when_called(function: Callable[..., Any] | str) -> Callable[..., Any]:
    """`function` itself; one that is named ``module:function`` is imported when it is called.

    Examples
    --------
    >>> when_called("math:sqrt")(4)
    2.0
    """
    if not isinstance(function, str):
        return function
    return lambda *values: _imported(function)(*values)


def _imported(target: str, name: str = "") -> Any:
    module, _, attribute = target.partition(":")
    value = getattr(import_module(module), attribute)
    return value[name] if isinstance(value, Mapping) and name else value


@cache
def _packages() -> dict[str, tuple[Entry, ...]]:
    """The entry points of installed packages by kind; their metadata is read once."""
    points = metadata.entry_points()
    return {
        kind: tuple(_entry(point) for point in points.select(group=f"formlab.{kind}"))
        for kind in KINDS
    }


def _entry(point: metadata.EntryPoint) -> Entry:
    """The entry of a package; one that cannot be imported fails each time with the same reason."""
    package = point.dist
    source = Source("package", package.name, package.version) if package else OWN

    @cache
    def outcome() -> tuple[Any, str]:
        try:
            with _loading(source):
                return point.load(), ""
        except (Exception, SystemExit) as error:  # Whatever other people's code meets.
            return None, _why(error)

    def value() -> Any:
        value, reason = outcome()
        if reason:
            what = f"{point.group.removeprefix('formlab.').removesuffix('s')} {point.name!r}"
            raise NotAvailable(f"{what} of {source} cannot be loaded: {reason}")
        return value

    return Entry(point.name, source, value)


@contextmanager
def _loading(source: Source) -> Iterator[None]:
    before, _STATE.loading = _STATE.loading, source
    try:
        yield
    finally:
        _STATE.loading = before


def view(kind: str) -> Registry:
    """The registry of a kind; that of an add-on which is absent has plug-ins alone."""
    if kind not in _STATE.registries and KINDS.get(kind):
        import_module(f"formlab.{kind}")
    known = _STATE.registries.get(kind)  # Whether it has entries is not asked: that loads them.
    return Registry(kind, {}) if known is None else known


def _forget(kind: str, name: str) -> None:
    if kind in _STATE.registries:
        _STATE.registries[kind].loaded.pop(name, None)


def named() -> list[str]:
    """The files that FORMLAB_PLUGINS names."""
    files = os.environ.get(VARIABLE, "").split(os.pathsep)
    return list(dict.fromkeys(str(Path(file).resolve()) for file in files if file))


def _unload(path: Path) -> None:
    _STATE.files.pop(path, None)
    for kind, entries in _STATE.registered.items():
        for key in [key for key in entries if key[0].name == str(path)]:
            del entries[key]
            _forget(kind, key[1])


def _caller() -> str:
    """The module whose code registers: the first frame outside of formlab's own rooms."""
    frame = sys._getframe(1)
    while frame.f_back and str(frame.f_globals.get("__name__", "")).split(".")[0] == "formlab":
        frame = frame.f_back
    return str(frame.f_globals.get("__name__", "__main__"))


def _why(error: BaseException) -> str:
    first = str(error).strip().partition("\n")[0]
    return f"{type(error).__name__}: {first}" if first else type(error).__name__
