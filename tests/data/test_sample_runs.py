"""What comes with formlab as read by the baselines is what they read."""

from dataclasses import replace
from types import SimpleNamespace

import pytest
from polars.testing import assert_frame_equal

from data.sample.generate.runs import PLAYERS, RUNS, TARGET, corpora, play, read
from formlab import analysis, resources
from formlab.analysis import samples
from formlab.benchmarks import vrdu
from formlab.errors import NotAvailable
from formlab.folders import Predictions
from formlab.tables import BOX
from formlab_arena import samples as arena_samples
from formlab_arena.evaluation import read_run, system_name
from tests.seeds import ALL

REMADE = "make them again: python -m data.sample.generate.runs"
READ = {f"{c.benchmark}-{c.split}-{s.run_name(v)}": (c, s, v) for c, s, v in corpora()}


@pytest.fixture
def unscored(monkeypatch):
    """Samples are opened by name alone: their scores are the notebooks' matter."""

    def named(corpus, predictions):
        names = {"benchmark": corpus.benchmark, "split": corpus.split}
        return SimpleNamespace(system=predictions.system, **names)

    monkeypatch.setattr(samples, "evaluate", named)


def test_every_run_that_notebooks_open_is_there_and_no_other(unscored):
    assert sorted(folder.name for folder in TARGET.iterdir()) == sorted(READ), REMADE
    assert len({name for name, *_ in RUNS}) == 4
    for system in ("template", "trained"):
        opened = analysis.open_evaluations(benchmark="vrdu", system=system)
        mixed = {
            vrdu.decode(evaluation.split)["train_size"]
            for evaluation in opened
            if evaluation.split.startswith("MadeAds-mixed")
        }
        assert (len(opened), mixed) == (16, {1, 3, 6})


@pytest.mark.parametrize("name", READ)
def test_documents_and_settings_are_those_of_today(name):
    corpus, system, settings = READ[name]
    shipped = Predictions.load(TARGET / name)
    assert shipped.responses["doc_id"].to_list() == corpus.documents["doc_id"].to_list(), REMADE
    assert shipped.settings.items() >= settings.items(), REMADE
    assert shipped.system == system.run_name(settings)
    assert set(shipped.responses["status"]) == {"ok"}


# One document of each system and benchmark; the OCR engine and the arena are in `make test-all`.
FEW = [n for n in READ if n[:4] != "vrdu" or all(w in n for w in ("mixed", "train_3", "SD_0"))]
FEW = [n for n in FEW if ALL or not n.endswith(("ocr", "html"))]


@pytest.fixture(scope="module")
def pages_read_now(tmp_path_factory):
    """Systems that read a page with the same engine share its reading, which is made here."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FORMLAB_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.mark.parametrize("name", [name for name in FEW if "=" not in name])
@pytest.mark.usefixtures("pages_read_now")
def test_the_systems_read_the_same_now(name):
    corpus, system, settings = READ[name]
    try:
        # A system without an extra reads scans with the engine of this one.
        resources.need(system.extra or "ocr")
    except NotAvailable as error:
        pytest.skip(str(error))
    shipped = Predictions.load(TARGET / name)
    # The page with the least on it is read in the shortest time.
    counts = shipped.records.group_by("doc_id").len().sort("len", "doc_id")
    document = counts["doc_id"][0]
    page = replace(corpus, documents=corpus.documents.filter(doc_id=document))
    now = read(page, system, settings)
    assert now.settings == shipped.settings, REMADE
    assert now.responses["doc_id"].to_list() == [document]
    before = shipped.records.filter(doc_id=document)
    # Sums of another processor's instructions differ in their last digits.
    loose = ["confidence", *BOX]
    assert_frame_equal(now.records.drop(loose), before.drop(loose))
    assert_frame_equal(now.records.select(loose), before.select(loose), abs_tol=0.51)


PLAYED = {system_name(settings.as_json()): settings for settings in PLAYERS}


@pytest.mark.browser
@pytest.mark.complete
@pytest.mark.parametrize(
    ("name", "code"),
    [("oracle", "C12"), ("rules", "A12"), ("rules(ruler=True,texts=prose)", "E12")],
)
def test_the_agents_fill_in_the_same_now(name, code, tmp_path):
    play(tmp_path, PLAYED[name], code)
    episode = f"{code}-001"
    now, before = (
        read_run(folder, only=episode) for folder in (tmp_path, arena_samples.PLAYED / name)
    )
    # Places are those of a machine's fonts; how long it took is no part of it.
    for made, kept in zip(now, before, strict=True):
        rest = made.records.drop("meta", *BOX)
        assert_frame_equal(rest, kept.records.drop("meta", *BOX))
        assert made.records.height > 0
    assert_frame_equal(now[1].responses.drop("seconds"), before[1].responses.drop("seconds"))
