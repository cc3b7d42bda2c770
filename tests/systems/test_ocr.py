import polars as pl
import pytest
from PIL import Image

from formlab import benchmarks, systems


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
    ocr = systems.get("ocr")
    twice = ocr.start(ocr.settings({"scale": "2"}), 1)
    rows = twice({"doc_id": "b", "image": "testing_data/images/b.png"}, funsd_root)
    right = max(row["x1"] for row in rows if row["kind"] == "line")
    assert right < 200


def test_blank_page_is_read_as_empty_text(read, funsd_root, tmp_path):
    Image.new("L", (100, 100), 255).save(tmp_path / "blank.png")
    rows = read({"doc_id": "x", "image": "blank.png"}, tmp_path)
    assert [(row["kind"], row["value"]) for row in rows] == [("page", "")]


def test_broken_and_missing_images_are_rows_with_their_reason(funsd_root, tmp_path):
    images = funsd_root / "testing_data" / "images"
    images.joinpath("a.png").write_bytes(b"no image")
    images.joinpath("b.png").unlink()
    corpus = benchmarks.load("funsd", root=funsd_root, split="test")
    assert corpus.flaws["images unreadable"] == corpus.flaws["images missing"] == 1
    predictions = systems.run(corpus, systems.get("ocr"), out=tmp_path / "r", workers=2)
    errors = dict(predictions.responses.select("doc_id", "error").rows())
    assert "not a readable image" in errors["a"]
    assert "no image" in errors["b"]
    assert set(predictions.records["status"]) == {"missing"}
