import json
import random

import pytest
from rapidfuzz.distance import Levenshtein

from formlab.text import markup
from formlab.text.flow import Flow
from formlab.text.markup import events, is_html, shown_events, visible_text, written_events


def test_text_is_joined_by_spaces_and_hidden_parts_are_left_out():
    page = "<p>a<b>b</b></p><style>x</style><template>y</template><!-- z --> c&nbsp;&amp; d"
    assert visible_text(page) == "a b c & d"
    assert visible_text("5 &lt; 6 and\n x < y") == "5 < 6 and x < y"


def test_written_events_keep_tags_where_they_stand():
    events = written_events("<table><number>1</number><tr><td>2")
    assert [e.data for e in events if e.what == "start"] == ["table", "number", "tr", "td"]


def test_numeric_references_of_windows_are_read_as_browsers_do():
    assert visible_text("a&#150;b <i>c</i>") == "a–b c"
    assert [e.data for e in written_events("&#150;&eacute;&unknown;")] == ["–é&unknown"]


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


PIECES = [
    "<p>", "</p>", "<td colspan=2>", "<td colspan='3' rowspan=\"2\">", "<TD COLSPAN=4 colspan=5>",
    "<br/>", "<br />", "<a href='x?a=1&b=2'>", "</ p>", "</p >", "<!-- c -->", "<!-- a-b -->",
    "<!--->", "<!-- a -- b -->", "<!DOCTYPE html>", "<script>", "</script>", "<style>a<b</style>",
    "<STYLE>a &amp; b</Style>", "<style/>", "<title>x</title>", "<title>", "<title>a&amp;b</title>",
    "&amp;", "&#36;", "&#x41;", "& ", "&P ", "S&P", "&copy", "&copy;", "&nosuch;", "&T-1 ", "&#1;",
    "&#;", "&", " ", "\n", "text", " < ", "5<6", ">", '"', "'", "<number>4,310</NUMBER>",
    "<p class=a/>", "<p class=a>", "<p a = b>", "<p a=>", "<td rowspan>", '<td colspan="&#50;">',
    "<td colspan='\"2'>", "\xa0", "<o:p>", "<p\x0ba>", "<td xcolspan=7>", "<![CDATA[x]]>", "<?pi?>",
    "</>", "<>", "<p/a>", "<p a/>", "<p a=1 / b>",
]  # fmt: skip


def test_simple_markup_has_the_events_of_the_full_parser(monkeypatch):
    draw = random.Random(5)
    pages = ["".join(draw.choices(PIECES, k=draw.randrange(1, 6))) for _ in range(10_000)]
    quick = [markup._simple_events(page) for page in pages]
    monkeypatch.setattr(markup, "_simple_events", lambda _: None)
    simple = [(page, found) for page, found in zip(pages, quick, strict=True) if found is not None]
    assert len(simple) > 2_000
    for page, found in simple:
        assert found == written_events(page), page


def test_markup_of_megabytes_that_is_not_simple_is_read_in_linear_time():
    for page in ("a " * 500_000 + "< b", "<p " + "a " * 500_000, "<!--" + "-a" * 500_000):
        assert written_events(page) is not None


_PIECES = (
    "<table>", "</table>", "<tr>", "</tr>", "<td colspan='2'>", "<td>", "</td>", "<p>", "</p>",
    "<b>", "</b>", "<br>", "<html><body>", "</body></html>", "Net\nsales", "5", " ", "&nbsp;",
)  # fmt: skip


def test_pages_read_without_a_tree_show_what_the_tree_shows():
    draw, fast = random.Random(0), 0
    row = "<tr><td><b>Net</b>\nsales</td><td>5<br>6</td></tr>"
    pages = [f"<table>{row}{''.join(draw.choices(_PIECES, k=n % 4))}</table>" for n in range(400)]
    pages += ["<html></html><p>a</p>", "<p>a<p>b", "<div>a</div><!-- b --><p>c</p>", "<table>5"]
    for page in pages:
        stream = shown_events(page)
        fast += isinstance(stream, list)
        for lines in (False, True):
            assert (
                Flow(shown_events(page), lines=lines).units == Flow(events(page), lines=lines).units
            )
    assert 100 < fast < len(pages)
