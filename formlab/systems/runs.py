"""The one run loop: a system reads a corpus in order, resumable, losing no document."""

from __future__ import annotations

import hashlib
import json
import os
import time
import uuid
from collections import Counter
from collections.abc import Callable, Iterable
from functools import partial
from importlib import metadata
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import polars as pl

from formlab import benchmarks, files, registry, resources, saving, tables
from formlab.errors import DataBroken, DataMissing, FormlabError, TableBroken
from formlab.folders import Corpus, Predictions
from formlab.show import progress
from formlab.systems import Reader, System
from formlab.systems.journal import BROKEN, Entry, Journal, entries
from formlab.systems.pages import page_files
from formlab.trees import leaves
from formlab.workers import Lost, cores, each

SKIPPED = "documents without an image, passed over by --documents N"
HEAD, JOURNAL, PREDICTIONS = "run.json", "pages.jsonl", "predictions"
LEARNT = "documents to learn from"
REUSED = "documents with pages that OCR had read before"
HEADLESS = "delete this file and give formlab run the settings of before: what is finished stays"
Row = dict[str, Any]


class Reading(NamedTuple):
    """What came of a document, or of one question about it.

    `records` and `response` are rows of these tables, but for what the run knows; `notes` are
    counted.
    """

    doc_id: str
    status: str
    origin: str | None
    records: list[Row]
    response: Row
    notes: Counter[str]


class _Head(msgspec.Struct):
    benchmark: str
    split: str
    system: str
    name: str
    settings: dict[str, Any]
    versions: dict[str, str] = {}


class _Page(Entry, kw_only=True):
    """A document that was read: what its images were, how long it took, and what came of it."""

    key: str | None
    seconds: float | None
    error: str | None
    records: list[dict[str, Any]]
    reused: bool = False


def run(
    corpus: Corpus,
    system: System,
    *,
    out: str | Path,
    settings: dict[str, Any] | None = None,
    limit: int | None = None,
    workers: int | str = 1,
    name: str | None = None,
    wait: bool = False,
) -> Predictions:
    """Read the documents of `corpus` with `system` and save the predictions in the folder `out`.

    Every finished page, and every answer of a model, is on disk before it counts. The same call
    after a crash goes on where that one stopped: no finished page is read again, unless its image
    has changed since, and no question that was answered is asked again. What cannot be read
    becomes a record with status `missing`, or that of the answer, and a response with the reason.

    `settings` are those of the system that differ from its defaults. With `limit`, only the first
    so many documents are read that have an image, where the system reads images. `workers` is how
    many processes read at once, or the address of a Dask scheduler whose workers do; they must see
    the images under the path they have here (models have a setting `concurrency`). `name` is what
    the run is called in tables and charts, by default the system with its settings. With `wait`,
    another run into the same folder is waited for, instead of refusing.

    `DataBroken` if `out` holds a run of another benchmark, split, system or of other settings;
    `DataMissing` if there is a `limit` and no document has an image to read, or no document to
    learn from; `NotAvailable` if the system needs a part of formlab that is not installed, a
    scheduler does not answer, no call of a model can succeed, or `max_cost` is given and the model
    has no price.
    """
    if system.extra:
        resources.need(system.extra)
    out, settings = Path(out), system.defaults | (settings or {})
    work = system.work(corpus, settings)
    head = {
        "benchmark": corpus.benchmark,
        "split": corpus.split,
        "system": system.name,
        "name": name or system.run_name(settings),
    } | work.head
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
    notes = work.notes + Counter({SKIPPED: skipped})
    predictions = _predictions(out, head, readings, work.settings, notes)
    predictions.save(out / PREDICTIONS)
    return predictions


