"""Logs of other harnesses: what rows come of each, and what is said of damaged ones."""

import json
import random
import shutil
import time
from pathlib import Path

import polars as pl
import pytest
from backports.zstd import zipfile

import formlab
from formlab import registry
from formlab.errors import DataBroken, DataMissing, FormlabError, UnknownName
from formlab.readers import READERS, logs, olmocr, samples
from tests.seeds import seeds

# Written by the harnesses themselves, see `generate_logs.py`.
DATA = Path(__file__).parent / "logs"
PLUGINS = Path(__file__).parents[2] / "docs" / "plugins"
LONG_TEXT = "A clause of the lease. " * 20
FORMS = "20260102_030405_samples_forms.jsonl"
LMMS = [
    {
        "doc_id": 4,
        "input": "Total?",
        "target": "118.40",
        "filtered_resps": "118.4",
        "input_media": ["img/0004.png"],
        "doc_hash": "9f",
        "anls": 0.83,
        "acc": True,
        "token_counts": [{"input_tokens": 902, "output_tokens": 31}],
    },
    {
        "doc_id": 5,
        "target": "Ada Berg",
        "filtered_resps": ["Ada Berg"],
        "doc_hash": "a0",
        "input_media": ["img/5.png"],
        "anls": {"score": 1.0, "id": "5"},
    },
    {
        "doc_id": 6,
        "target": "3 May",
        "filtered_resps": [],
        "doc_hash": "a1",
        "input_media": ["img/5.png"],
        "anls": 0.0,
    },
    {
        "doc_id": 4,
        "target": "118.40",
        "filtered_resps": "118.4",
        "doc_hash": "another",
        "input_media": [],
    },
]
RESULTS = {
    "model_name": "qwen",
    "n-samples": {"forms": {"effective": 3}},
    "results": {"forms": {"alias": "forms", "anls,none": 0.61, "anls_stderr,none": 0.3}},
}
ENTRY = {
    "fileUrl": "https://host.example/f3.png",
    "ocrModel": "m1",
    "extractionModel": "m2",
    "trueMarkdown": "Bill 9.50",
    "trueJson": {"total": 9.5},
    "predictedMarkdown": "Bill 9.50",
    "predictedJson": {"total": 9.0},
    "levenshteinDistance": 1.0,
    "jsonAccuracy": 0.5,
    "usage": {"duration": 4100, "totalCost": 0.01},
}
FAILED = {
    "fileUrl": "https://host.example/f4.png",
    "ocrModel": "m1",
    "extractionModel": "m2",
    "trueJson": {"total": 9.5},
    "error": {},
}
KIT = [
    {"index": 17, "answer": "['A-204', 'A 204']", "prediction": "A-2O4", "hit": 1, "kind": "k"},
    {"index": 18, "answer": "3 May", "prediction": "Failed to obtain answer via API. "},
]
QUESTION = {
    "id": 8,
    "type": "kie",
    "answers": [{"by": ["Ada Foods"], "total": ["9.00"]}],
    "predict": '```json\n{"by": "Ada Foods", "total": "8.00"}\n```',
    "score": 0.5,
}
PARSE = {
    "filename": "a.png",
    "success": True,
    "duration_ms": 5100,
    "response": {"data": {"result": {"chunks": [{"blocks": [{"content": "Ada"}]}]}}},
}
TESTS = [
    {"pdf": "old/bill.pdf", "page": 1, "id": name, "type": kind} | more
    for name, kind, more in (
        ("t1", "present", {"text": "Total due 9.00", "max_diffs": 1}),
        ("t2", "absent", {"text": "Page 1 of 2"}),
        ("t3", "order", {"before": "Ada Foods", "after": "Thank you"}),
        ("t4", "table", {"cell": "tea"}),
        ("t5", "present", {"page": 2, "text": "Signature"}),
    )
]
PAGE = "Thank you\n\nTotal **due** 9.O0\n\nAda Foods\n"
# The files of a log, what is opened of them, its system, rows of its answers and of its scores and
# figures, and notes.
SOURCES = {
    "lmms-eval": (
        {FORMS: LMMS, FORMS.replace("samples_forms.jsonl", "results.json"): RESULTS},
        FORMS,
        "qwen",
        # Two questions are of 5.png: they keep their numbers. `4` is asked twice, once otherwise.
        [
            ("0004", "/answer", "118.4", "ok"),
            ("5", "/answer", "Ada Berg", "ok"),
            ("6", "/answer", None, "missing"),
            ("4", "/answer", "118.4", "ok"),
        ],
        [("anls", 0.83), ("acc", 1.0), ("anls", 1.0), ("anls", 0.0), ("anls", 0.61)],
        {"documents that stand under one number with two contents (doc_hash)": 1},
    ),
    "VLMEvalKit": (
        {"m_F.json": KIT, "m_F_acc.csv": '"split","Overall"\n"none","61.5"\n'},
        "m_F.json",
        "m",
        [("17", "/answer", "A-2O4", "ok"), ("18", "/answer", None, "api_error")],
        [("hit", 1.0), ("acc", 61.5)],
        {},
    ),
    "VLMEvalKit's workbook": (
        {},
        DATA / "model-a_FormsVQA.xlsx",
        "model-a",
        [
            ("0", "/answer", "A-2O4", "ok"),
            ("1", "/answer", "2021-05-03", "ok"),
            ("2", "/answer", None, "api_error"),
            ("3", "/answer", None, "missing"),
            ("4", "/answer", "9", "ok"),
        ],
        [("hit", score) for score in (0, 1, 0, 0, 1)],
        {"numbers that a workbook may have changed: 9.00 is 9 there": 1},
    ),
    "OmniAI": (
        {"results.json": [ENTRY, FAILED]},
        "",
        "m1 + m2",
        [
            ("f3", None, "Bill 9.50", "ok"),
            ("f3", "/", '{"total": 9.0}', "ok"),
            ("f3", "/total", "9.0", "ok"),
            ("f4", None, None, "api_error"),
        ],
        [("json_accuracy", 0.5), ("levenshtein_similarity", 1.0)],
        {"entries with an error, which the tool's own mean leaves out": 1},
    ),
    "olmOCR-bench": (
        {"tests.jsonl": TESTS, "tool/old/bill_pg1_repeat1.md": PAGE},
        "",
        "tool",
        [
            ("old/bill", "/t1", "Total due 9.00", "ok"),
            ("old/bill", "/t2", "", "ok"),
            ("old/bill", "/t3", "Thank you … Ada Foods", "ok"),
            ("old/bill", "/t4", None, "missing"),
            ("old/bill", "/t5", None, "missing"),
        ],
        [],
        {olmocr.OTHER: 1, samples.MISSING: 1},
    ),
    "OCRBench v2": (
        {"m.json": [QUESTION]},
        "m.json",
        "m",
        [("8", "/by", "Ada Foods", "repaired"), ("8", "/total", "8.00", "repaired")],
        [("score", 0.5), ("score", 0.5)],
        {},
    ),
    "funsd-bench": (
        {
            "r/results/parses/a.json": PARSE,
            "r/results/parses/b.json": '{"success": ',
            "r/results/results.json": {
                "cer_stats": {"mean": 0.25},
                "summary": {},
                "documents": [{"filename": "a", "cer": 0.25}],
            },
        },
        "r",
        "results",
        [("a", None, "Ada", "ok"), ("b", None, None, "api_error")],
        [("cer", 0.25), ("cer", 0.25)],
        {samples.UNREADABLE: 1},
    ),
    "docling-eval": (
        {},
        DATA / "docling",
        "Docling",
        [
            ("f1", None, "NAME: Ada Borg DATE: 3 May", "ok"),
            ("f1", "/NAME", "Ada Borg", "ok"),
            ("f1", "/DATE/0", "3 May", "ok"),
            ("f2", None, None, "api_error"),
        ],
        [("keyvalue/entity_f1", 0.5), ("keyvalue/relation_f1", 0.4), ("keyvalue/entity_f1", 0.5)],
        {"documents that docling-eval rejected: missing_prediction": 1},
    ),
    "a table": (
        {"t.csv": "id;target;output;score;model\n1;9.00;<think>8</think>9.00;true;x\n2;May;;;x\n"},
        "t.csv",
        "x",
        [("1", "/answer", "9.00", "repaired"), ("2", "/answer", None, "missing")],
        [("score", 1.0)],
        {},
    ),
}


