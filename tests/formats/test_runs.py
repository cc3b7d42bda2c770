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


@pytest.mark.parametrize("finished", [True, False])
def test_predictions_of_some_documents_are_those_rows_of_all(funsd_root, tmp_path, finished):
    corpus = benchmarks.load("funsd", root=funsd_root, split="test")
    out = tmp_path / "r"
    systems.run(corpus, System("silent", "reads nothing", silent), out=out)
    if not finished:
        (out / "manifest.json").unlink()
    whole = read_predictions(out, corpus)
    some = whole.records["doc_id"].unique().sort().to_list()[:1]
    own = read_predictions(out, corpus, documents=some)
    rest = read_predictions(out, corpus, documents=some, others=True)
    assert own.records.height
    assert rest.records.height
    for table in ("records", "responses"):
        here = getattr(whole, table)["doc_id"].is_in(some)
        assert getattr(own, table).equals(getattr(whole, table).filter(here))
        assert getattr(rest, table).equals(getattr(whole, table).filter(~here))
    assert (own.system, own.sources, own.notes) == (whole.system, whole.sources, whole.notes)


def test_a_finished_run_with_the_table_of_another_is_refused(funsd_root, tmp_path):
    corpus = benchmarks.load("funsd", root=funsd_root, split="test")
    for name, limit in (("r", 1), ("other", 2)):
        system = System("silent", "reads nothing", silent)
        systems.run(corpus, system, out=tmp_path / name, limit=limit)
    (tmp_path / "other" / "records.parquet").rename(tmp_path / "r" / "records.parquet")
    for documents in (None, ["a"]):
        with pytest.raises(DataBroken, match=r"changed since it was saved .*records\.parquet"):
            read_predictions(tmp_path / "r", corpus, documents=documents)
