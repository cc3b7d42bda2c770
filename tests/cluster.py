"""A real Dask cluster on this machine, started as a user starts one: from the command line."""

import json
import os
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

from tests.states import until

ROOT = Path(__file__).parents[1]


# Loopback alone, no dashboards.
DASK = [sys.executable, "-W", "ignore", "-m", "dask"]
LOCAL = ["--host", "127.0.0.1", "--no-dashboard"]


def start(folder, *command):
    """A process of Dask; a job that ends its worker is not done again by Dask itself."""
    env = {"PYTHONPATH": str(ROOT), "DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES": "0"}
    with Path(folder, "dask.log").open("ab") as log:
        return subprocess.Popen(
            [*DASK, *command, *LOCAL], stdout=log, stderr=log, env=os.environ | env, cwd=folder
        )


def start_worker(folder):
    """One more worker of the scheduler in `folder`; a killed one stays away."""
    where = ["--scheduler-file", str(Path(folder, "scheduler.json"))]
    return start(
        folder, "worker", *where, "--no-nanny", "--nthreads=1", "--local-directory", str(folder)
    )


@contextmanager
def cluster(folder, count):
    """Address of a scheduler, and the processes of `count` workers, to which a test may add."""
    file = Path(folder, "scheduler.json")
    scheduler = start(folder, "scheduler", "--port=0", "--scheduler-file", str(file))
    # Workers wait for the scheduler's file.
    processes = [start_worker(folder) for _ in range(count)]
    try:
        # It is there before it is whole.
        until(lambda: file.is_file() and file.read_text().endswith("}"))
        yield json.loads(file.read_text())["address"], processes
    finally:
        for process in (*processes, scheduler):
            process.kill()
            process.wait()
