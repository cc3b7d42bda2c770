"""Benchmarks, metrics, systems, readers and the rest by name, with the plug-ins of other people.

A plug-in is an entry point of a package (group ``formlab.metrics`` and so on), or is registered by
a decorator such as ``@formlab.metric("name")``: in a notebook, or in a file that the user names. A
file that an evaluation records is run only if this user has named it before, and it is as it was.
"""

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

import formlab
from formlab.errors import DataBroken, DataMissing, FormlabError, NotAvailable, UnknownName

VARIABLE = "FORMLAB_PLUGINS"
# What is registered, and what a decorated function becomes: a class and the field it goes into.
KINDS: dict[str, tuple[str, str] | None] = {
    "benchmarks": ("formlab.benchmarks:Benchmark", "read"),
    "metrics": ("formlab.metrics:Metric", "tallies"),
    "systems": ("formlab.systems:System", "start"),
    "readers": ("formlab.readers:Reader", "read"),
    **dict.fromkeys(("agents", "charts", "notebooks", "commands", "samples")),
}


class Entry(NamedTuple):
    """A name of one kind, where it comes from, and what imports its value."""

    kind: str
    name: str
    origin: str  # ``formlab``, a ``package``, a ``file`` or a ``notebook``, and its name,
    source: str
    version: str  # with the version of a package or the SHA-256 of a file.
    load: Callable[[], Any]


# What an evaluation records of an entry that it needs: all but the last of these fields.
_RECORDED = ("plugin", "entry", "kind", "name", "version")
Record = TypedDict("Record", dict.fromkeys(_RECORDED, str))
# The plug-ins of this process: entries by kind, name and source, registries by kind, of files the
# SHA-256, what FORMLAB_PLUGINS named last, and the source that is run.
_STATE = SimpleNamespace(registered={}, registries={}, files={}, named="", loading=None)


class Registry(Mapping[str, Any]):
    """The entries of one kind by name, formlab's own first; one is imported when asked for."""

    # `builtin` has for each of formlab's own ``module:attribute``: the value, or a mapping with it.
    def __init__(self, kind: str, builtin: Mapping[str, str]) -> None:
        self.kind, self.builtin = kind, builtin
        _STATE.registries[kind] = self

    def entry(self, name: str) -> Entry:
        """The entry called `name`, not imported; `DataBroken` if there are two."""
        found = [entry for entry in entries(self.kind) if entry.name == name]
        if name in self.builtin:
            value = partial(resolve_name, self.builtin[name])
            found.insert(0, Entry(self.kind, name, "formlab", "formlab", "", value))
        if len(found) > 1:
            sources = " and ".join(entry.source for entry in found)
            what = f"two {self.kind} are called {name!r}: {sources}"
            raise DataBroken(what, remedy="rename one, or leave out its plug-in")
        if not found:
            raise KeyError(name)
        return found[0]

    def __getitem__(self, name: str) -> Any:
        value = self.entry(name).load()
        return value[name] if name in self.builtin and isinstance(value, Mapping) else value

    def __iter__(self) -> Iterator[str]:
        for name in self.names():
            if name in self.builtin or not isinstance(self.problem(name), NotAvailable):
                yield name

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __contains__(self, name: object) -> bool:
        return name in self.names()

    def names(self) -> list[str]:
        """Every name, also of plug-ins that cannot be used; nothing is imported."""
        return list(dict.fromkeys([*self.builtin, *sorted(e.name for e in entries(self.kind))]))

    def find(self, name: str, *more: str) -> Any:
        """The value called `name`; `UnknownName` if there is none, which suggests `more` too."""
        if name in self:
            return self[name]
        raise UnknownName.of(self.kind.removesuffix("s"), name, [*self, *more])

    def problem(self, name: str) -> FormlabError | None:
        """Why the entry called `name` cannot be used; None if it can."""
        try:
            self[name]
        except (NotAvailable, DataBroken) as error:
            return error
        return None


def view(kind: str) -> Registry:
    """The registry of a kind; that of an add-on which is absent has plug-ins alone."""
    if kind not in _STATE.registries:
        import_module(f"formlab.{kind}") if KINDS.get(kind) else Registry(kind, {})
    return _STATE.registries[kind]


