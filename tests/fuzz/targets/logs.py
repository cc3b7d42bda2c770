"""Logs of other harnesses."""

import shutil
from collections import Counter
from functools import partial
from pathlib import Path

from formlab import registry, resources
from formlab.readers import logs
from tests.fuzz.targets.common import DOCS, put, rows
from tests.fuzz.verdicts import Found, Target

# Written by the harnesses themselves.
DATA = Path(__file__).parents[2] / "readers" / "logs"
PLUGINS = Path(__file__).parents[3] / "docs" / "plugins"


def _read(name: str, folder: Path, plugin: str | None = None) -> Found:
    if plugin:
        registry.load(PLUGINS / f"{plugin}.py")
    found, counted = set(), Counter[str]()
    for evaluation in logs.open_logs(folder / name):
        logs.headlines(evaluation)
        logs.differences(evaluation)
        found |= set(evaluation.documents["doc_id"])
        counted.update(evaluation.notes)
    return Found(frozenset(found), counted)


def _copied(*names: str):
    def make(folder: Path) -> None:
        for name in names:
            if (DATA / name).is_dir():
                shutil.copytree(DATA / name, folder / name)
            else:
                shutil.copy(DATA / name, folder / name)

    return make


def _lmms_eval(folder: Path) -> None:
    rows(folder, "20260102_030405_samples_forms.jsonl", [
        {"doc_id": 1001 + number, "input": "Read.", "target": "118.40", "filtered_resps": ["118.4"],
         "doc_hash": "9f", "input_media": [f"img/{name}.png"], "anls": 0.83, "acc": True,
         "token_counts": [{"input_tokens": 902, "output_tokens": 31}]}
        for number, name in enumerate(DOCS)
    ])  # fmt: skip
    put(folder, "20260102_030405_results.json", {
        "model_name": "qwen", "results": {"forms": {"alias": "forms", "anls,none": 0.61}},
        "n-samples": {"forms": {"original": 3, "effective": 3}},
    })  # fmt: skip


def _omniai(folder: Path) -> None:
    put(folder, "results.json", [
        {"fileUrl": f"https://host.example/{name}.png", "metadata": {"language": "EN"},
         "jsonSchema": {"type": "object", "properties": {"total": {"type": "number"}}},
         "ocrModel": "m1", "extractionModel": "m2", "directImageExtraction": False,
         "trueMarkdown": "Bill 9.50", "trueJson": {"total": 9.5}, "predictedMarkdown": "Bill 9.50",
         "predictedJson": {"total": 9.0}, "levenshteinDistance": 1.0, "jsonAccuracy": 0.5,
         "usage": {"duration": 4100, "totalCost": 0.01}}
        for name in DOCS
    ])  # fmt: skip


def _ocrbench(folder: Path) -> None:
    put(folder, "model.json", [
        {"dataset_name": "d", "type": "key information extraction en", "id": 1001 + number,
         "image_path": f"{name}.png", "question": "Fields?", "predict": '{"total": "8.00"}',
         "answers": [{"company": ["Ada Foods"], "total": ["9.00"]}], "score": 0.5}
        for number, name in enumerate(DOCS)
    ])  # fmt: skip


def _funsd_bench(folder: Path) -> None:
    blocks = [{"type": "Text", "content": "Name:", "bbox": {"page": 1}}]
    result = {"type": "full", "chunks": [{"content": "whole", "blocks": blocks}]}
    documents = []
    for form in sorted(resources.folder("data/sample/funsd/testing_data/annotations").glob("*"))[
        :3
    ]:
        parse = {"filename": f"{form.stem}.png", "success": True, "duration_ms": 5100,
                 "extracted_text": "", "response": {"data": {"result": result}}}  # fmt: skip
        put(folder, f"results/parses/{form.stem}.json", parse)
        documents.append({"filename": form.stem, "success": True, "cer": 0.25, "wer": 0.0,
                          "word_match_accuracy": 1, "ref_text": "N", "hyp_text": "N"})  # fmt: skip
    put(folder, "results/results.json", {
        "summary": {"successful_parses": 3}, "cer_stats": {"mean": 0.25}, "wer_stats": {"mean": 0},
        "entity_level": {"exact_match": {"micro_overall": 71.5}}, "documents": documents,
    })  # fmt: skip


def _olmocr(folder: Path) -> None:
    rows(folder, "tests.jsonl", [
        {"pdf": f"old/{name}.pdf", "page": 1, "id": f"t{name}", "type": "present",
         "text": "Total due 9.00", "max_diffs": 1} for name in DOCS
    ] + [{"pdf": "old/ada.pdf", "page": 1, "id": "o", "type": "order", "before": "A",
          "after": "T"}])  # fmt: skip
    for name in DOCS:
        put(
            folder,
            f"tool/old/{name}_pg1_repeat1.md",
            "Thank you\n\nTotal **due** 9.O0\n\nAda Foods\n",
        )
        put(folder, f"pdfs/old/{name}.pdf", "")


def _table(folder: Path) -> None:
    rows(folder, "t.jsonl", [
        {"id": name, "target": "9.00", "output": "9.00", "score": 1.0, "difficulty": "easy"}
        for name in DOCS
    ])  # fmt: skip


def _table_csv(folder: Path) -> None:
    put(folder, "t.csv", "id,target,output,score\n" + "".join(f'{n},"9,00",9.0,1\n' for n in DOCS))


BOOK = "model-a_FormsVQA.xlsx"
STICKLER = ("stickler.jsonl", "stickler_metrics.json")
TARGETS = [
    Target("log/inspect", _copied("form.eval"), partial(_read, "form.eval")),
    Target("log/inspect json", _copied("form.json"), partial(_read, "form.json")),
    Target("log/vlmevalkit", _copied(BOOK), partial(_read, BOOK)),
    Target("log/stickler", _copied(*STICKLER), partial(_read, "stickler.jsonl")),
    Target("log/docling", _copied("docling"), partial(_read, "docling")),
    Target("log/lmms_eval", _lmms_eval, partial(_read, "20260102_030405_samples_forms.jsonl")),
    Target("log/omniai", _omniai, partial(_read, "results.json")),
    Target("log/ocrbench", _ocrbench, partial(_read, "model.json", plugin="ocrbench")),
    Target("log/olmocr", _olmocr, partial(_read, "")),
    Target("log/table", _table, partial(_read, "t.jsonl")),
    Target("log/table csv", _table_csv, partial(_read, "t.csv")),
]  # fmt: skip


def _funsd_bench_read(folder: Path) -> Found:
    registry.load(PLUGINS / "funsd_bench.py")
    rows = logs.read(folder / "results").filter(role="call")
    unreadable = rows.filter(rows["status"] == "api_error").height
    return Found(frozenset(rows["doc_id"]), Counter({"unreadable": unreadable}))


TARGETS.append(
    Target("log/funsd_bench", _funsd_bench, _funsd_bench_read, home="results/parses/{}.json")
)
