import io

import pytest

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
