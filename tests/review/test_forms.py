"""Changes to a form: each replays, and undoing all of them leaves the form as it was."""

import json
import random

import pytest

import formlab_review as review
from formlab.errors import DataBroken, UnknownName
from formlab_review import changes
from formlab_review.attributes import attributes
from tests.seeds import seeds

FORM = {
    "domain": "health", "own": {"kept": True}, "fields": [{"label": "Date", "value": "2 May"}],
    "groups": [
        {"label": "Patient", "groups": None, "fields": [
            {"label": "Name", "modality": "Textual", "modality_subtype": "Handwritten",
             "value": "Ada", "box": [1, 2, 30, 40], "page": 1},
            {"label": "Name", "value": "Eve"},
        ]},
        {"label": "Doctor", "fields": [], "groups": [{"label": "Ward", "fields": []}]},
    ],
    "vqa": [{"id": "q1", "question": "Who?", "answers": ["Ada"], "fields": ["/Patient/Name"],
             "scope": "intra-group", "derivation": {"op": "is", "fields": {"a": "/Date"}}}],
    "consistency": [{"id": "c1", "source": "/Date", "dependent": "/Patient/Name#2",
                     "expected": "Eve"}],
}  # fmt: skip


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


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda f: f.edit("/Patient/Name", {"modality_subtype": "smell"}), "modality_subtype"),
        (lambda f: f.edit("/Patient/Name", {"colour": "red"}), "colour"),
        (lambda f: f.edit("/Patient/Name", {"box": "4 3 2 1"}), "x0 y0 x1 y1"),
        (lambda f: f.edit("/Patient/Name", {"box": "nan 1 2 inf"}), "x0 y0 x1 y1"),
        (lambda f: f.edit("/Patient/Name", {"page": "two"}), "a number"),
        (lambda f: f.edit("/Patient/Name", {"modality": "textual"}), "changes nothing"),
        (lambda f: f.edit("/vqa/q1", {"fields": "/Nowhere"}), "no field at '/Nowhere'"),
        (lambda f: f.edit("/vqa/q1", {"derivation": "[1]"}), "JSON object"),
        (lambda f: f.edit("/Nowhere", {"label": "x"}), "no '/Nowhere'"),
        (lambda f: f.move("/Doctor", "/Doctor/Ward", 0), "in itself"),
        (lambda f: f.move("/Doctor", "/Date", 0), "takes none of groups"),
        (lambda f: f.move("/vqa/q1", "/Doctor", 0), "takes none of vqa"),
        (lambda f: f.move("/Date", "", 0), "there already"),
        (lambda f: f.add("", "fields", {"value": "5"}), "label is empty"),
        (lambda f: f.add("/Date", "fields", {"label": "x"}), "fields"),
        (lambda f: f.delete(""), "cannot be deleted"),
    ],
)  # fmt: skip
def test_what_cannot_be_done_is_refused_and_changes_nothing(form, make, message):
    with pytest.raises((DataBroken, UnknownName), match=message):
        make(form)
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
