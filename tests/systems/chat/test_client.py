"""What a server does to a call: every misbehaviour has its status, its retries and its limit."""

import signal

import pytest

from formlab import benchmarks, readers, systems
from formlab.errors import DataBroken, NotAvailable
from formlab.systems import chat
from formlab.systems.chat import ask
from tests.states import LONG, until
from tests.systems.chat.made_runs import FORM, KEY, alone, ran
from tests.systems.scripted_server import serving


@pytest.mark.parametrize(
    ("step", "status"),
    [
        (FORM, "ok"),
        (f"Here it is:\n```json\n{FORM}\n```", "repaired"),
        ("There is a name on it.", "bad_json"),
        ('{"answer": 5}', "bad_json"),  # Valid JSON that is no form.
        ("I'm sorry, but I can't help with that.", "refused"),
        ("refused", "refused"),
        ("filtered", "refused"),
        ("truncated", "truncated"),
        ("too_large", "api_error"),  # Asking the same again would not help.
        ("no_images", "api_error"),
        ("busy_for_hours", "api_error"),
        ("bomb", "api_error"),
        ("not_json", "api_error"),
        ("empty", "api_error"),
        ("no_quota", None),
        ("wrong_key", None),
    ],
)
def test_every_answer_has_its_status_after_one_call(tmp_path, monkeypatch, step, status):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with serving(then=step) as server:
        if status is None:
            with pytest.raises(NotAvailable, match="refuses every call") as error:
                ran(server, tmp_path)
            # Which the server had said back.
            assert KEY not in str(error.value)
        else:
            found = ran(server, tmp_path)
            assert found.responses["status"].to_list() == [status]
            whole = found.records.filter(found.records["path"].is_null())
            assert whole["status"].to_list() == [status]
            says = {"no_images": "no images", "bomb": "over 32 MB"}.get(step, "")
            assert says in (found.responses["error"][0] or "")
        # A form that the server does not take is put in each of the three ways.
        assert len(server.calls) == (3 if step == "no_images" else 1)


@pytest.mark.parametrize("step", ["busy", "broken", "slow", "cut", "hang_up", "busy_until"])
def test_what_passes_is_asked_again(tmp_path, step):
    with serving(step, then=FORM) as server:
        # A slow answer takes five seconds; any other has all the time of a busy machine.
        responses = ran(server, tmp_path, timeout=4.0 if step == "slow" else LONG).responses
        assert responses.select("status", "attempts").rows() == [("ok", 2)]
        waited = server.calls[1]["at"] - server.calls[0]["at"]
    # Retry-After says 1 s; as a date, which has whole seconds, at least that much.
    assert waited >= (1.0 if step.startswith("busy") else 0.2)


@pytest.mark.parametrize(
    ("step", "calls", "form"),
    [
        # Two calls find out that no schema is taken, three are answered.
        ("no_schema", 5, None),
        # Servers over llama.cpp refuse with an error 500, which is not tried again.
        ("only_object", 4, "json_object"),
    ],
)
def test_a_schema_is_put_as_the_server_takes_it(tmp_path, step, calls, form):
    with serving(then=step) as server:
        found = ran(server, tmp_path, limit=3, concurrency=1)
        assert len(server.calls) == calls
        body = server.calls[-1]["body"]
        ran(server, tmp_path, limit=3)
        assert len(server.calls) == calls
    assert set(found.responses["status"]) == {"ok"}
    assert body.get("response_format", {}).get("type") == form
    assert form is None or body["response_format"]["schema"]["type"] == "object"
    # In any case the schema stands in the prompt: many servers take one and ignore it.
    assert '"modality_subtype"' in body["messages"][0]["content"]


SECRET = "pw-that-nobody-may-read"


def test_an_interrupt_ends_a_run_whose_server_drips(tmp_path):
    with serving(then="drip") as server:
        process = alone(server, tmp_path)
        until(lambda: len(server.calls) >= 4)
        process.send_signal(signal.SIGINT)
        _, told = process.communicate(timeout=60)
    assert b"KeyboardInterrupt" in told


# At 50,000 dollars a million tokens, an answer of 20 is one dollar, and none is longer.
PRICED = {"max_tokens": 20, "image_limit": 64}


def priced(folder, rows="m,0,50000"):
    folder.mkdir(exist_ok=True)
    (folder / "prices.csv").write_text(f"model,input,output\n{rows}\n")
    return PRICED | {"prices": str(folder / "prices.csv")}


