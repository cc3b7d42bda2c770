"""What tests have workers do: a module that processes import in no time."""

import multiprocessing
import os
import signal
import time
from pathlib import Path

from formlab import registry
from formlab.errors import DataMissing


def square(n):
    return n * n


def slow_square(n):
    time.sleep(0.1)
    return n * n


def odd_square(n):
    if n == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    return n * n


def square_once_killed(folder, n):
    mark = folder / "killed"
    if n == 3 and not mark.exists():
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return n * n


class Unusual(Exception):
    def __init__(self, first, second):
        super().__init__(f"{first} and {second}")


def wrong(n):
    if n == 2:
        raise DataMissing("no such page", where="a.png", remedy="look again")
    if n == 3:
        raise Unusual("one", "other")
    time.sleep(0.05)
    return n


def pid_and_threads(_):
    return os.getpid(), int(os.environ["OMP_NUM_THREADS"]), os.environ["POLARS_MAX_THREADS"]


def pid_and_wait(folder, n):
    Path(folder, f"{n}.pid").write_text(str(os.getpid()))
    time.sleep(900)


def where(path):
    return str(path)


def drawn_elsewhere(name):
    time.sleep(0.05)
    return os.getpid(), registry.view("charts")[name]()


def nowhere_else(n):
    return n


if __name__ == "tests.jobs" and multiprocessing.parent_process():
    # As a function of a notebook, it is not there in other processes.
    del nowhere_else
