"""Samples of a log as rows: the gold, the answer, the call and the document of each."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from formlab import files, tables
from formlab.errors import DataBroken, FormlabError
from formlab.readers import ODD, Row, Source, door, sources
from formlab.readers.door import as_text, number
from formlab.readers.sources import columns_of
from formlab.readers.values import pointer, values_of
from formlab.tables import USABLE
from formlab.text import answers, replies

# Where a value stands that a log asks for without naming a field.
ANSWER = "/answer"
# How the columns of a log's scores begin, before the name of the scorer.
SCORE = "log_by_"
MISSING = "samples missing: planned, and not in the log"
DUPLICATES = "samples given again: the last that did not fail is kept"
UNREADABLE = "samples unreadable"
WITHOUT_GOLD = "samples without gold in the log"
FIGURES = "figures stated in the log that cannot be read"
# What a column of a table can be, with the names that tell it where none is named.
NAMES = sources.NAMES["log"]
_CREDIT = {"true": 1.0, "yes": 1.0, "c": 1.0, "false": 0.0, "no": 0.0, "i": 0.0}
# What VLMEvalKit writes for an answer where there was none.
_FAILURE = "Failed to obtain answer"
_KEY = re.compile(r'"((?:[^"\\]|\\.)*+)"\s*+:')


@dataclass
class Sample:
    """One question of a log: what was asked, what was answered, and what the log says of it.

    `gold` is a text, a list of accepted texts, an object of fields (or its JSON), or None; so is
    `answer`. `path` None is the text of a page. Without a `status` a sample with an answer is ok,
    else missing. `model` is the one that answered, which names the system if all are of one.
    `columns` are further ones of the gold's rows, `call` of the call's (`error`, tokens, seconds),
    `document` of the row of a whole document. Values at several places are given as rows: `golds`,
    `claims`.
    """

    doc_id: Any
    path: str | None = ANSWER
    gold: Any = None
    answer: Any = None
    status: str | None = None
    system: str | None = None
    model: str | None = None
    epoch: int = 1
    request: Any = None
    origin: str = ""
    scores: Mapping[str, Any] = field(default_factory=dict)
    call: Row = field(default_factory=dict)
    columns: Row = field(default_factory=dict)
    document: Row = field(default_factory=dict)
    golds: list[Row] | None = None
    claims: list[Row] | None = None

    def rows(self) -> Iterator[Row]:
        """Its gold, answers and call; the document has the scores where it was scored as one."""
        form = as_object(self.gold) if self.path is not None and self.golds is None else None
        place, golds = self.path if form is None else None, self.golds
        golds = self._golds(form) if golds is None else golds
        claims = self._claims(form, golds) if self.claims is None else self.claims
        scores = {files.storable(f"{SCORE}{n}"): number(s) for n, s in self.scores.items()}
        answer: Row = {"role": "answer", "origin": self.origin, "status": self.status}
        answer |= scores if place is not None else {}
        yield from ({"role": "gold"} | row for row in golds)
        yield from (answer | row for row in claims)
        request = as_text(self.doc_id if self.request is None else self.request)
        call = {"role": "call", "task": "text", "request": request, "attempts": 1, "path": place}
        yield call | {"text": as_text(self.answer), "status": self.status} | self.call
        if place is None:
            yield {"role": "document", "log_status": self.status} | scores | self.document

    def _values(self, form: Any) -> Iterator[tuple[str, str | None]]:
        return fields(answers.form_in(form), "" if self.path == ANSWER else self.path or "")

    def _golds(self, form: Mapping[str, Any] | None) -> list[Row]:
        # Names that begin with log_ are those of the log's scores.
        columns = {
            files.storable(name): cell if name in tables.RECORDS else as_text(cell)
            for name, cell in self.columns.items()
            if name in tables.RECORDS or not (name in tables.RESERVED or name.startswith("log_"))
        }
        if form is not None:
            return [columns | {"path": path, "value": value} for path, value in self._values(form)]
        texts = map(as_text, self.gold if isinstance(self.gold, list) else [self.gold])
        accepted = [text for text in texts if text is not None]
        columns |= {"accepted": accepted} if accepted[1:] else {}
        return [columns | {"path": self.path, "value": text} for text in accepted[:1]]

    def _claims(self, form: Any, golds: list[Row]) -> list[Row]:
        """The values of the answer, by the one rule for a model's text; what failed names none."""
        status, answer, found = self.status, self.answer, []
        if isinstance(answer, str) and answer and status in USABLE:
            parsed = answers.plain(answer) if form is None else answers.parse(answer, lists=True)
            is_field = form is None and self.path is not None
            answer = answers.answer_in(parsed.value) if is_field else parsed.value
            status = parsed.status if parsed.changes or parsed.status not in USABLE else status
        if status in USABLE:
            if form is None:
                found = [(self.path, as_text(answer))]
            elif isinstance(answer, Mapping | list):
                found = self._values(answer)
            # A null names no value.
            found = [claim for claim in found if claim[1] is not None]
            status = status if found else "missing"
        # What failed has failed at each field that was asked for.
        places = [self.path] if form is None else [row["path"] for row in golds]
        found = found or [(place, None) for place in places]
        return [{"path": path, "value": value, "status": status} for path, value in found]


