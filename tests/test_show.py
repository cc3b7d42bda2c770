"""What people see: folders in Python and JupyterLab, rows, progress."""

import dataclasses
import os
import shutil
import subprocess
import sys
import time

import pytest

import formlab
from formlab import files, saving, show
from formlab.readers import gold as own

HOSTILE = '<script>alert("x")</script>\x1b[31m'
GOLD = [
    {"doc_id": "a", "name": HOSTILE, "total": "9.00"},
    {"doc_id": "b", "name": "Bo", "total": "8"},
]
ANSWERS = [{"doc_id": "a", "name": HOSTILE, "total": "7.00"}]


@pytest.fixture(scope="module")
def folders():
    corpus = own.corpus(GOLD, name="my\nforms")
    predictions = formlab.read_predictions(ANSWERS, corpus, name=HOSTILE)
    return corpus, predictions, formlab.evaluate(corpus, predictions)


def test_repr_is_one_line_with_what_it_is_and_its_counts(folders):
    corpus, predictions, evaluation = folders
    assert repr(corpus) == "Corpus of own, my\\x0aforms: 2 documents, 6 records"
    escaped = '<script>alert("x")</script>\\x1b[31m'
    assert repr(predictions).startswith(f"Predictions of {escaped}: 2 records")
    named = f"Evaluation of {escaped}, own, my\\x0aforms, fixed: 2 documents, "
    assert repr(evaluation).startswith(named)


@pytest.mark.parametrize("number", range(3))
def test_html_has_first_rows_and_notes_and_no_markup_of_others(folders, number):
    noted = {"flaws" if number == 0 else "notes": {HOSTILE: 1_000}}
    html = dataclasses.replace(folders[number], **noted)._repr_html_()
    assert "<script" not in html
    assert html.replace("\n", "").isprintable()
    assert "&lt;script&gt;alert(&quot;x" in html
    assert ": 1,000</p>" in html
    assert "/name</td>" in html.replace("&quot;", "")


@pytest.mark.parametrize(
    ("total", "lines"), [(40, range(4, 41, 4)), (2, [1, 2]), (7, range(1, 8)), (None, [])]
)
def test_pipe_gets_a_line_for_each_tenth(capsys, total, lines):
    with show.progress("pages, {task.fields[failed]} failed") as bars:
        bar = bars.add_task("ocr\x1b[31m", total=total, failed=0)
        for number in range(1, (total or 40) + 1):
            bars.update(bar, advance=1, failed=number // 10)
    assert capsys.readouterr().err.splitlines() == [
        f"ocr\\x1b[31m: {n}/{total} pages, {n // 10} failed" for n in lines
    ]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("FORMLAB_CACHE", str(tmp_path))
    return tmp_path / "ocr"


def get(key, make=pytest.fail):
    return saving.kept("ocr", key, make)


def test_a_value_is_made_once_and_is_the_same_from_disk(folder):
    value = {"texts": ["Zażółć", "\ud83d"], "box": (0.1 + 0.2, 1e-300)}
    keys = [{"page": 1, "words": True}, {"page": 2}, {"page": "1"}, {"page": 1, "scale": 1.0}]
    first, (count, seconds) = get(keys[0], lambda: time.sleep(0.05) or value), saving.reused.get()
    for number, key in enumerate(keys[1:]):
        assert get(key, lambda number=number: number) == number
    again = get({"words": True, "page": 1})
    assert first == again == {"texts": value["texts"], "box": list(value["box"])}
    # The seconds of the first time, without those that taking it from the disk takes.
    assert saving.reused.get()[0] == count + 1
    assert saving.reused.get()[1] - seconds > 0.03


@pytest.mark.parametrize("damage", [b"", b"no JSON", None, b"[]"])
def test_a_damaged_entry_is_made_again(folder, damage):
    get("key", lambda: 5)
    (file,) = folder.iterdir()
    whole = file.read_bytes()
    file.write_bytes(whole[:-9] if damage is None else damage)
    assert [get("key", lambda: 6), get("key")] == [6, 6]


def test_unwanted_or_where_nothing_can_be_written_it_is_made_and_nothing_kept(folder, monkeypatch):
    get("key", lambda: 5)
    with monkeypatch.context() as patch:
        patch.setenv("FORMLAB_NO_CACHE", "1")
        assert [get(key, lambda: 6) for key in ("key", "new")] == [6, 6]
    assert (get("key"), len(list(folder.iterdir()))) == (5, 1)
    shutil.rmtree(folder)
    folder.write_text("a file where the folder would be")
    assert [get(key, lambda: 5) for key in "ab"] == [5, 5]


def test_what_was_not_used_for_the_longest_time_is_dropped(folder, tmp_path):
    for number in range(4):
        get(number, lambda: os.urandom(5_000).hex())
    entries = sorted(folder.iterdir())
    for hours, file in enumerate(entries, start=2):
        os.utime(file, (0, time.time() - 3600 * hours))
    # The oldest is used again.
    get(next(n for n in range(4) if files.key_of(n) == entries[-1].stem))
    size = entries[0].stat().st_size
    saving.drop_oldest(folder, gigabytes=2.5 * size / 1e9)
    assert {*folder.iterdir()} == {entries[0], entries[-1]}
    for name in ("old", "new"):
        run = saving.run_folder(name) / "pages"
        run.mkdir(parents=True)
        (run / "a.png").write_bytes(bytes(1000))
    os.utime(tmp_path / "runs" / "old", (0, 0))
    saving.drop_oldest(tmp_path / "runs", gigabytes=1.5e-6)
    assert [path.name for path in (tmp_path / "runs").iterdir()] == ["new"]


def test_processes_share_a_folder(folder):
    code = (
        "from formlab.saving import kept\n"
        "for n in range(40): assert kept('ocr', n, lambda: [n] * 500) == [n] * 500\n"
    )
    running = [subprocess.Popen([sys.executable, "-c", code], stderr=-1) for _ in range(3)]
    assert [process.communicate()[1] for process in running] == [b""] * 3
    assert len(list(folder.iterdir())) == 40
