"""Two notebooks, built once: one that is sound and one that fails."""

import os
import pickle
from pathlib import Path

import nbformat
import pytest
from filelock import FileLock
from PIL import Image, ImageDraw

from formlab import reports, tables
from formlab.gallery import inline
from formlab.reports import page

HOSTILE = "</script><script>globalThis.pwned=1</script><img src=x onerror=globalThis.pwned=2>"


def report_page(kind, payload, text):
    """A page with one object as a report holds it: a data block, the page's scripts, the policy."""
    return whole_page(page.shown_object(page.Object(kind, payload, text)))


def whole_page(shown):
    """A page around the markup of objects, with a report's script, styles and policy."""
    script, style = inline.script("report"), inline.style()
    return (
        '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{inline.policy([script], style)}">'
        f"<style>{style}</style></head><body><main>{shown}</main>"
        f"<script>{script}</script></body></html>"
    )


def notebook(*cells, parameters=None):
    made = [nbformat.v4.new_markdown_cell("# What is asked?")]
    if parameters:
        made.append(nbformat.v4.new_code_cell(parameters))
        made[-1].metadata.tags = ["parameters"]
    for cell in cells:
        kind = nbformat.v4.new_markdown_cell if cell.startswith("#") else nbformat.v4.new_code_cell
        made.append(kind(cell))
    return nbformat.v4.new_notebook(cells=made)


IMPORTS = """
import altair as alt, numpy as np, plotly.graph_objects as go, polars as pl
from pathlib import Path
from IPython.display import HTML, Javascript, Markdown, SVG, display
from formlab import gallery
from formlab.charts import Caption, Card, Cards, Table
cases = pl.read_parquet("cases.parquet")
documents = pl.read_parquet("documents.parquet")
"""
SOUND = [
    "## Charts & tables",
    """
frame = pl.DataFrame({"system": ["a", "b", "c"], "exact": [0.25, None, 0.75], "n": [1, 2, 3]})
display(Cards([Card("Exact", 0.5, "n = 3")], finding="Half are right."))
display(Caption("Exact by system", settings="demo|exact"))
display(alt.Chart(frame, title="Exact").mark_bar().encode(x="system", y="exact", tooltip="n"))
display(Table(frame, titles={"exact": "Exact accuracy"}, note="made up"))
""",
    """
z = np.outer(np.linspace(0, 1, 12), np.linspace(0, 1, 12)).astype("float32")
go.Figure(go.Surface(z=z, colorscale="Cividis"), layout={"title": {"text": "A surface"}})
""",
    "### Cases",
    "gallery.errors(cases, root='.', documents=documents)",
]


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
    books = {
        "sound": notebook(IMPORTS, *SOUND, parameters="title: str | None = None  # of it"),
        "failing": notebook("print('before')", "1 / 0", "print('after')", parameters="title='x=y'"),
    }
    for name, book in books.items():
        nbformat.write(book, folder / f"{name}.ipynb")
    results = reports.build(
        [folder / f"{name}.ipynb" for name in books], out=folder / "out",
        parameters={"title": HOSTILE}, workers=1, timeout=120,
    )  # fmt: skip
    return folder / "out", dict(zip(books, results, strict=True))


@pytest.fixture(scope="session")
def out(built) -> Path:
    return built[0]


@pytest.fixture(scope="session")
def results(built):
    return built[1]
