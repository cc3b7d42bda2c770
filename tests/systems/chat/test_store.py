"""Answers on disk: nothing that was answered is asked again, whoever died meanwhile."""

import random
import sqlite3
from concurrent.futures import ThreadPoolExecutor

import pytest

from formlab.errors import DataBroken, NotAvailable
from formlab.systems import chat


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
    errors = [damaged(tmp_path / f"{seed}.sqlite", seed) for seed in range(6)]
    errors = [error for error in errors if error is not None]
    # A changed letter of an answer is not to be seen.
    assert len(errors) >= 4
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
