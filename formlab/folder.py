"""A folder of tables: how it is saved and loaded."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, ClassVar, Self

from formlab import files, frames, plugin_records, previews, tables
from formlab.errors import DataBroken, TableBroken

# Written last: a folder that has one is complete.
MANIFEST = "manifest.json"


@dataclasses.dataclass(frozen=True)
class Folder:
    """Tables that belong together, saved as Parquet files beside a manifest.

    A part, a field that is such a folder itself or null, is saved in a folder of its name.
    """

    TABLES: ClassVar[tuple[str, ...]] = ()
    PARTS: ClassVar[dict[str, type[Folder]]] = {}
    # Whether the plug-ins that it names must be there to read it.
    NEEDS_PLUGINS: ClassVar[bool] = False
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
        return previews.line(self)

    def _repr_html_(self) -> str:
        return previews.html(self)

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
        """Write every table and `manifest.json` into `folder`; whole files or none.

        The manifest is written last, so a folder with a manifest is complete.
        """
        self.check()
        folder = Path(folder)
        # What was saved here before is not whole from now on.
        (folder / MANIFEST).unlink(missing_ok=True)
        return self._write(folder)

    def _write(self, folder: Path, *, parts: bool = True, **more: Any) -> Path:
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
        manifest["plugins"] = plugin_records.needed(self.uses())
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
        manifest["parts"] = [name for name in self.PARTS if getattr(self, name) is not None]
        for name in manifest["parts"] if parts else ():
            getattr(self, name).save(folder / name)
        files.write_json(folder / MANIFEST, manifest | more)
        return folder

    @classmethod
    def load(cls, folder: str | Path, *, checked: bool = True) -> Self:
        """Read what `save` wrote; parts that are folders of tables where they are there.

        Tables that this process has checked before need not be `checked` against their schemas.
        `DataMissing` or `DataBroken` if the folder, its manifest or a table is absent, damaged or
        of another kind; `NotAvailable` if a plug-in is absent, see `plugin_records.restore`.
        """
        folder = Path(folder)
        manifest = cls.manifest_of(folder)
        if cls.NEEDS_PLUGINS:
            plugin_records.restore(manifest.get("plugins"), where=folder)
        values: dict[str, Any] = {
            name: files.read_parquet(folder / f"{name}.parquet") for name in cls.TABLES
        }
        values |= {
            name: kind.load(folder / name, checked=checked)
            for name, kind in cls.PARTS.items()
            if name in manifest.get("parts", ())
        }
        for field in dataclasses.fields(cls):
            if field.name not in (*values, *cls.PARTS) and field.name in manifest:
                values[field.name] = manifest[field.name]
        if values.get("root") is not None:
            values["root"] = Path(values["root"])
        return cls(**values).check() if checked else cls(**values)

    @classmethod
    def manifest_of(cls, folder: Path) -> dict[str, Any]:
        """The manifest in `folder`; `DataBroken` if it is of another kind or another format."""
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
        return manifest

    @classmethod
    def _made_anew(cls, manifest: Mapping[str, Any], folder: Path) -> str:  # noqa: ARG003
        """How such a folder is made with this version."""
        return "make it anew with this version of formlab"
