import pytest

from formlab.errors import DataBroken
from formlab_arena import recorder, web_tasks
from formlab_arena.action_groups import Episode
from formlab_arena.actions import Check, Fill, Press, Select, Upload
from formlab_arena.episode import RunSettings, prepare, run_episode
from formlab_arena.oracle import Oracle
from tests.arena.foreign import page
from tests.arena.test_web import CONTROLS, GOLD, SENT, control
from tests.arena.web import hosting

RIGHT = {
    "Name": "Ada Berg", "Born on": "2015-03-05", "Tent": "Large", "Food": "Vegetarian",
    "Days": ["Monday", "Tuesday"], "I can swim": True, "Photographs": False,
    "Letter": "letter.txt",
}  # fmt: skip


def person(session):
    """Fills in the form as a person would, and sends it."""
    at = {(e.field, e.option): e.id for e in session.elements()}
    session.do(Fill(at["child", None], "Ada Berg"))
    session.do(Fill(at["secret", None], "hunter2"))
    session.do(Fill(at["born", None], "2015-03-05"))
    session.do(Select(at["tent", None], ("Large",)))
    for mark in (("food", "v"), ("day", "mo"), ("day", "tu"), ("swim", None)):
        session.do(Check(at[mark]))
    session.do(Upload(at["letter", None], ("letter.txt",)))
    session.do(Press("Enter", element=at["child", None]))


# The test server leaves the files that it got to the collector.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.browser
def test_recorded_task_has_what_was_sent_and_the_oracle_sends_the_same(tmp_path):
    (tmp_path / "letter.txt").write_text("Dear camp")
    out, quiet = tmp_path / "tasks.jsonl", RunSettings("person")
    with hosting(page("recorded")) as host:
        options = {"text": "I am Ada.", "uploads": [tmp_path / "letter.txt"], "settings": quiet}
        recorder.record(host.url, out, person=person, **options)
        (task,) = web_tasks.read(out)
        assert task.gold == RIGHT
        assert (task.address, task.text) == (host.url, "I am Ada.")
        assert "hunter2" not in out.read_text()
        prepare(tmp_path / "again", task.text, {"letter.txt": b"Dear camp"})
        done = run_episode(
            task.address, tmp_path / "again", task.text, quiet, Oracle(dict(task.gold))
        )
        assert done.status == "submitted"
        first, again = (dict(sent["values"]) for sent in host.sent)
        assert first.pop("secret") == ["hunter2"]
        assert again.pop("secret") == [""]
        assert first == again
        with pytest.raises(DataBroken, match="there is a task"):
            recorder.record(host.url, out, name=task.name, person=person, **options)


def test_answers_are_by_labels_or_by_names_where_labels_repeat():
    log = Episode({1: {"controls": CONTROLS}}, [], {})
    account = {"submissions": [{"values": SENT, "outcome": "accepted"}]}
    assert recorder.answers(account, log) == GOLD | {"Date of birth": "1987-07-05"}
    twice = [control("a", label="Name"), control("b", label="Name"), control("c", "password", "P")]
    log = Episode({1: {"controls": twice}}, [], {})
    sent = {"a": ["Ada"], "b": ["Bo"], "c": ["hunter2"]}
    account = {"submissions": [{"values": sent, "outcome": "accepted"}]}
    assert recorder.answers(account, log) == {"a": "Ada", "b": "Bo"}
