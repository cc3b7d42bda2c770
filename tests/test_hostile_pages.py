"""Every page, file and line of a terminal that shows text, made of hostile strings alone."""

# ruff: noqa: E501 - notebook cells as strings

import csv
import io
import itertools
import json
from pathlib import Path

import nbformat
import pytest
from lxml import etree
from playwright.sync_api import expect

import formlab_review as review
from formlab import browser, charts, explore, files, gallery, reports
from formlab.gallery import inline
from formlab.reports import figures
from formlab_review.widget import ReviewWidget, script
from tests.hostile import STRINGS
from tests.made_hostile import COLUMNS, NAMES, evaluation
from tests.seeds import ALL
from tests.states import draw_all

TEXTS = [files.storable(text) for text in STRINGS]  # As a table holds them.
SYSTEMS = ["<img src=x onerror=globalThis.__hit=1>\x1b[31m\x00", 'constructor \\" {"']
BOOK = "a{b} <svg onload=globalThis.__hit=1> '\"=1+1"


@pytest.fixture(scope="module")
def results():
    return [evaluation(system) for system in SYSTEMS]


@pytest.fixture(scope="module")
def folder(results, tmp_path_factory):
    """A notebook beside two evaluations whose folders are hostile, too."""
    home = tmp_path_factory.mktemp("hostile")
    for number, result in enumerate(results):
        result.save(
            home / "evals" / f"{number} <img src=x onerror=globalThis.__hit=1> [31m\x1b[2J*?"
        )
    given = {"texts": TEXTS, "names": list(dict.fromkeys(NAMES)), "columns": COLUMNS}
    (home / "hostile.json").write_text(json.dumps(given))
    book = nbformat.read(Path(__file__).with_name("hostile.ipynb"), as_version=4)
    book.cells.insert(0, nbformat.v4.new_markdown_cell(f"# {NAMES[0]} {NAMES[30]}"))
    nbformat.write(book, home / f"{BOOK}.ipynb")
    return home


@pytest.fixture(scope="module")
def built(folder):
    (result,) = reports.build(
        [folder / f"{BOOK}.ipynb"], out=folder / "out", timeout=300,
        parameters={"title": " ".join(NAMES[:200])},
    )  # fmt: skip
    return result


@pytest.fixture(scope="module")
def visit(built):
    # Building opens a browser, too, and a thread has one at a time.
    with browser.page() as opened:
        opened.page.set_default_timeout(60_000)
        opened.page.on("dialog", lambda box: (opened.requests.append(box.message), box.dismiss()))
        yield opened


def failed(page):
    """Objects that are not drawn once all were in view: a surface far away gives its drawing back."""
    draw_all(page)
    objects = (
        "boxes => boxes.map(b => [b.dataset.kind, b.dataset.state, b.textContent.slice(0, 300)])"
    )
    states = page.eval_on_selector_all(".fl-object", objects)
    return [state for state in states if state[1] not in ("drawn", "waiting")]


LAID = """() => {
    const odd = [];
    for (const node of document.querySelectorAll('body, body *')) {
        const style = getComputedStyle(node);
        if (style.backgroundColor === 'rgb(255, 0, 0)' || style.zIndex === '99999') odd.push(node.outerHTML.slice(0, 200));
        if (/^(script|iframe|object|embed|base|link|meta|form|frame|frameset)$/i.test(node.localName) && !node.matches('script, .vega-bindings')) odd.push(node.outerHTML.slice(0, 200));
        for (const { name, value } of node.attributes) {
            const address = /^(href|src|action|formaction|xlink:href|data|srcset|poster|ping|background)$/i.test(name);
            if (/^on/i.test(name) || (address && /^[\\s\\x00-\\x1f]*(java|vb)script:/i.test(value))) odd.push(`${name}=${value}`.slice(0, 200));
            if (name === 'style' && /beacon|expression|99999|-moz-binding/.test(value)) odd.push(value.slice(0, 200));
        }
    }
    const wide = document.documentElement.scrollWidth - innerWidth;
    if (wide > 0) odd.push(`${wide} pixels too wide`);
    if (document.title !== document.title.trim() || !document.body.getClientRects().length) odd.push('no page');
    return odd;
}"""


def check(visit, *, wide=False):
    """Nothing ran, left the page, asked, stands where it should not, or is laid over the page."""
    page = visit.page
    odd = page.evaluate(LAID)
    assert [each for each in odd if not (wide and each.endswith("too wide"))] == []
    for frame in page.frames:
        assert frame.evaluate("typeof globalThis.__hit") == "undefined"
    assert page.evaluate("Object.getOwnPropertyNames(Object.prototype).length") == 12
    assert visit.trouble == []


