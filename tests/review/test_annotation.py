import json

import pytest

from formlab.analysis.kappa import rater_agreement
from formlab.benchmarks.fincriticaled import tagged
from formlab.errors import DataBroken
from formlab.text.markup import written_events
from formlab_review.annotation import Span, applied, problems, ratings, read, written


def exported(tmp_path, tasks):
    file = tmp_path / "export.json"
    file.write_text(json.dumps(tasks))
    return file


def task(page, *annotators):
    def result(label, node, first, last):
        position = {"start": node, "end": node, "startOffset": first, "endOffset": last}
        return {"type": "labels", "value": {"labels": [label]} | position}

    annotations = [
        {"completed_by": {"id": who} if who == "2" else who, "result": [result(*s) for s in spans]}
        for who, spans in annotators
    ]
    return {"id": page, "data": {"matched_html": "<p>Sales 5 of 7</p>"}, "annotations": annotations}


ONE, TWO = ("Number", "/p[1]/text()[1]", 6, 7), ("Number", "/p[1]/text()[1]", 11, 12)


def test_every_annotators_spans_are_read_and_offsets_tell_facts_of_one_text_apart(tmp_path):
    pages, spans = read(exported(tmp_path, [task(4, ("1", [ONE]), ("2", [ONE, TWO]))]))
    assert pages == {"4": "<p>Sales 5 of 7</p>"}
    assert [(s.page, s.annotator, s.first) for s in spans] == [
        ("4", "1", 6), ("4", "2", 6), ("4", "2", 11),
    ]  # fmt: skip
    assert ratings(spans).select("1", "2").rows() == [("Number", "Number"), ("none", "Number")]
    assert ratings(spans, mode="official").height == 1


def test_agreement_of_annotators_by_hand(tmp_path):
    date = ("Date", *TWO[1:])
    tasks = [task(n, ("1", [ONE, TWO]), ("2", [ONE, date])) for n in range(2)]
    _, spans = read(exported(tmp_path, tasks))
    # 4 items, 2 alike: p = 1/2; 1 says Number 4 of 4, 2 says it 2 of 4: chance 1/2; kappa 0.
    assert rater_agreement(ratings(spans), ["1", "2"], resamples=0)["kappa"].to_list() == [0.0]


def test_facts_written_as_spans_and_applied_again_are_the_same():
    page = (
        "<html><body>Form <number>5</number> of <p>Net <b>sales</b> <number>4,310</number> or "
        "<number>7</number> x<i>y</i><temporal>Q2</temporal></p></body></html>"
    )
    order = ("start", "end", "startOffset", "endOffset", "text")
    spans = [
        Span("1", "gold", value["labels"][0], *(value[key] for key in order))
        for value in (r["value"] for r in written("1", page)["annotations"][0]["result"])
    ]
    back, lost = applied(written("1", page)["data"]["matched_html"], spans)
    assert lost == []
    facts = [[(f.type, f.value) for f in tagged(written_events(text))] for text in (page, back)]
    assert facts[0] == facts[1] != []


def test_a_span_that_is_not_there_is_reported_with_its_place():
    span = Span("1", "a", "Number", "/p[1]/text()[1]", "/p[1]/text()[1]", 0, 3, "abc")
    assert applied("<p>xyz</p>", [span])[1] == ["/p[1]/text()[1]:0: 'abc' is not there"]
    assert "unknown label" in applied("<p>xyz</p>", [span._replace(label="Colour")])[1][0]
    nowhere = span._replace(start="/q[9]/text()[1]", end="/q[9]/text()[1]")
    assert "no such text" in applied("<p>xyz</p>", [nowhere])[1][0]


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
    assert [tuple(problem) for problem in problems(markup)] == expected


@pytest.mark.parametrize(
    "tasks", [{}, [1], [{"data": {}}], [{"data": {"html": "x"}, "annotations": [5]}]]
)
def test_what_is_no_export_says_where(tmp_path, tasks):
    with pytest.raises(DataBroken, match="export.json"):
        read(exported(tmp_path, tasks))
