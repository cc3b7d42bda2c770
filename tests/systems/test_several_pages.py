"""Documents of several pages are read, shown and sent page by page."""

import pytest
from PIL import Image, ImageDraw

import formlab
from formlab import gallery, pictures, readers
from formlab.benchmarks.meta import page_images
from formlab.systems.chat.images import pages as chat_pages


def drawn(text):
    page = Image.new("L", (300, 80), 255)
    ImageDraw.Draw(page).text((20, 20), text, fill=0, font_size=28)
    return page


TOTAL = "Total 9.00"


@pytest.fixture
def scans(tmp_path):
    """Four documents of two pages each: two images, a folder, a TIFF and a PDF."""
    root = tmp_path / "scans"
    (root / "b").mkdir(parents=True)
    for name, text in (("a", "Name Ada"), ("a_2", TOTAL), ("b/1", "Name Ada"), ("b/2", TOTAL)):
        drawn(text).save(root / f"{name}.png")
    for name in ("c.tiff", "d.pdf"):
        drawn("Name Ada").save(root / name, save_all=True, append_images=[drawn(TOTAL)])
    return root


GOLD = [
    {"doc_id": name, "path": path, "value": value, "page": page}
    for name in "abcd"
    for path, value, page in (("name", "Ada", 1), ("total", "9.00", 2))
]


def test_every_page_is_read_shown_and_sent(scans, tmp_path):
    corpus = readers.corpus(GOLD, images=scans)
    rows = corpus.documents.to_dicts()
    assert [page_images(row) for row in rows] == [
        ["a.png", "a_2.png"], ["b/1.png", "b/2.png"], ["c.tiff"], ["d.pdf"]
    ]  # fmt: skip
    assert [pictures.page_count(scans / row["image"]) for row in rows] == [1, 1, 2, 2]
    predictions = formlab.run(corpus, formlab.systems.get("ocr"), out=tmp_path / "run")
    words = predictions.records.filter(kind="word")
    assert sorted(set(words.select("doc_id", "page").rows())) == [
        (name, page) for name in "abcd" for page in (1, 2)
    ]  # fmt: skip
    # Boxes of the PDF are in its points, as those of images are in pixels.
    assert words["x1"].max() < 300
    # Without boxes in the gold, fields are found in the text of the pages.
    result = formlab.evaluate(corpus, predictions)
    assert result.fields["outcome"].to_list() == ["match"] * 8
    shown = gallery.errors(result.fields, root=corpus.root, documents=corpus.documents, right=True)
    assert [case["why"] for case in shown.cases] == [None] * 8
    crops = [case["image"] for case in shown.cases]
    assert len(set(crops[:2])) == 2
    # Two files or two pages of a file: the pages of all four are told apart.
    assert all(one != other for one, other in zip(crops[::2], crops[1::2], strict=True))
    for row in rows:
        sent = chat_pages([scans / name for name in page_images(row)], limit=300)
        assert [page.number for page in sent] == [1, 2]
        assert sent[0].url() != sent[1].url()


def test_change_of_a_later_page_is_read_again(scans, tmp_path):
    corpus = readers.corpus(GOLD[:2], images=scans)
    run = lambda: formlab.run(corpus, formlab.systems.get("ocr"), out=tmp_path / "run")  # noqa: E731
    run()
    drawn("Total 7.50").save(scans / "a_2.png")
    assert "7.50" in run().records.filter(kind="page")["value"].item()
