"""Readers: logs of other harnesses, scans and filings, each as the smallest file of its kind."""

import json
import re
import shutil
from pathlib import Path

import polars as pl
import pytest

import formlab
from tests.contract.doors import SCORE, WORDS, cli, json_folder, json_lines, rows, value

# Small logs: of three samples one is right for both, one for formlab alone, which ignores case,
# and one is of a call that failed.
FILES = json.loads(Path(__file__).with_name("data").joinpath("logs.json").read_text("utf-8"))
FOLDER = Path(__file__).parents[2] / "docs/plugins"
PLUGINS = [f"--plugin={FOLDER}/ocrbench.py"]
# What is opened, its samples, the figure that the log states, figures and counts of the log and of
# formlab over what the log scored and over all, and words of why the two differ.
THREE = ([(1 / 2, 2), (1 / 3, 3), (1, 2), (2 / 3, 3)], ["case", "left out"])
LOGS = {
    "L01 Inspect": ("eval.eval", 3, [0.5], *THREE),
    "L02 lmms-eval, one nested too deep": ("lmms/1_samples_forms.jsonl", 3, [0.5], *THREE),
    "L03 VLMEvalKit, in percent": ("kit/m_F.json", 3, [50], *THREE),
    "L04 OmniAI, without the failed": ("omniai", 2, [], [(1 / 2, 1), (1 / 4, 2)] * 2, ["left out"]),
    "L05 docling-eval": ("doc", 1, [1], [(1, 1)] * 2 + [(0, 1)] * 2, ["whole"]),
    "L06 olmOCR: right, there and should not be, unread": ("olmocr", 3, [], [(1 / 3, 3)], []),
    "L07 OCRBench v2": ("ocrbench/m.json", 3, [0.5], *THREE),
    "L08 stickler": ("stickler/l.jsonl", 1, [0.8], [(1, 1)] * 2 + [(0, 1)] * 2, ["accepts"]),
    "L09 any table": ("csv/t.csv", 3, [], *THREE),
}


@pytest.mark.parametrize("name", LOGS)
def test_l01_to_l09_a_log_has_its_own_figures_beside_ours_and_why_they_differ(name, tmp_path):
    for file, content in FILES.items():
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        lines = content if file.endswith(".jsonl") else [content]
        texts = (line if isinstance(line, str) else json.dumps(line) for line in lines)
        (tmp_path / file).write_text("\n".join(texts), "utf-8")
    pl.read_ndjson(tmp_path / "doc/0.jsonl").write_parquet(tmp_path / "doc/0.parquet")
    shutil.make_archive(tmp_path / "eval", "zip", tmp_path / "eval")
    (tmp_path / "eval.zip").rename(tmp_path / "eval.eval")
    path, count, stated, figures, reasons = LOGS[name]
    columns = ("--columns", "doc_id=n,gold=want,value=got,score=mark") if "csv" in path else ()
    (log,) = rows(*PLUGINS, *WORDS["score a log"], tmp_path / path, *columns)
    assert (log["join"]["matched"], log["join"]["unreadable"]) == (count, "lmms" in path)
    table = [(entry["by"], entry["value"], entry["n"]) for entry in log["headlines"]]
    assert [figure for source, figure, _ in table if "stated" in source] == stated
    found = [figure for source, *figure in table if "stated" not in source]
    assert found == [pytest.approx(figure) for figure in figures]
    assert all(word in why for word, why in zip(reasons, log["why"], strict=True))


def test_l10_a_log_joins_the_fields_of_a_benchmark_whose_gold_is_used(tmp_path):
    box = {"id": 1, "text": "Total 9.00", "box": [10, 10, 160, 30], "label": "answer"}
    form = {"form": [box | {"linking": [], "words": []}]}
    json_folder(tmp_path / "testing_data/annotations", {"a": form, "b": form})
    # One target differs, and one sample is of no field.
    asked = {"a/entities/1": "Total 9.00", "b/entities/1": "9.0", "b/entities/7": "x"}
    lines = {name: {"target": gold, "output": "Total 9.00"} for name, gold in asked.items()}
    named = [json_lines(tmp_path / f"{name}.jsonl", lines) for name in ("second", "first")]
    options = ("--workers", 2, "--out", tmp_path / "e", *(f"--predictions={n}" for n in named))
    log = rows(*WORDS["score a log"], "funsd", "--root", tmp_path, *options)
    assert [entry["system"] for entry in log] == ["second", "first"]
    odd = [n for e in log for note, n in e["notes"].items() if re.search("differ|not have", note)]
    assert odd == [1, 1] * 2
    fields = formlab.open_evaluation(log[0]["out"]).fields.sort("doc_id")
    joined = fields.select("doc_id", "gold", "outcome", "x0", "y1").rows()
    assert joined == [(name, "Total 9.00", "match", 10, 30) for name in "ab"]


# 16 x 8 pixels of grey, and a camera's note that they are to be turned.
JPEG = "ffd8ffdb004300{0}{0}ffc0000b080008001001011100ffc400140001{1}ffc400141001{1}ffda00080101"
JPEG = bytes.fromhex(JPEG.format("ff" * 32, "00" * 16) + "00003f000fffd9")
TURN = b"\xff\xe1\0\x22Exif\0\0MM\0*\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0\x06\0\0\0\0\0\0"
SCANS = {"a.jpg": JPEG[:2] + TURN + JPEG[2:], "b.pdf": b"%PDF-", "c/10.jpg": JPEG, "c/2.jpg": JPEG}
TRUTH = "doc_id,path,value\na,t,a.jpg 8 16\nb,t,b.pdf None None\nc,t,c/2.jpg 16 8\n"
TOY = """import formlab
@formlab.system("toy", title="a toy")
def start(settings, threads):
    shown = "{image} {width} {height}".format
    return lambda form, root: [{"task": "text", "path": "/t", "value": shown(**form)}]
"""


def test_l11_pages_are_found_by_name_and_are_as_large_as_shown(work):
    (work / "scans/c").mkdir(parents=True)
    for name, data in SCANS.items():
        (work / "scans" / name).write_bytes(data)
    (work / "toy.py").write_text(TOY)
    (work / "truth.csv").write_text(TRUTH)
    run = ("run", "truth.csv", "--images", "scans", "--system", "toy", "--out", "run")
    cli("--plugin", "toy.py", *run)
    assert value(rows(*SCORE, "run"), "match_f1") == 1


FILING = """<html xmlns="http://www.w3.org/1999/xhtml" xmlns:ix="http://www.xbrl.org/2013/inlineXBRL">
<body><ix:header><ix:hidden><ix:nonFraction name="H">7</ix:nonFraction></ix:hidden></ix:header>
<p>Income <ix:nonFraction name="NI" scale="6" sign="-">1,279</ix:nonFraction>) million</p>
<hr style="break-after:page"/><p><ix:nonFraction name="S">12</ix:nonFraction></p></body></html>"""


@pytest.mark.browser
def test_l12_a_filing_becomes_pages_that_are_right_by_their_own_text(tmp_path):
    (tmp_path / "f.htm").write_text(FILING)
    pages = tmp_path / "pages"
    (row,) = rows(*WORDS["pages of a filing"], tmp_path / "f.htm", "--out", pages, "--dpi", 72)
    assert (row["pages"], row["facts"]) == (2, 2)
    for gold in pages.glob("gold_*.txt"):
        text = re.sub(r"<[^>]+>", "", gold.read_text())
        (pages / gold.name.replace("gold", "pred")).write_text(text)
    table = rows("score", "fincriticaled", "--root", pages, "--predictions", pages)
    assert value(table, "fact_accuracy") == 1
