import json

import pytest

from formlab import analysis, benchmarks, systems
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


@pytest.fixture
def corpus(tmp_path):
    return benchmarks.load("formfactory", root=make(tmp_path / "data"))


def ran(server, corpus, out, *, limit=1, **settings):
    given = {"base_url": server.url, "attempts": 1} | settings
    return systems.run(corpus, systems.get("chat:m"), out=out, limit=limit, settings=given)


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
