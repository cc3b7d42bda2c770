"""A user's own gold and answers, from Python and from the command line."""

import json
from importlib.metadata import version

import pandas as pd
import polars as pl
import pytest
from click.testing import CliRunner
from PIL import Image, ImageDraw

import formlab
from formlab import analysis, own
from formlab.cli import main
from formlab.errors import DataBroken, UnknownName

GOLD = [
    {"doc_id": "a", "path": "total", "value": "9.00", "scanner": "X", "template": "W-2"},
    {"doc_id": "a", "path": "party", "value": "Ada", "scanner": "X"},
    {"doc_id": "a", "path": "party", "value": "Bo", "scanner": "Y"},
    {"doc_id": "b", "path": "total", "value": "7", "scanner": "X"},
    {"doc_id": "b", "path": "note", "value": None},
]


def outcomes(gold, answers, **options):
    cases = formlab.evaluate(gold, answers, **options).fields
    return {(doc, path): outcome for doc, path, outcome in
            cases.select("doc_id", pl.coalesce("path", "pred_path"), "outcome").rows()}  # fmt: skip


def test_what_both_sides_say_is_scored_and_no_document_is_lost():
    answers = [
        {"doc_id": "a", "total": "9.00", "party": ["Ada", "Cy"], "date": "today"},
        {"doc_id": "c", "total": "1"},
    ]
    result = formlab.evaluate(GOLD, answers)
    assert dict(result.fields.select(pl.format("{}{}", "doc_id", "path"), "outcome").rows()) == {
        "a/total": "match", "a/party/0": "match", "a/party/1": "mismatch", "a/date": "spurious",
        "b/total": "missing", "b/note": "missing", "c/total": "unscored",
    }  # fmt: skip
    assert result.notes["predicted documents that are not in the corpus"] == 1
    assert result.notes["documents without any answer, counted as missing"] == 1


def test_blank_field_is_right_where_no_value_is_named_for_it():
    answers = [{"doc_id": "b", "total": "7", "note": None}]
    assert outcomes(GOLD, answers)["b", "/note"] == "match"
    assert outcomes(GOLD, [{"doc_id": "b", "total": "7"}])["b", "/note"] == "match"
    assert outcomes(GOLD, [{"doc_id": "b", "total": "7", "note": "x"}])["b", "/note"] == "spurious"


def test_answers_meet_the_gold_by_file_names_and_by_lists():
    answers = [
        {"file": "scans/a.png", "field": "/total/0", "answer": "9.00"},
        {"file": "scans/a.png", "field": "party", "answer": "Ada"},
        {"file": "B.png", "field": "total", "answer": "7"},
    ]
    found = outcomes(GOLD, answers)
    assert [found["a", path] for path in ("/total", "/party/0")] == ["match", "match"]
    # Capitals tell documents apart.
    assert found["b", "/total"] == "missing"
    assert found["B.png", "/total"] == "unscored"
    odd = [{"doc_id": "a", "path": "and/or", "value": "1"}]
    assert outcomes(odd, [{"doc_id": "a", "and/or": "1"}]) == {("a", "/and/or"): "match"}


def test_document_with_nothing_but_empty_answers_is_missing():
    answers = own.predictions(
        [{"doc_id": "a", "total": "", "x": None}, {"doc_id": "b", "total": None}],
        own.corpus(GOLD),
    )
    assert answers.records.select("doc_id", "path", "status").rows() == [
        ("a", "/total", "ok"), ("b", None, "missing")
    ]  # fmt: skip


def test_columns_of_the_users_own_slice_and_none_is_lost(tmp_path):
    answers = [{"doc_id": "a", "path": "total", "value": "9.00", "scanner": "Z", "mode": "fast"}]
    result = formlab.evaluate(GOLD, answers)
    row = result.fields.filter(doc_id="a", path="/total").row(0, named=True)
    assert (row["scanner"], row["answer_scanner"], row["own_mode"]) == ("X", "Z", "fast")
    assert result.documents["template"].to_list() == ["W-2", None]
    summary = formlab.summarise(result, by=["scanner", "template"], resamples=0)
    assert {"X", "Y", "W-2"} <= set(summary["slice_value"])
    saved = type(result).load(result.save(tmp_path / "e"))
    assert saved.corpus.records.columns[-1] == "scanner"


