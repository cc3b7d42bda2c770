import json

import fsspec
import pytest

from formlab import files
from formlab.benchmarks import SAMPLES, load
from formlab.errors import DataMissing
from formlab.scoring.evaluate import evaluate


@pytest.fixture(autouse=True)
def cache_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("FORMLAB_CACHE", str(tmp_path / "cache"))


def test_paths_stay_and_addresses_are_fetched_until_they_change(tmp_path):
    assert files.local(tmp_path / "a.csv") == tmp_path / "a.csv"
    assert files.local(f"file://{tmp_path}/a.csv") == tmp_path / "a.csv"
    memory = fsspec.filesystem("memory")
    memory.pipe("/forms/gold.csv", b"one")
    first = files.local("memory://forms/gold.csv")
    assert (first.name, first.read_bytes()) == ("gold.csv", b"one")
    written = first.stat().st_mtime_ns
    assert files.local("memory:/forms/gold.csv") == first
    assert first.stat().st_mtime_ns == written
    memory.pipe("/forms/gold.csv", b"other")
    assert files.local("memory://forms/gold.csv").read_bytes() == b"other"


def test_what_cannot_be_fetched_is_one_error(monkeypatch):
    with pytest.raises(DataMissing, match=r"cannot be fetched.*memory://no/such.csv"):
        files.local("memory://no/such.csv")
    with pytest.raises(DataMissing, match=r"cannot be fetched: ValueError.*whale"):
        files.local("whale://a/b.csv")

    def absent(url):
        raise ImportError("install s3fs to access S3")

    monkeypatch.setattr(fsspec, "url_to_fs", absent)
    with pytest.raises(DataMissing, match="cannot be fetched: ImportError: install s3fs"):
        files.local("s3://bucket/b.csv")


def test_gold_and_answers_may_be_addresses(formlab):
    memory = fsspec.filesystem("memory")
    memory.pipe("/own/gold.csv", b"doc_id,name,total\na,Ada,9.00\nb,Bo,7.50\n")
    memory.pipe("/own/answers.csv", b"doc_id,name,total\na,Ada,9.00\nb,Bob,7.50\n")
    result = formlab(
        "score", "memory://own/gold.csv", "--predictions", "memory://own/answers.csv",
        "--resamples", "0", "--json",
    )  # fmt: skip
    assert result.exit_code == 0, result.stderr
    rows = {r["metric"]: r for r in json.loads(result.stdout) if r["slice_by"] is None}
    assert (rows["exact_accuracy"]["value"], rows["exact_accuracy"]["n_cases"]) == (0.75, 4)


def test_a_folder_is_fetched_whole():
    memory = fsspec.filesystem("memory")
    for name in ("a.json", "deep/b.json"):
        memory.pipe(f"/run/{name}", name.encode())
    folder = files.local("memory://run/")
    found = {str(f.relative_to(folder)): f.read_text() for f in folder.rglob("*") if f.is_file()}
    assert found == {"a.json": "a.json", "deep/b.json": "deep/b.json"}


def test_evaluations_may_be_addresses_and_so_may_the_official_files(formlab, tmp_path):
    memory = fsspec.filesystem("memory")
    for name, total in (("a", "9"), ("b", "8")):
        evaluate({"a": {"total": "9"}}, {"a": {"total": total}}).save(tmp_path / name)
        memory.put(str(tmp_path / name), f"/evals/{name}", recursive=True)
    named = ["memory://evals/a", "memory://evals/b"]
    result = formlab("compare", *named, "--resamples", "0", "--json")
    rows = {row["metric"]: row["difference"] for row in json.loads(result.stdout)}
    assert rows["exact_accuracy"] == 1
    memory.put(str(SAMPLES / "funsd"), "/funsd", recursive=True)
    assert load("funsd", root="memory://funsd").documents.height == 8
