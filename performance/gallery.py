"""Galleries of 2,000 and 20,000 error cases: time to build, to open and to filter, size, memory.

Beside them a table of 2,000 rows with an image each, as pandas and Pillow write it.

Run: python performance/gallery.py [--json] [--root FOLDER of FUNSD] [--eval FOLDER ...]

Without an evaluation the cases are FUNSD's own fields on their own pages (without ../shared those
of the sample), each read with one character wrong at a place drawn with a seed. Where there are
fewer cases than asked for, they are repeated under changed paths, and the row says how often. The
20,000 cases stand on 2,000 pages: the same scans, each shifted by another distance.
"""

from __future__ import annotations

import argparse
import base64
import io
import itertools
import json
import random
import re
import statistics
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
from PIL import Image

from formlab import analysis, benchmarks, browser, gallery, tables
from formlab.folders import Evaluation, Predictions
from formlab.gallery import inline

# Cases, pages (those that there are, or so many), and the megabytes that the file may have.
SIZES = ((2_000, None, 25.0), (20_000, 2_000, 60.0))
SECONDS, VISITS = 2.0, 3
SHARED, SAMPLE = Path("../shared/data/funsd"), benchmarks.SAMPLES / "funsd"
# When the first picture stands on the screen: two frames after it is decoded.
WATCH = """
const look = () => {
  const image = document.querySelector('.fl-card img, table img');
  if (!image || !image.complete || !image.naturalWidth) return setTimeout(look, 5);
  requestAnimationFrame(() => requestAnimationFrame(() => { window.drawn = performance.now(); }));
};
look();
"""
# How long a filter takes, to the layout of its cards; null where there is no gallery.
FILTER = """async () => {
  const made = globalThis.formlabGallery?.galleries[0];
  if (!made) return null;
  await made.ready;
  const start = performance.now();
  made.choose(formlabGallery.selection.read("slice=kind:answer"));
  document.body.getBoundingClientRect();
  return performance.now() - start;
}"""


def wrong(text: str, generator: random.Random) -> str:
    """The text with one character changed."""
    position = generator.randrange(len(text))
    return text[:position] + ("O" if text[position] != "O" else "0") + text[position + 1 :]


def of_funsd(root: Path) -> list[Evaluation]:
    """FUNSD's fields, each with one wrong character, evaluated."""
    generator = random.Random(0)
    made = []
    for split in benchmarks.get("funsd").splits_in(root):
        corpus = benchmarks.load("funsd", root=root, split=split)
        read = corpus.records.filter(
            pl.col("task") == "text",
            pl.col("path").is_not_null(),
            pl.col("value").str.len_chars() > 0,
        )
        values = [wrong(value, generator) for value in read["value"]]
        records = read.with_columns(
            role=pl.lit("prediction"), system=pl.lit("one wrong"), value=pl.Series(values)
        )
        answers = Predictions(records, tables.table("responses", []), system="one wrong")
        made.append(analysis.evaluate(corpus, answers))
    return made


