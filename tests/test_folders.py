"""Folders of tables: what is saved over another is that other, the new one, or an error."""

import json
import signal
import subprocess
import sys
import time

import polars as pl
import pytest

from formlab import analysis, files, saving
from formlab.errors import DataBroken, DataMissing, FormlabError, NotAvailable, TableBroken
from formlab.folders import Corpus, Evaluation, Predictions
from formlab.readers import gold, read_predictions
from tests.made_parts import cut

GOLD = [{"doc_id": name, "total": "9.00", "name": "Ada"} for name in "abcdef"]


def made(answer="8.00", size=None):
    """An evaluation of six documents, in parts of `size`."""
    whole = analysis.evaluate(GOLD, [row | {"total": answer} for row in GOLD])
    return cut(whole, size) if size else whole


def state_of(evaluation):
    """All that an evaluation holds, read from the disk; as text, since NaN is not NaN."""
    wholes = (evaluation, evaluation.corpus, evaluation.predictions)
    tables = (getattr(whole, name) for whole in wholes for name in whole.TABLES)
    rows = [repr(table.sort("doc_id", maintain_order=True).rows()) for table in tables]
    return rows, evaluation.notes, evaluation.settings, evaluation.system


@pytest.mark.parametrize("size", [None, 2])
def test_what_was_saved_is_loaded_again_in_one_part_or_several(tmp_path, size):
    whole, out = made(), made(size=size).save(tmp_path / "run [3] *")
    manifest = json.loads((out / "manifest.json").read_text())
    names = [f"{number:05}.parquet" for number in range(3 if size else 1)]
    for table in Evaluation.TABLES:
        assert [name for name, *_ in manifest["tables"][table]] == names
        assert sorted(file.name for file in (out / table).iterdir()) == names
    opened = Evaluation.load(out)
    assert ("cases" in opened.__dict__) == (size is None)
    assert "6 documents, 18 cases, " in repr(opened)
    assert state_of(opened) == state_of(whole)
    assert opened.made == manifest["made"] != {}
    assert pl.read_parquet(f"{tmp_path}/run [[]3] [*]/cases/*.parquet").height == whole.cases.height
    assert Corpus.load(out / "corpus").records.equals(opened.corpus.records)
    assert [part.documents.height for part in opened.parts()] == ([2] * 3 if size else [6])
    joined = opened.by_part(lambda a, b: a.join(b, on="doc_id"), "cases", "documents")
    assert sum(part.height for part in joined) == whole.cases.height
    changed = opened.changed({"cases": lambda part: part.cases.head(1)}, system="other")
    told = changed.cases.height, changed.system, changed.corpus.split
    assert told == (len(names), "other", "frame")
    # Over the folder that it is read from.
    opened.save(out)
    assert state_of(Evaluation.load(out)) == state_of(whole)


def test_predictions_and_corpora_of_format_1_are_read_and_replaced(tmp_path):
    corpus = gold.corpus(GOLD)
    # Before 0.3 the field of one's own forms was their subtype.
    records = corpus.records.drop("subtype").rename({"field": "subtype"})
    for table, frame in {"documents": corpus.documents, "records": records}.items():
        frame.write_parquet(tmp_path / f"{table}.parquet")
    hashes = {t: files.sha256(tmp_path / f"{t}.parquet") for t in corpus.TABLES}
    old = {"kind": "Corpus", "format": 1, "formlab": "0.2.0", "benchmark": "own", "split": "frame"}
    old["tables"] = {t: {"rows": 1, "sha256": code} for t, code in hashes.items()}
    (tmp_path / "manifest.json").write_text(json.dumps(old | {"parts": []}))
    loaded = Corpus.load(tmp_path).records
    assert loaded.select(corpus.records.columns).equals(corpus.records)
    assert corpus.records["field"].count() == loaded.filter(pl.col("path").is_not_null()).height > 0
    corpus.save(tmp_path)
    assert {file.name for file in tmp_path.iterdir()} == {"documents", "manifest.json", "records"}


LOOP = """
import sys
from formlab.saving import replacing
for number in range(int(sys.argv[2])):
    with replacing(sys.argv[1]) as new:
        for name in ("manifest.json", "cases/00000.parquet"):
            (new / name).parent.mkdir(exist_ok=True)
            (new / name).write_text(str(number))
"""


def looping(folder, count=10**9):
    command = [sys.executable, "-c", LOOP, folder, str(count)]
    return subprocess.Popen(command, stderr=subprocess.PIPE, text=True)


