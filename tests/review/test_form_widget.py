"""The review of whole forms: what its page is told, and the page in a real JupyterLab."""

import json

import pytest
from PIL import Image
from playwright.sync_api import expect

import formlab_review as review
from formlab import benchmarks, browser
from formlab.errors import DataBroken
from formlab_review import changes
from tests.lab import allowed, jupyterlab, run_cell

from .conftest import EVIL

FORM = {
    "fields": [{"label": "Date", "value": "2 May", "page": 1, "box": [20, 20, 90, 40]},
               {"label": EVIL, "value": EVIL}],
    "groups": [{"label": "Patient", "page": "x", "box": ["a", 1, 2, 3],
                "fields": [{"label": "Name", "value": "Ada"}], "groups": []}],
    "vqa": [{"id": "q", "question": EVIL, "answers": [EVIL],
             "fields": ["/Nowhere", "/vqa/q", "/Patient"]}],
}  # fmt: skip
CELL = """import formlab_review as review
from formlab import benchmarks
corpus = benchmarks.load("formcraft", root="drafts")
pages = review.Pages(corpus.documents, corpus.root)
display(*review.FormReview(corpus, "edits", "ada", pages).show())"""


@pytest.fixture
def desk(tmp_path):
    for name in ("forms", "images"):
        (tmp_path / "drafts" / name).mkdir(parents=True)
    (tmp_path / "drafts" / "forms" / "a.json").write_text(json.dumps(FORM))
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


@pytest.mark.complete
@pytest.mark.browser
def test_a_form_is_changed_by_keyboard_and_the_changes_are_in_the_file(desk, tmp_path):
    with jupyterlab(tmp_path, CELL) as lab, browser.page(allow=allowed(lab)) as visit:
        page = visit.page
        page.goto(f"{lab}/lab/tree/demo.ipynb?reset")
        run_cell(page)
        page.locator(".fr-holder img").wait_for()
        page.locator('[role="tree"] [role="treeitem"]').first.focus()

        def press(*keys, until):
            for key in keys:
                page.keyboard.press(key)
            page.locator(".fr-count", has_text=f"this one: {until}").wait_for()

        # Date goes into Patient and is renamed; a missing field is added; the question goes.
        press("ArrowDown", "Shift+ArrowRight", until="1 change,")
        page.keyboard.press("F2")
        page.keyboard.type("Day")
        press("Enter", until="2 changes")
        page.keyboard.press("f")
        page.keyboard.type("Fax")
        press("Enter", until="3 changes")
        press("End", "ArrowUp", "Delete", until="4 changes")
        press("u", until="3 changes")
        press("v", until="3 changes, verified")
        question = page.locator('[role="treeitem"][aria-selected="true"]')
        assert question.get_attribute("aria-level") == "2"
        expect(question).to_contain_text("<img src=x")
        assert page.evaluate("typeof pwned") == "undefined"
        assert (visit.requests, visit.errors) == ([], [])
    desk.reload()
    fields = desk.form("a").content()["groups"][0]["fields"]
    assert [field["label"] for field in fields] == ["Name", "Day", "Fax"]
    assert [node.kind for node in desk.form("a").walk()].count("vqa") == 1
    assert desk.form("a").verified
