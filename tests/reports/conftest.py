"""Four notebooks, built once: sound, failing, killed, and hostile from end to end."""

# ruff: noqa: E501 - notebook cells as strings

import json
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

BREAKOUTS = [
    "</script><script>globalThis.pwned=1</script>",
    "<img src=x onerror=globalThis.pwned=2>",
    "<a href='javascript:globalThis.pwned=3'>click me</a>",
    "<svg onload=globalThis.pwned=4><script>globalThis.pwned=5</script></svg>",
    "[link](javascript:globalThis.pwned=6) ![x](x onerror=globalThis.pwned=7)",
    "<iframe srcdoc='<script>parent.pwned=8</script>'></iframe>",
    "<marker-element>planted</marker-element>",
    "<style>body{display:none}</style>",
    "<details open ontoggle=globalThis.pwned=9><summary>x</summary></details>",
    '"><input autofocus onfocus=globalThis.pwned=10>',
    "<span style=\"background:url('https://beacon.invalid/a')\">x</span>",
    "<img src='https://beacon.invalid/b.png'>",
    "\x1b[31mred\x1b]8;;https://beacon.invalid\x07link\x1b]8;;\x07\x00\u2028\u202etxt.exe",
    "__proto__", "constructor", "{{ 7*7 }}{% raw %}", "${globalThis.pwned=11}",
]  # fmt: skip
HOSTILE = " | ".join(BREAKOUTS)


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
EVIL = [
    f"## Markdown {HOSTILE.replace(chr(10), ' ')}",
    """
import json, sys
evil = json.loads(Path("hostile.json").read_text())
both = " ".join(evil)
columns = {text: [text, both] for text in evil}
frame = pl.DataFrame({**columns, "n": [1, 2]})
display(Cards([Card(both, both, both)], finding=both))
row = {"claim": both, "where": both, "effect": both, "try": both, "place": both, "wrong": 3}
display({"application/vnd.formlab+json": {"first": {"sentence": both, "lead": both, "cards": [], "findings": [row, row], "runs": [both], "ran": both}}}, raw=True)
display(Caption(both, label="Figure", settings=both))
display(Table(frame, titles={"n": both}, note=both))
""",
    """
small = pl.DataFrame({"x": evil, "y": range(len(evil)), "image": ["https://beacon.invalid/c.png"] * len(evil), "url": ["javascript:globalThis.pwned=12"] * len(evil)})
display(alt.Chart(small, title=both).mark_bar().encode(x=alt.X("x:N", title=both), y="y:Q", tooltip=["x", "image"], href="url:N"))
display(alt.Chart(small).mark_image(width=20, height=20).encode(x="x:N", y="y:Q", url="image:N"))
spec = {"$schema": "https://vega.github.io/schema/vega-lite/v6.json", "data": {"values": [{"a": 1, "__proto__": {"polluted": 1}}]}, "transform": [{"calculate": "constructor.constructor('globalThis.pwned=13')()", "as": "b"}], "usermeta": {"embedOptions": {"ast": False, "loader": {}, "actions": True}}, "mark": "point", "encoding": {"x": {"field": "a", "type": "quantitative"}}}
display({"application/vnd.vegalite.v6+json": spec | {"description": both}}, raw=True)
display({"application/vnd.vegalite.v6+json": {"data": {"url": "https://beacon.invalid/d.json"}, "mark": "bar", "encoding": {}}}, raw=True)
""",
    """
display(go.Figure(go.Scatter(x=evil, y=list(range(len(evil))), text=evil, hovertext=evil, name=both, mode="markers+text"), layout={"title": {"text": both}, "xaxis": {"title": {"text": both}}, "images": [{"source": "https://beacon.invalid/e.png"}], "meta": {"alt": both}}))
display({"application/vnd.plotly.v1+json": {"data": [{"type": "table", "header": {"values": evil}, "cells": {"values": [evil]}}], "layout": {"__proto__": {"polluted": 1}}}}, raw=True)
""",
    """
for text in evil:
    display(HTML(text), Markdown(text))
    print(text)
    print(text, file=sys.stderr)
display(Javascript("globalThis.pwned=14"), SVG("<svg xmlns='http://www.w3.org/2000/svg' onload='globalThis.pwned=15'/>"))
display({"text/vnd.mermaid": both, "text/plain": both}, raw=True)
display({"image/png": '"><script>globalThis.pwned=16</script>', "text/plain": both}, raw=True)
display(HTML(frame._repr_html_()), HTML(f'<table title={both}><caption>{both}</caption><tr><td {both}>{both}</td></tr></table>'))
""",
    "gallery.errors(cases.with_columns(gold=pl.lit(both), pred=pl.lit(both[::-1]), path=pl.lit(both), kind=pl.lit(both), system=pl.lit(both), cause=pl.lit('__proto__')), root='.', documents=documents.with_columns(image=pl.lit(both)))",
    "raise ValueError(both)",
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
    (folder / "hostile.json").write_text(json.dumps(BREAKOUTS))
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
    kill = "import os, signal; os.kill(os.getpid(), signal.SIGKILL)"
    evil = "a{b} <img src=x onerror=globalThis.pwned=17>"
    books = {
        "sound": notebook(IMPORTS, *SOUND, parameters="title: str | None = None  # of it"),
        "failing": notebook("print('before')", "1 / 0", "print('after')", parameters="title='x=y'"),
        "killed": notebook("print('alive')", kill, parameters="title = None"),
        evil: notebook(IMPORTS, *EVIL, parameters="title = None"),
    }
    for name, book in books.items():
        nbformat.write(book, folder / f"{name}.ipynb")
    results = reports.build(
        [folder / f"{name}.ipynb" for name in books], out=folder / "out",
        parameters={"title": HOSTILE}, workers=1, timeout=120,
    )  # fmt: skip
    names = ["sound", "failing", "killed", "hostile"]
    return folder / "out", dict(zip(names, results, strict=True))


@pytest.fixture(scope="session")
def out(built) -> Path:
    return built[0]


@pytest.fixture(scope="session")
def results(built):
    return built[1]
