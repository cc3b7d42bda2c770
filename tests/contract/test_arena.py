"""The arena: who fills in a form is scored by clicks, by values, and by what a server received."""

import json
import re
import shutil
import sqlite3
import subprocess
import sys
import threading
import urllib.request
from contextlib import closing
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

import formlab
import formlab_arena
from tests.contract.doors import cli, rows, value
from tests.seeds import ALL

pytestmark = pytest.mark.browser
PLUGINS = Path(__file__).with_name("plugins")
PLACE = "position: absolute; left: 100px; width: 200px; height: 30px; top:"
PAGE = f"""<!doctype html><form method=post><label>Name <input name=n style="{PLACE} 100px"></label>
<button style="{PLACE} 200px">Send</button></form>"""


class Site(BaseHTTPRequestHandler):
    def do_GET(self, answer=None):
        body = (answer or self.server.page).encode()
        self.server.seen.append(self.path)
        head = b"HTTP/1.0 200 OK\r\nContent-Type: text/html\r\nContent-Length: %d\r\n\r\n"
        self.wfile.write(head % len(body) + body)

    def do_POST(self):
        self.server.sent.append(self.rfile.read(int(self.headers["Content-Length"])).decode())
        self.do_GET(self.server.answers.pop(0) if self.server.answers else "Thank you")


