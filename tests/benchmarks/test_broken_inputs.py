"""What each loader does with files that are not what they should be: a table of broken inputs."""

import json
import os
from pathlib import Path

import pytest
from PIL import Image

from formlab import benchmarks
from formlab.errors import FormlabError, GoldInDoubt

from ..conftest import entity
from ..made_formfactory import make as formfactory
from ..made_vrdu import BOX, SPLIT
from ..made_vrdu import make as vrdu
from ..made_vrdu import put as annotate

PAGE = "<p>Cash and other means at hand <number>5</number></p>"
ITEM = {"trueJsonOutput": {"a": 1}, "trueMarkdownOutput": "1", "imageUrl": "x/form.png"}
ENTRY = {"image_path": "a.png", "dataset_name": "D", "type": "VQA en", "id": 1, "answers": ["9"]}
FORM = {"fields": [{"label": "Name", "value": "Ada"}]}
LINES = "1,1,50,1,50,9,1,9,BERG\n1,20,50,20,50,29,1,29,TOTAL 9.00\n"


def put(root, name, content):
    file = root / name
    file.parent.mkdir(parents=True, exist_ok=True)
    if isinstance(content, bytes):
        file.write_bytes(content)
    else:
        file.write_text(content if isinstance(content, str) else json.dumps(content))
    return root


def page(root, name):
    (root / name).parent.mkdir(parents=True, exist_ok=True)
    Image.new("L", (20, 20)).save(root / name)


def funsd(root):
    for stem in "ab":
        form = {"form": [entity(0, "Name:", [1, 1, 9, 9], "question")]}
        put(root, f"testing_data/annotations/{stem}.json", form)
        page(root, f"testing_data/images/{stem}.png")


def sroie(root):
    for stem in "ab":
        put(root, f"key/{stem}.json", {"company": "BERG", "total": "9.00"})
        put(root, f"box/{stem}.csv", LINES)


def omniai(root):
    for stem in "ab":
        put(root, f"{stem}.json", ITEM)


def formcraft(root):
    for stem in "ab":
        put(root, f"forms/{stem}.json", FORM)


def fincriticaled(root):
    for number in (1, 2):
        put(root, f"gold_{number}.txt", PAGE)
        page(root, f"images/{number}.png")


def load(name, root, **how):
    return benchmarks.load(name, root=root, **how)


# A file for each document, or for all instances of a form; then files that all documents need.
FILES = {
    "funsd": (funsd, "testing_data/annotations/b.json"),
    "sroie": (sroie, "key/b.json"),
    "omniai": (omniai, "b.json"),
    "formcraft": (formcraft, "forms/b.json"),
    "formcraft of funsd": (funsd, "testing_data/annotations/b.json"),
    "formcraft of sroie": (sroie, "key/b.json"),
    "formfactory": (formfactory, "data1/grant_applications.json"),
    "omniai of lines": (lambda root: put(root, "x.jsonl", ITEM), "x.jsonl"),
    "ocrbench_v2": (lambda root: put(root, "OCRBench_v2.json", [ENTRY]), "OCRBench_v2.json"),
    "vrdu": (vrdu, "main/dataset.jsonl"),
    "vrdu of a schema": (vrdu, "main/meta.json"),
    "vrdu of a split": (vrdu, f"few_shot-splits/{SPLIT}.json"),
}
FOR_ALL = [*FILES][-5:]
BROKEN = {
    "cut off": b'{"a": ', "latin-1": b'{"a": "\xe9"}', "binary": b"\0\xff\0",
    "objects": b'{"a": ' * 5000, "digits": b'{"a": [' + b"9" * 5000 + b"]}", "null": b"null",
    "other": b'{"form": 1, "a": {"b": [null]}}',
}  # fmt: skip
NO_FILES = {
    "folder": Path.mkdir,
    "pipe": os.mkfifo,
    "device": lambda file: file.symlink_to("/dev/zero"),
}


