"""The commands of `formlab annotate`: tasks, check, agreement, queue, gold and sample."""

import json

import pytest
from click.testing import CliRunner

from formlab import benchmarks
from formlab.errors import DataBroken
from formlab_review import annotate_commands
from tests.review.test_annotation import REAL, SAMPLE


def run(*arguments):
    options = [*map(str, arguments), "--json"]
    result = CliRunner().invoke(annotate_commands.annotate, options, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout), result.stderr


def test_from_pages_to_gold_that_loads(tmp_path):
    (row,), _ = run("tasks", "--out", tmp_path / "tasks", "--label", "Number", "--label", "Date")
    assert (row["tasks"], row["images"]) == (10, 10)
    assert len(json.loads((tmp_path / "tasks" / "tasks.json").read_text())) == 10
    assert 'value="Date"' in (tmp_path / "tasks" / "labelling.xml").read_text()

    faults, note = run("check", REAL)
    assert [(row["task"], row["annotator"]) for row in faults] == [
        ("3", "2"),
        ("3", "3"),
        ("3", "3"),
    ]
    assert note == "note: problems: 3\n"

    ratings = tmp_path / "ratings.csv"
    rows, _ = run("agreement", REAL, "--lead", "4", "--ratings", ratings)
    assert [row["label"] for row in rows] == ["all", "Date", "Number"]
    # The hand count is in test_adjudication.
    assert rows[0]["kappa"] == pytest.approx(1003 / 1534)
    assert run("agreement", ratings)[0] == rows

    queue = tmp_path / "queue.jsonl"
    rows, _ = run("queue", REAL, "--lead", "4", "--out", queue)
    assert [row["doc_id"] for row in rows] == ["3", "3", "5", "5", "7", "7", "7"]
    with pytest.raises(DataBroken, match="may hold decisions"):
        run("queue", REAL, "--lead", "4", "--out", queue)

    two = tmp_path / "two.json"
    exported = json.loads(REAL.read_text())
    for task in exported:
        task["annotations"] = [a for a in task["annotations"] if a["completed_by"] != 4]
    two.write_text(json.dumps(exported))
    lines = [row | {"decision": "2", "by": "cora"} for row in rows[:2]]
    queue.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    options = ("gold", two, "--decisions", queue, "--root", SAMPLE, "--out", tmp_path / "gold")
    with pytest.raises(DataBroken, match=r"5 facts; the first: Schedule J-\[2\] Compensation"):
        run(*options)
    (row,), note = run(*options, "--leave-out")
    assert (row["pages"], row["facts"], row["all_agree"], row["decided"]) == (3, 51, 49, 2)
    assert note == "note: facts left out, undecided: 5\n"
    (row,), _ = run("gold", REAL, "--lead", "4", "--out", tmp_path / "whole")
    assert (row["facts"], row["all_agree"], row["decided"]) == (54, 49, 5)
    assert run("check", tmp_path / "whole")[0] == []
    drawn, _ = run("sample", "--root", tmp_path / "whole", "--out", tmp_path / "expert.csv")
    # 5 % of 54, rounded up.
    assert len(drawn) == 3
    assert (tmp_path / "expert.csv").read_text().count("\n") == 4
    corpus = benchmarks.load("fincriticaled", root=tmp_path / "gold")
    assert corpus.documents["image"].to_list() == [f"images/{page}.png" for page in (3, 5, 7)]
