import pytest

from formlab_review.annotation import read
from formlab_review.fact_checks import problems
from tests.review.test_annotation import exported, mark, task

TEXT = "/p[1]/text()[1]"


@pytest.mark.parametrize(
    ("markup", "expected"),
    [
        ("<number>5</number>", []),
        ("a\n <number>5", [(2, 2, "<number> is not closed")]),
        ("5</DATE>", [(1, 2, "</date> is not opened")]),
        ("<number> </number>", [(1, 1, "<number> is empty")]),
        ("<number>1<number>2</number></number>", [(1, 10, "<number> inside <number>")]),
    ],
)
def test_malformed_tags_are_reported_with_line_and_column(markup, expected):
    assert problems(markup) == expected


@pytest.mark.parametrize(
    ("label", "page", "marked", "expected"),
    [
        *((("Number", text, text, None)) for text in (
            "1,000,000", "2.345", "0.37", "10", "1/3", "-2.3", "(10,234)", "25.63%",
            "Section 39(h)", "1 1/4", "$5,000",
        )),
        ("Number", "-2.3", "2.3", "sign"),
        ("Number", "($ (1,304) )", "1,304", "sign"),
        ("Number", "4,310", "310", "cut out"),
        ("Number", "4,310", "4", "cut out"),
        ("Number", "(4,310)", "(4,310", "is no number"),
        ("Number", "01.04.2025", "01.04.2025", "is no number"),
        ("Number", "net sales", "net", "no digit"),
        *((("Date", text, text, None)) for text in (
            "March 24, 2025", "1 month", "2 years", "Q2 2025", "01.04.2025", "fiscal year 2025",
        )),
        ("Date", "February 30, 2025", "February 30, 2025", "no day of the calendar"),
        ("Date", "13/13/2025", "13/13/2025", "no day of the calendar"),
        ("Date", "JANUARY 2, 2025 THRU JANUARY 8, 2025", "JANUARY 2, 2025 THRU JANUARY 8, 2025",
         "more than one date"),
        ("Date", "net sales", "sales", "no date or duration"),
        ("Colour", "red", "red", "unknown label"),
    ],
)  # fmt: skip
def test_marks_are_checked_by_the_rules_of_the_paper(tmp_path, label, page, marked, expected):
    first = page.index(marked)
    marks = [mark(label, TEXT, first, first + len(marked))]
    file = exported(tmp_path, [task(1, ("a", marks), ("b", []), html=f"<p>{page}</p>")])
    found = [problem for problem in read(file).problems if "without text" not in problem.what]
    assert [expected in problem.what for problem in found] == ([True] if expected else [])
    assert all(problem.where == f"{file}#/0/annotations/0/result/0" for problem in found)


def test_marks_of_one_person_that_contradict_each_other_are_reported(tmp_path):
    html = "<p>13/02/2025 or 02/14/2025</p><p>5<b>6</b></p>"
    marks = [
        mark("Date", TEXT, 0, 10, text="13/02/2025"), mark("Number", TEXT, 3, 5, text="02"),
        mark("Date", TEXT, 14, 24, text="02/14/2025"), mark("Number", TEXT, 0, 2, text="14"),
        mark("Number", "/p[2]/text()[1]", 0, 1, end="/p[2]/b[1]/text()[1]", text="56"),
        {"type": "hypertextlabels", "value": {"start": TEXT, "startOffset": 0}},
        {"type": "choices", "value": {"choices": ["hard page"]}},
    ]  # fmt: skip
    twice = task(1, ("a", []), ("a", marks), ("b", []), html=html)
    twice["annotations"].append({"completed_by": "c", "was_cancelled": True})
    found = [problem.what for problem in read(exported(tmp_path, [twice])).problems]
    assert found == [
        "annotated again by the same person", "'02' is cut out of a longer number",
        "'14' is not at its place", "'56' reaches over several elements",
        "a mark without label, endOffset, text", "skipped by the annotator",
        "<Number> '02' inside <Date> '13/02/2025'",
        "'13/02/2025' has the day first, '02/14/2025' the month",
    ]  # fmt: skip
