"""Answers on disk: nothing that was answered is asked again, whoever died meanwhile."""

import random
import sqlite3
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from formlab import benchmarks
from formlab.errors import DataBroken, NotAvailable
from formlab.folders import Predictions
from formlab.systems import chat
from tests.states import LONG
from tests.systems.chat.made_runs import FORM, alone, ran
from tests.systems.scripted_server import serving


def test_what_shapes_an_answer_makes_it_another_question(tmp_path):
    store = {"store": str(tmp_path / "shared.sqlite")}
    shaping = [{}, {"temperature": 1.0}, {"image_limit": 100}, {"boxes": "none"}]
    with serving(then=FORM) as server:
        for number, more in enumerate(shaping):
            ran(server, tmp_path / str(number), **store, **more)
            assert len(server.calls) == number + 1
        # How answers are got does not.
        ran(server, tmp_path / "other", **store, concurrency=2)
        assert len(server.calls) == 4


def test_two_processes_share_a_store_and_ask_everything_once(tmp_path):
    total = benchmarks.load("formcraft").documents.height
    store = tmp_path / "shared.sqlite"
    with serving(then=FORM, delay=0.1) as server:
        both = [alone(server.url, tmp_path / name, store) for name in ("a", "b")]
        assert [process.wait(LONG) for process in both] == [0, 0]
        assert len(server.calls) == total
    first, second = (Predictions.load(tmp_path / name) for name in ("a", "b"))
    assert first.responses.equals(second.responses)


CLAIMING = """
import sys, time
from formlab.systems import chat
from formlab.systems.chat import store as module
with chat.AnswerStore(sys.argv[1]).claim("k", stopped=lambda: None):
    print("claimed", flush=True)
    time.sleep(60)
"""


def test_a_claim_keeps_others_waiting_and_dies_with_its_process(tmp_path):
    file = tmp_path / "s.sqlite"
    claiming = [sys.executable, "-c", CLAIMING, str(file)]
    with (
        chat.AnswerStore(file) as store,
        subprocess.Popen(claiming, stdout=subprocess.PIPE) as other,
    ):
        other.stdout.readline()
        with pytest.raises(chat.Stopped), store.claim("k", stopped=lambda: "the run ended"):
            pass
        other.kill()
        other.wait()
        with store.claim("k", stopped=lambda: None):
            pass
    assert not list(tmp_path.glob("*.lock"))


def test_of_many_claims_of_one_question_at_once_each_is_alone(tmp_path):
    # A lock file is removed with the claim: one who waits for the old file must not go on with it.
    inside, most = [], []
    with chat.AnswerStore(tmp_path / "s.sqlite") as store, ThreadPoolExecutor(8) as pool:

        def claimed(number):
            with store.claim("k", stopped=lambda: None):
                inside.append(number)
                most.append(len(inside))
                time.sleep(0.002)
                inside.remove(number)

        list(pool.map(claimed, range(40)))
    assert most == [1] * 40


def test_an_answer_that_could_not_be_written_does_not_count(tmp_path):
    with chat.AnswerStore(tmp_path / "s.sqlite") as store:
        base = sqlite3.connect(tmp_path / "s.sqlite")
        base.execute("DROP TABLE answers")
        base.close()
        with pytest.raises(DataBroken, match="no such table"):
            store.put(chat.Answer("k", text="5"))


def damaged(file, seed):
    """What was wrong with a store that was cut short or had bytes changed; None if nothing was."""
    rng = random.Random(seed)
    with chat.AnswerStore(file) as store:
        for number in range(100):
            store.put(chat.Answer(str(number), text=str(number) * 200))
    data = bytearray(file.read_bytes())
    if seed % 3 == 0:
        del data[rng.randrange(len(data)) :]
    for _ in range((0, 40, 4_000)[seed % 3]):
        data[rng.randrange(100, len(data))] = rng.randrange(256)
    file.write_bytes(data)
    try:
        with chat.AnswerStore(file) as store:
            for number in range(100):
                store.get([str(number)])
            store.put(chat.Answer("new", text="5"))
            store.count()
    except DataBroken as error:
        return error
    return None


def test_a_damaged_store_is_one_error_with_what_to_do(tmp_path):
    errors = [damaged(tmp_path / f"{seed}.sqlite", seed) for seed in range(12)]
    errors = [error for error in errors if error is not None]
    # A changed letter of an answer is not to be seen.
    assert len(errors) >= 8
    for error in errors:
        assert ".sqlite" in str(error.where)
        assert ".recover" in error.remedy


def test_a_full_disk_is_one_error_and_what_was_kept_stays(tmp_path):
    with chat.AnswerStore(tmp_path / "s.sqlite") as store:
        store.put(chat.Answer("k", text="5"))
        store._base.execute("PRAGMA max_page_count=1")
        with pytest.raises(NotAvailable, match="full"):
            store.put(chat.Answer("l", text="x" * 100_000))
        assert store.get(["k"]).text == "5"


def test_answers_put_by_many_threads_at_once_are_all_kept(tmp_path):
    with chat.AnswerStore(tmp_path / "s.sqlite") as store:
        with ThreadPoolExecutor(16) as pool:
            list(pool.map(lambda n: store.put(chat.Answer(str(n % 50), text=str(n))), range(200)))
        assert store.count() == 200
        assert all(store.get([str(n)]) is not None for n in range(50))
