import contextlib
import io
import random
import sqlite3
import subprocess
import sys
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from formlab import browser
from formlab.errors import FormlabError
from formlab_arena.spec import forms
from formlab_arena.store import SubmissionStore
from tests.states import until

GOOD = {
    "holder": "Ada Berg", "born": "1970-01-31", "account": "Joint", "proof": "Passport",
    "number": "A1234567",
}  # fmt: skip
JSON = {"Accept": "application/json"}


def test_wrong_answers_are_named_kept_in_the_page_and_not_stored(client, store):
    answer = client.post("/forms/E12", data={**GOOD, "born": "31.1.1970", "proof": ""})
    assert answer.status_code == 400
    assert "Born on: a date that exists" in answer.text
    assert "Proof of identity: must be filled in" in answer.text
    assert 'value="31.1.1970"' in answer.text
    assert store.ids() == []
    as_json = client.post("/forms/E12", data={}, headers=JSON)
    assert set(as_json.json["fields"]) == set(GOOD)


def test_html_in_a_value_is_stored_as_it_is_and_shown_inert(client, store):
    hostile = '"><script>alert(1)</script>{{ 7 * 7 }}'
    refused = client.post("/forms/E12", data={**GOOD, "holder": hostile, "born": hostile})
    stored = client.post("/forms/E12", data={**GOOD, "holder": hostile, "_episode": hostile})
    shown = client.get(stored.headers["Location"])
    open_session = client.get("/forms/E12", query_string={"episode": hostile})
    for page in (refused, shown, open_session):
        assert "<script>alert" not in page.text
        assert "&lt;script&gt;alert(1)" in page.text
        assert "default-src 'self'" in page.headers["Content-Security-Policy"]
    assert store.latest(hostile)["answers"]["holder"] == hostile
    unknown = client.post("/forms/E12", data={**GOOD, "<script>x": "1"})
    assert (unknown.status_code, "<script>x" in unknown.text) == (400, False)


def test_upload_is_stored_with_its_bytes(client, store):
    data = {
        "first": "Ada", "last": "Berg", "born": "1970-01-31", "career": "Established",
        "proposal": (io.BytesIO(b"%PDF"), "../../plan.pdf"),
    }  # fmt: skip
    received = client.post("/forms/A12", data=data, headers=JSON).json["id"]
    with store._open() as connection:
        row = connection.execute("SELECT * FROM uploads").fetchone()
    assert (row["submission"], row["field"], row["content"]) == (received, "proposal", b"%PDF")


def test_two_files_or_a_name_too_long_for_one_are_refused_and_not_dropped(client, store):
    data = {"first": "Ada", "last": "Berg", "born": "1970-01-31", "career": "Established"}
    two = [(io.BytesIO(b"%PDF"), f"{name}.pdf") for name in "ab"]
    refused = client.post("/forms/A12", data=data | {"proposal": two}, headers=JSON)
    assert "one answer only" in refused.json["fields"]["proposal"]
    long = (io.BytesIO(b"%PDF"), "a" * 252 + ".pdf")
    refused = client.post("/forms/A12", data=data | {"proposal": long}, headers=JSON)
    assert "at most 255" in refused.json["fields"]["proposal"]
    assert store.ids() == []


def test_store_that_does_not_write_is_said_and_nothing_acknowledged(client, store):
    store.path.write_bytes(b"no database" * 1000)
    answer = client.post("/forms/E12", data=GOOD, headers=JSON)
    assert (answer.status_code, "send it again" in answer.json["error"]) == (503, True)
    assert str(store.path) not in answer.text


@pytest.mark.parametrize("path", [
    "/static/../server.py", "/static/..%2fserver.py", "/static/..%5cserver.py", "/static/%00",
    "/static/arena.css%00.png", "/static/..%2f..%2f..%2fetc%2fpasswd",
    "/static/" + "x" * 5000, "/static/%ff", "/forms/..%2fE12", "/forms/E12%00", "/forms/%ff",
    "/forms/E12/../../received/1", "/forms/" + "x" * 5000, "/received/%00", "/received/%25%27--",
    "/play/", "/play/ada/E12-001",
])  # fmt: skip
def test_path_that_leads_elsewhere_is_not_found(client, path):
    assert client.get(path).status_code == 404
    assert client.post(path, data=GOOD).status_code in (404, 405)


