"""What other tools write: a table of sources with the rows that come of them, one of damages."""

import dataclasses
import json
import random
from collections import Counter
from pathlib import Path

import polars as pl
import pytest
import yaml
from backports.zstd import zipfile

import formlab
from formlab import benchmarks, registry, systems
from formlab.errors import DataBroken, FormlabError
from formlab.readers import READERS, Source, benches, logs, read_predictions, reader_of, splits
from formlab.saving import home_of
from formlab.systems import System
from tests import made_formfactory, made_vrdu
from tests.seeds import ALL

HERE = Path(__file__).parent
# Written by the harnesses themselves: Inspect, VLMEvalKit, stickler and docling-eval.
DATA = HERE / "logs"
PLUGINS = HERE.parents[1] / "docs" / "plugins"
SOURCES, DAMAGES = (
    yaml.safe_load((HERE / f"{name}.yml").read_text("utf-8")) for name in ("sources", "damages")
)
FORM = {
    "fields": [{"label": "Name", "modality": "Textual", "value": "Ada"}],
    "vqa": [{"id": "q1", "question": "?", "answers": ["9"]}],
    "consistency": [{"id": "c1", "source": "/Name", "dependent": "/Name", "expected": "Ada"}],
}
HEADER = {"version": 2, "status": "success", "eval": {"task": "t", "model": "m", "dataset": {}}}
SAMPLE = {"id": "a", "epoch": 1, "target": "x", "output": {"completion": "x"}}
LONG, DEEP = "9" * 1_000_000, "[" * 100_000 + "]" * 100_000
WORDS = {
    "HEADER": json.dumps(HEADER), "SAMPLE": json.dumps(SAMPLE), "ZEROS": "0" * 60_000_000,
    "BOX": made_vrdu.BOX,
}  # fmt: skip


def spelt(content):
    """Content as a file has it, with what the tables name by a word."""
    if isinstance(content, bytes):
        return content
    text = content if isinstance(content, str) else json.dumps(content)
    text = WORDS.get(text, text).replace('"BOX"', json.dumps(made_vrdu.BOX))
    return (
        text.replace("\nLONG", f"\n{LONG}")
        .replace("\nDEEP", f"\n{DEEP}")
        .encode("utf-8", "surrogatepass")
    )


def put(folder, files):
    for name, content in files.items():
        file = folder / name.replace("SPLIT", f"{made_vrdu.SPLIT}-test_predictions.json")
        file.parent.mkdir(parents=True, exist_ok=True)
        if name.endswith(".jsonl") and isinstance(content, list):
            content = "\n".join(map(json.dumps, content))
        if content is not None:
            file.write_bytes(spelt(content))
    return folder


def archive(file, members):
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as opened:
        for name, content in members.items():
            opened.writestr(name, spelt(content))
    return file


def corpus_of(name, folder):
    if name == "formfactory":
        return benchmarks.get("formfactory").load("all", made_formfactory.make(folder / "gold"))
    if name == "vrdu":
        return benchmarks.get("vrdu").load(made_vrdu.SPLIT, made_vrdu.make(folder / "gold"))
    if name == "formcraft":
        put(folder / "gold", {f"forms/{doc}.json": FORM for doc in "ab"})
        return benchmarks.get("formcraft").load("test", folder / "gold")
    put(folder, {f"gold/gold_{n}.txt": f"<p>Page <number>{n}7</number></p>" for n in range(3)})
    return benchmarks.get("fincriticaled").load("test", folder)


@pytest.fixture
def plugins():
    for name in ("ocrbench", "funsd_bench"):
        registry.load(PLUGINS / f"{name}.py")
    yield
    for name in ("ocrbench", "funsd_bench"):
        registry.unload(str(PLUGINS / f"{name}.py"))


def rows_of(path):
    return list(logs.log_rows(path, Source(path))[1])


def scores_of(rows):
    """The scores of samples, each with its scorer, and the figures of a log."""
    found = []
    for row in rows:
        found += [(n[7:], score) for n, score in row.items() if n.startswith("log_by_")]
        found += [(row["scorer"], row["score"])] if row["role"] == "figure" else []
    return [(name, score) for name, score in found if score is not None]


