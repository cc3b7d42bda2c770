import csv
import functools
import hashlib
import io

import pytest
from lxml import etree
from nbformat import v4
from PIL import Image
from playwright.sync_api import expect

from formlab import browser, gallery, tables
from formlab.reports import build_record, csv_export, figures, page, page_assets
from tests.states import draw_all


def test_no_text_of_a_model_is_a_formula_in_a_spreadsheet():
    evil = ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", " =1", "\r=1", "＝1", "=cmd|' /C calc'!A0"]
    evil += ["\u200b=1", "\ufeff=1", "\x1b-1", "\u2060+1"]
    lines = list(csv.reader(io.StringIO(csv_export.text([{"=head": text} for text in evil]))))
    assert lines[0] == ["'=head"]
    assert [row[0] for row in lines[1:]] == [f"'{text}" for text in evil]


def test_numbers_stay_numbers_and_nothing_is_an_empty_cell():
    rows = [{"a": -0.5, "b": None}, {"a": float("nan"), "b": True}, {"c": [1, "x"]}]
    assert csv_export.text(rows) == 'a,b,c\r\n-0.5,,\r\n,True,\r\n,,"[1, ""x""]"\r\n'


def test_what_csv_quotes_is_read_back():
    text = 'a,"b"\nc\u2028\ud800\0'
    (_, row) = csv.reader(io.StringIO(csv_export.text([{"x": text}]), newline=""))
    assert row == ['a,"b"\nc\u2028\\ud800␀']


pytestmark = pytest.mark.browser
READY = "html[data-ready=yes]"
STATES = "boxes => boxes.map(box => box.dataset.state)"


def read(file):
    with file.open(newline="") as stream:
        return list(csv.DictReader(stream))


def saved(page, link, folder):
    with page.expect_download() as download:
        page.locator(link).first.click()
    download.value.save_as(folder / download.value.suggested_filename)
    return folder / download.value.suggested_filename


def test_site_page_draws_everything_from_shared_files(site, results, tmp_path):
    assert site.ok, site.error
    html = site.html.read_text()
    assert len(html) < 100_000
    assert html.count("assets/") == 1 + 3  # one style, three scripts
    with browser.page(site.html) as visit:
        draw_all(visit.page)
        assert set(visit.page.eval_on_selector_all(".fl-object", STATES)) == {"drawn"}
        background = "getComputedStyle(document.querySelector('.fl-data a')).borderTopLeftRadius"
        assert visit.page.evaluate(background) == "5px"
        file = saved(visit.page, "a[download$='.csv']", tmp_path)
        assert file.name == "01-exact-by-system.csv"
        assert [tuple(row.values()) for row in read(file)] == [
            ("0.25", "1", "a"), ("", "2", "b"), ("0.75", "3", "c"),
        ]  # fmt: skip
        # A page of one file holds its tables.
        assert "assets/" not in results["sound"].html.read_text().split("<script>")[0]
        visit.page.goto(results["sound"].html.as_uri())
        file = saved(visit.page, "a[download^='02']", tmp_path)
        assert file.name == "02-table.csv"
        assert file.read_text() == "system,Exact accuracy,n\na,0.25,1\nb,,2\nc,0.75,3\n"
        assert visit.trouble == []


@pytest.mark.parametrize("layout", ["single", pytest.param("site", marks=pytest.mark.complete)])
def test_policy_stops_a_planted_script_inside_and_from_a_file(site, results, layout):
    html = {"site": site, "single": results["sound"]}[layout].html
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


def test_figures_stand_beside_the_page_as_pictures_and_tables(site):
    folder = site.html.parent / figures.FOLDER / "sound"
    assert sorted(file.name for file in folder.iterdir()) == [
        "01-exact-by-system.csv", "01-exact-by-system.png", "01-exact-by-system.svg",
        "02-table.csv",
        "03-a-surface.csv", "03-a-surface.png", "03-a-surface.svg",
        "04-gallery.csv",
    ]  # fmt: skip
    for file in folder.glob("*.png"):
        with Image.open(file) as image:
            # Not blank: something was drawn on the white.
            assert len(image.convert("RGB").getcolors(10_000_000)) > 20
    for file in folder.glob("*.svg"):
        assert etree.QName(etree.parse(file).getroot()).localname == "svg"
    assert len(read(folder / "03-a-surface.csv")) == 12 * 12
    record = build_record.read(site.html.parent, "sound")
    assert record is not None
    assert record.thumbnail == "thumbs/sound.webp"
    assert all((site.html.parent / name).is_file() for name in record.beside)


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


def test_many_pictures_of_galleries_are_files_named_by_their_contents(tmp_path, monkeypatch):
    monkeypatch.setattr(page_assets, "PICTURES_INSIDE", 1)
    Image.new("L", (600, 800), 90).save(tmp_path / "a.png")
    Image.new("L", (600, 800), 200).save(tmp_path / "b.png")
    key = {"benchmark": "demo", "split": "test"}
    box = {"x0": 40, "y0": 60, "x1": 120, "y1": 70}
    rows = [
        key | box | {"doc_id": d, "system": "ocr", "task": "value", "outcome": "missing"}
        for d in "ab"
    ]
    documents = tables.table("documents", [key | {"doc_id": d, "image": f"{d}.png"} for d in "ab"])
    made = gallery.errors(tables.table("cases", rows), root=tmp_path, documents=documents)
    payload = made.payload
    payload["images"]["../../evil"] = {"src": "../../evil.webp", "width": 1, "height": 1}
    bundle = {"application/vnd.formlab.gallery+json": payload}
    cell = v4.new_code_cell(outputs=[v4.new_output("display_data", bundle)])
    out, beside = tmp_path / "site", []
    assets = page_assets.of({"gallery"}, layout="site", out=out)
    page.write(
        v4.new_notebook(cells=[v4.new_markdown_cell("# a"), cell]), out=out / "a.html", name="a",
        assets=assets, late=functools.partial(page_assets.pictures, out=out, beside=beside),
    )  # fmt: skip
    names = sorted(file.name for file in (out / "assets").glob("*.webp"))
    assert [f"assets/{name}" for name in names] == sorted(beside)
    digests = [hashlib.sha256((out / address).read_bytes()).hexdigest()[:32] for address in beside]
    assert beside == [f"assets/picture-{digest}.webp" for digest in digests]
    assert "base64,Ukl" not in (out / "a.html").read_text()
    assert not list(tmp_path.rglob("*evil*"))
    with browser.page(out / "a.html") as visit:
        pictures = visit.page.locator(".fl-card img")
        expect(pictures).to_have_count(2)
        for picture in pictures.all():
            expect(picture).not_to_have_js_property("naturalWidth", 0)
        visit.page.locator(".fl-card").first.click()
        visit.page.wait_for_selector("dialog[open] .fl-stage img[src^='assets/picture-']")
        assert visit.trouble == []
    # A few pictures stay in the page.
    texts = {"0" * 16: "data:image/webp;base64,UklGRg=="}
    assert page_assets.pictures(texts, out=out, beside=beside) == texts
