"""A real small model behind a real server: text-only tasks, JSON held to a schema.

It is far too small to read a form. What is tested is the way there and back: the schema that its
server takes, a run killed and gone on with, and every answer counted.
"""

import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest

from formlab import analysis, benchmarks, charts, systems

PYTHON = os.environ.get("FORMLAB_LLM_PYTHON")
MODEL = "gemma-3-270m"
FORMS = 2
# Few tokens: what is asked for is the shape of an answer.
SETTINGS = {
    "pages": "text", "boxes": "none", "tasks": "vqa,consistency", "max_tokens": 160,
    "concurrency": 1, "timeout": 1200.0, "attempts": 2,
}  # fmt: skip
STAND_ALONE = """
import json, sys
from formlab import benchmarks, systems
settings = json.loads(sys.argv[3])
corpus, model = benchmarks.load("formcraft"), systems.get("chat:gemma-3-270m")
systems.run(corpus, model, out=sys.argv[1], limit=int(sys.argv[2]), settings=settings)
"""

pytestmark = pytest.mark.skipif(not PYTHON, reason="a real model: make test-llm runs it")


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """The address of the server, and a function that counts the answers it has given."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    folder = tmp_path_factory.mktemp("server")
    log = folder / "log"
    cache = Path(os.environ.get("FORMLAB_LLM_MODELS", folder)) / f"{MODEL}.gguf"
    program = Path(__file__).with_name("server.py")
    with log.open("w") as lines:
        process = subprocess.Popen(
            [PYTHON, program, cache, str(port)], stdout=lines, stderr=subprocess.STDOUT
        )
    try:
        url = f"http://127.0.0.1:{port}/v1"
        _wait(process, url, log)
        yield url, lambda: log.read_text().count('/v1/chat/completions HTTP/1.1" 200')
    finally:
        process.kill()
        process.wait()


def _wait(process, url, log):
    end = time.monotonic() + 300
    while time.monotonic() < end:
        if process.poll() is not None:
            pytest.fail(f"the server did not start:\n{log.read_text()[-2000:]}")
        try:
            with urllib.request.urlopen(f"{url}/models", timeout=5) as answer:
                assert json.load(answer)["data"][0]["id"] == MODEL
                return
        except OSError:
            time.sleep(0.5)
    pytest.fail("the server did not answer within five minutes")


@pytest.fixture(scope="module")
def run(server, tmp_path_factory):
    """A run that was killed in the middle, read as it lay, and gone on with."""
    url, answered = server
    out = tmp_path_factory.mktemp("run")
    settings = SETTINGS | {"base_url": url}
    killed = subprocess.Popen(
        [sys.executable, "-c", STAND_ALONE, str(out), str(FORMS), json.dumps(settings)]
    )
    end = time.monotonic() + 3600
    while answered() < 2 and killed.poll() is None and time.monotonic() < end:
        time.sleep(0.2)
    killed.send_signal(signal.SIGKILL)
    killed.wait()
    corpus, model = benchmarks.load("formcraft"), systems.get(f"chat:{MODEL}")
    # Asked nothing, the model gives what the killed run had.
    asked_nothing = settings | {"max_calls": 0}
    partial = systems.run(corpus, model, out=out, limit=FORMS, settings=asked_nothing)
    before = answered()
    whole = systems.run(corpus, model, out=out, limit=FORMS, settings=settings)
    return corpus, partial, before, whole, answered()


def test_the_answers_of_a_killed_run_count_and_no_answered_call_is_made_again(run):
    _, partial, before, whole, after = run
    total = whole.responses.height
    kept = partial.responses.filter(partial.responses["status"] != "missing").height
    assert 0 < kept < total
    # The call in flight when it was killed may be answered to nobody, and is made again.
    assert total <= after <= total + 1
    assert after - before <= total - kept


def test_a_server_that_knows_schemas_gives_whole_json_unless_it_is_cut_short(run, capsys):
    corpus, _, _, whole, _ = run
    statuses = whole.responses["status"].to_list()
    assert set(statuses) <= {"ok", "bad_json", "truncated"}
    for text, status in whole.responses.select("text", "status").rows():
        if status != "truncated":
            assert isinstance(json.loads(text)["answers"], list)
    evaluation = analysis.evaluate(corpus, whole)
    counts = analysis.answers([evaluation])
    assert counts["answers"].sum() == len(statuses)
    asked = whole.responses
    with capsys.disabled():
        print(f"\n{MODEL}, {FORMS} forms, {asked.height} calls:")
        print(charts.table(counts))
        print(asked.select("tokens_in", "tokens_out", "seconds").sum())
        summary = analysis.summarise(evaluation, by=(), resamples=0)
        print(summary.filter(summary["slice_by"].is_null()).select("metric", "value", "n_cases"))
