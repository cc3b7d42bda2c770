import polars as pl

from formlab import analysis, benchmarks, charts
from formlab.analysis.pages import PAGES
from formlab.charts import Caption
from tests.made_pages import page_texts, planted

ROW = dict.fromkeys(PAGES, 0) | {"doc_id": "<b>1", "status": "ok", "words": 10, "wer": 0.3}
ROW |= {"omitted": 0.2, "order": 0.1, "fields": 4, "missed": 1, "wrong": 1}
PAGE = pl.DataFrame([ROW], schema=PAGES, strict=False)


def test_bars_draw_each_part_and_the_table_its_fields():
    parts = charts.page_figures(PAGE)
    chart = parts[1].to_dict()
    data = next(iter(chart["datasets"].values()))
    drawn = {row["error"]: row["rate"] for row in data}
    assert drawn == {"omitted": 0.2, "inserted": 0.0, "substituted": 0.0, "out of order": 0.1}
    assert charts.page_table(PAGE).frame["missed"].to_list() == [1]
    assert "1 page with 10 gold words" in parts[0].text


def test_without_pages_there_is_one_line():
    empty = PAGE.clear()
    assert [part.label for part in charts.page_figures(empty)] == ["Note"]
    assert isinstance(charts.page_error_bars(empty), Caption)


def test_page_without_gold_words_is_in_the_table_and_not_in_the_bars():
    blank = PAGE.with_columns(wer=pl.lit(float("nan")))
    assert isinstance(charts.page_error_bars(blank), Caption)
    assert charts.page_table(blank).frame.height == 1


def test_each_evaluation_with_page_texts_has_its_bars():
    corpus = benchmarks.load("funsd", split="test")
    texts = {doc_id: said for doc_id, (_, _, said) in planted(corpus).items()}
    result = analysis.evaluate(corpus, page_texts(corpus, texts))
    said, chart = charts.each_page_figures([result], limit=3)
    assert "parser on funsd:test. 3 pages" in said.text
    assert len(next(iter(chart.to_dict()["datasets"].values()))) == 12
    assert [part.label for part in charts.each_page_figures([])] == ["Note"]
