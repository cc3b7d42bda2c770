from concurrent.futures import ThreadPoolExecutor

import pytest

from formlab.errors import DataBroken
from formlab_arena.store import SubmissionStore


def test_latest_submission_of_an_episode_counts(store):
    first = store.add("E12", "one", {"a": 1}, {})
    second = store.add("E12", "one", {"a": 2}, {})
    store.add("E12", "two", {"a": 3}, {})
    assert store.latest("one")["answers"] == {"a": 2}
    assert store.latest("one")["id"] == second
    assert store.get(first)["answers"] == {"a": 1}
    assert store.latest("none") is store.get("none") is None


def test_hostile_values_come_back_as_they_were(store):
    answers = {"a": "<script>\0\x1b[2J\u2028'; DROP TABLE submissions; --", "b": "\ud800"}
    received = store.add("E12", "\ud800", answers, {"f": ("\ud800.pdf", b"\0")})
    assert store.get(received)["answers"] == answers
    assert store.ids() == [received]


def test_submissions_outlive_the_store(store):
    received = store.add("E12", "one", {}, {})
    assert SubmissionStore(store.path).ids() == [received]


def test_file_that_is_no_store_is_named(tmp_path):
    (tmp_path / "x").write_bytes(b"not a database" * 100)
    with pytest.raises(DataBroken, match="not a store of submissions"):
        SubmissionStore(tmp_path / "x")


def test_many_open_one_new_store_at_once(tmp_path):
    with ThreadPoolExecutor(16) as pool:
        for number in range(40):
            path = tmp_path / f"{number}.sqlite"
            assert len(list(pool.map(SubmissionStore, [path] * 16))) == 16
