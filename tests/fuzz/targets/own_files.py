"""Files that formlab writes itself, and reads again: damaged, or another's."""

import json
import shutil
import sqlite3
from collections.abc import Callable
from functools import partial
from pathlib import Path

import yaml

from formlab import analysis, benchmarks, decisions, files, folders, selection, systems
from formlab.analysis import audit
from formlab.analysis.history_folders import open_history
from formlab.formats import read_predictions
from formlab.reports import build_record, manifest
from formlab.scoring import many
from formlab.scoring.evaluate import evaluate
from formlab.systems import System
from formlab.systems.chat.answers import Answer
from formlab.systems.chat.batch import BatchResults
from formlab.systems.chat.prices import price_of
from formlab.systems.chat.store import AnswerStore
from formlab_arena import spec, texts, web_tasks
from formlab_arena.store import SubmissionStore
from formlab_review import annotation
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
        for name in ("manifest.json", "records.parquet", "responses.parquet"):
            (folder / "run" / name).unlink()


def _read_run(folder: Path) -> Found:
    corpus = benchmarks.load("funsd", root=folder / "gold")
    found = predictions_found(read_predictions(folder / "run", corpus))
    # Which goes on where it ended.
    systems.run(corpus, READER, out=folder / "run")
    return found


def _evaluation(folder: Path, *, sharded: bool = False) -> None:
    made.funsd(folder / "gold")
    corpus = benchmarks.load("funsd", root=folder / "gold")
    answers = systems.run(corpus, READER, out=folder.parent / "run")
    if sharded:
        shards = [
            (
                one,
                read_predictions(
                    folder.parent / "run", one, documents=list(one.documents["doc_id"])
                ),
            )
            for one in benchmarks.shards("funsd", root=folder / "gold", records=5)
        ]
        many.score(iter(shards), folder / "saved")
    else:
        evaluate(corpus, answers).save(folder / "saved")
    shutil.rmtree(folder / "gold")


def _read_evaluation(folder: Path) -> Found:
    evaluation = folders.Evaluation.load(folder / "saved")
    analysis.summarise(evaluation, resamples=0)
    # Tables are read when they are asked for.
    tables = [evaluation.cases, evaluation.scores]
    if evaluation.predictions is not None:
        tables.append(evaluation.predictions.records)
    assert all(table.width for table in tables)
    return Found(frozenset(evaluation.documents["doc_id"]), sum(evaluation.notes.values()))


def _history(folder: Path) -> Found:
    return Found(frozenset(open_history(folder)))


def _corpus(folder: Path) -> None:
    made.funsd(folder.parent / "gold")
    benchmarks.load("funsd", root=folder.parent / "gold").save(folder / "corpus")


def _read_corpus(folder: Path) -> Found:
    return corpus_found(folders.Corpus.load(folder / "corpus"))


def _decisions(folder: Path) -> None:
    for who in ("me", "you"):
        rows(folder, f"decided/{who}.jsonl", [
            {"benchmark": "funsd", "split": "test", "doc_id": name, "task": "text",
             "path": "/entities/1", "decision": "edit", "reviewer": who, "label": "a",
             "value": "b", "time": "2024-05-01T10:00:00", "parts": {"subtype": "circle"}}
            for name in ("ada", "bob", "cyd")
        ])  # fmt: skip


def _read_decisions(folder: Path) -> Found:
    return Found(frozenset(decisions.read(folder / "decided")["doc_id"]))


def _judge(folder: Path) -> None:
    made.fincriticaled(folder / "gold")
    answers = {}
    for number in (3, 4, 7):
        put(folder, f"gold/pred/pred_{number}.txt", "Tarn Corp. 4,310")
        answers[str(number)] = {"entity_diagnostics": [
            {"type": "Number", "value": "4,310", "context_hint": "", "found_in_prediction": True,
             "correct": True, "matched_text": "4,310"}]}  # fmt: skip
    put(folder, "raw.json", answers)


def _read_judge(folder: Path) -> Found:
    checked = audit.check(folder / "raw.json", root=folder / "gold")
    return Found(frozenset(checked.answers), sum(checked.notes.values()))


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


