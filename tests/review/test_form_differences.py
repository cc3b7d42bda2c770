"""Two reviewers with known differences: agreement by hand, a queue, a third person, the gold."""

import json

import polars as pl
import pytest

import formlab_review as review
from formlab import benchmarks, decisions

from .conftest import FORMS

FORM = FORMS["reviewed"]


@pytest.fixture
def root(tmp_path):
    folder = tmp_path / "drafts" / "forms"
    folder.mkdir(parents=True)
    for name in ("a", "b", "c"):
        # Nobody's way to write JSON: a form that nobody changes stays so.
        (folder / f"{name}.json").write_text(json.dumps(FORM, indent=3) + "\n\n")
    return tmp_path / "drafts"


@pytest.fixture
def desks(root, tmp_path):
    corpus = benchmarks.load("formcraft", root=root)
    return [review.FormReview(corpus, tmp_path / "edits", name) for name in ("ada", "ben")]


def change(desk, doc, *steps):
    for method, *arguments in steps:
        desk.make(doc, getattr(desk.form(doc), method)(*arguments))


@pytest.fixture
def differing(desks):
    """Form a reviewed by both with differences, b by both without changes, c by one."""
    ada, ben = desks
    change(
        ada, "a", ("edit", "/Name", {"modality_subtype": "machine-printed"}),
        ("edit", "/vqa/q1", {"scope": "cross-page"}), ("edit", "/Fees", {"label": "Charges"}),
        ("add", "/Fees", "fields", {"label": "Tax", "value": "1"}),
        ("move", "/Paid", "/Fees", 0), ("edit", "/Sex", {"box": "10 40 90 59"}),
    )  # fmt: skip
    change(
        ben, "a", ("edit", "/Sex", {"modality": "textual", "modality_subtype": "handwritten"}),
        ("edit", "/Fees", {"label": "Charges"}), ("edit", "/Fees/Fee", {"value": "9.00"}),
        ("delete", "/Notes"), ("move", "/Photo", "", 0),
    )  # fmt: skip
    for desk in desks:
        change(desk, "a", ("verify",))
        change(desk, "b", ("verify",))
    change(ada, "c", ("verify",))
    return desks


def test_agreement_is_the_hand_count_for_each_attribute(differing):
    table = review.form_agreement(*differing, resamples=50)
    rows = {(row["of"], row["attribute"]): row for row in table.to_dicts()}

    def counts(of, attribute):
        row = rows[of, attribute]
        return row["n_items"], row["n_same"]

    # Forms a and b have 4 fields with a modality each; of Sex in a they differ. ada: 2 textual,
    # 4 marking, 2 visual; ben: 3, 3, 2. (7/8 - p) / (1 - p) with p = (2·3 + 4·3 + 2·2) / 64.
    assert rows["field", "modality"]["kappa"] == pytest.approx((56 - 22) / (64 - 22))
    assert rows["field", "modality"]["share"] == 7 / 8
    # Name and Sex in a differ. ada: 1 printed, 1 handwritten, 4 checkbox, 2 image;
    # ben: 3 handwritten, 3 checkbox, 2 image. p = (1·3 + 4·3 + 2·2) / 64.
    assert rows["field", "modality_subtype"]["kappa"] == pytest.approx((48 - 19) / (64 - 19))
    # Of 4 questions one scope differs. ada: cross, inter, intra, inter; ben: 2 intra, 2 inter.
    assert rows["question", "scope"]["kappa"] == pytest.approx((12 - 6) / (16 - 6))
    assert counts("question", "reference") == (4, 4)
    # 12 fields as drafted and Tax: Tax is ada's only, Note is left out by ben.
    assert counts("field", "presence") == (13, 11)
    assert counts("group", "presence") == (4, 3)
    # Of what both kept: 11 fields, of which Paid stands in another group.
    assert counts("field", "parent") == (11, 10)
    assert counts("group", "label") == (3, 3)
    assert counts("field", "value") == (11, 10)
    # Sex's box is drawn anew, and is of the same thing.
    assert counts("field", "box") == (8, 8)
    # In the form itself: Name, Sex, Photo; ben moved Photo to the front.
    assert counts("form", "order of fields") == (2, 1)


