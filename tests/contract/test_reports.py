"""Reports as files and as pages: what they show, what they run, when they are built again."""

import base64
import csv
import json
import re
import shutil
from pathlib import Path

import polars as pl
import pytest

import formlab
from tests import executed
from tests.contract.doors import GOLD, SECOND, WORDS, cli, json_lines, value
from tests.seeds import ALL

pytestmark = pytest.mark.browser
# Where a reader finds things on a page: roles with accessible names, and texts.
BAR = {"role": "link", "name": "field: /date; outcome: mismatch"}
SEARCH, SAVE = {"role": "searchbox", "name": "Search"}, {"role": "button", "name": "CSV"}
CASES, DIALOG = {"role": "list", "name": "cases"}, {"role": "dialog"}
COUNT, OPTION, NAMED = "^{} of", "{} ({})", "[aria-label], [alt], [aria-hidden=true]"
FLAGS = "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-sync"
FLAGS += " --disable-background-networking --disable-component-update"
# One worker builds in this process, which has imported what it needs.
REPORT = ("report", "--out", "reports", *WORDS["no figures"], "--workers", 1)
FINDINGS = """from formlab import analysis, charts
found = analysis.findings([analysis.open_evaluation(each) for each in evaluations])
charts.findings_table(found, {"own": "65_own_forms"})"""
HOSTILE = json.loads(Path(__file__).with_name("hostile.json").read_text("utf-8"))


def book(name, source, parameters="evaluation = ''\nexperiment = ''", **formlab_metadata):
    code = {"cell_type": "code", "execution_count": None, "outputs": [], "metadata": {}}
    tagged = code | {"metadata": {"tags": ["parameters"]}, "source": parameters}
    content = {"nbformat": 4, "nbformat_minor": 4, "metadata": {"formlab": formlab_metadata}}
    Path("books").mkdir(exist_ok=True)
    cells = {"cells": [tagged, code | {"source": source}]}
    Path("books", f"{name}.ipynb").write_text(json.dumps(content | cells))
    return f"books/{name}.ipynb"


@pytest.fixture(scope="module")
def chromium(tmp_path_factory):
    """A browser, and reports: of 40 forms, the first system has 35 dates and 20 names wrong."""
    docs = [HOSTILE[0], *(f"form-{n}" for n in range(1, 40))]
    gold = {d: {"name": f"Ada {n}", "date": f"2024-05-{n % 28 + 1:02}"} for n, d in enumerate(docs)}
    first = {d: gold[d] | ({"date": "zzzz"} if n % 8 else {}) for n, d in enumerate(docs)}
    second = {d: gold[d] | ({"name": "zzzz"} if n % 10 == 3 else {}) for n, d in enumerate(docs)}
    for doc, text in zip(docs, HOSTILE, strict=False):
        first[doc]["name"] = text
    del first["form-39"]["name"]
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path_factory.mktemp("work"))
        for name, answers in (("first", first), ("second", second)):
            Path(f"{name}.json").write_text(json.dumps(answers))
            formlab.evaluate(gold, Path(f"{name}.json")).save(f"evals/{name}")
        formlab.evaluate({"a": {"x": ""}}, {"a": {"x": ""}}).save("evals/empty")
        linked = book("findings", FINDINGS, "evaluations = []", last=True)
        both = ("-p", "evaluations=['evals/first', 'evals/second']")
        one = ("65_own_forms", linked, "--eval", "evals/empty", "--eval", "evals/first")
        # Kernels of their own run in r03, r04 and i02.
        executed.run((*REPORT, "80_compare_systems", *both), (*REPORT, *one))
        if ALL:
            corpus, texts = formlab.load("funsd", split="test"), {"invoice": {"text": "INVOICE"}}
            pages = formlab.read_predictions(json_lines(Path("pages.jsonl"), texts), corpus)
            formlab.evaluate(corpus, pages).save("evals/pages")
            cli(*REPORT, "10_content_modality", "--eval", "evals/pages")
            cli(*REPORT, "00_overview", *both)
        with pytest.importorskip("playwright.sync_api").sync_playwright() as playwright:
            path = shutil.which("chromium")
            yield playwright.chromium.launch(executable_path=path, args=FLAGS.split())


