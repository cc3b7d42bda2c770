"""Evaluations of two systems on hand-made fields."""

from formlab import tables
from formlab.folders import Evaluation


def made(system, rows, *, documents=None, gold="x", **facts):
    """An evaluation from rows of doc_id, path, right and further columns of the case."""
    base = {"benchmark": "b", "split": "s", "system": system}
    ids = documents or list(dict.fromkeys(row[0] for row in rows))
    sizes = {"width": 300, "height": 300}
    cases, scores = [], []
    for doc, path, right, *more in rows:
        case = base | {
            "doc_id": doc, "task": "text", "path": path, "kind": "word", "gold": gold,
            "pred": gold if right else "?", "status": "ok", "similarity": float(right),
            "outcome": "match" if right else "mismatch", "normalised": bool(right),
            "gold_origin": f"{doc}.json#{path}",
        }  # fmt: skip
        case |= more[0] if more else {}
        cases.append(case)
        if case["outcome"] != "unscored":
            scores.append(base | {
                "doc_id": doc, "path": path, "level": "field", "metric": "normalised_accuracy",
                "hits": float(right), "total": 1.0, "value": float(right), "status": "ok",
                "settings": {},
            })  # fmt: skip
    return Evaluation(**{
        "documents": tables.table("documents", [
            {"benchmark": "b", "split": "s", "doc_id": doc} | sizes for doc in ids
        ]),
        "cases": tables.table("cases", cases), "scores": tables.table("scores", scores),
        "benchmark": "b", "split": "s", "system": system, "settings": {"threshold": 0.8},
    } | facts)  # fmt: skip


def from_matrix(system, matrix):
    """An evaluation from a row of zeros and ones for each document."""
    rows = [
        (f"{i:03}", f"/{j}", int(right))
        for i, line in enumerate(matrix)
        for j, right in enumerate(line)
    ]
    return made(system, rows)
