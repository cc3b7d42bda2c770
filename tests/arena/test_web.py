import json
import os
from pathlib import Path

import polars as pl
import pytest

from formlab import analysis
from formlab.tables import only
from formlab_arena import web_tasks
from formlab_arena.evaluation import read_run
from formlab_arena.web_tasks import WebTask
from tests import seeds
from tests.arena.web import pages
from tests.arena.web.filling import play

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


GOLD = {
    "Full name": "Ada Berg", "Date of birth": "5 July 1987", "Room": "Family room",
    "Food": "Vegetarian", "Days": ["Monday", "Friday"], "I can swim": True, "Photographs": False,
    "Remarks": "Nuts do harm.", "CV": "ada.pdf",
}  # fmt: skip
SENT = {
    "name": ["Ada Berg"], "dob": ["1987-07-05"], "room": ["F"], "food": ["v"],
    "day[]": ["mo", "fr"], "swim": ["on"], "note": ["Nuts do harm."], "cv": ["ada.pdf"],
    "csrf": ["x1"],
}  # fmt: skip


def control(field, kind="text", label="", *, option=None, name=None, checked=None, at=100, **more):
    return {
        "field": field, "option": option, "kind": kind, "value": "", "checked": checked,
        "options": None, "values": None, "name": name or label, "label": label, "group": [],
        "box": [100, at, 300, at + 20], "labels": [],
    } | more  # fmt: skip


CONTROLS = [
    control("name", label="Full name"), control("dob", "date", "Date of birth", at=130),
    control("room", "select", "Room", at=160, options=["…", "Single room", "Family room"],
            values=["", "S", "F"]),
    control("food", "radio", "Food", option="v", name="Vegetarian", checked=False, at=190),
    control("food", "radio", "Food", option="a", name="Everything", checked=False, at=220),
    *(control("day[]", "checkbox", "Days", option=day[:2].lower(), name=day, checked=False,
              at=250 + 30 * n) for n, day in enumerate(("Monday", "Tuesday", "Friday"))),
    control("swim", "checkbox", "I can swim", checked=False, at=340),
    control("photo", "checkbox", "Photographs", checked=False, at=370),
    control("note", label="Remarks", at=400), control("cv", "file", "CV", at=430),
]  # fmt: skip


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


def test_wizard_is_the_union_of_its_steps_and_the_last_value_counts(tmp_path):
    first = {"name": ["Bo"], "dob": ["1987-07-05"], "room": ["F"]}
    assert submitted(run(tmp_path / "a", [first, SENT])) == (9, 9, [])
    assert submitted(run(tmp_path / "b", [SENT, {"name": ["Bo"]}])) == (8, 9, ["Full name"])


def test_names_of_a_script_are_matched_by_words_and_by_unique_values(tmp_path):
    controls = [
        control("Name", label="Name", group=["Child"]),
        control("Name#2", label="Name", group=["Parent"], at=130),
        control("Stars (1 to 5)", "number", "Stars (1 to 5)", at=160),
        control("Guide", label="Guide", at=190),
    ]
    gold = {"Child Name": "Tuva", "Parent Name": "Lena", "Stars (1 to 5)": "4", "Guide": "Þóra"}
    sent = {"child.name": ["Tuva"], "parent.name": ["Lena"], "stars": ["4"], "g1": ["Þóra"]}
    assert submitted(run(tmp_path, [sent], controls=controls, gold=gold)) == (4, 4, [])


def test_ticks_apart_and_together_are_those_of_the_gold(tmp_path):
    controls = [
        control(name, "checkbox", name, checked=False, group=["Toppings"], at=100 + 30 * n)
        for n, name in enumerate(("Olives", "Onion", "Capers"))
    ]
    controls += [
        control("day", "checkbox", "Days", option=day[:2], name=day, checked=False, at=200)
        for day in ("Monday", "Friday")
    ]
    gold = {"Toppings": ["Olives", "Capers"], "Monday": True, "Friday": False}
    sent = {"Olives": ["on"], "Capers": ["on"], "day": ["Mo"]}
    assert submitted(run(tmp_path / "a", [sent], controls=controls, gold=gold)) == (3, 3, [])
    corpus, _ = read_run(tmp_path / "a")
    items = json.loads(only(corpus.records, path="/Toppings")["meta"][0])["items"]
    assert [(item["value"], item["targets"][0][2]) for item in items] == [
        ("Olives", 100), ("Capers", 160),
    ]  # fmt: skip
    sent = {"Olives": ["on"], "Onion": ["on"], "day": ["Mo", "Fr"]}
    assert submitted(run(tmp_path / "b", [sent], controls=controls, gold=gold)) == (
        1, 3, ["Toppings", "Friday"],
    )  # fmt: skip