@pytest.fixture
def visit(chromium):
    """Opens a report; at the end none of them has run anything, asked for anything or failed."""
    context, trouble = chromium.new_context(), []
    for event in ("dialog", "weberror", "request"):
        context.on(event, lambda found: trouble.append(str(getattr(found, "url", found))))

    def open_report(name):
        (file,) = Path("reports").resolve().glob(f"{name}*.html")
        page = context.new_page()
        page.goto(file.as_uri())
        return page

    yield open_report
    assert {page.evaluate("typeof globalThis.__hit") for page in context.pages} == {"undefined"}
    assert [found for found in trouble if not re.match("data:|blob:|file:.*html$", found)] == []


def expect_cases(page, *chosen):
    """The gallery counts and shows the wrong cases that polars finds, 24 on a screen."""
    wrong = pl.col("outcome").is_in(["mismatch", "missing", "spurious"])
    count = formlab.open_evaluation("evals/first").cases.filter(wrong, *chosen).height
    page.get_by_role("status").get_by_text(re.compile(COUNT.format(count))).wait_for()
    assert page.get_by_role(**CASES).get_by_role("button").count() == min(count, 24)


def test_r01_a_report_is_one_file_that_loads_nothing_and_runs_nothing_from_data(chromium):
    text = Path("reports/65_own_forms--first.html").read_text("utf-8")
    assert "globalThis.__hit=1" in text
    assert not re.search(r"<script>globalThis|<img src=x|<iframe srcdoc|<object data", text)
    policy = re.search(r"Policy\W+content=\W(default-src 'none';[^\"]+)", text)[1]
    assert not re.search(r"script-src[^;]*'unsafe|https?:|\*", policy)
    assert not re.search(r"<(script|link|img|iframe)[^>]+(src|href)=[\"']?https?:", text)


def test_r02_hostile_values_are_shown_as_text(visit):
    page = visit("65_own_forms--first")
    page.get_by_role(**SEARCH).fill("/name")
    expect_cases(page, pl.col("path") == "/name")
    shown = page.get_by_role(**CASES).text_content()
    assert [text for text in HOSTILE if text.isprintable() and text not in shown] == []
    assert "gnp.exe" in shown
    assert not re.search("[\x00\x1b\u202e]", page.locator("body").inner_text())


def test_r03_only_what_rests_on_a_changed_input_is_built_again(work):
    command = (*REPORT, book("look", "1"), "--eval", "evals/first", "--eval", "evals/second")
    times = []
    for answers in (None, None, SECOND):
        if answers:
            formlab.evaluate(GOLD, answers).save("evals/first")
        cli(*command)
        times.append([f.stat().st_mtime_ns for f in sorted(Path("reports").glob("look--*.html"))])
    assert times[0] == times[1]
    assert [old != new for old, new in zip(*times[1:], strict=True)] == [True, False]


def test_r04_a_notebook_that_fails_or_dies_is_named_and_the_others_are_built(work):
    fails, dies = book("fails", "1 / 0"), book("dies", "import os\nos.kill(os.getpid(), 9)")
    # Paths are seen from where the user stands.
    seen = "import os.path as p; assert p.isdir(evaluation) and p.isfile(experiment)"
    paths = ("-p", "evaluation=evals/first", "-p", "experiment=truth.csv")
    output, _ = cli(*REPORT, fails, dies, book("sound", seen), *paths, "--json", code=1)
    results = {result["report"]: result["status"] for result in json.loads(output)}
    assert results == {"fails.html": "failed", "dies.html": "failed", "sound.html": "built"}
    assert "ZeroDivisionError" in output


def test_r05_a_click_on_a_bar_shows_the_cases_that_the_summary_counts(visit):
    page = visit("65_own_forms--first")
    page.get_by_role(**BAR).first.click()
    expect_cases(page, pl.col("path") == "/date")


