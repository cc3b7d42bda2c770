import dataclasses
import html
import json
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from flask import request

from formlab import browser, tables
from formlab.scoring.evaluate import evaluate
from formlab_arena import server
from formlab_arena.episode import RunSettings
from formlab_arena.evaluation import read_run
from formlab_arena.listening import listen
from formlab_arena.people import People
from formlab_arena.store import SubmissionStore
from formlab_arena.texts import task_set
from tests.made_arena import click, control, keys

GOOD = {
    "holder": "Jun Berg", "born": "1999-08-18", "account": "Current", "proof": "Identity card",
    "number": "S1977413",
}  # fmt: skip
# Only the first two fields were recorded: the holder clicked, the day of birth reached by keyboard.
AT_HOLDER, AT_BORN = ({"target": control(name)} for name in ("holder", "born"))
DONE = [
    click(150, 110) | {"hit": control("holder")},
    keys("Jun Berg", changed=[["holder", None, "", "Jun Berg"]]) | AT_HOLDER,
    keys("<Tab>") | AT_BORN,
    keys("1999-08-18", changed=[["born", None, "", "1999-08-18"]]) | AT_BORN,
]
LOG = [
    {"step": 1, "screen": 1, "size": [400, 600], "controls": [control("holder"), control("born")]}
]
LOG += [event | {"seconds": at} for event, at in zip(DONE, (1.5, 2.0, 3.0, 4.0), strict=True)]
HOSTILE = '"><script>alert(1)</script>'


@pytest.fixture
def people(tmp_path):
    tasks = task_set("prose", codes=["A12", "C13", "E12"])
    return People(tmp_path / "people", tasks, RunSettings("human", texts="prose"))


@pytest.fixture
def client(store, people):
    return server.create(store, people=people).test_client()


def start(client, name="ada", task="E12-001"):
    return client.post("/play/", data={"name": name, "task": task})


@pytest.mark.parametrize("name", ["", "..", "../x", HOSTILE, "a" * 41, "a/b"])
def test_odd_name_or_task_writes_nothing(client, people, name):
    assert start(client, name).status_code == 400
    assert start(client, "ada", name or "E12-002").status_code == 404
    assert HOSTILE not in client.get("/play/", query_string={"name": "ada"}).text
    assert not people.out.exists()


def test_other_sites_and_other_texts_are_refused(client, people, store):
    headers = {"Sec-Fetch-Site": "cross-site"}
    data = {"name": "ada", "task": "E12-001"}
    assert client.post("/play/", data=data, headers=headers).status_code == 403
    start(client)
    other = People(people.out, task_set(codes=["A12"]), RunSettings("human"))
    refused = start(server.create(store, people=other).test_client(), task="A12-001")
    assert (refused.status_code, "another texts" in refused.text) == (400, True)


def test_log_is_that_of_the_window_that_sent_the_form_and_once_whatever_is_sent_again(
    client, people
):
    start(client)
    log = people.out / "ada" / "E12-001" / "events.jsonl"
    other = [LOG[0], LOG[1] | {"seconds": 9.0}]
    for events in (other, LOG[:3], LOG[:3]):
        wrong = GOOD | {"born": "1999", "_log": json.dumps(events)}
        assert client.post("/play/ada/E12-001", data=wrong).status_code == 400
    assert len(log.read_text().splitlines()) == 3
    # The page goes on with what it recorded.
    assert json.dumps(LOG[:3])[:80] in html.unescape(
        client.post("/play/ada/E12-001", data=wrong).text
    )
    sent = GOOD | {"_log": json.dumps(LOG)}
    with ThreadPoolExecutor(8) as pool:
        posts = [pool.submit(client.application.test_client().post, "/play/ada/E12-001",
                             data=sent if n % 2 else wrong) for n in range(16)]  # fmt: skip
        assert {post.result().status_code for post in posts} <= {303, 400}
    assert [json.loads(line).get("seconds") for line in log.read_text().splitlines()] == [
        None, 1.5, 2.0, 3.0, 4.0,
    ]  # fmt: skip
    result = people.results("ada")["E12-001"]
    assert (result["status"], result["steps"], result["right"]) == ("submitted", 4, 5)
    assert len(SubmissionStore(people.out / "ada" / "submissions.sqlite").ids()) == 1


