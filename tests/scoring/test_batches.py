"""Batches: however documents are cut, and whoever scores them, an evaluation is the same."""

import json
from unittest.mock import Mock

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import formlab
from formlab import analysis, benchmarks, charts, readers, workers
from formlab.errors import DataBroken, UnknownName
from formlab.folders import Evaluation
from formlab.readers import gold as gold_of
from formlab.scoring.evaluate import STRANGE
from formlab.scoring.whole import Whole
from tests.made_parts import cut
from tests.seeds import ALL

# What comes with formlab: no engine reads a page here.
READ = {"funsd": "ocr", "formcraft": "rules", "vrdu": "rules", "fincriticaled": "ocr"}
ORDER = ["doc_id", "task", "level", "path", "pred_path", "gold", "pred", "metric", "slice_by"]
ORDER += ["slice_value"]


@pytest.fixture
def in_parts(tmp_path, monkeypatch):
    """Score in batches of so many records, by so many processes; it is written to disk."""

    def scored(gold, answers, records, *, workers=1, **how):
        monkeypatch.setattr("formlab.benchmarks.BATCH", records)
        out = tmp_path / f"{records}-{workers}"
        return formlab.evaluate(gold, answers, out=out, workers=workers, **how)

    return scored


def pair(gold, answers, **how):
    corpus = gold_of.corpus(gold, **how)
    return corpus, readers.read_predictions(answers, corpus)


def check_equal(parts, whole):
    """Tables, notes, settings and summaries are equal to 1e-9."""
    for name in ("notes", "settings", "sources"):
        assert getattr(parts, name) == getattr(whole, name)
    for table in Evaluation.TABLES:
        by = [name for name in ORDER if name in getattr(whole, table).columns]
        # Whatever has no path comes as it is written.
        sides = [getattr(each, table).sort(by, maintain_order=True) for each in (parts, whole)]
        assert_frame_equal(*sides, abs_tol=1e-9, check_column_order=False)
    sums = [formlab.summarise(each, resamples=20) for each in (parts, whole)]
    assert_frame_equal(*sums, abs_tol=1e-9)


@pytest.mark.parametrize("killed", [False, True])
def test_large_answers_are_read_by_a_process_beside_gold(killed, in_parts, tmp_path, monkeypatch):
    rows, file = [{"doc_id": str(n), "total": f"{n}.00"} for n in range(40)], tmp_path / "a.jsonl"
    file.write_text("".join(json.dumps(row) + " " * 120_000 + "\n" for row in rows))
    begun = Mock(wraps=workers.begun, side_effect=(lambda *_: lambda: None) if killed else None)
    monkeypatch.setattr("formlab.scoring.evaluate.begun", begun)
    check_equal(in_parts(rows, file, 20, workers=2), formlab.evaluate(rows, file))
    begun.assert_called_once()


