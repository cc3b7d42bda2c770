import subprocess
import sys
import threading
import types
from pathlib import Path

import psutil
import pytest

from formlab.systems.journal import Journal
from formlab_arena.evaluation import read_run
from formlab_arena.run import Outcome, RunSettings, fill, play_all
from tests.arena.conftest import events
from tests.states import ended, until

SETTINGS = RunSettings("oracle")
ROOT = Path(__file__).parents[2]


@pytest.mark.browser
def test_killed_run_leaves_no_process_and_goes_on_where_it_was(tmp_path):
    code = "import sys; from pathlib import Path; from formlab_arena.run import *; "
    code += "fill(Path(sys.argv[1]), RunSettings('oracle'), codes=['A11'], count=2)"
    process = subprocess.Popen([sys.executable, "-c", code, tmp_path], cwd=ROOT)
    journal = tmp_path / "episodes.jsonl"
    children = psutil.Process(process.pid).children
    try:
        until(lambda: journal.exists() and journal.read_bytes().count(b"\n"))
        # The next episode's browser.
        until(lambda: any("chrom" in p.name() for p in children(recursive=True)))
        theirs = children(recursive=True)
    finally:
        process.kill()
        process.wait()
    # The server, Playwright's driver and the browser's processes.
    assert len(theirs) >= 3
    until(lambda: ended(theirs))
    done = journal.read_bytes()
    results = fill(tmp_path, SETTINGS, codes=["A11"], count=2)
    right = [(r["status"], r["right"], r["fields"]) for r in results]
    assert right == [("submitted", 4, 4)] * 2
    for result in results:
        logged = events(tmp_path / result["doc_id"])
        pictures = [event["see"] for event in logged if "see" in event]
        assert len(pictures) == result["steps"]
        assert all((tmp_path / result["doc_id"] / name).is_file() for name in pictures)
    assert journal.read_bytes().startswith(done[: done.rfind(b"\n") + 1])
    assert read_run(tmp_path)[1].responses["doc_id"].n_unique() == 2


def named(*names):
    return [types.SimpleNamespace(name=name) for name in names]


def blank(task):
    return {"doc_id": task.name, "status": "crashed", "error": None}


def played(tasks, folder, play, *, workers=1, told=None):
    with Journal(folder / "episodes.jsonl") as journal:
        return play_all(
            tasks, journal, play, blank=blank, workers=workers,
            is_open=lambda task, entry: entry["status"] == "crashed",
            tell=[].append if told is None else told.append,
        )  # fmt: skip


def test_episodes_end_in_any_order_and_results_keep_that_of_the_tasks(tmp_path):
    both, caller, threads = threading.Barrier(2), threading.current_thread(), []

    def play(task, stopped):
        # Passed only if two run at the same time.
        both.wait(10)
        threads.append(threading.current_thread())
        return Outcome(blank(task) | {"status": "submitted"})

    told = []
    results = played(named("a", "b", "c", "d"), tmp_path, play, workers=2, told=told)
    assert [result["doc_id"] for result in results] == ["a", "b", "c", "d"]
    assert sorted(result["doc_id"] for result in told) == ["a", "b", "c", "d"]
    assert caller not in threads
    assert all(result["seconds"] >= 0 for result in results)
    # All of them have ended: nothing is played.
    assert played(named("d", "a"), tmp_path, None) == [results[3], results[0]]


def test_an_interrupted_run_ends_the_episodes_that_run_and_begins_none(tmp_path):
    ends = []

    def play(task, stopped):
        while task.name == "b" and not stopped():
            pass
        ends.append(task.name)
        return Outcome(blank(task))

    class Impatient(list):
        def append(self, _):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        played(named("a", "b", "c", "d"), tmp_path, play, workers=2, told=Impatient())
    assert "b" in ends
    assert "d" not in ends or len(ends) < 4 or ends.index("d") > 0
