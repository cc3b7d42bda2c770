"""Corpus, Predictions and Evaluation: what is scored, and the scores."""

from __future__ import annotations

import dataclasses
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from operator import methodcaller
from pathlib import Path
from typing import Any, ClassVar, Self

import polars as pl

from formlab import files, tables
from formlab.errors import FormlabError, TableBroken
from formlab.saving import MANIFEST
from formlab.stored import Folder, Joined, PartFile, made_now, opened  # noqa: F401


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
        below = folder / "predictions"
        is_run = (folder / "run.json").is_file() and not (folder / MANIFEST).is_file()
        return below if is_run else folder

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
    def of(
        cls, parts: Sequence[Evaluation | Callable[[], Evaluation]], **values: Any
    ) -> Evaluation:
        """The evaluation of the documents of several parts, put together when asked for.

        Parameters
        ----------
        parts
            Evaluations of different documents, or functions without arguments that make one.
        **values
            Its fields; tables and members that are not among them come from the parts, all else
            from the first part.
        """
        if missing := [name for name in cls.scalars() if name not in values]:
            first = opened(parts[0])
            values |= {name: getattr(first, name) for name in missing}
        makers = {name: Joined(name, parts) for name in cls.TABLES}
        makers |= {name: partial(_member, parts, name) for name in cls.MEMBERS}
        return cls._lazy(makers, values, parts)

    def parts(self) -> Iterator[Evaluation]:
        """The evaluations that this one consists of, each of other documents; or itself alone."""
        yield from map(opened, self.lazy_parts) if self.lazy_parts else [self]

    def by_part(self, query: Callable[..., Any], *names: str) -> Iterator[pl.DataFrame]:
        """What `query` makes of the lazy tables `names` (or, without, of the evaluation) by part.

        Joins of tables stay small so, since documents are whole within a part.

        Examples
        --------
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

    def changed(
        self, made: Mapping[str, Callable[[Evaluation], Any]] | None = None, /, **values: Any
    ) -> Evaluation:
        """The evaluation with other fields and tables, part by part; the rest stays unread.

        Parameters
        ----------
        made
            By name functions that make a table of (a part of) an evaluation when it is asked for.
        **values
            Fields of the parts and of the whole.

        Examples
        --------
        >>> import formlab
        >>> evaluation = formlab.evaluate({"a": {"total": "9"}}, {"a": {"total": "8"}})
        >>> evaluation.changed({"cases": lambda part: part.cases.clear()}).cases.height
        0
        """
        made = dict(made or {})
        change = methodcaller("changed", made, **values)
        parts = [partial(_through, change, part) for part in self.lazy_parts]
        makers = self._makers | {
            name: Joined(name, parts) if parts else partial(make, self)
            for name, make in made.items()
        }
        fields = {field.name for field in dataclasses.fields(self)} - made.keys()
        known = {name: value for name, value in self.__dict__.items() if name in fields}
        return self._lazy(makers, known | values, parts)

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
        twice = sorted({name for name in self.own if self.own.count(name) > 1})
        if twice:
            raise TableBroken(f"own columns of documents and of cases: {', '.join(twice)}")
        return self

    @classmethod
    def made_anew(cls, manifest: Mapping[str, Any], folder: Path) -> str:
        """The command that makes an evaluation of an older format with this version."""
        kept = "predictions" in (manifest.get("parts") or manifest.get("members") or ())
        how, is_own = manifest.get("settings") or {}, manifest.get("benchmark") == "own"
        gold = _gold_of(manifest, folder) if is_own else manifest.get("benchmark")
        documents = str(how.get("documents", "")).partition(":")[0]
        options = {
            "images" if is_own else "root": manifest.get("root"),
            "predictions": folder / "predictions" if kept else "PREDICTIONS",
            "split": None if is_own else manifest.get("split"),
            "mode": manifest.get("mode"),
            "documents": {"answered": "answered", "listed": "FILE"}.get(documents),
            "reader": how.get("reader") if how.get("reader") != "centre" else None,
            "out": "FOLDER",
        }
        words = [f"--{name} {shlex.quote(str(word))}" for name, word in options.items() if word]
        return " ".join(["formlab score", shlex.quote(str(gold)), *words])

    def uses(self) -> dict[str, Iterable[str]]:
        """The benchmark, and the metrics of its scores."""
        metrics = self.scan("scores").select(pl.col("metric").unique()).collect()["metric"]
        return {"benchmarks": [self.benchmark], "metrics": metrics.sort()}


def _gold_of(manifest: Mapping[str, Any], folder: Path) -> str:
    """The file or folder of a user's gold, as far as the kept corpus names it."""
    try:
        sources = list(files.read_json(folder / "corpus" / MANIFEST)["sources"])
    except (FormlabError, LookupError, TypeError):
        sources = []
    return str(sources[0] if len(sources) == 1 else manifest.get("split") or "GOLD")


def _through(function: Callable[[Evaluation], Evaluation], part: Any) -> Evaluation:
    return function(opened(part))


def _member(parts: Sequence[Any], name: str) -> Folder | None:
    """The corpora or the predictions of all parts as one; null where one has none."""
    members = [getattr(opened(part), name) for part in parts]
    if None in members:
        return None
    values = {field: getattr(members[0], field) for field in members[0].scalars()}
    makers = {table: Joined(table, members) for table in members[0].TABLES}
    return members[0]._lazy(makers, values)
