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
from formlab.readers import READERS, Source, logs, read_predictions, reader_of, splits
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
    "BOX": made_vrdu.BOX, "LONG_ANSWER": "A clause of the lease. " * 20,
}  # fmt: skip
# Benchmarks that are made, and their splits.
MADE = {"formfactory": (made_formfactory, "all"), "vrdu": (made_vrdu, made_vrdu.SPLIT)}


def spelt(content):
    """Content as a file has it, with what the tables name by a word."""
    if isinstance(content, bytes):
        return content
    text = content if isinstance(content, str) else json.dumps(content)
    text = WORDS.get(text, text).replace('"BOX"', json.dumps(made_vrdu.BOX))
    text = text.replace("\nLONG", f"\n{LONG}").replace("\nDEEP", f"\n{DEEP}")
    return text.encode("utf-8", "surrogatepass")


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
    if name in MADE:
        made, split = MADE[name]
        return benchmarks.load(name, split=split, root=made.make(folder / "gold"))
    if name == "formcraft":
        put(folder / "gold", {f"forms/{doc}.json": FORM for doc in "ab"})
        return benchmarks.load("formcraft", split="test", root=folder / "gold")
    put(folder, {f"gold/gold_{n}.txt": f"<p>Page <number>{n}7</number></p>" for n in range(3)})
    return benchmarks.load("fincriticaled", split="test", root=folder)


@pytest.fixture
def plugins():
    loaded = [PLUGINS / f"{name}.py" for name in ("ocrbench", "funsd_bench")]
    yield [*map(registry.load, loaded)]
    for file in loaded:
        registry.unload(str(file))


def rows_of(path, columns=()):
    found, roles = [], ("gold", "answer", "call", "figure")
    given = logs.log_rows(path, source := Source(path, columns=dict(columns)))
    for row in [row for of in given for row in ([of] if isinstance(of, dict) else of.rows())]:
        row["system"] = row.get("system") or source.name
        path, value = row.get("path"), row.get("value")
        paths, values = (path, value) if isinstance(path, list) else ([path], [value])
        found += [row | {"path": p, "value": v} for p, v in zip(paths, values, strict=True)]
    return sorted(found, key=lambda row: roles.index(row["role"]))


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
    columns = case.get("columns", {})
    rows = rows_of(path, columns)
    answers = [row for row in rows if row["role"] == "answer"]
    assert {row.get("system") for row in answers} == {case["system"]}
    found = [[row.get(n) for n in ("doc_id", "path", "value", "status")] for row in answers]
    assert found == [[WORDS.get(cell, cell) for cell in answer] for answer in case["answers"]]
    if "scores" in case:
        assert scores_of(rows) == list(map(tuple, case["scores"]))
    if not case.keys() & {"notes", "why", "figures"}:
        return
    log = logs.open_log(path, columns=columns)
    notes = {f"log: {note}": n for note, n in case.get("notes", {}).items()}
    assert notes.items() <= log.notes.items()
    why = dict(logs.differences(log).select("doc_id", "why").rows())
    expected = case.get("why", why)
    assert why.keys() == expected.keys()
    assert all(why[doc_id].startswith(reason) for doc_id, reason in expected.items())
    figures = logs.headlines(log).select("by", "over", "value", "n").rows()
    assert figures == list(map(tuple, case.get("figures", figures)))


@pytest.mark.parametrize("case", DAMAGES, ids=lambda case: case.get("error", "counted"))
def test_damages_are_one_error_that_says_where_or_a_counted_sample(case, tmp_path):
    if members := case.get("archive"):
        path = archive(tmp_path / "log.eval", members)
    else:
        path = put(tmp_path / "m", case["files"])
    if benchmark := case.get("benchmark"):
        with pytest.raises(FormlabError, match=case["error"]):
            read_predictions(path, corpus_of(benchmark, tmp_path))
        return
    path = path / next(iter(case["files"])) if "files" in case else path
    if "error" in case:
        with pytest.raises(FormlabError, match=case["error"]):
            logs.open_logs(path, columns=case.get("columns"))
        return
    evaluation = logs.open_log(path)
    assert evaluation.documents["doc_id"].to_list() == ["a"]
    assert logs.join_report(evaluation)["unreadable"] == 1


