"""The schemas of every table, and the settings of a score.

The one place with dtypes. A value is kept as annotated or emitted; what is unknown is null.
Documents, records and cases may have further columns of a user's own.
"""

from __future__ import annotations

import dataclasses
import gc
import math
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from itertools import repeat
from typing import Any

import msgspec
import polars as pl

from formlab import frames
from formlab.columns import Columns, height_of
from formlab.errors import TableBroken

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
    "benchmark": _S, "split": _S, "doc_id": _S, "system": _S, "task": _S, "level": _S,
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
    # Of a consistency check: the paths of the fields of its relation that are not right.
    "failed": pl.List(_S),
}  # fmt: skip


@dataclasses.dataclass(frozen=True)
class Settings:
    """How a score was made, beside what its own columns say: the struct column `settings`.

    `rules` say how values are compared, `read` how fields are read from a page; `documents` which
    documents were scored and `labels` which corrections were applied, where not all or any were.
    `formlab` is the version; `average`, `interval` and `test` say how a summary was made.

    Examples
    --------
    >>> Settings(rules="norm=lower", average="micro").text()
    'norm=lower|avg=micro'
    """

    rules: str | None = None
    read: str | None = None
    documents: str | None = None
    labels: str | None = None
    formlab: str | None = None
    average: str | None = None
    interval: str | None = None
    test: str | None = None

    def text(self) -> str:
        """The settings that are set, on one line."""
        named = {
            "": self.rules, "read=": self.read, "formlab=": self.formlab,
            "documents=": self.documents, "labels=": self.labels, "avg=": self.average,
            "ci=": self.interval, "p=": self.test,
        }  # fmt: skip
        return "|".join(f"{name}{value}" for name, value in named.items() if value)


