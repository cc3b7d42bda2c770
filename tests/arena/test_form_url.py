import json

import PIL.Image
import pytest

from formlab import registry
from formlab_arena import web_tasks
from formlab_arena.actions import Click, Fill
from formlab_arena.episode import RunSettings
from formlab_arena.form_url import fill_tasks
from tests.arena.web import Page
from tests.arena.web import hosting as pages_hosting


class Lines:
    """Types the value of each line into the field of its label, and sends the form."""

    name, observes = "lines", "tree"

    def __init__(self):
        self.sent = False

    def act(self, seen):
        values = dict(line.split(": ") for line in seen.text.splitlines())
        todo = [e for e in seen.elements if e.name in values and not e.value]
        if "Crash" in values:
            raise KeyError("Town")
        if not todo and not self.sent and "Stop" not in values:
            self.sent = True
            return [Click(element=e.id) for e in seen.elements if e.kind in ("submit", "button")]
        return [Fill(e.id, values[e.name]) for e in todo]


SMALL = Page(
    "small",
    "<!doctype html><form method=post action=/accept><label>Name <input name=n></label>"
    "<label>Town <input name=t></label><button>Send</button></form>",
    {}, {},
)  # fmt: skip


@pytest.mark.browser
@pytest.mark.complete
def test_tasks_of_a_file_have_each_its_status_and_right_answers(tmp_path, monkeypatch, fresh):
    registry.register("agents", "lines", Lines)
    monkeypatch.setattr("formlab_arena.driving._GRACE", 0.5)
    with pages_hosting(SMALL) as host:
        lines = [
            {"name": "half", "text": "Name: Ada\nTown: Oslo"}
            | {"gold": {"Town": "oslo", "Name": "Eva"}},
            {"name": "stops", "text": "Name: Ada\nStop: now", "gold": {"Name": "Ada"}},
            {"name": "crashes", "text": "Crash: now"},
        ]
        file = tmp_path / "tasks.jsonl"
        file.write_text("".join(json.dumps(each | {"address": host.url}) + "\n" for each in lines))
        settings = RunSettings("lines", deadline=60, viewport=(390, 700))
        results = fill_tasks(tmp_path / "run", settings, web_tasks.read(file), workers=2)
        shown = [(r["doc_id"], r["status"], r["right"], r["fields"]) for r in results]
        stopped = [("stops", "unsent", 0, 1), ("crashes", "crashed", None, None)]
        assert shown == [("half", "submitted", 1, 2), *stopped]
        # What the account says is what the server got, in any order.
        got = sorted(json.dumps(sent["values"], sort_keys=True) for sent in host.sent)
        accounts = [sent for r in results for sent in r["account"]["submissions"]]
        assert got == sorted(json.dumps(sent["values"], sort_keys=True) for sent in accounts)
        assert results[2]["error"].startswith("KeyError: 'Town'")
        assert 'raise KeyError("Town")' in results[2]["traceback"]
        head = json.loads((tmp_path / "run" / "run.json").read_text())
        assert (head["viewport"], head["deadline"], head["window"]) == ("390x700", 60, [390, 700])
        with PIL.Image.open(tmp_path / "run" / "half" / "001.png") as image:
            assert image.size == (390, 700)
