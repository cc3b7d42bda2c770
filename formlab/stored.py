"""Folders of tables, each table a folder of part files, read when they are asked for.

Part files of one name hold the same documents in every table, and documents are whole within a
part, so tables are joined part by part.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from functools import cache, partial
from pathlib import Path
from typing import Annotated, Any, ClassVar, NamedTuple, Self, get_type_hints

import msgspec
import polars as pl

from formlab import files, frames, registry, show, tables
from formlab.errors import DataBroken, FormlabError, NotAvailable, TableBroken, UnknownName
from formlab.saving import MANIFEST, replacing, settled
from formlab.workers import Lost, each

FORMAT = 3
ANEW = "the formlab command that wrote this folder again, or a fresh copy of the whole folder"
_PartName = Annotated[
    str, msgspec.Meta(pattern=r"^([0-9]{5,}|documents|records|responses)\.parquet$")
]


class PartFile(NamedTuple):
    """A written part of a table: `table` may be that of a member, such as ``corpus/records``."""

    table: str
    name: str
    rows: int
    sha256: str


def opened(part: Any) -> Any:
    """A part of a folder that is one, or is opened by a call."""
    return part() if callable(part) else part


class _Stored(NamedTuple):
    """A table in files, each with its SHA-256: scanned, or read by a call."""

    table: str
    files: list[tuple[Path, str]]

    def scan(self) -> pl.LazyFrame:
        for file, sha256 in self.files:
            _check_unchanged(file, sha256)
        scanned = [
            _with_field(self.table, pl.scan_parquet(file, glob=False)) for file, _ in self.files
        ]
        return pl.concat(scanned, how="diagonal")

    def __call__(self) -> pl.DataFrame:
        self.scan()
        read = [_with_field(self.table, files.read_parquet(file)) for file, _ in self.files]
        self.scan()  # It may have been replaced while it was read.
        for (file, _), frame in zip(self.files, read, strict=True):
            if wrong := tables.mismatches(self.table, frame.clear()):
                raise TableBroken(wrong, where=file)
        return pl.concat(read, how="diagonal")


def _with_field(table: str, frame: Any) -> Any:
    """A table that may be saved without `field`, in `subtype` of own forms then; until 0.4."""
    names = frame.lazy().collect_schema().names()
    if "field" not in tables.SCHEMAS[table] or "field" in names or "subtype" not in names:
        return frame
    is_own = pl.col("benchmark") == "own"
    field, subtype = (pl.when(side).then("subtype") for side in (is_own, ~is_own))
    names.insert(names.index("subtype") + 1, "field")
    return frame.with_columns(field=field, subtype=subtype).select(names)


class Joined(NamedTuple):
    """A table of all parts of an evaluation: scanned, or made by a call."""

    table: str
    parts: Sequence[Any]

    def scan(self) -> pl.LazyFrame:
        """The rows of all parts as a lazy frame."""
        scanned = [opened(part).scan(self.table) for part in self.parts]
        return pl.concat(scanned, how="diagonal")

    def __call__(self) -> pl.DataFrame:
        """The rows of all parts."""
        read = [getattr(opened(part), self.table) for part in self.parts]
        return pl.concat(read, how="diagonal")


@dataclasses.dataclass(frozen=True)
class Folder:
    """Tables that belong together, saved as Parquet files beside a manifest.

    A member, a field that is such a folder itself or null, is saved in a folder of its name.
    `lazy_parts` are what it consists of if it has several parts: of each what opens it.
    """

    TABLES: ClassVar[tuple[str, ...]] = ()
    MEMBERS: ClassVar[dict[str, type[Folder]]] = {}
    NEEDS_PLUGINS: ClassVar[bool] = False
    # Of those that are not in memory as a whole.
    lazy_parts: ClassVar[tuple[Any, ...]] = ()
    _makers: ClassVar[Mapping[str, Callable[[], Any]]] = {}

    def __post_init__(self) -> None:
        for name in self.TABLES:
            object.__setattr__(self, name, frames.to_polars(getattr(self, name)))

    def __getattr__(self, name: str) -> Any:
        """A table or member that is made when it is first asked for."""
        if name not in self._makers:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        object.__setattr__(self, name, value := self._makers[name]())
        return value

    @classmethod
    def _lazy(
        cls,
        makers: Mapping[str, Callable[[], Any]],
        values: Mapping[str, Any],
        parts: Sequence[Any] = (),
    ) -> Self:
        """A folder with `values`; all else is made when it is first asked for."""
        makers = {name: make for name, make in makers.items() if name not in values}
        new = cls(**dict.fromkeys(makers), **values)
        for name in makers:
            del new.__dict__[name]
        new.__dict__.update(_makers=makers, lazy_parts=tuple(parts))
        return new

    def __repr__(self) -> str:
        return show.line(self)

    def _repr_html_(self) -> str:
        return show.html(self)

    @classmethod
    def scalars(cls) -> list[str]:
        """The names of the fields that are no tables and no members."""
        owned = (*cls.TABLES, *cls.MEMBERS)
        return [field.name for field in dataclasses.fields(cls) if field.name not in owned]

    def uses(self) -> dict[str, Iterable[str]]:
        """By kind of plug-in the names that its tables mention."""
        return {}

    def check(self) -> Self:
        """Itself, if every table follows its schema; else `TableBroken` with all mismatches."""
        checked = (tables.mismatches(name, getattr(self, name)) for name in self.TABLES)
        if wrong := "\n".join(filter(None, checked)):
            raise TableBroken(wrong)
        return self

    def save(self, folder: str | Path, *, workers: int | str = 1) -> Path:
        """Write every table and `manifest.json` into `folder`; all of them or none.

        What was saved there before stays whole until what is new takes its place, and so it does
        if this is killed. Of an evaluation `made` is recorded the first time; parts that are made
        when they are asked for are made by `workers`, as for `workers.each`. `NotAvailable` if
        nothing can be written there, `DataBroken` if files that are not formlab's are in the way.
        """
        with replacing(folder) as new:
            written, parts = [], enumerate(self.lazy_parts or [self])
            for (number, _), saved in each(partial(_written, new), parts, workers=workers):
                if isinstance(saved, Lost):
                    raise NotAvailable(f"part {number} cannot be made: {saved.reason}")
                written += saved
            values = {name: getattr(self, name) for name in (*self.scalars(), *self.MEMBERS)}
            if values.get("made") == {}:
                values["made"] = made_now()
            self.finish(new, written, values, self.uses())
        return Path(folder)

    def write_part(self, folder: Path, number: int, within: str = "") -> list[PartFile]:
        """Write the tables, and those of the members, as part `number` of a folder."""
        written = []
        for table in self.TABLES:
            name = f"{number:05}.parquet"
            file, frame = folder / within / table / name, getattr(self, table)
            # Nothing is looked up in scores by what a file has at least and at most.
            files.write_parquet(file, frame, statistics=table != "scores")
            written.append(PartFile(within + table, name, frame.height, files.sha256(file)))
        for member in self.MEMBERS:
            if (value := getattr(self, member)) is not None:
                written += value.check().write_part(folder, number, f"{within}{member}/")
        return written

    @classmethod
    def finish(
        cls,
        folder: Path,
        parts: Sequence[PartFile],
        values: Mapping[str, Any],
        uses: Mapping[str, Iterable[str]],
    ) -> None:
        """Write the manifest of `parts`; `values` has the other fields, and the members."""
        members = {}
        for name, kind in cls.MEMBERS.items():
            own = [p for p in parts if p.table.startswith(f"{name}/")]
            if own:
                own = [part._replace(table=part.table.removeprefix(f"{name}/")) for part in own]
                fields = {field: getattr(values[name], field) for field in kind.scalars()}
                kind.finish(folder / name, own, fields, {})
                members[name] = files.sha256(folder / name / MANIFEST)
        manifest = {"kind": cls.__name__, "format": FORMAT, "formlab": files.version()}
        manifest |= {name: values[name] for name in cls.scalars()}
        manifest["plugins"] = registry.needed(uses)
        manifest["tables"] = {
            table: [list(part[1:]) for part in sorted(parts) if part.table == table]
            for table in cls.TABLES
        }
        files.write_json(folder / MANIFEST, manifest | {"members": members})

    @classmethod
    def opened(cls, folder: str | Path) -> Self:
        """What `save` wrote, each table read (or scanned) when it is asked for."""
        return cls._of_files(cls.home(Path(folder)), cls.manifest_of(Path(folder)))

    @classmethod
    def load(cls, folder: str | Path) -> Self:
        """Read what `save` wrote; of several parts each table when it is first asked for.

        `DataMissing` or `DataBroken` if the folder, its manifest or a table is absent, damaged,
        not as it was saved, or of another kind; `NotAvailable` if a plug-in is absent, see
        `registry.restore`.
        """
        folder = Path(folder)
        while True:
            manifest = cls.manifest_of(folder)
            try:
                return cls._loaded(cls.home(folder), manifest)
            except FormlabError:
                # Another process may have saved another there meanwhile.
                if cls.manifest_of(folder) == manifest:
                    raise

    @classmethod
    def _loaded(cls, folder: Path, manifest: Mapping[str, Any]) -> Self:
        if cls.NEEDS_PLUGINS:
            registry.restore(manifest["plugins"], where=folder)
        new = cls._of_files(folder, manifest)
        for table in cls.TABLES:
            new.scan(table)
        try:
            return new if new.lazy_parts else new._collected()
        except TableBroken as error:
            raise TableBroken(error.what, where=folder, remedy=ANEW) from error

    def _collected(self) -> Self:
        """The same with all tables and members in memory, checked."""
        members = {name: getattr(self, name) for name in self.MEMBERS}
        read = {name: member and member._collected() for name, member in members.items()}
        return dataclasses.replace(self, **read).check()

    @classmethod
    def _of_files(cls, folder: Path, manifest: Mapping[str, Any], name: str = "") -> Self:
        """What is in a folder, or in its part of that `name`, read when it is asked for."""
        makers: dict[str, Callable[[], Any]] = {}
        for table in cls.TABLES:
            parts = manifest["tables"][table]
            # Format 1 has one file beside the manifest.
            saved = [(folder / (table if n[0].isdigit() else "") / n, sha) for n, _, sha in parts]
            makers[table] = _Stored(table, [f for f in saved if name in ("", f[0].name)])
        for member, kind in cls.MEMBERS.items():
            if member in manifest["members"]:
                home = folder / member
                _check_unchanged(home / MANIFEST, manifest["members"][member])
                makers[member] = partial(kind._of_files, home, kind.manifest_of(home), name)
        values = {field: manifest[field] for field in cls.scalars() if field in manifest}
        if values.get("root") is not None:
            values["root"] = Path(values["root"])
        names = [] if name else [part[0] for part in manifest["tables"][cls.TABLES[0]]]
        several = [partial(cls._of_files, folder, manifest, n) for n in names[1:] and names]
        return cls._lazy(makers, values, several)

    def scan(self, table: str) -> pl.LazyFrame:
        """A table as a lazy frame: what is on disk stays there until it is asked for.

        Examples
        --------
        >>> import formlab
        >>> evaluation = formlab.evaluate({"a": {"total": "9"}}, {"a": {"total": "8"}})
        >>> evaluation.scan("cases").filter(level="field").select("outcome").collect().item()
        'mismatch'
        """
        if table not in self.TABLES:
            raise UnknownName.of(f"table of {type(self).__name__}", table, self.TABLES)
        make = self._makers.get(table)
        if table not in self.__dict__ and isinstance(make, _Stored | Joined):
            return make.scan()
        return getattr(self, table).lazy()

    @classmethod
    def home(cls, folder: Path) -> Path:
        """Where the tables are: of a run, which has more than them, in a folder of their name."""
        return folder

    @classmethod
    def made_anew(cls, manifest: Mapping[str, Any], folder: Path) -> str:  # noqa: ARG003
        """How a folder of an older format is made with this version."""
        return "make it anew with this version of formlab"

    @classmethod
    def manifest_of(cls, folder: Path) -> dict[str, Any]:
        """The manifest in `folder`; `DataBroken` if it is of another kind or another format."""
        file = settled(cls.home(folder)) / MANIFEST
        manifest = files.read_json(file, dict[str, Any], remedy=ANEW)
        if (kind := manifest.get("kind")) != cls.__name__:
            what = f"this folder holds {kind or 'something else'}, not {cls.__name__}"
            remedy = "the folder that the matching formlab command wrote with --out"
            raise DataBroken(what, where=file, remedy=remedy)
        stated = manifest.get("format", 1)
        if stated == 1 and not cls.MEMBERS:
            manifest = _of_format_1(manifest)
        elif stated != FORMAT:
            raise DataBroken(
                f"this {cls.__name__} was written by formlab {manifest.get('formlab')} in format "
                f"{stated}; this version reads format {FORMAT}",
                where=file,
                remedy=cls.made_anew(manifest, folder),
            )
        manifest = {"plugins": [], "members": {}} | manifest
        files.convert(manifest, _stated(cls), where=file, remedy=ANEW)
        saved = [manifest["tables"].get(table, []) for table in cls.TABLES]
        parts = {tuple(name for name, *_ in rows) for rows in saved}
        if () in parts or (stated == FORMAT and len(parts) > 1):
            raise DataBroken("its tables have different parts", where=file, remedy=ANEW)
        return manifest


def _check_unchanged(file: Path, sha256: str) -> None:
    """`DataBroken` if a file is not as it was saved."""
    if files.sha256_once(file) != sha256:
        raise DataBroken("this file has changed since it was saved", where=file, remedy=ANEW)


def _of_format_1(manifest: Mapping[str, Any]) -> dict[str, Any]:
    """The manifest of format 1 as one of today: each table was a file. Read until 0.4."""
    try:
        parts = {
            name: [[f"{name}.parquet", saved["rows"], saved["sha256"]]]
            for name, saved in manifest["tables"].items()
        }
    except (AttributeError, KeyError, TypeError):
        parts = None
    return {**manifest, "format": FORMAT, "tables": parts, "members": {}}


@cache
def _stated(kind: type[Folder]) -> type[msgspec.Struct]:
    """The structure of the manifest of a kind of folder."""
    hints = get_type_hints(kind) | {"root": str | None}
    needed = [f.name for f in dataclasses.fields(kind) if f.default is f.default_factory]
    fields = [(n, hints[n]) if n in needed else (n, hints[n], None) for n in kind.scalars()]
    parts = dict[str, list[tuple[_PartName, int, str]]]
    own = [("tables", parts), ("plugins", list[dict[str, str]]), ("members", dict[str, str])]
    return msgspec.defstruct(kind.__name__, [*fields, *own], kw_only=True)


def _written(folder: Path, part: tuple[int, Any]) -> list[PartFile]:
    number, tables_of_part = part
    return opened(tables_of_part).check().write_part(folder, number)


def made_now() -> dict[str, str]:
    """When, and by which version, an evaluation is saved first."""
    now = datetime.now(UTC).isoformat(timespec="milliseconds")
    return {"at": now, "formlab": files.version()}
