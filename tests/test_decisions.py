import json
import subprocess
import sys

import pytest

from formlab import decisions, tables
from formlab.errors import DataBroken, DataMissing, TableBroken

ROW = {
    "benchmark": "funsd", "split": "test", "doc_id": "1", "task": "text", "path": "/a",
    "decision": "label_error", "label": "7", "value": "1", "reviewer": "ada", "time": "t",
}  # fmt: skip


@pytest.fixture
def file(tmp_path):
    return tmp_path / "verdicts" / "ada.jsonl"


def put(file, *rows):
    file.parent.mkdir(exist_ok=True)
    file.write_text(
        "".join(f"{row if isinstance(row, str) else json.dumps(row)}\n" for row in rows)
    )


def test_a_file_is_sorted_one_decision_a_line_without_nulls(file):
    for path in ("/c", "/a", "/b"):
        decisions.record(file, ROW | {"path": path, "parts": '{"kind": "date"}'})
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    assert [line["path"] for line in lines] == ["/a", "/b", "/c"]
    assert lines[0] == ROW | {"parts": {"kind": "date"}}
    assert decisions.read(file)["parts"].to_list() == ['{"kind": "date"}'] * 3


def test_deciding_again_changes_one_line_and_forgetting_removes_it(file):
    decisions.record(file, ROW)
    decisions.record(file, ROW | {"path": "/b"})
    decisions.record(file, ROW | {"decision": "wrong", "value": None})
    assert decisions.read(file)["decision"].to_list() == ["wrong", "label_error"]
    decisions.forget(file, ROW)
    assert decisions.read(file)["path"].to_list() == ["/b"]
    decisions.forget(file, ROW | {"path": "/b"})
    assert decisions.read(file).height == 0
    assert list(file.parent.iterdir()) == [file]
    # Of two lines that were appended the last one counts.
    put(file, ROW, ROW | {"decision": "ambiguous"})
    assert decisions.read(file)["decision"].to_list() == ["ambiguous"]


def test_a_folder_merges_reviewers_and_refuses_one_who_contradicts_himself(file):
    put(file, ROW)
    put(file.with_name("ben.jsonl"), ROW | {"reviewer": "ben", "decision": "wrong"})
    put(file.with_name("copy.jsonl"), ROW | {"time": "later"})
    assert decisions.read(file.parent)["reviewer"].to_list() == ["ada", "ben"]
    put(file.with_name("copy.jsonl"), ROW | {"decision": "wrong"})
    with pytest.raises(
        DataBroken, match=r"ada decided otherwise at .*ada\.jsonl:1 .*copy\.jsonl:1"
    ):
        decisions.read(file.parent)


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ("<<<<<<< ours", "broken JSON"),
        ("[1]", "Expected `object`, got `array`"),
        (ROW | {"colour": "red"}, "unknown colour"),
        (ROW | {"decision": "maybe"}, "unknown decision 'maybe'"),
        (ROW | {"task": "dance"}, "unknown task 'dance'"),
        (ROW | {"value": 7}, "value should be text"),
        (ROW | {"parts": "{}"}, "parts should be an object"),
        ({"doc_id": "1"}, "a decision without benchmark"),
    ],
)
def test_a_line_that_is_no_decision_is_named(file, line, what):
    put(file, ROW, "", line)
    with pytest.raises(DataBroken, match=rf"{what}.*ada\.jsonl:3"):
        decisions.read(file)


def test_nothing_there_is_an_error_to_read_and_nothing_to_find(tmp_path):
    for place, says in ((tmp_path, "no decisions here"), (tmp_path / "x.jsonl", "no such file")):
        with pytest.raises(DataMissing, match=says):
            decisions.read(place)
        assert decisions.found(place).height == 0


def test_the_version_tells_states_apart_and_not_their_order():
    rows = [ROW, ROW | {"path": "/b"}]
    one, other = (tables.table("decisions", some) for some in (rows, rows[::-1]))
    changed = tables.table("decisions", [ROW, ROW | {"path": "/b", "value": "2"}])
    assert decisions.version(one) == decisions.version(other) != decisions.version(changed)


def test_a_table_that_is_none_of_decisions_is_not_written(file):
    with pytest.raises(TableBroken, match="unknown values: maybe"):
        decisions.write(file, tables.table("decisions", [ROW | {"decision": "maybe"}]))
    assert not file.exists()


WRITER = """
import sys
from formlab import decisions
row = {"benchmark": "b", "doc_id": "1", "task": "text", "decision": "wrong", "reviewer": "ada"}
for number in range(15):
    decisions.record(sys.argv[1], row | {"path": f"/{sys.argv[2]}/{number}"})
"""


def test_processes_that_share_a_file_lose_nothing(file):
    commands = [[sys.executable, "-c", WRITER, str(file), name] for name in "ab"]
    workers = [subprocess.Popen(command) for command in commands]
    assert [worker.wait(60) for worker in workers] == [0, 0]
    assert decisions.read(file).height == 30
