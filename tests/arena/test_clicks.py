"""What a log of an episode says: its lines, its scores, and where a click went."""

import json

import polars as pl
import pytest

import formlab_arena
from formlab import analysis, tables
from formlab.errors import DataBroken
from formlab.systems.runs import BROKEN
from formlab.tables import only
from formlab_arena.action_groups import Reader
from formlab_arena.evaluation import read_run
from formlab_arena.screens import by_screen
from tests.analysis.made_pairs import built

from ..made_arena import BOXES, CLUMSY, VALUES, click, fill, keys, run, screen
from ..made_arena import fill as entering


@pytest.fixture
def clumsy(tmp_path):
    return analysis.evaluate(*read_run(run(tmp_path / "run", (CLUMSY, {}))))


def test_clicks_and_values_of_a_clumsy_episode_are_counted_by_type(clumsy):
    table = formlab_arena.click_and_value(clumsy)
    counts = {}
    for row in table.to_dicts():
        counts.setdefault(row["kind"], []).append(row["n_cases"])
        assert row["n_kind"] == {"all": 5, "string": 2, "date": 1, "dropdown": 2}[row["kind"]]
    # Of click and value both, the click alone, the value alone, none: the name and its misplaced
    # number; the misplaced date; of the lists one right, one set to another option.
    assert table.filter(kind="all")["cell"][2] == "click wrong, value right"
    assert counts == {
        "all": [2, 1, 2, 0], "string": [1, 0, 1, 0], "date": [0, 0, 1, 0], "dropdown": [1, 1, 0, 0],
    }  # fmt: skip
    assert set(table.group_by("kind").agg(pl.col("share").sum())["share"]) == {1.0}


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


def test_each_screen_is_a_document_and_a_case_stands_on_that_of_its_click():
    box, at = (
        dict(zip(tables.BOX, sides, strict=True)) for sides in ([1.0, 2, 3, 4], [5.0, 6, 5, 6])
    )
    click = {f"pred_{side}": place for side, place in at.items()}
    # Of each case: its form, the screens of its box and of its click, and where it comes to stand.
    known = {
        "/both": ("1", 2, 2, ("1 screen 2", 1, 5)), "/away": ("1", 1, 2, ("1 screen 2", None, 5)),
        "/gold": ("1", 2, None, ("1 screen 2", 1, None)),
        "/never seen": ("1", 0, None, ("1 screen 1", None, None)),
        # A form of one image stays as it is.
        "/one": ("2", 1, 1, ("2", 1, 5)), "/plain": ("3", 1, None, ("3", 1, None)),
    }  # fmt: skip
    cases = [
        {"task": "click", "outcome": "mismatch", "doc_id": doc, "path": path, "page": page} | box
        | ({"pred_page": clicked} | click if clicked else {})
        for path, (doc, page, clicked, _) in known.items()
    ]  # fmt: skip
    images = {"1": ["a.png", "b.png"], "2": ["c.png"]}
    documents = [
        {"doc_id": doc, "image": names[0], "meta": json.dumps({"images": names})}
        for doc, names in images.items()
    ]
    evaluation = built(cases, documents=[*documents, {"doc_id": "3", "image": "d.png"}])
    screens = by_screen(evaluation).check()
    added = screens.documents.filter(pl.col("doc_id").str.contains("screen"))
    assert added["image"].to_list() == images["1"]
    found = screens.cases.select("path", "doc_id", "x0", "pred_x0").rows()
    assert {path: tuple(at) for path, *at in found} == {path: row[3] for path, row in known.items()}


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


def in_calendar(x, y, changed=()):
    event = click(x, y, "born", changed)
    return event | {"hit": event["hit"] | {"kind": "button"}}


