"""Samples of a log as rows: the gold, the answer, the call and the scores of each."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from formlab import tables
from formlab.errors import DataBroken, FormlabError
from formlab.readers import door
from formlab.readers.door import number
from formlab.readers.rows import Row, Source, leaves
from formlab.readers.sources import columns_of
from formlab.tables import USABLE
from formlab.text import answers

# Where a value stands that a log asks for without naming a field.
ANSWER = "/answer"
MISSING = "samples missing: planned, and not in the log"
DUPLICATES = "samples given again: the last that did not fail is kept"
UNREADABLE = "samples unreadable"
WITHOUT_GOLD = "samples without gold in the log"
FIGURES = "figures stated in the log that cannot be read"
# What reading runs into where a log is not laid out as it should be.
ODD = (ArithmeticError, AttributeError, FormlabError, LookupError, RuntimeError, TypeError)
ODD += (ValueError,)
_KEY = re.compile(r'"((?:[^"\\]|\\.)*+)"\s*+:')


@dataclass
class Sample:
    """One question of a log: what was asked, what was answered, and what the log says of it.

    `gold` is a text, a list of texts that are all accepted, an object of fields (or its JSON), or
    None; so is `answer`. `path` None is the text of a whole page. `columns` are further ones of the
    gold's rows, `call` of the call's: `error`, tokens, seconds. Values at several places are given
    as rows: `golds`, `claims`.
    """

    doc_id: Any
    path: str | None = ANSWER
    gold: Any = None
    answer: Any = None
    status: str = "ok"
    system: str = ""
    epoch: int = 1
    request: Any = None
    origin: str | None = None
    answer_path: str | None = None
    scores: Mapping[str, Any] = field(default_factory=dict)
    judged: Iterable[str] = ()
    compared: Any = None
    call: Row = field(default_factory=dict)
    columns: Row = field(default_factory=dict)
    golds: list[Row] | None = None
    claims: list[Row] | None = None

    @property
    def form(self) -> Mapping[str, Any] | None:
        """The fields that are asked for, if they are several."""
        return as_object(self.gold) if self.path is not None else None

    @property
    def place(self) -> str | None:
        """Where the answer stands."""
        return self.answer_path or self.path


def sample_rows(samples: Iterable[Sample], source: Source, split: Any) -> Iterator[Row]:
    """The rows of samples of the task or data set `split`; of one given twice the last that is ok.

    The source's `notes` count what is given twice or has no gold. `DataBroken` if there is nothing.
    """
    kept: dict[tuple[Any, ...], Sample] = {}
    for sample in samples:
        sample.doc_id = tables.storable(door.as_text(sample.doc_id) or "").strip()
        key = (sample.system, sample.epoch, sample.doc_id, sample.path)
        source.notes[DUPLICATES] += key in kept
        source.notes[UNREADABLE] += not sample.doc_id
        if key not in kept or sample.status in USABLE or kept[key].status not in USABLE:
            kept |= {key: sample} if sample.doc_id else {}
    if not kept:
        reasons = [note for note in source.notes if note.startswith(f"first of {UNREADABLE}")]
        what = "".join(f"no sample can be read; the {reason}" for reason in reasons[:1])
        remedy = "a log as the harness wrote it, of a run that has samples"
        raise DataBroken(what or "the log has no samples", where=source.path, remedy=remedy)
    for sample in kept.values():
        source.notes[WITHOUT_GOLD] += sample.gold is None and not sample.golds
        run = {"doc_id": sample.doc_id, "split": str(split)}
        run |= {"system": sample.system or None, "epoch": sample.epoch}
        with reading(source, sample.origin or sample.doc_id):
            golds = _gold(sample) if sample.golds is None else sample.golds
            claims = _claims(sample) if sample.claims is None else sample.claims
            roles = {"gold": golds, "answer": claims, "call": [_call(sample)]}
            roles["score"] = _scores(sample)
            yield from [run | row | {"role": role} for role, rows in roles.items() for row in rows]


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


def json_lines(source: Source, path: Path) -> Iterator[tuple[str, Row]]:
    """Origin and object of each line of JSON; a line that is none is counted as unreadable."""
    source.files.append(path)
    with door.open_text(path) as stream:
        for number_, line in enumerate(stream, start=1):
            if line.strip():
                with reading(source, origin := f"{path.name}:{number_}"):
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


def figure(scorer: Any, kind: Any, score: Any, n: Any = None) -> Row:
    """The row of what a log states of its samples, `n` of them."""
    row = {"role": "figure", "scorer": str(scorer), "kind": str(kind)}
    return row | {"score": number(score), "n": number(n)}


def tokens(used: Iterable[Any]) -> Row:
    """The tokens of a call that was made in several."""
    used = [use for use in used if isinstance(use, Mapping)]
    ends = ("in", "out") if used else ()
    return {f"tokens_{end}": sum(use.get(f"{end}put_tokens") or 0 for use in used) for end in ends}


def fields(value: Any, path: str = "") -> Iterator[tuple[str, str | None]]:
    """The leaves of a JSON value at their JSON Pointers, as text; a place without a value is null.

    >>> list(fields({"items": [{"price": 9.5}], "paid": True, "tax": None}))
    [('/items/0/price', '9.5'), ('/paid', 'true'), ('/tax', None)]
    """
    for place, leaf in leaves(value, path):
        # A number of JSON as it was written, which a user's 9.0 in a workbook is not.
        is_float = isinstance(leaf, float) and leaf == leaf
        yield place, repr(leaf) if is_float else door.as_text(leaf)


def as_object(value: Any) -> Mapping[str, Any] | None:
    """The object that a value is or that its text is the JSON of, numbers as written; else None.

    >>> as_object('{"total": 9.00}'), as_object("9.00")
    ({'total': '9.00'}, None)
    """
    if isinstance(value, str) and value.lstrip().startswith("{"):
        try:
            return json.loads(value, parse_float=str, parse_int=str) or None
        except (ValueError, RecursionError):
            return None
    return value if isinstance(value, Mapping) else None


def _call(sample: Sample) -> Row:
    # A whole document is scored as one where its fields stand in one answer.
    is_whole = sample.path is None or sample.golds is not None or sample.form is not None
    request = door.as_text(sample.doc_id if sample.request is None else sample.request)
    row = {"path": None if is_whole else sample.place, "task": "text", "request": request}
    row |= {"text": door.as_text(sample.answer), "status": sample.status, "attempts": 1}
    return row | sample.call


def _scores(sample: Sample) -> Iterator[Row]:
    place = _call(sample)["path"]
    for scorer, value in sample.scores.items():
        if (score := number(value)) is not None:
            row = {"path": place, "scorer": tables.storable(scorer), "score": score}
            row["correct"] = bool(score) if score in (0, 1) else None
            row["judged"] = bool({scorer, scorer.partition("/")[0]} & {*sample.judged})
            yield row | {"compared": door.as_text(sample.compared)}


def _gold(sample: Sample) -> Iterator[Row]:
    # Names that begin with log_ are those of the log's scores.
    columns = {
        tables.storable(name): cell if name in tables.RECORDS else door.as_text(cell)
        for name, cell in sample.columns.items()
        if name in tables.RECORDS or not (name in tables.RESERVED or name.startswith("log_"))
    }
    gold, base = sample.gold, "" if sample.path == ANSWER else sample.path or ""
    if sample.form is not None:
        yield from (columns | {"path": p, "value": text} for p, text in fields(sample.form, base))
        return
    accepted = [door.as_text(text) for text in (gold if isinstance(gold, list) else [gold])]
    accepted = [text for text in accepted if text is not None]
    columns |= {"accepted": accepted} if accepted[1:] else {}
    yield from (columns | {"path": sample.path, "value": text} for text in accepted[:1])


def _claims(sample: Sample) -> Iterator[Row]:
    """The values of an answer, by the one rule for a model's text; what failed names none."""
    status, answer, form = sample.status, sample.answer, sample.form
    base = "" if sample.path == ANSWER else sample.path or ""
    if isinstance(answer, str) and answer and status in USABLE:
        parsed = answers.plain(answer) if form is None else answers.parse(answer, lists=True)
        answer = parsed.value
        status = parsed.status if parsed.changes or parsed.status not in USABLE else status
    claims: list[tuple[str | None, str | None]] = [(sample.place, door.as_text(answer))]
    if form is not None:
        claims = list(fields(answer, base)) if isinstance(answer, Mapping | list) else []
    # A null names no value, and what failed has failed at each field that was asked for.
    claims = [claim for claim in claims if claim[1] is not None and status in USABLE]
    if not claims:
        status = "missing" if status in USABLE else status
        asked = [sample.place] if form is None else [path for path, _ in fields(form, base)]
        claims = [(path, None) for path in asked]
    for path, value in claims:
        yield {"path": path, "value": value, "status": status, "origin": sample.origin}