@pytest.mark.parametrize("case", SOURCES, ids=lambda case: case.get("name", case.get("benchmark")))
def test_sources_have_these_rows(case, tmp_path, request):
    if "plug-in" in case.get("name", ""):
        request.getfixturevalue("plugins")
    folder = put(tmp_path / "model-7", case.get("files", {}))
    if benchmark := case.get("benchmark"):
        corpus = corpus_of(benchmark, tmp_path)
        assert reader_of(folder, corpus).name == benchmark
        found = read_predictions(folder, corpus).check()
        rows = found.records.select("path", "value", "status").rows()
        assert rows == list(map(tuple, case["answers"]))
        assert (found.system, len(found.sources)) == ("model-7", len(case["files"]))
        return
    path = DATA / case["sample"] if "sample" in case else folder / case.get("path", "")
    rows = rows_of(path)
    answers = [row for row in rows if row["role"] == "answer"]
    assert {row.get("system") for row in answers} == {case["system"]}
    columns = ("doc_id", "path", "value", "status")
    assert [[row.get(n) for n in columns] for row in answers] == case["answers"]
    assert scores_of(rows) == list(map(tuple, case.get("scores", [])))
    notes = logs.open_log(path).notes if "notes" in case else {}
    assert {f"log: {note}": n for note, n in case.get("notes", {}).items()}.items() <= notes.items()


@pytest.mark.parametrize("case", DAMAGES, ids=lambda case: case.get("error", "counted"))
def test_damages_are_one_error_that_says_where_or_a_counted_sample(case, tmp_path):
    if members := case.get("archive"):
        path = archive(tmp_path / "log.eval", members)
    else:
        path = put(tmp_path / "m", case["files"])
    if benchmark := case.get("benchmark"):
        corpus = corpus_of(benchmark, tmp_path)
        with pytest.raises(FormlabError, match=case["error"]):
            read_predictions(path, corpus)
        return
    path = path / next(iter(case["files"])) if "files" in case else path
    if "error" in case:
        with pytest.raises(FormlabError, match=case["error"]):
            logs.open_logs(path)
        return
    evaluation = logs.open_log(path)
    assert evaluation.documents["doc_id"].to_list() == ["a"]
    assert logs.join_report(evaluation)["unreadable"] == 1


def test_inspect_gives_each_kind_of_sample_with_the_model_that_answered():
    rows = rows_of(DATA / "form.eval")
    answers = {row["doc_id"]: row for row in rows if row["role"] == "answer"}
    assert answers["plain"]["system"] == "mockllm/form"  # The header says mockllm/model.
    assert answers["long"]["value"] == "A clause of the lease. " * 20  # Under `attachments`.
    assert (answers["scan_7"]["path"], answers["bad"]["status"]) == ("/total", "bad_json")
    reasons = [answers[name]["status"] for name in ("failed", "cut", "refused")]
    assert reasons == ["api_error", "truncated", "refused"]
    golds = [row for row in rows if (row["role"], row.get("doc_id")) == ("gold", "object")]
    assert [row["value"] for row in golds] == ["9.50", "tea"]
    assert [answers[n]["log_by_match"] for n in ("plain", "wrong", "half")] == [1, 0, 0.5]
    # The same log in one JSON, where long texts stand in place.
    key = ("role", "doc_id", "path", "value", "log_by_match")
    logs_of = (rows, rows_of(DATA / "form.json"))
    texts = [sorted(str([row.get(n) for n in key]) for row in log) for log in logs_of]
    assert texts[0] == texts[1]


def test_epochs_are_runs_and_a_run_that_has_not_ended_is_read():
    with pytest.raises(DataBroken, match="holds 2 runs: mockllm/form, epoch 1"):
        logs.open_log(DATA / "epochs.eval")
    opened = logs.open_logs(DATA / "epochs.eval")
    assert [log.system for log in opened] == ["mockllm/form, epoch 1", "mockllm/form, epoch 2"]
    counts = {"matched": 4, "missing": 7, "duplicate": 0, "failed": 2, "unreadable": 0}
    assert logs.join_report(logs.open_log(DATA / "unfinished.eval")) == counts


