"""Corpus, Predictions and Evaluation: folders of tables, each table a folder of part files.

Part files of one name hold the same documents in every table, and documents are whole within a
part, so tables are joined part by part. A table is read when it is asked for. A folder is written
beside the old one and takes its place by two renames: what is read is the old one or the new one,
also after a kill.
"""

from __future__ import annotations

import dataclasses
import os
import re
import shlex
import shutil
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from functools import cache, partial
from operator import methodcaller
from pathlib import Path
from typing import Annotated, Any, ClassVar, NamedTuple, Self, get_type_hints

import msgspec
import polars as pl

from formlab import errors, files, frames, registry, show, tables
from formlab.errors import DataBroken, FormlabError, NotAvailable, TableBroken, UnknownName
from formlab.workers import Lost, each

FORMAT, MANIFEST = 3, "manifest.json"
ANEW = "the formlab command that wrote this folder again, or a fresh copy of the whole folder"
_PART = r"^([0-9]{5,}|documents|records|responses)\.parquet$"
# What formlab writes into such a folder, in this format and in older ones.
_TABLE = r"(documents|cases|scores|records|responses|tallies|columns)"
_OURS = re.compile(
    rf"(\w+/\d+/)?((corpus|predictions)/)?(manifest\.json|source\.json|{_TABLE}\.parquet"
    rf"|{_TABLE}/\d{{5,}}\.parquet)|\.(unfinished|saved|[0-9a-f]+\.part)/.*"
)
# How long a reader waits for a folder that is between its two renames, in seconds.
_PATIENCE = 0.2


@contextmanager
def replacing(folder: str | Path) -> Iterator[Path]:
    """A new folder beside `folder`, which takes its place when the block ends well.

    Where others write to the same place meanwhile, the last one stands, and a note says so.
    `DataBroken` if `folder` holds files that formlab has not written, `NotAvailable` if something
    cannot be written there.
    """
    folder = Path(os.path.realpath(folder))
    files.make_folder(folder.parent)
    with files.writing(folder):
        if settled(folder).is_file():
            folder.mkdir()  # The error of the system.
        _check_own(folder)
        files.sweep(files.parts_beside(folder))
        before = _state(folder)
        part = folder.with_name(files.part_name(folder.name))
        part.mkdir()
        try:
            yield part
            if _state(folder) != before:
                print(f"note: {folder}: was saved by others meanwhile, replaced", file=sys.stderr)
            _check_own(folder)
            _swap(part, folder)
        finally:
            shutil.rmtree(part, ignore_errors=True)


def settled(folder: Path) -> Path:
    """`folder`; what a save that was killed between its two renames moved away is put back."""
    deadline = time.monotonic() + _PATIENCE
    while not folder.exists():
        old = [path for path in files.parts_beside(folder) if path.suffix == ".old"]
        if old and time.monotonic() <= deadline:
            time.sleep(_PATIENCE / 10)
            continue
        with suppress(OSError, ValueError):
            max(old, key=lambda path: path.stat().st_mtime_ns).rename(folder)
        break
    return folder


def is_hidden(path: Path, folder: Path) -> bool:
    """Whether a file below `folder` belongs to what is being saved, or was replaced."""
    hidden = (".part", ".old", ".saved", ".unfinished")
    return any(n[0] == "." and n.endswith(hidden) for n in path.relative_to(folder).parts)


def _swap(part: Path, folder: Path) -> None:
    is_done = False
    while not is_done:
        old = folder.with_name(files.part_name(folder.name, suffix=".old"))
        with suppress(FileNotFoundError):
            folder.rename(old)
        try:
            part.rename(folder)
            is_done = True
        except OSError:
            # Another writer, or a reader that put the old one back, was quicker.
            if not folder.is_dir():
                raise
        shutil.rmtree(old, ignore_errors=True)


def _state(folder: Path) -> tuple[int, int] | None:
    with suppress(OSError):
        state = (folder / MANIFEST).stat()
        return state.st_ino, state.st_mtime_ns
    return None


