import json

import polars as pl
import pytest

from formlab import benchmarks
from formlab.benchmarks.fincriticaled import tagged
from formlab.text.markup import written_events


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
    facts = tagged(written_events(page))
    assert ("Monetary Unit", value) in [(fact["type"], fact["value"]) for fact in facts]


def test_facts_equal_those_of_the_released_code(shared):
    root = shared / "golden" / "fincriticaled"
    records = benchmarks.load("fincriticaled", root=root).records.drop_nulls("path")
    for page, facts in json.loads((root / "entities.json").read_text()).items():
        rows = records.filter(pl.col("doc_id") == page).iter_rows(named=True)
        metas = [json.loads(row["meta"]) | row for row in rows]
        names = {"type": "type", "value": "value", "context_hint": "hint"}
        assert [{name: meta[key] for name, key in names.items()} for meta in metas] == facts
