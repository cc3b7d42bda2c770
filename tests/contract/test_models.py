"""Models behind an endpoint: what is asked, what is paid for, what is kept, and how it ends."""

import json
import subprocess
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from math import exp
from pathlib import Path
from threading import Event, Thread

import polars as pl
import pytest

import formlab
from tests import executed
from tests.contract.doors import FIRST, SCORE, WORDS, cli, json_folder, long_table, rows, value

RUN = "run truth.csv --images . --system chat:m --out run --set concurrency=1"
KEY = "sk-nobody-may-read-this-0123456789"
ADA = FIRST["form-1"]
FOUR = {f"form-{number}": ADA for number in range(1, 5)}


def completion(form=ADA, finish="stop", logprobs=None, **message):
    """What a server answers: 1,000 tokens went in, 100 came out."""
    message = {"role": "assistant", "content": json.dumps(form)} | message
    choice = {"index": 0, "message": message, "finish_reason": finish, "logprobs": logprobs}
    usage = {"prompt_tokens": 1000, "completion_tokens": 100, "total_tokens": 1100}
    return {"id": "c", "object": "chat.completion", "choices": [choice], "usage": usage}


class Model(BaseHTTPRequestHandler):
    """Gives its server's replies one by one, the last one again and again, KEY as the key it got.

    `status`, `headers`, `wait` (seconds before) and `drip` (after each byte) say how one is sent.
    """

    def do_POST(self):
        server, key = self.server, self.headers["Authorization"]
        call = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        server.calls.append(call | {"at": time.monotonic(), "key": key})
        reply = server.replies.pop(0) if len(server.replies) > 1 else server.replies[0]
        if "wait" in reply:
            server.waits.set()
            server.closing.wait(reply["wait"])
        self.send_response(reply.get("status", 200))
        for header in reply.get("headers", {}).items():
            self.send_header(*header)
        self.end_headers()
        for byte in json.dumps(reply).replace("KEY", key).encode():
            self.wfile.write(bytes([byte]))
            server.closing.wait(reply.get("drip", 0))


@pytest.fixture
def server(tmp_path, monkeypatch):
    """A server to ask, and a folder with the truth and the texts of four documents."""
    monkeypatch.chdir(tmp_path)
    long_table(FOUR).write_csv("truth.csv")
    for name in FOUR:
        Path(f"{name}.txt").write_text(f"page {name}")
    with ThreadingHTTPServer(("127.0.0.1", 0), Model) as server:
        server.replies, server.calls = [completion()], []
        server.waits, server.closing = Event(), Event()
        monkeypatch.setenv("OPENAI_API_KEY", KEY)
        server.run = [*RUN.split(), "--base-url", f"http://127.0.0.1:{server.server_port}/v1"]
        Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        yield server
        server.closing.set()
        server.shutdown()


def statuses(out="run"):
    return pl.read_parquet(f"{out}/predictions/responses").sort("doc_id")["status"].to_list()


def test_m01_an_answer_survives_kill_9_and_is_never_paid_for_twice(server):
    server.replies = [completion(), completion() | {"wait": 60}, completion()]
    with subprocess.Popen([Path(sys.executable).with_name("formlab"), *server.run]) as killed:
        assert server.waits.wait(60)
        killed.kill()
    # One answer had come, one was on its way: that one is asked for again, and two more.
    for _ in range(2):
        cli(*server.run)
        assert len(server.calls) == 2 + 3
    assert value(rows(*SCORE, "run"), "match_f1") == 1


def test_m02_bad_answers_have_a_status_and_are_asked_again_on_demand_only(server):
    bad = completion(content="No JSON today."), completion(content=None, refusal="I will not.")
    server.replies = [*bad, completion(content='{"name": "Ad', finish="length"), completion()]
    for _ in range(2):
        cli(*server.run)
        assert len(server.calls) == 4
        assert statuses() == ["bad_json", "refused", "truncated", "ok"]
    cli(*server.run, *WORDS["ask again after bad answers"])
    assert (len(server.calls), statuses()) == (7, ["ok"] * 4)


def test_m03_a_limit_of_calls_stops_a_run_and_the_next_goes_on(server):
    for total in (2, 4):
        cli(*server.run, "--set", "max_calls=2")
        found = (len(server.calls), statuses())
        assert found == (total, ["ok"] * total + ["missing"] * (4 - total))


def test_m04_no_call_begins_that_could_cost_more_than_is_left(server):
    # 100 tokens out, the most that is asked for, cost 1; those that go in are free.
    Path("prices.csv").write_text("model,input,output\nm,0,10000\n")
    limits = ("--set", "max_tokens=100", "--max-cost", "2.5", "--set", "prices=prices.csv")
    cli(*server.run, *limits, "--set", "concurrency=4")
    assert (len(server.calls), statuses().count("ok")) == (2, 2)
    _, error = cli(*server.run, *limits, "--system", "chat:free", "--out", "free", code=2)
    assert (len(server.calls), "'free'" in error) == (2, True)


