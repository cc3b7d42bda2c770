"""Evaluations of forms with a given number of fields and types, made from their verdicts."""

import math

from formlab import tables
from formlab.folders import Evaluation

KEY = {"benchmark": "b", "split": "s"}


def made(forms, *, metric="click_accuracy", kinds=None):
    """An evaluation of `forms`: name to number of fields, of types, and each field's verdict."""
    documents, cases, scores = [], [], []
    for name, (fields, types, verdicts) in forms.items():
        key = KEY | {"doc_id": name}
        documents.append(key | {"n_fields": fields, "n_kinds": types, "template": name})
        for place, right in enumerate(verdicts):
            path = f"/{place}"
            kind = kinds[place] if kinds else "string"
            base = key | {"system": "x", "path": path}
            cases.append(base | {"task": "click", "outcome": "match", "kind": kind, "gold": "a"})
            total = 0.0 if right is None else 1.0
            value = math.nan if right is None else float(right)
            scores.append(
                base | {"level": "field", "metric": metric, "hits": float(right or 0),
                        "total": total, "value": value, "status": "ok", "settings": {}}
            )  # fmt: skip
    return Evaluation(
        tables.table("documents", documents), tables.table("cases", cases),
        tables.table("scores", scores), "b", "s", "x",
    )  # fmt: skip