TYPED = ("Adda", "<Backspace>", "<Backspace>", "a", "<Control+A>", "Bo", " Ek")
CORRECTED = [click(150, 110, "holder"), *(keys(key, "holder") for key in TYPED)]
BUTTON, DAY = in_calendar(320, 210), in_calendar(330, 260, [["born", None, "", "1970-02-03"]])
# What was done, and its lines: field, value, and by what and where it was entered.
EPISODES = {
    "text is what is left after corrections": (
        [*CORRECTED, *fill("born", "x")],
        [("holder", "Bo Ek", "mouse", 150, 110), ("born", "x", "mouse", 150, 210)],
    ),
    "or nothing": (
        [*CORRECTED, keys("<Control+A>", "holder"), keys("<Delete>", "holder")],
        [("holder", "", "mouse", 150, 110)],
    ),
    "a field entered by the keyboard is a line in its middle, and one passed over is none": (
        [*fill("holder", "Ada"), keys("<Tab>", "born"), keys("<Tab>", "account"),
         keys("<S>", "account", [["account", None, "", "Savings"]])],
        [("holder", "Ada", "mouse", 150, 110), ("account", "Savings", "keyboard", 200, 315)],
    ),
    "a date picked in a calendar is one line": (
        [BUTTON, BUTTON, DAY, *fill("born", "x", before="1970-02-03")],
        [("born", "1970-02-03", "mouse", 320, 210), ("born", "x", "mouse", 150, 210)],
    ),
    "actions by element count at the middle of its box": (
        [by_element("Fill", "holder", [["holder", None, "", "Ada"]], text="Ada"),
         by_element("Fill", "holder", [["holder", None, "Ada", "Bo"]], text="Bo"),
         by_element("Select", "account", [["account", None, "", "savings"]], options=["Savings"]),
         by_element("Select", "proof", options=["Passport"]),
         by_element("Focus", "number"), keys("K1", "number")],
        [("holder", "Ada", "mouse", 200, 115), ("holder", "Bo", "mouse", 200, 115),
         ("account", "savings", "mouse", 200, 315), ("proof", "Passport", "mouse", 200, 415),
         ("number", "K1", "keyboard", 200, 515)],
    ),
}  # fmt: skip


@pytest.mark.parametrize("done", EPISODES)
def test_lines_of_an_episode(done):
    events, expected = EPISODES[done]
    lines = Reader().read(iter([screen(), *events])).lines
    assert [(one.field, one.value, one.by, one.x, one.y) for one in lines] == expected


RIGHT = [screen(), *[event for name, value in VALUES.items() for event in entering(name, value)]]
SENT = {"status": "submitted", "answers": VALUES, "right": 5}


def scored(folder, mode="official"):
    return analysis.evaluate(*read_run(folder), mode=mode)


def total(evaluation, metric, doc_id):
    rows = only(evaluation.scores, metric=metric, doc_id=doc_id)
    return rows.select(pl.col("hits", "total").sum()).row(0)


def test_episodes_are_documents_with_gold_where_the_controls_stood(tmp_path):
    corpus, predictions = read_run(run(tmp_path / "run", (RIGHT, SENT)))
    document = corpus.documents.row(0, named=True)
    assert (corpus.benchmark, corpus.split) == ("formfactory", "arena")
    assert corpus.root == tmp_path / "run"
    assert (document["doc_id"], document["template"]) == ("E12-001", "E12")
    assert (document["n_fields"], document["n_kinds"], document["width"]) == (5, 3, 400)
    assert (corpus.root / document["image"]).is_file()
    born = only(corpus.records, path="/Born on").row(0, named=True)
    assert (born["kind"], born["value"]) == ("date", "1970-02-03")
    assert [born[side] for side in tables.BOX] == [100, 200, 300, 230]
    # The label is a place to click as well: the browser takes it for its control.
    assert json.loads(born["meta"])["items"][0]["targets"] == [
        [1, 100, 200, 300, 230], [1, 100, 180, 300, 198],
    ]  # fmt: skip
    predicted = predictions.records.filter(pl.col("path").is_not_null())
    clicks, values = (predicted.filter(task=task) for task in ("click", "value"))
    assert clicks.select("path", "value", "x0", "page").row(0) == ("/lines/0", "Ada Berg", 150, 1)
    assert values.select("path", "value").row(1) == ("/Born on", "1970-02-03")


