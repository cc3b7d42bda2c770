"""A folder of drafts and what two reviewers said of it, written back into forms."""

import json
import shutil

import polars as pl
import pytest

import formlab_review as review
from formlab import benchmarks, decisions
from formlab.benchmarks.formcraft import read_form
from formlab.errors import DataBroken
from formlab_review import drafts
from formlab_review.drafts import Draft

from .conftest import FORMS

FORM = FORMS["order"]

WORDS = {
    "scope": "intra-group", "reference": "direct-link", "complexity": "simple",
    "modal": "single-modality", "rationale": "So it says.",
}  # fmt: skip


def question(number, answer, *fields):
    item = {"id": f"d{number}", "question": f"Who {number}?", "answers": [answer], "options": []}
    return item | {"fields": list(fields)} | WORDS


def check(number, source, dependent, expected):
    ends = {"id": f"d{number}", "source": source, "dependent": dependent, "expected": expected}
    return ends | {"confidence": 0.5} | WORDS


def draft(doc, task, item, **more):
    return Draft("test", doc, task, f"/{task}/{item['id']}", item=item, system="chat:m", **more)


class Desk:
    """A folder of drafts; `says` decides as a reviewer does, `accepted` closes the review."""

    def __init__(self, root, made):
        self.root, self.made = root, made
        drafts.write(root, made)
        self.corpus = benchmarks.load("formcraft", root=root)

    def says(self, reviewer, **decided):
        items = review.of_corpus(self.corpus)
        if any(made.task != "layout" for made in self.made):
            items += review.of_corpus(self.corpus, self.root)
        drafted = review.Review(items, self.root / "reviews", reviewer)
        at = {f"{item.key['doc_id']}:{item.key['path']}": n for n, item in enumerate(items)}
        for name, decision in decided.items():
            word, parts = decision if isinstance(decision, tuple) else (decision, None)
            drafted.decide(at[name], word, parts=parts)

    def accepted(self):
        return review.accepted(self.corpus, self.made, decisions.read(self.root / "reviews"))


@pytest.fixture
def desk(tmp_path):
    def opened(*made, form=FORM, converted=False):
        root = tmp_path / "drafted"
        (root / "forms").mkdir(parents=True)
        (root / "images").mkdir()
        (root / "forms" / "order.json").write_text(json.dumps(form))
        sample = benchmarks.SAMPLES / "formcraft" / "test"
        shutil.copy(sample / "images" / "lease.png", root / "images" / "order.png")
        shutil.copy(sample / "forms" / "lease.json", root / "forms" / "lease.json")
        made = list(made)
        if converted:
            paths = ["/Name", "/Name#2", "/Paid", "/Days/Start", None]
            made += [Draft("test", "order", "layout", path, item={"label": "x"}) for path in paths]
        return Desk(root, made)

    return opened


@pytest.fixture
def accepted_one(desk):
    """A folder with one question, which Ada accepts."""
    drafted = desk(draft("order", "vqa", question(1, "Bob", "/Name", "/Name#2")))
    drafted.says("ada", **{"order:/vqa/d1": "accept"})
    return drafted


def everything(word, *paths):
    return {f"order:{path}": word for path in paths}


def outcomes(result):
    return {path or "form": outcome for _, _, path, outcome, _ in result.fates}


def test_items_go_in_as_decided_and_the_rest_is_counted(desk, tmp_path):
    drafted = desk(
        draft("order", "vqa", question(1, "Bob", "/Name", "/Name#2")),
        draft("order", "vqa", question(2, "Ada", "/Name", "/Name#2")),
        draft("order", "vqa", question(3, "Ada", "/Name", "/Paid")),
        draft("order", "vqa", question(4, "Ada", "/Name", "/Paid")),
        draft("order", "consistency", check(1, "/Name", "/Paid", "checked")),
        draft("order", "consistency", check(2, "/Name", "/Paid", "checked")),
        draft("order", "consistency", check(3, "/Name", "/Paid", "no"), rejected=("no",)),
    )
    edit = ("edit", {"question": "Who signs?", "answers": "Ada\nBob"})
    wrong = ("edit", {"expected": "unchecked"})
    drafted.says("ada", **{
        "order:/vqa/d1": "accept", "order:/vqa/d2": edit, "order:/vqa/d3": "reject",
        "order:/consistency/d1": wrong, "order:/consistency/d2": "accept",
    })  # fmt: skip
    drafted.says("bob", **{"order:/consistency/d2": "reject", "order:/vqa/d1": "accept"})
    result = drafted.accepted()
    assert result.counts().filter(pl.col("drafts") > 0).rows() == [
        # drafted, drafts, accepted, edited, rejected, undecided, disputed, kept out, unsound
        ("vqa", 4, 1, 1, 1, 1, 0, 0, 0),
        ("consistency", 3, 0, 0, 0, 0, 1, 1, 1),
    ]
    assert result.kept_out() == [
        ("order", "/consistency/d1",
         "expected 'unchecked', and the annotation of /Paid says 'checked'"),
    ]  # fmt: skip
    made = benchmarks.load("formcraft", root=result.save(tmp_path / "out"))
    form = read_form(tmp_path / "out" / "test" / "forms" / "order.json")
    assert [(item["question"], item["answers"]) for item in form["vqa"]] == [
        ("Who 1?", ["Bob"]), ("Who signs?", ["Ada", "Bob"]),
    ]  # fmt: skip
    assert "consistency" not in form
    # The other form and its items are there as they were.
    before = drafted.corpus.records.filter(pl.col("doc_id") == "lease")
    assert made.records.filter(pl.col("doc_id") == "lease").equals(before)
    assert made.documents.filter(doc_id="order")["image"].item() == "test/images/order.png"


