"""The one run loop: a system reads a corpus in order, resumable, losing no document."""

from __future__ import annotations

import hashlib
import json
import os
import sys
import time
import uuid
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import polars as pl

from formlab import benchmarks, files, registry, resources, saving, systems, tables
from formlab.errors import DataBroken, DataMissing, FormlabError, NotAvailable, TableBroken
from formlab.folders import Corpus, Predictions
from formlab.show import progress
from formlab.systems import Reader, System
from formlab.systems.pages import page_files
from formlab.trees import leaves
from formlab.workers import LOST, cores, each

HEAD, JOURNAL, PREDICTIONS = "run.json", "pages.jsonl", "predictions"
# Notes, which are counted.
SKIPPED = "documents without an image, passed over by --documents N"
LEARNT = "documents to learn from"
BLANK = "documents in which nothing was read (blank pages?)"
BROKEN = "lines of the journal that cannot be read"
Row = dict[str, Any]


class Reading(NamedTuple):
    """What came of a document, or of one question about it: rows of *records*, of *responses*."""

    doc_id: str
    status: str
    origin: str | None
    records: list[Row]
    response: Row
    notes: Counter[str]


class Entry(msgspec.Struct):
    """What every entry of a journal has."""

    doc_id: str


class _Page(Entry, kw_only=True):
    """A document that was read: what its images were, how long it took, and what came of it."""

    key: str | None
    seconds: float | None
    error: str | None
    records: list[Row]


@dataclass
class Journal:
    """A file of JSON lines that is only ever appended to: a killed run loses none of them.

    A line cut short by a crash is dropped at the next start. Lines that cannot be read count as
    not there, and stderr names them. `NotAvailable` if another process has it open, unless that is
    waited for.
    """

    path: Path
    kind: type[Entry] = Entry
    wait: bool = False
    entries: list[Row] = field(default_factory=list)

    def __enter__(self) -> Journal:
        files.make_folder(self.path.parent)
        with files.writing(self.path):
            self._stream = self.path.open("ab+")
            try:
                import fcntl

                fcntl.flock(self._stream, fcntl.LOCK_EX | (0 if self.wait else fcntl.LOCK_NB))
            except ImportError:  # Windows: two runs into one folder are not kept apart there.
                pass
            except OSError as error:
                self._stream.close()
                what, remedy = "another run is writing to this folder", "wait for it"
                raise NotAvailable(what, where=self.path.parent, remedy=remedy) from error
            self.entries, whole, _ = entries(self.path, self.kind)
            self._stream.truncate(whole)
        return self

    def __exit__(self, *_: object) -> None:
        self._stream.close()

    def append(self, entry: Row) -> None:
        """Write one entry; it is on the disk when this returns."""
        with files.writing(self.path):
            self._stream.write((json.dumps(entry) + "\n").encode())
            self._stream.flush()
            os.fsync(self._stream.fileno())
        self.entries.append(entry)


def entries(path: Path, kind: type[Entry] = Entry) -> tuple[list[Row], int, int]:
    """What a journal has: its entries, the bytes of its whole lines, how many of them are none."""
    *lines, rest = (data := files.read_bytes(path)).split(b"\n")
    values: list[Row] = []
    for number, line in enumerate(lines, start=1):
        try:
            text = line.decode("utf-8", "backslashreplace")
            value = files.parse_json(text, where=str(path), first_line=number)
            files.convert(value, kind, where=f"{path}:{number}")
            values.append(value)
        except DataBroken as error:
            print(f"note: passed over, no entry of a run: {error}", file=sys.stderr)
    return values, len(data) - len(rest), len(lines) - len(values)


