"""Samples of a log as rows: the gold, the answer, the call and the document of each."""

import re
import tomllib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from itertools import chain, repeat
from pathlib import Path
from typing import Any

import polars as pl

from formlab import files, tables
from formlab.benchmarks.corpus import in_batches, number
from formlab.errors import DataBroken, FormlabError, UnknownName
from formlab.readers import ODD, Row, Source, door, sources
from formlab.readers.door import as_text
from formlab.readers.values import as_frame, escape, pointer, values_of
from formlab.tables import USABLE
from formlab.text import answers

ANSWER = "/answer"  # Where a value stands that a log asks for without naming a field.
SCORE = "log_by_"  # How the columns of a log's scores begin, before the name of the scorer.
# What is noted of samples by the words of a report, and of all else; scores by their words.
_TABLES = tomllib.loads(Path(__file__).with_name("notes.toml").read_text("utf-8"))
JOINED, OTHERS, _CREDIT = _TABLES.values()
NAMES, _ROLES = door.NAMES["log"], door.NAMES["roles"]  # Names of columns; columns of roles.
_FAILURE = "Failed to obtain answer"  # What VLMEvalKit writes where there was none.
_KEY = re.compile(r'"((?:[^"\\]|\\.)*+)"\s*+:')
_SEVERAL = ("path", "value")  # What a row may have several of.
_FEW = pl.col("^(role|system|origin)$")  # A million times the same.
_DTYPES = tables.DOCUMENTS | tables.RESPONSES | tables.RECORDS
_DTYPES |= {"epoch": pl.Int64, "score": pl.Float64, "n": pl.Int64}


@dataclass
class Sample:
    """One question of a log: what was asked, what was answered, and what the log says of it."""

    doc_id: Any
    path: str | None = ANSWER  # None is the text of a page.
    # A text, a list of those accepted, an object of fields or its JSON, a tuple of paths and texts.
    gold: Any = None
    answer: Any = None
    status: str | None = None
    system: str | None = None
    model: str | None = None  # It names the system if all are of one.
    epoch: int = 1
    request: Any = None
    scores: Mapping[str, Any] = field(default_factory=dict)
    call: Row = field(default_factory=dict)
    columns: Row = field(default_factory=dict)
    origin: str = ""  # Where it stands in the log.

    def rows(self) -> Iterator[Row]:
        """Its gold and answers, a row each, and its call, with the scores of a whole document."""
        form = answers.stated(self.gold) if isinstance(self.gold, str) else self.gold
        form = form if isinstance(form, Mapping) and self.path is not None else None
        place, gold = (self.path, self.gold) if form is None else (None, form)
        # Names that begin with log_ are those of the log's scores.
        columns = {n: cell for n, cell in self.columns.items() if not n.startswith("log_")}
        if not isinstance(gold, Mapping | tuple):
            texts = map(as_text, gold if isinstance(gold, list) else [gold])
            accepted = [files.storable(text) for text in texts if text is not None]
            columns |= {"accepted": accepted} if accepted[1:] else {}
            gold = tuple((place, text) for text in accepted[:1])
        base = "" if self.path == ANSWER else self.path
        golds = gold if form is None else fields(answers.form_in(form), base)
        status, claims = self._claims(form, base, [path for path, _ in golds])
        credit = {n: _CREDIT.get(str(s).lower().strip(), s) for n, s in self.scores.items()}
        scores = {f"{SCORE}{name}": number(score) for name, score in credit.items()}
        run = {"doc_id": self.doc_id, "epoch": self.epoch, "system": self.system or None}
        request = as_text(self.doc_id if self.request is None else self.request)
        call = {"role": "call", "task": "text", "request": request, "attempts": 1, "path": place}
        texts = dict(self.answer) if isinstance(self.answer, tuple) else {None: self.answer}
        call |= {"text": as_text(texts.get(None)), "status": self.status} | self.call
        answer = {"origin": self.origin, "status": status} | (scores if place is not None else {})
        for role, values, said in (("gold", golds, columns), ("answer", claims, answer)):
            if values:
                paths, texts = map(list, zip(*values, strict=True))
                yield said | run | {"role": role, "path": paths, "value": texts}
        yield call | run | (scores | {"log_status": self.status} if place is None else {})

    def _claims(self, form: Any, base: str | None, paths: list[str | None]) -> tuple[Any, list]:
        """The status of what it answers, and the values; null at all `paths` of its gold's form."""
        status, answer = self.status, self.answer
        if isinstance(answer, str) and answer and status in USABLE:
            parsed = answers.plain(answer) if form is None else answers.parse(answer, lists=True)
            is_field = form is None and self.path is not None
            answer = answers.answer_in(parsed.value) if is_field else parsed.value
            status = parsed.status if parsed.changes or parsed.status not in USABLE else status
        # A null names no value; what failed has failed at each field that was asked for.
        if form is None:
            claims = answer if isinstance(answer, tuple) else [(self.path, as_text(answer))]
        else:
            is_form = isinstance(answer, Mapping | list)
            claims = fields(answers.form_in(answer), base) if is_form else ()
        claims = [said for said in claims if said[1] is not None] if status in USABLE else []
        if not claims:
            status = "missing" if status in USABLE else status
            claims = [(path, None) for path in ([self.path] if form is None else paths)]
        return status, claims


