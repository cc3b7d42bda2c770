"""The one run loop: a system reads a corpus in order, resumable, losing no document."""

from __future__ import annotations

import hashlib
import json
import os
import time
import uuid
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from importlib import metadata
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import polars as pl

from formlab import files, registry, resources, saving, tables
from formlab.errors import DataBroken, DataMissing, FormlabError, TableBroken
from formlab.folders import Corpus, Predictions
from formlab.show import progress
from formlab.systems.journal import BROKEN, Entry, Journal, entries
from formlab.systems.pages import page_files
from formlab.systems.system import Reader, System
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
    settings: dict[str, Any]
    versions: dict[str, str]
    name: str


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
    """Read the documents of `corpus` and save the predictions in `out`.

    Every finished page, and every answer of a model, is on disk before it counts. The same call
    after a crash goes on where that one stopped: no finished page is read again, unless its image
    has changed since, and no question that was answered is asked again. What cannot be read
    becomes a record with status `missing`, or that of the answer, and a response with the reason.

    Parameters
    ----------
    corpus
        The documents to read.
    system
        What reads them.
    out
        The folder of the run.
    settings
        Those of the system that differ from its defaults.
    limit
        Read only the first so many documents that have an image, where the system reads images.
    workers
        How many processes read at once, or the address of a Dask scheduler whose workers do; they
        must see the images under the path they have here. Models have a setting `concurrency`.
    name
        What the run is called in tables and charts; by default the system with its settings.
    wait
        Whether to wait for another run into the same folder, instead of refusing.

    Raises
    ------
    DataBroken
        If `out` holds a run of another benchmark, split, system or of other settings.
    DataMissing
        If there is a `limit` and no document has an image to read.
    NotAvailable
        If the system needs a part of formlab that is not installed, a scheduler does not answer,
        no call of a model can succeed, or `max_cost` is given and the model has no price.
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
        check_head(out, head)
        files.write_json(out / HEAD, head)
        # Earlier predictions would look complete while this run is under way.
        with files.writing(out):
            files.remove(out / PREDICTIONS)
            (out / "manifest.json").unlink(missing_ok=True)  # Of format 1.
        readings = work.read(documents, out=out, journal=journal, workers=workers)
    notes = work.notes + Counter({SKIPPED: skipped})
    predictions = predictions_of(out, head, readings, work.settings, notes)
    predictions.save(out / PREDICTIONS)
    return predictions


def unfinished(folder: Path) -> Predictions | None:
    """The pages that a run under way (or killed) has read so far; None if there is no such run.

    `DataBroken` for that of a model: its answers are read by the command that asks for them.
    """
    head = _read_head(folder) if (folder / HEAD).is_file() else {}
    if str(head.get("system")).startswith("chat:"):
        remedy = "the same formlab run … --set max_calls=0, which asks nothing"
        raise DataBroken("this run of a model has not ended", where=folder, remedy=remedy)
    if not head or not (folder / JOURNAL).is_file():
        return None
    files.convert(head, _Head, where=folder / HEAD, remedy=HEADLESS)
    journal = entries(folder / JOURNAL, _Page)
    latest = {entry["doc_id"]: entry for entry in journal.values}
    settings = head["settings"] | head["versions"]
    notes = Counter({BROKEN: journal.broken})
    return predictions_of(folder, head, map(_reading, latest.values()), settings, notes)


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
        if is_file or (image is None and texts and text):
            rows.append(row)
    if not rows:
        what = f"no document of {corpus.benchmark}:{corpus.split} has an image to read"
        raise DataMissing(what, where=corpus.root, remedy="--root with the benchmark's images")
    return corpus.documents[rows], rows[-1] + 1 - len(rows)


def check_head(folder: Path, head: Row) -> None:
    """`DataBroken` if `folder` holds a run whose head is damaged or has other values."""
    if not (folder / HEAD).is_file():
        return
    before, now = _flat(_read_head(folder)), _flat(json.loads(json.dumps(head)))
    changed = [n for n in now | before if n[0] in head and before.get(n) != now.get(n)]
    if changed:
        differences = (f"{' '.join(n)} {before.get(n)!r}, now {now.get(n)!r}" for n in changed)
        what = f"this folder holds another run: {', '.join(differences)}"
        raise DataBroken(what, where=folder, remedy="--out")


def predictions_of(
    folder: Path, head: Row, readings: Iterable[Reading], settings: Row, notes: Counter[str]
) -> Predictions:
    """The tables of a run in `folder`; `DataBroken` if what was read on a page is no record."""
    records, responses, notes = [], [], Counter(notes)
    run = {"benchmark": head["benchmark"], "split": head["split"], "system": head["name"]}
    for reading in readings:
        mark = run | {"doc_id": reading.doc_id, "status": reading.status}
        made = mark | {"role": "prediction", "origin": reading.origin}
        records += [made | row for row in reading.records]
        responses.append(mark | reading.response)
        notes.update(reading.notes)
    try:
        return Predictions(
            records=tables.table("records", records),
            responses=tables.table("responses", responses),
            system=head["name"],
            settings=settings,
            notes={note: count for note, count in sorted(notes.items()) if count},
        ).check()
    except TableBroken as error:
        remedy = "mend the system that gave it, or delete this file if it was damaged"
        raise DataBroken(error.what, where=folder / JOURNAL, remedy=remedy) from error


def _read_head(folder: Path) -> Row:
    file = folder / HEAD
    try:
        return files.read_json(file, dict[str, Any])
    except DataBroken as error:
        raise DataBroken(error.what, where=error.where, remedy=HEADLESS) from error


def _flat(head: Row) -> dict[tuple[str, ...], Any]:
    """The values of a head, each setting by itself."""
    flat: dict[tuple[str, ...], Any] = {}
    for name, value in head.items():
        inner = value if isinstance(value, dict) else {None: value}
        flat |= {(name,) if key is None else (name, key): item for key, item in inner.items()}
    return flat


class PageWork:
    """How a system that reads page by page works on a corpus.

    `head` is what a run's folder remembers and compares; `images` and `texts` are what documents
    are chosen by (`first`); `settings` and `notes` are those of the predictions.
    """

    def __init__(self, system: System, corpus: Corpus, settings: Row) -> None:
        self.system, self.root = system, corpus.root
        self.images, self.texts = system.images, False
        self.examples = system.examples(corpus, settings)
        self.notes = Counter[str]()
        versions = {library: metadata.version(library) for library in system.versions}
        self.head: Row = {"settings": settings, "versions": versions}
        self.settings = settings | versions
        if self.examples is not None:
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
        done = _latest(journal, keys)
        failed, todo = 0, [row for row in rows if row["doc_id"] not in done]
        with progress("pages, {task.fields[failed]} failed") as bars:
            bar = bars.add_task(self.system.name, total=len(rows), completed=len(done), failed=0)
            for doc_id, result in self._results(todo, workers) if todo else ():
                journal.append({"doc_id": doc_id, "key": keys[doc_id]} | result)
                failed += result["error"] is not None
                bars.update(bar, advance=1, failed=failed)
        done = _latest(journal, keys)
        return [_reading(done[doc_id]) for doc_id in keys if doc_id in done]

    def _results(self, todo: list[Row], workers: int | str) -> Iterator[tuple[str, Row]]:
        examples = () if self.examples is None else (self.examples,)
        plan = _Plan(self.system, self.root, self.head["settings"], examples)
        if workers != 1:
            root = self.root and self.root.resolve()
            plan = replace(plan, system=_findable(self.system), root=root)
        if isinstance(workers, str):
            plan = replace(plan, probe=_probe(todo, plan.root))
        for document, result in each(partial(_attempt, plan), todo, workers=workers):
            if isinstance(result, Lost):
                result = {"seconds": None, "error": result.reason, "records": []}
            yield document["doc_id"], result
        _reader.cache_clear()


def _key(document: Row, root: Path | None) -> str | None:
    """A hash of all images of a document; None if it has none."""
    try:
        hashes = [files.sha256(file) for file in page_files(document, root)]
    except (OSError, FormlabError):
        return None
    return hashes[0] if len(hashes) == 1 else hashlib.sha256("".join(hashes).encode()).hexdigest()


def _latest(journal: Journal, keys: dict[str, str | None]) -> dict[str, Row]:
    """The last entry of each document whose images are as they were."""
    return {
        entry["doc_id"]: entry
        for entry in journal.entries
        if entry["doc_id"] in keys and entry["key"] == keys[entry["doc_id"]]
    }


@dataclass(frozen=True)
class _Plan:
    """How a run reads its pages; equal to no other run's."""

    system: System | str = field(compare=False)  # Its name where other processes find it.
    root: Path | None = field(compare=False)
    settings: Row = field(compare=False)
    examples: tuple[Corpus, ...] = field(compare=False)
    probe: Path | None = None  # An image that every worker has to see.
    run: str = field(default_factory=lambda: uuid.uuid4().hex)


