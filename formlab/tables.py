"""The schemas of every table, and the three folders of tables: Corpus, Predictions, Evaluation.

The one place with dtypes. A value is kept as annotated or emitted; what is unknown is null.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, ClassVar, Self

import polars as pl

from formlab import files, registry
from formlab.errors import DataBroken, TableBroken

_S, _I, _F, _B = pl.String, pl.Int64, pl.Float64, pl.Boolean

DOCUMENTS: dict[str, Any] = {
    "benchmark": _S, "split": _S, "doc_id": _S,
    "image": _S, "width": _I, "height": _I,
    "template": _S, "domain": _S, "n_fields": _I, "n_kinds": _I,
    "context": _S, "meta": _S,
}  # fmt: skip
BOX = ("x0", "y0", "x1", "y1")
RECORDS: dict[str, Any] = {
    "benchmark": _S, "split": _S, "doc_id": _S, "role": _S, "system": _S, "task": _S,
    "path": _S, "kind": _S, "modality": _S, "subtype": _S,
    "value": _S, "accepted": pl.List(_S),
    "page": _I, "x0": _F, "y0": _F, "x1": _F, "y1": _F, "confidence": _F,
    "scope": _S, "reference": _S, "complexity": _S, "modal": _S,
    "status": _S, "origin": _S, "meta": _S,
}  # fmt: skip
RESPONSES: dict[str, Any] = {
    "benchmark": _S, "split": _S, "doc_id": _S, "system": _S, "task": _S,
    "request": _S, "text": _S, "status": _S, "attempts": _I,
    "tokens_in": _I, "tokens_out": _I, "cost": _F, "seconds": _F, "error": _S,
}  # fmt: skip
LADDER = ("exact", "normalised", "typed", "fuzzy")
CASES: dict[str, Any] = {
    "benchmark": _S, "split": _S, "doc_id": _S, "system": _S, "task": _S,
    "path": _S, "pred_path": _S, "kind": _S, "modality": _S, "subtype": _S,
    "gold": _S, "accepted": pl.List(_S), "pred": _S,
    "page": _I, "x0": _F, "y0": _F, "x1": _F, "y1": _F,
    "pred_page": _I, "pred_x0": _F, "pred_y0": _F, "pred_x1": _F, "pred_y1": _F,
    "confidence": _F, "scope": _S, "reference": _S, "complexity": _S, "modal": _S,
    "status": _S, "outcome": _S,
    "exact": _B, "normalised": _B, "typed": _B, "fuzzy": _B,
    "similarity": _F, "cause": _S, "gold_origin": _S, "pred_origin": _S,
    # Of nodes of a form's tree (task layout): how deep they stand and what their edit costs.
    "depth": _I, "cost": _F,
    # What the other reading rules read under the box, in the order that `settings` names them.
    "readings": pl.List(_S),
    # Of a field found in a page's text: the place of its first character there.
    "at": _I,
    # Whether the values are equal only if day and month are read in the other order.
    "ambiguous": _B,
}  # fmt: skip
SCORES: dict[str, Any] = {
    "benchmark": _S, "split": _S, "doc_id": _S, "system": _S, "unit": _S, "path": _S,
    "slice": _S, "metric": _S, "hits": _F, "total": _F, "stats": pl.List(_F), "value": _F,
    "status": _S, "settings": _S,
}  # fmt: skip
SUMMARY: dict[str, Any] = {
    "benchmark": _S, "split": _S, "system": _S, "metric": _S, "slice": _S,
    "value": _F, "ci_low": _F, "ci_high": _F,
    "n_docs": _I, "n_cases": _I, "n_missing": _I, "n_undefined": _I,
    "n_reader": _I, "n_ambiguous": _I, "settings": _S,
}  # fmt: skip
# What a person decided about one value or item: see `formlab.decisions`.
DECISIONS: dict[str, Any] = {
    "benchmark": _S, "split": _S, "doc_id": _S, "task": _S, "path": _S,
    "decision": _S, "label": _S, "value": _S, "parts": _S, "note": _S,
    "reviewer": _S, "time": _S,
}  # fmt: skip

ROLES = ("gold", "prediction")
TASKS = (
    "text", "marking", "visual", "cross", "layout", "vqa", "consistency",
    "value", "click", "entity", "fact",
)  # fmt: skip
STATUSES = (
    "ok", "missing", "bad_json", "repaired", "refused", "truncated", "api_error", "unscored",
)  # fmt: skip
# A status under which the answer still counts; every other one counts as nothing found.
USABLE = ("ok", "repaired")
OUTCOMES = ("match", "mismatch", "missing", "spurious", "unscored")
# Of a review, then of the court.
DECIDED = ("accept", "edit", "reject", "label_error", "ambiguous", "wrong")

_KEYS: dict[str, tuple[str, ...]] = {
    "documents": ("benchmark", "split", "doc_id"),
    "records": ("benchmark", "split", "doc_id", "role", "system", "path"),
    "decisions": ("benchmark", "split", "doc_id", "task", "path", "reviewer"),
}
_REQUIRED = {
    "documents": ("benchmark", "split", "doc_id"),
    "records": ("benchmark", "split", "doc_id", "role", "task", "status"),
    "cases": ("benchmark", "split", "doc_id", "system", "task", "outcome"),
    "scores": ("benchmark", "split", "doc_id", "system", "unit", "metric", "settings"),
    "summary": ("benchmark", "split", "system", "metric", "slice", "settings"),
    "decisions": ("benchmark", "doc_id", "task", "decision", "reviewer"),
}
_ALLOWED = {
    "role": ROLES, "task": TASKS, "status": STATUSES, "outcome": OUTCOMES, "decision": DECIDED,
}  # fmt: skip
SCHEMAS: dict[str, dict[str, Any]] = {
    "documents": DOCUMENTS, "records": RECORDS, "responses": RESPONSES,
    "cases": CASES, "scores": SCORES, "summary": SUMMARY, "decisions": DECISIONS,
}  # fmt: skip


def table(name: str, rows: Iterable[Mapping[str, Any]]) -> pl.DataFrame:
    """A table of the schema `name` from rows that may leave columns out.

    Parameters
    ----------
    name
        One of `SCHEMAS`.
    rows
        Mappings of column to value; a column that is left out is null.

    Raises
    ------
    TableBroken
        If a row has a column that the schema does not know, or a value of another type.

    Examples
    --------
    >>> table("documents", [{"benchmark": "b", "split": "s", "doc_id": "1"}]).shape
    (1, 12)
    """
    schema = SCHEMAS[name]
    rows = list(rows)
    unknown = sorted({key for row in rows for key in row} - set(schema))
    if unknown:
        raise TableBroken(f"{name}: unknown columns {', '.join(unknown)}")
    columns = {key: [row.get(key) for row in rows] for key in schema}
    for key, kind in schema.items():
        if kind == pl.String:
            columns[key] = [storable(value) for value in columns[key]]
    try:
        return pl.DataFrame(columns, schema=schema, strict=True)
    except (TypeError, pl.exceptions.PolarsError) as error:
        raise TableBroken(f"{name}: {error}") from error


def storable(value: Any) -> Any:
    """`value` as a table can hold it: half of a surrogate pair, as in JSON, is kept as its escape.

    Examples
    --------
    >>> storable("\\ud800"), storable(None)
    ('\\\\ud800', None)
    """
    if isinstance(value, str) and not value.isascii():
        return value.encode("utf-8", "backslashreplace").decode()
    return value


def only(frame: pl.DataFrame, **equal: object) -> pl.DataFrame:
    """The rows whose columns equal the given values; None asks for null.

    Examples
    --------
    >>> only(pl.DataFrame({"metric": ["cer", "wer"]}), metric="wer").height
    1
    """
    return frame.filter(*(pl.col(key).eq_missing(pl.lit(value)) for key, value in equal.items()))


def check(name: str, frame: pl.DataFrame) -> pl.DataFrame:
    """`frame` itself, if it follows the schema `name`; else one error with every mismatch.

    Checked: columns, dtypes, columns that may not be null, allowed words, unique keys, and
    that `system` is null exactly for gold.

    Raises
    ------
    TableBroken
        Listing all that is wrong, a line each, with the count of rows it touches.

    Examples
    --------
    >>> check("documents", pl.DataFrame({"doc_id": [1]}))
    Traceback (most recent call last):
    ...
    formlab.errors.TableBroken: table 'documents' does not follow its schema:
      - missing columns: benchmark, split, image, width, height, template, domain, n_fields, \
