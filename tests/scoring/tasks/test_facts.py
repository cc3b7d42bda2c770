import json

import polars as pl
import pytest
from PIL import Image

from formlab import benchmarks, tables
from formlab.readers import read_predictions
from formlab.scoring.tasks import facts

from .conftest import predictions, scored_by

GOLD = (
    "<html><body><table><tr><td>Net sales</td><td><number>4,310</number></td></tr>"
    "<tr><td>Costs</td><td><number>(1,200)</number></td></tr></table>"
    "<p>Filed on <temporal>March 24, 2025</temporal> in the year 2015, page "
    "<number>5</number></p></body></html>"
)


@pytest.fixture
def corpus(tmp_path):
    for number in range(2):
        (tmp_path / f"gold_{number}.txt").write_text(GOLD)
    return benchmarks.load("fincriticaled", split="test", root=tmp_path)


def predicted(corpus, texts):
    base = {"benchmark": corpus.benchmark, "split": corpus.split, "task": "text", "kind": "page"}
    return predictions(*(base | {"doc_id": doc, "value": text} for doc, text in texts.items()))


def scored_pages(corpus, texts, mode="fixed"):
    return scored_by(facts, corpus, predicted(corpus, texts), mode)


def pooled(scored, metric, kind=None):
    rows = scored.scores.filter(pl.col("metric") == metric)
    if kind:
        rows = rows.join(
            scored.cases.filter(pl.col("kind") == kind), on=["doc_id", "path"], how="semi"
        )
    return rows["hits"].sum(), rows["total"].sum()


def test_an_unusable_or_empty_page_is_nothing_found(corpus):
    empty = scored_pages(corpus, {"0": "", "1": " "})
    assert pooled(empty, "fact_accuracy") == (0, 8)
    assert empty.notes == {"empty predictions": 2}


def test_page_metrics_equal_the_released_code(shared):
    root = shared / "golden" / "fincriticaled"
    corpus = benchmarks.load("fincriticaled", split="test", root=root)
    scored = scored_by(facts, corpus, read_predictions(root / "pred", corpus), "official")
    names = {"rouge1_stem": "rouge1", "rougeL_stem": "rougeL", "edit_distance": "edit_distance"}
    known = json.loads((root / "text_metrics.json").read_text())
    pages = scored.scores.filter(pl.col("metric").is_in(list(names)))
    assert pages.height == 30
    for doc, metric, value in pages.select("doc_id", "metric", "value").iter_rows():
        assert value == pytest.approx(known[doc][names[metric]], abs=1e-9)


def causes(tmp_path, gold, pred):
    (tmp_path / "gold_0.txt").write_text(gold)
    corpus = benchmarks.load("fincriticaled", split="test", root=tmp_path)
    scored = scored_pages(corpus, {"0": pred})
    return scored.cases.drop_nulls("path")["cause"].to_list()


@pytest.mark.parametrize(
    ("gold", "pred", "cause"),
    [
        ("<p>loss (<number>1,279</number>) in all</p>", "loss 1,279 in all", "sign"),
        ("<p>loss <number>(1,279)</number> in all</p>", "loss 1,279 in all", "sign"),
        ("<p>sales <number>1,279)</number> in all</p>", "sales 1,278 in all", "digit"),
        ("<p>sales <number>1,279</number> in all</p>", "sales 12.79 in all", "scale"),
        ("<p>sales <number>1,279</number> in all</p>", "sales 1279 in all", "number_format"),
        ("<p>Filed <temporal>May 3, 2025</temporal></p>", "Filed May 3, 2024", "digit"),
        ("<p>sales <number>1,279</number> in all</p>", "sales in all", "missed"),
        ("<p>sales <number>1,279</number> in all</p>", "sales 1,279 in all", None),
    ],
)  # fmt: skip
def test_a_wrong_fact_has_the_cause_that_its_page_shows(tmp_path, gold, pred, cause):
    assert causes(tmp_path, gold, pred) == [cause]


def test_values_that_changed_rows_are_wrong_rows_and_misplaced(tmp_path):
    gold = (
        "<table><tr><td>Net sales</td><td><number>4,310</number></td></tr>"
        "<tr><td>Total costs</td><td><number>1,250</number></td></tr></table>"
    )
    assert causes(tmp_path, gold, pred := "Net sales 1,250\nTotal costs 4,310") == ["wrong_row"] * 2
    corpus = benchmarks.load("fincriticaled", split="test", root=tmp_path)
    assert pooled(scored_pages(corpus, {"0": pred}), "fact_misplaced_rate") == (2, 2)


def test_facts_carry_the_gold_box(tmp_path):
    (tmp_path / "images").mkdir()
    Image.new("L", (90, 40), 255).save(tmp_path / "images" / "0.png")
    (tmp_path / "images" / "0.json").write_text("[[50, 10, 80, 20]]")
    (tmp_path / "gold_0.txt").write_text("<p>Net sales <number>4,310</number></p>")
    corpus = benchmarks.load("fincriticaled", split="test", root=tmp_path)
    cases = scored_pages(corpus, {"0": "Net sales 4,310"}).cases.drop_nulls("path")
    assert cases.select(tables.BOX).row(0) == (50, 10, 80, 20)


def test_html_is_compared_as_it_is_written_and_without_the_tags_of_facts(tmp_path):
    gold = "<p>Net sales <number>4</number></p>"
    (tmp_path / "gold_0.txt").write_text(gold)
    corpus = benchmarks.load("fincriticaled", split="test", root=tmp_path)

    def values(text):
        scored = scored_pages(corpus, {"0": text})
        pages = scored.scores.filter(level="page").select("metric", "value").iter_rows()
        return dict(pages), scored.notes

    # The HTML is "<p>Net sales 4</p>": 18 characters, and to ROUGE the words p net sale 4 p.
    # Of "Net sales 4" (3 words) all 3 are among the 5: F1 = 2·3/(3+5); 7 of 18 characters are new.
    scores, notes = values("Net sales 4")
    assert (scores["rouge1_stem"], scores["rouge1_html"]) == (1, 0.75)
    assert scores["rougeL_html"] == 0.75
    assert (scores["edit_distance"], scores["edit_distance_html"]) == (0, 7 / 18)
    assert notes == {"predictions without markup, compared with HTML as they are": 1}
    # A <b> in place of the <p>: words b net sale 4 b, 3 of 5 in common; 2 of 18 characters differ.
    scores, notes = values("<b>Net sales 4</b>")
    assert (scores["rouge1_html"], scores["edit_distance_html"]) == (0.6, 2 / 18)
    assert (scores["rouge1_stem"], notes) == (1, {})