@pytest.mark.parametrize("name", READ if ALL else ["vrdu"])
def test_a_golden_evaluation_in_one_part_or_seven_by_one_or_two_workers_is_the_same(name, in_parts):
    sample = analysis.open_evaluation(benchmark=name, system=READ[name])
    both, mode = (sample.corpus, sample.predictions), sample.mode
    if not ALL:
        first = pl.col("doc_id").is_in(sample.document_names.head(3).implode())
        both = tuple(folder.filtered(first) for folder in both)
        sample = formlab.evaluate(*both, mode=mode)
    count = sample.documents.height
    many = in_parts(*both, 1, mode=mode)
    assert len(list(many.parts())) == count
    few = in_parts(*both, sample.corpus.records.height // 2, mode=mode, workers=2)
    assert 1 < len(list(few.parts())) <= count
    for parts in (many, few):
        check_equal(parts, sample)
    made = (
        lambda each: formlab.compare([each, each], resamples=20, permutations=20),
        lambda each: analysis.finding_table(analysis.findings([each], most=None, resamples=20)),
    )
    for table in made:
        assert_frame_equal(table(few), table(sample), abs_tol=1e-9)
    seven = cut(sample, -(-count // 7))
    assert_frame_equal(formlab.summarise(seven), formlab.summarise(sample), abs_tol=1e-9)


ROWS = [{"doc_id": f"d{n}", "total": f"{n}.00", "name": f"Ada {n}", "items": ["a", "b"][: n % 3]}
        for n in range(6)]  # fmt: skip
ANSWERS = [row | {"doc_id": f"scans/{row['doc_id']}.png", "total": "5", "Name": row["name"]}
           for row in ROWS[:-1]] + [{"doc_id": "x", "total": "1"}]  # fmt: skip


def _write(folder):
    files = folder / "gold.jsonl", folder / "answers.jsonl"
    for file, rows in zip(files, (ROWS, ANSWERS), strict=True):
        file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return files


CHOICES = [{"documents": 5}, {"documents": "answered", "types": "t.yml"}]


@pytest.mark.parametrize("how", CHOICES)
def test_own_tables_are_read_a_piece_at_a_time_to_the_same_evaluation(tmp_path, in_parts, how):
    (tmp_path / "t.yml").write_text("total: money\n")
    how = {name: tmp_path / value if name == "types" else value for name, value in how.items()}
    files = _write(tmp_path)
    parts, types = in_parts(*files, 4, **how), how.pop("types", None)
    whole = formlab.evaluate(*pair(*files, types=types), **how)
    assert len(list(parts.parts())) > 2
    assert parts.notes[f"{STRANGE}: x"] == whole.notes[f"{STRANGE}: x"] == 1
    check_equal(parts, whole)
    assert parts.corpus.records.height == whole.corpus.records.height
    assert parts.system == whole.system == "answers"


def test_a_benchmark_is_read_a_batch_at_a_time_with_any_table(tmp_path, in_parts):
    corpus = formlab.load("funsd", split="test")
    fields = corpus.records.filter(pl.col("path").str.starts_with("/entities/"), task="text")
    file = tmp_path / "answers.csv"
    fields.select("doc_id", "path", "value", split=pl.lit("test")).write_csv(file)

    def parts():
        corpora = benchmarks.corpora("funsd", split="test", records=900, apart=True)
        return in_parts(corpora, file, 900, workers=2)

    check_equal(parts(), formlab.evaluate(corpus, file))
    with file.open("a") as more:
        more.write(f"{fields['doc_id'][0]},{fields['path'][0]},again,test\n")
    with pytest.raises(DataBroken, match="two predictions for doc_id"):
        parts()
    file.write_text("doc_id,path,value,split\na,/x,1,train\n")
    with pytest.raises(DataBroken, match="none of the predictions is for"):
        parts()


def test_documents_without_fields_and_strangers_are_in_a_batch(in_parts):
    gold = [{"doc_id": name, "total": "1"} for name in "abc"] + [{"doc_id": "none"}]
    answers = [{"doc_id": name, "total": "1"} for name in "bcxy"]
    both = pair(gold, answers)
    parts, whole = in_parts(*both, 2), formlab.evaluate(*both)
    check_equal(parts, whole)
    # What is scored may be in parts itself.
    check_equal(in_parts(parts.corpus, parts.predictions, 4), whole)
    names = [part.documents["doc_id"].to_list() for part in parts.parts()]
    assert names == [["a"], ["b"], ["c"], ["none"], []]
    *_, last = parts.parts()
    assert set(last.cases["doc_id"]) == {"x", "y"}
    assert set(in_parts(*both, 3, documents=["b"]).cases["doc_id"]) == {"b", "x", "y"}
    with pytest.raises(UnknownName, match="unknown document 'z'"):
        in_parts(*both, 3, documents=["z"])


def test_what_is_known_of_batches_is_known_of_the_whole():
    gold = [{"doc_id": "a", "total": "1", "items": [{"name": "Tea"}]}, {"doc_id": "b", "total": ""}]
    answers = [{"doc_id": "a", "total": "1"}, {"doc_id": "b", "items": [{"name": "x"}]}]
    both = pair(gold, answers)
    whole = Whole.of(*both)
    several = [Whole.of(*(folder.filtered(pl.col("doc_id") == d) for folder in both)) for d in "ab"]
    for order in (several, several[::-1]):
        together = Whole.together(order)
        assert together.gold.equals(whole.gold)
        assert together.answers.equals(whole.answers)
        assert together.words._counts == Whole.together([whole]).words._counts
        assert together.fields == whole.fields


def test_dates_of_other_batches_say_whether_the_day_comes_first(in_parts):
    # Three forms show it; the last one shows nothing.
    dates = ["31/12/2020", "30/11/2020", "29/10/2020", "05/06/2020"]
    gold = [{"doc_id": str(n), "due": date} for n, date in enumerate(dates)]
    answers = [{"doc_id": str(n), "due": "5 June 2020"} for n in range(4)]
    cases = in_parts(*pair(gold, answers, types={"due": "date"}), 1).cases
    assert cases.filter(path="/due", doc_id="3")["typed"].item()


FILE = "testing_data/annotations/c.json"


def test_gold_that_cannot_be_read_is_told_wherever_the_scores_go(funsd_root, tmp_path, formlab):
    (funsd_root / FILE).write_text("{}")
    rows = [{"doc_id": doc, "path": "/entities/0", "value": "Name:"} for doc in "abc"]
    (tmp_path / "p.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    score = "score", "funsd", "--json", "--root", funsd_root, "--predictions", tmp_path / "p.jsonl"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("formlab.benchmarks.BATCH", 1)
        done = formlab(*score, "--out", tmp_path / "e")
        assert done.exit_code == 0, done.output
        assert f"left out: {FILE}: Object missing required field `form`" in done.stderr
        assert formlab(*score, "--strict").exit_code == 2
        evaluation = Evaluation.load(tmp_path / "e")
        assert list(evaluation.unreadable) == [FILE]
        assert evaluation.notes["gold: documents unreadable"] == 1
        assert FILE in str(charts.first_screen(evaluation))
        for stem in "abc":
            (funsd_root / f"testing_data/annotations/{stem}.json").write_text("{")
        none = formlab(*score)
        assert none.exit_code == 2
        assert "no document can be read, the first of 3: broken JSON" in none.stderr