def sample_rows(
    source: Source,
    split: Any,
    entries: Iterable[tuple[Any, Any]],
    sample_of: Callable[[Any, str], Sample | Iterable[Sample]],
    figures: Iterable[Row] = (),
    *,
    system: str | None = None,
    planned: Iterable[Any] = (),
) -> Iterator[Row]:
    """The rows of a log's entries, each with where it stands, and the log's `figures`.

    What cannot be read is counted, and so are requests that were `planned` and are not there.
    """
    kept: dict[tuple[Any, ...], Sample] = {}
    requests, models = set[str | None](), set[str | None]()
    for origin, entry in entries:
        with reading(source, origin):
            found = sample_of(entry, str(origin))
            for sample in [found] if isinstance(found, Sample) else found:
                sample.origin = str(origin)
                requests.add(as_text(sample.request))
                models |= {as_text(sample.model)} - {None}
                sample.doc_id = files.storable(as_text(sample.doc_id) or "").strip()
                has_answer = sample.answer is not None or sample.claims
                sample.status = sample.status or ("ok" if has_answer else "missing")
                key = (sample.system, sample.epoch, sample.doc_id, sample.path)
                source.notes[DUPLICATES] += key in kept
                source.notes[UNREADABLE] += not sample.doc_id
                if key not in kept or sample.status in USABLE or kept[key].status not in USABLE:
                    kept |= {key: sample} if sample.doc_id else {}
    if not kept:
        reasons = [note for note in source.notes if note.startswith(f"first of {UNREADABLE}")]
        what = ": ".join(["the log has no samples", *reasons[:1]])
        remedy = "a log as the harness wrote it, of a run that has samples"
        raise DataBroken(what, where=source.path, remedy=remedy)
    source.notes[MISSING] += len({*map(as_text, planned)} - requests)
    system = next(iter(models)) if len(models) == 1 else system
    while kept:
        # Each is let go when its rows are given.
        sample = kept.pop(next(iter(kept)))
        source.notes[WITHOUT_GOLD] += sample.gold is None and not sample.golds
        run = {"doc_id": sample.doc_id, "split": str(split), "epoch": sample.epoch}
        run["system"] = sample.system or system or None
        with reading(source, sample.origin):
            yield from [run | row for row in sample.rows()]
    with reading(source, source.path.name, FIGURES):
        yield from figures


@contextmanager
def reading(source: Source, origin: object, note: str = UNREADABLE) -> Iterator[None]:
    """What cannot be read in the block is counted under `note`, with the first reason."""
    try:
        yield
    except ODD as error:
        if not source.notes[note]:
            reason = str(error) if isinstance(error, FormlabError) else repr(error)
            source.notes[f"first of {note}, {origin}: {reason}"[:200]] = 1
        source.notes[note] += 1


