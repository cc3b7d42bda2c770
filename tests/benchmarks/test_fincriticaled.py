import json

import polars as pl
import pytest

from formlab import benchmarks
from formlab.benchmarks.fincriticaled import tagged
from formlab.text.markup import written_events


def facts(markup):
    return [(fact.type, fact.value) for fact in tagged(written_events(markup))]


def load(root):
    return benchmarks.load("fincriticaled", split="test", root=root)


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
