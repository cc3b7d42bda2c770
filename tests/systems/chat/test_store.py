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
        with pytest.raises(NotAvailable, match="no such table"):
            store.put(chat.Answer("k", text="5"))


@pytest.mark.parametrize("cut", [0, 100, 5_000])
def test_a_damaged_store_is_one_error_with_what_to_do(tmp_path, cut):
    file = tmp_path / "s.sqlite"
    with chat.AnswerStore(file) as store:
        for number in range(100):
            store.put(chat.Answer(str(number), text=str(number) * 200))
    data = file.read_bytes()
    file.write_bytes(data[:cut] + random.Random(cut).randbytes(len(data) - cut))
    with pytest.raises(DataBroken) as error, chat.AnswerStore(file) as store:
        for number in range(100):
            store.get([str(number)])
    assert ".sqlite" in str(error.value.where)
    assert ".recover" in error.value.remedy


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
        assert all(store.get([str(n)]) is not None for n in range(50))