def beside(source: Source, file: Path) -> Row:
    """The object in a file of figures beside the samples; empty where there is none to read."""
    if file.is_file():
        source.files.append(file)
        with reading(source, file.name, FIGURES):
            return door.decoded(door.read_bytes(file), dict[str, Any], file)
    return {}


def json_lines(source: Source, path: Path) -> Iterator[tuple[str, Row]]:
    """Origin and object of each line of JSON; a line that is none is counted as unreadable."""
    source.files.append(path)
    with door.Member.of(path).text() as stream:
        for count, line in enumerate(stream, start=1):
            if line.strip():
                with reading(source, origin := f"{path.name}:{count}"):
                    yield origin, door.decoded(line, dict[str, Any], origin)


def names(path: Path) -> set[str]:
    """The names of a table's columns, or those of members at the start of a JSON file."""
    kind = door.kind(path) if path.is_file() else ""
    if kind in ("workbook", "parquet"):
        return set(columns_of(path))
    start = door.head(path).decode("utf-8-sig", "replace") if kind else ""
    if kind in ("json", "lines"):
        return set(_KEY.findall(start))
    return {name.strip('" ') for name in re.split(r"[,;\t]", start.strip().partition("\n")[0])}


def has(path: Path, ending: str, *keys: str) -> bool:
    """Whether a file of that ending has all of `keys` as names of columns or members."""
    return door.ending(path) == ending and {*keys} <= names(path)


def figure(scorer: Any, kind: Any, score: Any, n: Any = None) -> Row:
    """The row of what a log states of its samples, `n` of them."""
    row = {"role": "figure", "scorer": str(scorer), "kind": str(kind)}
    return row | {"score": number(score), "n": number(n)}


def tokens(used: Iterable[Any]) -> Row:
    """The tokens of a call that was made in several."""
    used = [use for use in used if isinstance(use, Mapping)]
    counts = {end: sum(use.get(f"{end}put_tokens") or 0 for use in used) for end in ("in", "out")}
    return {f"tokens_{end}": count or None for end, count in counts.items()}


def of_cells(row: Row, named: Mapping[str, str], doc_id: str | None = None) -> Sample:
    """The sample in a row of a table; `named` has the table's names for those of `NAMES`.

    A row without a name of its own is called `doc_id`.
    """
    cell = {column: row.get(named.get(column)) for column in NAMES}
    cell |= replies.in_cells(cell)
    text = {column: as_text(value) for column, value in cell.items()}
    answer = cell["value"] if isinstance(cell["value"], dict) else text["value"]
    error = text["error"]
    if isinstance(answer, str) and answer.lstrip().startswith(_FAILURE):
        answer, error = None, error or answer
    if (status := text["status"]) not in tables.STATUSES:
        # Another tool's word for it is kept, as the reason.
        error = error or (status if status not in (None, "success", "completed") else None)
        status = "api_error" if error and answer is None else "ok"
    score = _CREDIT.get(str(cell["score"]).strip().lower(), cell["score"])
    return Sample(
        text["doc_id"] or doc_id,
        pointer(text["path"]) if "path" in named else ANSWER,
        gold=cell["gold"] if isinstance(cell["gold"], dict | list) else text["gold"],
        answer=answer,
        status=status,
        system=text["system"],
        epoch=int(number(cell["epoch"]) or 1),
        scores={named["score"]: score} if "score" in named else {},
        call={"error": error},
        columns={name: row[name] for name in row if name not in named.values()},
    )


def fields(value: Any, path: str = "") -> Iterator[tuple[str, str | None]]:
    """The leaves of a JSON value at their JSON Pointers, as text; what has no value is null."""
    for place, leaf, _ in values_of(value, path, {}):
        # A number of JSON as it was written, which a user's 9.0 in a workbook is not.
        yield place, repr(leaf) if isinstance(leaf, float) and leaf == leaf else as_text(leaf)


def as_object(value: Any) -> Mapping[str, Any] | None:
    """The object that a value is or that its text is the JSON of, numbers as written; else None."""
    value = answers.stated(value) if isinstance(value, str) else value
    return value if isinstance(value, Mapping) else None
