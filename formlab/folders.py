"""Corpus, Predictions and Evaluation: folders of tables, each table a folder of part files.

Part files of one name hold the same documents in every table, and documents are whole within a
part, so tables are joined part by part. A table is read when it is asked for.
"""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, Self

import polars as pl

from formlab import files, frames, registry, saving, show, tables
from formlab.errors import TableBroken, UnknownName
from formlab.saving import MANIFEST, is_hidden, replacing  # noqa: F401


class PartFile(NamedTuple):
    """A written part of a table: `table` may be that of a member, such as ``corpus/records``."""

    table: str
    name: str
    rows: int
    sha256: str


@dataclasses.dataclass(frozen=True, eq=False)
class Folder:
    """Tables that belong together, saved as Parquet files beside a manifest.

    A member, a field that is such a folder itself or null, is saved in a folder of its name.
    """

    TABLES: ClassVar[tuple[str, ...]] = ()
    MEMBERS: ClassVar[dict[str, type[Folder]]] = {}
    # By the name of a table that is not in memory what scans each of its parts.
    _scans: ClassVar[Mapping[str, Sequence[Callable[[], pl.LazyFrame]]]] = {}

    def __post_init__(self) -> None:
        for name in self.TABLES:
            object.__setattr__(self, name, frames.to_polars(getattr(self, name)))

    def __getattr__(self, name: str) -> Any:
        if name not in self._scans:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        frame = self.scan(name).collect()
        self.scan(name)  # Files may have been replaced while they were read.
        object.__setattr__(self, name, frame)
        return frame

    def _with(self, scans: Mapping[str, Any], **values: Any) -> Self:
        """The same with other fields, and with tables that are scanned when they are asked for."""
        new = copy.copy(self)
        new.__dict__.update(values, _scans={**self._scans, **scans})
        for name in scans.keys() - values.keys():
            new.__dict__.pop(name, None)
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

    def check(self) -> Self:
        """Itself, if every table follows its schema; else `TableBroken` with all mismatches."""
        checked = (tables.mismatches(name, getattr(self, name)) for name in self.TABLES)
        if wrong := "\n".join(filter(None, checked)):
            raise TableBroken(wrong)
        return self

    @property
    def _count(self) -> int:
        return max(map(len, self._scans.values()), default=1)

    def _part(self, number: int) -> Self:
        scans = {table: [scans[number]] for table, scans in self._scans.items()}
        members = {name: getattr(self, name) for name in self.MEMBERS}
        members = {name: member and member._part(number) for name, member in members.items()}
        return self._with(scans, **members)

    def parts(self) -> Iterator[Self]:
        """The folders that this one consists of, each of other documents; or itself alone."""
        yield from map(self._part, range(self._count)) if self._count > 1 else [self]

    def scan(self, table: str) -> pl.LazyFrame:
        """A table as a lazy frame: what is on disk stays there until it is asked for."""
        if table not in self.TABLES:
            raise UnknownName.of(f"table of {type(self).__name__}", table, self.TABLES)
        if table in self.__dict__:
            return getattr(self, table).lazy()
        return pl.concat([scan() for scan in self._scans[table]], how="diagonal")

    def changed(self, made: Mapping[str, Any] | None = None, /, **values: Any) -> Self:
        """The same with other fields and tables, part by part; the rest stays unread.

        `made` has by name functions that make a table of (a part of) the folder when it is asked
        for, `values` are fields of the parts and of the whole.
        """
        parts = list(self.parts())
        scans = {
            n: [partial(_made, make, part) for part in parts] for n, make in (made or {}).items()
        }
        return self._with(scans, **values)

    def mapped(self, function: Callable[[Self], Self], **values: Any) -> Self:
        """The same with the tables that `function` gives every part; `values` are new fields."""
        if self._count == 1:
            result = function(self)
            return self._with({}, **{name: getattr(result, name) for name in self.TABLES} | values)
        made = {name: partial(_table, function, name) for name in self.TABLES}
        return self.changed(made, **values)

    def save(self, folder: str | Path) -> Path:
        """Write every table and `manifest.json` into `folder`; all of them or none.

        What was saved there before stays whole until what is new takes its place, and so it does
        if this is killed. Of an evaluation `made` is recorded the first time. `NotAvailable` if
        nothing can be written there, `DataBroken` if files that are not formlab's are in the way.
        """
        with replacing(folder) as new:
            written = []
            for number, part in enumerate(self.parts()):
                written += part.check().write_part(new, number)
            values = {name: getattr(self, name) for name in (*self.scalars(), *self.MEMBERS)}
            self.finish(new, written, values)
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
    def finish(cls, folder: Path, parts: Sequence[PartFile], values: Mapping[str, Any]) -> None:
        """Write the manifest of `parts`; `values` has the other fields, and the members."""
        uses: dict[str, Iterable[str]] = {}
        if scores := [folder / p.table / p.name for p in parts if p.table == "scores"]:
            metrics = pl.scan_parquet(scores, glob=False).select(pl.col("metric").unique().sort())
            uses = {"benchmarks": [values["benchmark"]], "metrics": metrics.collect()["metric"]}
        content = {"kind": cls.__name__, "format": saving.FORMAT, "formlab": files.version()}
        content |= {name: values[name] for name in cls.scalars()}
        if content.get("made") == {}:
            now = datetime.now(UTC).isoformat(timespec="milliseconds")
            content["made"] = {"at": now, "formlab": files.version()}
        content |= {"plugins": registry.needed(uses), "tables": {}, "members": {}}
        for table in cls.TABLES:
            content["tables"][table] = [part[1:] for part in sorted(parts) if part.table == table]
        for name, kind in cls.MEMBERS.items():
            found = [(p, p.table.removeprefix(f"{name}/")) for p in parts]
            if of_member := [p._replace(table=table) for p, table in found if table != p.table]:
                kind.finish(folder / name, of_member, vars(values[name]))
                content["members"][name] = files.sha256(folder / name / MANIFEST)
        files.write_json(folder / MANIFEST, content)

    @classmethod
    def opened(cls, folder: str | Path) -> Self:
        """What `save` wrote, each table read (or scanned) when it is asked for."""
        home, content = cls.home(Path(folder)), cls.manifest_of(Path(folder))
        registry.restore(content["plugins"], where=home)
        values = {field: content[field] for field in cls.scalars() if field in content}
        if values.get("root") is not None:
            values["root"] = Path(values["root"])
        for member, sha256 in content["members"].items():
            saving.check_unchanged(home / member / MANIFEST, sha256)
            values[member] = cls.MEMBERS[member].opened(home / member)
        scans: dict[str, list[Any]] = {table: [] for table in cls.TABLES}
        for table in cls.TABLES:
            for name, _, sha256 in content["tables"][table]:
                # Format 1 has one file beside the content.
                file = home / (table if name[0].isdigit() else "") / name
                scans[table].append(partial(_scanned, table, file, sha256))
        return cls(**dict.fromkeys(cls.TABLES), **values)._with(scans)

    @classmethod
    def load(cls, folder: str | Path) -> Self:
        """Read what `save` wrote; of several parts each table when it is first asked for.

        `DataMissing` or `DataBroken` if the folder, its manifest or a table is absent, damaged,
        not as it was saved, or of another kind; `NotAvailable` if a plug-in is absent, see
        `registry.restore`.
        """
        new = cls.opened(folder)
        for table in cls.TABLES:
            new.scan(table)
        return new if new._count > 1 else new._collected()

    def _collected(self) -> Self:
        """The same with all tables and members in memory, checked."""
        members = {name: getattr(self, name) for name in self.MEMBERS}
        read = {name: member and member._collected() for name, member in members.items()}
        return dataclasses.replace(self, **read).check()

    @classmethod
    def home(cls, folder: Path) -> Path:
        """Where the tables are: of a run, which has more than them, in a folder of their name."""
        return folder

    @classmethod
    def manifest_of(cls, folder: Path) -> dict[str, Any]:
        """The manifest in `folder`; an error if there is none of this kind and format."""
        return saving.read_manifest(cls, folder)


