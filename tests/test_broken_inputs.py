"""Predictions, logs, own data, types, decisions, judges' answers and prices, broken everywhere.

Each of them is read or refused with its file named; nothing else happens, and what was not broken
is still there.
"""

import json

import pytest

import formlab
from formlab import benchmarks, decisions, readers
from formlab.analysis import audit
from formlab.analysis.audit import judge_scores
from formlab.readers import gold as own
from formlab.readers import logs
from formlab.systems.chat import limits
from formlab_arena import released, spec, texts, web_tasks
from formlab_arena.evaluation import read_run
from formlab_review import adjudication, annotation, changes, drafts

from . import made_arena, made_formfactory, made_vrdu
from .broken_inputs import Source, outcomes

ROOT = benchmarks.SAMPLES


@pytest.fixture(scope="module")
def corpora(tmp_path_factory):
    """Small corpora by name."""
    home = tmp_path_factory.mktemp("corpora")
    made_vrdu.make(home / "vrdu")
    (home / "omniai").mkdir()
    for name in "ab":
        item = {"imageUrl": f"https://x.example/{name}.png", "trueJsonOutput": {"total": 9.5}}
        (home / "omniai" / f"{name}.json").write_text(json.dumps(item))
    pages = home / "pages"
    pages.mkdir()
    for number in range(2):
        (pages / f"pred_{number}.txt").write_text("Net sales 5")
        name = f"gold_{number}.txt"
        (home / "facts").mkdir(exist_ok=True)
        (home / "facts" / name).write_bytes((ROOT / "fincriticaled" / name).read_bytes())
    fincriticaled = benchmarks.load("fincriticaled", root=home / "facts")
    return {
        "funsd": benchmarks.load("funsd"), "formcraft": benchmarks.load("formcraft"),
        "vrdu": benchmarks.get("vrdu").load(made_vrdu.SPLIT, home / "vrdu"),
        "omniai": benchmarks.load("omniai", root=home / "omniai"),
        "formfactory": benchmarks.load("formfactory", root=made_formfactory.make(home / "ff")),
        "own": own.corpus([{"doc_id": n, "path": "/t", "value": "9"} for n in "ab"]),
        "fincriticaled": fincriticaled, "pages": pages, "facts": home / "facts",
        "judged": readers.read_predictions(pages, fincriticaled),
    }  # fmt: skip


def predictions_of(benchmark, files, kept, at=""):
    def read(folder, corpora):
        records = readers.read_predictions(folder / at, corpora[benchmark]).check().records
        return records["doc_id"]

    return files, read, kept


def log_of(files, kept, at=""):
    def read(folder, _):
        _, rows = logs.log_rows(folder / at, readers.Source(folder / at))
        return [row["doc_id"] for row in rows if row["role"] == "call"]

    return files, read, kept


def checked_answers(folder, corpora):
    audit.check(folder / "raw.json", root=corpora["facts"], predictions=corpora["pages"])
    return ()


def audited_answers(folder, corpora):
    raw = audit.answers(folder / "raw.json")
    judge_scores(corpora["fincriticaled"], corpora["judged"], raw)
    return list(raw)


def annotated(folder, _):
    made = annotation.read(folder / "export.json")
    annotation.ratings(made, level="token")
    adjudication.queue(made)
    return list(made.pages)


def drafted(folder, _):
    made = drafts.read(folder)
    drafts.sound(made)
    return [draft.doc_id for draft in made]


def typed(name):
    return lambda folder, _: own.corpus([{"doc_id": "a", "total": "9"}], types=folder / name) and ()


RUN = {"template_used": "A12", "data_source": "g", "instance": 1,
       "model_response": {"model_response": "[15,20] Ada", "status": "success"}}  # fmt: skip