n_kinds, context, meta
      - column doc_id is Int64, should be String
    """
    if wrong := _mismatches(name, frame):
        raise TableBroken(_report(name, wrong))
    return frame


def _report(name: str, wrong: list[str]) -> str:
    lines = "".join(f"\n  - {line}" for line in wrong)
    return f"table {name!r} does not follow its schema:{lines}"


def _mismatches(name: str, frame: pl.DataFrame) -> list[str]:
    schema = SCHEMAS[name]
    wrong = []
    if missing := [key for key in schema if key not in frame.columns]:
        wrong.append(f"missing columns: {', '.join(missing)}")
    if unknown := [key for key in frame.columns if key not in schema]:
        wrong.append(f"unknown columns: {', '.join(unknown)}")
    shared = [key for key in frame.columns if key in schema]
    sound = {key for key in shared if frame[key].dtype == schema[key]}
    wrong += [
        f"column {key} is {frame[key].dtype}, should be {schema[key]}"
        for key in shared
        if key not in sound
    ]
    return wrong + _wrong_rows(name, frame, sound)


def _wrong_rows(name: str, frame: pl.DataFrame, sound: set[str]) -> list[str]:
    wrong = []
    for key in _REQUIRED.get(name, ()):
        if key in sound and (count := frame[key].null_count()):
            wrong.append(f"column {key} is null in {count} rows")
    for key, allowed in _ALLOWED.items():
        if key in sound and key in SCHEMAS[name]:
            odd = frame[key].drop_nulls()
            odd = odd.filter(~odd.is_in(allowed))
            if odd.len():
                words = ", ".join(sorted(set(odd.to_list()))[:5])
                wrong.append(f"column {key} has {odd.len()} unknown values: {words}")
    key = _KEYS.get(name)
    if key and set(key) <= sound:
        twice = frame.filter(pl.struct(key).is_duplicated()).select(key)
        if twice.height:
            first = ", ".join(f"{k}={v}" for k, v in twice.row(0, named=True).items())
            wrong.append(f"{twice.height} rows share a key, first: {first}")
    if {"role", "system"} <= sound:
        odd = frame.filter((pl.col("role") == "gold") != pl.col("system").is_null()).height
        if odd:
            wrong.append(f"system must be null exactly where role is gold: {odd} rows are not so")
    return wrong


@dataclasses.dataclass(frozen=True)
class Folder:
    """Tables that belong together, saved as Parquet files beside a manifest.

    A part, a field that is such a folder itself or null, is saved in a folder of its name.
    """

    TABLES: ClassVar[tuple[str, ...]] = ()
    PARTS: ClassVar[dict[str, type[Folder]]] = {}

    def uses(self) -> dict[str, Iterable[str]]:
        """By kind of plug-in the names that its tables mention."""
        return {}

    def check(self) -> Self:
        """Itself, if every table follows its schema; else `TableBroken` with all mismatches."""
        found = {name: _mismatches(name, getattr(self, name)) for name in self.TABLES}
        wrong = [_report(name, lines) for name, lines in found.items() if lines]
        if wrong:
            raise TableBroken("\n".join(wrong))
        return self

    def save(self, folder: str | Path) -> Path:
        """Write every table and `manifest.json` into `folder`; whole files or none.

        The manifest is written last, so a folder with a manifest is complete.
        """
        self.check()
        folder = Path(folder)
        manifest: dict[str, Any] = {"kind": type(self).__name__, "formlab": files.version()}
        manifest |= {
            field.name: value
            for field in dataclasses.fields(self)
            if not isinstance(value := getattr(self, field.name), pl.DataFrame)
            and field.name not in self.PARTS
        }
        manifest["plugins"] = registry.needed(self.uses())
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

        Raises
        ------
        DataMissing, DataBroken
            If the folder, its manifest or a table is absent, damaged or of another kind.
        NotAvailable
            If a plug-in that it needs is absent; see `registry.restore`.
        """
        folder = Path(folder)
        manifest = files.read_json(folder / "manifest.json")
        if not isinstance(manifest, dict) or manifest.get("kind") != cls.__name__:
            kind = manifest.get("kind") if isinstance(manifest, dict) else None
            raise DataBroken(
                f"this folder holds {kind or 'something else'}, not {cls.__name__}",
                where=folder / "manifest.json",
                remedy="the folder that the matching formlab command wrote with --out",
            )
        if cls is Evaluation:
            registry.restore(manifest.get("plugins"), where=folder)
        values: dict[str, Any] = {
            name: files.read_parquet(folder / f"{name}.parquet") for name in cls.TABLES
        }
        values |= {
            name: part.load(folder / name)
            for name, part in cls.PARTS.items()
            if name in manifest.get("parts", ())
        }
        for field in dataclasses.fields(cls):
            if field.name not in (*values, *cls.PARTS) and field.name in manifest:
                values[field.name] = manifest[field.name]
        if values.get("root") is not None:
            values["root"] = Path(values["root"])
        return cls(**values).check()


@dataclasses.dataclass(frozen=True)
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


@dataclasses.dataclass(frozen=True)
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


@dataclasses.dataclass(frozen=True)
class Evaluation(Folder):
    """Gold beside prediction, case by case, with every score that follows from it.

    `corpus` and `predictions` are what was scored, so that it can be scored again with other
    gold; null where that was not kept.
    """

    TABLES: ClassVar[tuple[str, ...]] = ("documents", "cases", "scores")
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
    corpus: Corpus | None = None
    predictions: Predictions | None = None

    def uses(self) -> dict[str, Iterable[str]]:
        """The benchmark, and the metrics of its scores."""
        return {"benchmarks": [self.benchmark], "metrics": self.scores["metric"].unique().sort()}
