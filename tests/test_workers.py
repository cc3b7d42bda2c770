"""Jobs run here, in processes and on a cluster: the same results, whatever dies meanwhile."""

import itertools
import json
import os
import subprocess
import sys
import threading
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import psutil
import pytest

from formlab import registry, resources, workers
from formlab.errors import DataMissing, NotAvailable
from tests import jobs
from tests.states import ended, until

ROOT = Path(__file__).parents[1]
SQUARES = [(n, n * n) for n in range(12)]


@pytest.fixture
def own_children():
    """The processes that a test has started; a session's fixtures may have others."""
    before = set(psutil.Process().children(recursive=True))

    def children():
        # The tracker of multiprocessing's resources stays as long as this process.
        new = set(psutil.Process().children(recursive=True)) - before
        return [p for p in new if "resource_tracker" not in " ".join(p.cmdline())]

    return children


@pytest.mark.parametrize("count", [1, 3])
def test_results_are_the_same_in_processes_and_in_order_without(count, own_children):
    done = list(workers.each(jobs.square, range(12), workers=count))
    assert (done if count == 1 else sorted(done)) == SQUARES
    assert list(workers.each(jobs.square, [], workers=count)) == []
    assert not own_children()


def test_each_process_has_its_share_of_threads(monkeypatch):
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    monkeypatch.delenv("POLARS_MAX_THREADS", raising=False)
    done = workers.each(jobs.pid_and_threads, range(8), workers=2)
    pids, threads, polars = zip(*(result for _, result in done), strict=True)
    assert len(set(pids)) <= 2
    share = max(1, workers.cores() // 2)
    assert (set(threads), set(polars)) == ({share}, {str(share)})
    # The user's own limit stays, and this process is as it was.
    assert "OMP_NUM_THREADS" not in os.environ
    monkeypatch.setenv("OMP_NUM_THREADS", "7")
    ((_, (_, own, _)),) = workers.each(jobs.pid_and_threads, [0], workers=2)
    assert own == 7


def test_job_whose_process_dies_is_done_again_and_lost_only_if_it_dies_twice(tmp_path):
    once_killed = partial(jobs.square_once_killed, tmp_path)
    with workers.processes(2, once_killed) as pool:
        assert sorted(workers.each(once_killed, range(12), workers=2, pool=pool)) == SQUARES
        # One that has died is no use to later jobs, which have processes of their own.
        assert sorted(workers.each(jobs.square, range(12), workers=2, pool=pool)) == SQUARES
    done = dict(workers.each(jobs.odd_square, range(12), workers=2))
    assert done.pop(3) == workers.LOST
    assert sorted(done.items()) == [pair for pair in SQUARES if pair[0] != 3]


def test_error_is_raised_here_and_ends_the_others(own_children):
    with pytest.raises(DataMissing, match="no such page") as caught:
        list(workers.each(jobs.wrong, [0, 1, 2, 0, 1], workers=2))
    assert (caught.value.where, caught.value.remedy) == ("a.png", "look again")
    assert "in wrong" in str(caught.value.__cause__)
    # One that cannot be made anew on this side is told by its text.
    with pytest.raises(RuntimeError, match="one and other"):
        list(workers.each(jobs.wrong, [3], workers=2))
    assert not own_children()


def test_iterator_that_is_closed_leaves_nobody(tmp_path, own_children):
    done = workers.each(jobs.slow_square, itertools.count(), workers=2)
    next(done)
    assert own_children()
    done.close()
    assert not own_children()


def test_processes_that_cannot_begin_are_one_error():
    with pytest.raises(NotAvailable, match="worker processes die while they start"):
        list(workers.each(jobs.nowhere_else, range(1000), workers=2))


KILLED = """
from functools import partial
from formlab import workers
from tests.jobs import pid_and_wait
if __name__ == "__main__":
    list(workers.each(partial(pid_and_wait, "{folder}"), range(2), workers=2))
"""


def test_processes_end_at_once_with_a_parent_that_is_killed(tmp_path):
    (tmp_path / "killed.py").write_text(KILLED.format(folder=tmp_path))
    env = os.environ | {"PYTHONPATH": str(ROOT)}
    command = [sys.executable, tmp_path / "killed.py"]
    # Python says which semaphores a killed process has left.
    parent = subprocess.Popen(command, env=env, stderr=subprocess.DEVNULL)
    try:
        pids = [eventually(tmp_path / f"{n}.pid") for n in range(2)]
        processes = [psutil.Process(int(pid)) for pid in pids]
    finally:
        parent.kill()
        parent.wait()
    assert len(processes) == 2
    until(lambda: ended(processes))


def eventually(file):
    return until(lambda: file.is_file() and file.read_text())


def test_threads_take_jobs_as_they_go_and_stop_at_an_error():
    assert sorted(workers.threads(jobs.square, range(12), workers=3, name="asker")) == SQUARES
    begun = []

    def job(n):
        begun.append(n)
        if n == 1:
            raise ValueError("one")
        return threading.current_thread().name

    with pytest.raises(ValueError, match="one"):
        list(workers.threads(job, iter(range(1000)), workers=2, name="asker"))
    assert len(begun) < 20
    assert next(workers.threads(job, [0], workers=2, name="asker"))[1].startswith("asker")


def test_scheduler_that_does_not_answer_and_an_absent_extra_are_clear_errors(monkeypatch):
    monkeypatch.setattr(workers, "ANSWER", 0.3)
    for address in ("tcp://127.0.0.1:1", "nowhere.json"):
        with pytest.raises(NotAvailable, match=f"no Dask scheduler .* answers at {address}"):
            list(workers.each(jobs.square, [1], workers=address))
    monkeypatch.setattr(resources, "find_spec", lambda _: None)
    with pytest.raises(NotAvailable, match=r"pip install 'formlab\[scale\]'"):
        list(workers.each(jobs.square, [1], workers="tcp://127.0.0.1:1"))


@contextmanager
def cluster(folder, count):
    """A Dask cluster, started as a user starts one: address, processes, a way to one more."""
    command = [sys.executable, "-W", "ignore", "-m", "dask"]
    # Loopback alone; a job that ends its worker is not done again by Dask itself.
    local = ["--host", "127.0.0.1", "--no-dashboard", "--scheduler-file", folder / "scheduler.json"]
    env = {"PYTHONPATH": str(ROOT), "DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES": "0"}
    worker = ["worker", "--no-nanny", "--nthreads=1", "--local-directory", folder]

    def start(*words):
        with (folder / "dask.log").open("ab") as log:
            streams = {"stdout": log, "stderr": log}
            given = [str(word) for word in (*command, *words, *local)]
            return subprocess.Popen(given, env=os.environ | env, cwd=folder, **streams)

    # Workers wait for the scheduler's file, which is there before it is whole.
    processes = [start("scheduler", "--port=0"), *(start(*worker) for _ in range(count))]
    file = folder / "scheduler.json"
    try:
        until(lambda: file.is_file() and file.read_text().endswith("}"))
        address = json.loads(file.read_text())["address"]
        yield address, processes, lambda: processes.append(start(*worker))
    finally:
        for process in processes:
            process.kill()
            process.wait()


@pytest.mark.complete
def test_cluster_gives_the_same_results_and_loses_a_worker_and_a_job(tmp_path, monkeypatch):
    with cluster(tmp_path, 2) as (address, processes, start_worker):
        on = {"workers": address}
        # A job stays as it is, with what Dask would take for a task of its own.
        odd = [(len, "abc"), {"a": [1, (2,)]}]
        assert dict(zip(map(str, odd), odd, strict=True)) == {
            text: job for job, text in workers.each(jobs.where, odd, **on)
        }
        with pytest.raises(DataMissing, match=r"no such page \(a.png\)"):
            list(workers.each(jobs.wrong, [0, 2], **on))
        with pytest.raises(RuntimeError, match="one and other"):
            list(workers.each(jobs.wrong, [3], **on))

        plug_in = tmp_path / "mine.py"
        plug_in.write_text("import formlab\nformlab.chart('of_cluster')(lambda: 'mine')\n")
        monkeypatch.setenv("FORMLAB_PLUGINS", str(plug_in))
        drawn = workers.each(jobs.drawn_elsewhere, itertools.repeat("of_cluster"), **on)
        next(drawn)
        # One that comes later knows the plug-in, too.
        start_worker()
        until(lambda: next(drawn)[1] == (processes[-1].pid, "mine"))
        drawn.close()
        registry.unload(plug_in)
        monkeypatch.delenv("FORMLAB_PLUGINS")

        with monkeypatch.context() as patch:
            patch.setattr(workers.platform, "python_version", lambda: "3.0")
            with pytest.raises(NotAvailable, match=r"worker tcp.* has .* instead of .* Python 3.0"):
                list(workers.each(jobs.square, [1], **on))

        done = workers.each(jobs.slow_square, range(12), **on)
        first = next(done)
        processes[1].kill()
        assert sorted([first, *done]) == SQUARES
        # It ends both that are left.
        assert list(workers.each(jobs.odd_square, [3], **on)) == [(3, workers.LOST)]
        monkeypatch.setattr(workers, "WORKERS", 0.1)
        with pytest.raises(NotAvailable, match="no Dask scheduler with workers"):
            list(workers.each(jobs.square, [1], **on))
