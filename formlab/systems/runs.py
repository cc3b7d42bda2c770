"""Run a system over the pages of a corpus: in order, resumable, losing no page."""

from __future__ import annotations

import hashlib
import json
import time
import uuid
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from importlib import metadata
from pathlib import Path
from typing import Any

import msgspec
import polars as pl

from formlab import cache, files, registry, resources, tables
from formlab.errors import DataBroken, DataMissing, FormlabError, NotAvailable, TableBroken
from formlab.folders import Corpus, Predictions
from formlab.show import progress
from formlab.systems.journal import BROKEN, Entry, Journal, entries
from formlab.systems.pages import page_files
from formlab.systems.system import Reader, System
from formlab.workers import Lost, each, own_threads

SKIPPED = "documents without an image, passed over by --documents N"
HEAD, JOURNAL, PREDICTIONS = "run.json", "pages.jsonl", "predictions"
HEADLESS = "delete this file and give formlab run the settings of before: what is finished stays"
LEARNT = "documents to learn from"
REUSED = "documents with pages that OCR had read before"
Document = dict[str, Any]


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
    use_cache: bool = True,
) -> Predictions:
    """Read the pages of `corpus` and save the predictions in `out`.

    Every finished page is on disk at once. The same call after a crash goes on where that one
    stopped and reads no finished page again, unless its image has changed since. A page that
    cannot be read becomes a record with status `missing` and a response with the reason.

    Parameters
    ----------
    corpus
        The documents to read.
    system
        What reads them.
    out
        The folder of the run.
    settings
        As from `System.settings`; the system's defaults if left out.
    limit
        Read only the first so many documents that have an image, where the system reads images.
    workers
        How many processes read at once, or the address of a Dask scheduler whose workers do; they
        must see the images under the path they have here.
    name
        What the run is called in tables and charts; by default the system with its settings.
    wait
        Whether to wait for another run into the same folder, instead of refusing.
    use_cache
        Whether what OCR read on the same page before, in whatever run, is taken (`formlab.cache`).
        The records are the same; `seconds` are then those of that reading, and a note counts such
        pages.

    Raises
    ------
    DataBroken
        If `out` holds a run of another benchmark, split, system or of other settings.
    DataMissing
        If there is a `limit` and no document has an image to read.
    NotAvailable
        If the system needs a part of formlab that is not installed, or a scheduler that does not
        answer.
    """
    if system.extra:
        resources.need(system.extra)
    # A model behind an endpoint is asked many pages at once and has a store of its own.
    if run_system := getattr(system, "run", None):
        if isinstance(workers, str):
            what = "models are asked from one machine, which keeps their answers and limits"
            raise NotAvailable(what, remedy="--workers N")
        with cache.bypassed(not use_cache):
            return run_system(corpus, out=out, settings=settings, limit=limit, name=name)
    out, settings = Path(out), dict(system.defaults if settings is None else settings)
    head = {
        "benchmark": corpus.benchmark,
        "split": corpus.split,
        "system": system.name,
        "settings": settings,
        "versions": {library: metadata.version(library) for library in system.versions},
        "name": name or system.run_name(settings),
    }
    if plugins := registry.needed({"systems": [system.name]}):
        head["plugins"] = plugins
    examples = system.examples(corpus, settings)
    if examples is not None:
        gold = examples.records.select("doc_id", "path", "value").rows()
        head["examples"] = hashlib.sha256(repr(gold).encode()).hexdigest()
    chosen, skipped = first(corpus, limit, images=system.images)
    documents = chosen.to_dicts()
    with Journal(out / JOURNAL, kind=_Page, wait=wait) as journal:
        # Whoever is refused the journal leaves the head of the other run as it is.
        begin(out, head)
        keys = {document["doc_id"]: _key(document, corpus.root) for document in documents}
        done = _latest(journal, keys)
        todo = [document for document in documents if document["doc_id"] not in done]
        with progress("pages, {task.fields[failed]} failed") as bars:
            bar = bars.add_task(system.name, total=len(documents), completed=len(done), failed=0)
            failed = 0
            given = () if examples is None else (examples,)
            plan = _Plan(system, corpus.root, settings, given, use_cache)
            for document, result in _read(todo, plan, workers) if todo else ():
                doc_id = document["doc_id"]
                journal.append({"doc_id": doc_id, "key": keys[doc_id]} | result)
                failed += result["error"] is not None
                bars.update(bar, advance=1, failed=failed)
        done = _latest(journal, keys)
    # In the order of the corpus: that of the journal is the one in which workers finished.
    predictions = _predictions(head, [done[n] for n in keys if n in done], out)
    if skipped:
        predictions.notes[SKIPPED] = skipped
    if examples is not None:
        predictions.notes[LEARNT] = examples.documents.height
        predictions.notes.update({f"{LEARNT}: {f}": n for f, n in examples.flaws.items()})
    predictions.save(out / PREDICTIONS)
    return predictions


