"""Pages are found by the names of their documents, and read page by page."""

import unicodedata
from collections import Counter

import pytest
from PIL import Image, ImageDraw

import formlab
from formlab import gallery, own, pictures
from formlab.benchmarks.meta import page_images
from formlab.errors import DataBroken, DataMissing
from formlab.own import images
from formlab.systems.chat.images import pages as chat_pages


def find(folder, names, documents):
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(b"")
    flaws = Counter()
    return images.find(folder, documents, flaws), +flaws


@pytest.mark.parametrize(
    ("names", "document", "pages"),
    [
        (["a.png"], "a", ["a.png"]),
        (["x/y/a.JPG"], "a", ["x/y/a.JPG"]),
        (["a.pdf"], "a.pdf", ["a.pdf"]),
        (["x/a.png"], "scans/a.png", ["x/a.png"]),
        (["a.png", "a_2.png", "a_10.png"], "a", ["a.png", "a_2.png", "a_10.png"]),
        (["a-p1.png", "a-p2.png"], "a", ["a-p1.png", "a-p2.png"]),
        (["a page 2.tif", "a page 1.tif"], "a", ["a page 1.tif", "a page 2.tif"]),
        (["a/1.png", "a/10.png", "a/2.png"], "a", ["a/1.png", "a/2.png", "a/10.png"]),
        ([unicodedata.normalize("NFD", "é") + ".png"], "é", ["e\u0301.png"]),
        (["x/1.png", "y/1.png"], "y/1", ["y/1.png"]),
    ],
)
def test_pages_of_a_document(names, document, pages, tmp_path):
    found, flaws = find(tmp_path, names, [document])
    assert found == {document: pages}
    assert not flaws


def test_file_of_another_document_is_no_page_and_copies_and_gaps_are_counted(tmp_path):
    names = ["a.png", "a_1.png", "a_2.png", "x/b.png", "y/b.png", "c.png", "c.pdf", ".d.png"]
    found, flaws = find(tmp_path, names, ["a", "a_1", "b", "c", "d"])
    assert found == {
        "a": ["a.png", "a_2.png"],
        "a_1": ["a_1.png"],
        "b": ["x/b.png"],
        "c": ["c.png"],
    }
    assert flaws == {
        "documents with several files of one name: the first is read": 2,
        "documents without an image": 1,
    }  # fmt: skip


def test_folder_that_is_not_there_is_an_error(tmp_path):
    with pytest.raises(DataMissing, match="--images"):
        own.corpus([{"doc_id": "a", "t": "1"}], images=tmp_path / "no")


def test_texts_of_documents_are_found_by_their_names_in_any_folder(tmp_path):
    (tmp_path / "b").mkdir()
    (tmp_path / "a.txt").write_text("Zoë\n", encoding="utf-8")
    (tmp_path / "b" / "c.txt").write_bytes("Zoë".encode("latin-1"))
    (tmp_path / "other.txt").write_text("of no document")
    rows = [{"doc_id": name, "total": "1"} for name in ("a", "c.png", "b/c", "d")]
    loaded = own.corpus(rows, images=tmp_path)
    assert dict(loaded.documents["doc_id", "context"].rows()) == {
        "a": "Zoë\n", "c.png": "Zoë", "b/c": "Zoë", "d": None,
    }  # fmt: skip


def test_names_that_leave_the_folder_open_nothing(tmp_path):
    Image.new("L", (9, 9)).save(tmp_path / "secret.png")
    (tmp_path / "scans").mkdir()
    gold = [
        {"doc_id": "../secret", "path": "t", "value": "1", "image": None},
        {"doc_id": "b", "path": "t", "value": "1", "image": "../secret.png"},
        {"doc_id": "c", "path": "t", "value": "1", "image": "no.png"},
        {"doc_id": "d", "path": "t", "value": "1", "image": "\0"},
    ]
    corpus = own.corpus(gold, images=tmp_path / "scans", types={"t": "number"})
    assert corpus.documents["image"].to_list() == [None, None, "no.png", None]
    assert corpus.flaws == {
        "documents without an image": 1, "images missing": 1, "images outside of their folder": 2,
    }  # fmt: skip


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
    corpus = own.corpus(GOLD, images=scans)
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


def test_page_that_is_not_there_says_so(scans):
    gold = [row | {"page": 3} for row in GOLD]
    corpus = own.corpus(gold, images=scans)
    result = formlab.evaluate(corpus, own.predictions(GOLD, corpus))
    shown = gallery.errors(result.fields, root=corpus.root, documents=corpus.documents, right=True)
    assert {case["why"].partition(":")[0] for case in shown.cases} == {
        "no page 3, the document has 2", "no page 3, the TIFF has 2", "no page 3, the PDF has 2",
    }  # fmt: skip
    with pytest.raises(DataBroken, match="no page 3"):
        pictures.read_image(scans / "c.tiff", page=3)


def test_change_of_a_later_page_is_read_again(scans, tmp_path):
    corpus = own.corpus(GOLD[:2], images=scans)
    run = lambda: formlab.run(corpus, formlab.systems.get("ocr"), out=tmp_path / "run")  # noqa: E731
    run()
    drawn("Total 7.50").save(scans / "a_2.png")
    assert "7.50" in run().records.filter(kind="page")["value"].item()
