"""Changes to a form: each replays, and undoing all of them leaves the form as it was."""

import json
import random
from pathlib import Path

import pytest
import yaml
from PIL import Image

import formlab_review as review
from formlab import benchmarks
from formlab.errors import DataBroken, UnknownName
from formlab_review import changes
from formlab_review.attributes import attributes
from tests.seeds import seeds

from .conftest import EVIL, FORMS

FORM = FORMS["changed"]


@pytest.fixture
def form():
    return review.FormNodes(json.loads(json.dumps(FORM)), "as it was", "ada")


def test_a_form_without_changes_is_written_as_it_was(form):
    assert form.content() == FORM
    assert json.dumps(form.content()) == json.dumps(FORM)
    assert form.text() == "as it was"
    assert [node.path for node in form.walk()] == [
        "/Date", "/Patient", "/Patient/Name", "/Patient/Name#2", "/Doctor", "/Doctor/Ward",
        "/vqa/q1", "/consistency/c1",
    ]  # fmt: skip


def test_questions_and_checks_follow_the_fields_that_are_moved_and_renamed(form):
    form.apply(form.move("/Patient/Name#2", "/Doctor/Ward", 0))
    form.apply(form.edit("/Doctor/Ward", {"label": "Room 1/2"}))
    form.apply(form.edit("/Date", {"label": "Day"}))
    form.apply(form.move("/Doctor", "/Patient", 0))
    content = form.content()
    (check,), (question,) = content["consistency"], content["vqa"]
    assert (check["source"], check["dependent"]) == ("/Day", "/Patient/Doctor/Room 1~12/Name")
    assert question["derivation"]["fields"] == {"a": "/Day"}
    assert content["groups"] == [{
        "label": "Patient", "fields": [FORM["groups"][0]["fields"][0]],
        "groups": [{"label": "Doctor", "fields": [], "groups": [
            {"label": "Room 1/2", "fields": [{"label": "Name", "value": "Eve"}]},
        ]}],
    }]  # fmt: skip


def test_a_missing_field_is_added_with_or_without_a_box_and_a_question_about_it(form):
    texts = {"label": "Fax", "value": "12", "page": "2", "box": "1, 2 3.5 4"}
    form.apply(form.add("/Patient", "fields", texts, index=1))
    form.apply(form.add("", "groups", {"label": "Fees"}))
    form.apply(form.add("", "vqa", {"question": "To?", "fields": "/Patient/Fax", "answers": "12"}))
    content = form.content()
    names = [field["label"] for field in content["groups"][0]["fields"]]
    assert names == ["Name", "Fax", "Name"]
    assert content["groups"][0]["fields"][1] == {
        "label": "Fax", "value": "12", "page": 2, "box": [1, 2, 3.5, 4],
    }  # fmt: skip
    assert content["groups"][2] == {"label": "Fees"}
    assert content["vqa"][1] == {
        "answers": ["12"], "id": "ada-1", "question": "To?", "fields": ["/Patient/Fax"],
    }  # fmt: skip
    form.check()


REFUSED = yaml.safe_load(Path(__file__).with_name("refused.yml").read_text("utf-8"))


@pytest.mark.parametrize(("change", "arguments", "message"), REFUSED)
def test_what_cannot_be_done_is_refused_and_changes_nothing(form, change, arguments, message):
    with pytest.raises((DataBroken, UnknownName), match=message):
        getattr(form, change)(*arguments)
    assert form.content() == FORM


def some_change(form, draw):
    nodes = ["", *form.paths()]
    node, parent = draw.choice(nodes), draw.choice(nodes)
    text = draw.choice(["Name", "", "a/b~", "\u202e\x00", "Patient", "7"])
    names = [*attributes(form.kind(node)), "label"]
    kind = draw.choice(["fields", "groups", "vqa"])
    texts = {"question": "?"} if kind == "vqa" else {"label": text}
    return draw.choice([
        lambda: form.edit(node, {draw.choice(names): text}),
        lambda: form.move(node, parent, draw.randint(-1, 3)),
        lambda: form.add(parent, kind, texts),
        lambda: form.delete(node),
        form.verify,
    ])()  # fmt: skip


@pytest.mark.parametrize("seed", seeds(40))
def test_any_changes_replay_and_undone_leave_the_form_byte_for_byte(seed):
    def replayed(rows):
        form = review.FormNodes(json.loads(source), source)
        for row in rows:
            form.apply(row)
        return form

    source, draw = json.dumps(FORM), random.Random(seed)
    form, rows, states = replayed([]), [], []
    while len(rows) < 12:
        try:
            change = some_change(form, draw)
        except (DataBroken, UnknownName):
            continue
        states.append((form.text(), form.verified))
        rows.append(json.loads(json.dumps(change)))
        form.apply(rows[-1])
        form.check()
        assert len(set(form.paths().values())) == len(form.paths())
    assert replayed(rows).text() == form.text()
    while rows:
        rows.pop()
        assert (replayed(rows).text(), replayed(rows).verified) == states.pop()
    assert replayed([]).text() == source