def test_columns_of_the_users_own_slice_right_values_everywhere():
    rows = [
        {"doc_id": f"{n}", "path": path, "value": str(n + 10), "scanner": "XY"[n % 2],
         "template": "TU"[n % 3 > 0]}
        for n in range(40) for path in ("total", "tax")
    ]  # fmt: skip
    corpus = own.corpus(rows)
    # What scanner Y saw is mostly read wrong by one of two systems.
    bad = [row | {"value": "none"} if row["scanner"] == "Y" else row for row in rows]
    bad, good = (
        formlab.evaluate(corpus, own.predictions([{n: r[n] for n in ("doc_id", "path", "value")}
                                                  for r in side], corpus, name=name))
        for name, side in (("bad", bad), ("good", rows))
    )  # fmt: skip
    by = {"slice_by": "scanner", "metric": "match_f1"}
    summary = formlab.summarise(bad, by=["scanner"], resamples=0).filter(**by)
    assert dict(summary.select("slice_value", "value").rows()) == {"X": 1.0, "Y": 0.0}
    compared = formlab.compare([bad, good], by=["scanner"], resamples=50).filter(**by)
    assert compared["slice_value"].to_list() == ["X", "Y"]
    found = analysis.find_slices(bad, metric="match_f1")
    assert found.select("slice_by", "slice_value").row(0) == (["scanner"], ["Y"])
    grid = analysis.surface(bad, "match_f1", "scanner", "template", resamples=0)
    cells = {(x, y): value for x, y, value in grid.select("x_value", "y_value", "value").rows()}
    assert cells == {("X", "T"): 1, ("X", "U"): 1, ("Y", "T"): 0, ("Y", "U"): 0}


def test_system_is_named_by_its_column_its_file_or_the_caller(tmp_path):
    corpus = own.corpus(GOLD)
    rows = [{"doc_id": "a", "path": "total", "value": "9.00", "system": "m1"}]
    assert own.predictions(rows, corpus).system == "m1"
    assert own.predictions(rows, corpus, name="n").system == "n"
    (tmp_path / "model.csv").write_text("doc_id,total\na,9.00\n")
    assert own.predictions(tmp_path / "model.csv", corpus).system == "model"
    with pytest.raises(DataBroken, match="several systems in one file: m1, m2"):
        own.predictions([*rows, rows[0] | {"system": "m2"}], corpus)


def test_text_of_a_page_finds_its_fields():
    gold = [{"doc_id": "a", "name": "Ada Berg", "total": "9.00"}]
    assert outcomes(gold, [{"doc_id": "a", "text": "Name: Ada Berg Total 8.00"}]) == {
        ("a", "/name"): "match", ("a", "/total"): "mismatch",
    }  # fmt: skip
    page = [{"doc_id": "a", "text": "Ada Berg"}]
    scores = formlab.evaluate(page, page).scores
    assert scores.filter(metric="cer", level="page")["value"].to_list() == [0.0]


def test_frames_of_pandas_and_columns_of_either_side():
    gold = pd.DataFrame({"id": ["a"], "key": ["total"], "target": ["9"], "expected": ["0"]})
    answers = pd.DataFrame({"doc": ["a"], "key": ["total"], "output": ["9"], "text": ["0"]})
    columns = {"path": "key", "gold": "target", "prediction": "output"}
    assert outcomes(gold, answers, columns=columns) == {("a", "/total"): "match"}
    with pytest.raises(UnknownName, match="'output'"):
        formlab.evaluate(gold, answers, columns={"value": "outputs"})


def test_scores_go_to_pandas():
    result = formlab.evaluate(GOLD, GOLD)
    frame = result.scores.to_pandas()
    assert frame["settings"][0]["formlab"] == version("formlab")
    assert list(frame.columns) == result.scores.columns
    assert frame["value"].tolist() == pytest.approx(result.scores["value"].to_list(), nan_ok=True)


def test_gold_is_loaded_by_name_and_a_table_answers_any_benchmark(tmp_path, funsd_root):
    (tmp_path / "gold.csv").write_text("doc_id,total\na,9.00\n")
    corpus = formlab.load("own", root=tmp_path / "gold.csv")
    assert (corpus.benchmark, corpus.split, corpus.documents.height) == ("own", "gold", 1)
    assert set(corpus.sources) == {"gold.csv"}
    (tmp_path / "answers.csv").write_text("doc_id,path,value\na,/entities/1,Ada Berg\n")
    funsd = formlab.load("funsd", root=funsd_root)
    answers = formlab.read_predictions(tmp_path / "answers.csv", funsd)
    assert answers.records["task"].to_list() == ["text"]
    cases = formlab.evaluate(funsd, answers).fields
    assert cases.filter(doc_id="a", path="/entities/1")["outcome"].item() == "match"


