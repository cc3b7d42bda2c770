import math

import polars as pl
import pytest

from formlab import tables
from formlab.metrics.following import FOLLOWING_METRICS, following
from formlab.scoring.tasks._answers import answer_scores
from formlab.tables import STATUSES, readable


def responses(*statuses, task="vqa"):
    base = {"benchmark": "b", "split": "s", "system": "m", "task": task}
    rows = [base | {"doc_id": str(n), "status": s} for n, s in enumerate(statuses)]
    return tables.table("responses", rows)


def share(table, name, task="vqa"):
    return table.filter(metric=name, task=task).select("hits", "total", "value").row(0)


def test_shares_are_of_the_questions_that_were_asked():
    # Five questions, one never asked: of four, one each is ok, repaired, refused and cut short.
    table = following(responses("ok", "repaired", "refused", "truncated", "missing"))
    assert share(table, "valid_answers") == (1, 4, 0.25)
    assert share(table, "usable_answers") == (2, 4, 0.5)
    assert share(table, "truncated_answers") == (1, 4, 0.25)
    assert share(table, "bad_json_answers") == (0, 4, 0)


def test_all_tasks_together_are_a_row_of_their_own():
    both = pl.concat([responses("ok", "ok", "ok"), responses("refused", task="layout")])
    table = following(both)
    assert share(table, "valid_answers", "all") == (3, 4, 0.75)
    assert share(table, "refused_answers", "layout") == (1, 1, 1)


def test_nothing_asked_is_undefined():
    assert math.isnan(share(following(responses("missing")), "valid_answers")[2])


def test_shares_but_the_usable_ones_add_up_to_one():
    table = following(responses(*STATUSES, "ok", "refused"))
    parts = table.filter(pl.col("metric") != "usable_answers", task="vqa")
    assert parts["value"].sum() == pytest.approx(1)


def test_scores_are_rows_that_sum_to_the_shares_of_each_task_and_of_all():
    given = pl.concat([responses("ok", "bad_json", "missing"), responses("ok", task="layout")])
    rows = readable(answer_scores(given))
    for name in FOLLOWING_METRICS:
        for task, part in (("vqa", "task=vqa"), ("layout", "task=layout"), ("all", "all")):
            found = rows.filter(metric=name, slice=part)
            wanted = share(following(given), name, task)[:2]
            assert (found["hits"].sum(), found["total"].sum()) == wanted
    assert set(rows["slice"]) == {"all", "task=vqa", "task=layout"}
    assert rows["settings"][0].startswith("b:s|usable_answers|level=answer|formlab=")
    # What was never asked is undefined and keeps its row.
    unasked = rows.filter(metric="valid_answers", status="missing")
    assert (unasked["value"].is_nan().all(), unasked.height) == (True, 2)