ENTRY = {
    "fileUrl": "https://x.example/a.png", "ocrModel": "m", "extractionModel": "n",
    "directImageExtraction": False, "predictedMarkdown": "Bill", "predictedJson": {"total": 9.0},
    "error": None, "usage": {"duration": 4100, "inputTokens": 800, "totalCost": 0.002},
}  # fmt: skip
FACT = {"value": "5", "type": "Number", "found_in_prediction": True, "correct": True,
        "matched_text": "5", "number": 1, "context_hint": "x"}  # fmt: skip
SAMPLE = {
    "id": "a", "epoch": 1, "target": ["x"], "metadata": {"path": "/x"}, "attachments": {},
    "output": {"choices": [{"message": {"content": [{"text": "x"}]}, "stop_reason": "stop"}]},
    "scores": {"s": {"value": "C", "answer": "x"}}, "model_usage": {"m": {"input_tokens": 1}},
}  # fmt: skip
FIELD = {"expected_key": "items[0].k", "expected_value": "x", "actual_key": "items[0].k",
         "actual_value": {"a": 1}, "match": True, "score": 1.0}  # fmt: skip
MARK = {"type": "hypertextlabels", "value": {
    "start": "/p[1]/text()[1]", "end": "/p[1]/text()[1]", "startOffset": 0, "endOffset": 1,
    "text": "5", "hypertextlabels": ["Number"]}}  # fmt: skip
TASK = {"id": 1, "data": {"html": "<p>5 and 6</p>", "doc_id": "3"},
        "annotations": [{"completed_by": 1, "result": [MARK]}]}  # fmt: skip
DRAFT = {"split": "test", "doc_id": "a", "task": "vqa", "path": "/vqa/1", "status": "ok",
         "rejected": [], "item": {"id": "1", "question": "A?", "answers": ["5"]}, "system": "s",
         "origin": "o"}  # fmt: skip
