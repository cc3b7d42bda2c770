"""Runs of a model behind a scripted server, in this process and in ones that can be killed."""

import os
import signal
import subprocess
import sys

from formlab import benchmarks, systems
from formlab.systems import chat
from tests.states import LONG, until

KEY = "sk-a-secret-of-forty-characters-in-all-0"
FORM = '{"fields": [{"label": "Name", "value": "Ada", "page": 1, "box": [0, 0, 500, 1000]}]}'
# Quick waits: what is tested is that they are kept, not how long they are.
QUICK = {"attempts": 3, "timeout": LONG, "tasks": "extraction"}
_ALONE = """
import sys
from formlab import benchmarks, systems
settings = {"base_url": sys.argv[1], "concurrency": 2, "tasks": "extraction"}
settings["store"] = sys.argv[3] if len(sys.argv) > 3 else ""
systems.run(benchmarks.load("formcraft"), systems.get("chat:m"), out=sys.argv[2], settings=settings)
"""


def ran(server, out, *, corpus=None, limit=1, **settings):
    settings = QUICK | {"base_url": server.url} | settings
    corpus = corpus or benchmarks.load("formcraft")
    return systems.run(corpus, systems.get("chat:m"), out=out, limit=limit, settings=settings)


def alone(url, *paths):
    """A run in a process of its own, into the first of these paths with the second as its store."""
    arguments = [sys.executable, "-c", _ALONE, url, *map(str, paths)]
    return subprocess.Popen(arguments, env=os.environ | {"FORMLAB_REPORT": "1"})


def killed(server, out, *, calls):
    """Start a run in a process, kill it once so many calls were made, and count the calls."""
    process = alone(server.url, out)
    until(lambda: len(server.calls) >= calls)
    process.send_signal(signal.SIGKILL)
    process.wait()
    # Its calls have all been counted when the server has seen each connection end.
    until(lambda: not server.open)
    return len(server.calls)


def kept(out):
    """How many answers the store of a run has."""
    with chat.AnswerStore(out / "answers.sqlite") as store:
        return store.count()
