"""Marks of Label Studio on pages.

The real exports are of Label Studio 1.23.2, marked in its own editor: the sample's, as its README
says; `exports/json_min.json`, the JSON-MIN of the same project's page 3; and
`exports/odd_places.json`, a page with line breaks, a comment, an emoji and a table without a body.
"""

import json
from pathlib import Path

import pytest

from formlab import resources
from formlab.errors import DataBroken
from formlab_review._spans import PageText
from formlab_review.annotation import ratings, read

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


@pytest.mark.parametrize(
    ("value", "place"),
    [
        # Counted in units of UTF-16, as browsers do: the first character has two.
        ({"start": "/p[1]/text()[1]", "startOffset": 3, "endOffset": 5}, (2, 4)),
        ({"globalOffsets": {"start": 2, "end": 4}, "text": "50"}, (2, 4)),
        # A row that stands in the table itself gets a body in a browser.
        ({"start": "/table[1]/tbody[1]/tr[1]/td[1]/text()[1]", "startOffset": 0, "endOffset": 1},
         (4, 5)),
        ({"start": "/p[1]/text()[1]", "startOffset": 2, "endOffset": 5}, (2, 4)),
        ({"start": "/p[1]/text()[1]", "startOffset": 3, "endOffset": 5, "text": "51"}, None),
        ({"start": "/p[1]/text()[1]", "startOffset": 3, "endOffset": 9}, None),
        ({"start": "/p[1]/text()[2]", "startOffset": 0, "endOffset": 1}, None),
        ({"start": "/q[9]/text()[1]", "startOffset": 0, "endOffset": 1}, None),
        ({"start": "/p[1]", "startOffset": -1, "endOffset": "x"}, None),
        ({"globalOffsets": {"start": 2, "end": 99}}, None),
        ({"globalOffsets": [2, 4]}, None),
        ({}, None),
    ],
)  # fmt: skip
def test_a_place_is_found_or_there_is_none(value, place):
    page = PageText("<p>\U0001f600 50</p><table><tr><td>7</td></tr></table>")
    assert page.place(value) == place


def test_json_min_gives_the_same_marks_as_json():
    small = read(EXPORTS / "json_min.json")
    assert sorted(small.spans) == sorted(s for s in read(REAL).spans if s.page == "3")


def test_text_that_the_parsers_take_otherwise_is_no_silent_loss():
    page = PageText("<p>5\0</p>")
    with pytest.raises(DataBroken, match="cannot be followed"):
        page.tagged([(0, 1, "Number")])
