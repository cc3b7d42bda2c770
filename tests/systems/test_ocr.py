import shutil

import polars as pl
import pytest

from formlab import benchmarks, systems
from formlab.systems import ocr


@pytest.fixture(autouse=True, scope="module")
def cache(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        folder = tmp_path_factory.mktemp("cache")
        patch.setenv("FORMLAB_CACHE", str(folder))
        yield folder


@pytest.fixture(scope="module")
def read():
    return systems.get("ocr").start(systems.get("ocr").defaults, 1)


def test_page_gives_its_text_and_lines_with_boxes_and_confidence(read, funsd_root):
    rows = pl.DataFrame(
        read({"doc_id": "a", "image": "testing_data/images/a.png"}, funsd_root),
        infer_schema_length=None,
    )
    page = rows.filter(pl.col("kind") == "page")["value"].item()
    assert page.replace(" ", "") == "Name:AdaBerg"
    lines = rows.filter(pl.col("kind") == "line")
    # Drawn from (10, 10) on, in letters of 18 pixels.
    assert lines["x0"].min() == pytest.approx(10, abs=8)
    assert lines["y0"].min() == pytest.approx(10, abs=8)
    assert lines["confidence"].is_between(0.5, 1).all()
    assert set(rows.filter(pl.col("kind") == "word")["task"]) == {"layout"}


def test_boxes_of_a_scaled_page_are_those_of_the_page_itself(funsd_root):
    system = systems.get("ocr")
    twice = system.start(system.settings({"scale": "2"}), 1)
    rows = twice({"doc_id": "b", "image": "testing_data/images/b.png"}, funsd_root)
    right = max(row["x1"] for row in rows if row["kind"] == "line")
    assert right < 200


def counted(monkeypatch):
    """The sizes of the pictures that the engine itself reads."""
    sizes, inner = [], ocr.Engine._read

    def read(engine, image, words):
        sizes.append(image().size if callable(image) else image.shape)
        return inner(engine, image, words)

    monkeypatch.setattr(ocr.Engine, "_read", read)
    return sizes


def test_page_is_read_once_for_every_run_corpus_and_name(funsd_root, tmp_path, monkeypatch):
    sizes, corpus = counted(monkeypatch), benchmarks.load("funsd", root=funsd_root, split="test")
    fresh = systems.run(corpus, systems.get("ocr"), out=tmp_path / "fresh", use_cache=False)
    assert len(sizes) == 2
    # The same page under another name, in another corpus, and read as HTML.
    shutil.copytree(funsd_root, tmp_path / "moved")
    moved = benchmarks.load("funsd", root=tmp_path / "moved", split="test")
    first = systems.run(corpus, systems.get("ocr"), out=tmp_path / "a")
    again = systems.run(moved, systems.get("ocr"), out=tmp_path / "b")
    systems.run(moved, systems.get("ocr_html"), out=tmp_path / "c")
    assert len(sizes) <= 4
    assert fresh.records.equals(first.records)
    assert fresh.records.drop("origin").equals(again.records.drop("origin"))
    assert again.notes["documents with pages that OCR had read before"] == 2
    assert "documents with pages that OCR had read before" not in fresh.notes
    # The seconds are those of the reading, whenever that was.
    before, after = (p.responses.sort("doc_id")["seconds"].to_list() for p in (first, again))
    assert after == pytest.approx(before, rel=0.5, abs=0.05)
    image = corpus.root / corpus.documents["image"][0]
    image.write_bytes(image.read_bytes() + b" ")
    systems.run(corpus, systems.get("ocr"), out=tmp_path / "d")
    assert len(sizes) <= 5


BLANK = {"txts": [], "scores": [], "boxes": [], "word_results": []}


@pytest.fixture
def blank(monkeypatch, tmp_path):
    """A list with an item for each picture that an engine reads, and finds nothing on."""
    pictures = []
    monkeypatch.setenv("FORMLAB_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(ocr.Engine, "_read", lambda *_: pictures.append(1) or BLANK)
    return pictures


def test_another_setting_is_another_reading(blank, funsd_root):
    document = {"doc_id": "a", "image": "testing_data/images/a.png"}
    for count, other in enumerate(
        ({}, {"text_score": 0.6}, {"angle": not ocr.ENGINE["angle"]}, {"scale": 1.5}), start=1
    ):
        for _ in range(2):
            ocr.start(ocr.SYSTEM.defaults | other, 1)(document, funsd_root)
        assert len(blank) == count
