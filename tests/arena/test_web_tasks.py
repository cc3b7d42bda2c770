import json

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
