import shutil

import pytest
from PIL import Image, ImageDraw

import formlab
from formlab import benchmarks, readers, systems
from formlab.benchmarks.corpus import page_images
from formlab.errors import DataBroken
from formlab.systems import ocr, prompts
from formlab.systems.pages import pages as chat_pages
from formlab.systems.runs import first
from tests.systems.chat.made_runs import FORM, ran
from tests.systems.scripted_server import serving


def test_a_run_sends_the_chosen_prompt_and_remembers_its_name_and_hash(tmp_path):
    file = tmp_path / "theirs.md"
    file.write_text("Read it as they do.")
    with serving(then=FORM) as server:
        made = ran(server, tmp_path / "a", tasks="extraction", prompt=str(file))
        sent = server.calls[0]["body"]["messages"][0]["content"]
        with pytest.raises(DataBroken, match="one prompt for several tasks"):
            ran(server, tmp_path / "b", tasks="", prompt="formcraft_listing1")
    assert sent.startswith("Read it as they do.")
    assert made.settings["prompt"] == f"theirs {prompts.version_of('Read it as they do.')}"


def test_limit_takes_documents_that_have_an_image(funsd_root):
    (funsd_root / "testing_data/images/a.png").unlink()
    corpus = benchmarks.load("funsd", root=funsd_root, split="test")
    found, skipped = first(corpus, 1)
    assert (found["doc_id"].to_list(), skipped) == (["b"], 1)
    whole, skipped = first(corpus, 1, images=False)
    assert (whole["doc_id"].to_list(), skipped) == (["a"], 0)


def drawn(text):
    # A page that is no strip: the engine makes the shorter side of each as long.
    page = Image.new("L", (160, 160), 255)
    ImageDraw.Draw(page).text((10, 60), text, fill=0, font_size=28)
    return page


TOTAL = "Total 9.00"


@pytest.fixture
def scans(tmp_path):
    """Three documents of two pages each: two images, a folder and a PDF."""
    root = tmp_path / "scans"
    (root / "b").mkdir(parents=True)
    for name, text in (("a", "Name Ada"), ("a_2", TOTAL), ("b/1", "Name Ada"), ("b/2", TOTAL)):
        drawn(text).save(root / f"{name}.png")
    drawn("Name Ada").save(root / "c.pdf", save_all=True, append_images=[drawn(TOTAL)])
    return root


GOLD = [
    {"doc_id": name, "path": path, "value": value, "page": page}
    for name in "abc"
    for path, value, page in (("name", "Ada", 1), ("total", "9.00", 2))
]


def test_every_page_is_read_shown_and_sent(scans, tmp_path):
    corpus = readers.corpus(GOLD, images=scans)
    rows = corpus.documents.to_dicts()
    assert [page_images(row) for row in rows] == [
        ["a.png", "a_2.png"], ["b/1.png", "b/2.png"], ["c.pdf"]
    ]  # fmt: skip
    predictions = formlab.run(corpus, formlab.systems.get("ocr"), out=tmp_path / "run")
    words = predictions.records.filter(kind="word")
    pages = [(name, page) for name in "abc" for page in (1, 2)]
    assert sorted(set(words.select("doc_id", "page").rows())) == pages
    # Boxes of the PDF are in its points, as those of images are in pixels.
    assert words["x1"].max() < 160
    for row in rows:
        sent = chat_pages([scans / name for name in page_images(row)], limit=300)
        assert [page.number for page in sent] == [1, 2]
        assert sent[0].url() != sent[1].url()


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
    page, *rows = read({"doc_id": "a", "image": "testing_data/images/a.png"}, funsd_root)
    assert page["value"].replace(" ", "") == "Name:AdaBerg"
    lines = [row for row in rows if row["kind"] == "line"]
    # Drawn from (10, 10) on, in letters of 18 pixels.
    for side in ("x0", "y0"):
        assert min(row[side] for row in lines) == pytest.approx(10, abs=8)
    assert all(0.5 <= row["confidence"] <= 1 for row in lines)
    assert {row["task"] for row in rows} == {"layout"}


def test_boxes_of_a_scaled_page_are_those_of_the_page_itself(funsd_root):
    system = systems.get("ocr")
    twice = system.start(system.settings({"scale": "2"}), 1)
    rows = twice({"doc_id": "b", "image": "testing_data/images/b.png"}, funsd_root)
    assert max(row["x1"] for row in rows if row["kind"] == "line") < 200


@pytest.fixture
def blank(monkeypatch, tmp_path):
    """A list with an item for each picture that an engine reads, and finds nothing on."""
    pictures = []
    monkeypatch.setenv("FORMLAB_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(ocr.Engine, "_read", lambda *_: pictures.append(1) or [])
    return pictures


def test_another_setting_is_another_reading(blank, funsd_root):
    document = {"doc_id": "a", "image": "testing_data/images/a.png"}
    for count, other in enumerate(
        ({}, {"text_score": 0.6}, {"angle": not ocr.ENGINE["angle"]}, {"scale": 1.5}), start=1
    ):
        for _ in range(2):
            ocr.start(ocr.SYSTEM.defaults | other, 1)(document, funsd_root)
        assert len(blank) == count


def test_page_is_read_once_for_every_run_corpus_and_name(blank, funsd_root, tmp_path):
    corpus = benchmarks.load("funsd", root=funsd_root, split="test")
    systems.run(corpus, systems.get("ocr"), out=tmp_path / "fresh")
    assert len(blank) == 2
    # The same page under another name, in another corpus, and read as HTML.
    shutil.copytree(funsd_root, tmp_path / "moved")
    moved = benchmarks.load("funsd", root=tmp_path / "moved", split="test")
    systems.run(corpus, systems.get("ocr"), out=tmp_path / "a")
    systems.run(moved, systems.get("ocr"), out=tmp_path / "b")
    systems.run(moved, systems.get("ocr_html"), out=tmp_path / "c")
    assert len(blank) == 2
    image = corpus.root / corpus.documents["image"][0]
    image.write_bytes(image.read_bytes() + b" ")
    systems.run(corpus, systems.get("ocr"), out=tmp_path / "d")
    assert len(blank) <= 3


def test_change_of_a_later_page_is_read_again(blank, scans, tmp_path):
    corpus = readers.corpus(GOLD[:2], images=scans)
    for text, count in (("Total 9.00", 2), ("Total 7.50", 3)):
        drawn(text).save(scans / "a_2.png")
        formlab.run(corpus, formlab.systems.get("ocr"), out=tmp_path / "run")
        assert len(blank) == count