def hosting(page="", answers=()):
    """The server of a page, what it has sent and seen, and its address."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Site)
    server.page, server.answers, server.sent, server.seen = page, list(answers), [], []
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server, f"127.0.0.1:{server.server_port}"


def fill(*arguments, code=0):
    return json.loads(cli("arena", "fill", *arguments, "--json", code=code)[0])


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for plugin in ("player.py", "driver.py"):
        shutil.copy(PLUGINS / plugin, ".")


@pytest.fixture(scope="module")
def oracle(tmp_path_factory):
    run = tmp_path_factory.mktemp("oracle")
    (result,) = fill("--forms", "A11", "--viewport=400x300", "--out", run)
    return run, result, json.loads((run / "A11-001" / "values.json").read_text())


def test_a01_what_the_oracle_sends_is_what_the_server_has_and_scores_one(oracle):
    run, result, values = oracle
    assert (result["status"], result["right"], result["fields"]) == ("submitted", 4, 4)
    with closing(sqlite3.connect(run / "submissions.sqlite")) as store:
        ((stored,),) = store.execute("SELECT answers FROM submissions")
    assert json.loads(stored) == values
    right, table = ("click_accuracy", "value_submitted_accuracy"), rows("arena", "score", run)
    assert [value(table, metric) for metric in (*right, "form_completed")] == [1] * 3


def test_a02_a_clumsy_episode_is_scored_as_counted_by_hand():
    window = ("--viewport", "1280x360")
    fill("--agent", "player.py", "--forms", "E12", *window, "--out", "run", code=1)
    table = rows("arena", "score", "run", "--by", "kind", "--out", "eval")
    # The date goes over the name, one of two lists is wrong, the number stands below its field.
    assert [value(table, f"{what}_accuracy") for what in ("click", "value_placed")] == [0.6, 0.4]
    assert value(table, "value_placed_accuracy", slice_value="dropdown") == 1 / 2
    assert value(table, "click_distance", slice_value="string") == 10
    faults = formlab_arena.propagation(formlab.open_evaluation("eval")).sort("path")
    assert faults.select("path", "fault", "first").rows() == [
        ("/Account holder", "overwritten", False),
        ("/Born on", "misplaced", True),
        ("/Number of the document", "misplaced", True),
        ("/Proof of identity", "wrong_value", True),
    ]


def test_a04_a_models_clicks_are_pixels_of_what_it_saw(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-none")
    # A window of 1280 pixels, shown at half its size and sent at half of that.
    replies = ["<p>No</p>", 'Click(50, 29)\nType("Ada")\nClick(50, 54)', '{"actions": []}']
    messages = [{"message": {"role": "assistant", "content": reply}} for reply in replies]
    choices = [message | {"index": 0, "finish_reason": "stop"} for message in messages]
    answers = [json.dumps({"model": "m", "choices": [choice]}) for choice in choices]
    (model, endpoint), (site, host) = hosting("", answers), hosting(PAGE)
    Path("text.txt").write_text("Ada")
    chat = ("--system", "chat:m", "--base-url", f"http://{endpoint}/v1", "--text", "text.txt")
    sizes = ("--scale", 0.5, "--set", "image_limit=320")
    (result,) = fill(*chat, *sizes, "--url", f"http://{host}/", "--out", "run")
    assert (site.sent, result["status"], result["steps"]) == (["n=Ada"], "submitted", 3)
    assert result["usage"]["attempts"] == len(model.sent) == 3
    assert Path("run/page/events.jsonl").read_text().count('"unusable"') == 1


def test_a03_a05_who_drives_has_an_account_without_secrets_and_reaches_no_other_host():
    (site, host), (other, away) = hosting(PAGE), hosting("secret")
    site.page += f'<script>fetch("http://{away}/")</script>'
    address = f"http://ada:pa55word@{host}/?token=s3cret"
    task = {"name": "ada", "address": address, "text": "Ada", "gold": {"Name": "Eve"}}
    Path("tasks.jsonl").write_text(json.dumps(task))
    drive = ("--drive", f"{sys.executable} driver.py", "--tasks", "tasks.jsonl", "--out", "run")
    out, err = cli("arena", "fill", *drive, "--json")
    (result,) = json.loads(out)
    (sent,) = result["account"]["submissions"]
    assert (result["status"], result["right"]) == ("submitted", 0)
    assert (sent["values"]["n"], sent["outcome"], site.sent) == (["Ada"], "accepted", ["n=Ada"])
    assert (site.seen[0], other.seen) == ("/?token=s3cret", [])
    files = [file.read_text("latin-1") for file in Path("run").rglob("*") if file.is_file()]
    assert any(away in text for text in files)
    assert not any("pa55word" in text or "s3cret" in text for text in (out, err, *files))


def test_a06_a_killed_browser_or_server_costs_one_episode_and_a_crashed_one_is_repeated():
    asked = ("--agent=player.py", "--forms=A11", "--instances=3", "--viewport=400x300", "--out=run")
    first = fill(*asked, code=1)
    assert [result["right"] for result in first] == [0, 0, 4]
    assert (first[0]["status"], first[1]["status"] != "submitted") == ("crashed", True)
    assert [result["right"] for result in fill(*asked, code=1)] == [4, 0, 4]


def test_a07_a_person_is_scored_as_an_agent_is():
    serve = ("serve", "--port", "0", "--codes", "E12", "--texts", "quoted", "--out", "people")
    command = [Path(sys.executable).with_name("formlab"), "arena", *serve]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as server:
        try:
            address = server.stdout.readline().decode().split()[-1]
            urllib.request.urlopen(f"{address}/play/", b"name=ada&task=E12-001").close()
            right = json.loads(Path("people/ada/E12-001/values.json").read_text())
            Path("values.json").write_text(json.dumps(right | {"proof": "Driving licence"}))
            page = ("--url", f"{address}/play/ada/E12-001", "--values", "values.json")
            fill(*page, "--steps", 4, "--viewport=900x800", "--out", "hands")
        finally:
            server.terminate()
    table = rows("arena", "score", "people/ada")
    # Every field was clicked; one was sent with another value.
    assert value(table, "click_accuracy") == 1
    assert value(table, "value_submitted_accuracy") == 4 / 5


def test_a08_the_reward_of_the_environment_is_the_share_that_arrived(oracle):
    make = pytest.importorskip("gymnasium").make
    name, window = "formlab_arena.env:formlab/Form-v0", {"viewport": (500, 400), "scale": 0.5}
    with closing(make(name, task="A11", **window)) as env:
        seen, _ = env.reset(options={"instance": 1})
        *fields, button = re.findall(r"\[(\w+)\] ", seen["tree"])
        for field, text in zip(fields, [*list(oracle[2].values())[:3], "x"], strict=True):
            assert env.step(f"fill({field!r}, {text!r})")[1] == 0
        assert env.step(f"click({button!r})")[1:3] == (3 / 4, True)


def test_p1_a_perfect_run_of_a_form_with_two_families_of_labels_scores_one(shared):
    released = shared / "data" / "formfactory" / "data1" / "membership_application.json"
    # Of 50 instances 40 have "Date of Birth", the last 10 "date_of_birth".
    chosen = [json.loads(released.read_text())[number] for number in (0, 40)]
    chosen[0]["Professional Certifications"] = ""
    texts = "".join(f"{n}. {json.dumps(form)}\n\n" for n, form in enumerate(chosen, start=1))
    for name, text in (("data1/%s.json", json.dumps(chosen)), ("data2/%s.txt", texts)):
        Path(name).parent.mkdir()
        Path(name % released.stem).write_text(text)
    fill("--data=.", "--forms=B14", "--instances", 1 + ALL, "--viewport=400x1000", "--out=run")
    table = rows("arena", "score", "run")
    perfect = ("click_accuracy", "value_submitted_accuracy", "episodic_value", "form_completed")
    assert [value(table, metric) for metric in (*perfect, "task_score")] == [1] * 5