def holds(page, texts, place):
    """Whether each text stands in one place of the page, control characters as signs."""
    absent = """([texts, place]) => {
        const shown = [...document.querySelectorAll(place)].map((node) => node.textContent);
        const { visible } = window.formlabGallery;
        return texts.map(visible).filter((text) => !shown.some((whole) => whole.includes(text)));
    }"""
    return page.evaluate(absent, [texts, place]) == []


@pytest.mark.browser
def test_every_object_of_a_report_is_drawn_and_shows_the_strings_as_text(built, visit):
    assert (built.ok, built.error) == (True, None)
    # A chart of pictures from elsewhere, and one whose expression is code.
    assert ["was not drawn to a file" in note for note in built.notes] == [True, True]
    visit.page.set_viewport_size({"width": 1280 if ALL else 390, "height": 800})
    visit.page.goto(built.html.as_uri())
    assert failed(visit.page) == []
    assert holds(visit.page, [text[:2000] for text in TEXTS], "td")
    for box in visit.page.locator(".fl-vega svg:visible, .fl-plotly").all():
        box.hover(force=True)
    check(visit)
    visit.page.goto((built.html.parent / "index.html").as_uri())
    assert holds(visit.page, [NAMES[30]], ".fl-report")
    check(visit)


def test_nothing_hostile_is_in_figures_beside_a_page(built):
    folder = built.html.parent / figures.FOLDER / built.name
    drawings, saved = list(folder.glob("*.svg")), list(folder.glob("*.csv"))
    assert drawings and saved  # noqa: PT018
    for node in (node for file in drawings for node in etree.parse(file).iter(etree.Element)):
        assert etree.QName(node).localname not in {"script", "foreignObject", "iframe"}
        for name, value in node.attrib.items():
            assert not etree.QName(name).localname.startswith("on")
            assert etree.QName(name).localname != "href" or value.startswith(("#", "data:"))
    for file in saved:
        cells = itertools.chain(*csv.reader(io.StringIO(file.read_text("utf-8"), newline="")))
        assert not [cell for cell in cells if cell.lstrip().startswith(("=", "@"))]


DESK = """<div id=desk></div><script type=module>{script}
const model = {{
    get: (name) => JSON.parse(document.getElementById(name).textContent),
    on: (_, hear) => {{ model.hear = hear; }}, off() {{}},
    send: ({{ type }}) => {{ if (type === "hello") setTimeout(() => model.hear({{ type: "state", entries: {{}}, first: 0 }})); }},
}};
new ReviewPanel(model, document.getElementById("desk"));
</script>"""


@pytest.mark.browser
def test_pages_without_a_report_show_the_strings_as_text(results, visit, tmp_path, monkeypatch):
    monkeypatch.delenv("FORMLAB_REPORT", raising=False)
    shown = gallery.errors(results[0].cases, of=results[0], right=True)
    rows = results[0].documents.head(50).select("doc_id", text="doc_id")
    table, cards = charts.table(rows, note=TEXTS[0]), charts.Cards([charts.Card(*TEXTS[:3])])
    outputs = [table, cards, results[0]]
    pages = {
        "gallery": inline.document(shown.payload),
        "explorer": inline.document(explore.Explorer(results).payload, kind="explorer"),
        "outputs": "".join(
            one._repr_mimebundle_()["text/html"] if hasattr(one, "_repr_mimebundle_") else one._repr_html_()
            for one in outputs
        ),
        "desk": desk(),
    }  # fmt: skip
    visit.page.set_viewport_size({"width": 390, "height": 844})
    for name, page in pages.items():
        file = tmp_path / f"{name}.html"
        file.write_text(page, "utf-8")
        visit.page.goto(file.as_uri())
        place = {"gallery": ".fl-card", "explorer": ".fx", "desk": ".fr-facts"}.get(name, "body")
        expect(visit.page.locator(place).first).to_contain_text("globalThis.__hit")
        # JupyterLab scrolls an output that is wide.
        check(visit, wide=name == "outputs")


def desk():
    """The review desk over one item whose every part is hostile."""
    parts = {
        f"{at} {name}": text for at, (name, text) in enumerate(zip(NAMES, STRINGS, strict=True))
    }
    key = dict.fromkeys(("benchmark", "split", "doc_id", "path"), NAMES[0]) | {"task": "text"}
    item = review.Item(key, "x", parts, facts=tuple(zip(NAMES[:99], STRINGS, strict=False)))
    view = ReviewWidget(review.Review([item], Path("reviews"), "ada"))
    blocks = "".join(
        f'<script type="application/json" id="{name}">{inline.data_block(value)}</script>'
        for name, value in (("setup", view.setup), ("items", view.items))
    )
    style = f"<style>{ReviewWidget._css}</style>"
    return f"<!DOCTYPE html><meta charset=utf-8>{style}{blocks}" + DESK.format(
        script=script("review.js")
    )
