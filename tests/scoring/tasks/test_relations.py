import polars as pl
import pytest

from formlab import tables
from formlab.benchmarks.formcraft import RELATIONS
from formlab.scoring.tasks import relations

from .conftest import ANSWER


@pytest.fixture
def score(score_formcraft):
    return lambda answers: score_formcraft(answers, relations)


def test_questions_are_right_on_the_typed_rung_in_every_slice(score):
    scored = score({"a.json": ANSWER})
    vqa = scored.scores.filter(pl.col("metric") == "vqa_accuracy")
    summed = {
        name: (hits, total)
        for name, hits, total in tables.readable(vqa)
        .group_by("slice")
        .agg(pl.col("hits").sum(), pl.col("total").sum())
        .rows()
    }
    # Both of a right, b and c missing; the answer to q9, never asked, adds nothing.
    assert summed["all"] == (2, 6)
    assert summed["scope=intra-group"] == summed["scope=inter-group"] == (1, 3)
    assert summed["complexity=simple"] == (2, 6)
    cell = (
        "scope & reference & complexity & modal"
        "=inter-group & direct-link & simple & single-modality"
    )
    assert summed[cell] == (1, 3)
    assert scored.cases.filter(pl.col("path") == "/vqa/q9")["outcome"].to_list() == ["spurious"]


def test_a_check_takes_the_answer_or_else_what_was_extracted(score):
    scored = score({"a.json": ANSWER})
    checks = scored.cases.filter(pl.col("task") == "consistency", pl.col("doc_id") == "a")
    # c2 was answered; for c1 the field of the name, matched as "Full name", says Ada Burg.
    assert checks.select("path", "pred", "typed").rows() == [
        ("/consistency/c1", "Ada Burg", False),
        ("/consistency/c2", "PAID", True),
    ]
    rows = scored.scores.filter(
        pl.col("metric") == "consistency_accuracy", pl.col("slice_by").is_null()
    )
    assert (rows["hits"].sum(), rows["total"].sum()) == (1, 6)


def test_questions_and_checks_are_of_their_relations(score):
    cases = score({"a.json": ANSWER}).cases.filter(pl.col("gold").is_not_null())
    assert (cases.height, cases["typed"].sum()) == (12, 3)
    assert cases.select("task", *RELATIONS).unique().height == 4


def test_a_system_that_answered_no_questions_is_not_scored_on_them(score):
    form = {key: ANSWER[key] for key in ("fields", "groups")}
    scored = score({"a.json": form})
    assert set(scored.cases["task"]) == {"consistency"}
    assert scored.notes == {"gold items of vqa not scored: the predictions answer none": 6}


@pytest.mark.parametrize(
    ("answers", "metric", "notes"),
    [
        ({"a.txt": "no"}, "vqa_accuracy", 0),
        ({"a.json": {"fields": [{"label": "Zzz", "value": "1"}], "groups": []}},
         "consistency_accuracy", 1),
    ],
)  # fmt: skip
def test_a_system_that_only_failed_or_extracted_other_fields_is_right_in_nothing(
    score, answers, metric, notes
):
    scored = score(answers)
    rows = scored.scores.filter(pl.col("metric") == metric, pl.col("slice_by").is_null())
    assert (rows["hits"].sum(), rows["total"].sum(), len(scored.notes)) == (0, 6, notes)
