import polars as pl
import pytest

from formlab import benchmarks, registry, systems
from formlab.errors import NotAvailable
from formlab.folders import Predictions
from formlab.systems import System
from formlab.systems.runs import BLANK, Journal


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
    blank = systems.run(corpus, letters([]), out=tmp_path / "blank", settings={"say": ""})
    assert blank.notes == {BLANK: 1}


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


def test_a_run_that_is_broken_off_goes_on_and_repeats_no_page(corpus, tmp_path):
    calls, journal = [], tmp_path / "r" / "pages.jsonl"

    def start(settings, threads):
        def read(document, root):
            calls.append(document["doc_id"])
            if calls == ["a", "b"]:
                # What was finished is on disk before the next page begins.
                assert journal.read_bytes().count(b"\n") == 1
                raise KeyboardInterrupt
            return [{"path": None, "kind": "page", "task": "text", "value": document["doc_id"]}]

        return read

    system = System("broken off", "is interrupted at its second page", start)
    with pytest.raises(KeyboardInterrupt):
        systems.run(corpus, system, out=tmp_path / "r")
    finished = journal.read_bytes()
    assert not (tmp_path / "r/predictions/manifest.json").exists()
    assert systems.run(corpus, system, out=tmp_path / "r").records.height == 2
    # What was finished stands as it was, byte for byte, and no page of it is read again.
    assert journal.read_bytes().startswith(finished)
    assert calls == ["a", "b", "b"]


NAMES = """
import formlab
@formlab.system("names", title="reads the name of a document")
def start(settings, threads):
    page = {"path": None, "kind": "page", "task": "text"}
    return lambda document, root: [page | {"value": document["doc_id"]}]
"""


def test_several_processes_read_with_a_plug_in(corpus, tmp_path):
    (tmp_path / "names.py").write_text(NAMES)
    registry.load(tmp_path / "names.py")
    whole = systems.run(corpus, systems.get("names"), out=tmp_path / "r", workers=2)
    assert sorted(whole.records["value"]) == ["a", "b"]
    registry.unload(tmp_path / "names.py")


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
    again = systems.run(corpus, letters(calls), out=out)
    assert "pages.jsonl:1" in capsys.readouterr().err
    assert calls == ["a", "b", "a"]
    assert again.records.sort("doc_id").equals(expected.records.sort("doc_id"))


def test_two_runs_into_one_folder_are_kept_apart(corpus, tmp_path):
    (tmp_path / "r").mkdir()
    with Journal(tmp_path / "r" / "pages.jsonl"), pytest.raises(NotAvailable, match="another run"):
        systems.run(corpus, letters([]), out=tmp_path / "r")
