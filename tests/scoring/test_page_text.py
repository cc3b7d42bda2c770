import dataclasses
import itertools

import polars as pl
import pytest

from formlab import analysis, benchmarks
from formlab.scoring.page_text import MOST, Text, find_stretches, squash
from formlab.tables import only
from tests.made_pages import entities, page_texts, planted


@pytest.fixture(scope="module")
def forms(shared):
    return benchmarks.load("funsd", root=shared / "data/funsd", split="test")


@pytest.fixture(scope="module")
def faults(forms):
    return planted(forms)


@pytest.fixture(scope="module")
def result(forms, faults):
    texts = {doc_id: said for doc_id, (_, _, said) in faults.items()}
    return analysis.evaluate(forms, page_texts(forms, texts))


@pytest.fixture(scope="module")
def pages(result):
    return {row["doc_id"]: row for row in analysis.worst_pages(result, limit=None).to_dicts()}


def fields(result, doc_id):
    cases = only(result.cases, doc_id=doc_id, task="text")
    return cases.filter(pl.col("path").is_not_null(), pl.col("gold").str.strip_chars() != "")


# What was planted: the word errors of its pages, and the outcome of the fields that it concerns.
PLANTED = {
    "none": (None, None), "dropped": ("omitted", "missing"), "shuffled": ("order", None),
    "hallucinated": ("inserted", None), "noise": ("substituted", "mismatch"),
}  # fmt: skip


@pytest.mark.parametrize("fault", PLANTED)
def test_what_was_planted_is_found_and_nothing_else(result, faults, pages, fault):
    error, outcome = PLANTED[fault]
    for doc_id, concerned in (
        (d, paths) for d, (name, paths, _) in faults.items() if name == fault
    ):
        cases = fields(result, doc_id)
        hurt = pl.col("path").is_in(concerned if outcome else [])
        # A value that is also kept elsewhere may stand for the one that was dropped.
        kept, lost = cases.filter(~hurt)["gold"], cases.filter(hurt)["gold"]
        once = cases.filter(hurt, ~pl.col("gold").is_in(kept.implode()))
        assert once.is_empty() or (once["outcome"] == outcome).mean() > 0.9
        rest = cases.filter(~hurt, ~pl.col("gold").is_in(lost.implode()))
        assert set(rest["outcome"]) == {"match"}
        errors = {
            name for name in ("omitted", "inserted", "substituted", "order") if pages[doc_id][name]
        }
        assert errors <= {error}
        assert errors or fault not in ("dropped", "shuffled")


def test_fields_of_another_page_are_not_found(forms):
    """Values of the next page, planted among a page's own fields, have no stretch of it."""
    ids, found, asked = forms.documents["doc_id"].to_list(), 0, 0
    for here, there in itertools.pairwise(ids):
        own, other = ([squash(v) for _, v in entities(forms, d)] for d in (here, there))
        page = Text(" ".join(v for _, v in entities(forms, here)))
        absent = [value for value in other if value not in page.squashed]
        placed = find_stretches(dict(enumerate(own + absent)), page)
        assert all(number in placed for number in range(len(own)))
        found += len(placed) - len(own)
        asked += len(absent)
    assert asked > 1500
    assert found / asked < 0.01


def test_text_beside_named_fields_is_not_searched_for_others(evaluate):
    named = {"doc_id": "a", "path": "/entities/0", "value": "Name:"}
    cases = fields(evaluate({"doc_id": "a", "text": "Name: Ada Berg"}, named), "a")
    assert cases["outcome"].to_list() == ["match", "missing"]


def test_one_stretch_serves_one_field(evaluate):
    # The form `a` has "Name:" and "Ada Berg"; the text has no second name.
    cases = evaluate({"doc_id": "a", "text": "Name: Name:"}, {"doc_id": "b", "text": ""}).cases
    rows = cases.filter(pl.col("path").is_not_null()).select("doc_id", "outcome", "at").rows()
    assert rows[:2] == [("a", "match", 0), ("a", "missing", None)]
    assert ("b", "missing", None) in rows