def unfinished(folder: Path) -> Predictions | None:
    """The pages that a run under way (or killed) has read so far; None if there is no such run.

    `DataBroken` for that of a model: its answers are read by the command that asks for them.
    """
    if not ((folder / HEAD).is_file() and (folder / JOURNAL).is_file()):
        return None
    head = files.read_json(folder / HEAD, _Head, remedy=HEADLESS)
    if head.system.startswith("chat:"):
        remedy = "the same formlab run … --set max_calls=0, which asks nothing"
        raise DataBroken("this run of a model has not ended", where=folder, remedy=remedy)
    values, _, broken = entries(folder / JOURNAL, _Page)
    readings = {entry["doc_id"]: _reading(entry) for entry in values}.values()
    settings, notes = head.settings | head.versions, Counter({BROKEN: broken})
    return _predictions(folder, msgspec.to_builtins(head), readings, settings, notes)


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
    shown = corpus.documents.select("image", "context").iter_rows()
    for row, (image, text) in enumerate(shown if limit else ()):
        is_file = image and corpus.root and (corpus.root / image).is_file()
        if is_file or (image is None and texts and text):
            rows.append(row)
        if len(rows) == limit:
            break
    if not rows:
        what = f"no document of {corpus.benchmark}:{corpus.split} has an image to read"
        raise DataMissing(what, where=corpus.root, remedy="--root with the benchmark's images")
    return corpus.documents[rows], rows[-1] + 1 - len(rows)


def _check_head(folder: Path, head: Row) -> None:
    """`DataBroken` if `folder` holds a run whose head is damaged or has other values."""
    if not (folder / HEAD).is_file():
        return
    before = dict(leaves(files.read_json(folder / HEAD, dict[str, Any], remedy=HEADLESS)))
    now = dict(leaves(json.loads(json.dumps(head))))
    changed = [n for n in now | before if n.split("/")[1] in head and before.get(n) != now.get(n)]
    if changed:
        names = {n: n.removeprefix("/").replace("/", " ") for n in changed}
        differences = (f"{of} {before.get(n)!r}, now {now.get(n)!r}" for n, of in names.items())
        what = f"this folder holds another run: {', '.join(differences)}"
        raise DataBroken(what, where=folder, remedy="--out")


def _predictions(
    folder: Path, head: Row, readings: Iterable[Reading], settings: Row, notes: Counter[str]
) -> Predictions:
    """The tables of a run in `folder`; `DataBroken` if what was read on a page is no record."""
    records, responses, notes = [], [], Counter(notes)
    run = {"benchmark": head["benchmark"], "split": head["split"], "system": head["name"]}
    for reading in readings:
        mark = {"doc_id": reading.doc_id, "status": reading.status}
        records += [mark | {"origin": reading.origin} | row for row in reading.records]
        responses.append(mark | reading.response)
        notes.update(reading.notes)
    try:
        return Predictions(
            records=tables.table("records", records, role="prediction", **run),
            responses=tables.table("responses", responses, **run),
            system=head["name"],
            settings=settings,
            notes={note: count for note, count in sorted(notes.items()) if count},
        ).check()
    except TableBroken as error:
        remedy = "mend the system that gave it, or delete this file if it was damaged"
        raise DataBroken(error.what, where=folder / JOURNAL, remedy=remedy) from error