def run(
    corpus: Corpus,
    system: System,
    *,
    out: str | Path,
    settings: Row | None = None,
    limit: int | None = None,
    workers: int | str = 1,
    name: str | None = None,
    wait: bool = False,
) -> Predictions:
    """Read the documents of `corpus` with `system` and save the predictions in the folder `out`.

    Every finished page, and every answer of a model, is on disk before it counts; the same call
    after a crash goes on where that one stopped. A page is read again only if its image changed.
    What cannot be read is a record with status `missing`, or that of the answer, and its reason.

    `settings` are those that differ from the system's defaults. With `limit`, only the first so
    many documents are read that have an image, if the system reads images. `workers` are processes,
    or a Dask scheduler whose workers see the images under the same path. `name` is what tables and
    charts call the run. With `wait`, another run into the same folder is waited for.

    `DataBroken` if `out` holds a run of another benchmark, split, system or of other settings;
    `DataMissing` if there is a `limit` and no document has an image to read, or none to learn from;
    `NotAvailable` if a part of formlab or a scheduler is absent, or no call of a model can succeed.
    """
    if system.extra:
        resources.need(system.extra)
    out, settings = Path(out), system.defaults | (settings or {})
    work = (system.work or PageWork)(system, corpus, settings)
    head = {"benchmark": corpus.benchmark, "split": corpus.split, "system": system.name}
    head |= {"name": name or system.run_name(settings)} | work.head
    if plugins := registry.needed({"systems": [system.name]}):
        head["plugins"] = plugins
    documents, skipped = first(corpus, limit, images=work.images, texts=work.texts)
    with Journal(out / JOURNAL, kind=_Page, wait=wait) as journal:
        # Whoever is refused the journal leaves the head of the other run as it is.
        _check_head(out, head)
        files.write_json(out / HEAD, head)
        # Earlier predictions would look complete while this run is under way.
        with files.writing(out):
            files.remove(out / PREDICTIONS)
        readings = work.read(documents, out=out, journal=journal, workers=workers)
    notes, records, responses = work.notes + Counter({SKIPPED: skipped}), [], []
    shared = {"benchmark": corpus.benchmark, "split": corpus.split, "system": head["name"]}
    for reading in readings:
        mark = {"doc_id": reading.doc_id, "status": reading.status}
        records += [mark | {"origin": reading.origin} | row for row in reading.records]
        responses.append(mark | reading.response)
        notes.update(reading.notes)
    notes = dict(sorted((+notes).items()))
    try:
        answers = tables.table("records", records, role="prediction", **shared)
        calls = tables.table("responses", responses, **shared)
        predictions = Predictions(answers, calls, head["name"], work.settings, notes=notes).check()
    except TableBroken as error:
        remedy = "mend the system that gave it, or delete this file if it was damaged"
        raise DataBroken(error.what, where=out / JOURNAL, remedy=remedy) from error
    predictions.save(out / PREDICTIONS)
    return predictions


def first(
    corpus: Corpus, limit: int | None, *, images: bool = True, texts: bool = False
) -> tuple[pl.DataFrame, int]:
    """The first `limit` documents (all if None), and how many without an image were passed over.

    Only a system that reads `images` passes over documents; `DataMissing` if none has one. With
    `texts`, a document without an image may have a text of its own instead.
    """
    if limit is None or not images:
        return corpus.documents.head(corpus.documents.height if limit is None else limit), 0
    rows: list[int] = []
    for row, (image, text) in enumerate(corpus.documents.select("image", "context").iter_rows()):
        if len(rows) == limit:
            break
        is_file = image and corpus.root and (corpus.root / image).is_file()
        rows += [row] if is_file or (image is None and texts and text) else []
    if not rows:
        what = f"no document of {corpus.benchmark}:{corpus.split} has an image to read"
        raise DataMissing(what, where=corpus.root, remedy="--root with the benchmark's images")
    return corpus.documents[rows], rows[-1] + 1 - len(rows)


def _check_head(folder: Path, head: Row) -> None:
    """`DataBroken` if `folder` holds a run whose head is damaged or has other values."""
    if not (folder / HEAD).is_file():
        return
    remedy = "delete this file and give formlab run the settings of before: what is finished stays"
    before = dict(leaves(files.read_json(folder / HEAD, Row, remedy=remedy)))
    now = dict(leaves(json.loads(json.dumps(head))))
    changed = [n for n in now | before if n.split("/")[1] in head and before.get(n) != now.get(n)]
    if changed:
        said = (f"{n[1:].replace('/', ' ')} {before.get(n)!r}, now {now.get(n)!r}" for n in changed)
        what = f"this folder holds another run: {', '.join(said)}"
        raise DataBroken(what, where=folder, remedy="--out")


