"""Corpus, Predictions and Evaluation: folders of tables, each table a folder of part files.

Part files of one name hold the same documents in every table, and documents are whole within a
part, so tables are joined part by part. A table is read when it is asked for.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import lru_cache, partial
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar, Self

import polars as pl

from formlab import files, registry, saving, show, tables
from formlab.errors import TableBroken, UnknownName
from formlab.saving import MANIFEST, home_of, is_hidden, read_manifest, replacing  # noqa: F401

# Scans a table of a part by its name.
Scan = Callable[[str], pl.LazyFrame]


@dataclasses.dataclass(frozen=True, eq=False)
class Folder:
    """Tables that belong together, saved as Parquet files beside a manifest.

    A member, a field that is such a folder itself or null, is saved in a folder of its name.
    """

    TABLES: ClassVar[tuple[str, ...]] = ()
    MEMBERS: ClassVar[dict[str, type[Folder]]] = {}
    # Of each part what scans the tables that are not in memory.
    _scans: ClassVar[Sequence[Scan]] = ()

    def __post_init__(self) -> None:
        self.__dict__.update((n, tables.to_polars(getattr(self, n))) for n in self.TABLES)

    def __getattr__(self, name: str) -> Any:
        if name not in self.TABLES or not self._scans:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        frame = self.scan(name).collect()
        self.scan(name)  # Files may have been replaced while they were read.
        return self.__dict__.setdefault(name, frame)

    __repr__, _repr_html_ = show.line, show.html

    @classmethod
    def scalars(cls) -> list[str]:
        """The names of the fields that are no tables and no members."""
        names = [field.name for field in dataclasses.fields(cls)]
        return [name for name in names if name not in (*cls.TABLES, *cls.MEMBERS)]

    def check(self) -> Self:
        """Itself, if every table follows its schema; else `TableBroken` with what one does not."""
        for name in self.TABLES:
            tables.check(name, getattr(self, name))
        return self

    def filtered(self, rows: pl.Expr) -> Self:
        """The same with these rows of each table alone."""
        return dataclasses.replace(self, **{n: getattr(self, n).filter(rows) for n in self.TABLES})

    def with_scans(self, scans: Sequence[Scan], **values: Any) -> Self:
        """The same with other fields, its tables read by `scans`, one a part, when asked for."""
        fields = {name: value for name, value in vars(self).items() if name not in self.TABLES}
        new = object.__new__(type(self))
        new.__dict__.update(fields | values, _scans=scans)
        return new

    def parts(self, **values: Any) -> Iterator[Self]:
        """The folders that this one consists of, with other fields; or itself alone, as it is."""
        if len(self._scans) < 2:
            return iter([self])
        # A member that was made in memory may be of all parts.
        members = {name: m for name in self.MEMBERS if (m := getattr(self, name)) and m._scans}
        parts = zip(self._scans, *(m.parts() for m in members.values()), strict=True)
        named = ((scan, zip(members, of_scan, strict=True)) for scan, *of_scan in parts)
        return (self.with_scans([scan], **values, **dict(pairs)) for scan, pairs in named)

    def scan(self, table: str) -> pl.LazyFrame:
        """A table as a lazy frame: what is on disk stays there until it is asked for."""
        if table not in self.TABLES:
            raise UnknownName.of(f"table of {type(self).__name__}", table, self.TABLES)
        if table in self.__dict__:
            return getattr(self, table).lazy()
        return pl.concat([scan(table) for scan in self._scans], how="diagonal")

    def changed(self, made: Mapping[str, Any] = MappingProxyType({}), /, **values: Any) -> Self:
        """The same with other fields, and tables that functions of `made` make of each part."""

        def scan(part: Self, table: str) -> pl.LazyFrame:
            return made[table](part).lazy() if table in made else part.scan(table)

        return self.with_scans([partial(scan, part) for part in self.parts()], **values)

    def mapped(self, function: Callable[[Self], Self], **values: Any) -> Self:
        """The same with the tables that `function` gives every part; `values` are new fields."""
        # The tables of a part are asked for one after another.
        once = lru_cache(maxsize=1)(function)
        made = {name: lambda part, name=name: getattr(once(part), name) for name in self.TABLES}
        return self.changed(made, **values)

    def save(self, folder: str | Path) -> Path:
        """Write every table and `manifest.json` into `folder`; all of them or none.

        What was saved there before stays whole until what is new takes its place, and so it does
        if this is killed. Of an evaluation `made` is recorded the first time. `NotAvailable` if
        nothing can be written there, `DataBroken` if files that are not formlab's are in the way.
        """
        with replacing(folder) as new:
            for number, part in enumerate(self.parts()):
                part.check().write_part(new, number)
            self.finish(new)
        return Path(folder)

    def write_part(self, folder: Path, number: int) -> Scan:
        """Write tables and those of members as part `number` of a folder; what scans the tables."""
        name = f"{number:05}.parquet"
        for table in self.TABLES:
            file, frame = folder / table / name, getattr(self, table)
            if is_scores := table == "scores":
                # Columns are read faster than structs, and a setting that no score has is none.
                frame = frame.unnest("settings", separator=".")
                frame = frame[[s.name for s in frame if s.count() or "settings" not in s.name]]
            files.write_parquet(file, frame, statistics=not is_scores)  # Of scores none is used.
        for member in self.MEMBERS:
            if (value := getattr(self, member)) is not None:
                value.check().write_part(folder / member, number)
        return partial(_scan, folder, name)

    def finish(self, folder: Path) -> None:
        """Write the manifest of the parts that are in `folder`, with all that is no table."""
        version = {"formlab": files.version()}
        content = {"kind": type(self).__name__, "format": saving.FORMAT} | version
        content |= {name: getattr(self, name) for name in self.scalars()}
        content |= {"plugins": [], "tables": {}, "members": {}}
        if content.get("made") == {}:
            content["made"] = {"at": datetime.now(UTC).isoformat(timespec="milliseconds")} | version
        for table in self.TABLES:
            paths = sorted((folder / table).iterdir())
            parts = [pl.scan_parquet(path, glob=False) for path in paths]
            heights = pl.concat(part.select(pl.len()) for part in parts).collect().to_series()
            names, hashes = (path.name for path in paths), map(files.sha256, paths)
            content["tables"][table] = list(zip(names, heights, hashes, strict=True))
            if table == "scores":
                uses = {"benchmarks": [content["benchmark"]]}
                if registry.entries("metrics"):  # Else all are those of formlab.
                    metrics = pl.concat(parts).select(pl.col("metric").unique().sort())
                    uses["metrics"] = metrics.collect().to_series()
                content["plugins"] = registry.needed(uses)
        for name in self.MEMBERS:
            if (value := getattr(self, name)) is not None:
                value.finish(folder / name)
                content["members"][name] = files.sha256(folder / name / MANIFEST)
        files.write_json(folder / MANIFEST, content)

    @classmethod
    def load(cls, folder: str | Path, *, scanned: bool = False) -> Self:
        """Read what `save` wrote; members, and tables of several parts, when they are asked for.

        With `scanned` so is a single part. `DataMissing` or `DataBroken` if the folder, its
        manifest or a table is absent, damaged, not as it was saved, or of another kind;
        `NotAvailable` if a plug-in is absent, see `registry.restore`.
        """
        home, content = read_manifest(cls, Path(folder))
        registry.restore(content["plugins"], where=home)
        values = {field: content[field] for field in cls.scalars() if field in content}
        values |= {"root": Path(root)} if (root := values.get("root")) is not None else {}
        for member, sha256 in content["members"].items():
            saving.check_unchanged(home / member / MANIFEST, sha256)
            values[member] = cls.MEMBERS[member].load(home / member, scanned=True)
        parts = zip(*(content["tables"][table] for table in cls.TABLES), strict=True)
        scans = [partial(_scanned, home, dict(zip(cls.TABLES, p, strict=True))) for p in parts]
        new = cls(**dict.fromkeys(cls.TABLES), **values).with_scans(scans)
        return new if scanned or len(scans) > 1 else dataclasses.replace(new).check()


def _scan(folder: Path, name: str, table: str) -> pl.LazyFrame:
    return pl.scan_parquet(folder / table / name, glob=False)


def _scanned(home: Path, saved: Mapping[str, tuple[str, int, str]], table: str) -> pl.LazyFrame:
    """A table in a file that stands as it was saved."""
    name, _, sha256 = saved[table]
    # Format 1 has one file beside the manifest.
    file = home / (table if name[0].isdigit() else "") / name
    saving.check_unchanged(file, sha256)
    frame = pl.scan_parquet(file, glob=False)
    names = frame.collect_schema().names()
    if table == "scores" and "settings" not in names:
        known = {f"settings.{n}": pl.lit(None, kind).alias(n) for n, kind in tables.SETTINGS}
        known |= {n: pl.col(n).alias(n.removeprefix("settings.")) for n in names if n in known}
        return frame.select(pl.exclude(*known), settings=pl.struct(*known.values()))
    if "field" not in tables.SCHEMAS[table] or "field" in names or "subtype" not in names:
        return frame
    # Saved before 0.3, until 0.4: the field of one's own forms is in `subtype`.
    is_own = pl.col("benchmark") == "own"
    field, subtype = (pl.when(is_its).then("subtype") for is_its in (is_own, ~is_own))
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
        names = {table: self.scan(table).collect_schema().names() for table in self.TABLES[:2]}
        return [n for table in names for n in names[table] if n not in tables.SCHEMAS[table]]

    def check(self) -> Self:
        """Itself, if every table follows its schema and no own column stands in two tables."""
        super().check()
        if twice := sorted({name for name in self.own if self.own.count(name) > 1}):
            raise TableBroken(f"own columns of documents and of cases: {', '.join(twice)}")
        return self
