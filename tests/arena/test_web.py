import json
import os
from pathlib import Path

import polars as pl
import pytest
import yaml

from formlab import analysis, registry
from formlab.errors import DataBroken
from formlab.tables import only
from formlab_arena import miniwob, recorder, web_tasks
from formlab_arena.action_groups import Episode
from formlab_arena.actions import Check, Click, Fill, Press, Select, Upload
from formlab_arena.episode import RunSettings, prepare, run_episode
from formlab_arena.evaluation import read_run
from formlab_arena.form_url import fill_tasks
from formlab_arena.oracle import Oracle
from formlab_arena.web_tasks import WebTask
from tests import seeds
from tests.arena.web.hosting import HOME as WEB
from tests.arena.web.hosting import hosting, page_of, pages, play

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


WEB_FORM = yaml.safe_load(Path(__file__).with_name("web.yml").read_text("utf-8"))
GOLD, SENT, CONTROLS = (WEB_FORM[name] for name in ("gold", "sent", "controls"))


def control(field, kind="text", label="", *, option=None, name=None, checked=None, at=100, **more):
    return {
        "field": field, "option": option, "kind": kind, "value": "", "checked": checked,
        "options": None, "values": None, "name": name or label, "label": label, "group": [],
        "box": [100, at, 300, at + 20], "labels": [],
    } | more  # fmt: skip


