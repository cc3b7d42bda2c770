import dataclasses

from formlab import analysis, tables
from formlab.folders import Evaluation, Predictions

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
    assert row["page_cer"] is None
