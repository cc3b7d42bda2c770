import dataclasses

import polars as pl
import pytest

from formlab import charts, tables
from formlab.analysis import Finding
from formlab.folders import Evaluation

KEY = {"benchmark": "b", "split": "s", "task": "value"}


def evaluation(*outcomes, system="m", benchmark="b", status="ok"):
    key = KEY | {"benchmark": benchmark, "system": system, "level": "field"}
    documents = [{"benchmark": benchmark, "split": "s", "doc_id": "1"}]
    cases = [
        key | {"doc_id": "1", "path": f"/{n}", "gold": "g", "status": status, "outcome": outcome}
        for n, outcome in enumerate(outcomes)
    ]
    rows = {"documents": documents, "cases": cases, "scores": []}
    return Evaluation(*(tables.table(*item) for item in rows.items()), benchmark, "s", system)


def finding(claim, about="cause", paths=(), **more):
    keys = {"doc_id": "1", "task": "value"}
    cases = pl.DataFrame(
        [keys | {"path": path} for path in paths],
        schema=dict.fromkeys(("doc_id", "task", "path"), pl.String),
    )
    numbers = {"effect": 0.5, "ci_low": 0.25, "ci_high": 0.75, "n_docs": 2, "n_cases": 3}
    of = {"benchmark": "b", "split": "s", "system": "m", "metric": "outcome"}
    return Finding(claim, about, cases=cases, **(of | numbers | more))


def payload(*arguments, **options):
    return charts.first_screen(*arguments, **options).payload


def test_first_finding_that_holds_is_the_sentence_and_keeps_its_place_and_its_cases():
    chance = finding("Chance", holds=False)
    holds = finding("The cause is “x”", paths=["/0", "/1", "/7"], what_to_try="look")
    shown = payload(evaluation("match", "mismatch", "missing"), [chance, holds, holds])
    assert shown["finding"] == shown["findings"][0]["claim"] == "The cause is “x”."
    first, again = shown["findings"]
    assert (first["place"], first["linked"], first["try"], again["place"]) == (2, True, "look", 3)
    assert first["effect"] == (
        "50.0 % of all values, 95 % interval 25.0 % to 75.0 %, n = 3 in 2 documents"
    )
    # A share of something else is not called one of values.
    (other,) = payload(evaluation("match"), [finding("X", metric="")])["findings"]
    assert other["effect"].startswith("50.0 %, 95 % interval")
    own = payload(evaluation("match"), [holds], sentence="My words")
    assert (own["finding"], len(own["findings"])) == ("My words.", 1)


@pytest.mark.parametrize(
    ("results", "findings", "sentence"),
    [
        ([], [], "Nothing was scored."),
        (evaluation(), [finding("Too few", holds=False)], "Nothing was scored."),
        (evaluation("match", "missing"), [], "1 of 2 values right."),
        (evaluation("missing"), [finding("None was shown", holds=False)], "None was shown."),
    ],
)
def test_without_a_finding_that_holds_a_sentence_says_so(results, findings, sentence):
    shown = payload(results, findings)
    assert (shown["finding"], shown["findings"]) == (sentence, [])


def test_values_right_are_counted_and_what_the_gold_has_not_beside_them():
    one = evaluation("match", "mismatch", "match", "spurious")
    gold = pl.when(pl.col("outcome") != "spurious").then("gold")
    one = dataclasses.replace(one, cases=one.cases.with_columns(gold=gold))
    (run,) = payload(one)["runs"]
    assert [len(payload([one] * n)["cards"]) for n in (1, 4, 5)] == [1, 4, 0]
    assert run.endswith("2 of 3 values right, 1 more predicted without gold")
    of = finding("X", of="268 fields")
    assert payload(one, [of])["findings"][0]["effect"].startswith("50.0 % of 268 fields, ")