def unfinished(folder: Path) -> Predictions | None:
    """What a run under way (or killed) has finished so far; None if `folder` is no run."""
    if not (folder / HEAD).is_file() or not (folder / JOURNAL).is_file():
        return None
    head = files.convert(read_head(folder), _Head, where=folder / HEAD, remedy=HEADLESS)
    journal = entries(folder / JOURNAL, _Page)
    latest = {entry["doc_id"]: entry for entry in journal.values}
    predictions = _predictions(msgspec.structs.asdict(head), latest.values(), folder)
    if journal.broken:
        predictions.notes[BROKEN] = journal.broken
    return predictions


def first(
    corpus: Corpus, limit: int | None, *, images: bool = True, texts: bool = False
) -> tuple[pl.DataFrame, int]:
    """The first `limit` documents (all if None), and how many without an image were passed over.

    Only a system that reads `images` passes over documents; `DataMissing` if none has one. With
    `texts`, a document without an image may have a text of its own instead.
    """
    if limit is None:
        return corpus.documents, 0
    if not images:
        return corpus.documents.head(limit), 0
    rows: list[int] = []
    for row, (image, text) in enumerate(corpus.documents.select("image", "context").iter_rows()):
        if len(rows) == limit:
            break
        if image is None:
            has_page = texts and bool(text)
        else:
            has_page = corpus.root is not None and (corpus.root / image).is_file()
        if has_page:
            rows.append(row)
    if not rows:
        what = f"no document of {corpus.benchmark}:{corpus.split} has an image to read"
        raise DataMissing(what, where=corpus.root, remedy="--root with the benchmark's images")
    return corpus.documents[rows], rows[-1] + 1 - len(rows)


def read_head(folder: Path) -> dict[str, Any]:
    """The head of a run; `DataBroken` if it is damaged."""
    file = folder / HEAD
    try:
        return files.read_json(file, dict[str, Any])
    except DataBroken as error:
        raise DataBroken(error.what, where=error.where, remedy=HEADLESS) from error


def check_head(folder: Path, head: dict[str, Any]) -> None:
    """`DataBroken` if `folder` holds a run whose head is damaged or has other values."""
    if not (folder / HEAD).is_file():
        return
    before, now = _flat(read_head(folder)), _flat(json.loads(json.dumps(head)))
    changed = [n for n in now | before if n[0] in head and before.get(n) != now.get(n)]
    if changed:
        differences = (f"{' '.join(n)} {before.get(n)!r}, now {now.get(n)!r}" for n in changed)
        what = f"this folder holds another run: {', '.join(differences)}"
        raise DataBroken(what, where=folder, remedy="--out")


def _flat(head: dict[str, Any]) -> dict[tuple[str, ...], Any]:
    """The values of a head, each setting by itself."""
    return {
        (name, *inner): item
        for name, value in head.items()
        for inner, item in (
            [((n,), v) for n, v in value.items()] if isinstance(value, dict) else [((), value)]
        )
    }


def begin(folder: Path, head: dict[str, Any], **more: Any) -> None:
    """Write the head of a run into its folder, after `check_head`; `more` is not compared."""
    check_head(folder, head)
    files.write_json(folder / HEAD, head | more)
    # Earlier predictions would look complete while this run is under way.
    with files.writing(folder):
        files.remove(folder / PREDICTIONS)
        (folder / "manifest.json").unlink(missing_ok=True)  # Of format 1.


def _key(document: Document, root: Path | None) -> str | None:
    """A hash of all images of a document; None if it has none."""
    try:
        hashes = [files.sha256(file) for file in page_files(document, root)]
    except (OSError, FormlabError):
        return None
    return hashes[0] if len(hashes) == 1 else hashlib.sha256("".join(hashes).encode()).hexdigest()


