import json
import os
import subprocess
import sys
import time

import pytest

from formlab import kept


@pytest.fixture
def shelf(tmp_path, monkeypatch):
    monkeypatch.setenv("FORMLAB_CACHE", str(tmp_path))
    return kept.Shelf("ocr")


def slow(value):
    time.sleep(0.05)
    return value


def test_a_value_is_computed_once_and_is_the_same_from_disk(shelf):
    value = {"texts": ["Zażółć", "\ud83d"], "box": (0.1 + 0.2, 1e-300)}
    first, before = shelf.get({"page": 1}, lambda: slow(value)), kept.reused()
    again = kept.Shelf("ocr").get({"page": 1}, pytest.fail)
    assert first == again == {"texts": value["texts"], "box": list(value["box"])}
    after = kept.reused()
    assert after.count - before.count == 1
    # The seconds of the first time, without those that taking it from the disk takes.
    assert after.seconds - before.seconds > 0.03


def test_any_other_key_is_another_value(shelf):
    keys = [{"page": 1}, {"page": 2}, {"page": "1"}, {"page": 1, "scale": 1.0}]
    for number, key in enumerate(keys):
        assert shelf.get(key, lambda number=number: number) == number
    assert [shelf.get(key, pytest.fail) for key in keys] == [0, 1, 2, 3]


@pytest.mark.parametrize("damage", [b"", b"no archive", None])
def test_a_damaged_entry_is_set_aside_with_one_line(shelf, capsys, damage):
    shelf.get("key", lambda: 5)
    (file,) = shelf.folder.iterdir()
    file.write_bytes(file.read_bytes()[:-9] if damage is None else damage)
    assert shelf.get("key", lambda: 6) == 6
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 1
    assert "damaged entry" in lines[0]
    assert shelf.get("key", pytest.fail) == 6


def test_the_entry_of_another_key_is_not_taken(shelf):
    shelf.get("a", lambda: 1)
    (file,) = shelf.folder.iterdir()
    shelf.get("b", lambda: 2)
    file.write_bytes(next(f for f in shelf.folder.iterdir() if f != file).read_bytes())
    assert shelf.get("a", lambda: 3) == 3


def test_where_nothing_can_be_written_it_is_computed_and_noted_once(shelf, tmp_path, capsys):
    (tmp_path / "ocr").write_text("a file where the folder would be")
    assert [shelf.get(key, lambda: 5) for key in "ab"] == [5, 5]
    assert capsys.readouterr().err.count("nothing is kept in") == 1


def test_bypassed_nothing_is_taken_and_nothing_kept(shelf):
    shelf.get("key", lambda: 5)
    with kept.bypassed(), kept.bypassed(False):
        assert [shelf.get(key, lambda: 6) for key in ("key", "new")] == [6, 6]
    assert shelf.get("key", pytest.fail) == 5
    assert len(list(shelf.folder.iterdir())) == 1


def test_what_was_not_used_for_the_longest_time_is_dropped(shelf, tmp_path):
    for number in range(20):
        shelf.get(number, lambda: os.urandom(5_000).hex())
    old = sorted(shelf.folder.iterdir())
    for hours, file in enumerate(old, start=2):
        os.utime(file, (0, time.time() - 3600 * hours))
    kept.use(old[-1])
    # Room for eleven and two thirds of the twenty, of which a tenth is freed: 10.5 are left.
    size = kept.entries(shelf.folder)[0].size
    assert kept.drop_oldest(shelf.folder, gigabytes=10.5 * size / 0.9 / 1e9) == 10
    assert set(shelf.folder.iterdir()) == {*old[:9], old[-1]}
    small = kept.Shelf("ocr", gigabytes=20e-6)
    small.get("new", lambda: os.urandom(5_000).hex())
    assert len(list(shelf.folder.iterdir())) < 4


def test_runs_are_folders_that_are_dropped_whole(shelf, tmp_path):
    for name in ("old", "new"):
        folder = kept.run_folder(name)
        (folder / "pages").mkdir(parents=True)
        (folder / "pages" / "a.png").write_bytes(bytes(1000))
    os.utime(tmp_path / "runs" / "old", (0, 0))
    assert kept.drop_oldest(tmp_path / "runs", gigabytes=1.5e-6) == 1
    assert [entry.path.name for entry in kept.entries(tmp_path / "runs")] == ["new"]
    assert kept.clear("runs") == 1


def test_processes_share_a_shelf(shelf):
    code = (
        "from formlab.kept import Shelf\n"
        "for n in range(40): assert Shelf('ocr').get(n, lambda: [n] * 500) == [n] * 500\n"
    )
    running = [subprocess.Popen([sys.executable, "-c", code], stderr=-1) for _ in range(3)]
    assert [process.communicate()[1] for process in running] == [b""] * 3
    assert len(kept.entries(shelf.folder)) == 40


def test_the_command_shows_what_is_kept_and_drops_it(shelf, formlab):
    shelf.get("key", lambda: 5)
    shown = json.loads(formlab("list", "cache", "--json").stdout)
    assert [(row["name"], row["entries"]) for row in shown] == [("ocr", 1), ("runs", 0)]
    dropped = json.loads(formlab("list", "cache", "--clear", "--json").stdout)
    assert [row["dropped"] for row in dropped] == [1, 0]
    assert not list(shelf.folder.iterdir())
