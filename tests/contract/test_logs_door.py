"""Logs: tests as their bench judges them, who answered, which split, and answers alone."""

import json
import zipfile

import pytest

from tests.contract.doors import WORDS, json_lines, rows, value

OPEN = WORDS["score a log"]
JUDGED = [
    ("present", {"case_sensitive": False}, "DUE *now*: 9.00", 1),
    ("present", {}, "DUE NOW: 9.00", 0),
    ("absent", {"first_n": 8}, "9.00 is due now", 1),
    ("absent", {"last_n": 8}, "9.00 is due now", 0),
]
PLUGIN = """import formlab
@formlab.benchmark("halves", splits={"one": 1, "two": 1}, tasks=("text",), title="halves")
def read(split, root):
    with (root / "loaded.txt").open("a") as stream:
        stream.write(f"{split} ")
    return formlab.readers.corpus([{"doc_id": split, "path": "/t", "value": "9"}], name=split)
"""


def figure(log):
    return next(r["value"] for r in log["headlines"] if (r["by"], r["over"]) == ("formlab", "all"))


@pytest.mark.parametrize(("kind", "rule", "page", "right"), JUDGED)
def test_l13_olmocr_bench_is_judged_as_by_itself(kind, rule, page, right, tmp_path):
    test = {"pdf": "a.pdf", "page": 1, "id": "t", "type": kind, "text": "due now"} | rule
    (tmp_path / "t.jsonl").write_text(json.dumps(test))
    (tmp_path / "tool").mkdir()
    (tmp_path / "tool/a_pg1_repeat1.md").write_text(page)
    assert figure(rows(*OPEN, tmp_path)[0]) == right


def test_l14_the_model_that_answered_names_the_system_and_a_broken_sample_is_counted(tmp_path):
    sample = {"id": "a", "target": "x", "output": {"model": "m-2", "completion": "x"}}
    with zipfile.ZipFile(tmp_path / "l.eval", "w") as archive:
        archive.writestr("header.json", '{"eval": {"model": "m"}}')
        for name, text in {"a": json.dumps(sample), "b": "{"}.items():
            archive.writestr(f"samples/{name}.json", text)
    (log,) = rows(*OPEN, tmp_path / "l.eval")
    assert (log["system"], log["join"]["matched"], log["join"]["unreadable"]) == ("m-2", 1, 1)


def test_l15_answers_open_as_they_score_and_each_split_is_loaded_once(tmp_path):
    (tmp_path / "p.py").write_text(PLUGIN)
    plugin, own = ("--plugin", tmp_path / "p.py"), ("--root", tmp_path)
    log = json_lines(tmp_path / "l.jsonl", {"two": {"path": "/t", "target": "9", "output": "9"}})
    (opened,) = rows(*plugin, *OPEN, "halves", "--predictions", log, *own)
    assert (opened["benchmark"], figure(opened)) == ("own:two", 1)
    assert (tmp_path / "loaded.txt").read_text() == "one two "
    file = json_lines(tmp_path / "a.jsonl", {"one.png": {"path": "t", "value": "9"}})
    assert value(rows(*plugin, *OPEN, "halves", "--predictions", file, *own), "match_accuracy") == 1