def put(folder, files):
    for name, content in files.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        listed = content if name.endswith(".jsonl") else [content]
        texts = (value if isinstance(value, str) else json.dumps(value) for value in listed)
        file.write_text("\n".join(texts))


def archive(file, members, **options):
    with zipfile.ZipFile(file, "w", **options) as opened:
        for name, text in members.items():
            opened.writestr(name, text if isinstance(text, str | bytes) else json.dumps(text))
    return file


def repack(source, target, change):
    """A copy of an archive with members changed, or left out."""
    with zipfile.ZipFile(source) as old:
        members = {name: change(name, old.read(name)) for name in old.namelist()}
    return archive(target, {name: data for name, data in members.items() if data is not None})


@pytest.fixture
def plugins():
    files = [PLUGINS / f"{name}.py" for name in ("docling_eval", "ocrbench", "funsd_bench")]
    for file in files:
        registry.load(file)
    yield
    for file in files:
        registry.unload(str(file))


@pytest.mark.usefixtures("plugins")
@pytest.mark.parametrize("name", SOURCES)
def test_each_log_has_its_rows(tmp_path, name):
    files, path, system, answers, scores, notes = SOURCES[name]
    put(tmp_path, files)
    rows = logs.read(tmp_path / path)
    assert set(rows.filter(role="answer")["system"]) == {system}
    columns = ("doc_id", "path", "value", "status")
    assert rows.filter(role="answer").select(columns).rows() == answers
    stated = rows.filter(pl.col("role").is_in(["score", "figure"]))
    assert stated.select("scorer", "score").rows() == scores
    if rows.filter(role="gold").height:
        evaluation = logs.open_log(tmp_path / path)
        assert notes.items() <= {n[5:]: k for n, k in evaluation.notes.items()}.items()


