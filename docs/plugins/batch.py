"""Questions as a file for a provider's batch, which costs less, and the answers of its results.

    formlab --plugin batch.py run GOLD --system batch --set model=MODEL --set batch=DIR --out RUN

writes DIR/requests.jsonl and asks nothing. Once what came back is in DIR, under any other name that
ends in .jsonl, the same command reads the answers; questions without one go into a new file.
"""

import hashlib
import json
import threading
from dataclasses import dataclass
from pathlib import Path

from formlab.registry import register
from formlab.systems.chat import RUNNING, SHAPING, Answer, ChatSystem, Client, Stopped

DEFAULTS = SHAPING | RUNNING | {"model": "", "batch": "batch"}


class BatchClient(Client):
    """Takes answers from results in `folder`, and writes the questions that have none."""

    needs_key = False

    def __init__(self, settings):
        super().__init__(settings["model"], settings | {"samples": 1})
        self.file, self.results = Path(settings["batch"]) / "requests.jsonl", {}
        self.lock = threading.Lock()
        self.file.parent.mkdir(parents=True, exist_ok=True)
        self.file.unlink(missing_ok=True)
        for file in sorted(self.file.parent.glob("*.jsonl")):
            lines = map(json.loads, filter(str.strip, file.read_text("utf-8").splitlines()))
            self.results |= {line["custom_id"]: line.get("response") or {} for line in lines}

    def ask(self, body):
        """The answer in the results; `Stopped` where there is none yet."""
        name = hashlib.sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()[:40]
        with self.lock:
            if (response := self.results.setdefault(name, None)) is None:
                request = {"custom_id": name, "method": "POST", "url": "/v1/chat/completions"}
                with self.file.open("a", encoding="utf-8") as stream:
                    stream.write(json.dumps(request | {"body": body}) + "\n")
                self.results[name] = "in the file"
        if not isinstance(response, dict):
            raise Stopped("in a batch that is not answered yet")
        if response.get("status_code") == 200:
            return self.answer_of(response["body"])
        finish = "bad_request" if response.get("status_code") == 400 else None
        return Answer(status="api_error", error="no answer in the batch's results", finish=finish)


@dataclass(frozen=True)
class BatchSystem(ChatSystem):
    """A model whose questions go into a file; its samples would be one question, and are not."""

    def client(self, settings):
        """A client that writes and reads files."""
        return BatchClient(settings)


BATCH = BatchSystem("batch", "a model asked in batches", None, DEFAULTS, extra="chat")
register("systems", "batch", BATCH)
