"""The three folders of tables: Corpus, Predictions, Evaluation; how they are saved and loaded."""

from __future__ import annotations

import dataclasses
import shlex
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, ClassVar, Self

import polars as pl

from formlab import files, frames, plugin_records, previews, tables
from formlab.errors import DataBroken, TableBroken


@dataclasses.dataclass(frozen=True)
class Folder:
    """Tables that belong together, saved as Parquet files beside a manifest.

    A part, a field that is such a folder itself or null, is saved in a folder of its name.
    """

    TABLES: ClassVar[tuple[str, ...]] = ()
    PARTS: ClassVar[dict[str, type[Folder]]] = {}
    # Counts the changes of the schema that older folders cannot be read after.
    FORMAT: ClassVar[int] = 1

    def __post_init__(self) -> None:
        for name in self.TABLES:
            object.__setattr__(self, name, frames.to_polars(getattr(self, name)))

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
        manifest: dict[str, Any] = {
            "kind": type(self).__name__, "format": self.FORMAT, "formlab": files.version(),
        }  # fmt: skip
        manifest |= {
            field.name: value
            for field in dataclasses.fields(self)
            if not isinstance(value := getattr(self, field.name), pl.DataFrame)
            and field.name not in self.PARTS
        }
        manifest["plugins"] = plugin_records.needed(self.uses())
        manifest["root"] = None if manifest.get("root") is None else str(manifest["root"])
        manifest["tables"] = {}
        for name in self.TABLES:
            file = folder / f"{name}.parquet"
            files.write_parquet(file, getattr(self, name))
            manifest["tables"][name] = {
                "rows": getattr(self, name).height,
                "sha256": files.sha256(file),
            }
        manifest["parts"] = [name for name in self.PARTS if getattr(self, name) is not None]
        for name in manifest["parts"]:
            getattr(self, name).save(folder / name)
        files.write_json(folder / "manifest.json", manifest)
        return folder

    @classmethod
    def load(cls, folder: str | Path) -> Self:
        """Read what `save` wrote; parts that are folders of tables where they are there.

        `DataMissing` or `DataBroken` if the folder, its manifest or a table is absent, damaged or
        of another kind; `NotAvailable` if a plug-in is absent, see `plugin_records.restore`.
        """
        folder = Path(folder)
        manifest = cls.manifest_of(folder)
        if cls is Evaluation:
            plugin_records.restore(manifest.get("plugins"), where=folder)
        values: dict[str, Any] = {
            name: files.read_parquet(folder / f"{name}.parquet") for name in cls.TABLES
        }
        values |= {
            name: kind.load(folder / name)
            for name, kind in cls.PARTS.items()
            if name in manifest.get("parts", ())
        }
        for field in dataclasses.fields(cls):
            if field.name not in (*values, *cls.PARTS) and field.name in manifest:
                values[field.name] = manifest[field.name]
        if values.get("root") is not None:
            values["root"] = Path(values["root"])
        return cls(**values).check()

    @classmethod
    def manifest_of(cls, folder: Path) -> dict[str, Any]:
        """The manifest in `folder`; `DataBroken` if it is of another kind or another format."""
        file = folder / "manifest.json"
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


@dataclasses.dataclass(frozen=True, repr=False)
class Corpus(Folder):
    """What a benchmark holds: its documents and their gold records.

    `root` is the folder that `documents.image` is relative to; `flaws` counts what is odd in
    the source files, by a short name; `sources` maps each file read to its SHA-256.
    """

    TABLES: ClassVar[tuple[str, ...]] = ("documents", "records")
    documents: pl.DataFrame
    records: pl.DataFrame
    benchmark: str
    split: str
    root: Path | None = None
    flaws: dict[str, int] = dataclasses.field(default_factory=dict)
    sources: dict[str, str] = dataclasses.field(default_factory=dict)


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


@dataclasses.dataclass(frozen=True, repr=False)
class Evaluation(Folder):
    """Gold beside prediction, case by case, with every score that follows from it.

    `corpus` and `predictions` are what was scored, so that it can be scored again with other
    gold; null where that was not kept. `made` says when it was saved first (``at``, in UTC) and
    by which version of formlab; empty until then.
    """

    TABLES: ClassVar[tuple[str, ...]] = ("documents", "cases", "scores")
    FORMAT: ClassVar[int] = 2
    PARTS: ClassVar[dict[str, type[Folder]]] = {"corpus": Corpus, "predictions": Predictions}
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
    corpus: Corpus | None = None
    predictions: Predictions | None = None

    @property
    def fields(self) -> pl.DataFrame:
        """The cases that stand at a path of a form: no whole pages, no nodes of its tree."""
        return self.cases.filter(~pl.col("level").is_in(tables.WHOLE_LEVELS))

    @property
    def own(self) -> list[str]:
        """The columns of documents and cases that are a user's own."""
        return tables.own_columns("documents", self.documents) + tables.own_columns(
            "cases", self.cases
        )

    def check(self) -> Self:
        """Itself, if every table follows its schema and no own column stands in two tables."""
        super().check()
        twice = sorted({name for name in self.own if self.own.count(name) > 1})
        if twice:
            raise TableBroken(f"own columns of documents and of cases: {', '.join(twice)}")
        return self

    def save(self, folder: str | Path) -> Path:
        """As for every folder; the first time it is saved, `made` is recorded."""
        if self.made:
            return super().save(folder)
        now = datetime.now(UTC).isoformat(timespec="milliseconds")
        made = {"at": now, "formlab": files.version()}
        return dataclasses.replace(self, made=made).save(folder)

    @classmethod
    def _made_anew(cls, manifest: Mapping[str, Any], folder: Path) -> str:
        kept, how = "predictions" in manifest.get("parts", ()), manifest.get("settings") or {}
        documents = str(how.get("documents", "")).partition(":")[0]
        options = {
            "predictions": folder / "predictions" if kept else "PREDICTIONS",
            "root": manifest.get("root"),
            **{name: manifest.get(name) for name in ("split", "mode")},
            "documents": {"answered": "answered", "listed": "FILE"}.get(documents),
            "reader": how.get("reader") if how.get("reader") != "centre" else None,
            "out": "FOLDER",
        }
        words = [f"--{name} {shlex.quote(str(word))}" for name, word in options.items() if word]
        return " ".join(["formlab score", shlex.quote(str(manifest.get("benchmark"))), *words])

    def uses(self) -> dict[str, Iterable[str]]:
        """The benchmark, and the metrics of its scores."""
        return {"benchmarks": [self.benchmark], "metrics": self.scores["metric"].unique().sort()}
