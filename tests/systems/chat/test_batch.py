"""Questions written as a batch, answered elsewhere, and read back into the run."""

import json

import httpx
import polars as pl
import pytest

from formlab import readers
from formlab.readers import gold as own
from tests.systems.chat.made_runs import kept, ran
from tests.systems.scripted_server import serving

HOSTILE = '../<script>"é\u2028\n'
# What the server does to the document with each text; the last two are one question.
STEPS = {
    "plain": '{"total": "9.50"}', "fenced": 'So: ```json\n{"total": 9.50}\n```',
    "cut": "truncated", "declined": "refused", "large": "too_large", "no words": "bad words",
    "same": '{"total": "1"}', "same again": '{"total": "1"}',
}  # fmt: skip
SETTINGS = {"tasks": "", "limit": None, "attempts": 1}


def reply(body):
    return STEPS[body["messages"][1]["content"]]


@pytest.fixture
def corpus():
    texts = [*STEPS, "same"]
    rows = [
        {"doc_id": f"{HOSTILE}{number}", "total": "9.50", "words": text}
        for number, text in enumerate(texts)
    ]
    return own.corpus(rows, columns={"context": "words"})


def requests_of(folder):
    files = sorted(folder.glob("requests-*.jsonl"))
    return [json.loads(line) for file in files for line in file.read_text().splitlines()]


def process(server, folder, *, only=None):
    """Play the server's side: put each request to it and write what it says as results."""
    output, errors = [], []
    for number, request in enumerate(requests_of(folder)[:only]):
        response = httpx.post(f"{server.url}/chat/completions", json=request["body"], timeout=9)
        line = {
            "id": f"batch_req_{number}", "custom_id": request["custom_id"], "error": None,
            "response": {"status_code": response.status_code, "body": response.json()},
        }  # fmt: skip
        (output if response.is_success else errors).append(json.dumps(line) + "\n")
    # Results come in any order, failed ones in a file of their own.
    (folder / "output.jsonl").write_text("".join(reversed(output)))
    (folder / "errors.jsonl").write_text("".join(errors))


def plain(found):
    """The tables without what only a live call has: its time, and words of the client's."""
    failed = found.responses["status"] == "api_error"
    words = pl.when(~failed).then("error").alias("error")
    return found.records, found.responses.drop("seconds").with_columns(words)


def test_the_answers_of_a_batch_are_those_of_live_calls(tmp_path, corpus):
    prices = tmp_path / "p.yaml"
    prices.write_text("{date: 2026-05-01, m: {input: 1, output: 2}}")
    given = SETTINGS | {"corpus": corpus, "prices": str(prices)}
    batch = tmp_path / "batch"
    with serving(then=reply) as server:
        live = ran(server, tmp_path / "live", **given)
        server.calls.clear()
        written = ran(server, tmp_path / "run", batch=str(batch), **given)
        # Writing asks nothing, and is no finished run.
        assert not server.calls
        assert not (tmp_path / "run" / "predictions/manifest.json").exists()
        process(server, batch)
        server.calls.clear()
        found = ran(server, tmp_path / "run", batch_results=str(batch), **given)
        again = ran(server, tmp_path / "run", batch_results=str(batch), **given)
        assert not server.calls
    assert [t.equals(o) for t, o in zip(plain(found), plain(live), strict=True)] == [True, True]
    assert (found.settings, found.system) == (live.settings, live.system)
    statuses = ["ok", "repaired", "truncated", "refused", "api_error", "bad_json"]
    assert sorted(found.responses["status"]) == sorted([*statuses, "ok", "ok", "ok"])
    (failed,) = found.responses.filter(status="api_error")["error"]
    assert "too large" in failed
    # A result is taken once, however often its file is read.
    assert plain(again)[1].equals(plain(found)[1])
    assert kept(tmp_path / "run") == len(STEPS)
    # Two documents with the same question are one request.
    assert written.notes["requests in them"] == len(STEPS) == corpus.documents.height - 1
    assert found.notes["results of the batch"] == len(STEPS)
    assert readers.read_predictions(tmp_path / "run", corpus).records.equals(found.records)


