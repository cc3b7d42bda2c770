import json
import math
import os
import signal
import sqlite3
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import polars as pl
import pytest

from formlab import analysis, benchmarks, tables
from formlab.errors import DataBroken, NotAvailable, UnknownName
from formlab.systems import chat
from formlab.systems.judge import ask, judge_call
from tests.systems.scripted_server import HOSTILE, HUGE, serving

SAMPLES = benchmarks.SAMPLES
SERVER = Path(__file__).with_name("scripted_server.py")
KEY = "sk-a-secret-of-forty-characters-in-all-0"
FORM = '{"fields": [{"label": "Name", "value": "Ada", "page": 1, "box": [0, 0, 500, 1000]}]}'
# Quick waits: what is tested is that they are kept, not how long they are.
QUICK = {"attempts": 3, "timeout": 2.0, "tasks": "extraction"}


@pytest.fixture(autouse=True)
def no_key(monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    monkeypatch.setenv("FORMLAB_REPORT", "1")


def ran(server, out, *, name="formcraft", limit=1, **settings):
    corpus = benchmarks.load(name)
    given = QUICK | {"base_url": server.url} | settings
    return chat.system("chat:m").run(corpus, out=out, limit=limit, settings=given)


def only_status(predictions):
    assert predictions.responses.height == 1
    return predictions.responses["status"][0]


@pytest.mark.parametrize(
    ("step", "status", "calls"),
    [
        (FORM, "ok", 1),
        (f"Here it is:\n```json\n{FORM}\n```", "repaired", 1),
        ("There is a name on it.", "bad_json", 1),
        ('{"answer": 5}', "bad_json", 1),  # Valid JSON that is no form.
        ("I'm sorry, but I can't help with that.", "refused", 1),
        ("refused", "refused", 1),
        ("filtered", "refused", 1),
        ("truncated", "truncated", 1),
        ("too_large", "api_error", 1),  # Asking the same again would not help.
        ("busy_for_hours", "api_error", 1),
    ],
)
def test_every_answer_has_its_status(tmp_path, step, status, calls):
    with serving(then=step) as server:
        found = ran(server, tmp_path)
        assert (only_status(found), len(server.calls)) == (status, calls)
    whole = found.records.filter(pl.col("path").is_null())
    assert whole["status"].to_list() == [status]


@pytest.mark.parametrize(
    "step", ["busy", "broken", "slow", "cut", "hang_up", "not_json", "empty", "busy_until"]
)
def test_what_passes_is_asked_again(tmp_path, step):
    with serving(step, then=FORM) as server:
        found = ran(server, tmp_path)
        assert only_status(found) == "ok"
        assert (len(server.calls), found.responses["attempts"].to_list()) == (2, [2])
        waited = server.calls[1]["at"] - server.calls[0]["at"]
        # Retry-After says 1 s; as a date, which has whole seconds, at least that much.
        assert waited >= (1.0 if step.startswith("busy") else 0.2)


def test_a_server_that_stays_broken_is_an_error_of_the_api_and_asked_again_by_the_next_run(
    tmp_path,
):
    with serving("broken", "broken", "broken", then=FORM) as server:
        first = ran(server, tmp_path)
        assert only_status(first) == "api_error"
        assert "it broke" in first.responses["error"][0]
        assert "after 3 attempts" in first.responses["error"][0]
        assert only_status(ran(server, tmp_path)) == "ok"
        assert len(server.calls) == 4


def test_a_rerun_asks_nothing_twice(tmp_path):
    with serving(then=FORM) as server:
        first = ran(server, tmp_path, limit=5)
        assert len(server.calls) == 5
        again = ran(server, tmp_path, limit=5)
        assert len(server.calls) == 5
    assert first.records.equals(again.records)
    assert first.responses.equals(again.responses)


def test_bad_answers_are_kept_and_asked_again_on_demand_only(tmp_path):
    with serving("no form here", "truncated", "refused", then=FORM) as server:
        before = ran(server, tmp_path, limit=4, concurrency=1)
        assert sorted(before.responses["status"]) == ["bad_json", "ok", "refused", "truncated"]
        ran(server, tmp_path, limit=4)
        assert len(server.calls) == 4
        after = ran(server, tmp_path, limit=4, retry="bad")
        assert set(after.responses["status"]) == {"ok"}
        assert len(server.calls) == 7
    with chat.Store(tmp_path / "answers.sqlite") as store:
        assert store.count() == 7


def test_what_shapes_an_answer_makes_it_another_question(tmp_path):
    store = {"store": str(tmp_path / "shared.sqlite")}
    with serving(then=FORM) as server:
        for number, more in enumerate(
            [{}, {"temperature": 1.0}, {"image_limit": 100}, {"boxes": "none"}]
        ):
            ran(server, tmp_path / str(number), **store, **more)
            assert len(server.calls) == number + 1
        # How answers are got does not.
        ran(server, tmp_path / "other", **store, concurrency=2)
        assert len(server.calls) == 4


def test_a_folder_of_another_run_is_refused(tmp_path):
    with serving(then=FORM) as server:
        ran(server, tmp_path)
        with pytest.raises(DataBroken, match="another run"):
            ran(server, tmp_path, temperature=1.0)


def test_a_schema_that_the_server_does_not_take_is_asked_for_in_the_prompt(tmp_path):
    with serving(then="no_schema") as server:
        found = ran(server, tmp_path, limit=3, concurrency=1)
        assert set(found.responses["status"]) == {"ok"}
        # Two calls find out, three are answered.
        assert len(server.calls) == 5
        assert "response_format" not in server.calls[-1]["body"]
        assert '"modality_subtype"' in server.calls[-1]["body"]["messages"][0]["content"]
        ran(server, tmp_path, limit=3)
        assert len(server.calls) == 5


def test_a_schema_is_put_as_servers_over_llama_cpp_take_it(tmp_path):
    with serving(then="only_object") as server:
        found = ran(server, tmp_path, limit=3, concurrency=1)
        # Their refusal is an error 500, which is not tried again.
        assert len(server.calls) == 4
        asked = server.calls[-1]["body"]["response_format"]
    assert set(found.responses["status"]) == {"ok"}
    assert (asked["type"], asked["schema"]["type"]) == ("json_object", "object")


def test_images_that_a_server_does_not_take_are_an_error_with_its_reason(tmp_path):
    with serving(then="no_images") as server:
        found = ran(server, tmp_path)
    assert only_status(found) == "api_error"
    assert "no images" in found.responses["error"][0]


def test_max_calls_stops_and_the_next_run_goes_on(tmp_path):
    with serving(then=FORM) as server:
        part = ran(server, tmp_path, limit=4, max_calls=3)
        assert len(server.calls) == 3
        assert sorted(part.responses["status"]) == ["missing", "ok", "ok", "ok"]
        assert part.notes["not asked: max_calls=3 reached"] == 1
        ran(server, tmp_path, limit=4)
        assert len(server.calls) == 4
        # Nothing is asked, and everything is there.
        assert set(ran(server, tmp_path, limit=4, max_calls=0).responses["status"]) == {"ok"}


def test_max_cost_stops_before_the_limit_is_passed(tmp_path):
    prices = tmp_path / "prices.csv"
    prices.write_text("model,input,output\nm,10000,0\n")
    # 100 tokens in at 10,000 dollars a million are 1 dollar a call.
    with serving(then=FORM) as server:
        found = ran(
            server, tmp_path / "run", limit=5, max_cost=3.5, prices=str(prices), concurrency=1
        )
        assert len(server.calls) == 3
    assert found.responses["cost"].sum() == 3.0


def test_max_cost_without_a_price_is_an_error(tmp_path):
    with serving() as server, pytest.raises(NotAvailable, match="has none"):
        ran(server, tmp_path, max_cost=1.0)


def test_cost_of_a_model_without_price_is_unknown_not_zero(tmp_path):
    with serving(then=FORM) as server:
        found = ran(server, tmp_path).responses
    assert found.select("tokens_in", "tokens_out", "cost").rows() == [(100, 20, None)]


def test_a_refused_key_stops_the_run_at_once(tmp_path, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with serving(then="wrong_key") as server:
        with pytest.raises(NotAvailable, match="refuses every call") as error:
            ran(server, tmp_path, limit=16)
        assert len(server.calls) <= 4
    assert KEY not in str(error.value)


@pytest.mark.parametrize("step", ["says_the_key", "says_the_key_in_an_error", FORM])
def test_the_key_reaches_no_file_and_no_log(tmp_path, monkeypatch, caplog, capfd, step):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with serving(then=step) as server, caplog.at_level(0):
        found = ran(server, tmp_path)
        assert server.calls[0]["key"] == f"Bearer {KEY}"
    text = caplog.text + "".join(capfd.readouterr()) + str(found.settings)
    assert KEY not in text
    written = [file for file in tmp_path.rglob("*") if file.is_file()]
    assert len(written) >= 4
    for file in written:
        assert KEY.encode() not in file.read_bytes(), file.name
    assert KEY not in str(found.records.to_dicts()) + str(found.responses.to_dicts())


@pytest.mark.parametrize("url", [f"http://ada:{KEY}@127.0.0.1/v1", f"http://127.0.0.1/v1?k={KEY}"])
def test_an_address_with_a_key_in_it_is_refused_without_saying_it(tmp_path, caplog, url):
    with serving() as server, pytest.raises(DataBroken, match="password or a query") as error:
        ran(server, tmp_path, base_url=url)
    assert KEY not in str(error.value) + caplog.text
    assert not list(tmp_path.iterdir())


def test_a_huge_answer_and_a_hostile_one_are_kept_as_text(tmp_path):
    with serving("huge", "hostile") as server:
        found = ran(server, tmp_path, limit=2, concurrency=1)
    values = found.records.filter(pl.col("path").is_not_null())["value"].to_list()
    assert len(values[0]) == HUGE
    # Half a surrogate pair is kept as its escape; everything else as it came.
    assert values[1] == HOSTILE.replace("\ud800", "\\ud800")
    assert tables.Predictions.load(tmp_path).records.equals(found.records)


def test_boxes_are_taken_back_to_the_page(tmp_path):
    with serving(then=FORM) as server:
        found = ran(server, tmp_path, image_limit=100)
        page = benchmarks.load("formcraft").documents.row(0, named=True)
        kept = json.loads(
            sqlite3.connect(tmp_path / "answers.sqlite")
            .execute("SELECT images FROM answers").fetchone()[0]
        )  # fmt: skip
    row = found.records.filter(path="/Name").row(0, named=True)
    # 500 and 1000 thousandths of a page of 680 × 740, whatever was sent.
    assert [row[side] for side in tables.BOX] == [0, 0, page["width"] / 2, page["height"]]
    assert (kept[0]["size"], kept[0]["sent"]) == ([680.0, 740.0], [92, 100])


def test_concurrency_grows_while_the_server_answers_and_never_beyond_the_most(tmp_path):
    with serving(then=FORM, delay=0.1) as server:
        ran(server, tmp_path, limit=16, concurrency=6)
        assert 4 < server.most <= 6


def test_calls_that_failed_together_halve_the_limit_once():
    limits = chat.Limits(16)
    for _ in range(12):
        with limits.call() as since:
            limits.answered()
    assert limits.at_once == 16
    limits.overrun(since)
    limits.overrun(since)
    assert limits.at_once == 8


STAND_ALONE = """
import sys
from formlab import benchmarks
from formlab.systems import chat
corpus = benchmarks.load("formcraft")
settings = {"base_url": sys.argv[1], "concurrency": 2, "tasks": "extraction"}
settings["store"] = sys.argv[3] if len(sys.argv) > 3 else ""
chat.system("chat:m").run(corpus, out=sys.argv[2], settings=settings)
"""


def stand_alone(url, *paths):
    arguments = [sys.executable, "-c", STAND_ALONE, url, *map(str, paths)]
    return subprocess.Popen(arguments, env=os.environ | {"FORMLAB_REPORT": "1"})


def test_after_kill_9_no_answered_call_is_made_again(tmp_path):
    total = benchmarks.load("formcraft").documents.height
    with serving(then=FORM, delay=0.2) as server:
        killed = stand_alone(server.url, tmp_path)
        end = time.monotonic() + 60
        while len(server.calls) < 6 and time.monotonic() < end:
            time.sleep(0.02)
        killed.send_signal(signal.SIGKILL)
        killed.wait()
        time.sleep(0.3)
        before = len(server.calls)
        kept = sqlite3.connect(tmp_path / "answers.sqlite").execute(
            "SELECT count(*) FROM answers"
        ).fetchone()[0]  # fmt: skip
        # Two may be in flight when it dies, and only those are lost.
        assert kept > 0
        assert before - kept <= 2
        found = ran(server, tmp_path, limit=None, concurrency=2, timeout=120.0, attempts=6)
        assert len(server.calls) == before + total - kept
    assert set(found.responses["status"]) == {"ok"}


def test_two_processes_share_a_store_and_ask_everything_once(tmp_path):
    total = benchmarks.load("formcraft").documents.height
    store = tmp_path / "shared.sqlite"
    with serving(then=FORM, delay=0.1) as server:
        both = [stand_alone(server.url, tmp_path / name, store) for name in ("a", "b")]
        assert [process.wait(60) for process in both] == [0, 0]
        assert len(server.calls) == total
    one, two = (tables.Predictions.load(tmp_path / name) for name in ("a", "b"))
    assert one.responses.equals(two.responses)


CLAIMING = """
import sys, time
from formlab.systems import chat
with chat.Store(sys.argv[1]).claim("k", stopped=lambda: None):
    print("claimed", flush=True)
    time.sleep(60)
"""


def test_a_claim_keeps_others_waiting_and_dies_with_its_process(tmp_path):
    file = tmp_path / "s.sqlite"
    with (
        chat.Store(file) as store,
        subprocess.Popen(
            [sys.executable, "-c", CLAIMING, str(file)], stdout=subprocess.PIPE
        ) as other,
    ):
        other.stdout.readline()
        with pytest.raises(chat.Stopped), store.claim("k", stopped=lambda: "the run ended"):
            pass
        other.kill()
        other.wait()
        with store.claim("k", stopped=lambda: None):
            pass
    assert [path.name for path in tmp_path.glob("*.lock")] == []


def test_answers_put_by_many_threads_at_once_are_all_kept(tmp_path):
    with chat.Store(tmp_path / "s.sqlite") as store:
        with ThreadPoolExecutor(16) as pool:
            list(pool.map(lambda n: store.put(chat.Answer(str(n % 50), text=str(n))), range(200)))
        assert store.count() == 200
        assert all(store.get([str(n)]) is not None for n in range(50))


def test_an_answer_that_could_not_be_written_does_not_count(tmp_path):
    with chat.Store(tmp_path / "s.sqlite") as store:
        base = sqlite3.connect(tmp_path / "s.sqlite")
        base.execute("DROP TABLE answers")
        base.close()
        with pytest.raises(sqlite3.OperationalError):
            store.put(chat.Answer("k", text="5"))


def test_a_file_that_is_no_store_is_an_error(tmp_path):
    (tmp_path / "x").write_text("not a database, but long enough to be taken for one" * 100)
    with pytest.raises(DataBroken, match="not a store"):
        chat.Store(tmp_path / "x")


def test_a_document_without_its_image_is_missing_and_not_asked(tmp_path):
    corpus = benchmarks.load("formcraft")
    gone = corpus.documents.with_columns(
        image=pl.lit(None, pl.String), meta=pl.lit(None, pl.String)
    )
    with serving(then=FORM) as server:
        found = chat.system("chat:m").run(
            tables.Corpus(gone.head(1), corpus.records, "formcraft", "test", corpus.root),
            out=tmp_path, settings=QUICK | {"base_url": server.url},
        )  # fmt: skip
        assert (only_status(found), len(server.calls)) == ("missing", 0)


def test_questions_and_checks_are_answered_by_their_ids(tmp_path):
    def reply(body):
        asked = json.loads(body["messages"][1]["content"][0]["text"])
        (items,) = asked.values()
        answers = [
            {"id": i["id"], "answer": "yes", "confidence": 0.5, "reason": "so"} for i in items
        ]
        return json.dumps({"answers": [*answers, {"id": "made up", "answer": "no"}]})

    corpus = benchmarks.load("formcraft")
    wanted = corpus.records.filter(pl.col("task").is_in(["vqa", "consistency"]))
    with serving(then=reply) as server:
        found = ran(server, tmp_path, limit=None, tasks="vqa,consistency").records
    assert sorted(found["path"]) == sorted(wanted["path"])
    assert set(found["confidence"]) == {0.5}


def test_gold_answers_are_never_shown_to_the_model():
    corpus = benchmarks.load("formcraft")
    prompts = {t.name: (t, "p") for t in chat.tasks_of("formcraft")}
    shown = [json.dumps(q.ask.asked) for q in chat.questions(corpus, prompts)]
    assert any('"question"' in text for text in shown)
    for word in ("rationale", "derivation", "expected", "value"):
        assert not any(f'"{word}"' in text for text in shown), word


def test_entities_of_vrdu_stand_where_the_gold_has_them(tmp_path):
    def reply(body):
        asked = json.loads(body["messages"][1]["content"][0]["text"])["ENTITIES"]
        value = {"text": "5", "page": 1, "box": [0, 0, 1000, 1000]}
        filled = {
            name: [dict.fromkeys(kind, value)] * 2 if isinstance(kind, dict) else value
            for name, kind in asked.items()
        }
        return json.dumps(filled)

    gold = benchmarks.load("vrdu")
    with serving(then=reply) as server:
        found = ran(server, tmp_path, name="vrdu", image_limit=200)
    given = found.records.filter(pl.col("path").is_not_null())
    assert {"/advertiser", "/line_item/0/sub_amount", "/line_item/1/sub_amount"} <= set(
        given["path"]
    )
    page = gold.documents.row(0, named=True)
    first = given.row(0, named=True)
    assert first["x1"] == pytest.approx(page["width"])
    assert first["y1"] == pytest.approx(page["height"])


def test_a_page_is_transcribed_as_html_without_its_fence(tmp_path):
    with serving("```html\n<p>5</p>\n```", "<p>6</p>") as server:
        found = ran(server, tmp_path, name="fincriticaled", limit=2, concurrency=1, tasks="")
        assert "response_format" not in server.calls[0]["body"]
    assert found.records.select("value", "status").rows() == [
        ("<p>5</p>", "repaired"), ("<p>6</p>", "ok"),
    ]  # fmt: skip


def test_pieces_of_a_funsd_form_are_its_text_and_lines_with_boxes(tmp_path, funsd_root):
    piece = {"text": "Name:", "label": "question", "box": [50, 100, 300, 300]}
    reply = json.dumps({"entities": [piece, piece | {"text": "Ada", "box": None}]})
    corpus = benchmarks.load("funsd", root=funsd_root)
    with serving(then=reply) as server:
        found = chat.system("chat:m").run(
            corpus, out=tmp_path, limit=1, settings={"base_url": server.url}
        )
    rows = found.records.select("path", "value", "subtype", "x0", "y1").rows()
    # A page of 200 × 100: 50 thousandths of 200 are 10, 300 of 100 are 30.
    assert rows == [
        (None, "Name: Ada", None, None, None),
        ("/chat/entities/0", "Name:", "question", 10.0, 30.0),
        ("/chat/entities/1", "Ada", "question", None, None),
    ]


def test_keys_of_a_receipt_stand_where_the_gold_has_them():
    gold = [{"task": "text", "path": f"/{name}", "kind": name} for name in ("company", "total")]
    asked = chat.tasks_of("sroie")[0].make({}, gold)
    rows = asked.read({"company": "Ada", "total": None, "lines": ["Ada", "9.00"]}, None)
    assert [(row["path"], row["value"]) for row in rows] == [
        (None, "Ada 9.00"),
        ("/company", "Ada"),
    ]


def test_answers_are_scored_and_documents_without_one_count_as_nothing_found(tmp_path):
    corpus = benchmarks.load("formcraft")
    with serving("truncated", then=FORM) as server:
        found = ran(server, tmp_path, limit=None, concurrency=1)
    evaluation = analysis.evaluate(corpus, found)
    assert evaluation.scores["doc_id"].n_unique() == corpus.documents.height
    assert "truncated" in set(evaluation.cases["status"])


def test_a_judge_is_asked_once_for_one_page(tmp_path):
    facts = [{"type": "Number", "value": "5", "hint": "page 5"}]
    verdict = {"number": 1, "found_in_prediction": True, "correct": True, "matched_text": "5"}
    with serving(then=json.dumps({"entity_diagnostics": [verdict]})) as server:
        for _ in range(2):
            call = judge_call(
                "m", store=tmp_path / "judge.sqlite", settings={"base_url": server.url}
            )
            answer, record = ask("3", facts, "<p>5", "5", call=call)
            assert (answer["entity_diagnostics"][0]["correct"], record["status"]) == (True, "ok")
        assert len(server.calls) == 1


def test_prompts_of_ones_own_are_used_and_are_another_question(tmp_path):
    own = tmp_path / "prompts"
    own.mkdir()
    (own / "formcraft_extraction.md").write_text("Read it all.")
    with serving(then=FORM) as server:
        one = ran(server, tmp_path / "one")
        two = ran(server, tmp_path / "two", prompts=str(own))
        said = server.calls[1]["body"]["messages"][0]["content"]
    assert said.startswith("Read it all.")
    assert (
        one.settings["prompt formcraft_extraction"] != two.settings["prompt formcraft_extraction"]
    )


@pytest.mark.parametrize("name", ["chat:", "chat", "ocr"])
def test_a_name_without_a_model_is_an_error(name):
    with pytest.raises(UnknownName, match="no model"):
        chat.system(name)


def test_openai_itself_needs_a_key(tmp_path):
    with pytest.raises(NotAvailable, match="OPENAI_API_KEY"):
        chat.system("chat:m").run(benchmarks.load("formcraft"), out=tmp_path)


def test_defaults_know_no_limit_of_money():
    assert math.isinf(chat.RUNNING["max_cost"])