@lru_cache(maxsize=1)
def _reader(plan: _Plan) -> Reader:
    """What this process reads the pages of a run with, once it sees its images."""
    from formlab.systems import get

    if plan.probe is not None and not plan.probe.is_file():
        raise DataMissing("no such file", where=plan.probe)
    system = get(plan.system) if isinstance(plan.system, str) else plan.system
    # A worker process has its share of the processors.
    threads = int(os.environ.get("OMP_NUM_THREADS") or cores())
    return system.start(plan.settings, threads, *plan.examples)


def _attempt(plan: _Plan, document: Row) -> Row:
    read = _reader(plan)
    begin, (count, saved) = time.perf_counter(), saving.reused.get()
    rows, error = [], None
    try:
        rows = read(document, plan.root)
    except Exception as caught:  # An error on one page must not lose the others.
        error = str(caught) if isinstance(caught, FormlabError) else f"{caught!r}"
    seconds, reused = time.perf_counter() - begin, saving.reused.get()
    # Those of the reading itself, whenever it was.
    result = {"seconds": seconds + reused[1] - saved, "error": error, "records": rows}
    return result | ({"reused": True} if reused[0] > count else {})


def _probe(documents: list[Row], root: Path | None) -> Path | None:
    """The first image that is there."""
    for document in documents:
        with suppress(FormlabError):
            if found := [file for file in page_files(document, root) if file.is_file()]:
                return found[0]
    return None


def _findable(system: System) -> str:
    """The name by which a process that starts afresh finds the system."""
    systems = registry.view("systems")
    if system.name not in systems or systems.entry(system.name).origin == "notebook":
        what = f"worker processes do not find system {system.name!r}"
        remedy = "keep it in a file and load that with formlab.plugin, or workers=1"
        raise DataBroken(what, remedy=remedy)
    return system.name


def _reading(page: Row) -> Reading:
    """What the journal has of a document."""
    status = "missing" if page["error"] else "ok"
    # Without an image there was nothing to attempt.
    attempts = 0 if page["error"] and page["key"] is None else 1
    response = {"task": "text", "attempts": attempts}
    response |= {"seconds": page["seconds"], "error": page["error"]}
    rows = page["records"] or [{"task": "text", "kind": "page"}]
    notes = Counter({REUSED: int(page.get("reused", False))})
    doc_id = page["doc_id"]
    return Reading(doc_id, status, f"{JOURNAL}#{doc_id}", rows, response, notes)