def sample_rows(
    source: Source,
    split: Any,
    entries: Iterable[tuple[Any, Any]],
    sample_of: Callable[[Any, str], Sample | Iterable[Sample]],
    figures: Iterable[Row] = (),
    planned: Iterable[Any] = (),
) -> Iterator[Row | Sample]:
    """The samples of a log's entries, each with where it stands, and the log's `figures`.

    The system is the one of a sample, the one model of all, else the `name` of the source.
    """
    kept: dict[tuple[Any, ...], Sample] = {}
    source.log = {"name": str(split or door.stem(source.path))}
    for origin, entry in entries:
        with reading(source, origin):
            found = sample_of(entry, str(origin))
            for sample in [found] if isinstance(found, Sample) else found:
                sample.doc_id = files.storable(as_text(sample.doc_id) or "").strip()
                if not sample.doc_id:
                    raise DataBroken("a sample without a name")
                sample.status = sample.status or ("missing" if sample.answer is None else "ok")
                key = (sample.system, sample.epoch, sample.doc_id, sample.path)
                source.notes[JOINED["duplicate"]] += key in kept
                if sample.status in USABLE or kept.get(key, sample).status not in USABLE:
                    kept[key], sample.origin = sample, str(origin)
    if not kept:
        reasons = [note for note in source.notes if note.startswith("first of")]
        what = ": ".join(["the log has no samples", *reasons[-1:]])
        raise DataBroken(what, where=source.path, remedy="a log of a run that has samples")
    requests = {as_text(sample.request) for sample in kept.values()}
    source.notes[JOINED["missing"]] += len({*map(as_text, planned)} - requests)
    models = {as_text(sample.model) for sample in kept.values()} - {None}
    source.name = models.pop() if len(models) == 1 else source.name
    yield from map(kept.pop, [*kept])
    with reading(source, source.path.name, OTHERS["figures"]):
        yield from figures


@contextmanager
def reading(source: Source, origin: object, note: str = JOINED["unreadable"]) -> Iterator[None]:
    """What cannot be read in the block is counted under `note`, with the first reason."""
    try:
        yield
    except ODD as error:
        if not source.notes[note]:
            reason = str(error) if isinstance(error, FormlabError) else repr(error)
            source.notes[f"first of {note}, {origin}: {reason}"[:200]] = 1
        source.notes[note] += 1