SOURCES = {
    "plain": predictions_of("funsd", {"p.jsonl": (
        {"doc_id": "x", "path": "/entities/1", "value": "Ada", "x0": 1, "page": 1, "status": "ok",
         "accepted": ["a"], "task": "text", "system": "p", "benchmark": "funsd", "mood": 1},
        {"doc_id": "y", "text": "x"},
    )}, {"y"}, "p.jsonl"),
    "vrdu": predictions_of("vrdu", {f"{made_vrdu.SPLIT}-test_predictions.json": {
        "results": {"a.pdf": [["what", made_vrdu.one("tea")]], "b.pdf": []},
    }}, ()),
    "formfactory": predictions_of(
        "formfactory",
        {"batch_x.json": {"results": [RUN, RUN | {"instance": 2}], "batch_info": {}}},
        {"A12-02"}),
    "formfactory, one output": predictions_of(
        "formfactory", {"A12_json_g_20260102_030405.json": RUN, "A12-02.txt": "[1,2] a"},
        {"A12-02"}),
    "omniai": predictions_of("omniai", {"results.json": [
        ENTRY, ENTRY | {"fileUrl": "https://x.example/b.png"}]}, {"b"}),
    "formcraft": predictions_of("formcraft", {"f.json": {
        "fields": [{"label": "Name", "value": "Ada", "page": 1, "box": [1, 2, 3, 4]}],
        "vqa": [{"id": "1", "answer": "x", "confidence": 0.4}]}, "g.json": {"fields": []}},
        {"f", "g"}),
    "fincriticaled": predictions_of(
        "fincriticaled", {"pred_0.txt": "<p>5</p>", "pred_1.txt": "x"}, {"0", "1"}),
    "own answers": (
        {"p.jsonl": ({"doc_id": "a", "path": "/t", "value": "9", "confidence": 0.4, "page": 1,
                      "system": "s"}, {"doc_id": "b", "path": "/t", "value": "9"})},
        lambda folder, corpora:
            formlab.read_predictions(folder / "p.jsonl", corpora["own"]).records["doc_id"],
        {"b"},
    ),
    "own object": (
        {"gold.json": {"a": {"total": "9.00", "items": [{"n": 1}]}, "b": {"total": "1"}}},
        lambda folder, _: own.corpus(folder / "gold.json").documents["doc_id"], {"b"},
    ),
    "own folder": (
        {"a.json": {"total": "9", "items": [{"n": 1}]}, "b.json": {"total": "1"}},
        lambda folder, _: own.corpus(folder).documents["doc_id"], {"b"},
    ),
    "own table": (
        {"gold.csv": 'doc_id,path,value,page\na,/t,"9,00",1\nb,/t,"a\nb",2\n'},
        lambda folder, _: own.corpus(folder / "gold.csv").documents["doc_id"], {"a", "b"},
    ),
    "types": (
        {"t.json": {"total": {
            "type": "money", "tolerance": 0.01, "weight": 2, "comparator": "typed", "label": "l",
            "required": True, "question": "q", "choices": ["a"], "ordered": False}}},
        typed("t.json"), (),
    ),
    "types of a schema": (
        {"t.json": {"properties": {
            "total": {"type": ["number", "null"], "title": "T", "enum": [1, None], "weight": 1},
            "items": {"items": {"$ref": "#/$defs/i"}}, "day": {"anyOf": [{"format": "date"}]}},
            "required": ["total"], "$defs": {"i": {"properties": {"n": {"type": "integer"}}}}}},
        typed("t.json"), (),
    ),
    "types in YAML": ({"t.yaml": "total: {type: money, choices: [a]}\n"}, typed("t.yaml"), ()),
    "decisions": (
        {"me.jsonl": ({"benchmark": "funsd", "doc_id": "1", "task": "text", "path": "/a",
                       "decision": "wrong", "parts": {"subtype": "circle"}, "reviewer": "me"},)},
        lambda folder, _: decisions.version(decisions.read(folder)) and (), (),
    ),
    "judge, an object": ({"raw.json": {"0": {"entity_diagnostics": [FACT]}, "1": {}}},
                         checked_answers, ()),
    "judge, a list": ({"raw.json": [{"id": 0, "facts": [FACT]}, {"id": 1}]},
                      audited_answers, {"1"}),
    "prices": (
        {"p.csv": "model,input,output\nm,1,2\n"},
        lambda f, _: limits.price_of("m", prices=f / "p.csv") or (), (),
    ),
    "inspect": log_of({"log.json": {
        "samples": [SAMPLE, SAMPLE | {"id": "b"}], "version": 2, "status": "success",
        "eval": {"task": "t", "model": "m", "dataset": {}}}}, {"b"}, "log.json"),
    "lmms-eval": log_of({"x_samples_t.jsonl": (
        {"doc_id": 1, "target": "x", "filtered_resps": ["x"], "m": 1, "doc_hash": "h",
         "input_media": ["a.png"], "token_counts": [{"input_tokens": 1}]},
        {"doc_id": 2, "target": "x", "filtered_resps": ["x"]})}, {"2"}, "x_samples_t.jsonl"),
    "omniai's log": log_of({"results.json": [
        ENTRY | {"trueJson": {"total": 9}}, ENTRY | {"fileUrl": "b.png"}]}, {"b"}, "results.json"),
    "stickler": log_of({"l.jsonl": (
        {"doc_id": "a", "comparison_result": {"field_comparisons": [FIELD]}},
        {"doc_id": "b", "comparison_result": {"field_comparisons": [FIELD]}},
    )}, {"b"}, "l.jsonl"),
    "vlmevalkit": log_of({"m_D.json": [
        {"index": 1, "answer": "['a', 'b']", "prediction": "a", "hit": 1},
        {"index": 2, "answer": "x", "prediction": "x"}]}, {"2"}, "m_D.json"),
    "table of a log": log_of({"t.jsonl": (
        {"id": "a", "path": "/x", "target": "x", "output": "x", "score": 1, "epoch": 1},
        {"id": "b", "path": "/x", "target": {"a": 1}, "output": {"a": 1}})}, {"b"}, "t.jsonl"),
    "olmocr": log_of({"tests.jsonl": (
        {"pdf": "a.pdf", "page": 1, "id": "t1", "type": "present", "text": "Ada", "max_diffs": 1},
        {"pdf": "b.pdf", "page": 1, "id": "t3", "type": "absent", "text": "zz"},
    ), "cand/b_pg1_repeat1.md": "Ada", "cand/a_pg1_repeat1.md": "Ada"}, {"b"}),
    "label studio": ({"export.json": [TASK, TASK | {"id": 2}]}, annotated, ()),
    "label studio, JSON-MIN": ({"export.json": [
        {"id": 1, "html": "<p>5</p>", "annotator": 1, "label": [MARK["value"]]}]}, annotated, ()),
    "drafts": ({"drafts.jsonl": (
        DRAFT, DRAFT | {"doc_id": "b"})}, drafted, {"b"}),
    "changes": (
        {"me.jsonl": ({"benchmark": "formcraft", "split": "t", "doc_id": "a", "node": "/A",
                       "before": None, "after": {"value": "y", "place": ["", "fields", 0]},
                       "reviewer": "me", "time": "t"},)},
        lambda folder, _: changes.read(folder / "me.jsonl") and (), (),
    ),
    "web tasks": (
        {"tasks.jsonl": ({"name": "camp", "address": "https://e.com/f", "gold": {"A": "b"}},
                         {"name": "c2", "address": "https://e.com/f", "gold_file": "g.json"}),
         "g.json": {"A": 1}},
        lambda folder, _: [task.name for task in web_tasks.read(folder / "tasks.jsonl")], {"c2"},
    ),
    "gold of a web task": (
        {"g.json": {"A": 1, "B": ["x"]},
         "t.jsonl": ({"name": "c", "address": "https://e.com/f", "gold_file": "g.json"},)},
        lambda folder, _: web_tasks.read(folder / "t.jsonl") and (), (),
    ),
    "web form": (
        {"E12.yaml": (spec.FOLDER / "E12.yaml").read_text()},
        lambda folder, _: spec.load(folder / "E12.yaml") and (), (),
    ),
    "texts for forms": (
        {"i.yaml": [{"name": "E12-001", "kind": "prose", "text": "t", "values": {"a": "b"}}]},
        lambda folder, _: texts.read(folder / "i.yaml") and (), (),
    ),
    "released texts": (
        {"data1/grant_applications.json": made_formfactory.GRANTS,
         "data2/grant_applications.txt": made_formfactory.GRANT_TEXTS},
        lambda folder, _: released.task_set(folder, codes=["A12"]) and (), (),
    ),
}  # fmt: skip

