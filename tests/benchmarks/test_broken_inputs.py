"""What each loader does with files that are not what they should be: a table of broken inputs."""

import os
from pathlib import Path

import pytest

from formlab import benchmarks
from formlab.errors import FormlabError, GoldInDoubt

from ..conftest import entity
from ..fuzz.inputs import MAKERS, put
from ..made_vrdu import BOX, SPLIT
from ..made_vrdu import make as vrdu
from ..made_vrdu import put as annotate

ENTRY = {"image_path": "a.png", "dataset_name": "D", "type": "VQA en", "id": 1, "answers": ["9"]}
FORM = {"fields": [{"label": "Name", "value": "Ada"}]}
MADE = MAKERS | {"vrdu": vrdu}
FUNSD, FORMCRAFT = "testing_data/annotations/bob.json", "test/forms/travel_claim.json"


def load(name, root, **how):
    return benchmarks.load(name, root=root, **how)


# By benchmark and what is made for it: a file for each document, or for all instances of a form.
FILES = {
    "funsd funsd": FUNSD, "sroie sroie": "key/bob.json",
    "formcraft formcraft": FORMCRAFT, "formcraft funsd": FUNSD, "formcraft sroie": "key/bob.json",
    "formfactory formfactory": "data1/grant_applications.json",
}  # fmt: skip
# Files that all documents need.
FOR_ALL = [
    ("ocrbench_v2 ocrbench_v2", "OCRBench_v2.json"),
    ("vrdu vrdu", "main/dataset.jsonl"), ("vrdu vrdu", "main/meta.json"),
    ("vrdu vrdu", f"few_shot-splits/{SPLIT}.json"),
]  # fmt: skip
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


@pytest.mark.parametrize(("source", "name"), [*FILES.items(), *FOR_ALL])
def test_what_cannot_be_read_costs_its_documents_or_is_one_error(tmp_path, source, name):
    benchmark, made = source.split()
    for broken in (*BROKEN, *NO_FILES):
        MADE[made](root := tmp_path / broken)
        whole = load(benchmark, root)
        damage(root / name, broken)
        if source not in FILES:
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
    ("funsd", FUNSD, {"form": [entity(1, "a", BOX[1:]), entity(1, "b", BOX[1:])]},
     "entity ids given twice: 1"),
    ("funsd", FUNSD, {"form": [entity(1, "a", BOX[1:], links=[(1, 2), (1, "2")])]},
     "two values of bob at one path"),
    ("sroie", "key/bob.json", {"lines/0": "9.00"}, "two values of bob at one path: /lines/0"),
    ("formcraft", FORMCRAFT, FORM | {"vqa": [{"id": 1, "question": "?", "answers": "a"}] * 2},
     "/vqa/1"),
    ("fincriticaled", "gold_04.txt", "<p>5</p>", "page 4: gold_04.txt and gold_4.txt"),
    ("fincriticaled", "gold_4.html", "<p>5</p>", "page 4: gold_4.html and gold_4.txt"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "file", "value", "says"), DOUBTS)
def test_gold_that_contradicts_itself_is_an_error(tmp_path, name, file, value, says):
    MADE[name](tmp_path)
    put(tmp_path / file, value)
    with pytest.raises(GoldInDoubt, match=says):
        load(name, tmp_path)


@pytest.mark.parametrize("broken", NO_FILES)
def test_a_page_that_is_no_file_is_counted_and_its_document_stays(tmp_path, broken):
    MADE["funsd"](tmp_path)
    damage(tmp_path / "testing_data/images/bob.png", broken)
    corpus = load("funsd", tmp_path)
    assert corpus.documents["doc_id"].to_list() == ["ada", "bob", "cyd"]
    assert corpus.flaws["images missing"] == 1


@pytest.mark.parametrize("name", ["x" * 5000, "a\0b", "https://[::1/x", "\ud800", "/", "../b"])
def test_names_that_no_file_can_have_are_pages_that_are_missing(tmp_path, name):
    put(tmp_path / "formcraft/forms/b.json", FORM | {"pages": [name]})
    assert load("formcraft", tmp_path / "formcraft").flaws["images missing"] == 1
    put(tmp_path / "ocrbench/OCRBench_v2.json", [ENTRY | {"image_path": f"a/{name}.png"}])
    assert load("ocrbench_v2", tmp_path / "ocrbench").flaws["images missing"] == 1
    annotate(vrdu(tmp_path / "vrdu"), [], filename=name)
    put(tmp_path / f"vrdu/few_shot-splits/{SPLIT}.json", {"test": [name]})
    assert load("vrdu", tmp_path / "vrdu").flaws["PDFs missing"] == 1


@pytest.mark.parametrize("number", [10**400, float("inf"), float("nan"), "1", True])
def test_boxes_of_impossible_numbers_are_counted(tmp_path, number):
    MADE["funsd"](tmp_path)
    word = {"text": "a", "box": [number, 0, 1, 1]}
    put(tmp_path / FUNSD, {"form": [word]})
    annotate(vrdu(tmp_path / "vrdu"), [["who", [["Ann", [number, 0.1, 0.2, 0.3, 0.4]]]]])
    for name, root in (("funsd", tmp_path), ("vrdu", tmp_path / "vrdu")):
        assert load(name, root).flaws["boxes missing or malformed"] == 1, name
