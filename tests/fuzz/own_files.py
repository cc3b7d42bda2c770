"""What formlab writes itself, and reads again: damaged, or another's."""

import contextlib
import dataclasses
import json
import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from formlab import analysis, benchmarks, decisions, folders, registry, saving, systems
from formlab.errors import NotAvailable
from formlab.readers import read_predictions
from formlab.reports import manifest
from formlab.scoring.evaluate import evaluate
from formlab_arena import instances, released, spec, texts, web_tasks
from formlab_arena.evaluation import read_run
from formlab_review import adjudication, annotation, drafts
from tests import made_arena, made_formfactory
from tests.fuzz import inputs
from tests.fuzz.bench import Found, Target
from tests.fuzz.inputs import DOCS, SAMPLES, corpus_found, files, predictions_found, put, scored

WORD = [{"path": "/entities/1", "task": "text", "value": "Person", "page": 1}]
READER = systems.System("reads", "reads a word", lambda *_: lambda document, root: WORD)


def _run(folder: Path, *, whole: bool = True) -> None:
    inputs.funsd(folder / "gold")
    systems.run(benchmarks.load("funsd", root=folder / "gold"), READER, out=folder / "run")
    if not whole:
        shutil.rmtree(folder / "run" / "predictions")


def _read_run(folder: Path) -> Found:
    corpus = benchmarks.load("funsd", root=folder / "gold")
    found = predictions_found(read_predictions(folder / "run", corpus))
    # Which goes on where it ended.
    systems.run(corpus, READER, out=folder / "run")
    return found


def _score_in_parts(folder: Path) -> None:
    parts = benchmarks.corpora("funsd", root=folder / "gold", records=5)
    evaluate(parts, folder / "run", out=folder / "saved")


def _evaluation(folder: Path) -> None:
    _run(folder)
    _score_in_parts(folder)
    shutil.rmtree(folder / "gold")


def _read_evaluation(folder: Path) -> Found:
    evaluation = folders.Evaluation.load(folder / "saved")
    analysis.summarise(evaluation, resamples=0)
    # Tables are read when they are asked for.
    assert evaluation.cases.width
    assert evaluation.scores.width
    return Found(frozenset(evaluation.documents["doc_id"]), evaluation.notes)


def _score_again(folder: Path) -> Found:
    """What was scored in parts is scored again into the same folder: whole, or one error."""
    inputs.funsd(folder / "gold")
    _score_in_parts(folder)
    return _read_evaluation(folder)


def _corpus(folder: Path) -> None:
    inputs.funsd(folder.parent / "gold")
    benchmarks.load("funsd", root=folder.parent / "gold").save(folder / "corpus")


WORDS = {"words": ["Ada", "Berg"], "n": 1.5}
# A metric in a file that is not here.
ABSENT = {"plugin": "metrics", "entry": "x", "kind": "file", "version": "1" * 64, "name": "/x.py"}


def _keep(folder: Path) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FORMLAB_CACHE", str(folder))
        # Taken, or made again where it is damaged.
        saving.kept("pages", {"page": 1}, lambda: WORDS)
        with contextlib.suppress(NotAvailable):
            registry.restore([ABSENT], where="manifest.json")
        saving.drop_oldest(folder / "plugins", gigabytes=0)


def _read_kept(folder: Path) -> Found:
    _keep(folder)
    return Found()


def _manifest(folder: Path) -> Found:
    manifest.read(folder / "reports.yaml")
    return Found()


REPORTS = "timeout: 60\nreports:\n  - notebook: 10_content_modality\n    parameters: {seed: 0}\n"

# --- the arena


def _arena_run(folder: Path) -> None:
    right = [made_arena.screen()]
    for name, value in made_arena.VALUES.items():
        right += made_arena.fill(name, value)
    sent = {"status": "submitted", "answers": made_arena.VALUES, "right": 5}
    made_arena.run(folder / "run", (right, sent), (made_arena.CLUMSY, {}), (right, sent))


def _read_arena_run(folder: Path) -> Found:
    corpus, predictions = read_run(folder / "run")
    scored(corpus, predictions)
    return Found(corpus_found(corpus).documents, predictions.notes)


def _arena_form(folder: Path) -> Found:
    instances.make(spec.load(folder / "A12.yaml"), 1)
    return Found()


def _named(read: Callable[[Path], Any], file: str, folder: Path) -> Found:
    return Found(frozenset(one.name for one in read(folder / file)))


# --- the review


def _read_decisions(folder: Path) -> Found:
    return Found(frozenset(decisions.read(folder / "decided")["doc_id"]))


def _studio(folder: Path) -> None:
    source = SAMPLES / "fincriticaled/annotations/label_studio.json"
    put(folder, "export.json", json.loads(source.read_text())[:2])


def _read_studio(folder: Path) -> Found:
    read = annotation.read(folder / "export.json")
    adjudication.queue(read)
    for level in ("entity", "token"):
        annotation.ratings(read, level=level)
    return Found(frozenset(read.pages), {"problems": len(read.problems)})


def _drafts(folder: Path) -> None:
    draft = drafts.Draft("test", "", "vqa", "/vqa/d1", "repaired", item=inputs.QUESTION)
    put(folder, "drafts.jsonl", [dataclasses.asdict(draft) | {"doc_id": name} for name in DOCS])


def _read_drafts(folder: Path) -> Found:
    read = drafts.read(folder / "drafts.jsonl")
    drafts.records(read)
    return Found(frozenset(draft.doc_id for draft in read))


# --- all

DECIDED = files(
    {
        f"decided/{who}.jsonl": [inputs.DECISION | {"doc_id": d, "reviewer": who} for d in DOCS]
        for who in ("me", "you")
    }
)
TASKS = {"tasks.jsonl": inputs.TASKS, "text.txt": "Fill.", "gold.json": {"Name": "Ada"}}
A12 = (spec.FOLDER / "A12.yaml").read_text()


def _released(folder: Path) -> Any:
    return released.task_set(folder, codes=["A12"]).instances


OWN_FILES = [
    Target("file/run", _run, _read_run, only="^run"),
    Target("file/run under way", partial(_run, whole=False), _read_run, only="^run"),
    Target("file/evaluation", _evaluation, _read_evaluation, only="^saved"),
    Target("file/scored again", _evaluation, _score_again, only="^saved"),
    Target("file/corpus", _corpus, lambda f: corpus_found(folders.Corpus.load(f / "corpus"))),
    Target("file/kept", _keep, _read_kept, placeless=True),
    Target("file/reports", files({"reports.yaml": REPORTS}), _manifest),
    Target("arena/run", _arena_run, _read_arena_run, only=r"json$|jsonl$|png$"),
    Target("arena/form", files({"A12.yaml": A12}), _arena_form),
    Target("arena/tasks", files(TASKS), partial(_named, web_tasks.read, "tasks.jsonl")),
    Target(
        "arena/texts",
        files({"texts.yaml": inputs.TEXT.format(1) + inputs.TEXT.format(2)}),
        partial(_named, texts.read, "texts.yaml"),
    ),
    Target("arena/released", made_formfactory.make, partial(_named, _released, ""), only="^data"),
    Target("review/decisions", DECIDED, _read_decisions),
    Target("review/label studio", _studio, _read_studio),
    Target("review/drafts", _drafts, _read_drafts),
]