def test_what_a_call_may_cost_has_its_text_its_pages_and_its_longest_answer(tmp_path):
    # Dollars a token: 0.001 in, 0.5 out.
    settings = chat.SHAPING | chat.RUNNING | priced(tmp_path, "m,1000,500000") | {"max_cost": 9.0}
    settings |= {"base_url": "http://host/v1"}
    client, page = chat.Client("m", settings), {"url": f"data:{'x' * 99_999}"}
    asked = {"role": "user", "content": [{"type": "text", "text": "x" * 1000}]}
    most = client.most(client.body([asked], schema=None, form="text"))
    assert 1 + 10 <= most <= 1.3 + 10
    asked["content"].append({"type": "image_url", "image_url": page})
    shown = client.most(client.body([asked], schema=None, form="text"))
    # A page counts as 10,000 tokens.
    assert shown - most == pytest.approx(10, abs=0.1)
    with pytest.raises(NotAvailable, match="limit of tokens"):
        chat.Client("m", settings | {"extra": '{"max_tokens": null}'})


def test_a_server_that_reports_no_tokens_ends_a_run_of_a_max_cost(tmp_path):
    settings = priced(tmp_path) | {"max_cost": 3.5, "concurrency": 1}
    with serving(then="no_usage") as server:
        found = ran(server, tmp_path / "run", limit=6, **settings)
        # What was answered is paid for, and kept.
        assert len(server.calls) == 1
    assert found.responses["status"].to_list() == ["ok"] + ["missing"] * 5
    assert "does not say how many tokens" in found.responses["error"][1]


WRONG = {"max_cost": float("nan"), "timeout": float("inf"), "attempts": 1.5, "max_tokens": True}
WRONG |= {"max_calls": -1, "temperature": "5", "shots": None, "form": "xml"}


@pytest.mark.parametrize(("name", "value"), WRONG.items(), ids=str)
def test_a_number_that_makes_no_sense_is_refused_by_name(name, value):
    with pytest.raises(DataBroken, match=rf"\({name}\). Try: {name}="):
        chat.Client("m", chat.SHAPING | chat.RUNNING | {name: value})


@pytest.mark.parametrize(
    "url",
    [f"ada:{SECRET}@host/v1", f"http://ada:{SECRET}@[::1/v1", f"//ada:{SECRET}@host",
     f"https://{SECRET}@host:8000/v1", f"https://host/v1?key={SECRET}", "http://[::1/v1", "host/v1",
     "http://", "file:///etc/passwd", "http://host:port/v1", "http://a b/v1", "http://host\x00/v1",
     "http://" + "x" * 100_000],
)  # fmt: skip
def test_an_address_that_is_none_or_has_a_secret_is_one_error_that_does_not_say_it(tmp_path, url):
    with pytest.raises(DataBroken) as error:
        settings = {"base_url": url, "attempts": 1}
        systems.run(
            benchmarks.load("formcraft"), systems.get("chat:m"), out=tmp_path, settings=settings
        )
    assert SECRET not in str(error.value)
    assert len(str(error.value)) < 5_000
    assert not list(tmp_path.iterdir())


def test_whatever_a_library_says_of_a_page_costs_its_document_alone(tmp_path, monkeypatch):
    whole, failed = ask.pages, [MemoryError("too large to draw")]

    def sometimes(paths, **options):
        if failed:
            raise failed.pop()
        return whole(paths, **options)

    monkeypatch.setattr(ask, "pages", sometimes)
    with serving(then=FORM) as server:
        found = ran(server, tmp_path, limit=3, concurrency=1).responses
    assert sorted(found["status"]) == ["missing", "ok", "ok"]
    assert "MemoryError('too large to draw')" in found.filter(status="missing")["error"][0]


def test_what_a_run_that_broke_off_was_answered_counts_and_the_rest_is_missing(tmp_path):
    corpus = benchmarks.load("formcraft")
    with serving(FORM, then="no_quota") as server:
        with pytest.raises(NotAvailable, match="refuses every call"):
            ran(server, tmp_path, limit=None, concurrency=1)
        calls = len(server.calls)
        with pytest.raises(DataBroken, match=r"has not ended.*max_calls=0"):
            readers.read_predictions(tmp_path, corpus)
        found = ran(server, tmp_path, limit=None, concurrency=1, max_calls=0)
        assert len(server.calls) == calls
    counts = dict(found.responses["status"].value_counts().iter_rows())
    assert counts == {"ok": 1, "missing": corpus.documents.height - 1}