def test_r06_filters_and_search_count_as_polars_does(visit):
    page = visit("65_own_forms--first")
    # 35 dates; one name of the 20 is missing.
    for column, chosen, count in (("kind", "date", 35), ("cause", "missed", 1)):
        select = page.get_by_label(column.title(), exact=True)
        select.select_option(label=OPTION.format(chosen, count))
        expect_cases(page, pl.col(column) == chosen)
        select.select_option(index=0)
    for text in ("ZZZZ", "__hit", "form-2"):
        page.get_by_role(**SEARCH).fill(text)
        texts = pl.concat_str("doc_id", "gold", "pred", ignore_nulls=True).str.to_lowercase()
        expect_cases(page, texts.str.contains(text.lower(), literal=True))


def test_r07_no_saved_table_has_a_formula(visit):
    page, downloads = visit("65_own_forms--first"), []
    page.on("download", lambda file: downloads.append(file))
    # Of a first click a busy Chromium may say nothing: there is a second after 20 seconds.
    for tick in range(400):
        if not downloads and tick % 200 == 0:
            page.get_by_role(**SAVE).click()
        page.wait_for_timeout(0 if downloads else 100)
    saved = [downloads[0].path().read_bytes()]
    saved += map(base64.b64decode, re.findall('text/csv[^"]*base64,([^"]+)"', page.content()))
    lines = [line for table in saved for line in table.decode("utf-8-sig").splitlines()]
    cells = [cell for row in csv.reader(lines) for cell in row]
    assert [cell for cell in cells if cell.endswith("=1+1")] == ["'=1+1"] * 2
    assert not [cell for cell in cells if cell.startswith(("=", "@", "+"))]


def test_r08_pictures_have_names_and_every_case_is_reached_by_keys(visit):
    page, reached = visit("65_own_forms--first"), []
    pictures = page.locator("main").locator("svg, img, canvas").all()
    assert all(picture.evaluate(f"e => e.closest('{NAMED}') != null") for picture in pictures)
    buttons = page.get_by_role(**CASES).get_by_role("button").all()
    names = {button.get_attribute("aria-label") for button in buttons}
    # Colour does not stand alone: each says its outcome.
    assert all("mismatch" in name for name in names)
    page.get_by_role(**SEARCH).focus()
    while len(reached) < 60 and not names <= set(reached):
        page.keyboard.press("ArrowRight" if names & set(reached) else "Tab")
        reached.append(page.evaluate("document.activeElement.ariaLabel"))
    assert names <= set(reached)
    for key, state in {"Enter": "visible", "Escape": "hidden"}.items():
        page.keyboard.press(key)
        page.get_by_role(**DIALOG).wait_for(state=state)


def test_r09_reports_say_the_finding_and_the_numbers_of_summarise(visit):
    books = {"65_own_forms--f": "first", "80": "second"}
    for name, system in (books | ({"00": "first", "10": "pages"} if ALL else {})).items():
        text, evaluation = visit(name).locator("main").text_content(), f"evals/{system}"
        table = formlab.summarise(formlab.open_evaluation(evaluation), resamples=9).to_dicts()
        assert f"{value(table, 'normalised_accuracy', level='field'):.3f}" in text
        assert re.search("missed" if system == "pages" else "n date|(kind|field) is /?date", text)


def test_n6_findings_link_to_the_report_of_their_own_evaluations(visit):
    links = visit("findings").locator("main").get_by_role("link").all()
    linked = {link.get_attribute("href").partition("#")[0] for link in links}
    assert {*filter(re.compile("[0-9]{2}_").match, linked)} == {"65_own_forms--first.html"}


def test_r10_what_has_nothing_to_report_is_a_line_and_no_failure(visit):
    pages = [visit(f"65_own_forms--{name}") for name in ("first", "empty")]
    full, titles = (page.get_by_role("heading", level=2).all_inner_texts() for page in pages)
    lines = pages[1].get_by_role("listitem").all_inner_texts()
    absent = [title for title in full if title not in titles]
    assert absent
    assert all(any(title in line for line in lines) for title in absent)
    assert "Traceback" not in pages[1].locator("main").text_content()


def test_r11_public_functions_take_one_evaluation_or_several():
    one, analysis = formlab.evaluate(GOLD, SECOND), formlab.analysis
    for function in (analysis.findings, analysis.runs, analysis.answers, analysis.by_entity):
        assert str(function(one)) == str(function([one]))
