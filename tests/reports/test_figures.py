import csv
import io

import pytest
from lxml import etree
from PIL import Image

from formlab import browser
from formlab.reports import figures, record


def test_no_text_of_a_model_is_a_formula_in_a_spreadsheet():
    evil = ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", " =1", "\r=1", "＝1", "=cmd|' /C calc'!A0"]
    evil += ["\u200b=1", "\ufeff=1", "\x1b-1", "\u2060+1"]
    lines = list(csv.reader(io.StringIO(figures.csv_text([{"=head": text} for text in evil]))))
    assert lines[0] == ["'=head"]
    assert [row[0] for row in lines[1:]] == [f"'{text}" for text in evil]


def test_numbers_stay_numbers_and_nothing_is_an_empty_cell():
    rows = [{"a": -0.5, "b": None}, {"a": float("nan"), "b": True}, {"c": [1, "x"]}]
    assert figures.csv_text(rows) == 'a,b,c\r\n-0.5,,\r\n,True,\r\n,,"[1, ""x""]"\r\n'


def test_what_csv_quotes_is_read_back():
    text = 'a,"b"\nc\u2028\ud800\0'
    (_, row) = csv.reader(io.StringIO(figures.csv_text([{"x": text}]), newline=""))
    assert row == ['a,"b"\nc\u2028\\ud800␀']


pytestmark = pytest.mark.browser
READY = "html[data-ready=yes]"


def read(file):
    with file.open(newline="") as stream:
        return list(csv.DictReader(stream))


def saved(page, link, folder):
    with page.expect_download() as download:
        page.locator(link).first.click()
    download.value.save_as(folder / download.value.suggested_filename)
    return folder / download.value.suggested_filename


def test_page_holds_the_tables_of_its_figures(results, tmp_path):
    with browser.page(results["sound"].html) as visit:
        file = saved(visit.page, "a[download$='.csv']", tmp_path)
        assert file.name == "01-exact-by-system.csv"
        assert [tuple(row.values()) for row in read(file)] == [
            ("0.25", "1", "a"), ("", "2", "b"), ("0.75", "3", "c"),
        ]  # fmt: skip
        file = saved(visit.page, "a[download^='02']", tmp_path)
        assert file.name == "02-table.csv"
        assert file.read_text() == "system,Exact accuracy,n\na,0.25,1\nb,,2\nc,0.75,3\n"
        assert visit.trouble == []


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
        assert sum("Content Security Policy" in line for line in visit.console) == 3


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
    made = record.read(results["sound"].html.parent, "sound")
    assert made is not None
    assert all((results["sound"].html.parent / name).is_file() for name in made.beside)


def test_nothing_hostile_is_in_figures_beside_a_page(results):
    folder = results["hostile"].html.parent / figures.FOLDER / results["hostile"].name
    drawings = list(folder.glob("*.svg"))
    assert drawings
    for file in drawings:
        for node in etree.parse(file).iter(etree.Element):
            assert etree.QName(node).localname not in {"script", "foreignObject", "iframe"}
            for name, value in node.attrib.items():
                assert not etree.QName(name).localname.startswith("on")
                assert etree.QName(name).localname != "href" or value.startswith(("#", "data:"))
    assert any("was not drawn to a file" in note for note in results["hostile"].notes)
    tables = list(folder.glob("*.csv"))
    assert tables
    for file in tables:
        for row in csv.reader(io.StringIO(file.read_text("utf-8"), newline="")):
            assert not [cell for cell in row if cell.lstrip().startswith(("=", "@"))]
