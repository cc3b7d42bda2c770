"""What models answer, as a server's batch brings it: read into records and scored."""

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from formlab import benchmarks
from formlab.folders import Corpus
from formlab.readers import gold as own
from formlab.systems import chat
from tests.fuzz.targets import benchmarks as made
from tests.fuzz.targets import own_data
from tests.fuzz.targets.common import predictions_found, put, rows, scored
from tests.fuzz.verdicts import Found, Target

FIELD = {"label": "Name", "modality": "Textual", "value": "Ada", "page": 1, "box": [0, 0, 9, 9]}
ENTITY = {"value": "Ann", "page": 1, "box": [0, 1, 2, 3]}
# A right answer to each task, by the name that the schema of its question has.
ANSWERS: dict[str, Any] = {
    "formcraft": {"fields": [FIELD], "groups": [{"name": "G", "fields": [FIELD], "groups": []}],
                  "answers": [{"id": "q1", "answer": "9"}]},
    "vrdu": {"who": ENTITY, "tag": [ENTITY], "line_item": [{"what": ENTITY, "sum": ENTITY}]},
    "funsd": {"entities": [{"text": "Name:", "label": "question", "page": 1, "box": [0, 0, 9, 9]}]},
    "fincriticaled": "<p>Net sales <b>4,310</b></p>",
    "formfactory": "[640,585] Ada Berg\n[10,10] x",
    "own": {"total": "9.00", "day": "2024-05-01", "note": None, "paid": True},
}  # fmt: skip


def _corpus(name: str, folder: Path) -> Corpus:
    if name == "own":
        return own.corpus(folder / "gold" / "gold.csv", images=folder / "gold" / "images")
    return benchmarks.load(name, root=folder / "gold")


def _run(name: str, folder: Path, **settings: Any) -> Any:
    system = chat.system("chat:m")
    given = system.settings({key: str(value) for key, value in settings.items()})
    return system.run(_corpus(name, folder), out=folder / "run", limit=2, settings=given)


def _make(name: str, folder: Path) -> None:
    if name == "own":
        own_data._table("csv", folder / "gold")
    else:
        made.MAKERS[name](folder / "gold")
    batch = folder / "requests"
    _run(name, folder, batch=batch, base_url="http://127.0.0.1:9/v1")
    asked = [json.loads(line) for file in batch.glob("*.jsonl") for line in file.open()]
    answer = ANSWERS[name] if isinstance(ANSWERS[name], str) else json.dumps(ANSWERS[name])
    results = [
        {"custom_id": one["custom_id"], "error": None, "response": {"status_code": 200, "body": {
            "choices": [{"index": 0, "message": {"role": "assistant", "content": answer},
                         "finish_reason": "stop"}],
            "usage": {"prompt_tokens": 7, "completion_tokens": 2}}}}
        for one in asked
    ]  # fmt: skip
    rows(folder, "results.jsonl", results)
    put(folder, "answer.txt", answer)


def _results(name: str, folder: Path) -> Found:
    """The lines of a batch's results, changed in any way."""
    predictions = _run(
        name, folder, batch_results=folder / "results.jsonl", base_url="http://127.0.0.1:9/v1"
    )
    scored(_corpus(name, folder), predictions)
    return predictions_found(predictions)


def _answered(name: str, folder: Path) -> Found:
    """The text of an answer, changed in any way, in whole lines."""
    file = folder / "answer.txt"
    text = file.read_bytes().decode("utf-8", "replace") if file.is_file() else ""
    lines = [json.loads(line) for line in (folder / "results.jsonl").open()]
    for line in lines:
        line["response"]["body"]["choices"][0]["message"]["content"] = text
    rows(folder, "results.jsonl", lines)
    return _results(name, folder)


def _target(kind: str, name: str, read: Callable, only: str) -> Target:
    make = partial(_make, name)
    return Target(f"{kind}/{name}", make, partial(read, name), only=only, placeless=kind == "chat")


TARGETS = [
    *(_target("chat", name, _answered, "^answer.txt$") for name in ANSWERS),
    *(_target("batch", name, _results, "^results") for name in ("funsd", "formcraft", "own")),
]