def chosen(evaluations: list[Evaluation], count: int) -> tuple[pl.DataFrame, int]:
    """`count` error cases with boxes, spread over all pages, and how often each is repeated."""
    cases = pl.concat([evaluation.cases for evaluation in evaluations]).filter(
        pl.col("outcome").is_in(["mismatch", "missing", "spurious"]),
        pl.col("x0").is_not_null() | pl.col("pred_x0").is_not_null(),
    )
    times = -(-count // cases.height)
    again = [
        cases.with_columns(path=pl.concat_str("path", pl.lit(f"~{n}"))) if n else cases
        for n in range(times)
    ]
    return pl.concat(again).sample(count, seed=0), times


def shifted(
    cases: pl.DataFrame, documents: pl.DataFrame, root: Path, pages: int, folder: Path
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The cases and documents on so many pages, each a shifted copy of one of theirs."""
    scans = []
    for number, row in enumerate(itertools.islice(itertools.cycle(documents.to_dicts()), pages)):
        with Image.open(root / row["image"]) as image:
            moved = np.roll(np.asarray(image.convert("L")), 7 * number, axis=(0, 1))
        name = f"{number}.png"
        Image.fromarray(moved).save(folder / name, compress_level=1)
        scans.append(row | {"doc_id": str(number), "image": name})
    places = pl.Series("doc_id", [str(number % pages) for number in range(cases.height)])
    return cases.with_columns(places), tables.table("documents", scans)


def plain_table(cases: pl.DataFrame, documents: pl.DataFrame, root: Path) -> str:
    """What one writes by hand: a row a case, its crop as PNG inside."""
    images = {row["doc_id"]: Image.open(root / row["image"]) for row in documents.to_dicts()}
    rows = []
    for row in cases.to_dicts():
        side = "" if row["x0"] is not None else "pred_"
        x0, y0, x1, y1 = (row[f"{side}{name}"] for name in ("x0", "y0", "x1", "y1"))
        stream = io.BytesIO()
        images[row["doc_id"]].crop((x0 - 80, y0 - 34, x1 + 80, y1 + 34)).save(stream, "PNG")
        source = base64.b64encode(stream.getvalue()).decode()
        rows.append(
            {name: row[name] for name in ("doc_id", "path", "gold", "pred", "cause")}
            | {"image": f'<img src="data:image/png;base64,{source}">'}
        )
    return pd.DataFrame(rows).to_html(escape=False)


def visit(file: Path) -> dict[str, float]:
    """Seconds from navigation to the first picture and milliseconds of a filter (medians).

    Megabytes are the most that all processes hold.
    """
    seconds, filters, memory = [], [], 0.0
    for _ in range(VISITS):
        with browser.page(init_script=WATCH) as opened:
            opened.page.goto(file.as_uri(), wait_until="commit")
            while (drawn := opened.page.evaluate("window.drawn ?? null")) is None:
                time.sleep(0.02)
            seconds.append(drawn / 1000)
            filters.append(opened.page.evaluate(FILTER))
            memory = max(memory, resident(opened))
            if opened.trouble:
                raise SystemExit(f"{file.name}: {opened.trouble}")
    row = {"first_picture_seconds": round(statistics.median(seconds), 2)}
    if None not in filters:
        row["filter_ms"] = round(statistics.median(filters))
    return row | {"memory_mb": round(memory)}


def resident(opened: browser.Visit) -> float:
    """Megabytes that the browser's processes hold, shared pages split between them."""
    chromium = opened.page.context.browser
    if chromium is None or not Path("/proc/self/smaps_rollup").exists():
        return float("nan")
    processes = chromium.new_browser_cdp_session().send("SystemInfo.getProcessInfo")["processInfo"]
    total = 0
    for process in processes:
        text = Path(f"/proc/{process['id']}/smaps_rollup").read_text()
        total += int(re.findall(r"^Pss:\s+(\d+)", text, re.MULTILINE)[0])
    return total / 1024


def measure(
    evaluations: list[Evaluation], count: int, pages: int | None, most: float, folder: Path
) -> dict[str, object]:
    """One row: build a gallery of `count` cases and open it."""
    cases, times = chosen(evaluations, count)
    documents = pl.concat([evaluation.documents for evaluation in evaluations])
    root = evaluations[0].root or Path()
    if pages is not None:
        scans = folder / "scans"
        scans.mkdir()
        cases, documents = shifted(cases, documents, root, pages, scans)
        root = scans
    start = time.perf_counter()
    made = gallery.errors(
        cases, root=root, documents=documents, right=True, most=None, by=["length", "position"]
    )
    file = folder / f"{count}.html"
    file.write_text(inline.document(made.payload), "utf-8")
    row = {
        "what": f"gallery of {count:,} cases", "pages": cases["doc_id"].n_unique(),
        "repeated": times, "build_seconds": round(time.perf_counter() - start, 1),
        "megabytes": round(file.stat().st_size / 1e6, 1), **visit(file),
    }  # fmt: skip
    row["holds"] = row["first_picture_seconds"] < SECONDS and row["megabytes"] < most
    return row


def by_hand(evaluations: list[Evaluation], folder: Path) -> dict[str, object]:
    """The row to compare with: a table of as many images."""
    cases, _ = chosen(evaluations, SIZES[0][0])
    documents = pl.concat([evaluation.documents for evaluation in evaluations])
    start = time.perf_counter()
    file = folder / "table.html"
    file.write_text(plain_table(cases, documents, evaluations[0].root or Path()), "utf-8")
    return {
        "what": f"pandas table of {SIZES[0][0]:,} crops",
        "build_seconds": round(time.perf_counter() - start, 1),
        "megabytes": round(file.stat().st_size / 1e6, 1), **visit(file),
    }  # fmt: skip


def main() -> int:
    """Measure, print, and say by the exit code whether the limits hold."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--root", type=Path, default=SHARED if SHARED.is_dir() else SAMPLE)
    parser.add_argument("--eval", type=Path, nargs="*", default=[])
    options = parser.parse_args()
    evaluations = [Evaluation.load(folder) for folder in options.eval] or of_funsd(options.root)
    with tempfile.TemporaryDirectory() as name:
        rows = [measure(evaluations, *size, Path(name)) for size in SIZES]
        rows.append(by_hand(evaluations, Path(name)))
    with pl.Config(tbl_cols=-1, tbl_width_chars=200, tbl_hide_dataframe_shape=True):
        print(json.dumps(rows, indent=1) if options.json else pl.DataFrame(rows))
    return 0 if all(row.get("holds", True) for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
