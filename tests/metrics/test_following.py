import math

import polars as pl
import pytest

from formlab import tables
from formlab.metrics.following import FOLLOWING_METRICS, following, scores
from formlab.tables import STATUSES


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


def test_scores_are_rows_that_sum_to_the_shares():
    given = responses("ok", "bad_json", "missing")
    rows = scores(given, settings="b:s")
    for name in FOLLOWING_METRICS:
        part = rows.filter(metric=name)
        assert (part["hits"].sum(), part["total"].sum()) == share(following(given), name)[:2]
    assert set(rows["slice"]) == {"task=vqa"}
    assert rows["settings"][0] == "b:s|usable_answers"