# Both logs have 228 samples of fields of FUNSD, of which 23 failed: counted in the archives by
# hand. The figures are those that Inspect printed: .7024 and .8537 over the other 205.
@pytest.mark.parametrize(("name", "right"), [("gamma", 144), ("delta", 175)])
def test_real_log_has_both_figures_alone_and_joined_with_funsd(shared, name, right):
    file = shared / "data" / "logs" / "inspect" / f"{name}.eval"
    counts = Counter(row["role"] for row in rows_of(file))
    assert counts == {"gold": 228, "answer": 228, "call": 228, "figure": 1}
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
        {"id": "b/entities/0", "target": "Total 9.00", "output": "Total 9.00.", "score": 1},
        {"id": "b/entities/7", "target": "nothing", "output": "x", "score": 0},
    ]
    evaluation = formlab.open_log(rows, "funsd", root=funsd_root)
    assert evaluation.fields.select("doc_id", "path", "log_score").rows() == [
        ("a", "/entities/1", 1.0),
        ("b", "/entities/0", 1.0),
    ]
    assert {note: n for note, n in evaluation.notes.items() if note.startswith("log: ")} == {
        "log: samples matched": 2,
        "log: samples that the benchmark does not have": 1,
        # Entities 0 and 2 of form a are no errors of a system that was not asked for them.
        "log: fields of these documents that no sample asks for": 2,
    }
    every = formlab.open_log(rows[:1], "funsd", root=funsd_root, documents="all")
    assert every.fields.filter(status="missing").height == 2
    with pytest.raises(DataBroken, match=r"no sample is of funsd:test: .*'zz'.*'a', 'b'"):
        formlab.open_log([{"id": "zz", "target": "x", "output": "x"}], "funsd", root=funsd_root)


# Gold, answer, score and what else a sample has, and why formlab counts it differently.
WHY = [
    ("May", "may", 0, {}, "normalisation: case"),
    ("May", "May", 0, {}, "the log's own rule refuses it"),
    ("May", "May.", 1, {}, "normalisation: punctuation"),
    ("3 May", "it is 3 May", 1, {}, "the log takes gold that stands within a longer answer"),
    ("May", "June", 0.5, {}, "partial credit in the log"),
    ("May", "May", None, {}, "not scored in the log"),
    ("May", None, None, {"error": "x"}, "api_error: left out of the log's mean"),
    ("May", "May", 1, {"status": "truncated"}, "truncated: scored in the log"),
]


@pytest.mark.parametrize(("gold", "answer", "score", "more", "why"), WHY)
def test_difference_has_its_reason(gold, answer, score, more, why):
    row = {"id": "a", "target": gold, "output": answer, "score": score} | more
    other = {"id": "z", "target": "a", "output": "a", "score": 1}
    evaluation = formlab.open_log([row, other])
    assert logs.differences(evaluation)["why"].item().startswith(why)
    evaluation.settings["system"]["log"]["scorer"] = "model_graded_qa"
    judged = logs.differences(evaluation)["why"].item()
    is_answered = score is not None and not more
    assert judged.startswith("a model judged it in the log" if is_answered else why)


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
            logs.open_log(rows, columns=columns)


# A test of a text, its page, and what is answered: the gold, another passage, or nothing.
OLMOCR = [
    ({"text": "invoice no", "case_sensitive": False}, "The INVOICE NO is 7.", "invoice no"),
    ({"text": "invoice no"}, "The INVOICE NO is 7.", None),
    ({"text": "Net total"}, "The **_Net_** _total_ is 7", "Net total"),
    ({"text": "Net total", "max_diffs": 1}, "The Net tota1 is 7", "Net total"),
    ({"text": "Net total"}, "The Net tota1 is 7", "Net tota1"),
    ({"text": "a long phrase"}, "\n", None),
    ({"type": "absent", "text": "Part 3", "case_sensitive": False}, "PART 3\nText", "PART 3"),
    ({"type": "absent", "text": "Part 3"}, "PART 3\nText", ""),
    ({"type": "absent", "text": "Due", "first_n": 20}, "A page with other words. Due", ""),
    ({"type": "absent", "text": "Total due", "last_n": 9}, "A page. Total due", "Total due"),
    ({"text": "Total due", "last_n": 8}, "A page. Total due", None),
    ({"type": "order", "before": "One", "after": "Two"}, "Two One Two", "One … Two"),
    ({"type": "order", "before": "One", "after": "Two"}, "Two One", None),
    ({"type": "order", "before": "Ome", "after": "Two", "max_diffs": 1}, "One Two", "Ome … Two"),
    ({"type": "order", "before": "One", "after": "Six"}, "One Two", None),
]