@pytest.fixture
def command():
    def run(*arguments):
        return CliRunner().invoke(main, [str(argument) for argument in arguments])

    return run


@pytest.fixture
def files_of_a_user(tmp_path):
    (tmp_path / "scans").mkdir()
    for name, text in (("a", "Total 9.00"), ("b", "Total 7")):
        page = Image.new("L", (300, 80), 255)
        ImageDraw.Draw(page).text((20, 20), text, fill=0, font_size=28)
        page.save(tmp_path / "scans" / f"{name}.png")
    (tmp_path / "truth.csv").write_text("scan,sum\na,9.00\nb,7\n")
    (tmp_path / "answers.jsonl").write_text('{"scan": "a", "sum": 9.00}\n{"scan": "b", "sum": 8}\n')
    return tmp_path


def test_command_scores_ones_own_table_and_says_what_was_inferred(command, files_of_a_user):
    at = files_of_a_user
    base = ("score", at / "truth.csv", "--predictions", at / "answers.jsonl")
    base = (*base, "--columns", "doc_id=scan", "--images", at / "scans")
    result = command(*base, "--out", at / "e")
    assert result.exit_code == 0, result.stderr
    assert "types inferred: 1 number; --types FILE declares them" in result.stderr
    kept = formlab.open_evaluation(at / "e")
    assert kept.fields["outcome"].to_list() == ["match", "mismatch"]
    assert kept.documents["image"].to_list() == ["a.png", "b.png"]
    assert kept.root == at / "scans"
    (at / "types.yaml").write_text("sum: {type: money, weight: 2}\n")
    result = command(*base, "--types", at / "types.yaml", "--json")
    assert "inferred" not in result.stderr
    assert {row["slice_value"] for row in json.loads(result.stdout)} >= {"money"}


def test_command_lets_a_system_read_ones_own_scans(command, files_of_a_user):
    at = files_of_a_user
    base = (at / "truth.csv", "--columns", "doc_id=scan", "--images", at / "scans")
    result = command("run", *base, "--system", "ocr", "--out", at / "run")
    assert result.exit_code == 0, result.stderr
    result = command("score", *base, "--predictions", at / "run", "--json", "--out", at / "e")
    assert result.exit_code == 0, result.stderr
    assert formlab.open_evaluation(at / "e").fields["outcome"].to_list() == ["match", "match"]


def test_command_names_the_columns_that_may_be_the_document(command, files_of_a_user):
    at = files_of_a_user
    result = command("score", at / "truth.csv", "--predictions", at / "answers.jsonl")
    assert result.exit_code == 2
    assert "no column for the document among scan, sum" in result.stderr


def test_items_of_a_list_are_one_field_also_where_only_the_answer_has_them():
    gold = {"doc_id": "a", "items": [{"price": "1"}, {"price": "2"}], "total": "3"}
    answer = {"doc_id": "a", "items": [{"price": "1"}, {"tax": "2"}], "total": "3"}
    cases = formlab.evaluate([gold], [answer]).fields
    assert set(cases["subtype"]) == {"/items/*/price", "/items/*/tax", "/total"}
    assert cases.filter(outcome="spurious")["subtype"].to_list() == ["/items/*/tax"]
    named = own.corpus([{"doc_id": "a", "path": "x", "value": "1", "subtype": "mine"}])
    assert named.records["subtype"].drop_nulls().to_list() == ["mine"]


def test_column_of_a_whole_document_also_slices_what_only_the_answer_has():
    gold = [
        {"doc_id": "a", "path": "x", "value": "1", "scanner": "A", "row": "1"},
        {"doc_id": "a", "path": "y", "value": "2", "scanner": "A", "row": "2"},
    ]
    cases = formlab.evaluate(gold, [{"doc_id": "a", "x": "1", "z": "3"}]).fields
    rows = cases.sort("path").select("path", "outcome", "scanner", "row").rows()
    assert rows == [
        ("/x", "match", "A", "1"), ("/y", "missing", "A", "2"), ("/z", "spurious", "A", None),
    ]  # fmt: skip


def test_answers_to_no_form_of_the_gold_are_an_error_that_speaks_of_the_gold():
    with pytest.raises(DataBroken, match="doc_id as the gold spells it"):
        formlab.evaluate([{"doc_id": "a", "x": "1"}], [{"doc_id": "q", "x": "1"}])
