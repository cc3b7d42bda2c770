import json

import pytest

from formlab import analysis, benchmarks
from formlab.systems import chat
from tests.made_formfactory import make
from tests.systems.scripted_server import serving

# Of instance A12-01 on a screenshot of 200 × 100: 200 and 150 thousandths are pixels 40 and 15,
# inside First Name (10,10,100,30); 525 and 150 are 105 and 15, between it and Last Name; 75 and
# 900 are 15 and 90, the button Female.
LINES = """```
[200, 150] Ada
[525, 150] Berg
[75, 900] Female
```"""
# The same in pixels, in JSON.
ACTIONS = [{"page": 1, "x": 40, "y": 15, "value": "Ada"}, {"x": "105", "y": 15, "value": "Berg"},
           {"page": None, "x": 15, "y": 90, "value": "Female"}]  # fmt: skip


@pytest.fixture
def corpus(tmp_path):
    return benchmarks.load("formfactory", root=make(tmp_path / "data"))


def ran(server, corpus, out, *, limit=1, **settings):
    given = {"base_url": server.url, "attempts": 1} | settings
    return chat.system("chat:m").run(corpus, out=out, limit=limit, settings=given)


def actions(found):
    rows = found.records.filter(path="/lines/0").select("value", "page", "x0", "y0", "x1", "y1")
    return found.records["path"].to_list(), rows.row(0)


def test_lines_are_clicks_in_pixels_of_the_screenshot(tmp_path, corpus):
    with serving(then=LINES) as server:
        found = ran(server, corpus, tmp_path / "r")
        system, user = server.calls[0]["body"]["messages"]
    assert actions(found) == (
        [None, "/lines/0", "/lines/1", "/lines/2"],
        ("Ada", None, 40.0, 15.0, 40.0, 15.0),
    )
    assert set(found.records["status"]) == {"repaired"}
    assert "thousandths" in system["content"]
    asked = json.loads(user["content"][0]["text"])
    assert asked["FORM"] == "A12"
    assert "Ada Berg, born 1980/02/03" in asked["TEXT"]
    # The gold's fields, options and boxes are not shown.
    assert set(asked) == {"FORM", "TEXT"}


def test_actions_as_json_give_the_same_and_pixels_are_taken_as_they_are(tmp_path, corpus):
    with serving(then=LINES) as server:
        lines = ran(server, corpus, tmp_path / "lines")
    with serving(then=json.dumps({"actions": ACTIONS})) as server:
        found = ran(server, corpus, tmp_path / "json", tasks="actions", boxes="pixels")
    columns = ["path", "value", "x0", "y0"]
    assert found.records[1:].select(columns).equals(lines.records[1:].select(columns))
    assert found.records["value"][0] == "[40, 15] Ada\n[105, 15] Berg\n[15, 90] Female"
    assert found.records["page"].to_list()[1:] == [1, None, None]


def test_clicks_are_scored_where_they_land(tmp_path, corpus):
    with serving(then=LINES) as server:
        found = ran(server, corpus, tmp_path / "r", limit=None)
    evaluation = analysis.evaluate(corpus, found, mode="fixed")
    cases = {row["path"]: row for row in evaluation.cases.filter(doc_id="A12-01").to_dicts()}
    assert cases["/First Name"]["outcome"] == "match"
    assert cases["/Gender"]["outcome"] == "match"
    # Typed right and clicked beside the field.
    assert (cases["/Last Name"]["outcome"], cases["/Last Name"]["cause"]) == (
        "mismatch", "misclick_near",
    )  # fmt: skip
    assert cases["/Email"]["outcome"] == "missing"
    assert evaluation.scores["doc_id"].n_unique() == corpus.documents.height


def test_a_screenshot_that_is_named_is_the_page_of_the_click(tmp_path):
    root = make(tmp_path / "data")
    (root / "data2" / "Medical_study_Form.txt").write_text("1. Cy Ek, 40, comes at weekends.\n")
    corpus = benchmarks.load("formfactory", root=root)
    last = corpus.documents["doc_id"].to_list().index("F12-01")
    with serving(then="[F12_2] [50, 750] Weekends") as server:
        found = ran(server, corpus, tmp_path / "r", limit=last + 1, concurrency=1)
        shown = [part for part in server.calls[-1]["body"]["messages"][1]["content"]
                 if part["type"] == "image_url"]  # fmt: skip
    rows = found.records.filter(doc_id="F12-01", path="/lines/0")
    assert rows.select("page", "x0", "y0").row(0) == (2, 10.0, 75.0)
    assert len(shown) == 2
