"""The documentation: the site works with no network, and what its pages tell to run is run."""

import csv
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

import lxml.html
import nbformat
import polars as pl
import pytest
from click.testing import CliRunner

import formlab
from formlab import benchmarks, browser, metrics, reports
from formlab.cli import main

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))]
# Pages whose Python is run by another file of tests.
ELSEWHERE = {
    "README.md": "contract/test_install.py",
    "docs/plugins/README.md": "plugins/test_registry.py", "docs/ci.md": "test_testing.py",
    "docs/experiments/counterfactual.md": "experiments/test_counterfactual.py",
}  # fmt: skip
# What a page names: the sample in the place of what the reader has.
OWN_DATA = "docs/tutorials/own-data.md"
FOLDERS = {
    "docs/tutorials/funsd.md": {"funsd": "funsd"}, "docs/review.md": {"drafts": "formcraft"},
    OWN_DATA: {"scans": "funsd/testing_data/images"},
}  # fmt: skip
REPORTS = {OWN_DATA: "65_own_forms"}  # One report tells that a command for all of them is right.
FOLLOWED = [
    "docs/judging.md", "docs/reading-reports.md", "docs/review.md",
    "docs/tutorials/funsd.md", OWN_DATA,
]  # fmt: skip
OWN_PARTS = "docs/tutorials/own-parts.md"
NOTHING_TO_FIND = 'var __index = {"config": {"lang": ["en"], "separator": " "}, "docs": []}'
BLOCK = re.compile(
    r"^```(\w+)(?: (\S+))?\n(.*?)^```$|^<!-- made: source (\S+) -->", re.MULTILINE | re.DOTALL
)


def test_page_of_commands_is_what_they_print_today():
    # In a process of its own, whose registry has no plug-ins of other tests.
    code = "import _pages; assert _pages.made('commands') == _pages.COMMANDS.read_text('utf-8')"
    env = os.environ | {
        "PYTHONPATH": os.pathsep.join(map(str, (DOCS, ROOT))),
        "FORMLAB_PLUGINS": "",
    }
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True)
    assert done.returncode == 0, f"{done.stderr}\npython docs/_pages.py makes it anew"


