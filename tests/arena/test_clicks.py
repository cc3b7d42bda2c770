import json

import polars as pl
import pytest

import formlab_arena
from formlab import analysis
from formlab_arena.action_groups import Reader
from formlab_arena.evaluation import read_run
from formlab_arena.screens import by_screen
from tests.analysis.made_pairs import built

from ..made_arena import BOXES, CLUMSY, click, fill, keys, run, screen


@pytest.fixture
def clumsy(tmp_path):
    return analysis.evaluate(*read_run(run(tmp_path / "run", (CLUMSY, {}))))


def test_clicks_and_values_of_a_clumsy_episode_are_counted_by_type(clumsy):
    table = formlab_arena.click_and_value(clumsy)
    counts = {(r["kind"], r["click"], r["value"]): r["n_cases"] for r in table.to_dicts()}
    # The name; its misplaced number. Of the lists one is right, one set to another option.
    assert [counts["string", c, v] for c in ("right", "wrong") for v in ("right", "wrong")] == [
        1, 0, 1, 0,
    ]  # fmt: skip
    assert counts["date", "wrong", "right"] == 1
    assert (counts["dropdown", "right", "right"], counts["dropdown", "right", "wrong"]) == (1, 1)
    assert [counts["all", c, v] for c in ("right", "wrong") for v in ("right", "wrong")] == [
        2, 1, 2, 0,
    ]  # fmt: skip
    cells = dict(table.filter(kind="all").select("cell", "n_cases").rows())
    assert cells["click wrong, value right"] == 2
    assert table.filter(kind="all")["n_kind"].to_list() == [5] * 4
    shares = table.group_by("kind").agg(pl.col("share").sum(), pl.len())
    assert set(shares["share"]) == {1.0}
    assert set(shares["len"]) == {4}


def test_misses_tell_how_far_off_and_what_was_hit(clumsy):
    table = formlab_arena.misses(clumsy)
    columns = ("path", "pred", "x", "y", "distance", "near", "near_distance")
    assert table.select(columns).rows() == [
        ("/Born on", "1970-02-03", 150, 110, 70, "/Account holder", 0),
        ("/Number of the document", "K1234567", 150, 540, 10, "/Number of the document", 10),
    ]  # fmt: skip
    assert table["template"].to_list() == ["E12", "E12"]
    assert table.select("band", "hit").rows() == [
        ("40–80", "hit a wrong element"), ("10–20", "hit no element"),
    ]  # fmt: skip
    assert table["band"].dtype.categories[0] == "under 5"


BOX = {"x0": 1.0, "y0": 2.0, "x1": 3.0, "y1": 4.0}
CLICK = {"pred_x0": 5.0, "pred_y0": 6.0, "pred_x1": 5.0, "pred_y1": 6.0}


@pytest.fixture
def evaluation():
    documents = [
        {"doc_id": "1", "image": "a.png", "meta": json.dumps({"images": ["a.png", "b.png"]})},
        {"doc_id": "2", "image": "c.png", "meta": json.dumps({"images": ["c.png"]})},
        {"doc_id": "3", "image": "d.png"},
    ]
    base = {"task": "click", "outcome": "mismatch"}
    cases = [
        base | BOX | CLICK | {"doc_id": "1", "path": "/both", "page": 2, "pred_page": 2},
        base | BOX | CLICK | {"doc_id": "1", "path": "/away", "page": 1, "pred_page": 2},
        base | BOX | {"doc_id": "1", "path": "/gold", "page": 2},
        base | BOX | {"doc_id": "1", "path": "/never seen", "page": 0},
        base | BOX | CLICK | {"doc_id": "2", "path": "/one", "page": 1, "pred_page": 1},
        base | BOX | {"doc_id": "3", "path": "/plain", "page": 1},
    ]
    return built(cases, documents=documents)


def test_each_screen_is_a_document_and_a_case_stands_on_that_of_its_click(evaluation):
    screens = by_screen(evaluation).check()
    added = screens.documents.filter(pl.col("doc_id").str.contains("screen"))
    assert added.select("doc_id", "image").rows() == [
        ("1 screen 1", "a.png"), ("1 screen 2", "b.png"),
    ]  # fmt: skip
    assert screens.cases.height == evaluation.cases.height
    cases = {row["path"]: (row["doc_id"], row["x0"], row["pred_x0"])
             for row in screens.cases.to_dicts()}  # fmt: skip
    assert cases == {
        "/both": ("1 screen 2", 1, 5), "/away": ("1 screen 2", None, 5),
        "/gold": ("1 screen 2", 1, None), "/never seen": ("1 screen 1", None, None),
        # Forms of one image stay as they are.
        "/one": ("2", 1, 5), "/plain": ("3", 1, None),
    }  # fmt: skip


