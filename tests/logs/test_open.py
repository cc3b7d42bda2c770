import json
import random
from pathlib import Path

import polars as pl
import pytest
from click.testing import CliRunner

import formlab
from formlab import logs
from formlab.cli import main
from formlab.errors import DataBroken, DataMissing, FormlabError
from formlab.folders import Evaluation
from formlab.logs import LogFormat
from formlab.logs._samples import Samples
from tests.seeds import seeds

DATA = Path(__file__).parent / "data"
ROWS = [
    {"id": "a/entities/1", "target": "Ada Berg", "output": "Ada Berg", "score": 1},
    {"id": "b/entities/0", "target": "Total 9.0", "output": "Total 9.00.", "score": 1},
    {"id": "b/entities/7", "target": "nothing", "output": "x", "score": 0},
]


@pytest.fixture
def command():
    def run(*arguments):
        return CliRunner().invoke(main, ["open", *map(str, arguments)])

    return run


@pytest.fixture
def log(tmp_path):
    file = tmp_path / "log.jsonl"
    file.write_text("\n".join(map(json.dumps, ROWS)))
    return file


def test_names_of_samples_find_the_fields_of_a_benchmark(log, funsd_root):
    evaluation = formlab.open_log(log, "funsd", root=funsd_root)
    cases = evaluation.fields.select("doc_id", "path", "gold", "outcome", "log_score").rows()
    assert cases == [
        ("a", "/entities/1", "Ada Berg", "match", 1.0),
        # The benchmark's gold is used, and that the log has another is counted.
        ("b", "/entities/0", "Total 9.00", "mismatch", 1.0),
    ]
    assert {note: n for note, n in evaluation.notes.items() if note.startswith("log: ")} == {
        "log: samples matched": 2,
        "log: samples that the benchmark does not have": 1,
        "log: targets that differ from the benchmark's gold, which is used": 1,
        # Entities 0 and 2 of form a are no errors of a system that was not asked for them.
        "log: fields of these documents that no sample asks for": 2,
    }


def test_logs_read_side_by_side_come_in_the_order_named(log, tmp_path, command):
    other = tmp_path / "other.jsonl"
    other.write_text(json.dumps(ROWS[1]))
    alone, beside = (command(log, other, "--json", "--workers", n) for n in (1, 2))
    assert beside.stdout == alone.stdout
    assert [row["log"] for row in json.loads(beside.stdout)] == [str(log), str(other)]


def test_all_documents_can_be_asked_for(log, funsd_root):
    evaluation = formlab.open_log(log, "funsd", root=funsd_root, documents="all")
    assert evaluation.fields.filter(status="missing")["path"].to_list() == ["/entities/0"]


def test_sample_without_a_field_belongs_to_the_one_with_its_target(funsd_root):
    rows = [{"id": "images/a.png", "target": "Ada Berg", "output": "Ada"}]
    evaluation = formlab.open_log(rows, "funsd", root=funsd_root)
    assert evaluation.fields.select("doc_id", "path").rows() == [("a", "/entities/1")]


def test_log_of_another_benchmark_is_an_error_with_both_names(funsd_root):
    with pytest.raises(DataBroken, match=r"no sample is of funsd:test: .*'zz'.*'a', 'b'"):
        formlab.open_log([{"id": "zz", "target": "x", "output": "x"}], "funsd", root=funsd_root)


def test_log_scores_survive_saving(log, tmp_path):
    formlab.open_log(log).save(tmp_path / "e")
    loaded = Evaluation.load(tmp_path / "e")
    assert loaded.fields["log_correct"].to_list() == [True, True, False]
    assert logs.stated(loaded)["format"] == "table"
    rows = logs.headlines(loaded).select("by", "over", "value", "n").rows()
    assert rows == [
        ("log", "scored", pytest.approx(2 / 3), 3), ("log", "all", pytest.approx(2 / 3), 3),
        ("formlab", "scored", pytest.approx(1 / 3), 3), ("formlab", "all", pytest.approx(1 / 3), 3),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("row", "why"),
    [
        ({"target": "May", "output": "may", "score": 0}, "normalisation: case"),
        ({"target": "May", "output": "May", "score": 0}, "the log's own rule refuses it"),
        ({"target": "May", "output": "May.", "score": 1}, "normalisation: punctuation"),
        ({"target": "3 May", "output": "it is 3 May I think", "score": 1},
         "the log takes gold that stands within a longer answer"),
        ({"target": "May", "output": "June", "score": 0.5}, "partial credit in the log"),
        ({"target": "May", "output": "May", "score": None}, "not scored in the log"),
        ({"target": "May", "output": None, "error": "x", "score": None},
         "api_error: left out of the log's mean, counted as wrong by formlab"),
        ({"target": "May", "output": "May", "status": "truncated", "score": 1},
         "truncated: scored in the log, nothing found for formlab"),
    ],
)  # fmt: skip
def test_difference_has_its_reason(row, why):
    other = {"id": "z", "target": "a", "output": "a", "score": 1}
    evaluation = formlab.open_log([{"id": "a", **row}, other])
    assert logs.differences(evaluation)["why"].to_list() == [why]


def test_verdict_of_a_model_is_named_as_one():
    evaluation = formlab.open_log(DATA / "form.eval")
    predictions = evaluation.predictions
    stated = predictions.settings["log"] | {"judged": ["match"]}
    evaluation.settings["system"]["log"] = stated
    why = logs.differences(evaluation).filter(doc_id="plain")["why"].item()
    assert why == "a model judged it in the log"


