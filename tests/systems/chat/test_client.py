"""What a server does to a call: every misbehaviour has its status, its retries and its limit."""

import pytest

from formlab.errors import NotAvailable
from tests.states import LONG
from tests.systems.chat.made_runs import FORM, KEY, ran
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
        ("no_quota", None),
        ("wrong_key", None),
    ],
)
def test_every_answer_has_its_status_after_one_call(tmp_path, step, status):
    with serving(then=step) as server:
        if status is None:
            with pytest.raises(NotAvailable, match="refuses every call"):
                ran(server, tmp_path)
        else:
            found = ran(server, tmp_path)
            assert found.responses["status"].to_list() == [status]
            whole = found.records.filter(found.records["path"].is_null())
            assert whole["status"].to_list() == [status]
            assert step != "no_images" or "no images" in found.responses["error"][0]
        # A form that the server does not take is put in each of the three ways.
        assert len(server.calls) == (3 if step == "no_images" else 1)


@pytest.mark.parametrize(
    "step", ["busy", "broken", "slow", "cut", "hang_up", "not_json", "empty", "busy_until"]
)
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


def test_attempts_count_as_calls(tmp_path):
    with serving(then="broken") as server:
        found = ran(server, tmp_path, max_calls=2)
        assert (len(server.calls), found.responses["status"].to_list()) == (2, ["missing"])


def test_a_refused_key_stops_the_run_and_is_not_in_the_error(tmp_path, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with serving(then="wrong_key") as server:
        with pytest.raises(NotAvailable, match="refuses every call") as error:
            ran(server, tmp_path, limit=16, concurrency=2)
        assert len(server.calls) < 16
    assert KEY not in str(error.value)
