import json

import pytest
from rapidfuzz.distance import Levenshtein

from formlab.text.markup import events, is_html, visible_text, written_events


def test_text_is_joined_by_spaces_and_hidden_parts_are_left_out():
    page = "<p>a<b>b</b></p><style>x</style><template>y</template><!-- z --> c&nbsp;&amp; d"
    assert visible_text(page) == "a b c & d"
    assert visible_text("5 &lt; 6 and\n x < y") == "5 < 6 and x < y"


def test_written_events_keep_tags_where_they_stand():
    events = written_events("<table><number>1</number><tr><td>2")
    assert [name for kind, name, _ in events if kind == "start"] == ["table", "number", "tr", "td"]


def test_tags_that_come_again_are_read_as_the_first_time():
    page = '<td rowspan="2">a &lt; b</td><number >1</number>\n<br/><b x="a>b">c</b><i x=1>d</i>'
    page += '<i x="1"><!-- e --><?pi?></i ><style><td></style><textarea>&amp;<td></textarea><p <hr>'
    assert written_events(page * 3) == written_events(page) * 3


def test_numeric_references_of_windows_are_read_as_browsers_do():
    assert visible_text("a&#150;b <i>c</i>") == "a–b c"
    assert [name for _, name, _ in written_events("&#150;&eacute;&unknown;")] == ["–é&unknown"]


@pytest.mark.parametrize(
    "junk", ["", "<", "<!--", "\0<p>", "\ud800<b>", "<p" * 50_000, "<div>" * 20_000]
)
def test_junk_is_read_without_an_error(junk):
    assert isinstance(visible_text(junk), str)
    assert isinstance(list(events(junk)), list)


@pytest.mark.parametrize(("text", "html"), [("a < b > c", False), ("<td>", True), ("x </p>", True)])
def test_a_tag_makes_html(text, html):
    assert is_html(text) is html


def test_edit_distances_of_pages_equal_the_released_code(shared):
    root = shared / "golden" / "fincriticaled"
    for page, known in json.loads((root / "text_metrics.json").read_text()).items():
        gold, pred = (
            visible_text((root / s / f"{s}_{page}.txt").read_text()) for s in ("gold", "pred")
        )
        assert Levenshtein.normalized_distance(gold, pred) == pytest.approx(
            known["edit_distance"], abs=1e-9
        )