def test_m05_a_key_that_a_server_says_back_is_in_no_file_and_no_output(server):
    server.replies = [completion(ADA | {"name": "KEY"}), {"status": 400, "error": "KEY"}]
    texts = [*cli(*server.run), *cli(*SCORE, "run", "--out", "evals/m")]
    assert (server.calls[0]["key"], statuses()[:2]) == (f"Bearer {KEY}", ["ok", "api_error"])
    texts += executed.run(("report", "65_own_forms", "--eval", "evals/m", *WORDS["no figures"]))
    files = {file: file.read_bytes() for file in Path().rglob("*") if file.is_file()}
    assert {".sqlite", ".parquet", ".html"} <= {file.suffix for file in files}
    assert not [file for file, content in files.items() if KEY.encode() in content]
    assert KEY not in "".join(texts)


def test_m06_a_folder_of_other_settings_is_refused_with_what_differs_and_nothing_else(server):
    cli(*server.run)
    _, error = cli(*server.run, "--set", "temperature=0.7", code=2)
    assert len(server.calls) == 4
    (line,) = (line for line in error.splitlines() if line.startswith("error: "))
    assert {"temperature", "0.7"} <= set(line.replace(",", " ").split())
    assert not any(name in line for name in ("max_tokens", "max_pages", "samples", "boxes"))


def test_m07_answers_of_a_batch_are_the_records_of_live_calls(server):
    batch = [*WORDS["in batches"], *server.run, "--system", "batch", "--set", "model=m"]
    cli(*batch, "--name", "m")
    requests = [json.loads(line) for line in Path("batch/requests.jsonl").read_text().splitlines()]
    answer = {"status_code": 200, "body": completion()}
    results = [{"custom_id": request["custom_id"], "response": answer} for request in requests]
    Path("batch/results.jsonl").write_text("\n".join(map(json.dumps, results)))
    cli(*batch, "--name", "m")
    assert server.calls == []
    cli(*server.run, "--name", "m", "--out", "live")
    sent = [str(call["messages"]) for call in server.calls]
    assert sorted(sent) == sorted(str(request["body"]["messages"]) for request in requests)
    batch, live = (pl.read_parquet(f"{out}/predictions/records") for out in ("run", "live"))
    assert batch["value"].to_list() == [*ADA.values()] * 4
    assert batch.equals(live)


def test_m08_confidences_are_products_of_tokens_and_shares_of_samples(server):
    pieces = {'{"name": "': -9, "Ada": -0.5, " Berg": -0.25, '", "total": "': -9, "88.20": -0.125}
    tokens = [{"token": text, "logprob": chance} for text, chance in [*pieces.items(), ('"}', -9)]]
    server.replies = [completion(content="".join(pieces) + '"}', logprobs={"content": tokens})]
    cli(*server.run, *WORDS["log-probabilities"], *WORDS["the first documents"], 1)
    # The first answer counts: its name is in two of three, its date in all, its total in one.
    changes = {"total": "9"}, {}, {"name": "A. Berg"}
    server.replies = [completion(ADA | change) for change in changes]
    samples = ["--set", "samples=3", "--set", "temperature=0.7"]
    cli(*server.run, *samples, *WORDS["the first documents"], 1, "--out", "votes")
    tables = (pl.read_parquet(f"{out}/predictions/records") for out in ("run", "votes"))
    sure, votes = (dict(t.drop_nulls("value")[["path", "confidence"]].iter_rows()) for t in tables)
    assert sure == pytest.approx({"/name": exp(-0.5 - 0.25), "/total": exp(-0.125)})
    assert votes == pytest.approx({"/name": 2 / 3, "/date": 1, "/total": 1 / 3})


def test_m09_a_server_that_misbehaves_ends_in_time_and_leads_to_no_other_host(server):
    elsewhere = f"http://localhost:{server.server_port}/v1/chat/completions"
    away = {"status": 307, "headers": {"Location": elsewhere}}
    server.replies = [completion() | {"wait": 9}, completion() | {"drip": 0.05}, away, completion()]
    start = time.monotonic()
    cli(*server.run, "--set", "timeout=1", "--set", "attempts=1")
    assert time.monotonic() - start < 9
    assert (len(server.calls), statuses()) == (4, ["api_error"] * 3 + ["ok"])
    server.replies = [{"status": 429, "headers": {"Retry-After": "1"}}, completion()]
    cli(*server.run, *WORDS["the first documents"], 1, "--out", "busy")
    *_, first, second = (call["at"] for call in server.calls)
    assert (second - first >= 1, statuses("busy")) == (True, ["ok"])


def test_v01_a_draft_is_kept_only_where_its_label_stands(server):
    for name, label in (("a", "Name"), ("b", "Total")):
        words = [{"text": text, "box": [0, 0, 9, 9]} for text in (label, "Ada")]
        form = [word | {"label": "answer", "linking": [], "words": [word]} for word in words]
        json_folder(Path("marks"), {name: {"form": form}})
    field = {"label": "Name", "value": "Ada", "modality": "textual"}
    field |= {"modality_subtype": "handwritten"}
    server.replies = [completion({"fields": [field], "groups": []})]
    (row,) = rows(*f"formcraft convert marks --model m --base-url {server.run[-1]} --out o".split())
    assert [row[k] for k in ("forms", "items", "rejected", "failed")] == [2, 2, 1, 0]
    assert formlab.load("formcraft", root="o").documents["doc_id"].to_list() == ["a", "b"]
