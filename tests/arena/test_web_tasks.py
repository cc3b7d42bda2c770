import json

import pytest

from formlab.errors import DataBroken
from formlab_arena import web_tasks
from formlab_arena.web_tasks import WebTask

AT = "http://127.0.0.1:9/form"


def lines(folder, *rows):
    path = folder / "tasks.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_texts_gold_and_files_are_read_beside_the_tasks(tmp_path):
    (tmp_path / "letters").mkdir()
    (tmp_path / "letters" / "ada.txt").write_text("I am Ada.")
    (tmp_path / "gold.json").write_text('{"Age": 40, "Size": 1.5, "Swims": false}')
    first = {"address": AT, "text_file": "letters/ada.txt", "gold_file": "gold.json"}
    path = lines(tmp_path, first | {"files": ["letters/ada.txt"]}, {"name": "b", "address": AT})
    one, two = web_tasks.read(path)
    assert (one.name, one.text, one.files) == (
        "task-1",
        "I am Ada.",
        (tmp_path / "letters/ada.txt",),
    )
    assert one.gold == {"Age": "40", "Size": "1.5", "Swims": False}
    assert two == WebTask("b", AT)
    web_tasks.write(tmp_path / "again.jsonl", [one, two])
    assert web_tasks.read(tmp_path / "again.jsonl") == (one, two)


@pytest.mark.parametrize(
    ("row", "what"),
    [
        ({"name": "../x", "address": AT}, "name: String should match"),
        ({"name": "x\n", "address": AT}, "name: String should match"),
        ({"address": "file:///etc/passwd"}, "not an http address"),
        ({"address": "http://[bad"}, "not an http address"),
        ({"text": "no address"}, "address: Field required"),
        ({"address": AT, "files": ["../secret.txt"]}, r"no file '../secret.txt'"),
        ({"address": AT, "files": ["/etc/passwd"]}, "no file '/etc/passwd'"),
        ({"address": AT, "files": ["a\0b"]}, "no file"),
        ({"address": AT, "gold": {"Name": {"first": "Ada"}}}, "gold.Name"),
        ({"address": AT, "gold": {}, "gold_file": "gold.json"}, "both gold and gold_file"),
        ({"address": AT, "script": "x"}, "script: Extra inputs"),
        ({"name": "A", "address": AT}, "two tasks are named A"),
    ],
)
def test_what_is_no_task_is_named_with_file_and_line(tmp_path, row, what):
    (tmp_path.parent / "secret.txt").write_text("secret")
    path = lines(tmp_path, {"name": "a", "address": AT}, row)
    with pytest.raises(DataBroken, match=what) as problem:
        web_tasks.read(path)
    assert str(path) in str(problem.value)
    assert str(problem.value.where).endswith("tasks.jsonl:2")