def test_formats_of_the_benchmarks_are_opened_too(funsd_root, tmp_path):
    file = tmp_path / "answers.jsonl"
    file.write_text('{"doc_id": "a", "path": "/entities/1", "value": "Ada Berg"}\n')
    evaluation = formlab.open_log(file, "funsd", root=funsd_root)
    assert evaluation.documents["doc_id"].to_list() == ["a"]
    assert evaluation.fields.filter(path="/entities/1")["outcome"].item() == "match"
    assert logs.headlines(evaluation)["by"].to_list() == ["formlab"]


def test_format_of_a_users_own_is_tried_first(tmp_path):
    def read(path):
        samples = Samples("mine", "task", [path])
        samples.add("a", gold="x", answer="x", system="mine")
        return samples.runs()

    file = tmp_path / "a.mine"
    file.write_text("")
    formlab.log("mine", read, title="mine", detect=lambda path: path.suffix == ".mine")
    try:
        assert isinstance(logs.LOGS["mine"], LogFormat)
        assert formlab.open_log(file).system == "mine"
    finally:
        from formlab import registry

        registry._STATE.registered["logs"].clear()
        registry._forget("logs", "mine")


def mangled(value, draw):
    """A JSON value with parts of it exchanged for what nobody expects there."""
    if draw.random() < 0.04:
        return draw.choice([None, 5, -1e400, "x", "\ud800", [], {}, [[]], {"a": {}}, True])
    if isinstance(value, dict):
        return {key: mangled(item, draw) for key, item in value.items()}
    return [mangled(item, draw) for item in value] if isinstance(value, list) else value


@pytest.mark.parametrize("seed", seeds(12))
def test_log_that_is_not_laid_out_as_it_should_be_is_read_or_one_clear_error(tmp_path, seed):
    draw = random.Random(seed)
    parse = {"filename": "a.png", "success": True, "response": {"result": {"chunks": []}}}
    rows = json.loads((DATA / "stickler.jsonl").read_text().splitlines()[0])
    logged = {
        "form.json": json.loads((DATA / "form.json").read_text()),
        "a_samples_b.jsonl": {"doc_id": 1, "filtered_resps": ["x"], "target": "x", "acc": 1},
        "results.json": [{"fileUrl": "a", "trueJson": {"a": 1}, "predictedJson": {"a": 2}}],
        "ocr.json": [{"id": 1, "answers": ["a"], "predict": "a", "score": 1}],
        "m_D.json": [{"index": 1, "answer": "a", "prediction": "a"}],
        "lines.jsonl": rows,
        "parses/a.json": parse,
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


def test_what_is_not_there_is_missing(tmp_path):
    with pytest.raises(DataMissing, match="no such log"):
        logs.read(tmp_path / "x.eval")


def test_command_prints_both_figures_the_join_and_the_reasons(command):
    result = command(DATA / "form.eval")
    assert result.exit_code == 0, result.output
    assert "samples: 11 matched, 0 missing, 0 duplicate, 3 failed, 0 unreadable" in result.stderr
    assert "failed with RuntimeError('the server closed the connection'): 1" in result.stderr
    lines = [line.split() for line in result.stdout.splitlines()]
    assert ["log,", "as", "stated", "match:", "accuracy", "scored", "0.3500", "10"] in lines
    assert ["log", "match", "all", "0.3182", "11"] in lines
    assert "left out of the log's mean, counted as wrong by formlab" in result.stdout


def test_command_saves_one_folder_or_one_for_each_run(command, tmp_path):
    assert command(DATA / "form.eval", "--out", tmp_path / "one").exit_code == 0
    assert Evaluation.load(tmp_path / "one").system == "mockllm/model"
    both = command(DATA / "epochs.eval", DATA / "form.eval", "--out", tmp_path / "all", "--json")
    assert both.exit_code == 0
    told = json.loads(both.stdout)
    names = [Path(row["out"]).name for row in told]
    assert names == ["epochs-mockllm-model--epoch-1", "epochs-mockllm-model--epoch-2", "form"]
    assert told[2]["join"]["failed"] == 3
    # Two logs of one model are told apart.
    two = json.loads(command(DATA / "form.eval", DATA / "unfinished.eval", "--json").stdout)
    assert [row["system"] for row in two] == [
        "mockllm/model (form)", "mockllm/model (unfinished)",
    ]  # fmt: skip
    assert {row["by"] for row in told[2]["headlines"]} == {"log, as stated", "log", "formlab"}
    assert all(Evaluation.load(row["out"]).check() for row in told)


def test_command_names_system_columns_and_benchmark(command, funsd_root, tmp_path):
    file = tmp_path / "t.csv"
    pl.DataFrame({"n": ["a/entities/1"], "t": ["Ada Berg"], "o": ["Ada"]}).write_csv(file)
    out = tmp_path / "e"
    result = command(
        file, "--columns", "doc_id=n,gold=t,value=o", "--benchmark", "funsd", "--root", funsd_root,
        "--system", "mine", "--out", out,
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    evaluation = Evaluation.load(out)
    assert (evaluation.system, evaluation.benchmark) == ("mine", "funsd")
    assert evaluation.cases["system"].unique().to_list() == ["mine"]


def test_command_says_what_is_wrong_in_one_line(command, tmp_path):
    file = tmp_path / "a.txt"
    file.write_text("hello")
    result = command(file)
    assert result.exit_code == 2
    assert result.stderr.startswith("error: no known format of logs")