def test_an_inspect_log_is_the_same_in_one_json_and_each_epoch_is_a_run():
    key = ("role", "doc_id", "path", "value", "log_by_match")
    logs_of = [rows_of(DATA / f"form.{ending}") for ending in ("eval", "json")]
    texts = [sorted(str([row.get(n) for n in key]) for row in log) for log in logs_of]
    assert texts[0] == texts[1]
    golds = [row for row in logs_of[0] if (row["role"], row.get("doc_id")) == ("gold", "object")]
    assert [row["value"] for row in golds] == ["9.50", "tea"]
    opened = logs.open_logs(DATA / "epochs.eval")
    assert [log.system for log in opened] == ["mockllm/form, epoch 1", "mockllm/form, epoch 2"]
    with pytest.raises(DataBroken, match="holds 2 runs: mockllm/form, epoch 1"):
        logs.open_log(DATA / "epochs.eval")


def test_docling_evals_objects_may_be_columns_of_structs(tmp_path):
    info = pl.col("predictor_info").str.json_decode(pl.Struct({"asset": pl.String}))
    frame = pl.read_parquet(DATA / "docling/shard_000.parquet").with_columns(info)
    frame.write_parquet(tmp_path / "s.parquet")
    assert {row.get("system") for row in rows_of(tmp_path / "s.parquet")} == {"Docling"}


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
        {"id": "b", "target": "nothing", "output": "x", "score": 0},
    ]
    evaluation = formlab.open_log(rows, "funsd", root=funsd_root)
    found = evaluation.fields.select("doc_id", "path", "log_score").rows()
    assert found == [("a", "/entities/1", 1.0), ("b", "/entities/0", 1.0)]
    assert {note: n for note, n in evaluation.notes.items() if note.startswith("log: ")} == {
        "log: samples matched": 2,
        "log: samples that the benchmark does not have": 1,
        # Entities 0 and 2 of form a are no errors of a system that was not asked for them.
        "log: fields of these documents that no sample asks for": 2,
    }
    every = formlab.open_log(rows[:1], "funsd", root=funsd_root, documents="all")
    assert every.fields.filter(status="missing").height == 2
    with pytest.raises(DataBroken, match=r"of funsd:test: .*'zz'.*'a', 'b'"):
        formlab.open_log([{"id": "zz", "target": "x", "output": "x"}], "funsd", root=funsd_root)


def test_a_log_is_answers_to_a_corpus_too(tmp_path):
    put(tmp_path, next(case["files"] for case in SOURCES if case.get("name") == "OmniAI"))
    put(tmp_path, {f"gold/{name}.json": {"total": 9.5} for name in ("f3", "f4")})
    corpus = formlab.load("own", root=tmp_path / "gold")
    records = formlab.read_predictions(tmp_path / "results.json", corpus).records
    assert dict(records.select("doc_id", "status").rows()) == {"f3": "ok", "f4": "api_error"}
    put(tmp_path, {"log.json": HEADER | {"eval": 5, "samples": []}})
    with pytest.raises(DataBroken, match=r"not laid out as Inspect.*log\.json"):
        formlab.read_predictions(tmp_path / "log.json", corpus)


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
@pytest.mark.parametrize("seed", range(12) if ALL else (0, 1, 11))
def test_log_that_is_not_laid_out_as_it_should_be_is_read_or_one_clear_error(tmp_path, seed):
    draw = random.Random(seed)
    logged = [case["files"] for case in SOURCES if {"files", "system"} <= case.keys()]
    logged.append({"form.json": json.loads((DATA / "form.json").read_text())})
    for number, listed in enumerate(logged):
        damaged = {name: mangled(value, draw) for name, value in listed.items()}
        folder = put(tmp_path / str(number), damaged)
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


def test_a_run_is_read_once_it_has_ended(finished):
    corpus, out = finished
    assert read_predictions(out, corpus).records.height
    assert splits(out) == ["test"]
    (home_of(out) / "manifest.json").unlink()
    with pytest.raises(DataBroken, match="has not ended"):
        read_predictions(out, corpus)


def test_a_run_of_another_benchmark_or_with_another_table_is_refused(finished):
    corpus, out = finished
    with pytest.raises(DataBroken, match="read funsd, not sroie"):
        read_predictions(out, dataclasses.replace(corpus, benchmark="sroie"))
    (part,) = home_of(out).glob("records/*.parquet")
    pl.read_parquet(part).head(0).write_parquet(part)
    with pytest.raises(DataBroken, match="changed since it was saved"):
        read_predictions(out, corpus)