def entered(events):
    return [(line.field, line.value) for line in Reader().read(iter(events)).lines]


def test_text_is_what_is_left_after_corrections():
    corrected = [
        screen(),
        click(150, 110, "holder"),
        keys("Adda", "holder"),
        keys("<Backspace>", "holder"),
        keys("<Backspace>", "holder"),
        keys("a", "holder"),
        keys("<Control+A>", "holder"),
        keys("Bo", "holder"),
        keys(" Ek", "holder"),
    ]
    assert entered(corrected) == [("holder", "Bo Ek")]
    assert entered([*corrected, keys("<Control+A>", "holder"), keys("<Delete>", "holder")]) == [
        ("holder", "")
    ]


def test_field_entered_by_the_keyboard_is_a_line_in_its_middle_and_one_passed_over_is_none():
    episode = Reader().read(iter([
        screen(),
        *fill("holder", "Ada Berg"),
        keys("<Tab>", "born"),
        keys("<Tab>", "account"),
        keys("<S>", "account", [["account", None, "", "Savings"]]),
    ]))  # fmt: skip
    assert [(line.field, line.value, line.by) for line in episode.lines] == [
        ("holder", "Ada Berg", "mouse"), ("account", "Savings", "keyboard"),
    ]  # fmt: skip
    # The middle of [100, 300, 300, 330].
    assert (episode.lines[1].x, episode.lines[1].y) == (200, 315)


def test_date_picked_in_a_calendar_is_one_line():
    button = click(320, 210, "born")
    button["hit"]["kind"] = "button"
    day = click(330, 260, "born", [["born", None, "", "1970-02-03"]])
    day["hit"]["kind"] = "button"
    assert entered([screen(), button, button, day]) == [("born", "1970-02-03")]
    assert entered([screen(), button, day, *fill("born", "x", before="1970-02-03")]) == [
        ("born", "1970-02-03"), ("born", "x"),
    ]  # fmt: skip


def test_choices_of_a_group_are_its_content_together():
    tea = {"field": "tea", "kind": "checkbox", "value": "", "checked": False, "options": None}
    tea |= {"box": [0, 0, 20, 20], "labels": []}
    log = [screen() | {"controls": [tea | {"option": name} for name in ("Red", "Green", "Black")]}]
    for option in ("Black", "Red"):
        hit = tea | {"option": option, "checked": True}
        change = {"changed": [["tea", option, False, True]]}
        log.append(click(10, 10) | {"hit": hit, "target": hit} | change)
    episode = Reader().read(iter(log))
    assert episode.content == {"tea": "Red, Black"}
    assert episode.lines[1].changed == [("tea", "Black", "Red, Black")]


def by_element(do, field, changed=(), **more):
    """An action by element, which was done in the middle of its box."""
    event = click(200, BOXES[field][1] + 15, field, changed)
    return event | {"asked": {"do": do, "element": "f1e1", **more}}


def test_actions_by_element_count_at_the_middle_of_its_box():
    log = [
        screen(),
        by_element("Fill", "holder", [["holder", None, "", "Ada"]], text="Ada"),
        by_element("Fill", "holder", [["holder", None, "Ada", "Bo"]], text="Bo"),
        by_element("Fill", "born", [["born", None, "", "1970-02-03"]], text="1970-02-03"),
        by_element("Select", "account", [["account", None, "", "savings"]], options=["Savings"]),
        by_element("Select", "proof", options=["Passport"]),
        by_element("Focus", "number"),
        keys("K1", "number"),
    ]
    lines = Reader().read(iter(log)).lines
    assert [(line.field, line.value, line.x, line.y) for line in lines] == [
        ("holder", "Ada", 200, 115), ("holder", "Bo", 200, 115), ("born", "1970-02-03", 200, 215),
        ("account", "savings", 200, 315), ("proof", "Passport", 200, 415),
        ("number", "K1", 200, 515),
    ]  # fmt: skip
    assert [line.by for line in lines] == ["mouse"] * 5 + ["keyboard"]
