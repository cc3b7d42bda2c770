from pathlib import Path

import pytest
import yaml

from formlab_arena.address_secrets import Secrets
from formlab_arena.episode import RunSettings, open_session, prepare
from formlab_arena.gate import Gate
from formlab_arena.sent_values import carries, values_of
from formlab_arena.uploads import inside
from tests import leaking
from tests.states import until, until_seen

from .conftest import events
from .web.hosting import site


def test_server_is_compared_whole_and_path_from_its_start():
    gate = Gate(["http://127.0.0.1:80/", "https://cdn.example.com", "http://h.example/lib/"])
    assert gate.allows("http://127.0.0.1/x")
    assert gate.allows("wss://cdn.example.com/socket")
    assert gate.allows("data:text/plain,x")
    assert gate.allows("http://h.example/lib/a.js")
    for url in (
        "http://127.0.0.1:8080/", "https://cdn.example.com.evil.org/", "http://h.example/",
        "https://cdn.example.com@evil.org/", "file:///etc/passwd", "ftp://127.0.0.1/",
    ):  # fmt: skip
        assert not gate.allows(url), url
    assert Gate(["https://"]).allows("https://anything.example/")
    for number in range(200):
        gate.refuse(f"https://evil.org/{number}/{'x' * 400}")
    assert (len(gate.blocked), len(gate.blocked[0])) == (100, 300)
    # What is no address, or is cut within its server, is refused like any other.
    gate = Gate(["http://127.0.0.1/"])
    for url in ("http://[::1", "stun:[", f"http://{'x' * 290}@[::1]/", "http://127.0.0.1:99999/"):
        gate.refuse(url)
    assert len(gate.blocked) == 4


@pytest.mark.browser
def test_no_way_leads_to_another_server(tmp_path):
    prepare(tmp_path, "", {})
    with site({"/": "secret", "/allowed/x": "shared"}) as other, site({}) as own:
        hop = (302, {"Location": f"{other.url}/hop"}, "")
        socket = f"new WebSocket('{other.url.replace('http', 'ws')}/socket')"
        own.pages |= {
            "/": f"""<!doctype html><h1>Own</h1><img src="/hop"><img src="{other.url}/image">
              <script>fetch('/hop', {{mode: 'no-cors'}}); {socket};
              fetch('{other.url}/allowed/x', {{mode: 'no-cors'}});
              new Worker('/worker.js'); open('{other.url}/tab');
              navigator.serviceWorker.register('/worker.js');
              new EventSource('{other.url}/stream')</script>
              <iframe src="{other.url}/frame"></iframe>""",
            "/hop": hop,
            "/leave": (302, {"Location": f"{other.url}/leave"}, ""),
            "/worker.js": (
                200, {"Content-Type": "text/javascript"},
                f"fetch('{other.url}/worker', {{mode: 'no-cors'}})",
            ),
        }  # fmt: skip
        allow = [f"{other.url}/allowed/"]
        with open_session(f"{own.url}/", tmp_path, "", RunSettings("x"), allow=allow) as session:
            ways = {"/hop", "/image", "/worker", "/tab", "/frame", "/stream", "socket"}

            def tried():
                refused = session.account.summary({})["blocked"]
                return all(any(way in url for url in refused) for way in ways)

            until_seen(session.page, tried)
            assert session.driver.tabs[0].url == f"{own.url}/"
            with pytest.raises(Exception, match="ERR_EMPTY_RESPONSE|ERR_TUNNEL"):
                session.page.goto(f"{own.url}/leave")
            assert session.look().messages[-1] == "the page could not be reached"
        assert {request["path"] for request in other.requests} == {"/allowed/x"}
        blocked = events(tmp_path)[-1]["blocked"]
        assert {url.removeprefix(other.url) for url in blocked} >= {
            "/hop", "/image", "/worker", "/tab", "/frame", "/stream", "/leave",
        }  # fmt: skip
        assert any("socket" in url for url in blocked)


@pytest.mark.browser
def test_sockets_and_datagrams_reach_nothing_and_are_counted(tmp_path):
    prepare(tmp_path, "", {})
    with leaking.listeners() as (tcp, udp, arrived), site({}) as own:
        worker = leaking.filled("new WebSocket('WS/from-service-worker')", tcp, udp)
        own.pages |= {
            "/": leaking.page(tcp, udp),
            "/worker.js": (200, {"Content-Type": "text/javascript"}, worker),
        }
        with open_session(f"{own.url}/", tmp_path, "", RunSettings("x")) as session:
            host = leaking.ELSEWHERE
            expected = {
                f"http://{host}:{tcp}/{name}" for name in ("fetch", "beacon", "ping", "prefetch",
                "script-prefetch", "popup", "worker", "font.woff2", "frame-refresh")
            } | {
                f"ws://{host}:{tcp}/socket", f"wss://{host}:{tcp}/secure",
                f"ws://{host}:{tcp}/frame-socket", f"ws://socket.leak.test:{tcp}/",
                f"https://{host}:{udp}/transport", f"stun:{host}:{udp}", "stun:stun.leak.test:"
                f"{udp}", f"turn:{host}:{tcp}?transport=tcp", "webrtc:",
            }  # fmt: skip
            until(lambda: expected <= set(session.account.summary({})["blocked"]))
            assert session.driver.tabs[0].url.startswith(own.url)
        assert arrived == []


def test_bodies_that_are_no_forms_and_hostile_ones_cost_nothing():
    assert values_of(b"\xff\xfe", "application/json") == {}
    assert values_of(b"[" * 100_000, "application/json") == {}
    assert values_of(b"a=1\r\nb=x=y\r\n", "text/plain") == {"a": ["1"], "b": ["x=y"]}
    assert values_of(b"--x\r\n\r\n", "multipart/form-data; boundary=x") == {}
    assert values_of(b'[{"a": 1}, {"a": 2}]', "") == {"0.a": ["1"], "1.a": ["2"]}
    assert carries({"food": ["on"]}, {"food": True})
    assert carries({"food": ["veg"]}, {"food": ["veg", "fish"]})
    assert not carries({"food": [""]}, {"food": "", "other": False})


SECRETS = yaml.safe_load(Path(__file__).with_name("secrets.yml").read_text("utf-8"))


def test_secrets_are_hidden_and_nothing_else():
    for text, shown in SECRETS["shown"]:
        assert Secrets(SECRETS["address"])({"at": [text, 5, None]}) == {"at": [shown, 5, None]}


def test_query_without_a_name_and_what_is_no_address_are_hidden_too():
    assert Secrets("http://h/?abc")("http://h/?abc") == "http://h/?***"
    assert Secrets("ada:pw@h/form")("ada:pw@h/form is no address") == "h/form is no address"
    assert Secrets("http://h/form")("http://ada@h/?x=1") == "http://ada@h/?x=1"


@pytest.fixture
def upload(tmp_path):
    folder = tmp_path / "files"
    folder.mkdir()
    (folder / "plan.pdf").write_text("%PDF")
    (tmp_path / "secret.pdf").write_text("secret")
    (folder / "link.pdf").symlink_to(tmp_path / "secret.pdf")
    return folder


@pytest.mark.parametrize(
    "name",
    ["../secret.pdf", "link.pdf", "/etc/passwd", ".", "", "none.pdf", "a\0b", "\ud800", "x" * 9999],
)
def test_only_files_of_the_run_itself_can_be_uploaded(upload, name):
    assert inside(upload, name) is None
