"""What tests share: the real data where it is at hand, and a tiny FUNSD made on the spot."""

import contextlib
import gc
import json
import os
from functools import cache
from pathlib import Path

# One thread for each worker of pytest and what it starts: two workers keep two cores busy, and
# threads of libraries beside them wait for each other. It counts before polars is imported.
os.environ.setdefault("POLARS_MAX_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
# Commands that tests start need not compile formlab each time.
os.environ["PYTHONDONTWRITEBYTECODE"] = ""
# No key and no address of a model but the ones that a test gives.
os.environ.pop("OPENAI_API_KEY", None)
os.environ.pop("OPENAI_BASE_URL", None)

import pytest
from click.testing import CliRunner
from PIL import Image, ImageDraw

from formlab import browser, resources
from formlab.cli import main
from formlab.errors import NotAvailable
from tests.real_data import ABSENT, REASON, REQUIRED, SHARED
from tests.seeds import ALL
from tests.states import LONG

# They start first, the longest before all: what starts last is waited for by one core.
LONGEST = (
    "test_notebooks_run.py", "test_arena.py", "test_reports.py", "test_batches.py",
    "test_frozen.py", "test_hostile_pages.py", "test_fuzz.py", "test_run.py", "test_sample_runs.py",
    "test_web.py", "test_build.py", "test_client.py", "test_wheel.py",
    "test_files_plugins.py", "test_install.py", "test_faults.py",
    "test_docs.py", "test_door.py", "test_models.py",
    "test_scores.py", "test_compare.py", "test_experiments_review.py", "test_findings.py",
)  # fmt: skip


def pytest_configure(config):
    # By itself pytest-xdist starts the files of the most tests first.
    config.option.loadscopereorder = False
    if REQUIRED and ABSENT:
        listed = ", ".join(ABSENT)
        raise pytest.UsageError(f"FORMLAB_DATA=required, and {SHARED} has not: {listed}")
    with contextlib.suppress(ImportError):
        from playwright.sync_api import expect

        expect.set_options(timeout=1000 * LONG)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config, items):
    if not ALL:
        left_out = [item for item in items if item.get_closest_marker("complete")]
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if not item.get_closest_marker("complete")]
    places = {name: place for place, name in enumerate(LONGEST)}
    items.sort(key=lambda item: places.get(item.path.name, len(LONGEST)))
    # What was imported by now stays: looking through it again and again is a twentieth of the time.
    gc.collect()
    gc.freeze()


@cache
def _no_chromium() -> str:
    """Why no page can be opened on this machine; empty if one can."""
    try:
        resources.need("browser")
        browser.find()
    except NotAvailable as error:
        return str(error)
    return ""


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item):
    if item.get_closest_marker("browser") and (reason := _no_chromium()):
        pytest.skip(reason)


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of real data beside the checkout; tests that need it skip without it."""
    if ABSENT:
        pytest.skip(f"{REASON}: {SHARED}")
    return SHARED


def pytest_unconfigure(config):
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    skipped = reporter.stats.get("skipped", ()) if reporter else ()
    if count := sum(REASON in str(report.longrepr) for report in skipped):
        reporter.write_line(f"{count} tests skipped: {REASON} (FORMLAB_SHARED names it)")


@pytest.fixture
def formlab():
    """The command line, in this process."""

    def run(*arguments):
        return CliRunner().invoke(main, [str(argument) for argument in arguments])

    return run


def entity(number, text, box, label="answer", links=()):
    words = [{"text": word, "box": box} for word in text.split()]
    return {
        "id": number, "text": text, "box": box, "label": label, "words": words,
        "linking": [list(link) for link in links],
    }  # fmt: skip


@pytest.fixture
def funsd_root(tmp_path) -> Path:
    """Two test forms in FUNSD's layout: `a` with three entities, `b` with one; drawn pages."""
    forms = {
        "a": [
            entity(0, "Name:", [10, 10, 60, 30], "question", [(0, 1)]),
            entity(1, "Ada Berg", [70, 10, 160, 30], "answer", [(0, 1)]),
            entity(2, "", [70, 40, 160, 60], "answer"),
        ],
        "b": [entity(0, "Total 9.00", [10, 10, 160, 30], "other")],
    }
    root = tmp_path / "funsd"
    for stem, form in forms.items():
        folder = root / "testing_data"
        (folder / "annotations").mkdir(parents=True, exist_ok=True)
        (folder / "images").mkdir(exist_ok=True)
        (folder / "annotations" / f"{stem}.json").write_text(json.dumps({"form": form}))
        page = Image.new("L", (200, 100), 255)
        for item in form:
            ImageDraw.Draw(page).text(item["box"][:2], item["text"], fill=0, font_size=18)
        page.save(folder / "images" / f"{stem}.png")
    return root
