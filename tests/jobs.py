"""What tests have workers do: a module that processes import in no time."""

import os
import signal
import time

from formlab import registry, workers
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


def started():
    return os.getpid(), time.monotonic_ns()


def state_and_threads(state, _):
    return state, workers.own_threads(), os.environ["POLARS_MAX_THREADS"]


def pid_and_wait(folder, n):
    (folder / f"{n}.pid").write_text(str(os.getpid()))
    time.sleep(900)


def where(path):
    return str(path)


def seen_here(path):
    return str(workers.seen(path))


def drawn(name):
    return registry.view("charts")[name]()