def test_inspect_gives_each_kind_of_sample_with_the_model_that_answered(tmp_path):
    rows = logs.read(DATA / "form.eval")
    answers = {row["doc_id"]: row for row in rows.filter(role="answer").to_dicts()}
    assert answers["plain"]["system"] == "mockllm/form"  # The header says mockllm/model.
    assert answers["long"]["value"] == LONG_TEXT  # It stands under `attachments`.
    assert (answers["scan_7"]["path"], answers["bad"]["status"]) == ("/total", "bad_json")
    reasons = {n: answers[n]["status"] for n in ("failed", "cut", "refused")}
    assert reasons == {"failed": "api_error", "cut": "truncated", "refused": "refused"}
    gold = rows.filter(role="gold", doc_id="object").select("path", "value").rows()
    assert gold == [("/total", "9.50"), ("/items/0/name", "tea")]
    match = rows.filter(role="score", scorer="match").select("doc_id", "score", "correct").rows()
    assert {("plain", 1, True), ("wrong", 0, False), ("half", 0.5, None)} <= set(match)
    assert set(rows.filter(judged=True)["scorer"]) == {"close/letters", "close/words"}
    # The same log in one JSON, where long texts stand in place.
    other = logs.read(DATA / "form.json")
    key = ["role", "doc_id", "path", "value", "score"]
    assert sorted(map(str, rows.select(key).rows())) == sorted(map(str, other.select(key).rows()))


def test_epochs_are_runs_and_a_run_that_has_not_ended_is_read():
    with pytest.raises(DataBroken, match="holds 2 runs: mockllm/form, epoch 1"):
        logs.open_log(DATA / "epochs.eval")
    second = logs.open_log(DATA / "epochs.eval", run="mockllm/form, epoch 2", system="second")
    assert second.system == second.cases["system"].unique().item() == "second"
    with pytest.raises(UnknownName, match="unknown run of the log 'x'"):
        logs.open_log(DATA / "epochs.eval", run="x")
    unfinished = logs.open_log(DATA / "unfinished.eval")
    counts = {"matched": 4, "missing": 7, "duplicate": 0, "failed": 2, "unreadable": 0}
    assert logs.join_report(unfinished) == counts