def test_store_that_is_damaged_is_read_or_one_clear_error(tmp_path):
    whole = SubmissionStore(tmp_path / "s.sqlite")
    for number in range(40):
        whole.add("E12", "one", {"holder": f"Ada {number}" * 20}, {})
    with contextlib.closing(sqlite3.connect(whole.path)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    data, draw, errors = whole.path.read_bytes(), random.Random(0), []
    want = whole.latest("one")["answers"].keys()
    for number in range(60):
        path, spoilt = tmp_path / f"{number}.sqlite", bytearray(data)
        at = draw.randrange(len(data))
        length = draw.choice((1, 50, 5000))
        spoilt[at : at + length] = draw.randbytes(len(spoilt[at : at + length]))
        path.write_bytes(spoilt[: draw.choice((len(spoilt), at))])
        try:
            latest = SubmissionStore(path).latest("one")
            assert latest is None or latest["answers"].keys() == want
        except FormlabError as error:
            errors.append((str(path), str(error)))
    assert 10 < len(errors) < 60
    assert all(path in error for path, error in errors)


def test_many_open_one_new_store_at_once(tmp_path):
    with ThreadPoolExecutor(16) as pool:
        for number in range(40):
            path = tmp_path / f"{number}.sqlite"
            assert len(list(pool.map(SubmissionStore, [path] * 16))) == 16


ROOT = Path(__file__).parents[2]


def test_server_ends_with_a_process_that_is_killed(tmp_path):
    code = "import sys, time; from formlab_arena.process import Server; from pathlib import Path; "
    code += "server = Server(Path(sys.argv[1])); print(server.ensure(), flush=True); time.sleep(60)"
    command = [sys.executable, "-c", code, str(tmp_path / "s.sqlite")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT) as starter:
        address = starter.stdout.readline().strip()
        with urllib.request.urlopen(f"{address}/forms/A11") as answer:
            assert answer.status == 200
        starter.kill()

    def silent():
        try:
            urllib.request.urlopen(f"{address}/forms/A11", timeout=1).close()
        except TimeoutError:
            return False
        except OSError:
            return True

    until(silent)


pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def shared_visit(arena):
    with browser.page(allow=(f"{arena}/", "data:")) as visit:
        yield visit


@pytest.fixture
def visiting(shared_visit, arena):
    """Opens a form in a window of the usual size, or of another one."""

    def visit(code, width=1280):
        # What an earlier test met is its own.
        for met in (shared_visit.requests, shared_visit.console, shared_visit.errors):
            met.clear()
        shared_visit.dialogs.clear()
        shared_visit.page.set_viewport_size({"width": width, "height": 800})
        shared_visit.page.goto(f"{arena}/forms/{code}")
        return shared_visit

    return visit


def test_every_form_fits_a_narrow_screen_and_has_labels_for_all_controls(visiting, arena):
    visit = visiting("A11", width=390)
    for code in forms():
        visit.page.goto(f"{arena}/forms/{code}")
        assert visit.page.evaluate("document.documentElement.scrollWidth") <= 390, code
        unlabelled = visit.page.evaluate(
            "[...document.querySelectorAll('input:not([type=hidden]), select, textarea')]"
            ".filter(e => !e.labels.length).map(e => e.name)"
        )
        assert unlabelled == [], code
    assert visit.trouble == []


def test_hostile_values_come_back_as_they_were(store):
    answers = {"a": "<script>\0\x1b[2J\u2028'; DROP TABLE submissions; --", "b": "\ud800"}
    received = store.add("E12", "\ud800", answers, {"f": ("\ud800.pdf", b"\0")})
    assert store.get(received)["answers"] == answers
    assert store.ids() == [received]
