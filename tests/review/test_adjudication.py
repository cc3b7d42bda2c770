import polars as pl
import pytest

from formlab import benchmarks, files
from formlab_review import adjudication
from formlab_review.annotation import read
from tests.review.test_annotation import ONE, REAL, SAMPLE, TWO, exported, task

# What the sample's README says was planted: page, place, marks of user 2 and of user 3.
PLANTED = [
    ("3", [["Date", "18 months"]], []),
    ("3", [["Number", "311,000"]], [["Number", "$311,000"]]),
    ("5", [], [["Number", "2"]]),
    ("5", [["Number", "2024"]], [["Date", "2024"]]),
    ("7", [["Number", "40,598"]], [["Number", "(40,598)"]]),
    ("7", [], [["Number", "4410"]]),
    ("7", [["Number", "1 1/4"]], [["Number", "1 1/4"], ["Number", "4"]]),
]
RIGHT = [[["Number", "(40,598)"]], [], [["Number", "1 1/4"]]]


@pytest.fixture(scope="module")
def real():
    return read(REAL)


def test_exactly_the_planted_differences_are_queued(real):
    rows = adjudication.queue(real.without("4"))
    assert [(r["doc_id"], r["readings"]["2"], r["readings"]["3"]) for r in rows] == PLANTED
    assert {row["share"] for row in rows} == {0.5}
    assert rows[0]["context"] == (
        "6, 2025, and a retirement benefit over [18 months]. Name and position One-time award "
        "Base sa"
    )


def test_gold_of_a_real_export_is_the_gold_of_the_sample(real, tmp_path):
    marks = real.without("4")
    rows = adjudication.queue(marks)
    for row, decision in zip(rows, ["2", "2", "2", "3", *RIGHT], strict=True):
        row["decision"] = decision
    files.write_jsonl(tmp_path / "queue.jsonl", rows)
    decided = adjudication.read_decisions(tmp_path / "queue.jsonl", marks)
    table, undecided = adjudication.facts(marks, decided)
    assert undecided == []
    assert dict(table["by"].value_counts().iter_rows()) == {"all": 49, "lead": 5}
    corpus = benchmarks.load("fincriticaled")
    assert adjudication.write_gold(marks, table, tmp_path / "gold", source=corpus) == 3
    for page in ("3", "5", "7"):
        written = (tmp_path / "gold" / f"gold_{page}.txt").read_text()
        assert written.lower() == (SAMPLE / f"gold_{page}.txt").read_text().lower()
    back = benchmarks.load("fincriticaled", root=tmp_path / "gold")
    known = corpus.documents.filter(pl.col("doc_id").is_in(["3", "5", "7"]))
    columns = ("doc_id", "domain", "image")
    assert back.documents.select(columns).equals(known.select(columns))


def three(tmp_path, *marks):
    return read(exported(tmp_path, [task(1, *zip("abc", marks, strict=True))]))


def test_a_majority_decides_above_the_threshold_and_a_tie_never(tmp_path):
    made = three(tmp_path, [ONE, TWO], [ONE, TWO], [ONE])
    first, second = adjudication.entities(made)
    assert (first.share, second.share) == (1.0, pytest.approx(2 / 3))
    assert [row["first"] for row in adjudication.queue(made)] == [11]
    assert adjudication.queue(made, threshold=0.6) == []
    table, undecided = adjudication.facts(made, {}, threshold=0.6)
    assert (table["by"].to_list(), undecided) == (["all", "majority"], [])
    assert adjudication.facts(made, {})[1] == [second]
    split = three(tmp_path, [ONE], [("Date", *ONE[1:])], [])
    assert len(adjudication.queue(split, threshold=0.0)) == 1