def _check_own(folder: Path) -> None:
    """`DataBroken` with the names of the files in `folder` that are not formlab's."""
    names = [
        Path(place, name).relative_to(folder).as_posix()
        for place, folders, files_ in os.walk(folder)
        for name in [*files_, *(name for name in folders if Path(place, name).is_symlink())]
    ]
    is_saved = (folder / MANIFEST).is_file() or any(name[0] == "." for name in names)
    strangers = sorted(name for name in names if not (is_saved and _OURS.fullmatch(name)))
    if strangers:
        more = f" and {len(strangers) - 3} more" if len(strangers) > 3 else ""
        what = f"this folder has files that formlab has not written: {', '.join(strangers[:3])}"
        raise DataBroken(what + more, where=folder, remedy="another --out, or move them away")


class PartFile(NamedTuple):
    """A written part of a table: `table` may be that of a member, such as ``corpus/records``."""

    table: str
    name: str
    rows: int
    sha256: str


def _opened(part: Any) -> Any:
    """A part of a folder that is one, or is opened by a call."""
    return part() if callable(part) else part


class _Stored(NamedTuple):
    """A table in files, each with its SHA-256: scanned, or read by a call."""

    table: str
    files: list[tuple[Path, str]]

    def scan(self) -> pl.LazyFrame:
        for file, sha256 in self.files:
            _check_unchanged(file, sha256)
        scanned = (pl.scan_parquet(file, glob=False) for file, _ in self.files)
        return pl.concat([_with_field(self.table, f) for f in scanned], how="diagonal")

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


class _Joined(NamedTuple):
    """A table of all parts of an evaluation: scanned, or made by a call."""

    table: str
    parts: Sequence[Any]

    def scan(self) -> pl.LazyFrame:
        return pl.concat([_opened(p).scan(self.table) for p in self.parts], how="diagonal")

    def __call__(self) -> pl.DataFrame:
        return pl.concat([getattr(_opened(p), self.table) for p in self.parts], how="diagonal")


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
    def _lazy(cls, makers: Mapping[str, Any], values: Mapping[str, Any], parts: Any = ()) -> Self:
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

    def filtered(self, rows: pl.Expr) -> Self:
        """The same with these rows of each table alone."""
        return dataclasses.replace(self, **{n: getattr(self, n).filter(rows) for n in self.TABLES})

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
        cls, folder: Path, parts: Sequence[PartFile], values: Mapping[str, Any], uses: Any
    ) -> None:
        """Write the manifest of `parts`; `values` has the other fields, and the members."""
        members = {}
        for name, kind in cls.MEMBERS.items():
            prefix = f"{name}/"
            own = [p._replace(table=p.table[len(prefix) :]) for p in parts if prefix in p.table]
            if own:
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
            home, manifest = cls.home(folder), cls.manifest_of(folder)
            try:
                if cls.NEEDS_PLUGINS:
                    registry.restore(manifest["plugins"], where=home)
                new = cls._of_files(home, manifest)
                for table in cls.TABLES:
                    new.scan(table)
                return new if new.lazy_parts else new._collected()
            except FormlabError as error:
                # Another process may have saved another there meanwhile.
                if cls.manifest_of(folder) != manifest:
                    continue
                if isinstance(error, TableBroken):
                    raise TableBroken(error.what, where=home, remedy=ANEW) from error
                raise

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
        """A table as a lazy frame: what is on disk stays there until it is asked for."""
        if table not in self.TABLES:
            raise UnknownName.of(f"table of {type(self).__name__}", table, self.TABLES)
        make = self._makers.get(table)
        if table not in self.__dict__ and isinstance(make, _Stored | _Joined):
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
        """The manifest in `folder`; an error if there is none of this kind and format."""
        file = settled(cls.home(folder)) / MANIFEST
        if not files.is_file(file):
            kind = cls.__name__.lower()
            what = f"this folder holds no {kind}" if folder.is_dir() else "no such folder"
            what = f"a file, not the folder of an {kind}" if files.is_file(folder) else what
            remedy = "formlab score GOLD --predictions FILE --out FOLDER, or formlab run"
            raise errors.DataMissing(what, where=folder, remedy=remedy)
        manifest = files.read_json(file, dict[str, Any], remedy=ANEW)
        if (kind := manifest.get("kind")) != cls.__name__:
            what = f"this folder holds {kind or 'something else'}, not {cls.__name__}"
            remedy = "the folder that the matching formlab command wrote with --out"
            raise DataBroken(what, where=file, remedy=remedy)
        stated, wrote = manifest.get("format", 1), manifest.get("formlab")
        if stated == 1 and not cls.MEMBERS:
            manifest = _of_format_1(manifest)
        elif stated != FORMAT:
            what = f"this {cls.__name__} was written by formlab {wrote} in format {stated}; this "
            what, remedy = f"{what}version reads format {FORMAT}", cls.made_anew(manifest, folder)
            raise DataBroken(what, where=file, remedy=remedy)
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
    parts = None
    with suppress(AttributeError, KeyError, TypeError):
        parts = {
            name: [[f"{name}.parquet", saved["rows"], saved["sha256"]]]
            for name, saved in manifest["tables"].items()
        }
    return {**manifest, "format": FORMAT, "tables": parts, "members": {}}


