"""A real Dask cluster on this machine, started as a user starts one: from the command line."""

import json
import os
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

from tests.states import until

ROOT = Path(__file__).parents[1]


@contextmanager
def cluster(folder, count):
    """Address of a scheduler, and the processes of `count` workers; a killed one stays away.

    A job that ends its worker is not done again by Dask itself.
    """
    file = Path(folder, "scheduler.json")
    # Loopback alone, no dashboards, random ports.
    dask = [sys.executable, "-W", "ignore", "-m", "dask"]
    local = ["--host", "127.0.0.1", "--no-dashboard"]
    scheduler = [*dask, "scheduler", "--port", "0", "--scheduler-file", str(file), *local]
    worker = [
        *dask, "worker", "--scheduler-file", str(file), "--no-nanny", "--nthreads", "1", *local,
        "--local-directory", str(folder),
    ]  # fmt: skip
    env = os.environ | {
        "PYTHONPATH": str(ROOT), "DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES": "0",
    }  # fmt: skip
    processes = []

    def start(command):
        with Path(folder, f"dask-{len(processes)}.log").open("wb") as log:
            processes.append(subprocess.Popen(command, stdout=log, stderr=log, env=env, cwd=folder))

    try:
        # Workers wait for the scheduler's file.
        for command in (scheduler, *[worker] * count):
            start(command)
        # It is there before it is whole.
        until(lambda: file.is_file() and file.read_text().endswith("}"))
        yield json.loads(file.read_text())["address"], processes[1:]
    finally:
        for process in reversed(processes):
            process.kill()
        for process in processes:
            process.wait()
