import dataclasses

import pytest

from formlab import benchmarks, systems
from formlab.errors import DataBroken
from formlab.formats import read_predictions, splits
from formlab.systems import System


def silent(settings, threads):
    return lambda document, root: []


def test_run_under_way_gives_the_pages_it_has_finished(funsd_root, tmp_path):
    corpus = benchmarks.load("funsd", root=funsd_root, split="test")
    out = tmp_path / "r"
    systems.run(corpus, System("silent", "reads nothing", silent), out=out, limit=1)
    finished = read_predictions(out, corpus)
    (out / "manifest.json").unlink()
    assert read_predictions(out, corpus).records.equals(finished.records)


def test_run_of_another_benchmark_is_refused(funsd_root, tmp_path):
    corpus = benchmarks.load("funsd", root=funsd_root, split="test")
    systems.run(corpus, System("silent", "reads nothing", silent), out=tmp_path / "r")
    with pytest.raises(DataBroken, match="read funsd, not sroie"):
        read_predictions(tmp_path / "r", dataclasses.replace(corpus, benchmark="sroie"))


def test_run_says_which_split_it_read(funsd_root, tmp_path):
    corpus = benchmarks.load("funsd", root=funsd_root, split="test")
    systems.run(corpus, System("silent", "reads nothing", silent), out=tmp_path / "r", limit=1)
    assert splits(tmp_path / "r") == ["test"]
