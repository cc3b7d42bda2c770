import contextlib
import random
import sqlite3
from concurrent.futures import ThreadPoolExecutor

from formlab.errors import FormlabError
from formlab_arena.store import SubmissionStore


def test_store_that_is_damaged_is_read_or_one_clear_error(tmp_path):
    whole = SubmissionStore(tmp_path / "s.sqlite")
    for number in range(40):
        whole.add("E12", "one", {"holder": f"Ada {number}" * 20}, {})
    with contextlib.closing(sqlite3.connect(whole.path)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    data, draw, errors = whole.path.read_bytes(), random.Random(0), []
    want = whole.latest("one")["answers"].keys()
    for number in range(60):
        path, spoilt = tmp_path / f"{number}.sqlite", bytearray(data)
        at = draw.randrange(len(data))
        length = draw.choice((1, 50, 5000))
        spoilt[at : at + length] = draw.randbytes(len(spoilt[at : at + length]))
        path.write_bytes(spoilt[: draw.choice((len(spoilt), at))])
        try:
            latest = SubmissionStore(path).latest("one")
            assert latest is None or latest["answers"].keys() == want
        except FormlabError as error:
            errors.append((str(path), str(error)))
    assert 10 < len(errors) < 60
    assert all(path in error for path, error in errors)


def test_many_open_one_new_store_at_once(tmp_path):
    with ThreadPoolExecutor(16) as pool:
        for number in range(40):
            path = tmp_path / f"{number}.sqlite"
            assert len(list(pool.map(SubmissionStore, [path] * 16))) == 16
