"""A folder of tables: how it is saved and loaded."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, ClassVar, Self, get_type_hints

import msgspec
import polars as pl

from formlab import files, frames, registry, show, swap, tables
from formlab.errors import DataBroken, FormlabError, TableBroken

# Names the SHA-256 of each table, and of the manifest of each part.
MANIFEST = "manifest.json"
ANEW = "the formlab command that wrote this folder again, or a fresh copy of the whole folder"
# What a folder of tables may have beside a manifest: tables, shards, what is being written.
_OWN = re.compile(r"\w+\.parquet|\d+|\..*|source\.json")


@dataclasses.dataclass(frozen=True)
class Folder:
    """Tables that belong together, saved as Parquet files beside a manifest.

    A part, a field that is such a folder itself or null, is saved in a folder of its name.
    """

    TABLES: ClassVar[tuple[str, ...]] = ()
    PARTS: ClassVar[dict[str, type[Folder]]] = {}
    # Whether the plug-ins that it names must be there to read it.
    NEEDS_PLUGINS: ClassVar[bool] = False
    # What else its manifest may have.
    MORE: ClassVar[dict[str, Any]] = {}
    # Counts the changes of the schema that older folders cannot be read after.
    FORMAT: ClassVar[int] = 1

    def __post_init__(self) -> None:
        for name in self.TABLES:
            object.__setattr__(self, name, frames.to_polars(getattr(self, name)))

    def __getattr__(self, name: str) -> Any:
        """What is made when it is first asked for, see `_later`."""
        make = self.__dict__.get("_made_later", {}).get(name)
        if make is None:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        value = make()
        object.__setattr__(self, name, value)
        return value

    @classmethod
    def _later(cls, makers: Mapping[str, Callable[[], Any]], values: Mapping[str, Any]) -> Self:
        """A folder with some `values`, and what `makers` make when it is first asked for."""
        new = object.__new__(cls)
        for field in dataclasses.fields(cls):
            if field.name in values:
                value = values[field.name]
            elif field.name in makers:
                continue
            elif field.default is not dataclasses.MISSING:
                value = field.default
            elif field.default_factory is not dataclasses.MISSING:
                value = field.default_factory()
            else:
                raise TypeError(f"{cls.__name__} needs {field.name}")
            object.__setattr__(new, field.name, value)
        object.__setattr__(new, "_made_later", dict(makers))
        return new

    def __repr__(self) -> str:
        return show.line(self)

    def _repr_html_(self) -> str:
        return show.html(self)

    def uses(self) -> dict[str, Iterable[str]]:
        """By kind of plug-in the names that its tables mention."""
        return {}

    def check(self) -> Self:
        """Itself, if every table follows its schema; else `TableBroken` with all mismatches."""
        checked = {name: tables.mismatches(name, getattr(self, name)) for name in self.TABLES}
        wrong = [tables.report(name, lines) for name, lines in checked.items() if lines]
        if wrong:
            raise TableBroken("\n".join(wrong))
        return self

    def save(self, folder: str | Path) -> Path:
        """Write every table and `manifest.json` into `folder`; all of them or none.

        What was saved there before stays whole until what is new takes its place, and so it does
        if this is killed. `NotAvailable` if nothing can be written there, `DataBroken` if folders
        of others are in the way.
        """
        self.check()
        return self._replace(Path(folder))

    def _replace(self, folder: Path, *, gone: Iterable[str] = (), **more: Any) -> Path:
        with self._replacing(folder, gone=gone) as new:
            self._write(new, **more)
        return folder

    @classmethod
    @contextmanager
    def _replacing(cls, folder: Path, *, gone: Iterable[str] = ()) -> Iterator[Path]:
        """A new folder in place of its parts and what is `gone`, as `swap.together` makes it."""
        names = (*cls.PARTS, *gone)
        for name in names:
            _check_own(folder / name)
        with swap.together(folder, gone=names) as new:
            yield new

    def _write(self, folder: Path, *, parts: bool = True, **more: Any) -> None:
        """Write the tables, the `parts` if they are not there yet, and the manifest with `more`."""
        manifest: dict[str, Any] = {
            "kind": type(self).__name__, "format": self.FORMAT, "formlab": files.version(),
        }  # fmt: skip
        names = {field.name for field in dataclasses.fields(self)} - {*self.TABLES, *self.PARTS}
        manifest |= {
            field.name: getattr(self, field.name)
            for field in dataclasses.fields(self)
            if field.name in names
        }
        manifest["plugins"] = registry.needed(self.uses())
        manifest["root"] = None if manifest.get("root") is None else str(manifest["root"])
        manifest["tables"] = {}
        for name in self.TABLES:
            file = folder / f"{name}.parquet"
            # Nothing is looked up in scores by what a file has at least and at most.
            files.write_parquet(file, getattr(self, name), statistics=name != "scores")
            manifest["tables"][name] = {
                "rows": getattr(self, name).height,
                "sha256": files.sha256(file),
            }
        here = [name for name in self.PARTS if getattr(self, name) is not None]
        for name in here if parts else ():
            getattr(self, name).check()._write(folder / name)
        manifest["parts"] = {name: files.sha256(folder / name / MANIFEST) for name in here}
        files.write_json(folder / MANIFEST, manifest | more)

    @classmethod
    def load(cls, folder: str | Path, *, checked: bool = True) -> Self:
        """Read what `save` wrote; parts that are folders of tables where they are there.

        Tables that this process has checked before need not be `checked` against their schemas.
        `DataMissing` or `DataBroken` if the folder, its manifest or a table is absent, damaged,
        not as it was saved, or of another kind; `NotAvailable` if a plug-in is absent, see
        `registry.restore`.
        """
        folder = Path(folder)
        while True:
            manifest = cls.manifest_of(folder)
            try:
                return cls._read(folder, manifest, checked=checked)
            except FormlabError:
                # Another process may have saved another there meanwhile.
                if cls.manifest_of(folder) == manifest:
                    raise

    @classmethod
    def _read(cls, folder: Path, manifest: Mapping[str, Any], *, checked: bool) -> Self:
        if cls.NEEDS_PLUGINS:
            registry.restore(manifest["plugins"], where=folder)
        values: dict[str, Any] = {
            name: table(folder, name, manifest["tables"][name]["sha256"]) for name in cls.TABLES
        }
        values |= {
            name: kind.load(folder / name, checked=checked)
            for name, kind in cls.parts_in(folder, manifest).items()
        }
        values |= cls.fields_in(manifest)
        try:
            return cls(**values).check() if checked else cls(**values)
        except TableBroken as error:
            raise TableBroken(error.what, where=folder, remedy=ANEW) from error

    @classmethod
    def parts_in(cls, folder: Path, manifest: Mapping[str, Any]) -> dict[str, type[Folder]]:
        """The parts that were saved in `folder`; `DataBroken` if one is not as it was saved."""
        known = manifest["parts"] if isinstance(manifest["parts"], dict) else {}
        for name, sha256 in known.items():
            check_unchanged(folder / name / MANIFEST, sha256)
        return {name: kind for name, kind in cls.PARTS.items() if name in manifest["parts"]}

    @classmethod
    def fields_in(cls, manifest: Mapping[str, Any]) -> dict[str, Any]:
        """What a manifest has for fields that are no tables and no parts."""
        names = {field.name for field in dataclasses.fields(cls)} - {*cls.TABLES, *cls.PARTS}
        values = {name: manifest[name] for name in names & manifest.keys()}
        if values.get("root") is not None:
            values["root"] = Path(values["root"])
        return values

    @classmethod
    def manifest_of(cls, folder: Path) -> dict[str, Any]:
        """The manifest in `folder`; `DataBroken` if it is of another kind or another format."""
        swap.settle(folder)
        file = folder / MANIFEST
        manifest = files.read_json(file)
        if not isinstance(manifest, dict) or manifest.get("kind") != cls.__name__:
            kind = manifest.get("kind") if isinstance(manifest, dict) else None
            what = f"this folder holds {kind or 'something else'}, not {cls.__name__}"
            remedy = "the folder that the matching formlab command wrote with --out"
            raise DataBroken(what, where=file, remedy=remedy)
        if manifest.get("format", 1) != cls.FORMAT:
            raise DataBroken(
                f"this {cls.__name__} was written by formlab {manifest.get('formlab')} in format "
                f"{manifest.get('format', 1)}; this version reads format {cls.FORMAT}",
                where=file,
                remedy=cls._made_anew(manifest, folder),
            )
        files.convert(manifest, _stated(cls), where=file, remedy=ANEW)
        return {"plugins": [], "parts": {}} | manifest

    @classmethod
    def _made_anew(cls, manifest: Mapping[str, Any], folder: Path) -> str:  # noqa: ARG003
        """How such a folder is made with this version."""
        return "make it anew with this version of formlab"


def table(folder: Path, name: str, sha256: str, only: pl.Expr | None = None) -> pl.DataFrame:
    """A table as it was saved, or the rows of it for which `only` is true.

    `DataBroken` if it is not the one of which the manifest has the `sha256`.
    """
    file = folder / f"{name}.parquet"
    check_unchanged(file, sha256)
    frame = files.read_parquet(file, only)
    # It may have been replaced while it was read.
    check_unchanged(file, sha256)
    return frame


def check_unchanged(file: Path, sha256: str) -> None:
    """`DataBroken` if a file is not as it was saved."""
    if files.sha256_once(file) != sha256:
        raise DataBroken("this file has changed since it was saved", where=file, remedy=ANEW)


class _Table(msgspec.Struct):
    rows: int
    sha256: str


@cache
def _stated(kind: type[Folder]) -> type[msgspec.Struct]:
    """The structure of the manifest of a kind of folder."""
    hints = get_type_hints(kind) | {"root": str | None}
    fields: list[Any] = [
        (field.name, hints[field.name])
        if field.default is field.default_factory is dataclasses.MISSING
        else (field.name, hints[field.name], None)
        for field in dataclasses.fields(kind)
        if field.name not in (*kind.TABLES, *kind.PARTS)
    ]
    tables_ = msgspec.defstruct("Tables", [(name, _Table) for name in kind.TABLES])
    # Older folders have the names of their parts alone.
    parts = dict[str, str] | list[str]
    more = [(name, each, None) for name, each in kind.MORE.items()]
    own = [("tables", tables_), ("plugins", list[dict[str, str]], None), ("parts", parts, None)]
    return msgspec.defstruct(kind.__name__, [*fields, *own, *more], kw_only=True)


def _check_own(place: Path) -> None:
    """`DataBroken` if what stands at a `place` to be replaced is a folder of somebody else's."""
    names = {path.name for path in place.iterdir()} if place.is_dir() else set()
    if MANIFEST not in names and not all(_OWN.fullmatch(name) for name in names):
        raise DataBroken(
            "a folder that formlab has not written", where=place, remedy="another --out"
        )
