"""Calls by the workers of a cluster: the same answers, and limits that hold over all of them."""

import dataclasses
import json
import signal
import threading
import time
from contextlib import nullcontext

import pytest

from formlab import benchmarks
from formlab.errors import NotAvailable
from formlab.systems import chat
from formlab.systems.chat import _away, model
from formlab.systems.chat.images import PageImage, pages
from tests.cluster import cluster
from tests.states import LONG
from tests.systems.chat.made_runs import FORM, kept, ran
from tests.systems.scripted_server import serving


@pytest.fixture(scope="module")
def corpus():
    return benchmarks.load("formcraft")


def by_page(body):
    """Another answer for other pages, whoever sends them."""
    parts = body["messages"][-1]["content"]
    urls = [part["image_url"]["url"] for part in parts if "image_url" in part]
    assert all(url.startswith("data:image/") for url in urls)
    return json.dumps({"fields": [{"label": "Size", "value": str(len("".join(urls)))}]})


def away(server, out, scheduler, corpus, **settings):
    chosen = {"base_url": server.url, "tasks": "extraction", "attempts": 3} | settings
    return chat.system("chat:m").run(corpus, out=out, settings=chosen, scheduler=scheduler)


@pytest.mark.complete
def test_a_cluster_gives_the_same_answers_within_the_same_limits(tmp_path, corpus):
    with cluster(tmp_path, 2) as (scheduler, workers), serving(then=by_page, delay=0.05) as server:
        here = ran(server, tmp_path / "here", corpus=corpus, limit=None)
        bodies = [call["body"] for call in server.calls]
        server.calls.clear()
        # Of five calls the first is refused and asked again later, as the server wants it.
        server.script, server.most = ["busy"], 0
        settings = {"max_calls": 5, "concurrency": 3}
        few = away(server, tmp_path / "run", scheduler, corpus, **settings)
        assert (len(server.calls), kept(tmp_path / "run")) == (5, 4)
        assert server.most <= 3
        assert all(call["body"] in bodies for call in server.calls)
        assert few.notes["not asked: max_calls=5 reached"] == corpus.documents.height - 4
        # A worker dies with its calls, which the other one makes again; what was answered before
        # is in the store of this process.
        server.calls.clear()
        server.delay = 0.15
        threading.Thread(target=_kill, args=(server, workers[0]), daemon=True).start()
        whole = away(server, tmp_path / "run", scheduler, corpus, max_calls=20)
        assert workers[0].wait(LONG) == -signal.SIGKILL
        assert corpus.documents.height - 4 <= len(server.calls) <= 20
    assert whole.records.drop("origin").equals(here.records.drop("origin"))


def _kill(server, worker):
    while len(server.calls) < 3:
        time.sleep(0.01)
    worker.send_signal(signal.SIGKILL)


def sent(call, url, body, timeout=LONG):
    """The response to a request by a client whose workers are this process."""
    with _away.httpx.Client(transport=_away.Away(call), timeout=timeout) as client:
        return client.post(f"{url}/chat/completions", json=body, headers={"authorization": "mine"})


def direct(function, *arguments):
    return function(*arguments)


def test_a_page_that_cannot_be_read_is_missing_wherever_it_is_sent_from(
    corpus, tmp_path, monkeypatch
):
    monkeypatch.setattr(model, "calling", lambda _: nullcontext(direct))
    few = dataclasses.replace(corpus, documents=corpus.documents.head(2), root=tmp_path)
    for name in few.documents["image"]:
        data = (corpus.root / name).read_bytes()
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(data if name == few.documents["image"][0] else data[:-5000])
    # A size that is not the page's own, so that the picture is opened before it is sent.
    settings = {"image_limit": 300, "attempts": 1}
    with serving(then=FORM) as server:
        there = away(server, tmp_path / "there", "a scheduler", few, **settings)
        assert len(server.calls) == 1
        here = ran(server, tmp_path / "here", corpus=few, limit=None, **settings)
    assert there.responses["status"].to_list() == here.responses["status"].to_list()
    assert here.responses["status"].to_list() == ["ok", "missing"]


def test_a_package_that_a_worker_lacks_ends_the_run(corpus, tmp_path, monkeypatch):
    def lacking(*_):
        raise NotAvailable("worker tcp://host lacks a package: openai")

    monkeypatch.setattr(model, "calling", lambda _: nullcontext(lacking))
    with serving() as server, pytest.raises(NotAvailable, match="lacks a package"):
        away(server, tmp_path, "a scheduler", corpus)


def message(url):
    return {"messages": [{"role": "user", "content": [{"image_url": {"url": url}}]}]}


def test_a_worker_uses_its_own_key_and_hands_back_none(monkeypatch):
    key = "sk-the-key-of-this-worker-alone"
    monkeypatch.setenv("OPENAI_API_KEY", key)
    with serving("says_the_key_in_an_error") as server:
        response = sent(direct, server.url, {"messages": []})
        assert server.calls[0]["key"] == f"Bearer {key}"
    assert (response.status_code, key in response.text) == (400, False)


def test_a_page_that_a_worker_does_not_see_is_sent_whole(corpus, tmp_path):
    (page,) = pages([corpus.root / corpus.documents["image"][0]], limit=2048)
    bodies = []

    def elsewhere(function, url, headers, body, timeout):
        bodies.append(json.loads(body))
        if len(bodies) == 1:
            return "unseen", "no such page"
        return function(url, headers, body, timeout)

    with serving(then=FORM) as server:
        assert sent(elsewhere, server.url, message(page.reference())).status_code == 200
        assert server.calls[0]["body"] == bodies[1] == message(page.url())
    assert PageImage.referred(page.reference()) == page
    other = page.reference().replace(page.sha256, "0" * 64)
    assert _away.post("http://127.0.0.1:1", [], json.dumps(message(other)).encode(), {})[0] == (
        "unseen"
    )


@pytest.mark.parametrize(
    ("step", "wait", "error"),
    [("slow", 0.3, "ReadTimeout"), ("none", 5, "ConnectError")],
)
def test_what_a_worker_meets_is_met_here(step, wait, error):
    with serving(step) as server:
        url = "http://127.0.0.1:1" if step == "none" else server.url
        with pytest.raises(_away.httpx.RequestError) as caught:
            sent(direct, url, {"messages": []}, timeout=wait)
        assert type(caught.value).__name__ == error
