"""Files that formlab writes itself, and reads again: damaged, or another's."""

import dataclasses
import os
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path

from formlab import (
    analysis,
    benchmarks,
    cache,
    files,
    folders,
    registry,
    selection,
    systems,
)
from formlab.analysis.history import open_history
from formlab.errors import NotAvailable
from formlab.readers import read_predictions
from formlab.reports import build_record, manifest
from formlab.scoring import choice
from formlab.scoring.evaluate import evaluate
from formlab.systems import System
from formlab.systems.chat.answers import Answer
from formlab.systems.chat.batch import BatchResults
from formlab.systems.chat.prices import price_of
from formlab.systems.chat.store import AnswerStore
from tests.fuzz.targets import benchmarks as made
from tests.fuzz.targets.common import corpus_found, predictions_found, put, rows
from tests.fuzz.verdicts import Found, Target


def _system(settings, threads):
    def read(document, root):
        return [{"path": "/entities/1", "task": "text", "value": "Person", "page": 1}]

    return read


READER = System("reads", "reads a word", _system)


def _run(folder: Path, *, whole: bool = True) -> None:
    made.funsd(folder / "gold")
    systems.run(benchmarks.load("funsd", root=folder / "gold"), READER, out=folder / "run")
    if not whole:
        shutil.rmtree(folder / "run" / "predictions")


def _read_run(folder: Path) -> Found:
    corpus = benchmarks.load("funsd", root=folder / "gold")
    found = predictions_found(read_predictions(folder / "run", corpus))
    # Which goes on where it ended.
    systems.run(corpus, READER, out=folder / "run")
    return found


def _evaluation(folder: Path, *, in_parts: bool = False) -> None:
    made.funsd(folder / "gold")
    corpus = benchmarks.load("funsd", root=folder / "gold")
    run = folder / "run" if in_parts else folder.parent / "run"
    answers = systems.run(corpus, READER, out=run)
    if in_parts:
        _scored_in_batches(folder, folder / "gold", run)
    else:
        evaluate(corpus, answers).save(folder / "saved")
    shutil.rmtree(folder / "gold")


def _scored_in_batches(folder: Path, gold: Path, run: Path) -> None:
    evaluate(benchmarks.corpora("funsd", root=gold, records=5), run, out=folder / "saved")


def _read_evaluation(folder: Path) -> Found:
    evaluation = folders.Evaluation.load(folder / "saved")
    analysis.summarise(evaluation, resamples=0)
    # Tables are read when they are asked for.
    tables = [evaluation.cases, evaluation.scores]
    if evaluation.predictions is not None:
        tables.append(evaluation.predictions.records)
    assert all(table.width for table in tables)
    return Found(frozenset(evaluation.documents["doc_id"]), evaluation.notes)


def _history(folder: Path) -> Found:
    return Found(frozenset(open_history(folder)))


def _corpus(folder: Path) -> None:
    made.funsd(folder.parent / "gold")
    benchmarks.load("funsd", root=folder.parent / "gold").save(folder / "corpus")


def _read_corpus(folder: Path) -> Found:
    return corpus_found(folders.Corpus.load(folder / "corpus"))


PRICES = {
    "prices.csv": "model,input,output,currency,date\nm,1,2,USD,2024-05-01\nn,3,4,EUR,\n",
    "prices.yaml": "date: 2024-05-01\nmodels:\n  n: {input: 3, output: 4}\n",
    "prices.json": {
        "date": "2024",
        "currency": "USD",
        "models": {"m": {"input": 1, "output": 2}, "n": {"input": 3, "output": 4}},
    },
}


def _price(name: str, folder: Path) -> Found:
    price = price_of("n", prices=folder / name)
    assert price is None or price.of(5, 6) >= 0
    return Found()


def _store(folder: Path) -> None:
    with AnswerStore(folder / "answers.sqlite") as store:
        for name in ("ada", "bob", "cyd"):
            store.put(
                Answer(key=name, model="m", task="t", doc_id=name, text="x" * 50, tokens_in=7)
            )
    _one_file(folder / "answers.sqlite")


def _one_file(path: Path) -> None:
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        connection.execute("PRAGMA journal_mode=DELETE")
    connection.close()


def _read_store(folder: Path) -> Found:
    with AnswerStore(folder / "answers.sqlite") as store:
        names = frozenset(name for name in ("ada", "bob", "cyd") if store.get([name]))
        store.put(Answer(key="new", text="y"))
    return Found(names)


