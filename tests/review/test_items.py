import polars as pl

import formlab_review as review
from formlab import benchmarks, tables
from formlab_review import drafts
from formlab_review.drafts import Draft

CASE = {
    "benchmark": "b", "split": "s", "doc_id": "1", "system": "x", "task": "text", "path": "/a",
    "outcome": "mismatch", "gold": "7", "pred": "1", "cause": "digit",
}  # fmt: skip


def proposed(**more):
    shared = more.pop("shared", False)
    frame = tables.table("cases", [CASE | more])
    return frame.with_columns(
        systems=pl.Series([["x", "y"]]), n_agree=pl.lit(2), n_systems=pl.lit(3), shared=shared
    )


def test_a_contradicted_label_opens_on_what_the_systems_read():
    (item,) = review.of_proposals(proposed(x0=1.0, y0=2.0, x1=3.0, y1=4.0, page=2))
    assert (item.label, item.parts) == ("7", {"value": "1"})
    assert ("by", "2 of 3: x, y") in item.facts
    assert item.boxes == ((2, (1.0, 2.0, 3.0, 4.0)),)


def drafted(number, task, item, **more):
    item = {"id": f"d{number}", "scope": "intra-group", "rationale": "So."} | item
    return Draft("test", "blood_report", task, f"/{task}/d{number}", item=item, **more)


def test_drafts_of_a_corpus_are_its_sound_items_beside_the_fields_they_are_about(tmp_path):
    asked = {"question": "Who?", "answers": ["A", "B"], "fields": ["/Donor/Name", "/Nowhere"]}
    follows = {"source": "/Sample", "dependent": "/Stamp", "expected": "x", "confidence": 0.5}
    made = [
        drafted(1, "vqa", asked, origin="answers.sqlite#1"),
        drafted(2, "vqa", asked, rejected=("no answer",)),
        drafted(1, "consistency", follows),
        Draft("test", "blood_report", "vqa", None, "refused"),
        Draft("test", "blood_report", "layout", "/Stamp", item={"label": "Stamp"}),
    ]
    corpus = benchmarks.load("formcraft")
    items = review.of_corpus(corpus, drafts.write(tmp_path, made))
    # What was rejected, a whole form, and the fields of one are no items to accept.
    assert [item.key["path"] for item in items] == ["/consistency/d1", "/vqa/d1"]
    assert {item.key["benchmark"] for item in items} == {"formcraft"}
    check, question = items
    assert check.parts == {
        "source": "/Sample", "dependent": "/Stamp", "expected": "x", "rationale": "So.",
    }  # fmt: skip
    assert question.parts["answers"] == "A\nB"
    assert question.parts["fields"] == "/Donor/Name\n/Nowhere"
    assert ("origin", "answers.sqlite#1") in question.facts
    # Boxes as in the form: Sample and Stamp; Name, and nothing for a field that is not there.
    assert check.boxes == ((1, (400, 55, 533, 113)), (1, (503, 613, 575, 664)))
    assert question.boxes == ((1, (86, 157, 155, 177)),)
    # Without drafts it is the gold that is reviewed.
    assert len(review.of_corpus(corpus)) > len(items)
