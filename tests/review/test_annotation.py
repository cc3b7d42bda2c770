"""Marks of Label Studio on pages.

The real exports are of Label Studio 1.23.2, marked in its own editor: the sample's, as its README
says; `exports/json_min.json`, the JSON-MIN of the same project's page 3; and
`exports/odd_places.json`, a page with line breaks, a comment, an emoji and a table without a body.
"""

import json
from pathlib import Path

import polars as pl
import pytest
import yaml

from formlab import benchmarks, files, resources
from formlab.errors import DataBroken
from formlab_review import adjudication
from formlab_review._spans import PageText
from formlab_review.annotation import ratings, read
from formlab_review.fact_checks import problems

EXPORTS = Path(__file__).parent / "exports"
SAMPLE = resources.folder("data/sample") / "fincriticaled"
REAL = SAMPLE / "annotations" / "label_studio.json"


def exported(tmp_path, tasks):
    file = tmp_path / "export.json"
    file.write_text(json.dumps(tasks))
    return file


def mark(label, node, first, last, **more):
    place = {"start": node, "end": node, "startOffset": first, "endOffset": last, "text": None}
    return {"type": "hypertextlabels", "value": {"hypertextlabels": [label]} | place | more}


def task(page, *annotators, html="<p>Sales 5 of 7</p>"):
    annotations = [
        {"completed_by": {"id": who} if who == "2" else who,
         "result": [each if isinstance(each, dict) else mark(*each) for each in marks]}
        for who, marks in annotators
    ]  # fmt: skip
    return {"id": page, "data": {"matched_html": html}, "annotations": annotations}


ONE, TWO = ("Number", "/p[1]/text()[1]", 6, 7), ("Number", "/p[1]/text()[1]", 11, 12)


def test_every_annotators_spans_are_read_and_offsets_tell_facts_of_one_text_apart(tmp_path):
    made = read(exported(tmp_path, [task(4, ("1", [ONE]), ("2", [ONE, TWO]))]))
    assert {page: text.markup for page, text in made.pages.items()} == {"4": "<p>Sales 5 of 7</p>"}
    assert [(s.page, s.annotator, s.first) for s in made.spans] == [
        ("4", "1", 6), ("4", "2", 6), ("4", "2", 11),
    ]  # fmt: skip
    assert ratings(made).select("1", "2").rows() == [("Number", "Number"), ("none", "Number")]
    assert ratings(made, mode="official").height == 1
    # Every word of the page: Sales, 5, of, 7.
    assert ratings(made, level="token").select("1", "2").rows() == [
        ("none", "none"), ("Number", "Number"), ("none", "none"), ("none", "Number"),
    ]  # fmt: skip


def test_who_marked_nothing_on_a_page_said_none_and_who_did_not_see_it_said_nothing(tmp_path):
    made = read(exported(tmp_path, [task(1, ("1", [ONE]), ("2", [])), task(2, ("1", [ONE]))]))
    assert ratings(made).select("1", "2").rows() == [("Number", "none"), ("Number", None)]
    assert [(p.doc_id, p.what) for p in made.problems if "one person" in p.what] == [
        ("2", "annotated by one person only")
    ]


def test_a_real_export_has_every_mark_at_its_place_by_paths_and_by_offsets():
    exports = json.loads(REAL.read_text()) + json.loads((EXPORTS / "odd_places.json").read_text())
    count = 0
    for exported_task in exports:
        page = PageText(exported_task["data"]["html"])
        for annotation in exported_task["annotations"]:
            for value in (each["value"] for each in annotation["result"]):
                count += 1
                place = page.place({key: v for key, v in value.items() if key != "globalOffsets"})
                assert place == page.place({k: value[k] for k in ("text", "globalOffsets")})
                marked = page.text[slice(*place)].replace("\n", "\\n")
                assert marked == value["text"]
    # 54 + 56 + 5 on the pages of the sample; 7 around line breaks, comments and an emoji.
    assert count == 122
    assert len(read(REAL).spans) == 115


def test_a_place_is_found_or_there_is_none():
    page = PageText("<p>\U0001f600 50</p><table><tr><td>7</td></tr></table>")
    for value, place in yaml.safe_load(Path(__file__).with_name("places.yml").read_text("utf-8")):
        assert page.place(value) == (place and tuple(place)), value


def test_json_min_gives_the_same_marks_as_json():
    small = read(EXPORTS / "json_min.json")
    assert sorted(small.spans) == sorted(s for s in read(REAL).spans if s.page == "3")


def test_text_that_the_parsers_take_otherwise_is_no_silent_loss():
    page = PageText("<p>5\0</p>")
    with pytest.raises(DataBroken, match="cannot be followed"):
        page.tagged([(0, 1, "Number")])


TEXT = "/p[1]/text()[1]"


CHECKED = yaml.safe_load(Path(__file__).with_name("fact_checks.yml").read_text("utf-8"))


def test_malformed_tags_are_reported_with_line_and_column():
    for markup, expected in CHECKED["markup"]:
        assert problems(markup) == [tuple(problem) for problem in expected]


def test_marks_are_checked_by_the_rules_of_the_paper(tmp_path):
    for label, page, marked, expected in CHECKED["marks"]:
        first = page.index(marked)
        marks = [mark(label, TEXT, first, first + len(marked))]
        file = exported(tmp_path, [task(1, ("a", marks), ("b", []), html=f"<p>{page}</p>")])
        found = [problem for problem in read(file).problems if "without text" not in problem.what]
        assert [expected in problem.what for problem in found] == [True] * bool(expected), page
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
def export():
    return read(REAL)


def test_exactly_the_planted_differences_are_queued(export):
    rows = adjudication.queue(export.without("4"))
    assert [(r["doc_id"], r["readings"]["2"], r["readings"]["3"]) for r in rows] == PLANTED
    assert {row["share"] for row in rows} == {0.5}
    assert rows[0]["context"] == (
        "6, 2025, and a retirement benefit over [18 months]. Name and position One-time award "
        "Base sa"
    )


def test_gold_of_a_real_export_is_the_gold_of_the_sample(export, tmp_path):
    marks = export.without("4")
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
