import math

import polars as pl
import pytest

from formlab import tables
from formlab.metrics.counts import VALIDITY_METRICS
from formlab.scoring.evaluate import answer_scores
from formlab.tables import STATUSES, readable


def responses(*statuses, task="vqa"):
    base = {"benchmark": "b", "split": "s", "system": "m", "task": task}
    rows = [base | {"doc_id": str(n), "status": s} for n, s in enumerate(statuses)]
    return tables.table("responses", rows)


def share(given, name, task="vqa"):
    wanted = "all" if task == "all" else f"task={task}"
    part = readable(answer_scores(given)).filter(metric=name, slice=wanted)
    hits, total = part["hits"].sum(), part["total"].sum()
    return hits, total, hits / total if total else math.nan


def test_shares_are_of_the_questions_that_were_asked():
    # Five questions, one never asked: of four, one each is ok, repaired, refused and cut short.
    given = responses("ok", "repaired", "refused", "truncated", "missing")
    assert share(given, "valid_answers") == (1, 4, 0.25)
    assert share(given, "usable_answers") == (2, 4, 0.5)
    assert share(given, "truncated_answers") == (1, 4, 0.25)
    assert share(given, "bad_json_answers") == (0, 4, 0)


def test_all_tasks_together_are_a_slice_of_their_own():
    both = pl.concat([responses("ok", "ok", "ok"), responses("refused", task="layout")])
    assert share(both, "valid_answers", "all") == (3, 4, 0.75)
    assert share(both, "refused_answers", "layout") == (1, 1, 1)


def test_nothing_asked_is_undefined():
    assert math.isnan(share(responses("missing"), "valid_answers")[2])


def test_shares_but_the_usable_ones_add_up_to_one():
    given = responses(*STATUSES, "ok", "refused")
    others = VALIDITY_METRICS.keys() - {"usable_answers"}
    assert sum(share(given, name)[2] for name in others) == pytest.approx(1)


def test_scores_name_their_slices_and_rules():
    given = pl.concat([responses("ok", "missing"), responses("ok", task="layout")])
    rows = readable(answer_scores(given))
    assert set(rows["slice"]) == {"all", "task=vqa", "task=layout"}
    assert rows["settings"][0].startswith("b:s|usable_answers|level=answer|formlab=")
    # What was never asked is undefined and keeps its row.
    unasked = rows.filter(metric="valid_answers", status="missing")
    assert (unasked["value"].is_nan().all(), unasked.height) == (True, 2)