def register(kind: str, name: str, value: Any = None, **fields: Any) -> Any:
    """Register `value` under `name`, or, without a value, what the decorator stands above.

    A function becomes a `Benchmark`, `Metric`, `System` or `Reader` with the other `fields`. A cell
    or file that is run again replaces what it registered; two of one name are an error when used.

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
    source = _STATE.loading or ("notebook", str(caller.f_globals.get("__name__")), "")
    if KINDS[kind]:
        entry_class, field = resolve_name(KINDS[kind][0]), KINDS[kind][1]
        if not isinstance(value, entry_class):
            value = entry_class(name=name, **{field: value}, **fields)
    _STATE.registered[kind, name, source[1]] = Entry(kind, name, *source, lambda: value)
    return value


def load(path: str | Path) -> ModuleType:
    """Run the plug-in file at `path`, which registers its entries; worker processes do so too.

    A file that has changed is run again and replaces what it registered. `DataMissing` if it is not
    there, `NotAvailable` if it cannot be run.
    """
    path = os.path.realpath(path)  # Not Path.resolve(), which raises on links in a circle.
    name = f"formlab_plugin_{Path(path).stem}_{hashlib.sha256(path.encode()).hexdigest()[:8]}"
    code = formlab.files.read_bytes(path)
    version = hashlib.sha256(code).hexdigest()
    if _STATE.files.get(path) != version:
        unload(path)
        sys.modules[name] = module = ModuleType(name)
        module.__file__ = path
        # The very bytes that were hashed, and no bytecode is left beside the file.
        _run(("file", path, version), partial(exec, compile(code, path, "exec"), vars(module)))
    _STATE.files[path] = version
    with suppress(NotAvailable):
        # Without a folder to write to, a later session has to name the file again.
        formlab.files.write_text(formlab.files.cache_folder() / "plugins" / version, path)
    # Processes that start from this one find it there, whatever folder they work in.
    os.environ[VARIABLE] = os.pathsep.join(dict.fromkeys([*named(), path]))
    return sys.modules[name]


def unload(source: str | Path) -> None:
    """Forget what a file, by its path, or a module, by its name, has registered."""
    _STATE.files.pop(str(source), None)
    for key in [key for key in _STATE.registered if key[-1] == str(source)]:
        del _STATE.registered[key]


def _run(source: tuple[str, str, str], code: Callable[[], Any]) -> Any:
    """The value of other people's code; what it registers is of that origin and source."""
    before, _STATE.loading = _STATE.loading, source
    try:
        return code()
    except (Exception, SystemExit) as error:
        unload(source[1])
        reason = f"{type(error).__name__}: {str(error).strip().partition(chr(10))[0]}"
        what = f"plug-in cannot be loaded: {reason.removesuffix(': ')}"
        raise NotAvailable(what, where=source[1], remedy="mend it, or do without") from error
    finally:
        _STATE.loading = before


def named() -> list[str]:
    """The files that FORMLAB_PLUGINS names."""
    paths = os.environ.get(VARIABLE, "").split(os.pathsep)
    return list(dict.fromkeys(os.path.realpath(path) for path in paths if path))


def entries(*kinds: str) -> list[Entry]:
    """The plug-ins (of `kinds`, if any): of packages, then what files and notebooks register."""
    # Files that the variable has come to name are run.
    if os.environ.get(VARIABLE, "") != _STATE.named and not _STATE.loading:
        paths = named()
        _STATE.named = os.environ[VARIABLE] = os.pathsep.join(paths)
        for file in paths:
            try:
                load(file)
            except FormlabError as error:
                print(f"note: {error}", file=sys.stderr)
    # An entry point that names what its package's decorator registers is one plug-in.
    found = {(*entry[:2], entry.source): entry for entry in _packages()} | _STATE.registered
    return [entry for entry in found.values() if entry.kind in kinds or not kinds]


@cache
def _packages() -> list[Entry]:
    """The entry points of installed packages; their metadata is read once."""
    points = metadata.entry_points()
    source_of = cache(lambda package: ("package", package.name, package.version))
    return [
        Entry(kind, point.name, *source, partial(_run, source, point.load))
        for kind in KINDS
        for point in points.select(group=f"formlab.{kind}")
        for source in [source_of(point.dist)]
    ]


def plugins(*kinds: str) -> list[dict[str, str]]:
    """Each plug-in (of `kinds`, if any): kind, name, source, and problem if it cannot be used."""
    return [
        {"kind": k, "name": name, "source": source, "problem": str(view(k).problem(name) or "")}
        for k, name, _, source in sorted(entry[:4] for entry in entries(*kinds))
    ]


def needed(names: Mapping[str, Iterable[str]]) -> list[Record]:
    """A record for each of the `names` of a kind that a plug-in provides; `restore` reads them."""
    mentioned = [(view(kind), name) for kind in names for name in dict.fromkeys(names[kind])]
    found = (registry.entry(name) for registry, name in mentioned if name in registry)
    # The add-ons come with formlab, too.
    return [dict(zip(_RECORDED, e[:-1], strict=True)) for e in found if e.source != "formlab"]


def restore(records: object, *, where: object) -> None:
    """Make sure that every plug-in of `records`, which may come from anybody's file, is there."""
    files = formlab.files
    for record in files.convert(records or [], list[Record], where=f"plug-ins of {where}"):
        kind, name, origin, source, version = (record[field] for field in _RECORDED)
        if name not in view(kind) and re.fullmatch("[0-9a-f]{64}", version):
            with suppress(DataBroken, DataMissing):
                # A file that this user has named before, and that is as it was then.
                path = files.read_text(files.cache_folder() / "plugins" / version)
                if files.sha256(path) == version:
                    load(path)
        if name not in view(kind):
            remedy = f"--plugin FILE.py (or {VARIABLE}) with that file, if you trust it"
            remedy = f"pip install {source}=={version}" if origin == "package" else remedy
            what = f"{kind.removesuffix('s')} {name!r} of {source} is needed"
            raise NotAvailable(f"{what}, as it was then", where=where, remedy=remedy)
