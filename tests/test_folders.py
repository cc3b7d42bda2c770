"""An evaluation of shards: how it is saved and opened."""

import json
import shutil

import polars as pl
import pytest

from formlab import analysis, show
from formlab.errors import DataBroken, DataMissing
from formlab.folders import Evaluation
from formlab.readers import gold as own
from formlab.reports import inputs, plan
from formlab.scoring import part

NAMES = ("00000", "00001", "00002")


@pytest.fixture
def whole():
    gold = [{"doc_id": name, "total": "9.00", "name": "Ada"} for name in "abcdef"]
    return own.pair(gold, [row | {"total": "8.00"} for row in gold])


@pytest.fixture
def pieces(whole, monkeypatch):
    monkeypatch.setattr(part, "SHARD", 6)
    evaluation = analysis.evaluate(*whole)
    monkeypatch.undo()
    return evaluation


def all_files(folder):
    return sorted(str(f.relative_to(folder)) for f in folder.rglob("*") if f.is_file())


def test_shards_are_saved_one_by_one_and_opened_when_asked_for(pieces, whole, tmp_path):
    out = pieces.save(tmp_path / "e")
    manifest = json.loads((out / "manifest.json").read_text())
    assert list(manifest["shards"]) == list(NAMES)
    assert manifest["tables"]["documents"]["rows"] == 6
    assert not list(out.glob("*.parquet"))
    opened = Evaluation.load(out)
    assert "cases" not in opened.__dict__
    assert opened.scan("cases").select(pl.len()).collect().item() == pieces.cases.height
    expected = "6 documents, 12 fields, 6 match, 6 mismatch"
    assert expected in show.line(opened)
    assert "cases" not in opened.__dict__
    for table in Evaluation.TABLES:
        assert getattr(opened, table).equals(getattr(pieces, table))
    assert opened.corpus.records.sort("origin").equals(whole[0].records.sort("origin"))
    assert (opened.notes, opened.sources) == (pieces.notes, pieces.sources)
    assert opened.made == manifest["made"] != {}


def test_shards_may_stand_in_a_folder_whose_name_is_a_pattern_elsewhere(pieces, tmp_path):
    opened = Evaluation.load(pieces.save(tmp_path / "run [3] *"))
    assert opened.own == []
    assert opened.scan("cases").collect().equals(pieces.cases)
    assert analysis.compare([opened, opened]).height == analysis.compare([pieces, pieces]).height


def test_saved_over_another_nothing_of_that_stays(pieces, whole, tmp_path):
    single = analysis.evaluate(*whole)
    alone, several = (all_files(e.save(tmp_path / n)) for n, e in (("1", single), ("3", pieces)))
    out = tmp_path / "e"
    for evaluation, expected in ((pieces, several), (single, alone), (pieces, several)):
        evaluation.save(out)
        assert all_files(out) == expected
    fewer = Evaluation.of(list(pieces.shards())[:2], notes={})
    fewer.save(out)
    assert len(list((out / "shards").iterdir())) == 2
    # Over the folder that it is read from.
    Evaluation.load(tmp_path / "3").save(tmp_path / "3")
    assert Evaluation.load(tmp_path / "3").cases.equals(pieces.cases)


def test_shards_that_are_not_there_are_counted(pieces, tmp_path):
    out = pieces.save(tmp_path / "runs" / "e")
    (out / "shards" / NAMES[1] / "manifest.json").unlink()
    with pytest.raises(DataMissing, match="1 of the 3 shards of this evaluation"):
        Evaluation.load(out)
    (out / "manifest.json").unlink()
    with pytest.raises(DataMissing, match="not finished"):
        Evaluation.load(out)
    with pytest.raises(DataMissing, match="no evaluation"):
        analysis.open_history(tmp_path / "runs")
    assert not inputs.evaluations_in(out)


def test_what_has_changed_since_it_was_saved_is_refused_when_it_is_read(pieces, tmp_path):
    out = pieces.save(tmp_path / "e")
    file = out / "shards" / NAMES[2] / "cases.parquet"
    frame = pl.read_parquet(file)
    frame.with_columns(pred=pl.lit("7.00")).write_parquet(file)
    opened = Evaluation.load(out)
    assert opened.documents.height == 6
    for read in (lambda: opened.cases, lambda: opened.scan("cases").collect()):
        with pytest.raises(DataBroken, match=r"changed since it was saved \(.*cases\.parquet\)"):
            read()
    pieces.save(out)
    shutil.copytree(out / "shards" / NAMES[0], out / "shards" / NAMES[1], dirs_exist_ok=True)
    with pytest.raises(DataBroken, match=r"00001/manifest\.json"):
        _ = Evaluation.load(out).cases


def test_reports_and_histories_take_it_for_one_evaluation(pieces, tmp_path):
    out = pieces.save(tmp_path / "runs" / "e")
    assert list(analysis.open_history(tmp_path / "runs")) == ["e"]
    assert inputs.evaluations_in(out) == [out / "manifest.json"]
    before = inputs.of_path(out)
    facts = dict(inputs.facts(out, "e"))
    assert facts["documents"].startswith("6 rows, sha256 ")
    assert plan._tasks(out) == {"text"}
    file = out / "shards" / NAMES[0] / "scores.parquet"
    pl.read_parquet(file).head(1).write_parquet(file)
    assert inputs.of_path(out) != before