def runs_of(rows: Iterable[Row | Sample], source: Source, results: Any = map) -> Iterator[Source]:
    """The runs of a log, one for each system and epoch; figures are of each of them."""
    pieces = chain([[]], in_batches(rows, repeat(1), 1_000))
    frames, notes = zip(*results(_framed, enumerate(pieces)), strict=True)
    source.notes.update(sum(notes, Counter()))
    by = {role: pl.concat([of[role] for of in frames], how="diagonal") for role in _ROLES}
    stem = door.stem(source.path)
    name = files.storable(as_text(source.name) or stem)
    usual = pl.col("system").fill_null(name), pl.col("epoch").fill_null(1)
    by |= {role: by[role].with_columns(usual) for role in ("answer", "call")}
    said = (by[role].select("system", "epoch", f"^{SCORE}.*$") for role in ("answer", "call"))
    said = pl.concat(said, how="diagonal")
    keys = said.select("system", "epoch").unique(maintain_order=True).rows() or [(name, 1)]
    scorers = [scores.name.removeprefix(SCORE) for scores in said[:, 2:] if scores.count()]
    headline = by["figure"].select("scorer", metric="kind", value="score", n="n")
    # The first scorer is the one that the headline is of.
    scorer = next((name for name in (*headline["scorer"], *scorers) if name in scorers), None)
    log = {"name": stem, "headline": headline.to_dicts(), "scorer": scorer} | source.log
    others = pl.exclude("role", "system", "epoch", "split")
    for system, epoch in keys:
        # Gold and figures that do not say theirs are of every run.
        is_of = ((pl.col("system") == system) & (pl.col("epoch") == epoch)).fill_null(value=True)
        of_run = {role: rows.filter(is_of).select(others) for role, rows in by.items()}
        is_one = sum(system == other for other, _ in keys) == 1
        said = {"name": system if is_one else f"{system}, epoch {epoch}", "log": log}
        yield replace(source, notes=Counter(source.notes), rows=of_run, **said)


def _framed(job: tuple[int, list[Row | Sample]]) -> tuple[dict[str, pl.DataFrame], Counter[str]]:
    """The rows of each role in a piece of a log, which may be empty, and notes of odd samples."""
    rows, frames, source = list[Row](), {}, Source(None)
    for row in job[1]:
        with reading(source, getattr(row, "origin", "")):
            rows += [*row.rows()] if isinstance(row, Sample) else [row]
    for role, usual in _ROLES.items():
        of_role = [dict.fromkeys(usual), *(row for row in rows if row["role"] == role)]
        columns = tables.columns_of(of_role, {})
        scores = dict.fromkeys((name for name in columns if name.startswith(SCORE)), pl.Float64)
        values = {n: [c if type(c) is list else [c] for c in columns.pop(n)] for n in _SEVERAL}
        counts = pl.Series([*map(len, values["path"])])
        values = as_frame({n: [*chain.from_iterable(c)] for n, c in values.items()}, _DTYPES)
        frame = as_frame(columns, _DTYPES | scores).with_columns(_FEW.cast(pl.Categorical))
        frame = frame[pl.int_range(counts.len(), eager=True).repeat_by(counts).explode()]
        frames[role] = pl.concat([frame, values], how="horizontal")[1:]
    return frames, source.notes


def beside(source: Source, file: Path) -> Row:
    """The object in a file of figures beside the samples; empty where there is none to read."""
    if file.is_file():
        source.files.append(file)
        with reading(source, file.name, OTHERS["figures"]):
            return door.decoded(door.Member.of(file).read(), dict[str, Any], file)
    return {}


def json_lines(source: Source, path: Path) -> Iterator[tuple[str, Row]]:
    """Origin and object of each line of JSON; a line that is none is counted as unreadable."""
    source.files.append(path)
    with door.Member.of(path).text() as stream:
        for place, line in enumerate(stream, start=1):
            if line.strip():
                with reading(source, origin := f"{path.name}:{place}"):
                    yield origin, door.decoded(line, dict[str, Any], origin)