def test_two_people_and_two_tasks_at_once_keep_to_themselves(client, people):
    for name in ("ada", "bo"):
        start(client, name), start(client, name, "A12-001")

    def send(number):
        name, holder = ("ada", "Ada Berg") if number % 2 else ("bo", "Bo Hahn")
        log = [LOG[0], LOG[1] | {"seconds": float(number % 2)}]
        data = GOOD | {"holder": holder, "_log": json.dumps(log)}
        return client.application.test_client().post(f"/play/{name}/E12-001", data=data)

    with ThreadPoolExecutor(8) as pool:
        assert {answer.status_code for answer in pool.map(send, range(40))} == {303}
    for name, holder, seconds in (("ada", "Ada Berg", 1.0), ("bo", "Bo Hahn", 0.0)):
        results = people.results(name)
        assert results["E12-001"]["answers"]["holder"] == holder
        assert results["A12-001"]["status"] == "unfinished"
        lines = (people.out / name / "E12-001" / "events.jsonl").read_text().splitlines()
        assert [json.loads(line).get("seconds") for line in lines] == [None, seconds]
        assert len(SubmissionStore(people.out / name / "submissions.sqlite").ids()) == 1
    # The page of one person is no way to the task of another.
    start(client, "cy", "C13-001")
    assert client.post("/play/cy/E12-001", data=GOOD).status_code == 404


def test_hostile_texts_answers_and_field_names_are_inert(client, people):
    task = people.instances["E12-001"]
    people.instances["E12-001"] = dataclasses.replace(task, text=HOSTILE, kind=HOSTILE)
    start(client)
    assert "<script>alert" not in client.get("/play/ada/E12-001").text + client.get("/play/").text
    changed = [[HOSTILE, None, "", HOSTILE]]
    log = [LOG[0], LOG[1] | {"hit": control("holder") | {"field": HOSTILE}, "changed": changed}]
    sent = GOOD | {"holder": HOSTILE, "_log": json.dumps(log)}
    assert client.post("/play/ada/E12-001", data=sent).status_code == 303
    page = client.get("/play/ada/E12-001/score")
    assert "<script>alert" not in page.text
    assert "&lt;script&gt;alert(1)" in page.text
    evaluate(*read_run(people.out / "ada"))


@pytest.mark.browser
@pytest.mark.parametrize("width", [1280, pytest.param(390, marks=pytest.mark.complete)])
def test_browser_records_mouse_keyboard_and_lists_at_any_width(people, store, width):
    app = server.create(store, people=people)

    @app.before_request
    def late():  # What is done before the recorder has come is not lost.
        time.sleep(0.5 * request.path.endswith("play.js"))

    listening = listen(app, port=0)
    threading.Thread(target=listening.serve_forever, daemon=True).start()
    address = f"http://127.0.0.1:{listening.server_port}"
    try:
        with browser.page(size=(width, 800), allow=(address,)) as visit:
            page = visit.page
            page.goto(f"{address}/play/")
            page.click('button[value="E12-001"]')
            page.click("#f-holder")
            page.keyboard.type("Jun Berg")
            page.keyboard.press("Tab")
            page.keyboard.type("1999")
            page.click("[data-field=_submit]")
            page.click("label[for=f-born]")
            page.keyboard.press("Control+A")
            page.keyboard.type("1999-08-18")
            for name, letter in (("account", "C"), ("proof", "I")):
                page.click(f"#f-{name}")
                page.keyboard.press(letter)
                page.keyboard.press("Enter")
            page.click("#f-number")
            page.keyboard.type("S1977413")
            page.click("[data-field=_submit]")
            page.wait_for_url("**/score")
            shown = page.inner_text("main")
            assert page.evaluate("document.documentElement.scrollWidth") == width
    finally:
        listening.shutdown()
    assert "1.00" in shown
    done = evaluate(*read_run(people.out / "human"))
    for metric in ("click_accuracy", "value_placed_accuracy", "value_submitted_accuracy"):
        rows = tables.only(done.scores, metric=metric)
        assert (rows["hits"].sum(), rows["total"].sum()) == (5, 5), metric


def test_files_of_a_task_and_its_pdf_are_given_and_no_others(client, people):
    start(client, task="A12-001"), start(client, task="C13-001")
    files = "/play/ada/A12-001/files"
    assert client.get(f"{files}/A12-001-proposal.pdf").data.startswith(b"%PDF")
    assert client.get(f"{files}/..%2Fvalues.json").status_code == 404
    assert client.get("/play/ada/C13-001/document.pdf").mimetype == "application/pdf"
    assert client.get("/play/ada/E12-001/document.pdf").status_code == 404
    assert client.get("/play/ada/A12-001/document.pdf").status_code == 404
