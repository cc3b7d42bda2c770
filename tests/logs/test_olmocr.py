import json

import pytest

from formlab import logs
from formlab.errors import DataBroken
from formlab.logs import olmocr

TESTS = [
    {"pdf": "old/bill.pdf", "page": 1, "id": "t1", "type": "present", "text": "Total due 9.00",
     "max_diffs": 1},
    {"pdf": "old/bill.pdf", "page": 1, "id": "t2", "type": "absent", "text": "Page 1 of 2"},
    {"pdf": "old/bill.pdf", "page": 1, "id": "t3", "type": "order", "before": "Ada Foods",
     "after": "Thank you"},
    {"pdf": "old/bill.pdf", "page": 1, "id": "t4", "type": "table", "cell": "tea", "up": "Item"},
    {"pdf": "old/bill.pdf", "page": 2, "id": "t5", "type": "present", "text": "Signature"},
]  # fmt: skip
PAGE = "Thank you\n\nTotal **due** 9.O0\n\nAda Foods\n"


@pytest.fixture
def home(tmp_path):
    (tmp_path / "tests.jsonl").write_text("\n".join(map(json.dumps, TESTS)))
    (tmp_path / "pdfs").mkdir()
    folder = tmp_path / "tool" / "old"
    folder.mkdir(parents=True)
    for repeat, page in ((1, PAGE), (2, PAGE + "Page 1 of 2")):
        (folder / f"bill_pg1_repeat{repeat}.md").write_text(page)
    return tmp_path


def test_candidates_and_repeats_are_runs(home):
    assert olmocr.detect(home)
    assert olmocr.detect(home / "tool")
    for path in (home, home / "tool"):
        assert [run.system for run in logs.read(path)] == ["tool, epoch 1", "tool, epoch 2"]


def test_test_is_a_field_and_its_answer_what_fits_best_in_the_page(home):
    evaluation = logs.open_log(home, run="tool, epoch 1")
    cases = {case["path"]: case for case in evaluation.fields.to_dicts()}
    # The page has the letter O where the text has a zero, and no bold in the gold.
    assert (cases["/t1"]["pred"], cases["/t1"]["outcome"]) == ("Total due 9.O0", "mismatch")
    assert cases["/t1"]["max_diffs"] == "1"
    assert cases["/t2"]["outcome"] == "match"
    assert cases["/t3"]["pred"] == "Thank you … Ada Foods"
    assert cases["/t3"]["outcome"] == "mismatch"
    assert set(evaluation.documents["doc_id"]) == {"old/bill"}


def test_what_should_be_absent_and_stands_there_is_spurious(home):
    evaluation = logs.open_log(home, run="tool, epoch 2")
    case = evaluation.fields.filter(path="/t2").row(0, named=True)
    assert (case["pred"], case["outcome"]) == ("Page 1 of 2", "spurious")


def test_tests_that_need_the_harness_are_counted_and_not_scored(home):
    evaluation = logs.open_log(home, run="tool, epoch 1")
    assert evaluation.fields.filter(path="/t4")["outcome"].item() == "unscored"
    assert evaluation.notes[f"log: {olmocr.OTHER}"] == 2
    # Page 2 was not written in either repeat.
    assert evaluation.fields.filter(path="/t5")["status"].item() == "missing"
    assert logs.join_report(evaluation)["missing"] == 2


def test_pages_without_tests_are_an_error(home):
    (home / "tests.jsonl").unlink()
    with pytest.raises(DataBroken, match="no tests beside the pages"):
        logs.read(home)


def test_page_that_is_cut_in_a_character_or_no_file_keeps_its_fields(home):
    page = home / "tool" / "old" / "bill_pg1_repeat1.md"
    page.write_bytes("Total due 9.00 €".encode()[:-1])
    run = logs.read(home)[0]
    assert run.answers.filter(path="/t1")["value"].to_list() == ["Total due 9.00"]
    page.unlink()
    page.symlink_to(home / "nothing")
    run = logs.read(home)[0]
    assert run.answers.filter(path="/t1")["status"].to_list() == ["api_error"]
    assert "no such file" in run.responses["error"][0]
