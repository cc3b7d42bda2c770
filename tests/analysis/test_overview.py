import dataclasses
import math

import pytest

from formlab import analysis, tables
from formlab.tables import Evaluation, Predictions

KEY = {"benchmark": "funsd", "split": "test", "system": "x"}


def evaluation(rows, *, system="x", responses=None):
    """From (document, kind, outcome, status, cause) of each field."""
    docs = list(dict.fromkeys(row[0] for row in rows))
    documents = [{"benchmark": "funsd", "split": "test", "doc_id": doc} for doc in docs]
    cases = [
        KEY | {
            "system": system, "doc_id": doc, "path": f"/{n}", "task": "text", "kind": kind,
            "outcome": outcome, "status": status, "cause": cause,
            "gold": None if outcome == "spurious" else "g",
        }
        for n, (doc, kind, outcome, status, cause) in enumerate(rows)
    ]  # fmt: skip
    made = Evaluation(
        tables.table("documents", documents), tables.table("cases", cases),
        tables.table("scores", []), "funsd", "test", system,
    )  # fmt: skip
    if responses is None:
        return made
    given = [KEY | {"doc_id": "1", "task": "text", "status": "ok"} | one for one in responses]
    predictions = Predictions(
        records=tables.table("records", []), responses=tables.table("responses", given),
        system=system,
    )  # fmt: skip
    return dataclasses.replace(made, predictions=predictions)


FIELDS = [
    ("1", "a", "match", "ok", None),
    ("1", "a", "mismatch", "ok", "digit"),
    ("1", "b", "mismatch", "ok", "digit"),
    ("1", "b", "missing", "ok", "missing"),
    ("2", "a", "missing", "refused", "refused"),
    ("2", "b", "spurious", "ok", "spurious"),
]


def test_runs_count_documents_and_values_by_what_became_of_them():
    row = analysis.runs([evaluation(FIELDS)]).row(0, named=True)
    assert {name: row[name] for name in ("documents", "answered", "values")} == {
        "documents": 2, "answered": 2, "values": 5,
    }  # fmt: skip
    assert [row[name] for name in ("right", "wrong", "missing", "spurious")] == [1, 2, 2, 1]
    assert row["calls"] is None


def test_time_and_money_are_summed_where_they_are_told():
    responses = [
        {"seconds": 1.5, "tokens_in": 10, "tokens_out": 5, "cost": None},
        {"seconds": 0.5, "tokens_in": 20, "tokens_out": None, "cost": None},
    ]
    row = analysis.runs([evaluation(FIELDS, responses=responses)]).row(0, named=True)
    assert (row["calls"], row["seconds"], row["tokens"], row["cost"]) == (2, 2.0, 15, None)


def test_statuses_are_of_gold_values_only():
    found = analysis.statuses([evaluation(FIELDS)])
    assert found.select("status", "cases", "documents").rows() == [("ok", 4, 1), ("refused", 1, 1)]


def test_findings_tell_the_greatest_share_first():
    found = analysis.findings([evaluation(FIELDS)], resamples=50)
    # 2 of 5 values are lost to a digit, 1 of 5 has no usable answer.
    assert found.select("about", "share", "n_cases", "n_docs").rows() == [
        ("cause", 0.4, 2, 1), ("status", 0.2, 1, 1),
    ]  # fmt: skip
    assert found["finding"][0] == "40 % of values are lost to one cause, digit"
    assert all(low <= share <= high for low, share, high in
               found.select("ci_low", "share", "ci_high").rows())  # fmt: skip


def test_no_more_than_two_findings_of_one_evaluation_and_most_in_all():
    several = [evaluation(FIELDS, system=name) for name in "abc"]
    assert analysis.findings(several, resamples=10)["system"].to_list() == ["a", "b", "c", "a", "b"]
    assert analysis.findings(several, most=1, resamples=10).height == 1


def test_worst_slice_is_found_with_its_loss_against_the_rest():
    # In 12 documents kind b is always wrong, each time for another reason, kind a always right.
    rows = [
        (str(doc), kind, "match" if kind == "a" else "mismatch", "ok", cause)
        for doc in range(12)
        for kind, cause in (("a", None), ("a", None), ("b", f"cause {doc}"), ("b", None))
    ]
    found = analysis.findings([evaluation(rows)], resamples=100)
    worst = found.filter(about="slice").row(0, named=True)
    assert worst["finding"] == "kind b: 0 % right, 100 % elsewhere"
    assert worst["share"] == pytest.approx(0.5)
    assert (worst["n_cases"], worst["n_docs"]) == (24, 12)


def test_all_right_gives_no_finding_and_one_document_no_interval():
    right = [("1", "a", "match", "ok", None)]
    assert analysis.findings([evaluation(right)]).height == 0
    assert analysis.findings([]).height == 0
    lone = analysis.findings([evaluation([("1", "a", "missing", "missing", "missing")])])
    assert math.isnan(lone["ci_low"][0])