KEY = {"benchmark": "formcraft", "split": "test", "doc_id": "a", "reviewer": "ada", "time": "t"}
LINE = KEY | {"node": "/Date", "before": {"value": "2 May"}, "after": {"value": "3 May"}}


def test_a_file_of_changes_is_a_line_each_and_inert(tmp_path):
    file = tmp_path / "ada.jsonl"
    assert changes.read(file) == []
    for at in range(3):
        changes.record(file, LINE | {"after": {"value": f"{at}\u202e\x1b"}})
    assert file.read_text().count("\n") == 3
    assert not {"\u202e", "\x1b"} & set(file.read_text())
    assert changes.forget_last(file, LINE)["after"] == {"value": "2\u202e\x1b"}
    assert changes.forget_last(file, LINE | {"doc_id": "b"}) is None
    assert [where.rpartition(":")[2] for where, _ in changes.read(file)] == ["1", "2"]


EVIL_FORM = {
    "fields": [{"label": "Date", "value": "2 May", "page": 1, "box": [20, 20, 90, 40]},
               {"label": EVIL, "value": EVIL}],
    "groups": [{"label": "Patient", "page": "x", "box": ["a", 1, 2, 3],
                "fields": [{"label": "Name", "value": "Ada"}], "groups": []}],
    "vqa": [{"id": "q", "question": EVIL, "answers": [EVIL],
             "fields": ["/Nowhere", "/vqa/q", "/Patient"]}],
}  # fmt: skip


@pytest.fixture
def desk(tmp_path):
    for name in ("forms", "images"):
        (tmp_path / "drafts" / name).mkdir(parents=True)
    (tmp_path / "drafts" / "forms" / "a.json").write_text(json.dumps(EVIL_FORM))
    Image.new("L", (400, 200), 255).save(tmp_path / "drafts" / "images" / "a.png")
    corpus = benchmarks.load("formcraft", root=tmp_path / "drafts")
    return review.FormReview(corpus, tmp_path / "edits", "ada")


def test_a_change_is_answered_with_the_form_as_it_now_is(desk):
    view, heard = desk.view(), []
    view.send = lambda content, buffers=None: heard.append(content)
    doc = {"doc": "a", "type": "change"}
    for message in (
        {"type": "hello"}, {"type": "open", "doc": "a"},
        doc | {"do": "edit", "node": "/Patient/Name", "texts": {"label": "First name"}},
        doc | {"do": "move", "node": "/Date", "parent": "/Patient", "index": 0},
        doc | {"do": "verify"}, {"type": "undo", "doc": "a"},
        doc | {"do": "delete", "node": "/Gone"}, doc | {"do": "burn"}, doc | {"do": "move"},
        doc | {"do": "add", "kind": "fields", "texts": {"label": "x"}, "index": "first"},
        {"type": "open", "doc": "b"}, {"type": "undo"},
    ):  # fmt: skip
        view._hear(view, message, [])
    json.dumps(heard, ensure_ascii=False).encode()
    assert [answer["type"] for answer in heard] == ["state", *["form"] * 5, *["refused"] * 6]
    assert heard[0] == {"type": "state", "forms": [["a", 0, False]], "first": "a"}
    (question,) = [node for node in heard[1]["nodes"] if node["kind"] == "vqa"]
    assert "no field at /Nowhere" in question["notes"]
    assert heard[3]["nodes"][2]["path"] == "/Patient/Date"
    assert heard[3]["nodes"][2]["boxes"] == [[1, 20.0, 20.0, 90.0, 40.0]]
    assert [(row["changes"], row["verified"]) for row in heard[3:6]] == [
        (2, False), (2, True), (2, False),
    ]  # fmt: skip
    assert [row["node"] for _, row in changes.read(desk.file)] == ["/Patient/Name", "/Date"]


def test_two_windows_on_one_form_do_not_mix_their_changes_in_silence(desk):
    other = review.FormReview(desk.corpus, desk.folder, "ada")
    view, heard = other.view(), []
    view.send = lambda content, buffers=None: heard.append(content)
    view._hear(view, {"type": "open", "doc": "a"}, [])
    desk.make("a", desk.form("a").delete("/Date"))
    # The node is gone by now: together with its deletion the file could not be read again.
    edit = {"type": "change", "doc": "a", "do": "edit", "node": "/Date", "texts": {"label": "Day"}}
    for message in (edit, {"type": "undo", "doc": "a"}, edit):
        view._hear(view, message, [])
    opened, refused, undone, edited = heard
    assert refused["type"] == "refused"
    assert "changed in another window" in refused["why"]
    assert "/Date" in {node["id"] for node in opened["nodes"]}
    assert "/Date" not in {node["id"] for node in refused["form"]["nodes"]}
    # Having seen the deletion, the window may take it back.
    assert (undone["type"], edited["type"]) == ("form", "form")
    with pytest.raises(DataBroken, match="changed in another window"):
        desk.undo("a")
    assert [row["after"]["label"] for _, row in changes.read(desk.file)] == ["Day"]
    assert desk.undo("a") == "/Date"