def run(folder, *episodes, controls=CONTROLS, gold=GOLD):
    """A run on other pages; an episode is what was sent in each of its accepted submissions."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "run.json").write_text(json.dumps({"system": "tests", "seed": 0, "web": True}))
    lines = []
    for number, sent in enumerate(episodes, start=1):
        name = f"task-{number}"
        (folder / name).mkdir()
        if gold is not None:
            (folder / name / "values.json").write_text(json.dumps(gold))
        (folder / name / "task.txt").write_text("text")
        screen = {"step": 1, "screen": 1, "image": None, "size": [400, 600], "controls": controls}
        (folder / name / "events.jsonl").write_text(json.dumps(screen) + "\n")
        submissions = [{"values": values, "outcome": "accepted"} for values in sent]
        lines.append(json.dumps({
            "doc_id": name, "address": "http://a.example/form?id=1", "steps": 2, "error": None,
            "status": "submitted" if sent else "unsent", "seconds": 1.0, "filled": {},
            "account": {"submissions": [{"values": {"name": ["Bo"]}, "outcome": "refused"},
                                        *submissions]},
        }) + "\n")  # fmt: skip
    (folder / "episodes.jsonl").write_text("".join(lines))
    return folder


def submitted(folder, **options):
    """How many values arrived, of how many, and the labels that did not."""
    done = analysis.evaluate(*read_run(folder, **options), mode="official")
    rows = only(done.scores, metric="value_submitted_accuracy")
    wrong = rows.filter(pl.col("hits") < pl.col("total"))["path"].to_list()
    return rows["hits"].sum(), rows["total"].sum(), [path[1:] for path in wrong]


def test_everything_sent_right_is_right_by_the_text_of_its_options(tmp_path):
    corpus, _ = read_run(run(tmp_path, [SENT]))
    assert submitted(tmp_path) == (9, 9, [])
    kinds = dict(corpus.records.select("path", "kind").rows())
    assert kinds == {
        "/Full name": "string", "/Date of birth": "date", "/Room": "dropdown", "/Food": "radio",
        "/Days": "choice", "/I can swim": "checkbox", "/Photographs": "checkbox",
        "/Remarks": "string", "/CV": "file",
    }  # fmt: skip
    # Dates are as the control has them, and a choice has the boxes of what is to be chosen.
    assert only(corpus.records, path="/Date of birth")["value"].to_list() == ["1987-07-05"]
    assert only(corpus.records, path="/Food")["y0"].to_list() == [190]
    meta = json.loads(corpus.documents["meta"][0])
    assert (meta["missing"], meta["stray"]) == ([], ["csrf"])
    assert corpus.documents.select("template", "domain").row(0) == ("a.example/form", "a.example")


@pytest.mark.parametrize(
    ("change", "wrong"),
    [
        ({"name": None}, ["Full name"]),
        ({"dob": ["1987-05-07"]}, ["Date of birth"]),
        ({"room": ["S"]}, ["Room"]),
        ({"food": ["a"]}, ["Food"]),
        ({"day[]": ["mo"]}, ["Days"]),
        ({"day[]": None, "swim": None}, ["Days", "I can swim"]),
        ({"photo": ["on"]}, ["Photographs"]),
    ],
)
def test_what_was_missing_or_wrong_is_counted_by_hand(tmp_path, change, wrong):
    sent = {name: v for name, v in (SENT | change).items() if v is not None}
    assert submitted(run(tmp_path, [sent])) == (9 - len(wrong), 9, wrong)


@pytest.mark.parametrize("form", WEB_FORM["others"], ids=lambda form: form["what"])
def test_what_arrived_is_told_by_the_controls_of_the_page(tmp_path, form):
    sent = [SENT if values == "SENT" else values for values in form["sent"]]
    gold, controls = form.get("gold", GOLD), form.get("controls", CONTROLS)
    folder = run(tmp_path, sent, controls=controls, gold=gold)
    assert submitted(folder) == tuple(form["arrived"])
    corpus, predictions = read_run(folder)
    assert ("labels of the gold on no page" in predictions.notes) == ("Shoe size" in gold)
    if "Toppings" in gold:
        items = json.loads(only(corpus.records, path="/Toppings")["meta"][0])["items"]
        places = [(item["value"], item["targets"][0][2]) for item in items]
        assert places == [("Olives", 100), ("Capers", 160)]


ALL = os.environ.get("FORMLAB_WEB_PAGES") == "all"
# Pages whose kind of control or of sending no other test fills in.
CHOICE = ("datepicker", "unsent", "frame-other")
MORE = ("confirm", "returned", "shadow", "steps", "unnamed", "combobox", "formdata", "signature")
CHOICE += MORE if seeds.ALL else ()
# Seconds that a page may take on a busy machine, and those that an endless loop gets.
DEADLINE, LOOP = 180, 12


@pytest.fixture(scope="module")
def episodes(tmp_path_factory):
    """The oracle on the pages, several at a time, by the names of the pages."""
    every = [*pages(), *pages(WEB / "aside" / "pages")]
    made = [page for page in every if ALL or page.name in CHOICE]
    folder = tmp_path_factory.mktemp("oracle")
    # What becomes of a page that hangs is in `test_episode.py`, too.
    loop = [page for page in made if page.name == "loop"]
    played = play(loop, folder / "loop", "oracle", deadline=LOOP)
    others = [page for page in made if page.name != "loop"]
    played += play(others, folder, "oracle", workers=7, deadline=DEADLINE)
    return {episode.page.name: episode for episode in played}


@pytest.mark.browser
def test_the_account_of_an_episode_says_what_the_server_got(episodes):
    told = {name: episode.told for name, episode in episodes.items()}
    assert told == {name: episode.got for name, episode in episodes.items()}
    sending = [name for name, values in told.items() if values]
    # A loop, and two pages that nothing can be sent from; one of them is in the choice.
    assert len(sending) >= len(told) - (3 if ALL else 1)


@pytest.mark.browser
def test_oracle_sends_all_that_a_page_lets_be_filled_in(episodes):
    wrong = {name: episode.wrong for name, episode in episodes.items()}
    assert {name: fields for name, fields in wrong.items() if fields} == {}
    statuses = {name: episode.result["status"] for name, episode in episodes.items()}
    assert statuses == {name: episode.page.status for name, episode in episodes.items()}


@pytest.mark.browser
def test_another_server_gets_nothing_unless_it_is_allowed(episodes):
    got = {name: episode.host.other.requests for name, episode in episodes.items()}
    assert {name for name, requests in got.items() if requests} == {"frame-other"}
    other = episodes["unsent"].host.other.root
    blocked = episodes["unsent"].result["account"]["blocked"]
    assert {f"{other}/pixel", f"{other.replace('http', 'ws')}/live"} <= set(blocked)


@pytest.mark.browser
@pytest.mark.complete
def test_rules_fills_in_a_form_in_six_looks(tmp_path):
    """One that was set aside: at least 95 in 100 values in each look, and all are sent."""
    played = play(pages(WEB / "looks"), tmp_path, "rules", workers=4, deadline=DEADLINE)
    assert [episode.result["status"] for episode in played] == ["submitted"] * 6
    shares = {episode.page.name: len(episode.wrong) / len(episode.page.sent) for episode in played}
    assert {look: share for look, share in shares.items() if share > 0.05} == {}


RECORDED = {
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
    with hosting(page_of("recorded")) as host:
        options = {"text": "I am Ada.", "uploads": [tmp_path / "letter.txt"], "settings": quiet}
        recorder.record(host.url, out, person=person, **options)
        (task,) = web_tasks.read(out)
        assert task.gold == RECORDED
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


class Scripted:
    """Does what the text asks for in two tasks; what it is told to do wrong, wrongly."""

    observes = "tree"

    def __init__(self, instance):
        self.wrong = instance.code.endswith("2")

    def act(self, seen):
        boxes = [e for e in seen.elements if e.kind in ("text", "password")]
        buttons = [Click(element=e.id) for e in seen.elements if e.kind == "button"]
        if self.wrong:
            return buttons[-1:]
        named = seen.text.removeprefix("Select ").removesuffix(" and click Submit.").split(", ")
        ticks = [Check(e.id) for e in seen.elements if e.kind == "checkbox" and e.name in named]
        texts = zip(boxes, seen.text.split('"')[1::2], strict=False)
        return [*(Fill(e.id, text) for e, text in texts), *ticks, *buttons[:1]]


@pytest.mark.browser
@pytest.mark.complete
def test_tasks_judge_what_was_done_and_their_reward_stands_beside_the_account(tmp_path, fresh):
    pytest.importorskip("selenium", reason="the extra miniwob is not installed")
    registry.register("agents", "scripted", Scripted)
    right = miniwob.tasks(["login-user", "click-checkboxes"], seed=3)
    wrong = miniwob.tasks(["login-user"], seed=2)
    results = fill_tasks(tmp_path, RunSettings("scripted"), [*right, *wrong], workers=2)
    assert [(r["doc_id"], r["reward"]) for r in results] == [
        ("login-user-003", 1.0), ("click-checkboxes-003", 1.0), ("login-user-002", -1.0),
    ]  # fmt: skip
    assert {r["status"] for r in results} == {"submitted"}
    assert [r["error"] for r in results] == [None] * 3
    # Nothing of it was sent anywhere, and a run in another process has the same tasks.
    assert [r["account"]["submissions"] for r in results] == [[]] * 3
    assert results[0]["address"] == "miniwob:login-user:3"
    text = (tmp_path / "login-user-003" / "task.txt").read_text()
    assert text == (
        'Enter the username "myron" and the password "TVkEp" into the text fields and press login.'
    )