ALL = os.environ.get("FORMLAB_WEB_PAGES") == "all"
WEB = Path(__file__).parent / "web"
# Pages whose kind of control or of sending no other test fills in.
CHOICE = ("datepicker", "unsent", "frame-other")
MORE = ("confirm", "returned", "shadow", "steps", "unnamed", "combobox", "formdata", "signature")
CHOICE += MORE if seeds.ALL else ()
# Seconds that a page may take on a busy machine, and those that an endless loop gets.
DEADLINE, LOOP = 180, 12
pytestmark = pytest.mark.browser


def chosen(made, names):
    return [page for page in made if ALL or page.name in names]


@pytest.fixture(scope="module")
def episodes(tmp_path_factory):
    """The oracle on the pages, several at a time, by the names of the pages."""
    made = chosen([*pages(), *pages(WEB / "aside" / "pages")], CHOICE)
    folder = tmp_path_factory.mktemp("oracle")
    # What becomes of a page that hangs is in `test_episode.py`, too.
    loop = [page for page in made if page.name == "loop"]
    played = play(loop, folder / "loop", "oracle", deadline=LOOP)
    others = [page for page in made if page.name != "loop"]
    played += play(others, folder, "oracle", workers=7, deadline=DEADLINE)
    return {episode.page.name: episode for episode in played}


def test_the_account_of_an_episode_says_what_the_server_got(episodes):
    told = {name: episode.told for name, episode in episodes.items()}
    assert told == {name: episode.got for name, episode in episodes.items()}
    sending = [name for name, values in told.items() if values]
    # A loop, and two pages that nothing can be sent from; one of them is in the choice.
    assert len(sending) >= len(told) - (3 if ALL else 1)


def test_oracle_sends_all_that_a_page_lets_be_filled_in(episodes):
    wrong = {name: episode.wrong for name, episode in episodes.items()}
    assert {name: fields for name, fields in wrong.items() if fields} == {}
    statuses = {name: episode.result["status"] for name, episode in episodes.items()}
    assert statuses == {name: episode.page.status for name, episode in episodes.items()}


def test_another_server_gets_nothing_unless_it_is_allowed(episodes):
    got = {name: episode.host.other.requests for name, episode in episodes.items()}
    assert {name for name, requests in got.items() if requests} == {"frame-other"}
    other = episodes["unsent"].host.other.root
    blocked = episodes["unsent"].result["account"]["blocked"]
    assert {f"{other}/pixel", f"{other.replace('http', 'ws')}/live"} <= set(blocked)


@pytest.mark.complete
def test_rules_fills_in_a_form_in_six_looks(tmp_path):
    """One that was set aside: at least 95 in 100 values in each look, and all are sent."""
    played = play(pages(WEB / "looks"), tmp_path, "rules", workers=4, deadline=DEADLINE)
    assert [episode.result["status"] for episode in played] == ["submitted"] * 6
    shares = {episode.page.name: len(episode.wrong) / len(episode.page.sent) for episode in played}
    assert {look: share for look, share in shares.items() if share > 0.05} == {}


def test_one_of_two_fields_of_a_name_has_its_own_value(tmp_path):
    controls = [
        control("phone", label="Home phone"),
        control("phone#2", label="Work phone", at=130),
    ]
    gold = {"Home phone": "1", "Work phone": "2"}
    folder = run(tmp_path, [{"phone": ["1", "3"]}], controls=controls, gold=gold)
    assert submitted(folder) == (1, 2, ["Work phone"])


def test_nothing_sent_is_nothing_right_also_where_nothing_is_to_be_ticked(tmp_path):
    right, asked, _ = submitted(run(tmp_path, []))
    assert (right, asked) == (0, 9)


def test_labels_on_no_page_are_missed_and_reported(tmp_path):
    folder = run(tmp_path, [SENT], gold=GOLD | {"Shoe size": "42"})
    assert submitted(folder) == (9, 10, ["Shoe size"])
    _, predictions = read_run(folder)
    assert predictions.notes == {"labels of the gold on no page": 1}
