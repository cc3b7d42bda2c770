"""Files of the arena: runs, forms, tasks, texts, submissions, what pages send."""

import sqlite3
from pathlib import Path

import yaml

from formlab_arena import instances, released, sent_values, spec, texts, web_tasks
from formlab_arena.evaluation import read_run
from formlab_arena.store import SubmissionStore
from tests import made_arena, made_formfactory
from tests.fuzz.targets.common import corpus_found, put, rows, scored
from tests.fuzz.verdicts import Found, Target


def _run(folder: Path) -> None:
    right = [made_arena.screen()]
    for name, value in made_arena.VALUES.items():
        right += made_arena.fill(name, value)
    sent = {"status": "submitted", "answers": made_arena.VALUES, "right": 5}
    made_arena.run(folder / "run", (right, sent), (made_arena.CLUMSY, {}), (right, sent))


def _read_run(folder: Path) -> Found:
    corpus, predictions = read_run(folder / "run")
    scored(corpus, predictions)
    return Found(corpus_found(corpus).documents, predictions.notes)


def _submissions(folder: Path) -> None:
    store = SubmissionStore(folder / "submissions.sqlite")
    for name in ("one", "two"):
        store.add("E12", name, {"holder": "Ada Berg"}, {})
    with sqlite3.connect(folder / "submissions.sqlite") as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        connection.execute("PRAGMA journal_mode=DELETE")
    connection.close()


def _read_submissions(folder: Path) -> Found:
    store = SubmissionStore(folder / "submissions.sqlite")
    names = frozenset(name for name in ("one", "two") if store.latest(name))
    store.add("E12", "three", {"holder": "x"}, {})
    return Found(names)


def _form(folder: Path) -> None:
    put(folder, "A12.yaml", (spec.FOLDER / "A12.yaml").read_text())


def _read_form(folder: Path) -> Found:
    form = spec.load(folder / "A12.yaml")
    instances.make(form, 1)
    return Found()


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
    return Found(frozenset(one.name for one in texts.read(folder / "texts.yaml")))


def _released(folder: Path) -> Found:
    return Found(frozenset(one.name for one in released.task_set(folder, codes=["A12"]).instances))


BODY = '--x\r\nContent-Disposition: form-data; name="a"\r\n\r\nAda\r\n--x--\r\n'


def _sent(folder: Path) -> Found:
    for name, kind in (
        ("body.txt", "multipart/form-data; boundary=x"), ("body.json", "application/json"),
        ("query.txt", "application/x-www-form-urlencoded"),
    ):  # fmt: skip
        file = folder / name
        body = file.read_bytes() if file.is_file() else b""
        sent_values.carries(sent_values.values_of(body, kind), {"a": "Ada"})
    return Found()


def _bodies(folder: Path) -> None:
    put(folder, "body.txt", BODY)
    put(folder, "body.json", {"a": "Ada", "b": [1, {"c": None}]})
    put(folder, "query.txt", "a=Ada&b=%20x&b=2")


TARGETS = [
    Target("arena/run", _run, _read_run, only=r"json$|jsonl$|png$"),
    Target("arena/submissions.sqlite", _submissions, _read_submissions),
    Target("arena/form", _form, _read_form),
    Target("arena/tasks", _tasks, _read_tasks),
    Target("arena/texts", _texts, _read_texts),
    Target("arena/released", made_formfactory.make, _released, only="^data"),
    Target("arena/sent", _bodies, _sent, placeless=True),
]