@pytest.fixture(scope="session")
def site(tmp_path_factory):
    """The site, built once; a warning fails the build."""
    folder = tmp_path_factory.mktemp("docs") / "site"
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--site-dir", folder], cwd=ROOT, text=True,
        capture_output=True, env=os.environ | {"NO_MKDOCS_2_WARNING": "1"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture(scope="session")
def parsed(site):
    pages = {file: lxml.html.parse(file).getroot() for file in site.rglob("*.html")}
    return {file: page for file, page in pages.items() if file.name != "sample_report.html"}


@pytest.mark.complete
def test_no_page_loads_anything_from_the_net(site, parsed):
    for file, page in parsed.items():
        loaded = page.xpath("//script/@src | //img/@src | //iframe/@src | //link/@href")
        assert not [address for address in loaded if re.match("(https?:)?//", address)], file
    for file in [*site.rglob("*.css"), *site.rglob("*.svg")]:
        assert not re.search(r"url\(.?https?:|@import|<image", file.read_text()), file


@pytest.mark.complete
@pytest.mark.browser
def test_pages_open_from_files_in_both_schemes_and_search_finds_a_metric(site):
    several = [site / f"{name}.html" for name in ("index", "charts", "reference/api/charts")]
    every = sorted(site.rglob("*.html"), key=lambda file: (file.stem == "metrics", file))
    every = [file for file in every if file.stem not in ("404", "sample_report")]
    assert len(every) > 40
    for scheme, body, files in (("light", "default", every), ("dark", "slate", several)):
        with browser.page(scheme=scheme) as visit:
            page = visit.page
            # Each page makes the search's index anew; the one that is searched has all of it.
            page.route("**/search_index.js", lambda route: route.fulfill(body=NOTHING_TO_FIND))
            for file in files:
                if file.stem == "metrics":
                    page.unroute("**/search_index.js")
                page.goto(file.as_uri())
                assert page.locator("body").get_attribute("data-md-color-scheme") == body
                drawn = "all => all.every(img => img.complete && img.naturalWidth)"
                assert page.locator("article img").evaluate_all(drawn)
            if scheme == "light":
                page.locator("input[name=query]").fill("tree_similarity")
                found = page.locator(".md-search-result__link").first
                found.wait_for(state="attached")
                assert "reference/metrics.html" in found.get_attribute("href")
            assert visit.trouble == []


@pytest.mark.complete
def test_every_metric_and_benchmark_has_its_definition(parsed):
    pages = {
        file.stem: page.text_content()
        for file, page in parsed.items()
        if file.parent.name == "reference"
    }
    for name in metrics.METRICS.builtin:
        entry = metrics.get(name)
        assert entry.source in pages["metrics"], name
        assert entry.unit in pages["metrics"], name
    for name, entry in benchmarks.BENCHMARKS.items():
        assert name not in benchmarks.BENCHMARKS.builtin or entry.citation in pages["benchmarks"]


def test_every_block_of_python_is_run():
    for file in PAGES:
        name = str(file.relative_to(ROOT))
        marks = {mark for kind, mark, *_ in BLOCK.findall(file.read_text()) if kind == "python"}
        if marks and name not in ELSEWHERE:
            assert marks == {"chart"} or name in [*FOLLOWED, OWN_PARTS], name
    for name, test in ELSEWHERE.items():
        assert Path(name).name in (ROOT / "tests" / test).read_text()


def follow(name, run, execute):
    """Make the files of a page here, and run its commands and its Python, in their order."""
    for folder, sample in FOLDERS.get(name, {}).items():
        Path(folder).symlink_to(benchmarks.SAMPLES / sample)
    for kind, mark, content, source in BLOCK.findall((ROOT / name).read_text()):
        if source:
            shutil.copy(DOCS / source, ".")
        elif kind == "text" and mark:
            Path(mark).parent.mkdir(parents=True, exist_ok=True)
            Path(mark).write_text(content)
        elif kind == "sh":
            for line in content.splitlines():
                words = shlex.split(line)[1:]
                # Figures as files take a browser.
                if words[0] == "report":
                    one = REPORTS.get(name, "00_overview")
                    words += ["--set", "figures=off"] + [one] * words[1].startswith("--")
                run(words)
        elif kind == "python":
            execute(content)


@pytest.mark.parametrize("name", FOLLOWED)
def test_commands_and_python_of_a_page_run(name, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    names = {}

    def run(words):
        # The OCR engine reads two pages here.
        words = ["2" if word == "20" else word for word in words]
        done = CliRunner().invoke(main, words, catch_exceptions=False)
        assert done.exit_code == 0, done.output

    follow(name, run, lambda code: exec(compile(code, name, "exec"), names))
    if name == OWN_DATA:
        fields = formlab.open_evaluation("evals/mine").fields
        # 11 values of the truth and `tax`; the number TC-118 is wrong.
        counts = dict(fields["outcome"].value_counts().rows())
        assert counts == {"match": 10, "mismatch": 1, "spurious": 1}
        pairs = fields.select("path", "pred_path", "outcome").rows()
        assert ("/items/0/hours", "/items/1/hours", "match") in pairs
        assert "TC-ll8" in capsys.readouterr().out
        page = Path("reports/65_own_forms--mine.html").read_text()
        assert all(word in page for word in ("/items/*/hours", "scanner", "data:image/webp"))


# Commands and Python of a page in a process that is not this one, whose registry stays as it is.
IN_TURN = """
import json, sys
from formlab.cli import main
for step in json.load(sys.stdin):
    if isinstance(step, str):
        exec(step, {})
        continue
    try:
        main(step)
    except SystemExit as end:
        if end.code:
            raise
"""


@pytest.mark.complete
def test_plug_ins_of_the_tutorial_run_and_its_score_is_right(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    env = os.environ | {"FORMLAB_CACHE": str(tmp_path / "cache"), "PYTHONPATH": str(ROOT)}
    steps = []
    follow(OWN_PARTS, steps.append, steps.append)
    # That other processes find the plug-ins again is shown by the report's kernel.
    done = subprocess.run(
        [sys.executable, "-c", IN_TURN], env=env, input=json.dumps(steps), capture_output=True,
        text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    # Of 1005 and 3190, read as 1005 and 8190, seven of eight digits are right.
    assert "0.875" in done.stdout
    assert list(Path("reports").glob("10_content_modality--lines.html"))


@pytest.mark.complete
def test_floors_of_functions_and_of_commands_by_every_door_are_measured():
    command = [sys.executable, ROOT / "performance" / "floors.py", "--tiny", "--json", "--only"]
    functions, commands = "text,tree,entities,facts,nested,bootstrap", "start,score"
    measured = []
    for groups in (functions, commands):
        done = subprocess.run([*command, groups], cwd=ROOT, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        measured.append({row["what"]: row for row in json.loads(done.stdout)})
    rows, of_commands = measured
    assert len(rows) == 9
    # The same distances as zss, and as many facts as the pages have.
    assert rows["tree edit distance"]["largest_difference"] < 1e-9
    assert rows["facts matched"]["count"] == 100
    doors = [f"score by {door}, 1 workers" for door in ("own", "table", "run", "log")]
    assert list(of_commands) == ["formlab --help", "formlab score", *doors]


EXAMPLE = DOCS / "examples" / "kleister_nda.ipynb"
OWN_PAGE = (DOCS / "tutorials" / "own-data.md").read_text()


@pytest.mark.complete
def test_published_f1_is_that_of_plain_python_and_of_formlab(tmp_path, shared):
    contracts = shared.resolve() / "data" / "kleister-nda"
    result, *_ = reports.build(
        [EXAMPLE], out=tmp_path / "reports", figures=False,
        parameters={"source": os.path.relpath(contracts, EXAMPLE.parent), "out": str(tmp_path),
                    "resamples": 20},
    )  # fmt: skip
    assert result.ok, result.error
    gold = pl.read_csv(tmp_path / "gold.csv", infer_schema=False).drop_nulls("value")
    assert gold.height == 334
    assert gold["doc_id"].n_unique() == 83
    answers = pl.read_ndjson(tmp_path / "answers.jsonl")
    # As filipg/geval counts: the pairs of key and value of each document, by how often they occur.
    want = Counter((d, k, v.upper()) for d, k, v in gold.select("doc_id", "path", "value").rows())
    have = Counter(
        (row["doc_id"], key, value.upper())
        for row in answers.to_dicts()
        for key in ("effective_date", "jurisdiction", "term", "party")
        for value in (row[key] if isinstance(row[key], list) else [row[key]])
        if isinstance(value, str)
    )
    f1 = 2 * (want & have).total() / (want.total() + have.total())
    executed = nbformat.read(tmp_path / "reports" / "kleister_nda.ipynb", as_version=4)
    shown = str([cell.get("outputs") for cell in executed.cells])
    printed = re.findall(r"\| (0\.\d{4}) \|", OWN_PAGE)
    assert printed[:2] == [f"{f1:.4f}"] * 2
    assert all(number in shown for number in printed)


LOCK = (ROOT / "requirements.lock").read_text()
ROWS = list(csv.reader((ROOT / "docs/licences.csv").read_text().splitlines()[1:]))
# What asks whoever passes a program on for more than a notice; MPL asks it for its own files alone.
ASKING = re.compile(r"GPL|General Public|EUPL|SSPL|BUSL|Non-?Commercial|Proprietary", re.I)


def test_every_pin_has_the_hashes_of_its_files_and_no_address():
    pins = re.split(r"\n(?=\S)", LOCK.strip())
    assert len(pins) > 200
    assert [pin for pin in pins if not re.search(r"--hash=sha256:[0-9a-f]{64}\b", pin)] == []
    assert re.findall(r"\w+://|^\s*-[^-]|--(?!hash)\S+", LOCK, re.M) == []


def test_the_licence_of_every_pin_is_listed():
    listed = [(name, version) for name, version, _ in ROWS]
    assert listed == re.findall(r"^([\w.-]+)==([^\s;\\]+)", LOCK, re.M)


def test_no_licence_asks_for_more_than_a_notice():
    assert [row for row in ROWS if ASKING.search(row[2])] == []
    # Its metadata say nothing; its source says BSD. It is an oracle of the tests.
    assert [name for name, _, licence in ROWS if licence == "not stated"] == ["zss"]
