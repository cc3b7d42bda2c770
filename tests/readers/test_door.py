"""What the door says of answers to a benchmark, and how fast it is."""

import csv
import json
import time

import pytest

from formlab import own, readers
from formlab.errors import DataBroken
from tests.contract.doors import json_folder

BOX = {"box": [1, 1, 9, 9], "label": "answer", "linking": [], "words": []}
NEW = "values at paths that the gold does not have, read as task text"
ANSWER = {"doc_id": "a", "path": "/entities/1", "value": "Ada", "kind": "answer"}
# The answers, the documents and tasks that are read, and what is noted or wrong.
ANSWERS = {
    "a value": ([ANSWER], [("a", "text")], None),
    "a new path": ([ANSWER | {"path": "/x"}], [("a", "text")], NEW),
    "its own task": ([ANSWER | {"task": "value"}], [("a", "value")], None),
    "no kind": ([ANSWER | {"kind": None}], [("a", "text")], "entities without a kind"),
    "another split": ([ANSWER | {"split": "train"}, ANSWER | {"split": "test"}], [("a", "text")],
                      "answers for another split, left out"),
    "another benchmark": ([ANSWER | {"benchmark": "sroie"}], None, "'sroie', not for funsd"),
    "twice": ([ANSWER, ANSWER], None, r"two predictions for .*:1 .*:2\)"),
    "two systems": ([ANSWER | {"system": n, "path": n} for n in "xy"], None, "several systems"),
    "no page": ([ANSWER | {"page": 1.5}], None, r"page cannot be '1\.5' .*:1"),
    "no status": ([ANSWER | {"status": "odd"}], None, "unknown status 'odd'"),
}  # fmt: skip


@pytest.fixture
def corpus(tmp_path):
    from formlab import benchmarks

    form = {"form": [BOX | {"id": 1, "text": "Ada"}]}
    json_folder(tmp_path / "testing_data/annotations", {"a": form, "b": form})
    return benchmarks.load("funsd", root=tmp_path)


@pytest.mark.parametrize("name", ANSWERS)
def test_answers_to_a_benchmark(name, corpus, tmp_path):
    lines, found, message = ANSWERS[name]
    file = tmp_path / "p.jsonl"
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    if found is None:
        with pytest.raises(DataBroken, match=message):
            readers.predictions(file, corpus)
        return
    predictions = readers.predictions(file, corpus)
    assert predictions.records.select("doc_id", "task").rows() == found
    notes = " ".join(predictions.notes)
    assert message in notes if message else not notes


def test_300_000_rows_are_read_in_three_seconds(tmp_path):
    with (tmp_path / "a.csv").open("w", newline="") as stream:
        table = csv.writer(stream)
        table.writerow(["doc_id", "path", "value"])
        table.writerows([f"d{n // 10}", f"f{n % 10}", f"{n}.00"] for n in range(300_000))
    start = time.process_time()
    assert own.read_values(tmp_path / "a.csv").height == 300_000
    assert time.process_time() - start < 3