def test_files_keep_to_their_limits(tmp_path, corpus):
    given = SETTINGS | {"corpus": corpus}
    with serving() as server:
        three = ran(server, tmp_path / "a", batch=str(tmp_path / "3"), batch_requests=3, **given)
        lines = [json.dumps(line) for line in requests_of(tmp_path / "3")]
        # Two requests fit into a file, three do not; then none fits.
        size = 2.5 * max(map(len, lines)) / 1e6
        ran(server, tmp_path / "b", batch=str(tmp_path / "2"), batch_megabytes=size, **given)
        none = ran(server, tmp_path / "c", batch=str(tmp_path / "0"), batch_megabytes=1e-4, **given)
        few = ran(server, tmp_path / "d", batch=str(tmp_path / "few"), max_calls=2, **given)
    counts = [len(file.read_text().splitlines()) for file in sorted((tmp_path / "3").iterdir())]
    assert (counts, three.notes["batch files written"]) == ([3, 3, 2], 3)
    for file in (tmp_path / "2").iterdir():
        assert file.stat().st_size <= size * 1e6
    assert len(requests_of(tmp_path / "2")) == len(STEPS)
    assert "too large for a batch" in none.responses["error"][0]
    assert not (tmp_path / "0").exists()
    assert few.notes["requests in them"] == 2


def test_what_failed_goes_into_the_next_batch_in_another_form(tmp_path, corpus):
    def server_takes_no_schema(body):
        return "no_schema" if "response_format" in body else '{"total": "9.50"}'

    given = SETTINGS | {"corpus": corpus}
    with serving(then=server_takes_no_schema) as server:
        for number, form in enumerate(["json_schema", "json_object", None]):
            batch = tmp_path / f"batch {number}"
            ran(server, tmp_path / "run", batch=str(batch), **given)
            lines = requests_of(batch)
            assert len(lines) == len(STEPS)
            forms = {line["body"].get("response_format", {}).get("type") for line in lines}
            assert forms == {form}
            process(server, batch)
            found = ran(server, tmp_path / "run", batch_results=str(batch), **given)
            status = "api_error" if form else "ok"
            assert set(found.responses["status"]) == {status}
            assert not form or "not supported" in found.responses["error"][0]
        # All is answered, and nothing is left for a fourth.
        ran(server, tmp_path / "run", batch=str(tmp_path / "none"), **given)
        assert not requests_of(tmp_path / "none")


def test_results_that_are_none_are_counted_and_what_lacks_them_is_missing(tmp_path, corpus):
    given = SETTINGS | {"corpus": corpus}
    with serving(then=reply) as server:
        ran(server, tmp_path / "run", batch=str(tmp_path / "batch"), **given)
        # The question of two documents is left without a result, as three others are.
        lines = requests_of(tmp_path / "batch")
        names = [r["custom_id"] for r in lines if r["body"]["messages"][1]["content"] != "same"]
        expired = {"code": "batch_expired", "message": "not executed in time"}
        odd = [
            {"custom_id": names[0], "response": None, "error": expired},
            {"custom_id": names[1], "response": {"status_code": 200, "body": {"choices": []}}},
            {"custom_id": names[2], "response": "?", "error": "\x1b[31mwords"},
            {"custom_id": names[3], "response": {"status_code": 200, "body": [[1]]}},
            {"custom_id": "of another run", "response": None},
        ]
        lines = [*map(json.dumps, odd), "{", '"a"', '{"custom_id": 5, "response": {}}',
                 "[" * 100_000, '{"a": ' + "9" * 10_000 + "}"]  # fmt: skip
        (tmp_path / "results.jsonl").write_text("\n".join(lines))
        results = str(tmp_path / "results.jsonl")
        found = ran(server, tmp_path / "run", batch_results=results, **given)
    assert found.notes["results of the batch"] == 5
    assert found.notes["lines that are no result"] == 5
    statuses = found.responses["status"].to_list()
    assert (statuses.count("api_error"), statuses.count("missing")) == (4, 5)
    errors = set(found.responses.filter(status="api_error")["error"])
    assert "batch_expired: not executed in time" in errors
    assert set(found.responses.filter(status="missing")["error"]) == {"not asked: no answer yet"}