def test_the_queue_has_what_differs_once(differing):
    queue = review.form_queue(*differing)
    assert queue.columns == ["doc_id", "path", "attribute", "ada", "ben", "decision", "value"]
    assert set(queue["doc_id"]) == {"a"}
    # Note goes with its group, which is asked about.
    assert set(queue.select("path", "attribute", "ada", "ben").rows()) == {
        ("/Name", "modality_subtype", "machine-printed", "handwritten"),
        ("/Sex", "modality", "marking", "textual"),
        ("/Sex", "modality_subtype", "checkbox", "handwritten"),
        ("/Paid", "parent", "/Fees", "/"),
        ("/Fees/Fee", "value", "9", "9.00"),
        ("/Fees/Tax", "presence", "kept", "left out"),
        ("/Notes", "presence", "kept", "left out"),
        ("/vqa/q1", "scope", "cross-page", "intra-group"),
        ("", "order of fields", "/Name\n/Sex\n/Photo", "/Photo\n/Name\n/Sex"),
    }  # fmt: skip


def decide(desks, folder, choices, reviewer="carl"):
    third = review.adjudicate(*desks, folder, reviewer)
    for at, item in enumerate(third.items):
        word = choices[item.key["path"]]
        parts = {} if isinstance(word, str) else {"parts": dict.fromkeys(item.parts, word[0])}
        third.decide(at, word if isinstance(word, str) else "edit", **parts)
    return decisions.read(folder)


CHOICES = {
    "/Name@modality_subtype": "first", "/Sex@modality": "second",
    "/Sex@modality_subtype": ["mixed"], "/Paid@parent": "second", "/Fees/Fee@value": ["9,00"],
    "/Fees/Tax@presence": "first", "/Notes@presence": "second", "/vqa/q1@scope": "first",
    "@order of fields": "second",
}  # fmt: skip


def test_a_third_person_decides_and_the_gold_is_the_form_expected(differing, root, tmp_path):
    undecided = review.gold(*differing)
    assert [fate[3] for fate in undecided.fates] == ["undecided", "accepted", "undecided"]
    third = decide(differing, tmp_path / "third", CHOICES)
    assert review.form_queue(*differing, third)["decision"].null_count() == 0
    gold = review.gold(*differing, third)
    assert [fate[3] for fate in gold.fates] == ["edited", "accepted", "undecided"]
    want = json.loads(json.dumps(FORM))
    name, sex, paid, photo = want["fields"]
    name["modality_subtype"] = "machine-printed"
    sex |= {"modality": "textual", "modality_subtype": "mixed", "box": [10, 40, 90, 59]}
    want["fields"] = [photo, name, sex, paid]
    tax = {"label": "Tax", "value": "1"}
    want["groups"] = [want["groups"][0] | {
        "label": "Charges", "fields": [{"label": "Fee", "value": "9,00"}, tax],
    }]  # fmt: skip
    want["vqa"][0]["scope"] = "cross-page"
    assert json.loads(gold.forms["a"]) == want
    gold.save(tmp_path / "gold")
    made = tmp_path / "gold" / "test" / "forms"
    assert (made / "b.json").read_bytes() == (root / "forms" / "b.json").read_bytes()
    loaded = benchmarks.load("formcraft", root=tmp_path / "gold")
    assert loaded.documents["doc_id"].to_list() == ["a", "b"]
    assert loaded.records.filter(path="/Charges/Tax")["value"].to_list() == ["1"]


def test_a_decision_on_what_was_changed_since_counts_no_more(differing, tmp_path):
    third = decide(differing, tmp_path / "third", CHOICES)
    change(differing[0], "a", ("edit", "/vqa/q1", {"scope": "inter-group"}), ("verify",))
    queue = review.form_queue(*differing, third)
    assert queue.filter(pl.col("decision").is_null())["path"].to_list() == ["/vqa/q1"]
    gold = review.gold(*differing, third)
    assert list(gold.forms) == ["b"]
    assert list(gold.notes.values()) == [1]


def test_decisions_that_contradict_each_other_keep_a_form_out(desks, tmp_path):
    ada, ben = desks
    change(ada, "a", ("move", "/Fees/Fee", "", 0), ("delete", "/Fees"), ("verify",))
    change(ben, "a", ("verify",))
    choices = {"/Fees/Fee@parent": "second", "/Fees@presence": "first"}
    gold = review.gold(ada, ben, decide(desks, tmp_path / "third", choices))
    ((doc_id, _, why),) = gold.kept_out()
    assert (doc_id, "/Fees" in why) == ("a", True)