def test_episode_that_crashed_or_stopped_keeps_its_rows_and_says_so(tmp_path):
    half = [screen(("holder", "born")), *entering("holder", "Ada Berg")]
    crash = {"status": "crashed", "error": "Error: gone"}
    folder = run(tmp_path, (half, {}), ([], crash), (RIGHT, SENT))
    corpus, predictions = read_run(folder)
    assert predictions.responses.select("status", "error").rows() == [
        ("truncated", None), ("missing", "Error: gone"), ("ok", None),
    ]  # fmt: skip
    done = analysis.evaluate(corpus, predictions)
    assert done.cases.group_by("doc_id", maintain_order=True).len().rows() == [
        ("E12-001", 5), ("E12-002", 5), ("E12-003", 5),
    ]  # fmt: skip
    first = only(done.cases, doc_id="E12-001")
    assert first["status"].to_list() == ["ok", *["truncated"] * 4]
    assert set(only(done.cases, doc_id="E12-002")["status"]) == {"missing"}
    # Fields that were never seen are clicks that were missed, not clicks that nobody asked for.
    assert total(done, "click_accuracy", "E12-001") == (1, 5)
    assert total(done, "click_accuracy", "E12-002") == (0, 5)
    assert total(done, "value_submitted_accuracy", "E12-001") == (0, 5)
    assert only(done.scores, metric="form_completed")["status"].to_list() == [
        "truncated", "missing", "ok",
    ]  # fmt: skip


def test_form_that_was_never_sent_is_a_missing_answer_with_the_fields_refused(tmp_path):
    took = {"attempts": 1, "tokens_in": 900, "tokens_out": 20, "cost": 0.25, "seconds": 1.5}
    half = [screen(("holder", "born")), *entering("holder", "Ada Berg")]
    half += [{"step": 1, "answer": took}, {"step": 2, "answer": took | {"attempts": 2}}]
    refused = {"validation": [{"field": "born", "message": "Please fill out this field."}]}
    done = scored(run(tmp_path, (half, {"status": "unsent", "account": refused}), (RIGHT, SENT)))
    assert done.cases["status"][:5].to_list() == ["ok", *["missing"] * 4]
    assert set(done.cases["cause"][1:5]) == {"missed"}
    assert done.notes == {"episodes unsent": 1, "fields refused in episodes unsent": 1}
    # What a model's answers took is in the response of their episode; the second was no model's,
    # and its seconds are those of the whole episode.
    assert done.predictions.responses.select(list(took)).rows() == [
        (3, 1800, 40, 0.5, 3.0), (1, None, None, None, 1.0),
    ]  # fmt: skip


def test_click_on_another_screen_is_no_click_on_this_one(tmp_path):
    turned = [
        screen(("holder",)), *entering("holder", "Ada Berg"), screen(("born",), number=2),
        *[event | {"on": 2} for event in entering("born", "1970-02-03")],
        *[event | {"on": 2} for event in entering("account", "Savings", hit=False)],
    ]  # fmt: skip
    done = scored(run(tmp_path, (turned, {})))
    assert total(done, "click_accuracy", "E12-001") == (2, 5)
    meta = json.loads(done.documents["meta"][0])
    assert meta["images"] == ["E12-001/screen-1.png", "E12-001/screen-2.png"]
    assert {row[0] for row in meta["elements"]} == {1, 2}


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"status": None}, "status"),
        ({"doc_id": "../elsewhere"}, "no name of an episode"),
        ({"form": "Z99"}, "unknown form 'Z99'"),
        ({"answers": True}, "got `bool` - at `.*answers`"),
        ({"account": {"submissions": [{"outcome": "accepted"}]}}, "required field `values`"),
    ],
)
def test_result_of_another_structure_is_refused_with_its_file(tmp_path, changed, message):
    folder = run(tmp_path / "run", (RIGHT, SENT | changed))
    with pytest.raises(DataBroken, match=rf"{message}.*episodes\.jsonl"):
        read_run(folder)


def test_a_damaged_line_of_the_journal_is_counted_and_the_others_stand(tmp_path):
    folder = run(tmp_path / "run", (RIGHT, SENT), (RIGHT, SENT))
    lines = (folder / "episodes.jsonl").read_text().splitlines(keepends=True)
    (folder / "episodes.jsonl").write_text(lines[0] + lines[1][:30] + "\n")
    corpus, predictions = read_run(folder)
    assert corpus.documents["doc_id"].to_list() == ["E12-001"]
    assert predictions.notes == {BROKEN: 1}