def test_a_converted_form_is_written_once_all_its_fields_are_decided(desk):
    drafted = desk(converted=True)
    for fields, outcome in (
        (["/Name", "/Name#2", "/Paid"], "undecided"),
        (["/Days/Start"], "accepted"),
    ):
        drafted.says("ada", **everything("accept", *fields))
        result = drafted.accepted()
        assert outcomes(result)["form"] == outcome
        assert ("order" in result.forms) == (outcome == "accepted")


def test_a_rejected_field_goes_and_what_names_the_others_still_finds_them(desk, tmp_path):
    formula = {"formula": "a + a", "fields": {"a": "/Name#2"}}
    drafted = desk(
        draft("order", "vqa", question(1, "Robin", "/Name#2", "/Paid") | {"derivation": formula}),
        draft("order", "vqa", question(2, "checked", "/Name", "/Paid")),
        draft("order", "consistency", check(1, "/Name#2", "/Paid", "checked")),
        draft("order", "consistency", check(2, "/Paid", "/Name#2", "Bob")),
        converted=True,
    )
    paid = ("edit", {"modality": "Marking", "subtype": "Check Box"})
    drafted.says("ada", **{
        "order:/Name": "reject", "order:/Name#2": ("edit", {"value": "Robin"}),
        "order:/Paid": paid, "order:/Days/Start": "accept",
    })  # fmt: skip
    every = ["/vqa/d1", "/vqa/d2", "/consistency/d1", "/consistency/d2"]
    drafted.says("ada", **everything("accept", *every))
    result = drafted.accepted()
    assert set(result.kept_out()) == {
        ("order", "/vqa/d2", "no field at /Name"),
        ("order", "/consistency/d2", "expected 'Bob', and the annotation of /Name#2 says 'Robin'"),
    }
    assert outcomes(result)["form"] == "edited"
    made = benchmarks.load("formcraft", root=result.save(tmp_path / "out"))
    rows = made.records.filter(doc_id="order")
    assert rows.select("path", "task", "value").rows() == [
        ("/Name", "text", "Robin"), ("/Paid", "marking", "checked"), ("/Days", "layout", "Days"),
        ("/Days/Start", "text", "1 May"), ("/vqa/d1", "vqa", "Robin"),
        ("/consistency/d1", "consistency", "checked"),
    ]  # fmt: skip
    form = result.forms["order"]
    # Words of the taxonomy are written in its spelling.
    assert form["fields"][1] == {
        "label": "Paid", "value": "checked", "modality": "marking", "modality_subtype": "checkbox",
    }  # fmt: skip
    assert form["vqa"][0]["fields"] == ["/Name", "/Paid"]
    assert form["vqa"][0]["derivation"]["fields"] == {"a": "/Name"}
    assert form["consistency"][0]["source"] == "/Name"
    # What else was accepted was said of Bob.
    assert rows["accepted"][0] is None
    assert not any("field that is not there" in flaw for flaw in made.flaws)


def test_the_forms_go_to_no_folder_where_they_could_be_mistaken(accepted_one, tmp_path):
    result = accepted_one.accepted()
    with pytest.raises(DataBroken, match="the ones drafted on"):
        result.save(accepted_one.root)
    out = result.save(tmp_path / "out")
    assert result.save(out) == out
    # An edit of a part that an item has not is kept out.
    file = accepted_one.root / "reviews" / "ada.jsonl"
    edit = {"decision": "edit", "parts": {"expected": "x"}}
    file.write_text(json.dumps(json.loads(file.read_text()) | edit))
    why = "the edit is of expected, and the item has no such part"
    assert [reason for *_, reason in accepted_one.accepted().kept_out()] == [why]
    (out / "test" / "forms" / "stale.json").write_text("{}")
    with pytest.raises(DataBroken, match="stale.json, which is not among"):
        result.save(out)
