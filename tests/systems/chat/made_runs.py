"""Runs of a model behind a scripted server, in this process and in ones that can be killed."""

import os
import subprocess
import sys

from formlab import benchmarks, systems
from tests.states import LONG

KEY = "sk-a-secret-of-forty-characters-in-all-0"
FORM = '{"fields": [{"label": "Name", "value": "Ada", "page": 1, "box": [0, 0, 500, 1000]}]}'
# Quick waits: what is tested is that they are kept, not how long they are.
QUICK = {"attempts": 3, "timeout": LONG, "tasks": "extraction"}
_ALONE = """
import sys
from formlab import benchmarks, systems
settings = {"base_url": sys.argv[1], "timeout": 1.0, "tasks": "extraction"}
systems.run(benchmarks.load("formcraft"), systems.get("chat:m"), out=sys.argv[2], settings=settings)
"""


def ran(server, out, *, corpus=None, limit=1, **settings):
    settings = QUICK | {"base_url": server.url} | settings
    corpus = corpus or benchmarks.load("formcraft")
    return systems.run(corpus, systems.get("chat:m"), out=out, limit=limit, settings=settings)


def alone(server, out):
    """A run in a process of its own."""
    return subprocess.Popen(
        [sys.executable, "-c", _ALONE, server.url, out],
        env=os.environ | {"FORMLAB_REPORT": "1"}, stderr=subprocess.PIPE,
    )  # fmt: skip
