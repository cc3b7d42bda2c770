import json

import polars as pl
import pytest
from PIL import Image

from formlab import benchmarks
from formlab.benchmarks.fincriticaled import tagged
from formlab.text.markup import written_events

PAGE = "<html><body><table><tr><td>Cash</td><td><NUMBER>5</NUMBER></td></tr></table></body></html>"


def facts(markup):
    return [(fact.type, fact.value) for fact in tagged(written_events(markup))]


def write(root, pages):
    for number, page in enumerate(pages):
        data = page if isinstance(page, bytes) else page.encode()
        (root / f"gold_{number}.txt").write_bytes(data)
    return root


def load(root):
    return benchmarks.get("fincriticaled").load("test", root)


def test_both_vocabularies_in_any_case_and_inside_markup():
    page = "<p><Date>May 1</Date> <b><NUMBER>5<i>,0</i></NUMBER></b> <temporal>Q2</temporal>"
    assert facts(page) == [("Number", "5,0"), ("Temporal", "May 1"), ("Temporal", "Q2")]


def test_facts_go_by_type_and_then_from_top_to_bottom():
    page = "<reportingentity>A</reportingentity><number>1</number><date>D</date><number>2</number>"
    assert [value for _, value in facts(page)] == ["1", "2", "D", "A"]


@pytest.mark.parametrize(
    ("page", "value"),
    [
        ("<monetaryunit>$</monetaryunit><number>5</number>", "$5"),
        ("<monetaryunit>$</monetaryunit> <b><number>5</number></b>", "$5"),
        ("<b><monetaryunit>€</monetaryunit></b><i><number>5</number></i>", "€5"),
        ("<monetaryunit>$</monetaryunit> about <number>5</number>", "$"),
        ("<monetaryunit>$</monetaryunit>", "$"),
        ("<monetaryunit>million</monetaryunit><number>5</number>", "million"),
    ],
)
def test_a_lone_currency_sign_takes_the_number_beside_it(page, value):
    assert ("Monetary Unit", value) in facts(page)


@pytest.mark.parametrize(
    ("pages", "values", "flaws"),
    [
        # Nested tags are both facts; an unclosed tag ends with its element.
        (["<number>1 <number>2</number></number> and more text for context"], ["12", "2"],
         {"fact tags nested in a fact tag": 1}),
        (["<table><tr><td><number>1 x</td><td>2</td></tr></table>"], ["1 x"],
         {"fact tags not closed": 1}),
        (["<number> </number>", PAGE], ["5"],
         {"fact tags without text": 1, "pages without a fact": 1}),
        (["<number>5</number> caf\xe9".encode("latin-1")], ["5"], {"files in latin-1": 1}),
    ],
)  # fmt: skip
def test_flaws_of_pages_are_counted_and_their_facts_kept(tmp_path, pages, values, flaws):
    corpus = load(write(tmp_path, pages))
    assert corpus.records.drop_nulls("path")["value"].to_list() == values
    assert corpus.flaws == flaws
    # The page itself is at no path.
    assert ("café" in corpus.records["value"][0]) == ("files in latin-1" in flaws)
    assert corpus.documents["n_fields"].to_list() in ([0, 1], [len(values)])


def test_facts_equal_those_of_the_released_code(shared):
    root = shared / "golden" / "fincriticaled"
    expected = json.loads((root / "entities.json").read_text())
    records = load(root).records.filter(pl.col("path").is_not_null())
    for page, facts_of_page in expected.items():
        rows = records.filter(pl.col("doc_id") == page)
        metas = [json.loads(meta) for meta in rows["meta"]]
        assert [
            {"type": meta["type"], "value": value, "context_hint": meta["hint"]}
            for meta, value in zip(metas, rows["value"], strict=True)
        ] == facts_of_page


def drawn(tmp_path, boxes):
    (tmp_path / "gold_0.txt").write_text("<p><temporal>2024</temporal> <number>5</number></p>")
    (tmp_path / "images").mkdir()
    Image.new("L", (90, 40), 255).save(tmp_path / "images" / "0.png")
    (tmp_path / "images" / "0.json").write_text(boxes)
    return benchmarks.get("fincriticaled").load("test", tmp_path)


def test_boxes_beside_the_picture_belong_to_the_facts_in_the_order_of_their_tags(tmp_path):
    corpus = drawn(tmp_path, "[[1, 2, 3, 4], [5, 6, 7, 8]]")
    facts = corpus.records.drop_nulls("path").select("value", "x0", "y1").rows()
    # Facts are listed numbers first; the tag of the year stands before it on the page.
    assert facts == [("5", 5.0, 8.0), ("2024", 1.0, 4.0)]


def test_csv_rows_are_pages_numbered_from_0(tmp_path):
    file = tmp_path / "input.csv"
    file.write_text(
        'image,matched_html\na.png,"<number>1</number>"\nb.png,"<p>\n""q"" <date>2</date>"\n'
    )
    corpus = load(tmp_path)
    assert corpus.documents["doc_id"].to_list() == ["0", "1"]
    assert corpus.records.filter(pl.col("path").is_not_null())["value"].to_list() == ["1", "2"]
    assert load(file).records["value"].to_list() == corpus.records["value"].to_list()