def _latest(journal: Journal, keys: dict[str, str | None]) -> dict[str, dict[str, Any]]:
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
    settings: dict[str, Any] = field(compare=False)
    examples: tuple[Corpus, ...] = field(compare=False)
    use_cache: bool
    probe: Path | None = None  # An image that every worker has to see.
    run: str = field(default_factory=lambda: uuid.uuid4().hex)


@lru_cache(maxsize=1)
def _reader(plan: _Plan) -> Reader:
    """What this process reads the pages of a run with, once it sees its images."""
    from formlab.systems import get

    if plan.probe is not None and not plan.probe.is_file():
        raise DataMissing("no such file", where=plan.probe)
    system = get(plan.system) if isinstance(plan.system, str) else plan.system
    return system.start(plan.settings, own_threads(), *plan.examples)


def _attempt(plan: _Plan, document: Document) -> dict[str, Any]:
    read = _reader(plan)
    begin, (count, saved) = time.perf_counter(), cache.reused.get()
    rows, error = [], None
    try:
        with cache.bypassed(not plan.use_cache):
            rows = read(document, plan.root)
    except Exception as caught:  # An error on one page must not lose the others.
        error = str(caught) if isinstance(caught, FormlabError) else f"{caught!r}"
    seconds, reused = time.perf_counter() - begin, cache.reused.get()
    # Those of the reading itself, whenever it was.
    seconds += reused[1] - saved
    result = {"seconds": seconds, "error": error, "records": rows}
    return result | ({"reused": True} if reused[0] > count else {})


def _read(
    documents: list[Document], plan: _Plan, workers: int | str
) -> Iterator[tuple[Document, dict[str, Any]]]:
    if workers != 1:
        plan = replace(plan, system=_findable(plan.system), root=plan.root and plan.root.resolve())
    if isinstance(workers, str):
        plan = replace(plan, probe=_probe(documents, plan.root))
    for document, result in each(partial(_attempt, plan), documents, workers=workers):
        if isinstance(result, Lost):
            result = {"seconds": None, "error": result.reason, "records": []}
        yield document, result
    _reader.cache_clear()


def _probe(documents: list[Document], root: Path | None) -> Path | None:
    """The first image that is there."""
    for document in documents:
        try:
            if found := [file for file in page_files(document, root) if file.is_file()]:
                return found[0]
        except FormlabError:
            continue
    return None


def _findable(system: System) -> str:
    """The name by which a process that starts afresh finds the system."""
    systems = registry.view("systems")
    if system.name not in systems or systems.source(system.name).kind == "notebook":
        what = f"worker processes do not find system {system.name!r}"
        remedy = "keep it in a file and load that with formlab.plugin, or workers=1"
        raise DataBroken(what, remedy=remedy)
    return system.name


def _predictions(
    head: dict[str, Any], pages: Iterable[dict[str, Any]], folder: Path
) -> Predictions:
    """The tables of a run in `folder`; `DataBroken` if what was read on a page is no record."""
    records, responses, reused = [], [], 0
    for page in pages:
        reused += page.get("reused", False)
        base = {name: head[name] for name in ("benchmark", "split")} | {"system": head["name"]}
        base |= {"doc_id": page["doc_id"], "status": "missing" if page["error"] else "ok"}
        mark = base | {"role": "prediction", "origin": f"{JOURNAL}#{page['doc_id']}"}
        records += [mark | row for row in page["records"] or [{"task": "text", "kind": "page"}]]
        # Without an image there was nothing to attempt.
        attempts = 0 if page["error"] and page["key"] is None else 1
        response = {"attempts": attempts, "seconds": page["seconds"], "error": page["error"]}
        responses.append(base | {"task": "text"} | response)
    try:
        return Predictions(
            records=tables.table("records", records),
            responses=tables.table("responses", responses),
            system=head["name"],
            settings=head["settings"] | head["versions"],
            notes={REUSED: reused} if reused else {},
        ).check()
    except TableBroken as error:
        remedy = "mend the system that gave it, or delete this file if it was damaged"
        raise DataBroken(error.what, where=folder / JOURNAL, remedy=remedy) from error