# What a model wrote is read whatever it is, and in a folder of documents each has its row.
NEVER = ("formcraft", "fincriticaled", "funsd-bench")


@pytest.mark.parametrize("name", list(SOURCES))
def test_broken_input_is_read_or_refused_with_its_file_named(name, tmp_path, corpora):
    files, read, kept = SOURCES[name]
    source = Source(files, lambda folder: read(folder, corpora), frozenset(kept))
    counts = outcomes(source, tmp_path)
    assert counts.total() >= 25
    assert counts["refused"] or name in NEVER, counts


@pytest.mark.parametrize("name", ["run.json", "E12-001/values.json", "E12-001/events.jsonl"])
def test_broken_file_of_an_arena_run_is_read_or_refused_with_its_file_named(name, tmp_path):
    right = [event for n, value in made_arena.VALUES.items() for event in made_arena.fill(n, value)]
    sent = {"status": "submitted", "answers": made_arena.VALUES}
    folder = made_arena.run(tmp_path / "run", ([made_arena.screen(), *right], sent))
    text = (folder / name).read_text()
    lines = tuple(map(json.loads, text.splitlines())) if name.endswith("l") else json.loads(text)
    counts = outcomes(Source({name: lines}, lambda _: read_run(folder) and ()), folder)
    assert counts["refused"] > 10