@pytest.mark.parametrize("source", FILES)
def test_what_cannot_be_read_costs_its_documents_or_is_one_error_that_names_it(tmp_path, source):
    make, name = FILES[source]
    benchmark = source.partition(" ")[0]
    for broken in (*BROKEN, *NO_FILES):
        make(root := tmp_path / broken)
        whole = load(benchmark, root)
        damage(root / name, broken)
        if source in FOR_ALL:
            with pytest.raises(FormlabError) as caught:
                load(benchmark, root)
            # A data set that is no file is not there.
            said = str(caught.value).replace("main/", "dataset ")
            assert Path(name).name.partition(".")[0] in said, broken
            continue
        corpus = load(benchmark, root)
        assert whole.documents.height > corpus.documents.height > 0
        kept = whole.records.join(corpus.documents, on="doc_id", how="semi", maintain_order="left")
        assert corpus.records.equals(kept), broken
        [(left_out, reason)] = corpus.unreadable.items()
        assert (left_out, Path(name).name in reason) == (name, True), broken
        assert str(tmp_path) not in reason
        assert [n for flaw, n in corpus.flaws.items() if "unreadable" in flaw] == [1], broken


def damage(file, broken):
    """Put something that cannot be read in the place of a file."""
    file.unlink()
    if broken in NO_FILES:
        NO_FILES[broken](file)
    else:
        file.write_bytes(BROKEN[broken])


DOUBTS = [
    (funsd, "funsd", "testing_data/annotations/b.json",
     {"form": [entity(1, "a", BOX[1:]), entity(1, "b", BOX[1:])]}, "entity ids given twice: 1"),
    (funsd, "funsd", "testing_data/annotations/b.json",
     {"form": [entity(1, "a", BOX[1:], links=[(1, 2), (1, "2")])]}, "two values of b at one path"),
    (sroie, "sroie", "key/b.json", {"lines/0": "9.00"}, "two values of b at one path: /lines/0"),
    (omniai, "omniai", "b.json", ITEM | {"trueJsonOutput": {"": 1}}, "two values of b at one path"),
    (formcraft, "formcraft", "forms/b.json",
     FORM | {"vqa": [{"id": 1, "question": "?", "answers": "a"}] * 2}, "/vqa/1"),
    (fincriticaled, "fincriticaled", "gold_02.txt", PAGE, "page 2: gold_02.txt and gold_2.txt"),
    (fincriticaled, "fincriticaled", "gold_2.html", PAGE, "page 2: gold_2.html and gold_2.txt"),
]  # fmt: skip


@pytest.mark.parametrize(("make", "name", "file", "value", "says"), DOUBTS)
def test_gold_that_contradicts_itself_is_an_error(tmp_path, make, name, file, value, says):
    make(tmp_path)
    put(tmp_path, file, value)
    with pytest.raises(GoldInDoubt, match=says):
        load(name, tmp_path)


@pytest.mark.parametrize("broken", NO_FILES)
def test_a_page_that_is_no_file_is_counted_and_its_document_stays(tmp_path, broken):
    funsd(tmp_path)
    damage(tmp_path / "testing_data/images/b.png", broken)
    corpus = load("funsd", tmp_path)
    assert corpus.documents["doc_id"].to_list() == ["a", "b"]
    assert corpus.flaws["images missing"] == 1


@pytest.mark.parametrize("name", ["x" * 5000, "a\0b", "https://[::1/x", "\ud800", "/", "../b"])
def test_names_that_no_file_can_have_are_pages_that_are_missing(tmp_path, name):
    put(tmp_path / "omniai", "b.json", ITEM | {"imageUrl": f"{name}.png"})
    assert load("omniai", tmp_path / "omniai").flaws["images not in the folder"] == 1
    put(tmp_path / "formcraft", "forms/b.json", FORM | {"pages": [name]})
    assert load("formcraft", tmp_path / "formcraft").flaws["images missing"] == 1
    put(tmp_path / "ocrbench", "OCRBench_v2.json", [ENTRY | {"image_path": f"a/{name}.png"}])
    assert load("ocrbench_v2", tmp_path / "ocrbench").flaws["images missing"] == 1
    annotate(vrdu(tmp_path / "vrdu"), [], file_path=name)
    # The PDFs of both documents of the split.
    assert load("vrdu", tmp_path / "vrdu").flaws["PDFs missing"] == 2


@pytest.mark.parametrize("number", [10**400, float("inf"), float("nan"), "1", True])
def test_boxes_of_impossible_numbers_are_counted(tmp_path, number):
    funsd(tmp_path)
    word = {"text": "a", "box": [number, 0, 1, 1]}
    put(tmp_path, "testing_data/annotations/b.json", {"form": [word]})
    annotate(vrdu(tmp_path / "vrdu"), [["who", [["Ann", [number, 0.1, 0.2, 0.3, 0.4]]]]])
    for name, root in (("funsd", tmp_path), ("vrdu", tmp_path / "vrdu")):
        assert load(name, root).flaws["boxes missing or malformed"] == 1, name
