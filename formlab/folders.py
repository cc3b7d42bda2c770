"""The three folders of tables, Corpus, Predictions and Evaluation; an evaluation in shards."""

from __future__ import annotations

import dataclasses
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Annotated, Any, ClassVar, Self

import msgspec
import polars as pl

from formlab import files, registry, shard_parts, swap, tables
from formlab.errors import DataMissing, FormlabError, TableBroken, UnknownName
from formlab.folder import MANIFEST, Folder, check_unchanged
from formlab.folder import table as read_table

# In the folder of an evaluation: its shards, each an evaluation with what a summary needs of it.
SHARDS, TALLIES = shard_parts.SHARDS, shard_parts.TALLIES
# The name of a shard's folder.
_Name = Annotated[str, msgspec.Meta(pattern=r"^[0-9]+$")]


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

    def uses(self) -> dict[str, Iterable[str]]:
        """The system, and the benchmark that it read."""
        # The settings that are not at their default stand behind a system's name.
        system = self.system.partition("(")[0]
        return {"systems": [system], "benchmarks": self.records["benchmark"].unique().sort()}


def _none() -> None:
    return None


@dataclasses.dataclass(frozen=True, repr=False)
class Evaluation(Folder):
    """Gold beside prediction, case by case, with every score that follows from it.

    `corpus` and `predictions` are what was scored, so that it can be scored again with other
    gold; null where that was not kept. `made` says when it was saved first (``at``, in UTC) and
    by which version of formlab; empty until then. `unreadable` is that of the corpus.
    """

    TABLES: ClassVar[tuple[str, ...]] = ("documents", "cases", "scores")
    FORMAT: ClassVar[int] = 2
    NEEDS_PLUGINS: ClassVar[bool] = True
    PARTS: ClassVar[dict[str, type[Folder]]] = {"corpus": Corpus, "predictions": Predictions}
    MORE: ClassVar[dict[str, Any]] = {
        "shards": dict[_Name, str] | None, "shard": str | None, "tallies": str | None,
    }  # fmt: skip
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
    # By a factory, so that the class has no such attribute: an evaluation of shards makes it later.
    corpus: Corpus | None = dataclasses.field(default_factory=_none)
    predictions: Predictions | None = dataclasses.field(default_factory=_none)

    @classmethod
    def of(cls, shards: Sequence[Shard], **values: Any) -> Evaluation:
        """The evaluation of all documents of its shards.

        Its tables and parts are put together from those of the shards when they are first asked
        for; `shards` and `scan` look at one after the other.

        Parameters
        ----------
        shards
            Evaluations of different documents, or functions without arguments that open one.
        **values
            Fields of the evaluation, such as ``notes``. Tables that are not among them come from
            the shards; all else, if it is not among them, from the first shard.
        """
        makers = {
            name: partial(shard_parts.together, shards, name) for name in (*cls.TABLES, *cls.PARTS)
        }
        first = None
        for field in dataclasses.fields(cls):
            if field.name not in (*values, *makers):
                first = first or shard_parts.opened_shard(shards[0])
                values[field.name] = getattr(first, field.name)
        new = cls._later(makers, values)
        object.__setattr__(new, "_shards", tuple(shards))
        return new

    @classmethod
    def opened(cls, folder: str | Path) -> Evaluation:
        """What `save` wrote, each table and part read when it is first asked for, and unchecked."""
        folder = Path(folder)
        manifest = cls.manifest_of(folder)
        values = cls.fields_in(manifest)
        if manifest.get("shards") is not None:
            known = manifest["shards"]
            shards = {cls.shard_folder(folder, name): known[name] for name in known}
            if gone := [shard for shard in shards if not (shard / MANIFEST).is_file()]:
                what = f"{len(gone)} of the {len(shards)} shards of this evaluation are not there"
                raise DataMissing(what, where=gone[0], remedy="the same formlab score again")
            return cls.of(
                [partial(cls._opened_shard, *shard) for shard in shards.items()], **values
            )
        saved = {name: manifest["tables"][name]["sha256"] for name in cls.TABLES}
        makers: dict[str, Callable[[], Any]] = {
            name: partial(shard_parts.table, folder, name, sha256) for name, sha256 in saved.items()
        }
        parts = cls.parts_in(folder, manifest)
        makers |= {name: partial(kind.load, folder / name) for name, kind in parts.items()}
        kept = manifest.get(TALLIES)
        if kept and (folder / f"{TALLIES}.parquet").is_file():
            makers["kept_tallies"] = partial(read_table, folder, TALLIES, kept)
        new = cls._later(makers, values)
        object.__setattr__(new, "_saved", (folder, saved))
        return new

    @classmethod
    def _opened_shard(cls, folder: Path, sha256: str) -> Evaluation:
        check_unchanged(folder / MANIFEST, sha256)
        return cls.opened(folder)

    @classmethod
    def load(cls, folder: str | Path, *, checked: bool = True) -> Self:
        """As for every folder; one with shards is `opened`."""
        manifest = cls.manifest_of(Path(folder))
        if manifest.get("shards") is None:
            return super().load(folder, checked=checked)
        registry.restore(manifest.get("plugins"), where=folder)
        return cls.opened(folder)

    @classmethod
    def files(cls, folder: Path, table: str) -> list[Path]:
        """The files of a table of the evaluation in `folder`, one for each shard."""
        names = cls.manifest_of(folder).get("shards")
        homes = [folder] if names is None else [cls.shard_folder(folder, name) for name in names]
        return [home / f"{table}.parquet" for home in homes]

    @staticmethod
    def shard_folder(folder: Path, name: str) -> Path:
        """Where a shard of the evaluation in `folder` is."""
        return folder / SHARDS / name

    def shards(self) -> Iterator[Evaluation]:
        """The evaluations that this one consists of, each of other documents; or itself alone."""
        several = self.__dict__.get("_shards")
        yield from map(shard_parts.opened_shard, several) if several else [self]

    def scan(self, table: str) -> pl.LazyFrame:
        """A table of the evaluation as a lazy frame, shard by shard if there are several.

        Examples
        --------
        >>> import formlab
        >>> evaluation = formlab.evaluate({"a": {"total": "9"}}, {"a": {"total": "8"}})
        >>> evaluation.scan("cases").filter(level="field").select("outcome").collect().item()
        'mismatch'
        """
        if table not in self.TABLES:
            raise UnknownName.of("table of an evaluation", table, self.TABLES)
        if table in self.__dict__:
            return getattr(self, table).lazy()
        if self.__dict__.get("_shards"):
            return pl.concat([shard.scan(table) for shard in self.shards()], how="diagonal")
        if "_saved" not in self.__dict__:
            return getattr(self, table).lazy()
        folder, saved = self.__dict__["_saved"]
        check_unchanged(file := folder / f"{table}.parquet", saved[table])
        return pl.scan_parquet(file, glob=False)

    def _columns(self, table: str) -> dict[str, Any]:
        """The columns of a table with their types, without reading the rows."""
        if table in self.__dict__ or not {"_shards", "_saved"} & self.__dict__.keys():
            return dict(getattr(self, table).schema)
        if "_saved" in self.__dict__:
            return files.parquet_columns(self.__dict__["_saved"][0] / f"{table}.parquet")
        return {k: v for shard in self.shards() for k, v in shard._columns(table).items()}

    def mapped(self, function: Callable[[Evaluation], Evaluation], **values: Any) -> Evaluation:
        """The evaluation whose every shard went through `function`; `values` are new fields of it.

        `function` must give the same for a document whatever other documents are in its shard.
        """
        several = self.__dict__.get("_shards")
        if not several:
            return dataclasses.replace(function(self), **values)
        made = [partial(shard_parts.through, function, shard) for shard in several]
        return Evaluation.of(made, **values)

    def changed(
        self,
        tables: Mapping[str, Callable[[Evaluation], pl.DataFrame]] | None = None,
        **values: Any,
    ) -> Evaluation:
        """The evaluation, and every shard of it, with other fields; the rest stays unread.

        Parameters
        ----------
        tables
            By name functions that make a table of an evaluation, called for each shard when the
            table is first asked for.
        **values
            Fields of the shards and of the whole; ``dataclasses.replace`` would read all others.

        Examples
        --------
        >>> import formlab
        >>> evaluation = formlab.evaluate({"a": {"total": "9"}}, {"a": {"total": "8"}})
        >>> evaluation.changed({"cases": lambda each: each.cases.clear()}).cases.height
        0
        """
        tables = dict(tables or {})
        owners = (*self.TABLES, *self.PARTS)
        several = self.__dict__.get("_shards")
        own = {
            field.name: self.__dict__[field.name]
            for field in dataclasses.fields(self)
            if field.name in self.__dict__ and field.name not in (*tables, *values)
        }
        if several:
            made = [partial(shard_parts.changed, shard, tables, values) for shard in several]
            return Evaluation.of(made, **own, **values)
        makers = {name: partial(getattr, self, name) for name in owners if name not in own}
        if not {*tables, *values} & set(self.TABLES):
            # What a stored shard keeps of its scores is still true.
            makers["kept_tallies"] = partial(getattr, self, "kept_tallies", None)
        makers |= {name: partial(make, self) for name, make in tables.items()}
        left = {name: make for name, make in makers.items() if name not in values}
        return self._later(left, own | values)

    @property
    def fields(self) -> pl.DataFrame:
        """The cases that stand at a path of a form: no whole pages, no nodes of its tree."""
        return self.cases.filter(~pl.col("level").is_in(tables.WHOLE_LEVELS))

    @property
    def own(self) -> list[str]:
        """The columns of documents and cases that are a user's own."""
        heads = {name: pl.DataFrame(schema=self._columns(name)) for name in self.TABLES[:2]}
        return [own for name, head in heads.items() for own in tables.own_columns(name, head)]

    def check(self) -> Self:
        """Itself, if every table follows its schema and no own column stands in two tables."""
        super().check()
        twice = sorted({name for name in self.own if self.own.count(name) > 1})
        if twice:
            raise TableBroken(f"own columns of documents and of cases: {', '.join(twice)}")
        return self

    def save(self, folder: str | Path) -> Path:
        """As for every folder, shard by shard; the first time it is saved, `made` is recorded.

        An evaluation that was opened from `folder` itself is to be opened again afterwards.
        """
        folder = Path(folder)
        made = self.made or shard_parts.made_now()
        if not self.__dict__.get("_shards"):
            self.check()
            return self._replace(folder, made=made)
        names = []
        with self._replacing(folder) as new:
            for number, shard in enumerate(self.shards()):
                names.append(f"{number:05}")
                kept = getattr(shard, "kept_tallies", None)
                shard.check().save_shard(self.shard_folder(new, names[-1]), tallies=kept)
            fields = {f.name for f in dataclasses.fields(self)} - {*self.TABLES, *self.PARTS}
            values = {name: getattr(self, name) for name in fields}
            self.finish(new, names, **values | {"made": made})
        return folder

    def save_shard(
        self, folder: Path, *, tallies: pl.DataFrame | None, key: str | None = None,
        parts: bool = True,
    ) -> None:  # fmt: skip
        """Write one of the shards of an evaluation, checked already, into its folder.

        `tallies` are its own, if there are any; `key` stands in its manifest. Without `parts`, its
        corpus and predictions are there already.
        """
        with files.writing(folder):
            (folder / MANIFEST).unlink(missing_ok=True)
        more = {}
        if tallies is not None:
            files.write_parquet(folder / f"{TALLIES}.parquet", tallies)
            more[TALLIES] = files.sha256(folder / f"{TALLIES}.parquet")
        self._write(folder, parts=parts, made={}, shard=key, **more)

    @classmethod
    @contextmanager
    def _replacing(cls, folder: Path, *, gone: Iterable[str] = ()) -> Iterator[Path]:
        owned = (SHARDS, *(f"{name}.parquet" for name in (*cls.TABLES, TALLIES)))
        with super()._replacing(folder, gone=(*owned, *gone)) as new:
            yield new
        # What was begun there is of an older one.
        files.remove(folder / swap.UNFINISHED)

    @classmethod
    def take(cls, folder: Path) -> None:
        """Make what was begun in `folder`, and is finished, its evaluation."""
        with cls._replacing(folder) as new:
            for path in sorted((folder / swap.UNFINISHED).iterdir()):
                path.rename(new / path.name)

    @classmethod
    def finish(cls, folder: Path, names: Sequence[str], **values: Any) -> None:
        """Make `folder` the evaluation of the shards of these names in it, and of no other.

        `values` are its fields, as for `of`.
        """
        shards = [cls.manifest_of(cls.shard_folder(folder, name)) for name in names]
        manifest = shard_parts.manifest(shards, values)
        # What processes that were killed have left, and other shards.
        files.sweep(folder.rglob(".*.part"))
        for kept in (folder / SHARDS).iterdir():
            if kept.name not in names:
                files.remove(kept)
        known = {name: files.sha256(cls.shard_folder(folder, name) / MANIFEST) for name in names}
        files.write_json(folder / MANIFEST, manifest | {"shards": known})

    @classmethod
    def manifest_of(cls, folder: Path) -> dict[str, Any]:
        """As for every folder; `DataMissing` says so if shards were begun and not finished."""
        begun = (folder / SHARDS).is_dir() or (folder / swap.UNFINISHED).is_dir()
        if begun and not (folder / MANIFEST).exists():
            what, remedy = "this evaluation is not finished", "the same formlab score again"
            raise DataMissing(what, where=folder / MANIFEST, remedy=remedy)
        return super().manifest_of(folder)

    @classmethod
    def _made_anew(cls, manifest: Mapping[str, Any], folder: Path) -> str:
        kept, how = "predictions" in manifest.get("parts", ()), manifest.get("settings") or {}
        documents = str(how.get("documents", "")).partition(":")[0]
        is_own = manifest.get("benchmark") == "own"
        options = {
            "images" if is_own else "root": manifest.get("root"),
            "predictions": folder / "predictions" if kept else "PREDICTIONS",
            **{name: manifest.get(name) for name in (() if is_own else ("split",)) + ("mode",)},
            "documents": {"answered": "answered", "listed": "FILE"}.get(documents),
            "reader": how.get("reader") if how.get("reader") != "centre" else None,
            "out": "FOLDER",
        }
        words = [f"--{name} {shlex.quote(str(word))}" for name, word in options.items() if word]
        gold = cls._gold_of(manifest, folder) if is_own else manifest.get("benchmark")
        return " ".join(["formlab score", shlex.quote(str(gold)), *words])

    @staticmethod
    def _gold_of(manifest: Mapping[str, Any], folder: Path) -> str:
        """The file or folder of a user's gold, as far as the kept corpus names it."""
        try:
            sources = list(files.read_json(folder / "corpus" / MANIFEST)["sources"])
        except (FormlabError, LookupError, TypeError):
            sources = []
        return str(sources[0] if len(sources) == 1 else manifest.get("split") or "GOLD")

    def uses(self) -> dict[str, Iterable[str]]:
        """The benchmark, and the metrics of its scores."""
        return {"benchmarks": [self.benchmark], "metrics": self.scores["metric"].unique().sort()}


# One of the evaluations that another consists of, or what opens it.
Shard = Evaluation | Callable[[], Evaluation]