@cache
def _stated(kind: type[Folder]) -> type[msgspec.Struct]:
    """The structure of the manifest of a kind of folder."""
    hints = get_type_hints(kind) | {"root": str | None}
    needed = [f.name for f in dataclasses.fields(kind) if f.default is f.default_factory]
    fields = [(n, hints[n]) if n in needed else (n, hints[n], None) for n in kind.scalars()]
    name = Annotated[str, msgspec.Meta(pattern=_PART)]
    parts = dict[str, list[tuple[name, int, str]]]
    own = [("tables", parts), ("plugins", list[dict[str, str]]), ("members", dict[str, str])]
    return msgspec.defstruct(kind.__name__, [*fields, *own], kw_only=True)


def _written(folder: Path, part: tuple[int, Any]) -> list[PartFile]:
    return _opened(part[1]).check().write_part(folder, part[0])


def made_now() -> dict[str, str]:
    """When, and by which version, an evaluation is saved first."""
    now = datetime.now(UTC).isoformat(timespec="milliseconds")
    return {"at": now, "formlab": files.version()}


@dataclasses.dataclass(frozen=True, repr=False)
class Corpus(Folder):
    """What a benchmark holds: its documents and their gold records.

    `root` is the folder that `documents.image` is relative to; `flaws` counts what is odd in
    the source files, by a short name; `sources` maps each file read to its SHA-256, `unreadable`
    each file that was left out, because it cannot be read as what it should be, to the reason.
    """

    TABLES: ClassVar[tuple[str, ...]] = ("documents", "records")
    documents: pl.DataFrame
    records: pl.DataFrame
    benchmark: str
    split: str
    root: Path | None = None
    flaws: dict[str, int] = dataclasses.field(default_factory=dict)
    sources: dict[str, str] = dataclasses.field(default_factory=dict)
    unreadable: dict[str, str] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True, repr=False)
class Predictions(Folder):
    """What a system gave: one record per value, and one response per call or page."""

    TABLES: ClassVar[tuple[str, ...]] = ("records", "responses")
    records: pl.DataFrame
    responses: pl.DataFrame
    system: str
    settings: dict[str, Any] = dataclasses.field(default_factory=dict)
    sources: dict[str, str] = dataclasses.field(default_factory=dict)
    notes: dict[str, int] = dataclasses.field(default_factory=dict)

    @classmethod
    def home(cls, folder: Path) -> Path:
        """Where the tables are: a run keeps them in ``predictions``, beside its journal."""
        is_run = (folder / "run.json").is_file() and not (folder / MANIFEST).is_file()
        return folder / "predictions" if is_run else folder

    def uses(self) -> dict[str, Iterable[str]]:
        """The system, and the benchmark that it read."""
        # The settings that are not at their default stand behind a system's name.
        system = self.system.partition("(")[0]
        return {"systems": [system], "benchmarks": self.records["benchmark"].unique().sort()}