# Both logs have 228 samples of fields of FUNSD, of which 23 failed: counted in the archives by
# hand. The figures are those that Inspect printed: .7024 and .8537 over the other 205.
@pytest.mark.parametrize(("name", "right"), [("gamma", 144), ("delta", 175)])
def test_real_log_has_both_figures_alone_and_joined_with_funsd(shared, name, right):
    file = shared / "data" / "logs" / "inspect" / f"{name}.eval"
    counts = dict(logs.read(file)["role"].value_counts().rows())
    assert counts == {"gold": 228, "answer": 228, "call": 228, "score": 205, "figure": 1}
    own = logs.open_log(file)
    assert own.system == f"mockllm/{name}"
    figures = logs.headlines(own)
    rows = {(row["by"], row["over"]): (row["value"], row["n"]) for row in figures.to_dicts()}
    for by in ("log, as stated", "log"):
        assert rows[by, "scored"] == (pytest.approx(right / 205), 205)
    assert rows["log", "all"] == (pytest.approx(right / 228), 228)
    joined = logs.open_log(file, "funsd", root=shared / "data" / "funsd")
    # Of 199 forms the samples ask for 12, all of the training set.
    assert (joined.split, joined.documents.height) == ("train", 12)
    assert joined.fields["x0"].null_count() == 0
    assert logs.headlines(joined).equals(figures)
    report = {"matched": 228, "missing": 0, "duplicate": 0, "failed": 23, "unreadable": 0}
    assert logs.join_report(joined) == logs.join_report(own) == report


def test_names_of_samples_find_the_fields_of_a_benchmark(funsd_root):
    rows = [
        {"id": "a/entities/1", "target": "Ada Berg", "output": "Ada Berg", "score": 1},
        {"id": "b/entities/0", "target": "Total 9.0", "output": "Total 9.00.", "score": 1},
        {"id": "b/entities/7", "target": "nothing", "output": "x", "score": 0},
    ]
    evaluation = formlab.open_log(rows, "funsd", root=funsd_root)
    assert evaluation.fields.select("doc_id", "path", "gold", "log_score").rows() == [
        # The benchmark's gold is used, and that the log has another is counted.
        ("a", "/entities/1", "Ada Berg", 1.0),
        ("b", "/entities/0", "Total 9.00", 1.0),
    ]
    assert {note: n for note, n in evaluation.notes.items() if note.startswith("log: ")} == {
        "log: samples matched": 2,
        "log: samples that the benchmark does not have": 1,
        "log: targets that differ from the benchmark's gold, which is used": 1,
        # Entities 0 and 2 of form a are no errors of a system that was not asked for them.
        "log: fields of these documents that no sample asks for": 2,
    }
    every = formlab.open_log(rows, "funsd", root=funsd_root, documents="all")
    assert every.fields.filter(status="missing")["path"].to_list() == ["/entities/0"]
    image = [{"id": "images/a.png", "target": "Ada Berg", "output": "Ada"}]
    found = formlab.open_log(image, "funsd", root=funsd_root).fields
    assert found.select("doc_id", "path").rows() == [("a", "/entities/1")]
    with pytest.raises(DataBroken, match=r"no sample is of funsd:test: .*'zz'.*'a', 'b'"):
        formlab.open_log([{"id": "zz", "target": "x", "output": "x"}], "funsd", root=funsd_root)


@pytest.mark.parametrize(
    ("row", "why"),
    [
        ({"target": "May", "output": "may", "score": 0}, "normalisation: case"),
        ({"target": "May", "output": "May", "score": 0}, "the log's own rule refuses it"),
        ({"target": "May", "output": "May.", "score": 1}, "normalisation: punctuation"),
        (
            {"target": "3 May", "output": "it is 3 May I think", "score": 1},
            "the log takes gold that stands within a longer answer",
        ),
        ({"target": "May", "output": "June", "score": 0.5}, "partial credit in the log"),
        ({"target": "May", "output": "May", "score": None}, "not scored in the log"),
        (
            {"target": "May", "output": None, "error": "x", "score": None},
            "api_error: left out of the log's mean, counted as wrong by formlab",
        ),
        (
            {"target": "May", "output": "May", "status": "truncated", "score": 1},
            "truncated: scored in the log, nothing found for formlab",
        ),
    ],
)
def test_difference_has_its_reason(row, why):
    other = {"id": "z", "target": "a", "output": "a", "score": 1}
    evaluation = formlab.open_log([{"id": "a", **row}, other])
    assert logs.differences(evaluation)["why"].to_list() == [why]
    evaluation.settings["system"]["log"]["judged"] = ["score"]
    (judged,) = logs.differences(evaluation)["why"]
    is_answered = row["score"] is not None and "status" not in row
    assert judged == ("a model judged it in the log" if is_answered else why)