class PageWork:
    """How a system that reads page by page works on a corpus; called, it reads one document.

    `head` is what a run's folder remembers and compares, `images` and `texts` what documents are
    chosen by (`first`); the predictions have `settings` and `notes`.
    """

    texts = False

    def __init__(self, system: System, corpus: Corpus, settings: Row) -> None:
        self.system, self.root, self.images = system, corpus.root, system.images
        self.run, self.notes, self.examples = uuid.uuid4().hex, Counter[str](), ()
        versions = {library: metadata.version(library) for library in system.versions}
        self.head: Row = {"settings": settings, "versions": versions}
        self.settings = settings | versions
        if system.learns:
            limit, seed = settings.get("examples") or None, settings.get("seed", 0)
            examples = benchmarks.training(corpus, limit=limit, seed=seed)
            gold = examples.records.select("doc_id", "path", "value").rows()
            self.head["examples"] = hashlib.sha256(repr(gold).encode()).hexdigest()
            self.notes[LEARNT], self.examples = examples.documents.height, (examples,)
            self.notes.update({f"{LEARNT}: {f}": n for f, n in examples.flaws.items()})

    def read(
        self, documents: pl.DataFrame, *, journal: Journal, workers: int | str, **_: Any
    ) -> Iterable[Reading]:
        """What was read of each document, in the order of the corpus, and not that of workers."""
        rows, name = documents.to_dicts(), self.system.name
        keys = {row["doc_id"]: _key(row, self.root) for row in rows}
        # The last entry of each document whose images are as they were.
        known = (e for e in journal.entries if keys.get(e["doc_id"], "") == e["key"])
        done, failed = {entry["doc_id"]: entry for entry in known}, 0
        todo = [row for row in rows if row["doc_id"] not in done]
        if workers != 1:
            # Other processes know the system by its name, if it is no notebook's own.
            self.system, self.root = name, self.root and self.root.resolve()
        with progress("pages, {task.fields[failed]} failed") as bars:
            bar = bars.add_task(name, total=len(rows), completed=len(done), failed=0)
            for document, result in each(self, todo, workers=workers) if todo else ():
                if result is LOST:
                    result = {"seconds": None, "error": LOST, "records": []}
                doc_id = document["doc_id"]
                done[doc_id] = {"doc_id": doc_id, "key": keys[doc_id]} | result
                journal.append(done[doc_id])
                failed += result["error"] is not None
                bars.update(bar, advance=1, failed=failed)
        _READERS.clear()
        return [_reading(done[doc_id]) for doc_id in keys if doc_id in done]

    def __call__(self, document: Row) -> Row:
        """What is read of a document in this process: seconds, error and records."""
        if self.run not in _READERS:
            system = systems.get(self.system) if isinstance(self.system, str) else self.system
            # All other processes, such as those of a cluster, have to see the images.
            if system is not self.system and self.images and self.root and not self.root.is_dir():
                raise DataMissing("no such folder", where=self.root)
            # A worker process has its share of the processors.
            threads = int(os.environ.get("OMP_NUM_THREADS") or cores())
            _READERS.clear()
            _READERS[self.run] = system.start(self.head["settings"], threads, *self.examples)
        begin, saved = time.perf_counter(), saving.reused.get()[1]
        rows, error = [], None
        try:
            rows = _READERS[self.run](document, self.root)
        except Exception as caught:  # An error on one page must not lose the others.
            error = told(caught)
        # Those of the reading itself, whenever it was.
        seconds = time.perf_counter() - begin + saving.reused.get()[1] - saved
        return {"seconds": seconds, "error": error, "records": rows}


# The reader of a run in this process.
_READERS: dict[str, Reader] = {}


def told(error: Exception) -> str:
    """What a response says of an error, whatever library it is of."""
    return str(error) if isinstance(error, FormlabError) else f"{error!r:.500}"


def _key(document: Row, root: Path | None) -> str | None:
    """A hash of all images of a document; None if it has none."""
    try:
        hashes = [files.sha256(file) for file in page_files(document, root)]
    except (OSError, FormlabError):
        return None
    return hashes[0] if len(hashes) == 1 else hashlib.sha256("".join(hashes).encode()).hexdigest()


def _reading(page: Row) -> Reading:
    """What the journal has of a document."""
    error, rows = page["error"], page["records"] or [{"task": "text", "kind": "page"}]
    # Without an image there was nothing to attempt.
    response = {"task": "text", "attempts": int(not error or page["key"] is not None)}
    response |= {"seconds": page["seconds"], "error": error}
    notes = Counter({BLANK: int(not error and not any(row.get("value") for row in rows))})
    origin, status = f"{JOURNAL}#{page['doc_id']}", "missing" if error else "ok"
    return Reading(page["doc_id"], status, origin, rows, response, notes)