def _scanned(table: str, file: Path, sha256: str) -> pl.LazyFrame:
    """A table in a file that stands as it was saved."""
    saving.check_unchanged(file, sha256)
    return _with_field(table, pl.scan_parquet(file, glob=False))


def _made(make: Callable[[Any], Any], part: Folder) -> pl.LazyFrame:
    return make(part).lazy()


def _table(function: Callable[[Any], Any], name: str, part: Folder) -> pl.DataFrame:
    return getattr(_of_part(function, part), name)


@lru_cache(maxsize=1)
def _of_part(function: Callable[[Any], Any], part: Folder) -> Any:
    # The tables of a part are asked for one after another.
    return function(part)


def _with_field(table: str, frame: pl.LazyFrame) -> pl.LazyFrame:
    """A table that may be saved without `field`, in `subtype` of own forms then; until 0.4."""
    names = frame.collect_schema().names()
    if "field" not in tables.SCHEMAS[table] or "field" in names or "subtype" not in names:
        return frame
    is_own = pl.col("benchmark") == "own"
    field, subtype = (pl.when(side).then("subtype") for side in (is_own, ~is_own))
    names.insert(names.index("subtype") + 1, "field")
    return frame.with_columns(field=field, subtype=subtype).select(names)


@dataclasses.dataclass(frozen=True, repr=False, eq=False)
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


@dataclasses.dataclass(frozen=True, repr=False, eq=False)
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


@dataclasses.dataclass(frozen=True, repr=False, eq=False)
class Evaluation(Folder):
    """Gold beside prediction, case by case, with every score that follows from it.

    `corpus` and `predictions` are what was scored, so that it can be scored again with other
    gold; null where that was not kept. `made` says when it was saved first (``at``, in UTC) and
    by which version of formlab; empty until then. `unreadable` is that of the corpus.
    """

    TABLES: ClassVar[tuple[str, ...]] = ("documents", "cases", "scores")
    MEMBERS: ClassVar[dict[str, type[Folder]]] = {"corpus": Corpus, "predictions": Predictions}
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
    corpus: Corpus | None = None
    predictions: Predictions | None = None

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