def _batch(folder: Path) -> None:
    rows(folder, "results.jsonl", [
        {"custom_id": name, "response": {"status_code": 200, "body": {"choices": [
            {"message": {"content": "x"}, "finish_reason": "stop"}],
             "usage": {"prompt_tokens": 1}}}}
        for name in ("ada", "bob", "cyd")
    ])  # fmt: skip


def _read_batch(folder: Path) -> Found:
    results = BatchResults(folder / "results.jsonl")
    return Found(
        frozenset(n for n in ("ada", "bob", "cyd") if results.get(n)), {"unread": results.unread}
    )


def _reports(folder: Path) -> None:
    put(
        folder,
        "reports.yaml",
        "timeout: 60\nreports:\n  - notebook: 10_content_modality\n    parameters: {seed: 0}\n",
    )


def _read_reports(folder: Path) -> Found:
    manifest.read(folder / "reports.yaml")
    return Found()


def _record(folder: Path) -> None:
    for name in ("ada", "bob"):
        page = put(folder, f"{name}.html", "<p>x</p>")
        summary = build_record.Summary("Q", "A", [{"label": "n", "value": "1"}])
        record = build_record.Record(
            name, summary, True, None, 1.0, "2024-05-01", "k", files.sha256(page), [], ["note"]
        )
        put(folder, f"{name}{build_record.ENDING}", dataclasses.asdict(record))


def _read_record(folder: Path) -> Found:
    """A report without a sound record is built again: it need not be counted."""
    for name in ("ada", "bob"):
        build_record.unchanged(folder, name, "k")
    return Found(counted={"records": len(list(build_record.every(folder)))})


KEPT = {"words": ["Ada", "Berg"], "n": 1.5}


@contextmanager
def _cache(folder: Path) -> Iterator[None]:
    before = os.environ.get("FORMLAB_CACHE")
    os.environ["FORMLAB_CACHE"] = str(folder)
    try:
        yield
    finally:
        os.environ.pop("FORMLAB_CACHE")
        if before is not None:
            os.environ["FORMLAB_CACHE"] = before


def _keep(folder: Path) -> None:
    with _cache(folder):
        cache.value("pages", {"page": 1}, lambda: KEPT)
    put(folder / "plugins", "1" * 64, "/absent/plugin.py")


def _read_kept(folder: Path) -> Found:
    with _cache(folder):
        # Taken, or made again where it is damaged.
        cache.value("pages", {"page": 1}, lambda: KEPT)
        cache.entries(folder / "pages")
        cache.drop_oldest(folder / "pages", gigabytes=0)
        # A metric that is in a file which is not here: one error.
        wanted = {"plugin": "metrics", "entry": "absent", "kind": "file", "version": "1" * 64}
        with suppress(NotAvailable):
            registry.restore([wanted | {"name": "/absent/other.py"}], where="manifest.json")
    return Found()


def _again(folder: Path) -> Found:
    """What was scored in parts is scored again into the same folder: whole, or one error."""
    made.funsd(folder / "gold")
    _scored_in_batches(folder, folder / "gold", folder / "run")
    return _read_evaluation(folder)


def _names(folder: Path) -> Found:
    chosen = choice.decide(["ada", "bob"], set(), folder / "names.txt", where="x:y")
    return Found(frozenset(chosen.documents))


def _selection(folder: Path) -> Found:
    path = folder / "line.txt"
    selection.read(path.read_text("utf-8", "replace") if path.is_file() else "")
    return Found()


def _filled(folder: Path) -> None:
    put(folder, "line.txt", "report.html#slice=kind:answer&cause=clipped&slice=length")


def _target(name: str, make: Callable, read: Callable, **more: object) -> Target:
    return Target(f"file/{name}", make, read, **more)


TARGETS = [
    _target("run", _run, _read_run, only="^run"),
    _target("run under way", partial(_run, whole=False), _read_run, only="^run"),
    _target("evaluation", _evaluation, _read_evaluation),
    _target(
        "evaluation in parts", partial(_evaluation, in_parts=True), _read_evaluation, only="^saved"
    ),
    _target("history", _evaluation, _history),
    _target("corpus", _corpus, _read_corpus),
    *(
        _target(name, lambda folder, n=name: put(folder, n, PRICES[n]), partial(_price, name))
        for name in PRICES
    ),
    _target("answers.sqlite", _store, _read_store),
    _target("batch", _batch, _read_batch),
    _target("scored again", partial(_evaluation, in_parts=True), _again, only="^saved"),
    _target("kept", _keep, _read_kept, placeless=True),
    _target("report records", _record, _read_record, placeless=True),
    _target("documents", lambda folder: put(folder, "names.txt", "ada\nbob\n"), _names),
    _target("reports", _reports, _read_reports),
    _target("selection", _filled, _selection, placeless=True),
]