# Few distinct values stand in many rows, so they are kept as categories.
SETTINGS = pl.Struct({field.name: pl.Categorical for field in dataclasses.fields(Settings)})
# The scope of a score: task, level, and slice, if any.
SLICE = {"task": _S, "level": _S, "slice_by": _S, "slice_value": _S}
SCORES: dict[str, Any] = {
    "benchmark": _S, "split": _S, "doc_id": _S, "system": _S, "task": _S, "level": _S, "path": _S,
    "slice_by": _S, "slice_value": _S, "metric": _S, "hits": _F, "total": _F,
    "stats": pl.List(_F), "value": _F, "status": _S, "mode": _S, "settings": SETTINGS,
}  # fmt: skip
SUMMARY: dict[str, Any] = {
    "benchmark": _S, "split": _S, "system": _S, **SLICE, "mode": _S, "metric": _S,
    "value": _F, "ci_low": _F, "ci_high": _F,
    "n_docs": _I, "n_cases": _I, "n_missing": _I, "n_undefined": _I,
    "n_reader": _I, "n_ambiguous": _I, "settings": SETTINGS,
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
LEVELS = (
    "document", "page", "field", "fact", "question", "check", "contradiction", "node", "stretch",
    "answer",
)  # fmt: skip
# Scores of these levels are of single cases, so that columns of the cases can slice them.
FIELD_LEVELS = ("field", "fact")
# Cases of these levels are no fields.
WHOLE_LEVELS = ("document", "page", "node")
OUTCOMES = ("match", "mismatch", "missing", "spurious", "unscored")
# Decisions for the review of drafts, for the audit of labels, and on what two reviewers differ in.
DECIDED = (
    "accept", "edit", "reject", "label_error", "ambiguous", "wrong", "first", "second",
)  # fmt: skip

KEYS: dict[str, tuple[str, ...]] = {
    "documents": ("benchmark", "split", "doc_id"),
    "records": ("benchmark", "split", "doc_id", "role", "system", "path"),
    "cases": ("benchmark", "split", "doc_id", "system", "task", "level", "path", "pred_path"),
    "decisions": ("benchmark", "split", "doc_id", "task", "path", "reviewer"),
}
_REQUIRED = {
    "documents": ("benchmark", "split", "doc_id"),
    "records": ("benchmark", "split", "doc_id", "role", "task", "status"),
    "cases": ("benchmark", "split", "doc_id", "system", "task", "level", "outcome"),
    "scores": ("benchmark", "split", "doc_id", "system", "level", "metric", "settings"),
    "summary": ("benchmark", "split", "system", "level", "metric", "settings"),
    "decisions": ("benchmark", "doc_id", "task", "decision", "reviewer"),
}
_ALLOWED = {
    "role": ROLES, "task": TASKS, "status": STATUSES, "outcome": OUTCOMES, "decision": DECIDED,
}  # fmt: skip
SCHEMAS: dict[str, dict[str, Any]] = {
    "documents": DOCUMENTS, "records": RECORDS, "responses": RESPONSES,
    "cases": CASES, "scores": SCORES, "summary": SUMMARY, "decisions": DECISIONS,
}  # fmt: skip
# What a corpus notes of types that nobody declared begins so.
INFERRED = "types inferred"
# Tables that may have columns of a user's own.
_OPEN = ("documents", "records", "cases")
frames.know(SCHEMAS.values())
RESERVED = {column for schema in SCHEMAS.values() for column in schema}


def box_of(value: Any) -> tuple[float, float, float, float] | None:
    """A list of four finite numbers as a box; None for anything else.

    Examples
    --------
    >>> box_of([1, 2, 3.5, 4]), box_of([1, 2, 3]), box_of([1, 2, 3, float("inf")])
    ((1.0, 2.0, 3.5, 4.0), None, None)
    """
    try:
        box = msgspec.convert(value, tuple[float, float, float, float])
    except (ValueError, OverflowError):
        return None
    return box if all(map(math.isfinite, box)) else None


def own_columns(name: str, frame: pl.DataFrame) -> list[str]:
    """The columns of a table that are a user's own.

    Examples
    --------
    >>> own_columns("documents", pl.DataFrame({"doc_id": ["1"], "scanner": ["A"]}))
    ['scanner']
    """
    return [column for column in frame.columns if column not in SCHEMAS[name]]


def table(
    name: str, rows: Iterable[Mapping[str, Any]] | Mapping[str, list[Any]], **same: Any
) -> pl.DataFrame:
    """A table of the schema `name` from rows that may leave columns out, or from columns.

    A column that is left out is null, or the value that `same` has for it. A case that does not
    say its level is a field, or a whole page if it has no path. A column that the schema does not
    know, or a value of another type, is a `TableBroken`.

    Examples
    --------
    >>> table("documents", [{"doc_id": "1"}], benchmark="b", split="s").shape
    (1, 12)
    """
    return completed(name, partial(name, rows, **same), **same)


def partial(
    name: str, rows: Iterable[Mapping[str, Any]] | Mapping[str, list[Any]], **same: Any
) -> pl.DataFrame:
    """As `table`, but only the columns that are given."""
    schema = SCHEMAS[name]
    collected = Columns(**same)
    if not isinstance(rows, Mapping):
        collected.extend(list(rows))
        rows = collected.lists
    columns, height = dict(rows), max(collected.height, height_of(rows))
    if unknown := sorted(set(columns) - set(schema)):
        remedy = "frame.with_columns for columns of your own" if name in _OPEN else None
        raise TableBroken(f"{name}: unknown columns {', '.join(unknown)}", remedy=remedy)
    if name == "cases":
        keys = ("level", "path", "pred_path", "task")
        values = (columns.get(key) or repeat(same.get(key), height) for key in keys)
        columns["level"] = [
            level or _level(path, pred_path, task)
            for level, path, pred_path, task in zip(*values, strict=True)
        ]
    for key in columns:
        if schema[key] == SETTINGS:
            columns[key] = [
                dataclasses.asdict(value) if isinstance(value, Settings) else value
                for value in columns[key]
            ]
    kinds = {key: schema[key] for key in columns}
    if not columns:
        return pl.DataFrame(height=height)
    try:
        return pl.DataFrame(columns, kinds, strict=True)
    except (TypeError, ValueError, OverflowError, pl.exceptions.PolarsError):
        # One column after the other, to say which does not fit; texts without half characters.
        series = [_column(name, key, columns, kind, same) for key, kind in kinds.items()]
        return pl.DataFrame(series)


def completed(name: str, frame: pl.DataFrame, **same: Any) -> pl.DataFrame:
    """All columns of the schema, of which `partial` made some."""
    schema = SCHEMAS[name]
    absent = {k: pl.lit(same.get(k), kind) for k, kind in schema.items() if k not in frame.columns}
    if not frame.width:
        return frame.with_columns(**absent)
    return frame.select(**{name: absent.get(name, name) for name in schema})


def _column(
    name: str, key: str, columns: Mapping[str, list[Any]], kind: Any, same: Mapping[str, Any]
) -> pl.Series:
    values = list(map(storable, columns[key]))
    try:
        return pl.Series(key, values, kind, strict=True)
    except (TypeError, ValueError, OverflowError, pl.exceptions.PolarsError) as error:
        place = next((n for n, value in enumerate(values) if not _fits(value, kind)), 0)
        doc_id = columns["doc_id"][place] if "doc_id" in columns else same.get("doc_id")
        what = f"{name}: column {key} is {kind} and cannot hold {_shortly(values[place])}"
        raise TableBroken(what, where=f"document {doc_id}, row {place + 1}") from error


def _shortly(value: Any) -> str:
    if isinstance(value, (str, bytes)):
        return repr(value[:60])
    # Python writes no integer of some thousand digits.
    is_short = isinstance(value, (bool, float)) or (
        isinstance(value, int) and value.bit_length() < 64
    )
    return repr(value) if is_short else f"this {type(value).__name__}"


def _fits(value: Any, kind: Any) -> bool:
    try:
        pl.Series([value], dtype=kind, strict=True)
    except (TypeError, ValueError, OverflowError, pl.exceptions.PolarsError):
        return False
    return True


def _level(path: str | None, pred_path: str | None, task: str | None) -> str:
    if path is None and pred_path is None:
        return "page"
    return "node" if task == "layout" else "field"


def storable(value: Any) -> Any:
    """`value` as a table can hold it: half of a surrogate pair, as in JSON, is kept as its escape.

    Examples
    --------
    >>> storable("\\ud800"), storable(["a", "\\ud800"])
    ('\\\\ud800', ['a', '\\\\ud800'])
    """
    if isinstance(value, str) and not value.isascii():
        return value.encode("utf-8", "backslashreplace").decode()
    return list(map(storable, value)) if isinstance(value, list) else value


@contextmanager
def uncollected() -> Iterator[None]:
    """Disable the cyclic garbage collector, as a context or a decorator.

    Rows are made by the hundred thousand, and none of them in cycles: looking for cycles takes a
    quarter of the time.
    """
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()


def only(frame: pl.DataFrame, **equal: object) -> pl.DataFrame:
    """The rows whose columns equal the given values; None asks for null.

    Examples
    --------
    >>> only(pl.DataFrame({"metric": ["cer", "wer"]}), metric="wer").height
    1
    """
    return frame.filter(*(pl.col(key).eq_missing(pl.lit(value)) for key, value in equal.items()))


def settings_of(**values: str | None) -> pl.Expr:
    """The column `settings` with the same values in every row; see `Settings`.

    Examples
    --------
    >>> frame = pl.DataFrame({"n": [1]}).with_columns(settings_of(rules="norm=lower"))
    >>> settings_text(frame.row(0, named=True))
    'norm=lower'
    """
    row = dataclasses.asdict(Settings(**values))
    return pl.struct(
        pl.lit(value, pl.String).cast(pl.Categorical).alias(name) for name, value in row.items()
    ).alias("settings")


def with_settings(frame: pl.DataFrame, **changes: str | None) -> pl.DataFrame:
    """`frame` with some of its settings changed, in all rows.

    Examples
    --------
    >>> frame = pl.DataFrame({"n": [1]}).with_columns(settings_of(rules="norm=lower"))
    >>> settings_text(with_settings(frame, labels="1f").row(0, named=True))
    'norm=lower|labels=1f'
    """
    fields = [pl.lit(v, pl.String).cast(pl.Categorical).alias(k) for k, v in changes.items()]
    return frame.with_columns(pl.col("settings").struct.with_fields(*fields))


def settings_text(row: Mapping[str, Any]) -> str:
    """How a score was made, on one line, from its row: for captions and consoles.

    Examples
    --------
    >>> settings_text({"benchmark": "funsd", "split": "test", "metric": "cer", "level": "page",
    ...     "mode": "fixed", "settings": {"rules": "norm=lower"}})
    'funsd:test|cer|level=page|mode=fixed|norm=lower'
    """
    corpus = ":".join(filter(None, (row.get("benchmark"), row.get("split"))))
    parts = [corpus, row.get("metric")]
    parts += [f"{name}={row[name]}" for name in ("level", "mode") if row.get(name)]
    return "|".join(filter(None, [*parts, Settings(**(row["settings"] or {})).text()]))


def slice_name(row: Mapping[str, Any]) -> str:
    """The name of a row's slice for a reader; without one, `fields`, or `all` of another level.

    Examples
    --------
    >>> slice_name({"level": "field", "slice_by": "kind", "slice_value": "answer"})
    'kind=answer'
    >>> slice_name({"level": "field", "slice_by": None, "slice_value": None})
    'fields'
    >>> slice_name({"slice_by": ["kind", "page"], "slice_value": ["answer", "2"]})
    'kind=answer & page=2'
    """
    by, value = row["slice_by"], row["slice_value"]
    if by is None:
        return "fields" if row["level"] in FIELD_LEVELS else "all"
    if isinstance(by, str):
        return f"{by}={value}"
    return " & ".join(f"{name}={word}" for name, word in zip(by, value, strict=True))


def readable(frame: pl.DataFrame) -> pl.DataFrame:
    """A table for a reader: with the name of its `slice`, and with settings as text.

    Examples
    --------
    >>> frame = pl.DataFrame({"level": ["page"], "slice_by": [None], "slice_value": [None]})
    >>> readable(frame)["slice"].to_list()
    ['all']
    """
    rows = frame.to_dicts()
    if "slice_by" in frame.columns:
        names = pl.Series("slice", [slice_name(row) for row in rows], dtype=_S)
        frame = frame.with_columns(names)
    if frame.schema.get("settings") == SETTINGS:
        texts = [
            settings_text(row | {"level": row.get("score_level", row.get("level"))}) for row in rows
        ]
        frame = frame.with_columns(pl.Series("settings", texts, dtype=_S))
    return frame


def check(name: str, frame: pl.DataFrame) -> pl.DataFrame:
    """`frame` itself, if it follows the schema `name`; else one error with every mismatch.

    Checked: columns, dtypes, columns that may not be null, allowed words, unique keys, and
    that `system` is null exactly for gold. Documents, records and cases may have further columns
    under names that no table of formlab has.

    A `TableBroken` lists all that is wrong, a line each, with the count of rows it touches.

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
    if wrong := mismatches(name, frame):
        raise TableBroken(report(name, wrong))
    return frame


def report(name: str, wrong: list[str]) -> str:
    """The message on a table that does not follow its schema."""
    lines = "".join(f"\n  - {line}" for line in wrong)
    return f"table {name!r} does not follow its schema:{lines}"


def mismatches(name: str, frame: pl.DataFrame) -> list[str]:
    """What in a frame does not follow the schema of the table, one sentence each."""
    schema = SCHEMAS[name]
    wrong = []
    if missing := [key for key in schema if key not in frame.columns]:
        wrong.append(f"missing columns: {', '.join(missing)}")
    unknown = own_columns(name, frame)
    if name in _OPEN:
        if taken := [key for key in unknown if key in RESERVED]:
            wrong.append(f"own columns with names of other tables' columns: {', '.join(taken)}")
    elif unknown:
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
        if key not in sound:
            continue
        odd = frame[key].drop_nulls()
        for word in allowed:
            odd = odd.filter(odd != word)
        if odd.len():
            words = ", ".join(odd.unique().sort().head(5))
            wrong.append(f"column {key} has {odd.len()} unknown values: {words}")
    key = KEYS.get(name)
    if key and set(key) <= sound:
        # What a model gives twice is kept, and scored.
        unique = frame.select(key)
        if name == "records":
            unique = unique.filter(pl.col("role") == "gold")
        # Mostly hashes of documents and paths alone are different, and are quickly compared.
        few = [column for column in ("doc_id", "path") if column in key]
        hashes = unique.select(few).hash_rows().to_numpy(writable=True)
        hashes.sort()
        is_single = few and not (hashes[1:] == hashes[:-1]).any()
        twice = unique.clear() if is_single else unique.filter(pl.struct(key).is_duplicated())
        twice = twice.select(key)
        if twice.height:
            first = ", ".join(f"{k}={v}" for k, v in twice.row(0, named=True).items())
            wrong.append(f"{twice.height} rows share a key, first: {first}")
    if {"role", "system"} <= sound:
        odd = ((frame["role"] == "gold") != frame["system"].is_null()).sum()
        if odd:
            wrong.append(f"system must be null exactly where role is gold: {odd} rows are not so")
    return wrong


frames.door(globals(), ("check", "only", "own_columns", "readable", "with_settings"))