def _submissions(folder: Path) -> None:
    store = SubmissionStore(folder / "submissions.sqlite")
    for name in ("one", "two"):
        store.add("E12", name, {"holder": "Ada Berg"}, {})
    _one_file(folder / "submissions.sqlite")


def _read_submissions(folder: Path) -> Found:
    store = SubmissionStore(folder / "submissions.sqlite")
    names = frozenset(name for name in ("one", "two") if store.latest(name))
    store.add("E12", "three", {"holder": "x"}, {})
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
    return Found(frozenset(n for n in ("ada", "bob", "cyd") if results.get(n)), results.unread)


def _form(folder: Path) -> None:
    source = Path(spec.__file__).parent / "forms" / "A12.yaml"
    put(folder, "A12.yaml", source.read_text())


def _tasks(folder: Path) -> None:
    put(folder, "text.txt", "Please fill it in.")
    put(folder, "gold.json", {"Name": "Ada", "Day": "2024-05-01"})
    rows(folder, "tasks.jsonl", [
        {"name": "ada", "address": "http://127.0.0.1:1/a", "text": "Fill.",
         "gold": {"Name": "Ada", "Ok": True}},
        {"name": "bob", "address": "https://example.com/b", "text_file": "text.txt",
         "gold_file": "gold.json"},
        {"name": "cyd", "address": "https://example.com/c", "text": "x", "files": ["text.txt"]},
    ])  # fmt: skip


def _read_tasks(folder: Path) -> Found:
    return Found(frozenset(task.name for task in web_tasks.read(folder / "tasks.jsonl")))


def _texts(folder: Path) -> None:
    entries = [
        {"name": f"A12-00{number}", "kind": "prose", "text": "Given name: Jun.", "seed": 0,
         "values": {"first": "Jun", "last": "Berg", "letter": False}}
        for number in (1, 2)
    ]  # fmt: skip
    put(folder, "texts.yaml", yaml.safe_dump(entries, sort_keys=False))


def _read_texts(folder: Path) -> Found:
    return Found(frozenset(f"{one.name}" for one in texts.read(folder / "texts.yaml")))


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
    summary = {"question": "Q", "answer": "A"}
    put(folder, "a.html", "<p>x</p>")
    put(folder, "a.report.json", {"name": "a", "summary": summary, "ok": True, "error": None,
        "seconds": 1.0, "built": "x", "key": "k", "sha256": files.sha256(folder / "a.html"),
        "beside": [], "notes": []})  # fmt: skip


def _read_record(folder: Path) -> Found:
    list(build_record.every(folder))
    return Found()


def _studio(folder: Path) -> None:
    exported = json.loads(
        (made.SAMPLES / "fincriticaled/annotations/label_studio.json").read_text()
    )
    put(folder, "export.json", exported[:2])


def _read_studio(folder: Path) -> Found:
    read = annotation.read(folder / "export.json")
    return Found(frozenset(read.pages), sum(getattr(read, "flaws", {}).values()))


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
    _target("evaluation in shards", partial(_evaluation, sharded=True), _read_evaluation),
    _target("history", _evaluation, _history),
    _target("corpus", _corpus, _read_corpus),
    _target("decisions", _decisions, _read_decisions),
    _target("judge answers", _judge, _read_judge, only="raw|pred"),
    *(
        _target(name, lambda folder, n=name: put(folder, n, PRICES[n]), partial(_price, name))
        for name in PRICES
    ),
    _target("answers.sqlite", _store, _read_store),
    _target("submissions.sqlite", _submissions, _read_submissions),
    _target("batch", _batch, _read_batch),
    _target("form", _form, lambda folder: Found(frozenset({spec.load(folder / "A12.yaml").code}))),
    _target("tasks", _tasks, _read_tasks),
    _target("texts", _texts, _read_texts),
    _target("reports", _reports, _read_reports),
    _target("label studio", _studio, _read_studio),
    _target("selection", _filled, _selection, placeless=True),
]
