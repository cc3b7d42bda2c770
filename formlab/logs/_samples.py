"""The samples of a log, collected into runs: what every reader does with what it has read."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import polars as pl

from formlab import files, tables
from formlab.errors import DataBroken, FormlabError
from formlab.logs._spec import SCORES, LogRun
from formlab.tables import USABLE
from formlab.text import answers
from formlab.trees import escape

# Where a value stands that the log asks for without naming a field.
ANSWER = "/answer"
# The kind of a value that is a JSON text and compared as a whole.
WHOLE = "json"
# The join report, as notes of an evaluation count it; `_join` adds what it matched.
MISSING = "samples missing: planned, and not in the log"
DUPLICATES = "samples given again: the last that did not fail is kept"
UNREADABLE = "samples unreadable"
WITHOUT_GOLD = "samples without gold in the log"
FIGURES = "figures stated in the log that cannot be read"
# What reading runs into where a log is not laid out as it should be.
ODD = (
    ArithmeticError, AttributeError, FormlabError, LookupError, RecursionError, TypeError,
    ValueError,
)  # fmt: skip
_SHOWN = 200
_DEEPEST = 60
_RESPONSE = ("error", "tokens_in", "tokens_out", "cost", "seconds", "attempts")
Row = dict[str, Any]


class Samples:
    """Collects the samples of a log; `runs` sorts them by system and epoch.

    Parameters
    ----------
    format, name, source
        As of `LogRun`.
    """

    def __init__(self, format: str, name: str, source: Iterable[Path]) -> None:
        self.format, self.name, self.source = format, name, tuple(source)
        self.notes: Counter[str] = Counter()
        self.headline: list[Row] = []
        self.judged: set[str] = set()
        self._rows: dict[tuple[str, int], dict[tuple[str, str | None], Row]] = {}
        self._odd: dict[str, tuple[str, Exception]] = {}

    @contextmanager
    def reading(self, origin: str, note: str = UNREADABLE) -> Iterator[None]:
        """What cannot be read in the block is counted under `note`; the first reason is kept."""
        try:
            yield
        except ODD as error:
            self.notes[note] += 1
            self._odd.setdefault(note, (origin, error))

    def lines(self, path: Path) -> Iterator[tuple[str, Row]]:
        """Origin and object of each line of JSON; a line that is none is counted."""
        for number_, line in enumerate(files.read_text(path).split("\n"), start=1):
            value = None
            if line.strip():
                with self.reading(f"{path.name}:{number_}"):
                    value = files.parse_json(line, where=str(path), first_line=number_)
                    if not isinstance(value, dict):
                        value = None
                        raise DataBroken("a line is a JSON object", where=f"{path}:{number_}")
            if value is not None:
                yield f"{path.name}:{number_}", value

    def add(
        self, doc_id: object, path: str | None = ANSWER, *, gold: Any = None, answer: Any = None,
        status: str = "ok", system: str = "", epoch: int = 1, request: object = None,
        scores: Mapping[str, Any] | None = None, compared: str | None = None,
        own: Mapping[str, Any] | None = None, **more: Any,
    ) -> None:  # fmt: skip
        """One sample.

        `gold` is a text, a list of texts that are all accepted, an object of fields, or None; so
        is `answer`, where an object may be written as text. `path` None is the text of a whole
        page. `scores` maps scorers to values; `own` are columns of the log's own; `more` are
        columns of *records* and *responses*, of the gold's record under ``gold_<name>``, and
        `answer_path` where the answer stands elsewhere than the gold.
        """
        if not str(doc_id).strip():
            raise ValueError("a sample without a name")
        row = {
            "doc_id": tables.storable(str(doc_id)), "path": tables.storable(path),
            "gold": gold, "answer": answer, "status": status,
            "request": str(doc_id if request is None else request), "scores": scores or {},
            "compared": tables.storable(compared), "own": own or {}, **more,
        }  # fmt: skip
        run = self._rows.setdefault((tables.storable(system), epoch), {})
        key = (row["doc_id"], path)
        if key in run:
            self.notes[DUPLICATES] += 1
            if status not in USABLE and run[key]["status"] in USABLE:
                return
        run[key] = row

    def runs(self, **more: Any) -> list[LogRun]:
        """A run for each system and epoch; `more` are fields of `LogRun`.

        Raises
        ------
        DataBroken
            If there are samples and none can be read.
        """
        for note, (where, error) in self._odd.items():
            reason = str(error) if isinstance(error, FormlabError) else repr(error)
            if note == UNREADABLE and not self._rows:
                what = f"no sample can be read; the first: {reason[:_SHOWN]}"
                raise DataBroken(what, where=where, remedy="a log as the harness wrote it")
            self.notes[f"first of {note}, {where}: {reason}"[:_SHOWN]] = 1
        epochs = Counter(system for system, _ in self._rows)
        made = []
        for (system, epoch), rows in self._rows.items():
            notes, named = Counter(self.notes), system or self.name
            if epochs[system] > 1:
                named = f"{named}, epoch {epoch}"
                notes["epochs of the log; its own figures are over all of them"] = epochs[system]
            made.append(self._run(named, list(rows.values()), notes, more))
        return made

    def _run(self, system: str, rows: list[Row], notes: Counter[str], more: Row) -> LogRun:
        gold: list[Row] = []
        answered: list[Row] = []
        for row in rows:
            notes[WITHOUT_GOLD] += row["gold"] is None
            gold += _gold(row)
            answered += _answers(row)
        counted = Counter({note: int(n) for note, n in notes.items() if n})
        return LogRun(
            format=self.format, name=self.name, system=system, gold=frame(gold),
            answers=frame(answered), responses=frame(_response(row) for row in rows),
            scores=_score_table(rows),
            headline=tuple(_figure(row) for row in self.headline), judged=frozenset(self.judged),
            notes=counted, source=self.source, **more,
        )  # fmt: skip


def fields(value: Any, path: str = "", depth: int = 0) -> Iterator[tuple[str, str | None]]:
    """The leaves of a JSON value at their JSON Pointers, as text.

    Examples
    --------
    >>> list(fields({"items": [{"price": 9.5}], "paid": True, "tax": None}))
    [('/items/0/price', '9.5'), ('/paid', 'true'), ('/tax', None)]
    """
    if isinstance(value, Mapping | list) and value and depth < _DEEPEST:
        pairs = value.items() if isinstance(value, Mapping) else enumerate(value)
        for key, item in pairs:
            yield from fields(item, f"{path}/{escape(str(key))}", depth + 1)
    elif value is None or value in ({}, []):
        yield path, None
    else:
        yield path, as_text(value)


def as_text(value: Any) -> str | None:
    """A value of a log as text: itself, else as JSON writes it; null stays null."""
    if value is None or isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False, default=str)


def as_object(value: Any) -> Mapping[str, Any] | None:
    """The object that a value is or that its text is the JSON of, numbers as written; else None.

    Examples
    --------
    >>> as_object('{"total": 9.00}'), as_object("9.00")
    ({'total': '9.00'}, None)
    """
    if isinstance(value, Mapping):
        return value
    if not isinstance(value, str) or not value.lstrip().startswith("{"):
        return None
    try:
        parsed = json.loads(value, parse_float=str, parse_int=str)
    except (ValueError, RecursionError):
        return None
    return parsed if isinstance(parsed, dict) and parsed else None


def number(value: Any) -> float | None:
    """A finite number that a log may have written as text or as a truth value; else None.

    Examples
    --------
    >>> number("0.5"), number(True), number(float("nan")), number("n/a"), number(None)
    (0.5, 1.0, None, None, None)
    """
    try:
        result = float(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return result if abs(result) < 1e300 else None


def _figure(row: Row) -> Row:
    count = number(row["n"])
    return {
        **{name: tables.storable(str(row[name])) for name in ("scorer", "metric")},
        "value": number(row["value"]),
        "n": None if count is None or abs(count) > 2**53 else int(count),
    }  # fmt: skip


def _gold(row: Row) -> Iterator[Row]:
    gold, common = row["gold"], {"doc_id": row["doc_id"]} | _known(row["own"])
    columns = {name: row[name] for name in tables.RECORDS if name in row and name not in _ANSWERED}
    columns |= {name: row[f"gold_{name}"] for name in (*_PLACED, "status") if f"gold_{name}" in row}
    if (whole := _form(row)) is not None:
        for path, value in fields(whole, _base(row)):
            yield common | columns | {"path": path, "value": value}
    elif isinstance(gold, list):
        accepted = [tables.storable(as_text(item)) for item in gold if item is not None]
        if accepted:
            first = {"value": accepted[0], "accepted": accepted if accepted[1:] else None}
            yield common | columns | {"path": row["path"]} | first
    elif gold is not None:
        yield common | columns | {"path": row["path"], "value": as_text(gold)}


# What describes an answer and not the gold; each side has a page and a box of its own.
_PLACED = ("page", *tables.BOX)
_ANSWERED = ("doc_id", "path", "value", "status", "origin", "confidence", *_PLACED)


def _answers(row: Row) -> Iterator[Row]:
    status, whole = row["status"], _form(row)
    common = {name: row[name] for name in (*_PLACED, "origin", "confidence", "task") if name in row}
    common |= {"doc_id": row["doc_id"], "status": status}
    if whole is None:
        value = as_text(row["answer"])
        if value is None and status in USABLE:
            common["status"] = "missing"
        elif value and status in USABLE and row.get("kind") != WHOLE:
            parsed = answers.plain(value)
            value, status = (parsed.value, parsed.status) if parsed.changes else (value, status)
            common["status"] = status
        path = row.get("answer_path", row["path"])
        yield common | {"path": path, "value": value if status in USABLE else None}
        return
    answer = row["answer"]
    if isinstance(answer, str):
        parsed = answers.parse(answer, lists=True)
        answer, common["status"] = parsed.value, parsed.status if status in USABLE else status
    if common["status"] in USABLE and isinstance(answer, Mapping | list):
        # A null, or an empty list, names no value.
        leaves = [leaf for leaf in fields(answer, _base(row)) if leaf[1] is not None]
        yield from (common | {"path": path, "value": value} for path, value in leaves)
        if leaves:
            return
    if common["status"] in USABLE:
        common["status"] = "missing"
    # What failed has failed at each field that was asked for.
    for path, _ in fields(whole, _base(row)):
        yield common | {"path": path, "value": None}


def _form(row: Row) -> Mapping[str, Any] | None:
    """The fields that a sample asks for, if it asks for an object and not for one text."""
    asked = row["path"] is not None and row.get("kind") != WHOLE
    return as_object(row["gold"]) if asked else None


def _base(row: Row) -> str:
    return "" if row["path"] == ANSWER else row["path"] or ""


def _response(row: Row) -> Row:
    text = row["answer"] if isinstance(row["answer"], str) else as_text(row["answer"])
    more = {name: row[name] for name in _RESPONSE if row.get(name) is not None}
    # A log of samples says nothing of how often each was asked.
    return {
        "doc_id": row["doc_id"], "task": "text", "request": row["request"], "text": text,
        "status": row["status"], "attempts": 1,
    } | more  # fmt: skip


def _score_table(rows: list[Row]) -> pl.DataFrame:
    """A row per sample and scorer, also where a sample failed and has no score."""
    scorers = list(dict.fromkeys(name for row in rows for name in row["scores"]))
    return pl.DataFrame([s for row in rows for s in _scores(row, scorers)], schema=SCORES)


def _scores(row: Row, scorers: list[str]) -> Iterator[Row]:
    # A whole document is scored as one where its fields stand in one answer.
    whole = row["path"] is None or row.get("kind") == WHOLE or _form(row) is not None
    for scorer in scorers:
        credit = number(row["scores"].get(scorer))
        yield {
            "doc_id": row["doc_id"], "scorer": tables.storable(scorer),
            "path": None if whole else tables.storable(row.get("answer_path", row["path"])),
            "value": credit, "correct": bool(credit) if credit in (0, 1) else None,
            "compared": row["compared"],
        }  # fmt: skip


def _known(own: Mapping[str, Any]) -> Row:
    """Columns of the log's own, under names that no table has, as text."""
    return {
        tables.storable(name): as_text(value)
        for name, value in own.items()
        if name not in tables.RESERVED and not isinstance(value, Mapping | list)
        # Names that the log's scores take.
        if not name.startswith("log_")
    }


def frame(rows: Iterable[Row]) -> pl.DataFrame:
    """A table of rows that may leave columns out, in their order; dtypes as of *records*."""
    rows = list(rows)
    names = dict.fromkeys(name for row in rows for name in row)
    known = tables.RECORDS | tables.RESPONSES
    schema = {name: known.get(name, pl.String) for name in names}
    columns = {
        name: [
            tables.storable(row.get(name)) if kind == pl.String else row.get(name) for row in rows
        ]
        for name, kind in schema.items()
    }
    return pl.DataFrame(columns, schema=schema, strict=False)
