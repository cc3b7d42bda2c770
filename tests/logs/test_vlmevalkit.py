import json
from pathlib import Path

import pytest

from formlab import logs
from formlab.errors import DataBroken
from formlab.logs import vlmevalkit

DATA = Path(__file__).parent / "data"
# pandas wrote it, as VLMEvalKit does; see `generate.py`.
BOOK = DATA / "model-a_FormsVQA.xlsx"


@pytest.fixture(scope="module")
def run():
    (one,) = logs.read(BOOK)
    return one


def test_workbook_is_detected_and_names_model_and_data_set(run):
    assert vlmevalkit.detect(BOOK)
    assert (run.format, run.system, run.name) == ("vlmevalkit", "model-a", "FormsVQA")


def test_sentence_of_a_failed_call_is_a_failure_and_no_answer(run):
    row = run.answers.filter(doc_id="2").row(0, named=True)
    assert (row["status"], row["value"]) == ("api_error", None)
    assert run.responses.filter(doc_id="2")["error"].item() == "Failed to obtain answer via API."
    evaluation = logs.open_log(BOOK)
    assert logs.join_report(evaluation)["failed"] == 1
    assert evaluation.fields.filter(doc_id="2")["cause"].item() == "api_error"


def test_list_that_is_written_as_text_is_all_that_is_accepted(run):
    gold = {row["doc_id"]: row for row in run.gold.to_dicts()}
    assert (gold["0"]["value"], gold["0"]["accepted"]) == ("A-204", None)
    assert gold["1"]["accepted"] == ["3 May 2021", "2021-05-03"]
    assert gold["2"]["value"] == "Ada Berg"


def test_what_a_workbook_may_have_lost_is_counted(run):
    # One cell is blank, where a text that begins with an address may have stood; 9.00 is now 9.
    assert run.notes[vlmevalkit.BLANK] == 1
    assert run.notes[vlmevalkit.LOST] == 1
    assert run.answers.filter(doc_id="4")["value"].item() == "9"
    assert run.answers.filter(doc_id="3")["status"].item() == "missing"


def test_columns_of_the_data_set_slice_the_cases():
    evaluation = logs.open_log(BOOK)
    assert evaluation.fields["category"].to_list() == ["kie", "kie", "kie", "vqa", "kie"]


def test_scored_file_has_the_log_scores(run):
    assert run.scores["value"].to_list() == [0, 1, 0, 0, 1]
    why = dict(logs.differences(logs.open_log(BOOK)).select("doc_id", "why").rows())
    assert why == {"4": "normalisation: number_format"}


@pytest.mark.parametrize("ending", ["tsv", "json"])
def test_tsv_and_json_are_read_alike(tmp_path, ending):
    file = tmp_path / f"m_Forms.{ending}"
    rows = [
        {"index": 17, "question": "Number?", "answer": "['A-204']", "prediction": "A-2O4"},
        {"index": 18, "question": "Date?", "answer": "3 May",
         "prediction": "Failed to obtain answer via API. "},
    ]  # fmt: skip
    text = json.dumps(rows)
    if ending == "tsv":
        lines = ["\t".join(rows[0]), *("\t".join(map(str, row.values())) for row in rows)]
        text = "\n".join(lines)
    file.write_text(text)
    (run,) = logs.read(file)
    assert run.format == "vlmevalkit"
    assert run.answers.select("doc_id", "value", "status").rows() == [
        ("17", "A-2O4", "ok"), ("18", None, "api_error"),
    ]  # fmt: skip


def test_figures_of_the_table_beside_are_stated_in_percent(tmp_path):
    (tmp_path / "m_Forms.tsv").write_text("index\tanswer\tprediction\n1\ta\ta\n")
    (tmp_path / "m_Forms_acc.csv").write_text('"split","Overall","kie"\n"none","61.5","50"\n')
    (run,) = logs.read(tmp_path / "m_Forms.tsv")
    assert [(f["metric"], f["value"]) for f in run.headline] == [("Overall", 61.5), ("kie", 50.0)]


def test_file_of_a_judge_beside_the_answers_has_a_models_verdicts(tmp_path):
    for name, more in (("m_Forms", {}), ("m_Forms_gpt", {"hit": 1, "log": "right"})):
        row = {"index": 1, "answer": "May", "prediction": "in May 2021"} | more
        (tmp_path / f"{name}.json").write_text(json.dumps([row]))
    evaluation = logs.open_log(tmp_path / "m_Forms_gpt.json")
    assert (evaluation.system, evaluation.split) == ("m", "Forms")
    assert logs.differences(evaluation)["why"].to_list() == ["a model judged it in the log"]


def test_pickle_is_refused(tmp_path):
    file = tmp_path / "m_Forms.pkl"
    file.write_bytes(b"cos\nsystem\n(S'true'\ntR.")
    with pytest.raises(DataBroken, match="pickles are not opened"):
        logs.read(file)


def test_hostile_list_is_text(tmp_path):
    file = tmp_path / "m_Forms.json"
    deep = "[" * 5000 + "]" * 5000
    rows = [{"index": 1, "answer": deep, "prediction": "a"},
            {"index": 2, "answer": "[__import__('os').getcwd()]", "prediction": "a"}]  # fmt: skip
    file.write_text(json.dumps(rows))
    (run,) = logs.read(file)
    assert run.gold["value"].to_list() == [deep, "[__import__('os').getcwd()]"]