def names(path: Path, ending: str | None = None) -> set[str]:
    """The names of a table's columns, or of members at the start of JSON, in a file so ending."""
    kind = door.kind(path) if path.is_file() and ending in (None, door.ending(path)) else ""
    if kind == "workbook":
        return set(sources.columns_of(path))
    if kind == "parquet":
        with suppress(OSError, pl.exceptions.PolarsError):
            return set(pl.scan_parquet(path, glob=False).collect_schema())
    start = door.head(path).decode("utf-8-sig", "replace") if kind else ""
    if kind in ("json", "lines"):
        return set(_KEY.findall(start))
    return {name.strip('" ') for name in re.split(r"[,;\t]", start.strip().partition("\n")[0])}


def figure(scorer: Any, kind: Any, score: Any, n: Any = None) -> Row:
    """The row of what a log states of its samples, `n` of them."""
    row = {"role": "figure", "scorer": str(scorer), "kind": str(kind)}
    return row | {"score": number(score), "n": number(n)}


def of_cells(row: Row, named: Mapping[str, str], doc_id: str | None = None) -> Sample:
    """The sample in a row of a table, whose names for those of `NAMES` are `named`."""
    cell = {column: row.get(named.get(column)) for column in NAMES}
    cell |= answers.in_cells(cell)
    answer, error, status = cell["value"], as_text(cell["error"]), as_text(cell["status"])
    if isinstance(answer, str) and answer.lstrip().startswith(_FAILURE):
        answer, error = None, error or answer
    if status not in tables.STATUSES:
        # Another tool's word for it is kept, as the reason.
        error = error or (status if status not in (None, "success", "completed") else None)
        status = "api_error" if error and answer is None else "ok"
    path = pointer(as_text(cell["path"])) if "path" in named else ANSWER
    answer = answer if isinstance(answer, dict) else as_text(answer)
    scores = {named["score"]: cell["score"]} if "score" in named else {}
    others = {name: row[name] for name in row if name not in named.values()}
    given = {"call": {"error": error}, "scores": scores, "columns": others}
    given |= {"system": as_text(cell["system"]), "epoch": int(number(cell["epoch"]) or 1)}
    doc_id = as_text(cell["doc_id"]) or doc_id
    return Sample(doc_id, path, gold=cell["gold"], answer=answer, status=status, **given)


def of_table(table: Any, source: Source) -> Iterator[Row]:
    """The rows of any table with a row per sample, by its columns' names or those of `source`."""
    rows, named = [*sources.items(table, source.notes)], dict(source.columns)
    known = dict.fromkeys(name for _, row in rows for name in row)
    for column, name in named.items():
        for what, word, words in (("column to name", column, NAMES), ("column", name, known)):
            if word not in words:
                raise UnknownName.of(what, word, words)
    for column in NAMES.keys() - named:
        free = [name for name in NAMES[column] if name in known and name not in named.values()]
        named |= {column: free[0]} if free else {}
    if "value" not in named:
        what = f"no column is the answer; the table has: {', '.join(known)}"
        remedy = "--columns value=NAME; if it is gold, --predictions FILE"
        raise DataBroken(what, where=source.path, remedy=remedy)
    yield from sample_rows(source, None, rows, lambda row, place: of_cells(row, named, place))


def fields(cell: Any, path: str = "") -> list[tuple[str, str | None]]:
    """The leaves of a JSON value at their JSON Pointers, as text; what has no value is null."""
    if type(cell) is dict and {*map(type, cell.values())} == {str} and not answers.value_in(cell):
        return [(f"{path}/{escape(str(name))}", text) for name, text in cell.items()]
    found = values_of(cell, path, {})
    # A number of JSON as it was written, which a user's 9.0 in a workbook is not.
    return [(at, repr(v) if type(v) is float and v == v else as_text(v)) for at, v, _ in found]
