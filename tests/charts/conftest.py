"""Hand-made cases of trees and of questions, and rows of summaries."""

import pytest

from formlab import tables
from tests.made_slices import of

KEY = {"benchmark": "b", "split": "s", "system": "x"}


def node(op, gold, pred, depth, doc="1", cost=0.0):
    outcome = {"kept": "match", "deleted": "missing", "inserted": "spurious"}.get(op, "mismatch")
    labels = [None if path is None else path.rpartition("/")[2] for path in (gold, pred)]
    return KEY | {
        "doc_id": doc, "level": "node", "subtype": op, "outcome": outcome, "path": gold,
        "pred_path": pred, "gold": labels[0], "pred": labels[1], "depth": depth, "cost": cost,
    }  # fmt: skip


def row(metric, name, value, **more):
    counts = {"n_docs": 2, "n_cases": 4, "n_missing": 0, "n_undefined": 0}
    bounds = {"ci_low": value - 0.1, "ci_high": value + 0.1}
    of_row = of(name, metric) | {"metric": metric, "value": value, "settings": {}}
    return KEY | counts | bounds | of_row | more


@pytest.fixture
def tree_cases():
    """Form 1: a group A with c renamed, d moved into B and e deleted; form 2: all is kept."""
    rows = [
        node("kept", "/A", "/A", 1),
        node("renamed", "/A/c", "/A/C", 2, cost=1 / 3),
        node("moved", "/A/d", "/B/d", 2, cost=2 / 3),
        node("deleted", "/A/e", None, 2, cost=1 / 3),
        node("kept", "/B", "/B", 1),
        *(node("kept", f"/B/{i}", f"/B/{i}", 2) for i in range(5)),
        node("inserted", None, "/F", 1, cost=0.5),
        node("kept", "/A", "/A", 1, doc="2"),
    ]
    return tables.table("cases", rows)


@pytest.fixture
def summary_of():
    def make(*rows):
        return tables.table("summary", [row(*values) for values in rows])

    return make
