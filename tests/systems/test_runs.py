import pytest

from formlab import benchmarks, systems
from formlab.systems import SKIPPED, System, chat
from formlab.systems._runs import first
from tests.systems.scripted_server import serving


@pytest.fixture
def corpus(funsd_root):
    """Two pages, of which the first has no image."""
    corpus = benchmarks.load("funsd", root=funsd_root, split="test")
    (corpus.root / corpus.documents["image"][0]).unlink()
    return corpus


def test_limit_takes_documents_that_have_an_image(shared):
    corpus = benchmarks.load("sroie", root=shared / "data/sroie")
    there = [bool(i) and (corpus.root / i).is_file() for i in corpus.documents["image"]]
    found, skipped = first(corpus, 8)
    last = [place for place, has in enumerate(there) if has][7]
    assert found.height == 8
    assert all((corpus.root / image).is_file() for image in found["image"])
    assert skipped == there[: last + 1].count(False) > 0
    assert first(corpus, None)[0].height == corpus.documents.height
    whole, none = first(corpus, 8, images=False)
    assert (whole["doc_id"].to_list(), none) == (corpus.documents["doc_id"].to_list()[:8], 0)


def test_run_passes_over_what_has_no_image_and_counts_it(corpus, tmp_path):
    system = System("s", "says nothing", lambda settings, threads: lambda document, root: [])
    found = systems.run(corpus, system, out=tmp_path / "r", limit=1)
    assert found.responses["doc_id"].to_list() == ["b"]
    assert found.notes == {SKIPPED: 1}
    # Without a limit nothing is passed over: what cannot be read is missing.
    assert systems.run(corpus, system, out=tmp_path / "r").responses.height == 2


@pytest.mark.parametrize(("shown", "asked"), [(2048, "b"), (0, "a")])
def test_model_that_is_shown_pages_is_asked_about_those_there_are(
    corpus, tmp_path, monkeypatch, shown, asked
):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.setenv("FORMLAB_REPORT", "1")
    with serving('{"entities": []}') as server:
        settings = {"base_url": server.url, "image_limit": shown, "attempts": 1}
        made = chat.system("chat:m").run(corpus, out=tmp_path, settings=settings, limit=1)
    assert made.responses["doc_id"].to_list() == [asked]
    assert made.notes.get(SKIPPED, 0) == (asked == "b")
