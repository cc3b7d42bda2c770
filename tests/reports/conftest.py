"""Two notebooks, built once: one that is sound and one that fails."""

import os
import pickle
import shutil
from pathlib import Path

import pytest
from filelock import FileLock
from PIL import Image, ImageDraw

from formlab import reports, tables
from formlab.gallery import inline
from formlab.reports import page

HOSTILE = "</script><script>globalThis.pwned=1</script><img src=x onerror=globalThis.pwned=2>"


def report_page(kind, payload, text):
    """A page with one object as a report holds it: a data block, the page's scripts, the policy."""
    return whole_page(page.markup(page.Output(kind, payload, text)))


def whole_page(shown):
    """A page around the markup of objects, with a report's script, styles and policy."""
    script, style = inline.script("report"), inline.style()
    return (
        '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{inline.policy([script], style)}">'
        f"<style>{style}</style></head><body><main>{shown}</main>"
        f"<script>{script}</script></body></html>"
    )


BOOKS = sorted(Path(__file__).parent.glob("*.ipynb"))


@pytest.fixture(scope="session")
def built(tmp_path_factory):
    """Folder of reports, and the result of each notebook by its stem; once for all processes."""
    shared = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        shared = shared.parent
    kept = shared / "built.pickle"
    with FileLock(shared / "built.lock"):
        if not kept.exists():
            content = pickle.dumps(build(tmp_path_factory.mktemp("built")))
            kept.write_bytes(content)
        return pickle.loads(kept.read_bytes())


def build(folder):
    image = Image.new("L", (600, 800), 235)
    ImageDraw.Draw(image).text((100, 100), "Total 9.00", fill=0)
    image.save(folder / "page.png")
    key = {"benchmark": "demo", "split": "test", "doc_id": "1"}
    box = {"x0": 100.0, "y0": 98.0, "x1": 160.0, "y1": 112.0}
    row = key | box | {"system": "ocr", "task": "value", "kind": "money", "outcome": "mismatch"}
    rows = {"documents": [key | {"image": "page.png"}], "cases": [
        row | {"path": "/total", "gold": "9.00", "pred": "9.0O", "similarity": 0.75},
        row | {"path": "/name", "gold": "tea", "outcome": "missing", "doc_id": "no image"},
    ]}  # fmt: skip
    for name, of_table in rows.items():
        tables.table(name, of_table).write_parquet(folder / f"{name}.parquet")
    books = [shutil.copy(book, folder) for book in BOOKS]
    given = {"out": folder / "out", "parameters": {"title": HOSTILE}}
    results = reports.build(books, **given, workers=1, timeout=120)
    return folder / "out", {book.stem: result for book, result in zip(BOOKS, results, strict=True)}


@pytest.fixture(scope="session")
def out(built) -> Path:
    return built[0]


@pytest.fixture(scope="session")
def results(built):
    return built[1]
