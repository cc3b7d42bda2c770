import pytest

from formlab import registry
from formlab_arena import miniwob
from formlab_arena.actions import Check, Click, Fill
from formlab_arena.form_url import fill_tasks
from formlab_arena.run import RunSettings

pytest.importorskip("selenium", reason="the extra miniwob is not installed")


class Scripted:
    """Does what the text asks for in three tasks; what it is told to do wrong, wrongly."""

    observes = "tree"

    def __init__(self, instance):
        self.name, self.wrong = instance.code.rpartition("-")[0], instance.code.endswith("2")

    def act(self, seen):
        quoted = seen.text.split('"')[1::2]
        boxes = [e for e in seen.elements if e.kind in ("text", "password")]
        ticks = [e for e in seen.elements if e.kind == "checkbox"]
        buttons = [Click(element=e.id) for e in seen.elements if e.kind == "button"]
        if self.wrong:
            return buttons[-1:]
        named = seen.text.removeprefix("Select ").removesuffix(" and click Submit.").split(", ")
        todo = [Check(e.id) for e in ticks if e.name in named]
        if self.name == "click-button":
            return [Click(element=e.id) for e in seen.elements if e.name == quoted[0]][:1]
        filled = [Fill(e.id, text) for e, text in zip(boxes, quoted, strict=False)]
        return filled + todo + buttons[:1]


@pytest.mark.browser
@pytest.mark.complete
def test_tasks_judge_what_was_done_and_their_reward_stands_beside_the_account(tmp_path, fresh):
    registry.register("agents", "scripted", Scripted)
    right = miniwob.tasks(["login-user", "click-checkboxes", "click-button"], seed=3)
    wrong = miniwob.tasks(["login-user"], seed=2)
    results = fill_tasks(tmp_path, RunSettings("scripted"), [*right, *wrong], workers=2)
    assert [(r["doc_id"], r["reward"]) for r in results] == [
        ("login-user-003", 1.0), ("click-checkboxes-003", 1.0), ("click-button-003", 1.0),
        ("login-user-002", -1.0),
    ]  # fmt: skip
    assert {r["status"] for r in results} == {"submitted"}
    assert [r["error"] for r in results] == [None] * 4
    # Nothing of it was sent anywhere, and a run in another process has the same tasks.
    assert [r["account"]["submissions"] for r in results] == [[]] * 4
    assert results[0]["address"] == "miniwob:login-user:3"
    text = (tmp_path / "login-user-003" / "task.txt").read_text()
    assert text == (
        'Enter the username "myron" and the password "TVkEp" into the text fields and press login.'
    )