def test_sample_given_again_is_counted_and_the_one_that_did_not_fail_stays():
    failed = {"id": "8", "target": "May", "output": None, "error": "time-out"}
    evaluation = logs.open_log([failed, failed | {"output": "May", "error": None}, failed])
    assert evaluation.fields["pred"].to_list() == ["May"]
    assert logs.join_report(evaluation)["duplicate"] == 2


def test_what_a_table_lacks_is_named():
    rows = [{"name": "a", "wanted": "x", "got": "x"}]
    named = {"doc_id": "name", "gold": "wanted", "value": "got"}
    assert logs.open_log(pl.DataFrame(rows), columns=named).fields["outcome"].item() == "match"
    for columns, what in (
        (named | {"gold": "wantd"}, "unknown column 'wantd'.*'wanted'"),
        ({"golden": "wanted"}, "unknown column to name 'golden'"),
        ({}, "no column is the answer; the table has: name, wanted, got"),
    ):
        with pytest.raises(FormlabError, match=what):
            logs.read(rows, columns=columns)


# The page, a test, and what is answered to it: the gold, another passage, or nothing.
@pytest.mark.parametrize(
    ("test", "page", "answer"),
    [
        (
            {"text": "invoice number", "case_sensitive": False},
            "The INVOICE NUMBER is 7.",
            "invoice number",
        ),
        ({"text": "invoice number"}, "The INVOICE NUMBER is 7.", None),
        ({"text": "Net total"}, "The **_Net_** _total_ is 7", "Net total"),
        ({"text": "Net total", "max_diffs": 1}, "The Net tota1 is 7", "Net total"),
        ({"text": "Net total"}, "The Net tota1 is 7", "Net tota1"),
        ({"text": "a long phrase"}, "\n", None),
        (
            {"type": "absent", "text": "Chapter 3", "case_sensitive": False},
            "CHAPTER 3\nText",
            "CHAPTER 3",
        ),
        ({"type": "absent", "text": "Chapter 3"}, "CHAPTER 3\nText", ""),
        (
            {"type": "absent", "text": "Total due", "first_n": 20},
            "A page with other words. Total due",
            "",
        ),
        ({"type": "absent", "text": "Total due", "last_n": 9}, "A page. Total due", "Total due"),
        ({"type": "present", "text": "Total due", "last_n": 8}, "A page. Total due", None),
        ({"type": "order", "before": "One", "after": "Two"}, "Two One Two", "One … Two"),
        ({"type": "order", "before": "One", "after": "Two"}, "Two One", "Two … One"),
        (
            {"type": "order", "before": "Ome", "after": "Two", "max_diffs": 1},
            "One Two",
            "Ome … Two",
        ),
        ({"type": "order", "before": "One", "after": "Six"}, "One Two", "One"),
    ],
)
def test_tests_of_olmocr_are_judged_as_the_bench_does(test, page, answer):
    test = olmocr.Test(**{"pdf": "a.pdf", "id": "1", "type": "present"} | test)
    assert olmocr.answer_to(test, page) == answer


def test_answer_stands_where_stickler_paired_it(tmp_path):
    for name in ("stickler.jsonl", "stickler_metrics.json"):
        shutil.copy(DATA / name, tmp_path)
    rows = logs.read(tmp_path / "stickler.jsonl").filter(doc_id="bill_1")
    answers = dict(rows.filter(role="answer").select("path", "value").rows())
    # The answer has jam first; the gold has it second.
    assert (answers["/items/0/name"], answers["/items/1/name"]) == ("jam", "tea")
    matches = rows.filter(role="score", scorer="match").select("path", "score").rows()
    # tea is below the threshold of its item, so that its fields were not compared.
    assert dict(matches) == {
        "/number": 1,
        "/vendor": 1,
        "/items/0/name": 1,
        "/items/0/price": 1,
    }