class PageWork:
    """How a system that reads page by page works on a corpus.

    `head` is what a run's folder remembers and compares; `images` and `texts` are what documents
    are chosen by (`first`); `settings` and `notes` are those of the predictions.
    """

    texts = False

    def __init__(self, system: System, corpus: Corpus, settings: Row) -> None:
        self.system, self.root, self.images = system, corpus.root, system.images
        versions = {library: metadata.version(library) for library in system.versions}
        self.head: Row = {"settings": settings, "versions": versions}
        self.settings, self.notes = settings | versions, Counter[str]()
        self.examples = None
        if system.learns:
            limit, seed = settings.get("examples") or None, settings.get("seed", 0)
            self.examples = benchmarks.training(corpus, limit=limit, seed=seed)
            gold = self.examples.records.select("doc_id", "path", "value").rows()
            self.head["examples"] = hashlib.sha256(repr(gold).encode()).hexdigest()
            self.notes[LEARNT] = self.examples.documents.height
            self.notes.update({f"{LEARNT}: {f}": n for f, n in self.examples.flaws.items()})

    def read(
        self, documents: pl.DataFrame, *, journal: Journal, workers: int | str, **_: Any
    ) -> Iterable[Reading]:
        """What was read of each document, in the order of the corpus, and not that of workers."""
        rows = documents.to_dicts()
        keys = {row["doc_id"]: _key(row, self.root) for row in rows}

        def finished() -> dict[str, Row]:
            """The last entry of each document whose images are as they were."""
            known = (e for e in journal.entries if keys.get(e["doc_id"], "") == e["key"])
            return {entry["doc_id"]: entry for entry in known}

        done, failed = finished(), 0
        todo = [row for row in rows if row["doc_id"] not in done]
        seen = (page_files(row, self.root)[0] for row in todo if keys[row["doc_id"]])
        with progress("pages, {task.fields[failed]} failed") as bars:
            bar = bars.add_task(self.system.name, total=len(rows), completed=len(done), failed=0)
            results = each(self._attempt(seen, workers), todo, workers=workers) if todo else ()
            for document, result in results:
                if isinstance(result, Lost):
                    result = {"seconds": None, "error": result.reason, "records": []}
                doc_id = document["doc_id"]
                journal.append({"doc_id": doc_id, "key": keys[doc_id]} | result)
                failed += result["error"] is not None
                bars.update(bar, advance=1, failed=failed)
        _READERS.clear()
        done = finished()
        return [_reading(done[doc_id]) for doc_id in keys if doc_id in done]

    def _attempt(self, images: Iterable[Path], workers: int | str) -> Callable[[Row], Row]:
        """What reads one document, in this process or in others."""
        system, root, settings = self.system, self.root, self.head["settings"]
        if workers != 1:
            root, systems = root and root.resolve(), registry.view("systems")
            if system.name not in systems or systems.entry(system.name).origin == "notebook":
                what = f"worker processes do not find system {system.name!r}"
                remedy = "keep it in a file and load that with formlab.plugin, or workers=1"
                raise DataBroken(what, remedy=remedy)
            system = system.name
        # An image that all workers of a cluster have to see.
        seen = [file.resolve() for file in islice(images, int(isinstance(workers, str)))]
        known = () if self.examples is None else (self.examples,)
        start = partial(_start, system, settings, known, seen)
        return partial(_attempt, uuid.uuid4().hex, start, root)


# The reader of a run in this process.
_READERS: dict[str, Reader] = {}


def _start(system: System | str, settings: Row, examples: Any, seen: list[Path]) -> Reader:
    """What this process reads pages with, once it sees an image; other processes know its name."""
    from formlab.systems import get

    for file in seen:
        if not file.is_file():
            raise DataMissing("no such file", where=file)
    system = get(system) if isinstance(system, str) else system
    # A worker process has its share of the processors.
    threads = int(os.environ.get("OMP_NUM_THREADS") or cores())
    return system.start(settings, threads, *examples)


def _attempt(run: str, start: Callable[[], Reader], root: Path | None, document: Row) -> Row:
    if run not in _READERS:
        _READERS.clear()
        _READERS[run] = start()
    begin, (count, saved) = time.perf_counter(), saving.reused.get()
    rows, error = [], None
    try:
        rows = _READERS[run](document, root)
    except Exception as caught:  # An error on one page must not lose the others.
        error = told(caught)
    seconds, reused = time.perf_counter() - begin, saving.reused.get()
    # Those of the reading itself, whenever it was.
    result = {"seconds": seconds + reused[1] - saved, "error": error, "records": rows}
    return result | ({"reused": True} if reused[0] > count else {})


def told(error: Exception) -> str:
    """What a response says of an error, whatever library it is of."""
    return str(error) if isinstance(error, FormlabError) else f"{error!r}"


def _key(document: Row, root: Path | None) -> str | None:
    """A hash of all images of a document; None if it has none."""
    try:
        hashes = [files.sha256(file) for file in page_files(document, root)]
    except (OSError, FormlabError):
        return None
    return hashes[0] if len(hashes) == 1 else hashlib.sha256("".join(hashes).encode()).hexdigest()


def _reading(page: Row) -> Reading:
    """What the journal has of a document."""
    doc_id, error = page["doc_id"], page["error"]
    # Without an image there was nothing to attempt.
    attempts = 0 if error and page["key"] is None else 1
    response = {"task": "text", "attempts": attempts, "seconds": page["seconds"], "error": error}
    rows = page["records"] or [{"task": "text", "kind": "page"}]
    notes = Counter({REUSED: int(page.get("reused", False))})
    status = "missing" if error else "ok"
    return Reading(doc_id, status, f"{JOURNAL}#{doc_id}", rows, response, notes)
