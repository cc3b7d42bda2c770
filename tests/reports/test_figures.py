import csv
import io

import pytest
from lxml import etree
from PIL import Image

from formlab import browser
from formlab.reports import figures, page
from formlab.selection import LINES


def test_no_text_of_a_model_is_a_formula_in_a_spreadsheet():
    evil = ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", " =1", "\r=1", "＝1", "=cmd|' /C calc'!A0"]
    evil += ["\u200b=1", "\ufeff=1", "\x1b-1", "\u2060+1"]
    table = figures.csv_text(["=head"], [[text] for text in evil])
    lines = list(csv.reader(io.StringIO(table)))
    assert lines[0] == ["'=head"]
    assert [row[0] for row in lines[1:]] == [f"'{text}" for text in evil]


def test_numbers_stay_numbers_and_nothing_is_an_empty_cell():
    rows = [[-0.5, None, None], [float("nan"), True, None], [None, None, [1, "x"]]]
    assert (
        figures.csv_text(["a", "b", "c"], rows) == 'a,b,c\r\n-0.5,,\r\n,True,\r\n,,"[1, ""x""]"\r\n'
    )


def test_chart_of_anyone_keeps_its_data_and_leads_only_to_cases_in_both_widths():
    rows = [{"width": 1.5, "title": "a" * 60, LINES: "slice=kind:a"}, {"width": 2.5, "title": "b"}]
    spec = {"data": {"values": rows}, "mark": {"type": "bar", "href": "http://a"}}
    spec["encoding"] = {"x": {"field": "width", "type": "quantitative"}, "y": {"field": "title"}}
    wide = {"hconcat": [spec | {"width": "container"}, spec | {"width": 900}]}
    output = page.Output("vega", wide)
    figures.draw([output])
    assert output.problem == ""
    for drawing, width in zip(output.drawings, (figures.WIDE, figures.PHONE), strict=True):
        root = etree.fromstring(drawing)
        assert float(root.get("width")) <= width + 5
        titles = root.xpath("//*[local-name()='title']/text()")
        assert [title.split(";")[0] for title in titles] == ["width: 1.5", "width: 2.5"] * 2
        assert root.xpath("//@href") == ["#slice=kind:a"] * 2


pytestmark = pytest.mark.browser
READY = "html[data-ready=yes]"


def test_policy_stops_a_planted_script_inside_and_from_a_file(results):
    html = results["sound"].html
    (html.parent / "planted.js").write_text("globalThis.pwned = 1")
    planted = "<script>globalThis.pwned=2</script><script src='planted.js'></script>"
    planted += "<img src='https://beacon.invalid/x.png'></main>"
    copy = html.with_name("planted.html")
    copy.write_text(html.read_text().replace("</main>", planted, 1))
    with browser.page(copy) as visit:
        visit.page.wait_for_selector(READY, state="attached")
        assert visit.page.evaluate("typeof globalThis.pwned") == "undefined"
        assert visit.requests == []
        assert sum("Content Security Policy" in line for line in visit.trouble) == 3


def test_figures_stand_beside_the_page_as_pictures_and_tables(results):
    folder = results["sound"].html.parent / figures.FOLDER / "sound"
    assert sorted(file.name for file in folder.iterdir()) == [
        "01-exact-by-system.csv", "01-exact-by-system.png", "01-exact-by-system.svg",
        "02-table.csv",
        "04-gallery.csv",
    ]  # fmt: skip
    for file in folder.glob("*.png"):
        with Image.open(file) as image:
            # Not blank: something was drawn on the white.
            assert len(image.convert("RGB").getcolors(10_000_000)) > 20
    for file in folder.glob("*.svg"):
        assert etree.QName(etree.parse(file).getroot()).localname == "svg"
