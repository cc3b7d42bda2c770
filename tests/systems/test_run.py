import json
import os
import signal
import subprocess
import sys

import polars as pl
import pytest

from formlab import benchmarks, systems
from formlab.errors import NotAvailable
from formlab.folders import Predictions
from formlab.systems import System
from formlab.systems.journal import Journal
from tests.states import until


def letters(calls):
    """A system that notes which documents it is asked for and fails on `b`."""

    def start(settings, threads):
        def read(document, root):
            calls.append(document["doc_id"])
            if document["doc_id"] == "b":
                raise ValueError("<b>cannot</b>")
            return [{"path": None, "kind": "page", "task": "text", "value": settings["say"]}]

        return read

    return System("letters", "notes what it is asked", start, {"say": "hello"})


@pytest.fixture
def corpus(funsd_root):
    return benchmarks.load("funsd", root=funsd_root, split="test")


def test_page_that_fails_is_a_row_with_its_reason(corpus, tmp_path):
    predictions = systems.run(corpus, letters([]), out=tmp_path / "r")
    records = predictions.records.sort("doc_id").select("doc_id", "value", "status").rows()
    assert records == [("a", "hello", "ok"), ("b", None, "missing")]
    error = predictions.responses.filter(pl.col("doc_id") == "b")["error"].item()
    assert error == "ValueError('<b>cannot</b>')"
    assert Predictions.load(tmp_path / "r").records.equals(predictions.records)


def test_finished_page_is_not_read_again_until_its_image_changes(corpus, tmp_path):
    calls = []
    system, out = letters(calls), tmp_path / "r"
    systems.run(corpus, system, out=out, limit=1)
    systems.run(corpus, system, out=out)
    assert calls == ["a", "b"]
    image = corpus.root / corpus.documents["image"][0]
    image.write_bytes(image.read_bytes() + b" ")
    predictions = systems.run(corpus, system, out=out)
    assert calls == ["a", "b", "a"]
    assert predictions.records.height == 2


# Reads one page, and the others once there is a file `go`.
WAITING = """
import time
from pathlib import Path
import formlab

@formlab.system("waiting", title="waits for a file")
def start(settings, threads):
    def read(document, root):
        (root / "begun").open("a").write(document["doc_id"])
        while document["doc_id"] != "a" and not (root / "go").exists():
            time.sleep(0.01)
        return [{"path": None, "kind": "page", "task": "text", "value": document["doc_id"]}]

    return read
"""


def test_run_killed_in_the_middle_goes_on_and_repeats_no_page(funsd_root, tmp_path):
    folder = funsd_root / "testing_data"
    for copy in range(6):
        for kind, suffix in (("annotations", "json"), ("images", "png")):
            source = folder / kind / f"a.{suffix}"
            (folder / kind / f"c{copy}.{suffix}").write_bytes(source.read_bytes())
    (tmp_path / "waiting.py").write_text(WAITING)
    out = tmp_path / "r"
    command = [
        sys.executable, "-m", "formlab", "--plugin", str(tmp_path / "waiting.py"), "run",
        "funsd", "--root", str(funsd_root), "--split", "test", "--system", "waiting",
        "--out", str(out), "--json",
    ]  # fmt: skip
    env = os.environ | {"FORMLAB_CACHE": str(tmp_path / "cache")}
    journal = out / "pages.jsonl"
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, env=env) as process:
        until(lambda: process.poll() is not None or "b" in _text(funsd_root / "begun"))
        process.send_signal(signal.SIGKILL)
    finished = journal.read_bytes()
    assert finished.count(b"\n") == 1
    assert not (out / "predictions/manifest.json").exists()
    (funsd_root / "go").touch()
    result = subprocess.run([*command, "--workers", "2"], check=True, capture_output=True, env=env)
    assert json.loads(result.stdout)[0]["documents"] == 8
    # What was finished stands as it was, byte for byte, and every page is there once.
    assert journal.read_bytes().startswith(finished)
    pages = [json.loads(line)["doc_id"] for line in journal.read_text().splitlines()]
    assert sorted(pages) == ["a", "b", *(f"c{copy}" for copy in range(6))]
    assert _text(funsd_root / "begun").count("a") == 1


def _text(file):
    return file.read_text() if file.exists() else ""


GARBAGE = {
    "no JSON": b"{{{",
    "no entry": b'{"doc_id": "a"}',
    "bytes": b"\xff\xfe\x00",
    "half a character": b'{"doc_id": "\\ud800", "key": 0}',
    "deep": b"[" * 100_000,
}


@pytest.mark.parametrize("what", GARBAGE)
def test_garbage_in_the_journal_costs_its_own_page_and_is_named(corpus, tmp_path, capsys, what):
    calls, out = [], tmp_path / "r"
    expected = systems.run(corpus, letters(calls), out=out)
    journal = out / "pages.jsonl"
    second = journal.read_bytes().splitlines()[1]
    journal.write_bytes(b"\n".join([GARBAGE[what], second, b""]))
    (out / "predictions/manifest.json").unlink()
    begun = systems.unfinished(out)
    assert begun.responses["doc_id"].to_list() == ["b"]
    assert begun.notes == {"lines of the journal that cannot be read": 1}
    assert "pages.jsonl:1" in capsys.readouterr().err
    again = systems.run(corpus, letters(calls), out=out)
    assert calls == ["a", "b", "a"]
    assert again.records.sort("doc_id").equals(expected.records.sort("doc_id"))


def test_two_runs_into_one_folder_are_kept_apart(corpus, tmp_path):
    (tmp_path / "r").mkdir()
    with Journal(tmp_path / "r" / "pages.jsonl"), pytest.raises(NotAvailable, match="another run"):
        systems.run(corpus, letters([]), out=tmp_path / "r")