@dataclasses.dataclass(frozen=True, repr=False)
class Evaluation(Folder):
    """Gold beside prediction, case by case, with every score that follows from it.

    `corpus` and `predictions` are what was scored, so that it can be scored again with other
    gold; null where that was not kept. `made` says when it was saved first (``at``, in UTC) and
    by which version of formlab; empty until then. `unreadable` is that of the corpus.
    """

    TABLES: ClassVar[tuple[str, ...]] = ("documents", "cases", "scores")
    MEMBERS: ClassVar[dict[str, type[Folder]]] = {"corpus": Corpus, "predictions": Predictions}
    NEEDS_PLUGINS: ClassVar[bool] = True
    documents: pl.DataFrame
    cases: pl.DataFrame
    scores: pl.DataFrame
    benchmark: str
    split: str
    system: str
    mode: str = "fixed"
    root: Path | None = None
    settings: dict[str, Any] = dataclasses.field(default_factory=dict)
    sources: dict[str, str] = dataclasses.field(default_factory=dict)
    notes: dict[str, int] = dataclasses.field(default_factory=dict)
    made: dict[str, str] = dataclasses.field(default_factory=dict)
    unreadable: dict[str, str] = dataclasses.field(default_factory=dict)
    # By a factory, so that the class has no such attribute: both may be read later.
    corpus: Corpus | None = dataclasses.field(default_factory=lambda: None)
    predictions: Predictions | None = dataclasses.field(default_factory=lambda: None)

    @classmethod
    def of(cls, parts: Sequence[Any], **values: Any) -> Evaluation:
        """The evaluation of the documents of several parts, put together when asked for.

        `parts` are evaluations of different documents, or functions without arguments that make
        one, `values` its fields: tables and members that are not among them come from the parts,
        all else from the first part.
        """
        if missing := [name for name in cls.scalars() if name not in values]:
            first = _opened(parts[0])
            values |= {name: getattr(first, name) for name in missing}
        makers = {name: _Joined(name, parts) for name in cls.TABLES}
        makers |= {name: partial(_member, parts, name) for name in cls.MEMBERS}
        return cls._lazy(makers, values, parts)

    def parts(self) -> Iterator[Evaluation]:
        """The evaluations that this one consists of, each of other documents; or itself alone."""
        yield from map(_opened, self.lazy_parts) if self.lazy_parts else [self]

    def by_part(self, query: Callable[..., Any], *names: str) -> Iterator[pl.DataFrame]:
        """What `query` makes of the lazy tables `names` (or, without, of the evaluation) by part.

        Joins of tables stay small so, since documents are whole within a part.

        >>> import formlab
        >>> evaluation = formlab.evaluate({"a": {"total": "9"}}, {"a": {"total": "8"}})
        >>> [part.height for part in evaluation.by_part(lambda documents: documents, "documents")]
        [1]
        """
        for part in self.parts():
            made = query(*(part.scan(name) for name in names) if names else (part,))
            yield made.collect() if isinstance(made, pl.LazyFrame) else made

    def gathered(self, query: Callable[..., Any], *names: str) -> pl.DataFrame:
        """The frames of `by_part` below each other."""
        return pl.concat(self.by_part(query, *names), how="diagonal_relaxed")

    def changed(self, made: Mapping[str, Any] | None = None, /, **values: Any) -> Evaluation:
        """The evaluation with other fields and tables, part by part; the rest stays unread.

        `made` has by name functions that make a table of (a part of) an evaluation when it is
        asked for, `values` are fields of the parts and of the whole.
        """
        made, change = dict(made or {}), methodcaller("changed", made, **values)
        parts = [partial(_through, change, part) for part in self.lazy_parts]
        new = {n: _Joined(n, parts) if parts else partial(make, self) for n, make in made.items()}
        fields = {field.name for field in dataclasses.fields(self)} - made.keys()
        known = {name: value for name, value in self.__dict__.items() if name in fields}
        return self._lazy(self._makers | new, known | values, parts)

    def mapped(self, function: Callable[[Evaluation], Evaluation], **values: Any) -> Evaluation:
        """The evaluation whose every part went through `function`; `values` are its new fields."""
        if not self.lazy_parts:
            return function(self).changed(**values)
        return self.of([partial(_through, function, part) for part in self.lazy_parts], **values)

    @property
    def document_names(self) -> pl.Series:
        """The names of its documents, sorted: the order of the rows of all sums."""
        return self.scan("documents").select(pl.col("doc_id").unique().sort()).collect()["doc_id"]

    @property
    def fields(self) -> pl.DataFrame:
        """The cases that stand at a path of a form: no whole pages, no nodes of its tree."""
        return self.cases.filter(~pl.col("level").is_in(tables.WHOLE_LEVELS))

    @property
    def own(self) -> list[str]:
        """The columns of documents and cases that are a user's own."""
        heads = {name: self.scan(name).head(0).collect() for name in self.TABLES[:2]}
        return [own for name, head in heads.items() for own in tables.own_columns(name, head)]

    def check(self) -> Self:
        """Itself, if every table follows its schema and no own column stands in two tables."""
        super().check()
        if twice := sorted({name for name in self.own if self.own.count(name) > 1}):
            raise TableBroken(f"own columns of documents and of cases: {', '.join(twice)}")
        return self

    @classmethod
    def made_anew(cls, manifest: Mapping[str, Any], folder: Path) -> str:
        """The command that makes an evaluation of an older format with this version."""
        kept = "predictions" in (manifest.get("parts") or manifest.get("members") or ())
        how, is_own = manifest.get("settings") or {}, manifest.get("benchmark") == "own"
        gold = manifest.get("benchmark")
        if is_own:
            # The file or folder of a user's gold, as far as the kept corpus names it.
            sources, gold = [], manifest.get("split") or "GOLD"
            with suppress(FormlabError, LookupError, TypeError):
                sources = list(files.read_json(folder / "corpus" / MANIFEST)["sources"])
            gold = sources[0] if len(sources) == 1 else gold
        documents = str(how.get("documents", "")).partition(":")[0]
        options = {"images" if is_own else "root": manifest.get("root")}
        options["predictions"] = folder / "predictions" if kept else "PREDICTIONS"
        options["split"] = None if is_own else manifest.get("split")
        options["mode"] = manifest.get("mode")
        options["documents"] = {"answered": "answered", "listed": "FILE"}.get(documents)
        options["reader"] = how.get("reader") if how.get("reader") != "centre" else None
        options["out"] = "FOLDER"
        words = [f"--{name} {shlex.quote(str(word))}" for name, word in options.items() if word]
        return " ".join(["formlab score", shlex.quote(str(gold)), *words])

    def uses(self) -> dict[str, Iterable[str]]:
        """The benchmark, and the metrics of its scores."""
        metrics = self.scan("scores").select(pl.col("metric").unique().sort()).collect()
        return {"benchmarks": [self.benchmark], "metrics": metrics["metric"]}


def _through(function: Callable[[Evaluation], Evaluation], part: Any) -> Evaluation:
    return function(_opened(part))


def _member(parts: Sequence[Any], name: str) -> Folder | None:
    """The corpora or the predictions of all parts as one; null where one has none."""
    members = [getattr(_opened(part), name) for part in parts]
    if None in members:
        return None
    values = {field: getattr(members[0], field) for field in members[0].scalars()}
    makers = {table: _Joined(table, members) for table in members[0].TABLES}
    return members[0]._lazy(makers, values)