@pytest.mark.usefixtures("plugins")
def test_documents_of_docling_have_boxes_and_a_folder_of_them_needs_a_benchmark(tmp_path):
    rows = logs.read(DATA / "docling").filter(doc_id="f1", path="/NAME")
    # The page is 200 high; the value of NAME stands from 180 to 190 above its bottom.
    assert rows.select("page", "x0", "y0", "x1", "y1").rows() == [(1, 50, 10, 80, 20)] * 2
    shutil.copytree(DATA / "docling" / "predictions", tmp_path / "run [3] *")
    (tmp_path / "run [3] *" / "f4.json").write_text('{"schema_name": "DoclingDocument", ')
    answers = logs.read(tmp_path / "run [3] *").filter(role="answer")
    assert dict(answers.select("doc_id", "status").rows()) == {"f1": "ok", "f4": "bad_json"}
    with pytest.raises(DataBroken, match="the log has no gold.*--benchmark"):
        logs.open_log(tmp_path / "run [3] *")


def test_answers_alone_are_those_of_score(funsd_root, tmp_path):
    file = tmp_path / "answers.jsonl"
    file.write_text('{"doc_id": "a.png", "path": "/entities/1", "value": "Ada Berg"}\n')
    evaluation = formlab.open_log(file, "funsd", root=funsd_root)
    assert evaluation.documents["doc_id"].to_list() == ["a"]
    assert evaluation.fields.filter(path="/entities/1")["outcome"].item() == "match"
    assert logs.headlines(evaluation)["by"].to_list() == ["formlab"]


def test_a_log_is_answers_to_a_corpus_too(tmp_path):
    put(tmp_path, {"results.json": [ENTRY, FAILED | {"trueJson": None}]})
    (tmp_path / "gold").mkdir()
    for name, url in {"a": ENTRY["fileUrl"], "b": "https://other.example/f4.png"}.items():
        item = {"imageUrl": url, "trueJsonOutput": {"total": 9.5}}
        put(tmp_path, {f"gold/{name}.json": item})
    corpus = formlab.load("omniai", root=tmp_path / "gold")
    predictions = formlab.read_predictions(tmp_path / "results.json", corpus)
    assert predictions.responses.select("doc_id", "seconds").rows() == [("a", 4.1), ("b", None)]
    # By its address, and by the name of its file.
    assert dict(predictions.records.select("doc_id", "status").rows()) == {
        "a": "ok",
        "b": "api_error",
    }


def test_a_plug_in_is_tried_first(tmp_path):
    def read(source):
        yield {"role": "gold", "doc_id": "a", "path": "/x", "value": "1"}
        yield {"role": "answer", "doc_id": "a", "path": "/x", "value": "1", "status": "ok"}

    (tmp_path / "a.csv").write_text("id,target,output\n")
    formlab.reader("mine", read, title="mine", fits=lambda path: path.name == "a.csv")
    try:
        assert READERS["mine"].title == "mine"
        assert formlab.open_log(tmp_path / "a.csv").fields["outcome"].item() == "match"
    finally:
        registry.unload(__name__)


# What is damaged, and what is said: an error, or the note with which the others are read.
HEADER = {"version": 2, "status": "success", "eval": {"task": "t", "model": "m", "dataset": {}}}
SAMPLE = {"id": "a", "epoch": 1, "target": "x", "output": {"completion": "x"}}
ZEROS = "0" * 60_000_000
DAMAGES = [
    ({"samples/a.json": SAMPLE}, r"has header\.json or"),
    ({"header.json": "5"}, "Expected `object`, got `int`"),
    ({"header.json": HEADER}, "the log has no samples"),
    ({"header.json": HEADER, "samples/a.json": "[1]"}, "no sample can be read; the first of"),
    ({"header.json": ZEROS}, "a member that unpacks from"),
    ({"header.json": HEADER, "samples/a.json": SAMPLE, "samples/b.json": "{"}, None),
    ({"header.json": HEADER, "samples/a.json": SAMPLE, "samples/b.json": ZEROS}, None),
    ({"header.json": HEADER, "samples/a.json": SAMPLE, "samples/b.json": b"\xff\xfe"}, None),
]


