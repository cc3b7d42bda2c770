import polars as pl
import pytest

from formlab import tables

from .conftest import ANSWER, GOLD, field, item


@pytest.fixture
def score(score_formcraft):
    return lambda answers: score_formcraft(answers, "vqa", "consistency")


def test_questions_are_right_on_the_typed_rung_in_every_slice(score):
    scored = score({"a.json": ANSWER})
    vqa = scored.scores.filter(pl.col("metric") == "vqa_accuracy")
    table = tables.readable(vqa).group_by("slice").agg(pl.col("hits", "total").sum())
    summed = {name: parts for name, *parts in table.rows()}
    # Both of a right, b and c missing; the answer to q9, never asked, adds nothing.
    assert summed["all"] == [2, 6]
    assert summed["scope=intra-group"] == summed["scope=inter-group"] == [1, 3]
    assert summed["complexity=simple"] == [2, 6]
    cell = (
        "scope & reference & complexity & modal"
        "=inter-group & direct-link & simple & single-modality"
    )
    assert summed[cell] == [1, 3]
    assert scored.cases.filter(pl.col("path") == "/vqa/q9")["outcome"].to_list() == ["spurious"]


def test_a_check_takes_the_answer_or_else_what_was_extracted(score):
    scored = score({"a.json": ANSWER})
    checks = scored.cases.filter(pl.col("task") == "consistency", pl.col("doc_id") == "a")
    # c2 was answered; for c1 the field of the name, matched as "Full name", says Ada Burg.
    assert checks.select("path", "pred", "similarity").rows() == [
        ("/consistency/c1", "Ada Burg", 0.875),
        ("/consistency/c2", "PAID", 1.0),
    ]
    assert sums(scored, "consistency_dependent_accuracy") == (1, 6)


def sums(scored, metric):
    """Hits and total of all checks."""
    rows = scored.scores.filter(pl.col("metric") == metric, pl.col("slice_by").is_null())
    return rows["hits"].sum(), rows["total"].sum()


def form(name, drinks, stamp, **checks):
    """An answer with three of the gold's fields, and what it says of the checks."""
    order = [field("Drinks", "Marking", "Checkbox", drinks)]
    order += [field("Stamp", "Visual", "Printed Paint", stamp)]
    return {"fields": [field("Name", "Textual", "Handwritten", name)],
            "groups": [{"label": "Order", "fields": order}], "consistency": checks}  # fmt: skip


# c1: the name Ada Berg follows from the drinks Tea and Milk; c2: the stamp PAID from the name.
NAME, DRINKS, STAMP = "/Name", "/Order/Drinks", "/Order/Stamp"


def test_a_check_is_right_only_if_every_field_of_its_relation_is(score):
    own = {"answer": "PAID", "fields": {NAME: "Ada Berg"}}
    answers = {
        # Everything is right: 2 of 2, the dependent field alone 2 of 2.
        "a.json": form("Ada Berg", "Milk; Tea", "PAID"),
        # The drinks are wrong: c1 is, though its name is right. 1 of 2; alone 2 of 2.
        "b.json": form("Ada Berg", "Milk", "PAID"),
        # The name is wrong: c1 by its dependent field, c2 by its source. The answer to c2 counts
        # with what it says of its own fields, not with what was read there: 1 of 2; alone 1 of 2.
        "c.json": form("Ada Burg", "Milk; Tea", "PAY", c2=own),
    }  # fmt: skip
    scored = score(answers)
    assert sums(scored, "consistency_accuracy") == (4, 6)
    assert sums(scored, "consistency_dependent_accuracy") == (5, 6)
    checks = scored.cases.filter(pl.col("task") == "consistency")
    columns = ("doc_id", "path", "outcome", "cause", "failed")
    assert checks.filter(~pl.col("typed")).select(columns).rows() == [
        ("b", "/consistency/c1", "mismatch", "wrong_source", [DRINKS]),
        ("c", "/consistency/c1", "mismatch", "characters", [NAME]),
    ]
    assert checks.filter("typed")["failed"].list.len().to_list() == [0, 0, 0, 0]


def test_a_value_copied_from_the_page_fails_where_another_follows(score, monkeypatch):
    # On the page stands PAID, and by the relation it had to be OPEN.
    checks = [item("c1", source="/Name", dependent=STAMP, expected="OPEN", fields=[DRINKS])]
    monkeypatch.setitem(GOLD, "consistency", checks)
    scored = score({
        "a.json": form("Ada Berg", "Tea; Milk", "PAID"),
        "b.json": form("Ada Burg", "Tea", "PAID"),
        "c.json": form("Ada Berg", "Tea; Milk", "PAID", c1="OPEN"),
    })  # fmt: skip
    checks = scored.cases.filter(pl.col("task") == "consistency")
    assert checks.select("typed", "cause", "failed").rows() == [
        (False, "wrong_relation", [STAMP]),
        # A contradiction is of the value that must stand there alone.
        (False, "wrong_relation", [STAMP]),
        (True, None, []),
    ]
    assert checks["level"].unique().to_list() == ["contradiction"]
    assert sums(scored, "contradictions_found") == (1, 3)
    assert sums(scored, "consistency_accuracy") == (0, 0)


def test_answers_without_any_field_are_judged_by_the_dependent_field_alone(score):
    scored = score({"a.json": {"consistency": {"c1": "Ada Berg", "c2": "OPEN"}}})
    assert sums(scored, "consistency_accuracy") == (0, 0)
    assert sums(scored, "consistency_dependent_accuracy") == (1, 6)
    assert scored.cases.filter(pl.col("task") == "consistency")["failed"].null_count() == 6


def test_a_system_that_answered_no_questions_is_not_scored_on_them(score):
    form = {key: ANSWER[key] for key in ("fields", "groups")}
    scored = score({"a.json": form})
    assert set(scored.cases["task"]) == {"consistency"}
    assert scored.notes["gold items of vqa not scored: the predictions answer none"] == 6


OTHER = {"fields": [{"label": "Zzz", "value": "1"}], "groups": []}


@pytest.mark.parametrize(
    ("name", "answer", "metric"),
    [("a.txt", "fields: none", "vqa_accuracy"), ("a.json", OTHER, "consistency_accuracy")],
)
def test_a_system_that_failed_or_gave_other_fields_is_right_in_nothing(score, name, answer, metric):
    assert sums(score({name: answer}), metric) == (0, 6)


def test_answers_that_give_the_values_of_their_fields_are_judged_by_all_of_them(score):
    right = {"answer": "Ada Berg", "fields": {DRINKS: "Tea; Milk"}}
    wrong = {"answer": "PAID", "fields": {NAME: "Ada Burg"}}
    scored = score({"a.json": {"consistency": {"c1": right, "c2": wrong}}})
    both = (sums(scored, f"consistency_{of}accuracy") for of in ("", "dependent_"))
    assert [*both] == [(1, 6), (2, 6)]