def numbers_in(folder):
    saving.settled(folder)
    return {(folder / name).read_text() for name in ("manifest.json", "cases/00000.parquet")}


def test_killed_by_the_system_or_written_by_two_at_once_all_files_are_of_one_save(tmp_path):
    out = tmp_path / "e"
    for kill in range(3):
        with looping(out) as process:
            deadline = time.monotonic() + 60
            while not out.is_dir() and time.monotonic() < deadline:
                time.sleep(0.01)
            time.sleep(0.02 * kill)
            process.send_signal(signal.SIGKILL)
        assert len(numbers_in(out)) == 1
    notes = [process.communicate()[1] for process in [looping(out, 300) for _ in range(2)]]
    assert "what another process saved is replaced" in "".join(notes)
    assert "Error" not in "".join(notes)
    assert numbers_in(out) == {"299"}
    # What those that were killed have left is swept by whoever saves next.
    assert [path.name for path in tmp_path.iterdir()] == ["e"]


def test_files_that_are_not_formlabs_are_named_and_stay(tmp_path):
    out = made().save(tmp_path / "e")
    for name in ("notes.txt", "predictions/mine.json"):
        (out / name).write_text("mine")
        with pytest.raises(DataBroken, match=rf"formlab has not written: {name} \(.*another --out"):
            made("9.00").save(out)
        assert (out / name).read_text() == "mine"
        (out / name).unlink()
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "cases.parquet").write_text("mine")
    with pytest.raises(DataBroken, match=r"has not written: cases\.parquet"):
        made().save(tmp_path / "mine")


def test_what_cannot_be_written_is_one_error_and_the_old_one_stays(tmp_path):
    old, new = made("8.00"), made("9.00")
    out, other = old.save(tmp_path / "e"), new.save(tmp_path / "new")
    code = (
        "import resource, sys; from formlab.folders import Evaluation\n"
        "new = Evaluation.load(sys.argv[1])\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))\n"
        "new.save(sys.argv[2])"
    )
    command = [sys.executable, "-c", code, other, out]
    result = subprocess.run(command, capture_output=True, text=True)
    last = result.stderr.strip().splitlines()[-1]
    assert "formlab.errors.NotAvailable: cannot write" in last
    assert "File too large" in last
    assert state_of(Evaluation.load(out)) == state_of(old)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["e", "new"]
    for place in (out / "manifest.json", out / "manifest.json" / "deeper", "/proc/formlab/x"):
        with pytest.raises(NotAvailable, match="cannot write: .*Try: "):
            new.save(place)


DAMAGES = {
    "no object": lambda text: "[1]",
    "half of it": lambda text: text[: len(text) // 2],
    "no tables": lambda text: text.replace('"tables"', '"tabels"'),
    "notes that are a list": lambda text: text.replace('"notes": {', '"notes": [], "more": {'),
    "a format that is a text": lambda text: text.replace('"format": 3', '"format": "3"'),
    "a name that leads elsewhere": lambda text: text.replace('"00001.', '"../../00001.'),
    "a part of one table alone": lambda text: text.replace('"00001.', '"00007.', 1),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_manifest_is_one_error_that_names_it(tmp_path, damage):
    file = made(size=2).save(tmp_path / "e") / "manifest.json"
    file.write_text(DAMAGES[damage](file.read_text()))
    with pytest.raises(FormlabError, match=r"manifest\.json(.|\n)*Try: "):
        Evaluation.load(file.parent)


def test_a_folder_of_another_kind_shape_or_none_is_refused(tmp_path):
    answers = read_predictions(GOLD, gold.corpus(GOLD))
    corpus = gold.corpus(GOLD).save(tmp_path / "c")
    with pytest.raises(DataBroken, match="holds Corpus, not Predictions"):
        Predictions.load(corpus)
    with pytest.raises(DataMissing, match="this folder holds no corpus"):
        Corpus.load(tmp_path)
    # A run keeps its tables beside its journal.
    (tmp_path / "run.json").write_text("{}")
    answers.save(tmp_path / "predictions")
    assert Predictions.load(tmp_path).records.equals(answers.records)
    file, manifest = corpus / "records" / "00000.parquet", corpus / "manifest.json"
    before = files.sha256(file)
    pl.DataFrame({"a": [1]}).write_parquet(file)
    manifest.write_text(manifest.read_text().replace(before, files.sha256(file)))
    with pytest.raises(TableBroken, match="missing columns"):
        Corpus.load(corpus)