@pytest.mark.parametrize(("members", "error"), DAMAGES)
def test_damaged_archive_is_one_error_or_a_counted_sample(tmp_path, members, error):
    file = archive(tmp_path / "log.eval", members, compression=zipfile.ZIP_DEFLATED)
    if error:
        with pytest.raises(DataBroken, match=error):
            logs.open_log(file)
        return
    evaluation = logs.open_log(file)
    assert evaluation.documents["doc_id"].to_list() == ["a"]
    assert logs.join_report(evaluation)["unreadable"] == 1
    assert any("samples/b.json" in note for note in evaluation.notes)


@pytest.mark.parametrize(
    ("name", "content", "error"),
    [
        ("absent.eval", None, "no such log"),
        ("m_F.pkl", "cos\nsystem\n", "pickles are not opened"),
        ("a.txt", "hello", "no known format of logs"),
        ("results.json", '{"fileUrl": 1}', "Expected `array`, got `object`"),
        ("l.jsonl", '{"doc_id": 1, "comparison_result": 5}', "a line has doc_id and"),
        ("zzz.parquet", "PAR1", "no known format|not a readable Parquet"),
    ],
)
def test_other_damages_are_one_error(tmp_path, name, content, error):
    if content is not None:
        (tmp_path / name).write_text(content)
    with pytest.raises((DataBroken, DataMissing), match=error):
        logs.open_logs(tmp_path / name)


@pytest.mark.parametrize("value", ["9" * 1_000_000, "[" * 100_000 + "]" * 100_000])
@pytest.mark.parametrize("name", ["a_samples_t.jsonl", "lines.jsonl"])
def test_line_without_end_is_counted(tmp_path, name, value):
    line = {
        "a_samples_t.jsonl": '{"doc_id": 1, "target": "x", "filtered_resps": ["x"], "m": VALUE}',
        "lines.jsonl": '{"doc_id": "a", "comparison_result": {"field_comparisons": [{"match": 1, '
        '"expected_key": "k", "expected_value": "x", "actual_key": "k", "actual_value": VALUE}]}}',
    }[name]
    (tmp_path / name).write_text(line.replace("VALUE", "1") + "\n" + line.replace("VALUE", value))
    evaluation = logs.open_log(tmp_path / name)
    assert logs.join_report(evaluation)["unreadable"] == 1


def mangled(value, draw):
    """A JSON value with parts of it exchanged for what nobody expects there."""
    if draw.random() < 0.04:
        return draw.choice([None, 5, -1e400, "x", "\ud800", [], {}, [[]], {"a": {}}, True])
    if isinstance(value, dict):
        return {key: mangled(item, draw) for key, item in value.items()}
    return [mangled(item, draw) for item in value] if isinstance(value, list) else value


@pytest.mark.usefixtures("plugins")
@pytest.mark.parametrize("seed", seeds(12))
def test_log_that_is_not_laid_out_as_it_should_be_is_read_or_one_clear_error(tmp_path, seed):
    draw = random.Random(seed)
    logged = {
        "form.json": json.loads((DATA / "form.json").read_text()),
        "a_samples_b.jsonl": LMMS[0],
        "results.json": [ENTRY, FAILED],
        "ocr.json": [QUESTION],
        "m_D.json": KIT,
        "lines.jsonl": json.loads((DATA / "stickler.jsonl").read_text().splitlines()[0]),
        "parses/a.json": PARSE,
        "docling/a.json": json.loads((DATA / "docling/predictions/f1.json").read_text()),
    }
    for name, value in logged.items():
        file = tmp_path / str(seed) / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(mangled(value, draw)))
        try:
            opened = logs.open_logs(file.parent if "/" in name else file)
        except FormlabError:
            continue
        assert all(logs.headlines(one).height for one in opened)


@pytest.mark.parametrize("packing", [zipfile.ZIP_DEFLATED, zipfile.ZIP_ZSTANDARD, zipfile.ZIP_LZMA])
def test_archive_with_changed_bytes_is_read_or_one_error(tmp_path, packing):
    members = {"header.json": HEADER, "samples/a.json": SAMPLE | {"text": "abc" * 300}}
    file = archive(tmp_path / "log.eval", members, compression=packing)
    data, draw = file.read_bytes(), random.Random(2)
    begun = time.process_time()
    for _ in range(60):
        changed = bytearray(data)
        changed[draw.randrange(len(changed))] = draw.randrange(256)
        file.write_bytes(bytes(changed))
        try:
            logs.read(file)
        except FormlabError:
            continue
    assert time.process_time() - begun < 5