@pytest.mark.parametrize(("test", "page", "answer"), OLMOCR)
def test_tests_of_olmocr_are_judged_as_the_bench_does(test, page, answer):
    assert benches.answer_to({"type": "present"} | test, page) == answer


def test_a_log_is_answers_to_a_corpus_too(tmp_path):
    omniai = next(case for case in SOURCES if case.get("name") == "OmniAI")
    put(tmp_path, omniai["files"])
    for name, url in {"a": "https://host.example/f3.png", "b": "https://x.example/f4.png"}.items():
        put(tmp_path, {f"gold/{name}.json": {"imageUrl": url, "trueJsonOutput": {"total": 9.5}}})
    corpus = formlab.load("omniai", root=tmp_path / "gold")
    records = formlab.read_predictions(tmp_path / "results.json", corpus).records
    # By its address, and by the name of its file.
    assert dict(records.select("doc_id", "status").rows()) == {"a": "ok", "b": "api_error"}


def test_a_log_whose_samples_all_failed_has_a_figure(tmp_path):
    failed = {"fileUrl": "x/a.png", "ocrModel": "m", "trueJson": {"total": 9}, "error": "time-out"}
    path = put(tmp_path, {"results.json": [failed]}) / "results.json"
    figures = logs.headlines(formlab.open_log(path)).select("by", "over", "value", "n")
    assert figures.rows() == [("formlab", "all", 0.0, 1)]


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


def mangled(value, draw):
    """A JSON value with parts of it exchanged for what nobody expects there."""
    if draw.random() < 0.04:
        return draw.choice([None, 5, -1e400, "x", "\ud800", [], {}, [[]], {"a": {}}, True])
    if isinstance(value, dict):
        return {key: mangled(item, draw) for key, item in value.items()}
    return [mangled(item, draw) for item in value] if isinstance(value, list) else value


@pytest.mark.usefixtures("plugins")
@pytest.mark.parametrize("seed", range(12 if ALL else 3))
def test_log_that_is_not_laid_out_as_it_should_be_is_read_or_one_clear_error(tmp_path, seed):
    draw = random.Random(seed)
    logged = [case["files"] for case in SOURCES if {"files", "system"} <= case.keys()]
    logged.append({"form.json": json.loads((DATA / "form.json").read_text())})
    for number, listed in enumerate(logged):
        folder = put(
            tmp_path / str(number), {n: mangled(value, draw) for n, value in listed.items()}
        )
        for path in (folder, *folder.glob("*.*")):
            try:
                opened = logs.open_logs(path)
            except FormlabError:
                continue
            assert all(logs.headlines(one).height for one in opened)


@pytest.fixture
def finished(funsd_root, tmp_path):
    """A corpus and the run of a system that reads nothing."""
    corpus = benchmarks.load("funsd", root=funsd_root, split="test")
    silent = System("silent", "reads nothing", lambda settings, threads: lambda document, root: [])
    systems.run(corpus, silent, out=tmp_path / "r")
    return corpus, tmp_path / "r"


@pytest.mark.parametrize("is_finished", [True, False])
def test_a_run_is_read_finished_or_not(finished, is_finished):
    corpus, out = finished
    whole = read_predictions(out, corpus)
    assert whole.records.height
    if not is_finished:
        (home_of(out) / "manifest.json").unlink()
    assert splits(out) == ["test"]
    assert read_predictions(out, corpus).records.equals(whole.records)


def test_a_run_of_another_benchmark_or_with_another_table_is_refused(finished):
    corpus, out = finished
    with pytest.raises(DataBroken, match="read funsd, not sroie"):
        read_predictions(out, dataclasses.replace(corpus, benchmark="sroie"))
    (part,) = home_of(out).glob("records/*.parquet")
    pl.read_parquet(part).head(0).write_parquet(part)
    with pytest.raises(DataBroken, match="changed since it was saved"):
        read_predictions(out, corpus)
