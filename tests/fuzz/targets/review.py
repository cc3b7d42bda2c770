"""Files of the review: decisions, drafts, whole forms and exports of Label Studio."""

import dataclasses
import json
from pathlib import Path

from formlab import decisions
from formlab.analysis import audit
from formlab.benchmarks.formcraft import read_form
from formlab_review import adjudication, annotation, drafts
from formlab_review.forms import FormNodes
from tests.fuzz.targets import benchmarks as made
from tests.fuzz.targets.common import put, rows
from tests.fuzz.verdicts import Found, Target


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


def _record(folder: Path) -> Found:
    """A decision is added to what stands in a file, and nothing of that is lost."""
    row = {"benchmark": "funsd", "doc_id": "new", "task": "text", "decision": "wrong",
           "reviewer": "me"}  # fmt: skip
    decisions.record(folder / "decided" / "me.jsonl", row)
    found = frozenset(decisions.read(folder / "decided" / "me.jsonl")["doc_id"])
    assert "new" in found
    return Found(found)


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
    return Found(frozenset(checked.answers), checked.notes)


def _studio(folder: Path) -> None:
    source = made.SAMPLES / "fincriticaled/annotations/label_studio.json"
    put(folder, "export.json", json.loads(source.read_text())[:2])


def _read_studio(folder: Path) -> Found:
    read = annotation.read(folder / "export.json")
    adjudication.queue(read)
    for level in ("entity", "token"):
        annotation.ratings(read, level=level)
    return Found(frozenset(read.pages), {"problems": len(read.problems)})


def _queue(folder: Path) -> None:
    _studio(folder)
    read = annotation.read(folder / "export.json")
    rows(folder, "queue.jsonl", [
        row | {"decision": next(iter(row["readings"]), None)} if "readings" in row else row
        for row in adjudication.queue(read)
    ])  # fmt: skip


def _read_queue(folder: Path) -> Found:
    read = annotation.read(folder / "export.json")
    adjudication.read_decisions(folder / "queue.jsonl", read)
    return Found()


QUESTION = {
    "id": "d1", "question": "A?", "answers": ["5", "five"], "fields": ["/A"],
    "scope": "intra-group", "reference": "direct-link", "complexity": "simple",
    "modal": "single-modality",
}  # fmt: skip


def _drafts(folder: Path, names: tuple[str, ...] = ("ada", "bob", "cyd")) -> None:
    made_drafts = [
        drafts.Draft("test", name, "vqa", "/vqa/d1", "repaired", item=QUESTION, system="chat:m")
        for name in names
    ]
    rows(folder, "drafts.jsonl", [dataclasses.asdict(draft) for draft in made_drafts])


def _read_drafts(folder: Path) -> Found:
    read = drafts.read(folder / "drafts.jsonl")
    drafts.records(read)
    return Found(frozenset(draft.doc_id for draft in read))


def _form(folder: Path) -> None:
    form = json.loads((made.SAMPLES / "formcraft/test/forms/lease.json").read_text())
    put(folder, "lease.json", form)


def _read_form(folder: Path) -> Found:
    read_form(folder / "lease.json")
    nodes = FormNodes.of_file(folder / "lease.json", "me")
    for node in nodes.walk():
        nodes.texts(node.node if hasattr(node, "node") else node[0])
    nodes.check()
    return Found()


TARGETS = [
    Target("review/decisions", _decisions, _read_decisions),
    Target("review/record", _decisions, _record, only="me"),
    Target("review/judge answers", _judge, _read_judge, only="raw|pred"),
    Target("review/label studio", _studio, _read_studio),
    Target("review/queue", _queue, _read_queue, only="queue"),
    Target("review/drafts", _drafts, _read_drafts),
    Target("review/form", _form, _read_form),
]
