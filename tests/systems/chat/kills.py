"""Kills of a chat run at random moments: what had arrived must never be asked for again.

``python -m tests.systems.chat.kills 100`` prints the figures. An answer has arrived once the
process that asked has read its last byte from the socket: that is written down there, at once.
"""

import contextlib
import hashlib
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from pathlib import Path

from formlab import benchmarks, tables
from formlab.folders import Corpus
from formlab.systems import chat
from tests.states import until
from tests.systems.scripted_server import serving

PAGES, IN_FLIGHT = 30, 4
_MARK = "arrived-"


def corpus():
    """So many pages, each with a question of its own."""
    page = benchmarks.load("formcraft").documents.to_dicts()[0]
    documents = [page | {"doc_id": str(n), "meta": None} for n in range(PAGES)]
    asked = [
        {
            "benchmark": "formcraft", "split": "test", "doc_id": row["doc_id"], "role": "gold",
            "task": "vqa", "path": "/vqa/q", "status": "ok",
            "meta": json.dumps({"question": f"Is {row['doc_id']} on this form?"}),
        }
        for row in documents
    ]  # fmt: skip
    return Corpus(
        tables.table("documents", documents), tables.table("records", asked),
        "formcraft", "test", benchmarks.SAMPLES / "formcraft",
    )  # fmt: skip


def run(url, out, arrivals=None):
    """A run in this process, which writes down each answer that it has read from its socket."""
    if arrivals:
        from formlab.systems.chat._wire import Bounds

        log, came = os.open(arrivals, os.O_WRONLY | os.O_APPEND | os.O_CREAT), Bounds.came

        def noted(self, data):
            if (at := data.rfind(_MARK.encode())) >= 0:
                os.write(log, data[at : at + len(_MARK) + 6] + b"\n")
            return came(self, data)

        Bounds.came = noted
    settings = {"base_url": url, "concurrency": IN_FLIGHT, "tasks": "vqa", "image_limit": 64}
    return chat.system("chat:m").run(corpus(), out=out, settings=settings)


class Answers:
    """Answers that depend on the question, after some time; each call has a name in its answer."""

    def __init__(self, seed):
        self.calls, self._random = defaultdict(list), random.Random(seed)

    def __call__(self, body):
        question = hashlib.sha256(json.dumps(body).encode()).hexdigest()
        name = f"{_MARK}{sum(map(len, self.calls.values())):06}"
        self.calls[question].append(name)
        time.sleep(self._random.uniform(0, 0.06))
        # The mark is what the answer ends with; it is not the answer, which is always the same.
        text = json.dumps({"answers": [{"id": "q", "answer": question[:8], "confidence": 0.5}]})
        return f"{text}{' ' * self._random.randrange(20_000)}// {name}"


def kills(count, folder, seed=0):
    """Kill a run so often, finishing it whenever it comes to its end; the figures of that."""
    rng, found = random.Random(seed), defaultdict(int)
    answers, arrivals = Answers(seed), Path(folder) / "arrivals"
    with serving(then=answers) as server:
        whole = run(server.url, Path(folder) / "whole")
        number = 0
        while found["kills"] < count:
            answers.calls.clear()
            arrivals.write_text("")
            out = Path(folder) / f"run-{number}"
            number += 1
            while found["kills"] < count and not (out / "predictions/manifest.json").is_file():
                found["kills"] += _killed(server, out, arrivals, rng)
            again = run(server.url, out)
            found["records equal"] += again.records.equals(whole.records)
            found["runs"] += 1
            arrived = set(arrivals.read_text().split())
            found["arrived before a kill"] += len(arrived)
            for names in answers.calls.values():
                found["calls"] += len(names)
                found["asked again"] += len(names) - 1
                found["asked again, had arrived"] += len(arrived & set(names[:-1]))
    return dict(found)


def _killed(server, out, arrivals, rng):
    before = len(server.calls)
    process = subprocess.Popen(
        [
            sys.executable,
            "-m",
            "tests.systems.chat.kills",
            "run",
            server.url,
            str(out),
            str(arrivals),
        ],
        env=os.environ | {"FORMLAB_REPORT": "1"},
    )
    until(lambda: len(server.calls) > before or process.poll() is not None)
    # The moments are random ones; nothing is waited for.
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(rng.uniform(0, 0.5))
    killed = process.poll() is None
    process.send_signal(signal.SIGKILL)
    process.wait()
    # What it had asked for comes to nothing.
    time.sleep(0.1)
    return killed


if __name__ == "__main__":
    if sys.argv[1] == "run":
        run(*sys.argv[2:])
    else:
        os.environ["FORMLAB_REPORT"] = "1"
        with tempfile.TemporaryDirectory() as place:
            print(kills(int(sys.argv[1]), place))