def test_marks_are_left_out_to_find_fields_and_counted(evaluate):
    result = evaluate({"doc_id": "a", "text": "| **Name:** | Ada&nbsp;Berg |\n|---|---|"})
    rows = fields(result, "a").select("pred", "at", "outcome").rows()
    assert rows == [("Name:", 4, "match"), ("Ada Berg", 14, "match")]
    assert result.notes["table bars taken out to find fields"] == 3
    assert result.notes["marks of emphasis taken out to find fields"] == 2
    long = evaluate({"doc_id": "a", "text": "nmae" * MOST}).notes
    assert long["characters of page texts too long to be searched"] > 0
    # The page's own scores are of the text as it was given: 15 characters of "name: ada berg".
    assert only(result.scores, doc_id="a", level="page", metric="cer")["hits"].item() > 0


def test_joined_words_are_cut_between_fields_and_figures_are_not(evaluate):
    joined = {"doc_id": "a", "text": "Name:Ada Berg"}, {"doc_id": "b", "text": "Total 19.00"}
    found = evaluate(*joined)
    assert fields(found, "a")["pred"].to_list() == ["Name:", "Ada Berg"]
    row = fields(found, "b").row(0, named=True)
    assert (row["pred"], row["outcome"]) == ("Total 19.00", "mismatch")


def test_fields_that_the_gold_text_does_not_hold_are_not_judged(corpus):
    gold = corpus.records.with_columns(
        value=pl.when(pl.col("path") == "/entities/1").then(pl.lit("Zoë Quux")).otherwise("value")
    )
    changed = dataclasses.replace(corpus, records=gold)
    result = analysis.evaluate(changed, page_texts(changed, {"a": "Name: Ada Berg"}))
    assert only(result.cases, doc_id="a", path="/entities/1")["outcome"].to_list() == ["unscored"]
    what = "fields not judged: the gold text of their page does not hold them"
    assert result.notes[what] == 1


def test_receipts_key_and_line_share_their_words(shared):
    corpus = benchmarks.load("sroie", root=shared / "data/sroie")
    page = corpus.records.filter(pl.col("path").is_null(), pl.col("value") != "").head(20)
    texts = dict(page.select("doc_id", "value").rows())
    cases = analysis.evaluate(corpus, page_texts(corpus, texts), documents=list(texts)).cases
    cases = cases.filter(pl.col("path").is_not_null())
    lines, keys = cases.filter(pl.col("kind") == "line"), cases.filter(pl.col("kind") != "line")
    assert (lines["outcome"] == "match").mean() > 0.99
    # Of these receipts' 80 keys, 9 are spelled otherwise in the gold's own lines.
    assert keys["outcome"].value_counts(name="n").sort("outcome").rows() == [
        ("match", 71), ("mismatch", 9),
    ]  # fmt: skip


def test_lines_of_a_field_that_stand_apart_are_one_field():
    page = Text("Ship to: Bill to:\nAda Berg Zoë Quux\n5 Mill Lane 7 Low Ferry")
    values = ["Ship to:", "Bill to:", "Ada Berg 5 Mill Lane", "Zoë Quux 7 Low Ferry"]
    words = [[squash(word) for word in value.split()] for value in values]
    squashed = dict(enumerate(map(squash, values)))
    placed = find_stretches(squashed, page, words=words)
    assert [page.shown(placed[number]) for number in range(4)] == values


def test_a_value_within_another_is_found_as_it_stands_in_the_gold_text():
    text = "Ship to 5 Mill Lane Low Ferry"
    values = {"address": "5 Mill Lane Low Ferry", "city": "Low Ferry", "lane": "Mill Lane"}
    gold = [{"doc_id": "a", "path": f"/{name}", "value": value} for name, value in values.items()]
    page = {"doc_id": "a", "path": None, "value": text}
    cases = analysis.evaluate([*gold, page], [{"doc_id": "a", "text": text}]).fields
    assert cases["outcome"].to_list() == ["match"] * 3
